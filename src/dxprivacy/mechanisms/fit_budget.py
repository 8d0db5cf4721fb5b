"""Find the largest budget that still fits into a ledger, by fixed-point iteration on the certified overshoot.

The result is the plan that the same budget makes without a ledger. So the command that shows it and the command that
executes it mean the same plan, also when it is repeated later.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeVar

from dxprivacy.errors import NotCertified
from dxprivacy.mechanisms.planned import Planned
from dxprivacy.privacy.certificate import nothing_left
from dxprivacy.privacy.costs import SumCost
from dxprivacy.privacy.repair import Allowance, together
from dxprivacy.privacy.search.max_ratio import max_ratio

T = TypeVar("T")
_MAX_ITERATIONS = 12
_SIGNIFICANT_DIGITS = 3
_SMALLEST_BUDGET = Fraction(1, 1 << 20)


def largest_fitting_plan(
    make: Callable[[Fraction], T], planned: Callable[[T], Planned[Any]], budget: Fraction, spent: SumCost
) -> T:
    """Plan with the largest budget of at most `budget` that fits next to `spent`, in three digits.

    Raises an error that names the pair, if nothing is left of a pair that the workload separates.
    """
    for _ in range(_MAX_ITERATIONS):
        made = make(budget)
        mechanism = planned(made)
        cost = mechanism.whole_cost
        if cost is None or not spent.costs:
            return made
        missing = Allowance(mechanism.metric, Fraction(1), spent).missing(cost, Fraction(0), mechanism.workload)
        if missing <= 1:
            return made
        budget = rounded_down(budget / missing)
        if budget < _SMALLEST_BUDGET:  # only rounding errors are left of some pair
            witness = max_ratio(together(cost, spent), mechanism.metric).witness
            raise nothing_left(mechanism.workload, mechanism.metric, witness or (0, 0))
    raise NotCertified(
        "no budget could be certified to fit next to what was spent", hints=["ask for fewer attributes at once"]
    )


def rounded_down(budget: Fraction) -> Fraction:
    """Round a budget down to three digits.

    >>> rounded_down(Fraction(1, 3)), rounded_down(Fraction(1, 81))
    (Fraction(333, 1000), Fraction(123, 10000))
    """
    step = Fraction(1, 10**_SIGNIFICANT_DIGITS)
    while budget < step * 10 ** (_SIGNIFICANT_DIGITS - 1):
        step /= 10
    return step * int(budget / step)
