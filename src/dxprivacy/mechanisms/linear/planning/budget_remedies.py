"""What would meet the targets that a plan misses: more of the policy, larger ε, more records, larger groups.

All of it from the plan's own errors.  The noise of a plan divided by some factor uses so many times as much of every
pair's ε: it is a plan at that budget, whatever a planner would find there.  A planner often needs less
(`target_solving`), and may share the noise a little otherwise between a sum and its count: so there is a hundredth to
spare.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, TypeAlias, TypeVar

import numpy as np

from dxprivacy.errors import QueryError
from dxprivacy.exact.arrays import Floats
from dxprivacy.mechanisms.linear.estimators.measured import all_expected
from dxprivacy.mechanisms.linear.plan_facts import PlanFacts
from dxprivacy.universe.answers import ErrorOf
from dxprivacy.universe.blocks import Block, PeopleTable
from dxprivacy.universe.workload import Workload

# -- Whether an answer tells more than a guess that looks at no data: from public numbers alone ------------------------
# A number that must lie between two public ends is guessed by their middle, which errs by half their difference at
# most: a count of n records by n/2, a sum by n times half the range of what one record adds, a mean by half its range.
# An answer whose noise needs more than that to be covered, 95 % of the time, is *no better than a guess*; a query is,
# if all its noisy answers are.  A selection is, if what can be said of it, 95 % of the time, is no more than what holds
# for any candidate: that its score is below the best by the whole range of scores at most.


def guesses(workload: Workload, records: int | None) -> list[float]:
    """Per answer, the most by which the middle of what is possible can err; infinite where `records` is not known.

    >>> from dxprivacy.queries.asking import gather
    >>> from dxprivacy.universe.universe import Universe
    >>> guesses(gather([[1, 0, 1], [0, 5, 3]]).on(Universe.listed("abc")), 100)
    [50.0, 250.0]
    """
    spread = np.concatenate([_spreads(block) for block in workload.blocks]).tolist()
    return [answer.recipe.guess(spread, records) for answer in workload.answers]


def _spreads(block: Block) -> Floats:
    """Per row the largest entry less the smallest, absence counted as 0.

    Of people there are as many as of their rows, divided by how many each can have.
    """
    if isinstance(block, PeopleTable):
        return np.asarray(block.peak_of_row / block.universe.rows_each, dtype=np.float64)
    return block.spans(absent=True)


def no_better(plan: PlanFacts, records: int | None = None) -> list[int]:
    """The noisy uninformative answers; `records` where the plan was made without their number."""
    known = plan.records if records is None else records
    errors = errors_with(plan, known)
    noisy = [any(plan.distributions[r].variance for r in answer.rows) for answer in plan.workload.answers]
    compared = zip(noisy, errors, guesses(plan.workload, known), strict=True)
    return [k for k, (some, error, guess) in enumerate(compared) if some and error.noise_half_width > guess]


def errors_with(plan: PlanFacts, records: int | None) -> tuple[ErrorOf, ...]:
    """The errors of all answers with this number of records."""
    if records == plan.records:
        return plan.errors
    return all_expected(plan.workload, plan.distributions, records, plan.measured.shifts)


def useless_queries(plan: PlanFacts, useless: Sequence[int]) -> list[int]:
    """The queries all of whose noisy answers are among the useless ones."""
    hopeless = set(useless)
    answers = plan.workload.answers
    noisy = [k for k, a in enumerate(answers) if any(plan.distributions[r].variance for r in a.rows)]
    asked = {answers[k].query for k in noisy}
    return sorted(asked - {answers[k].query for k in noisy if k not in hopeless})


# -- What would meet the targets that a plan misses --------------------------------------------------------------------


Errors: TypeAlias = Callable[[float], tuple[ErrorOf, ...]]
_NO_NOISE = 1e12  # so many times less than there is
_MANY = 10**15  # records
_TRIES = 60
_SPARE = 1.01
_STEP = 1.01  # noise is whole numbers: what is enough in proportion may be a step short


@dataclass(frozen=True)
class Missed:
    """The answers of a query that miss its target, the widest of them, and what would meet it for all.

    `factor`: so many times the budget, or every ε of the policy; `records`: so many instead of those planned for;
    `group`: so many in each group, where the answers are about groups.  None where it cannot help.
    """

    query: int
    answers: tuple[int, ...]
    widest: int
    factor: float | None
    records: int | None
    group: int | None


def missed_targets(plan: PlanFacts) -> list[Missed]:
    """Query by query, those that have a target which some answer misses."""
    missed: dict[int, list[int]] = {}
    for k, answer in enumerate(plan.workload.answers):
        if answer.within is not None and not reaches(plan.errors[k], answer.within):
            missed.setdefault(answer.query, []).append(k)
    if not missed:
        return []
    less = _enough(plan, missed, lambda x: _with_less_noise(plan, x), _NO_NOISE)
    records = plan.records or 0
    more: dict[int, float] = {}
    if records:
        more = _enough(plan, missed, lambda x: _with_records(plan, math.ceil(records * x)), _MANY / records)
    out = []
    for query, members in missed.items():
        widest = max(members, key=lambda k: plan.errors[k].half_width)
        needed = math.ceil(three_digits_up(records * more[query])) if query in more else None
        part = plan.workload.answers[widest].recipe.part
        group = (
            None if needed is None or part is None or part == 1 else math.ceil(three_digits_up(float(needed * part)))
        )
        out.append(Missed(query, tuple(members), widest, less.get(query), needed, group))
    return out


def reaches(error: ErrorOf, within: Fraction) -> bool:
    """Whether an answer is as close as was asked.

    >>> reaches(ErrorOf(1.0, 1.0, 2.0), Fraction(2)), reaches(ErrorOf(1.0, 1.0, 2.1), Fraction(2))
    (True, False)
    """
    return error.half_width <= float(within) * (1 + 1e-9)


def _with_less_noise(plan: PlanFacts, factor: float) -> tuple[ErrorOf, ...]:
    distributions = plan.measured.distributions([scale / factor for scale in plan.scales])
    return all_expected(plan.workload, distributions, plan.records, plan.measured.shifts)


def _with_records(plan: PlanFacts, records: int) -> tuple[ErrorOf, ...]:
    return all_expected(plan.workload, plan.distributions, records, plan.measured.shifts)


def _enough(plan: PlanFacts, missed: Mapping[int, Sequence[int]], errors_at: Errors, most: float) -> dict[int, float]:
    """Per query how many times as much is enough for all that it misses; where nothing helps, it is left out.

    A part of an error stays (cells, rounding, shifts), the rest shrinks in proportion, up to steps of the noise.
    """
    limit = errors_at(most)
    out: dict[int, float] = {}
    for query, members in missed.items():
        if not all(_meets(plan, k, limit[k]) for k in members):
            continue
        times = three_digits_up(max(_in_proportion(plan, k, limit[k].half_width) for k in members))
        for _ in range(_TRIES):
            errors = errors_at(times)
            if all(_meets(plan, k, errors[k]) for k in members):
                out[query] = three_digits_up(times * _SPARE)
                break
            times = three_digits_up(times * _STEP)
    return out


def _in_proportion(plan: PlanFacts, k: int, fixed: float) -> float:
    """How many times as much would be enough if noise were not whole numbers."""
    room = float(plan.workload.answers[k].within or 0) - fixed
    return (plan.errors[k].half_width - fixed) / room if room > 0 else 1.0


def _meets(plan: PlanFacts, k: int, error: ErrorOf) -> bool:
    within = plan.workload.answers[k].within
    return within is not None and reaches(error, within)


def three_digits_up(x: float) -> float:
    """Not smaller, in three digits; what only floats added does not count.

    >>> three_digits_up(2.4001), three_digits_up(1.0), three_digits_up(33333)
    (2.41, 1.0, 33400.0)
    """
    if x <= 0 or not math.isfinite(x):
        return x
    step = Fraction(10) ** (math.floor(math.log10(x)) - 2)
    return float(math.ceil(Fraction(x) / step - Fraction(1, 10**9)) * step)


# -- How much of a policy meets the targets ----------------------------------------------------------------------------
# By planning again and again: the least budget, or the least factor of every ε.
#
# Work is bounded by the number of plans.  What is returned was planned, so that it holds whatever the search did.


P = TypeVar("P", bound=PlanFacts)
_PLANS = 24
_CLOSE = Fraction(101, 100)
_LEAST = Fraction(1, 10_000)
_MOST = Fraction(10**9)


@dataclass(frozen=True)
class Solved(Generic[P]):
    """The least amount that was found to be enough, with its plan, and the largest that was found not to be.

    `amount` is a budget, or a factor of every ε.  `met` of all `targets` are met, each an answer that has one.
    """

    amount: Fraction
    plan: P
    too_little: Fraction | None
    met: int
    targets: int


def least_budget(make: Callable[[Fraction], P]) -> Solved[P]:
    """The least budget, in three digits, whose plan meets every target that the whole policy meets."""
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
        raise QueryError("no query has a target to be met", hints=[("count by sex within 10", "asks for ± 10")])
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
    used = three_digits(Fraction(plan.certificate.ratio) / plan.budget * enough)
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
