"""`check_metric`: is this really a metric, spanned by its generators?  For metrics written by users.

A metric of your own is a subclass of `Metric` with `pairwise` (floats, relative error at most `error`, 0 exactly where
the distance is 0), `exact` (a fraction, never above the distance) and `spec` (what its digest covers); `generators`
only if you can prove that their shortest paths make it up.
"""

import math
import random
from fractions import Fraction
from itertools import combinations

import numpy as np

from dxprivacy.errors import MetricError
from dxprivacy.exact.rounding import Exact
from dxprivacy.metrics.metric import Metric

_ALL = 60  # up to here all triples are looked at


def check_metric(metric: Metric) -> bool:
    """True if all triples were checked and hold; False if they hold as far as a sample tells; else MetricError.

    >>> from dxprivacy.metrics import line
    >>> check_metric(line(20, "0.3"))
    True
    """
    n = metric.universe.size
    complete = n <= _ALL
    chosen = range(n) if complete else sorted(random.Random(0).sample(range(n), _ALL))
    d = {(i, j): _distance(metric, i, j) for i in chosen for j in chosen}
    _symmetric(metric, d)
    for i, j, k in combinations(chosen, 3):
        for a, b, via in ((i, j, k), (i, k, j), (j, k, i)):
            if d[a, b] > (d[a, via] + d[via, b]) * (1 + metric.slack):
                raise _wrong(metric, a, b, f"is further apart than the way over {_name(metric, via)}")
    _floats(metric, d)
    if complete:
        _spanned(metric, d, n)
    return complete


def _distance(metric: Metric, i: int, j: int) -> Exact:
    value = metric.exact(i, j)
    if not (isinstance(value, Fraction) or value == math.inf) or value < 0:
        raise _wrong(metric, i, j, f"has the distance {value!r}; a fraction of at least 0, or infinity, is needed")
    return value


def _symmetric(metric: Metric, d: dict[tuple[int, int], Exact]) -> None:
    for (i, j), value in d.items():
        if i == j and value != 0:
            raise _wrong(metric, i, j, "has a distance to itself")
        if value != d[j, i]:
            raise _wrong(metric, i, j, "has two distances, one in each direction")


def _floats(metric: Metric, d: dict[tuple[int, int], Exact]) -> None:
    pairs = list(d)
    i, j = (np.array([p[side] for p in pairs], dtype=np.int64) for side in (0, 1))
    keys: dict[tuple[int, ...], Exact] = {}
    for (a, b), value, key in zip(pairs, metric.pairwise(i, j).tolist(), metric.keys(i, j).tolist(), strict=True):
        truth = d[a, b]
        fits = value == math.inf if truth == math.inf else _close(value, Fraction(truth), metric)
        if not fits:
            raise _wrong(metric, a, b, f"has the float {value}, which is not within its error of the exact distance")
        if keys.setdefault(tuple(key), truth) != truth:
            raise _wrong(metric, a, b, "shares its key with a pair at another distance")


def _close(value: float, truth: Fraction, metric: Metric) -> bool:
    if not math.isfinite(value) or (value == 0) != (truth == 0):
        return False
    return abs(Fraction(value) - truth) <= truth * (Fraction(metric.error) + metric.slack)


def _spanned(metric: Metric, d: dict[tuple[int, int], Exact], n: int) -> None:
    """Shortest paths along the generators give the metric back."""
    way: list[list[Exact]] = [[Fraction(0) if i == j else math.inf for j in range(n)] for i in range(n)]
    for first, second in metric.generators():
        for a, b in zip(first.tolist(), second.tolist(), strict=True):
            way[a][b] = way[b][a] = min(way[a][b], d[a, b])
    for k in range(n):
        for i in range(n):
            through = way[i][k]
            if through != math.inf:
                way[i] = [min(old, through + step) for old, step in zip(way[i], way[k], strict=True)]
    for (i, j), value in d.items():
        if way[i][j] > value:
            raise _wrong(metric, i, j, "is not made up by the generators")


def _name(metric: Metric, cell: int) -> str:
    return ", ".join(metric.universe.record(cell).values())


def _wrong(metric: Metric, i: int, j: int, what: str) -> MetricError:
    return MetricError(f"not a metric: {_name(metric, i)} – {_name(metric, j)} {what}")
