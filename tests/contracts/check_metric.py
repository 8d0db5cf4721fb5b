"""What every metric must fulfil, on a universe small enough to look at all pairs in fractions."""

import itertools
import math
from fractions import Fraction

import numpy as np

from dxprivacy.metrics import Metric


def check_metric(metric: Metric) -> None:
    n = metric.universe.size
    assert n <= 80, "this check looks at all triples"
    d = [[metric.exact(i, j) for j in range(n)] for i in range(n)]
    _is_a_pseudometric(d, metric.slack)
    _floats_stay_within_their_error(metric, d)
    _ticks_and_keys_are_exact(metric, d)
    _generators_span(metric, d)
    _blocks_hold_the_same_pairs(metric)
    _extremes_are_right(metric, d)
    assert metric.digest == metric.digest
    assert len(metric.digest) == 64


def _is_a_pseudometric(d, slack) -> None:
    n = len(d)
    for i, j in itertools.product(range(n), repeat=2):
        assert d[i][j] == d[j][i]
        assert d[i][j] >= 0
        assert isinstance(d[i][j], Fraction) or d[i][j] == math.inf
    assert all(d[i][i] == 0 for i in range(n))
    for i, j, k in itertools.product(range(n), repeat=3):
        assert d[i][j] <= (d[i][k] + d[k][j]) * (1 + slack), (i, j, k)


def _floats_stay_within_their_error(metric, d) -> None:
    i, j = (x.ravel() for x in np.indices((len(d), len(d))))
    floats = metric.pairwise(i, j)
    for a, b, value in zip(i.tolist(), j.tolist(), floats.tolist(), strict=True):
        truth = d[a][b]
        if truth == math.inf:
            assert value == math.inf
        else:
            assert (value == 0) == (truth == 0)
            assert abs(Fraction(value) - truth) <= truth * (Fraction(metric.error) + metric.slack)


def _ticks_and_keys_are_exact(metric, d) -> None:
    i, j = (x.ravel() for x in np.indices((len(d), len(d))))
    if metric.tick is not None:
        for a, b, t in zip(i.tolist(), j.tolist(), metric.ticks(i, j).tolist(), strict=True):
            assert d[a][b] == (math.inf if t < 0 else t * metric.tick)
    seen: dict[tuple[int, ...], object] = {}
    for a, b, key in zip(i.tolist(), j.tolist(), metric.keys(i, j).tolist(), strict=True):
        assert seen.setdefault(tuple(key), d[a][b]) == d[a][b]


def _generators_span(metric, d) -> None:
    """Floyd-Warshall over the generators, in fractions, gives the metric back."""
    n = len(d)
    way = [[Fraction(0) if i == j else math.inf for j in range(n)] for i in range(n)]
    for i, j in metric.generators():
        for a, b in zip(i.tolist(), j.tolist(), strict=True):
            way[a][b] = way[b][a] = min(way[a][b], d[a][b])
    for k, i, j in itertools.product(range(n), repeat=3):
        way[i][j] = min(way[i][j], way[i][k] + way[k][j])
    for i, j in itertools.product(range(n), repeat=2):
        assert d[i][j] * (1 - metric.slack * n) <= way[i][j] <= d[i][j] or way[i][j] == d[i][j]


def _blocks_hold_the_same_pairs(metric) -> None:
    """However short the blocks are, no pair is lost between two of them, and none comes twice."""
    whole = pairs_in(metric.generators())
    assert len(set(whole)) == len(whole) <= metric.generator_count
    for block in (1, 2, 3):
        assert sorted(pairs_in(metric.generators(block=block))) == sorted(whole)


def pairs_in(blocks) -> list[tuple[int, int]]:
    """All pairs, the smaller cell first."""
    found = [pair for i, j in blocks for pair in zip(i.tolist(), j.tolist(), strict=True)]
    return [(min(pair), max(pair)) for pair in found]


def _extremes_are_right(metric, d) -> None:
    positive = [d[i][j] for i in range(len(d)) for j in range(i) if 0 < d[i][j] < math.inf]
    near, far = metric.closest, metric.farthest
    assert (near is None) == (far is None) == (not positive)
    if near is not None and far is not None:
        assert math.isclose(near.distance, float(min(positive)), rel_tol=1e-9)
        assert math.isclose(far.distance, float(max(positive)), rel_tol=1e-9)
        assert math.isclose(float(d[near.pair[0]][near.pair[1]]), near.distance, rel_tol=1e-9)
        assert math.isclose(float(d[far.pair[0]][far.pair[1]]), far.distance, rel_tol=1e-9)
    assert metric.has_infinite == any(math.inf in row for row in d)
    zeros = {(i, j) for i in range(len(d)) for j in range(len(d)) if i != j and d[i][j] == 0}
    assert {tuple(sorted(p)) for p in metric.identical} <= {tuple(sorted(p)) for p in zeros}
    assert bool(metric.identical) == bool(zeros)
