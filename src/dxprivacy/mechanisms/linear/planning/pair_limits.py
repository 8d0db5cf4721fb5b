"""Budget of new answers on a pair: the granted fraction of d(i, j), or the rest that earlier releases left, if less."""

from fractions import Fraction

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.metrics import Metric
from dxprivacy.privacy.costs import Cost

_NOTHING = 2.0**-30  # of a pair's distance: a smaller rest is rounding error and counts as zero


def limits_of(metric: Metric, budget: Fraction, spent: Cost | None, i: Ints, j: Ints) -> Floats:
    """Return the largest loss that new answers may add on each pair; infinite where the policy sets no limit."""
    d = metric.pairwise(i, j)
    limits = d * float(budget)
    if spent is None:
        return limits
    finite = np.isfinite(d)
    left = np.full(len(d), np.inf)
    left[finite] = d[finite] - spent.pairwise(i[finite], j[finite])
    left[finite & (left <= _NOTHING * d)] = 0.0
    return np.asarray(np.minimum(limits, left), dtype=np.float64)
