"""What new answers may take of a pair: the granted fraction of d(i, j), or what earlier releases left of it."""

from fractions import Fraction

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.metrics import Metric
from dxprivacy.privacy.costs import Cost

_NOTHING = 2.0**-30  # of a pair's budget: what roundings leave of it is not worth an answer


def limits_of(metric: Metric, budget: Fraction, spent: Cost | None, i: Ints, j: Ints) -> Floats:
    """What new answers may take of some pairs; infinite where the policy asks for nothing."""
    d = metric.pairwise(i, j)
    limits = d * float(budget)
    if spent is None:
        return limits
    finite = np.isfinite(d)
    left = np.full(len(d), np.inf)
    left[finite] = d[finite] - spent.pairwise(i[finite], j[finite])
    left[finite & (left <= _NOTHING * d)] = 0.0
    return np.asarray(np.minimum(limits, left), dtype=np.float64)
