"""The noise scales of very many single queries at once: c = max |q_i - q_j| / d(i, j), in floats.

`dx.sensitivity` gives the same number for one query, exactly and with a certificate, some thousand times slower; tests
compare the two.  Pairs and distances come from the metric: its generating pairs, which suffice for the maximum.
"""

from dataclasses import dataclass

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.metrics import Metric

_BLOCK = 1 << 21  # numbers held at once


@dataclass(frozen=True, eq=False)
class Reach:
    """The generating pairs with finite distance, and their distances."""

    first: Ints
    second: Ints
    distances: Floats

    @classmethod
    def of(cls, metric: Metric) -> "Reach":
        """Collect the generating pairs of a metric, without public ones."""
        pairs = list(metric.generators())
        nothing = np.zeros(0, dtype=np.int64)
        first, second = (np.concatenate([nothing, *(pair[side] for pair in pairs)]) for side in (0, 1))
        distances = metric.pairwise(first, second)
        limited = np.isfinite(distances)
        return cls(first[limited], second[limited], distances[limited])


def own_scales(queries: Floats, reach: Reach) -> Floats:
    """Return the least noise scale of each query alone; 0 if no pair limits it.

    >>> from dxprivacy import metrics
    >>> own_scales(np.array([[0.0, 1.0, 3.0], [1.0, 1.0, 1.0]]), Reach.of(metrics.line(3, 2)))
    array([1., 0.])
    """
    columns = np.ascontiguousarray(queries.T)
    out = np.zeros(len(queries))
    step = max(1, _BLOCK // max(len(queries), 1))
    for start in range(0, len(reach.distances), step):
        some = slice(start, start + step)
        ratios = columns[reach.first[some]]
        ratios -= columns[reach.second[some]]
        np.abs(ratios, out=ratios)
        ratios /= reach.distances[some, None]
        np.maximum(out, ratios.max(axis=0), out=out)
    return out


def improvement(queries: Floats, reach: Reach, epsilon: float) -> Floats:
    """Return the paper's improvement factors: scale of ε-DP divided by ours; infinite if we need no noise.

    >>> from dxprivacy import metrics
    >>> improvement(np.array([[0.0, 1.0, 2.0]]), Reach.of(metrics.line(3, 1)), 1.0)
    array([2.])
    """
    with np.errstate(divide="ignore"):
        return np.asarray(np.ptp(queries, axis=1) / epsilon / own_scales(queries, reach), dtype=np.float64)


def quantiles(values: Floats, at: tuple[float, ...]) -> list[float]:
    """Return quantiles that are values themselves, so that infinite values do not spread by interpolation."""
    return [float(x) for x in np.quantile(values, at, method="lower")]
