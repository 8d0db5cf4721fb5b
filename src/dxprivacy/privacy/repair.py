"""Scales that keep too little are made larger by the factor that is missing: the one repair of all proposals.

Optimizers and floats propose; what comes out of here is certified, within a share of the policy and beside everything
that was spent before, pair by pair.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from dxprivacy.errors import NotCertified
from dxprivacy.exact.arrays import Floats
from dxprivacy.exact.rounding import round_up
from dxprivacy.metrics import Metric
from dxprivacy.privacy.certificate import Certificate, certify
from dxprivacy.privacy.costs import Cost, RowsCost, SumCost
from dxprivacy.privacy.refusals import nothing_left
from dxprivacy.privacy.search.max_ratio import max_ratio
from dxprivacy.universe.workload import Workload

_TIMES = 12
_CRUMBS = 2.0**30  # what roundings leave of a budget buys so much noise that it is worth nothing


@dataclass(frozen=True, eq=False)
class Allowance:
    """What may be spent: a share of the policy, and of every pair no more than what was spent before has left."""

    metric: Metric
    share: Fraction
    spent: Cost | None = None

    def missing(self, cost: RowsCost, ratio: Fraction, asked: Workload) -> Fraction:
        """By which factor the scales of a cost must grow that takes `ratio` of the policy; at most 1 where it fits."""
        return max(ratio / self.share, self._beside_spent(cost, ratio, asked))

    def _beside_spent(self, cost: RowsCost, ratio: Fraction, asked: Workload) -> Fraction:
        if self.spent is None:
            return Fraction(0)
        total = max_ratio(together(cost, self.spent), self.metric)
        if total.upper <= 1:
            return Fraction(1)
        if total.witness is not None:
            left = Fraction(self.metric.exact(*total.witness)) - Fraction(self.spent.exact(*total.witness))
            wanted = Fraction(cost.exact(*total.witness))
            if left <= 0 < wanted:
                raise nothing_left(asked, self.metric, total.witness)
            if wanted > left:
                return wanted / left
        # The sum is only bounded, or no single pair tells: so much that the bounds of both fit beside one another.
        before = max_ratio(self.spent, self.metric).upper
        if before >= 1:
            raise NotCertified(
                "what is left can only be bounded for so many attributes at once, and nothing is certain",
                hints=["ask for fewer attributes at once"],
            )
        return max(ratio / (1 - Fraction(before)), 1 + Fraction(1, 1 << 40))


def repaired(
    scales: Floats, cost_of: Callable[[Floats], RowsCost], allowance: Allowance, asked: Workload
) -> tuple[Floats, Certificate]:
    """Scales that fit, in the proportions that were proposed, and the proof for these very scales."""
    proposed = scales
    for _ in range(_TIMES):
        cost = cost_of(scales)
        certificate = certify(cost, allowance.metric)
        if certificate.ratio == math.inf:
            break
        missing = allowance.missing(cost, Fraction(certificate.ratio), asked)
        if missing <= 1:
            if allowance.spent is not None and certificate.witness and scales.max() > proposed.max() * _CRUMBS:
                raise nothing_left(asked, allowance.metric, certificate.witness)
            return scales, certificate
        scales = scales * (round_up(missing) * (1 + 2.0**-51))
    raise NotCertified("no scale could be certified", hints=["this is a bug: please report it"])


def together(new: RowsCost, spent: Cost | None) -> Cost:
    """A cost on top of what was spent."""
    if spent is None:
        return new
    before = spent.costs if isinstance(spent, SumCost) else (spent,)
    return SumCost(new.universe, [new, *before])
