"""The slow truth: all pairs, in whole numbers over one common denominator; shares no code with the fast paths."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np

from dxprivacy.privacy.costs import SelectionCost, SumCost


class Brute:
    """All pairs of a metric and a workload's dense matrix, kept so that many scales can be tried."""

    def __init__(self, workloads, metric) -> None:
        n = metric.universe.size
        assert n <= 350, "all pairs in fractions take long"
        self.i, self.j = np.triu_indices(n, 1)
        self.d = [metric.exact(a, b) for a, b in zip(self.i.tolist(), self.j.tolist(), strict=True)]
        Q = np.vstack([w.dense() for w in workloads])
        self.amounts = np.abs(Q[:, self.i] - Q[:, self.j]).T.astype(object)

    def worst(self, scales, selections=()):
        """The largest loss / distance; infinite distances ask for nothing, a scale of 0 separates without limit.

        `selections` are ranges of rows of which only the largest counts.
        """
        noisy = [k for k, s in enumerate(scales) if s]
        exact = [k for k, s in enumerate(scales) if not s]
        inverse = {k: 1 / Fraction(scales[k]) for k in noisy}
        common = math.lcm(*(f.denominator for f in inverse.values())) if inverse else 1
        losses = [self.amounts[:, k] * int(inverse[k] * common) for k in noisy]
        chosen = {k for some in selections for k in some}
        loads = sum((x for k, x in zip(noisy, losses, strict=True) if k not in chosen), np.zeros(len(self.d), object))
        for some in selections:
            alone = [x for k, x in zip(noisy, losses, strict=True) if k in some]
            loads = loads + (np.max(alone, axis=0) if alone else 0)
        separated = self.amounts[:, exact].any(axis=1) if exact else np.zeros(len(self.d), dtype=bool)
        best = Fraction(0)
        for load, apart, d in zip(loads.tolist(), separated.tolist(), self.d, strict=True):
            if d == math.inf or (not load and not apart):
                continue
            if d == 0 or apart:
                return math.inf
            if load * best.denominator * d.denominator > best.numerator * common * d.numerator:
                best = Fraction(load, common) / d
        return best


def brute(loss, metric):
    """The largest loss / distance over all pairs."""
    costs = loss.costs if isinstance(loss, SumCost) else (loss,)
    scales = [s for c in costs for s in c.scales.tolist()]
    starts = np.cumsum([0] + [c.workload.rows for c in costs]).tolist()
    rows = [range(a, b) for a, b in pairwise(starts)]
    selections = [some for some, c in zip(rows, costs, strict=True) if isinstance(c, SelectionCost)]
    return Brute([c.workload for c in costs], metric).worst(scales, selections)
