"""The largest budget that fits beside what was spent: what whoever comes to a ledger late can still do.

The outcome is the plan that the same budget makes without a ledger at hand, so that the command that shows it and the
one that carries it out mean the same thing, today and when it is repeated.
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
_TIMES = 12
_DIGITS = 3
_NOTHING = Fraction(1, 1 << 20)


def largest_fitting_plan(
    make: Callable[[Fraction], T], planned: Callable[[T], Planned[Any]], budget: Fraction, spent: SumCost
) -> T:
    """What `make` plans with the largest fraction of at most `budget` that fits, to three digits.

    A pair that has nothing left, and is told apart all the same, is refused by name.
    """
    for _ in range(_TIMES):
        made = make(budget)
        mechanism = planned(made)
        cost = mechanism.whole_cost
        if cost is None or not spent.costs:
            return made
        missing = Allowance(mechanism.metric, Fraction(1), spent).missing(cost, Fraction(0), mechanism.workload)
        if missing <= 1:
            return made
        budget = rounded_down(budget / missing)
        if budget < _NOTHING:  # what roundings left of some pair
            witness = max_ratio(together(cost, spent), mechanism.metric).witness
            raise nothing_left(mechanism.workload, mechanism.metric, witness or (0, 0))
    raise NotCertified("no budget is certain to fit beside what was spent", hints=["ask for fewer attributes at once"])


def rounded_down(budget: Fraction) -> Fraction:
    """A budget in per cent with three digits, not larger.

    >>> rounded_down(Fraction(1, 3)), rounded_down(Fraction(1, 81))
    (Fraction(333, 1000), Fraction(123, 10000))
    """
    step = Fraction(1, 10**_DIGITS)
    while budget < step * 10 ** (_DIGITS - 1):
        step /= 10
    return step * int(budget / step)
