"""Random planning problems of all kinds, and an all-pairs check in integers that shares no code with the fast paths."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dxprivacy import metrics
from dxprivacy.queries.asking import marginals, matrix, prefixes, ranges, table
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.universe import Universe

KINDS = ("uniform", "binary", "smooth", "structured")
OBJECTIVES = ("squared", "absolute", "geometric", "max")
_BITS = 96


@dataclass(frozen=True)
class Instance:
    """Queries about a metric, and the loss to be made least."""

    queries: list
    metric: object
    loss: str
    name: str


def instance(number: int, *, most_cells: int = 200, most_rows: int = 60) -> Instance:
    """The instance of that number: always the same."""
    rng = np.random.default_rng([4, number])
    kind, loss = KINDS[number % 4], OBJECTIVES[number // 4 % 4]
    n = int(rng.integers(2, most_cells + 1) ** rng.uniform(0.5, 1)) + 1
    k = int(rng.integers(1, most_rows + 1))
    within = _target(rng)
    if kind == "structured":
        queries, metric = _structured(rng, n)
    else:
        points = rng.uniform(0, 100, (n, 2))
        if kind == "uniform":
            Q = rng.uniform(0, 1, (k, n))
        elif kind == "binary":
            Q = rng.integers(0, 2, (k, n)).astype(float)
        else:
            Q = np.cos(points @ rng.normal(0, 0.05, (2, k)) + rng.uniform(0, 6, k)).T
        if rng.random() < 0.2:  # duplicated, constant and wildly scaled rows
            Q = np.vstack([Q, Q[:1], Q[:1] * 0 + 1, Q[-1:] * 2.0 ** int(rng.integers(-8, 9))])
        metric = metrics.euclidean(points, epsilon_per_unit=Fraction(int(rng.integers(1, 100)), 1000))
        half = max(1, len(Q) // 2)
        queries = [matrix(Q[:half], within=within)] + ([matrix(Q[half:])] if len(Q) > half else [])
    return Instance(queries, metric, loss, f"{number} {kind} {loss} N={metric.universe.size}")


def _target(rng):
    return float(10 ** rng.uniform(0, 3)) if rng.random() < 0.3 else None


def _structured(rng, n: int):
    """Ranges, prefixes and tables on a line, or tables and marginals over a product."""
    if rng.random() < 0.5:
        metric = metrics.line(min(n, 30), Fraction(int(rng.integers(1, 20)), 10))
        some = [ranges("element"), prefixes("element"), table("element", within=_target(rng))]
        picks = rng.permutation(3)[: int(rng.integers(1, 4))]
        return [some[p] for p in picks], metric
    sizes = rng.integers(2, 6, 3)
    universe = Universe(
        [
            Integers(name="age", low=0, high=int(sizes[0])),
            Values(name="sex", values=tuple(map(str, range(sizes[1])))),
            Values(name="job", values=tuple(map(str, range(sizes[2])))),
        ]
    )
    budgets = {"age": {"epsilon": float(rng.integers(1, 9)) / 8, "per": 1}, "sex": 1, "job": 0.25}
    metric = metrics.attributes(universe, budgets)
    some = [table("age", within=_target(rng)), table("sex", "job"), marginals(2), prefixes("age")]
    picks = rng.permutation(4)[: int(rng.integers(1, 4))]
    return [some[p] for p in picks], metric


def overspent(workload, scales, metric) -> list[tuple[int, int]]:
    """Pairs (all of them are looked at) on which the loss exceeds the distance, decided in whole numbers.

    Upper bounds of 1/s on a fine grid decide nearly all pairs; the rest is decided in fractions.
    """
    n = metric.universe.size
    i, j = np.triu_indices(n, 1)
    Q = workload.dense()
    noisy = [k for k, s in enumerate(scales) if s]
    exact = [k for k, s in enumerate(scales) if not s]
    size = 1 << _BITS
    shift = size * max(1, int(max((s for s in scales), default=1)))
    above = np.array([-((-shift) // Fraction(scales[k])) for k in noisy], dtype=object)
    loads = (np.abs(Q[noisy][:, i] - Q[noisy][:, j]).T.astype(object) @ above).tolist() if noisy else [0] * len(i)
    separated = (Q[exact][:, i] != Q[exact][:, j]).any(axis=0).tolist()
    bad = []
    for a, b, load, apart in zip(i.tolist(), j.tolist(), loads, separated, strict=True):
        d = metric.exact(a, b)
        if d == math.inf or (not load and not apart):
            continue
        if apart or not d:
            bad.append((a, b))
        elif load * Fraction(d).denominator > shift * Fraction(d).numerator:
            amounts = zip(np.abs(Q[noisy, a] - Q[noisy, b]).tolist(), noisy, strict=True)
            if sum(Fraction(x) / Fraction(scales[k]) for x, k in amounts) > d:
                bad.append((a, b))
    return bad
