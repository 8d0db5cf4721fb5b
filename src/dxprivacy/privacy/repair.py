"""Repair proposed scales: multiply them by the missing factor until they are certified.

Optimizers propose scales in floats.  The repaired scales are certified within the budget, and together with everything
spent before, pair by pair.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from dxprivacy.errors import NotCertified, UsageError
from dxprivacy.exact.arrays import Floats
from dxprivacy.exact.rounding import exact, round_up
from dxprivacy.metrics import Metric
from dxprivacy.privacy.certificate import Certificate, certify, nothing_left
from dxprivacy.privacy.costs import Cost, RowsCost, SumCost
from dxprivacy.privacy.search.max_ratio import max_ratio
from dxprivacy.universe.workload import Workload

# -- The granted budget: a fraction of the policy, together with what was spent before ---------------------------------


USUAL_BUDGET = "10%"  # the default with a ledger: the first plan leaves budget for others


def _percentage(text: str) -> str:
    # A guess at the percentage that a number without a percent sign means.
    try:
        number = float(text)
    except ValueError:
        return "25%"
    return f"{number:g}%" if 1 < number <= 100 else f"{100 * number:g}%" if 0 < number <= 1 else "25%"


def parse_budget(budget: object) -> Fraction:
    """Read the budget, a fraction of every pair's ε in (0, 1]: `"25%"` or a `Fraction`; a bare 1 would read as an ε.

    >>> parse_budget("25%")
    Fraction(1, 4)
    """
    text = str(budget).strip()
    if text.endswith("%"):
        value = Fraction(exact(text[:-1], what="budget")) / 100
    elif isinstance(budget, Fraction) or (re.fullmatch(r"\d{1,20}/\d{1,20}", text) and int(text.partition("/")[2])):
        value = Fraction(text)
    else:
        raise UsageError(
            f"budget is {text[:40]}; give a percentage such as 25%, or in Python a Fraction", hints=[_percentage(text)]
        )
    if not 0 < value <= 1:
        raise UsageError(f"budget is {text[:40]}; it must be more than 0 and at most 100 %")
    return value


def require_spent(spent: Cost | None, metric: Metric) -> Cost | None:
    """Check that spent costs are over the policy's universe; return None if nothing was spent."""
    if spent is None or (isinstance(spent, SumCost) and not spent.costs):
        return None
    if not isinstance(spent, (RowsCost, SumCost)):
        raise UsageError(f"what was spent is a cost, not {type(spent).__name__}", hints=["spent=ledger.spent"])
    if spent.universe != metric.universe:
        raise UsageError("the spent cost is over the universe of another policy")
    return spent


# -- Repair: fixed-point iteration on the missing factor ---------------------------------------------------------------


_MAX_ITERATIONS = 12
_MAX_GROWTH = 2.0**30  # beyond this, only rounding is left of the budget, and the answers would be worthless


@dataclass(frozen=True, eq=False)
class Allowance:
    """What may be spent: a fraction of the policy, and for each pair at most what earlier releases left."""

    metric: Metric
    budget: Fraction
    spent: Cost | None = None

    def missing(self, cost: RowsCost, ratio: Fraction, asked: Workload) -> Fraction:
        """Return the factor by which the scales of a cost of ratio `ratio` must grow; at most 1 if it fits."""
        return max(ratio / self.budget, self._beside_spent(cost, ratio, asked))

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
        # The sum is only bounded, or no single pair decides: grow until the bounds of both add up to at most 1.
        before = max_ratio(self.spent, self.metric).upper
        if before >= 1:
            raise NotCertified(
                "for this many attributes at once, the remaining budget can only be bounded, and the bound is 0",
                hints=["ask for fewer attributes at once"],
            )
        return max(ratio / (1 - Fraction(before)), 1 + Fraction(1, 1 << 40))


def repaired(
    scales: Floats, cost_of: Callable[[Floats], RowsCost], allowance: Allowance, asked: Workload
) -> tuple[Floats, Certificate]:
    """Return scales in the proposed proportions that fit the allowance, and the certificate for these scales."""
    proposed = scales
    for _ in range(_MAX_ITERATIONS):
        cost = cost_of(scales)
        certificate = certify(cost, allowance.metric)
        if certificate.ratio == math.inf:
            break
        missing = allowance.missing(cost, Fraction(certificate.ratio), asked)
        if missing <= 1:
            if allowance.spent is not None and certificate.witness and scales.max() > proposed.max() * _MAX_GROWTH:
                raise nothing_left(asked, allowance.metric, certificate.witness)
            return scales, certificate
        scales = scales * (round_up(missing) * (1 + 2.0**-51))
    raise NotCertified("no scale could be certified", hints=["this is a bug: please report it"])


def together(new: RowsCost, spent: Cost | None) -> Cost:
    """Return the sum of a cost and what was spent before."""
    if spent is None:
        return new
    before = spent.costs if isinstance(spent, SumCost) else (spent,)
    return SumCost(new.universe, [new, *before])
