"""Remedies for missed targets: a larger budget, larger ε, more records, or larger groups.

All of them follow from the plan's own errors. Dividing a plan's noise by some factor multiplies its part of every
pair's ε by that factor: it is a plan at that budget, whatever plan a planner would find there. A planner often needs
less (`least_budget`), and may divide the noise slightly differently between a sum and its count. So the factors include
a margin of one percent.
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

# -- Uninformative answers, found from public numbers ------------------------------------------------------------------
# A number between two public ends is guessed by their middle, which errs by at most half their difference: a count of n
# records by n/2, a sum by n times half the range of one record's term, a mean by half its range. An answer is
# *uninformative* if the margin that covers 95 % of its noise exceeds that. A query is uninformative if all its noisy
# answers are. A selection is uninformative if its 95 % bound is no less than what holds for every candidate: a score
# below the best by at most the whole range of scores.


def guesses(workload: Workload, records: int | None) -> list[float]:
    """Return, per answer, the largest error of the middle of its possible range; infinite if it depends on unknown
    `records`.

    >>> from dxprivacy.queries.asking import gather
    >>> from dxprivacy.universe.universe import Universe
    >>> guesses(gather([[1, 0, 1], [0, 5, 3]]).on(Universe.listed("abc")), 100)
    [50.0, 250.0]
    """
    spread = np.concatenate([_spreads(block) for block in workload.blocks]).tolist()
    return [answer.recipe.guess(spread, records) for answer in workload.answers]


def _spreads(block: Block) -> Floats:
    """Per row, the largest entry minus the smallest, where absence counts as 0.

    For people, the entry is divided by the number of rows that each can have.
    """
    if isinstance(block, PeopleTable):
        return np.asarray(block.peak_of_row / block.universe.rows_each, dtype=np.float64)
    return block.spans(absent=True)


def no_better(plan: PlanFacts, records: int | None = None) -> list[int]:
    """Return the uninformative answers; pass `records` if the plan was made without their number."""
    known = plan.records if records is None else records
    errors = errors_with(plan, known)
    noisy = [any(plan.distributions[r].variance for r in answer.rows) for answer in plan.workload.answers]
    compared = zip(noisy, errors, guesses(plan.workload, known), strict=True)
    return [k for k, (some, error, guess) in enumerate(compared) if some and error.noise_half_width > guess]


def errors_with(plan: PlanFacts, records: int | None) -> tuple[ErrorOf, ...]:
    """Return the errors of all answers with this number of records."""
    if records == plan.records:
        return plan.errors
    return all_expected(plan.workload, plan.distributions, records, plan.measured.shifts)


def useless_queries(plan: PlanFacts, useless: Sequence[int]) -> list[int]:
    """Return the queries whose noisy answers are all uninformative."""
    hopeless = set(useless)
    answers = plan.workload.answers
    noisy = [k for k, a in enumerate(answers) if any(plan.distributions[r].variance for r in a.rows)]
    asked = {answers[k].query for k in noisy}
    return sorted(asked - {answers[k].query for k in noisy if k not in hopeless})


# -- Remedies for missed targets ---------------------------------------------------------------------------------------


Errors: TypeAlias = Callable[[float], tuple[ErrorOf, ...]]
_NO_NOISE = 1e12  # factor of noise reduction that stands for no noise
_MANY = 10**15  # records
_TRIES = 60
_SPARE = 1.01
_STEP = 1.01  # noise is integer: the proportional factor may be one step short


@dataclass(frozen=True)
class Missed:
    """The answers of a query that miss its target, the widest of them, and the remedies that meet it for all.

    `factor` multiplies the budget, or every ε of the policy; `records` replaces the planned number of records; `group`
    is the number of records in each group, for answers about groups. None marks a remedy that cannot help.
    """

    query: int
    answers: tuple[int, ...]
    widest: int
    factor: float | None
    records: int | None
    group: int | None


def missed_targets(plan: PlanFacts) -> list[Missed]:
    """Return the queries with an answer that misses its target."""
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
    """Whether the 95 % half-width meets the target.

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
    """For each query, the factor that meets all its missed targets; queries that no factor helps are left out.

    A part of the error is fixed (binning, rounding, shifts). The rest shrinks in proportion, up to steps of the noise.
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
    """The factor that would suffice if noise were continuous."""
    room = float(plan.workload.answers[k].within or 0) - fixed
    return (plan.errors[k].half_width - fixed) / room if room > 0 else 1.0


def _meets(plan: PlanFacts, k: int, error: ErrorOf) -> bool:
    within = plan.workload.answers[k].within
    return within is not None and reaches(error, within)


def three_digits_up(x: float) -> float:
    """Round up to three digits; an excess of float rounding is ignored.

    >>> three_digits_up(2.4001), three_digits_up(1.0), three_digits_up(33333)
    (2.41, 1.0, 33400.0)
    """
    if x <= 0 or not math.isfinite(x):
        return x
    step = Fraction(10) ** (math.floor(math.log10(x)) - 2)
    return float(math.ceil(Fraction(x) / step - Fraction(1, 10**9)) * step)


# -- Least budget, or least factor of every ε, that meets the targets --------------------------------------------------
# The search plans repeatedly, and its work is bounded by the number of plans. The returned amount was itself planned,
# so it holds whatever path the search took.


P = TypeVar("P", bound=PlanFacts)
_PLANS = 24
_CLOSE = Fraction(101, 100)
_LEAST = Fraction(1, 10_000)
_MOST = Fraction(10**9)


@dataclass(frozen=True)
class Solved(Generic[P]):
    """The least amount found to be enough, with its plan, and the largest amount found to be too little.

    `amount` is a budget, or a factor of every ε. `met` of all `targets` are met; each is an answer with a target.
    """

    amount: Fraction
    plan: P
    too_little: Fraction | None
    met: int
    targets: int


def least_budget(make: Callable[[Fraction], P]) -> Solved[P]:
    """Return the least budget, in three digits, whose plan meets every target that the whole policy meets."""
    top = make(Fraction(1))
    return _least(make, Fraction(1), top, None, _targets(top))


def least_factor(make: Callable[[Fraction], P]) -> Solved[P]:
    """Return the least factor of every ε, in three digits, that meets every target which less noise can meet.

    `make` plans under a policy with every ε multiplied by its argument.
    """
    base = make(Fraction(1))
    targets = _targets(base)
    factors = [missed.factor for missed in missed_targets(base) if missed.factor is not None]
    if not factors:
        return Solved(Fraction(1), base, None, len(_met(base)), targets)
    most = three_digits(Fraction(max(factors)))
    top = make(most)
    while len(_met(top)) <= len(_met(base)) and most < _MOST:  # the planner may favor other answers
        most *= 2
        top = make(most)
    return _least(make, most, top, Fraction(1), targets)


def _least(
    make: Callable[[Fraction], P], most: Fraction, top: P, too_little: Fraction | None, targets: int
) -> Solved[P]:
    """Bisection, after a first step down to what the plan uses; returns the least amount that was found to
    be enough.
    """
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
    """The next amount to try: what the plan uses, if that is clearly less; otherwise the middle of the bracket."""
    if too_little is not None and enough <= too_little * _CLOSE:
        return None
    used = three_digits(Fraction(plan.certificate.ratio) / plan.budget * enough)
    if used * _CLOSE < enough and (too_little is None or used > too_little):
        return used
    between = three_digits((enough + (too_little or 0)) / 2)
    return between if max(too_little or 0, _LEAST) < between < enough else None


def three_digits(amount: Fraction) -> Fraction:
    """Round up to three digits.

    >>> three_digits(Fraction(1, 3)), three_digits(Fraction(12345, 10000))
    (Fraction(167, 500), Fraction(31, 25))
    """
    step = Fraction(1)
    while amount < 100 * step:
        step /= 10
    while amount >= 1000 * step:
        step *= 10
    return -(-amount // step) * step
