"""How much of a policy meets the targets, by planning again and again: the least share, or the least factor of every ε.

Work is bounded by the number of plans.  What is returned was planned, so that it holds whatever the search did.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, TypeVar

from dxprivacy.errors import QuestionError
from dxprivacy.mechanisms.linear.plan_facts import PlanFacts
from dxprivacy.mechanisms.linear.planning.budget_remedies import missed_targets, reaches

P = TypeVar("P", bound=PlanFacts)
_PLANS = 24
_CLOSE = Fraction(101, 100)
_LEAST = Fraction(1, 10_000)
_MOST = Fraction(10**9)


@dataclass(frozen=True)
class Solved(Generic[P]):
    """The least amount that was found to be enough, with its plan, and the largest that was found not to be.

    `amount` is a share, or a factor of every ε.  `met` of all `targets` are met, each an answer that has one.
    """

    amount: Fraction
    plan: P
    too_little: Fraction | None
    met: int
    targets: int


def least_share(make: Callable[[Fraction], P]) -> Solved[P]:
    """The least share, in three digits, whose plan meets every target that the whole policy meets."""
    top = make(Fraction(1))
    return _least(make, Fraction(1), top, None, _targets(top))


def least_factor(make: Callable[[Fraction], P]) -> Solved[P]:
    """By how much every ε would have to grow, in three digits, for every target that less noise meets.

    `make` plans under a policy with so many times every ε.
    """
    base = make(Fraction(1))
    targets = _targets(base)
    factors = [missed.factor for missed in missed_targets(base) if missed.factor is not None]
    if not factors:
        return Solved(Fraction(1), base, None, len(_met(base)), targets)
    most = three_digits(Fraction(max(factors)))
    top = make(most)
    while len(_met(top)) <= len(_met(base)) and most < _MOST:  # a planner may weigh other answers more
        most *= 2
        top = make(most)
    return _least(make, most, top, Fraction(1), targets)


def _least(
    make: Callable[[Fraction], P], most: Fraction, top: P, too_little: Fraction | None, targets: int
) -> Solved[P]:
    """Amounts are tried from what a plan uses downwards, then between the least that is enough and the largest not."""
    wanted = _met(top)
    enough, plan = most, top
    for _ in range(_PLANS if wanted else 0):
        amount = _next(enough, too_little, plan)
        if amount is None:
            break
        tried = make(amount)
        if _met(tried) >= wanted:
            enough, plan = amount, tried
        else:
            too_little = amount
    return Solved(enough, plan, too_little, len(wanted), targets)


def _targets(plan: PlanFacts) -> int:
    targets = sum(answer.within is not None for answer in plan.workload.answers)
    if not targets:
        raise QuestionError("no question has a target to be met", hints=[("count by sex within 10", "asks for ± 10")])
    return targets


def _met(plan: PlanFacts) -> frozenset[int]:
    return frozenset(
        k
        for k, (answer, error) in enumerate(zip(plan.workload.answers, plan.errors, strict=True))
        if answer.within is not None and reaches(error, answer.within)
    )


def _next(enough: Fraction, too_little: Fraction | None, plan: PlanFacts) -> Fraction | None:
    """What to try: what a plan leaves unused is not needed; else half, until that is too little, then in between."""
    if too_little is not None and enough <= too_little * _CLOSE:
        return None
    used = three_digits(Fraction(plan.certificate.ratio) / plan.share * enough)
    if used * _CLOSE < enough and (too_little is None or used > too_little):
        return used
    between = three_digits((enough + (too_little or 0)) / 2)
    return between if max(too_little or 0, _LEAST) < between < enough else None


def three_digits(amount: Fraction) -> Fraction:
    """Not smaller, in three digits.

    >>> three_digits(Fraction(1, 3)), three_digits(Fraction(12345, 10000))
    (Fraction(167, 500), Fraction(31, 25))
    """
    step = Fraction(1)
    while amount < 100 * step:
        step /= 10
    while amount >= 1000 * step:
        step *= 10
    return -(-amount // step) * step
