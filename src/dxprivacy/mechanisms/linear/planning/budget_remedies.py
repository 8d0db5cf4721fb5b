"""What would meet the targets that a plan misses: more of the policy, larger ε, more records, larger groups.

All of it from the plan's own errors.  The noise of a plan divided by some factor uses so many times as much of every
pair's ε: it is a plan at that share, whatever a planner would find there.  A planner often needs less
(`target_solving`), and may share the noise a little otherwise between a sum and its count: so there is a hundredth to
spare.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from dxprivacy.mechanisms.linear.estimators.expected_errors import all_expected
from dxprivacy.mechanisms.linear.plan_facts import PlanFacts
from dxprivacy.universe.answers import ErrorOf

Errors: TypeAlias = Callable[[float], tuple[ErrorOf, ...]]
_NO_NOISE = 1e12  # so many times less than there is
_MANY = 10**15  # records
_TRIES = 60
_SPARE = 1.01
_STEP = 1.01  # noise is whole numbers: what is enough in proportion may be a step short


@dataclass(frozen=True)
class Missed:
    """The answers of a question that miss its target, the widest of them, and what would meet it for all.

    `factor`: so many times the share, or every ε of the policy; `records`: so many instead of those planned for;
    `group`: so many in each group, where the answers are about groups.  None where it cannot help.
    """

    question: int
    answers: tuple[int, ...]
    widest: int
    factor: float | None
    records: int | None
    group: int | None


def missed_targets(plan: PlanFacts) -> list[Missed]:
    """Question by question, those that have a target which some answer misses."""
    missed: dict[int, list[int]] = {}
    for k, answer in enumerate(plan.workload.answers):
        if answer.within is not None and not reaches(plan.errors[k], answer.within):
            missed.setdefault(answer.question, []).append(k)
    if not missed:
        return []
    less = _enough(plan, missed, lambda x: _with_less_noise(plan, x), _NO_NOISE)
    records = plan.records or 0
    more: dict[int, float] = {}
    if records:
        more = _enough(plan, missed, lambda x: _with_records(plan, math.ceil(records * x)), _MANY / records)
    out = []
    for question, members in missed.items():
        widest = max(members, key=lambda k: plan.errors[k].half_width)
        needed = math.ceil(three_digits_up(records * more[question])) if question in more else None
        part = plan.workload.answers[widest].recipe.part
        group = (
            None if needed is None or part is None or part == 1 else math.ceil(three_digits_up(float(needed * part)))
        )
        out.append(Missed(question, tuple(members), widest, less.get(question), needed, group))
    return out


def reaches(error: ErrorOf, within: Fraction) -> bool:
    """Whether an answer is as close as was asked.

    >>> reaches(ErrorOf(1.0, 1.0, 2.0), Fraction(2)), reaches(ErrorOf(1.0, 1.0, 2.1), Fraction(2))
    (True, False)
    """
    return error.half_width <= float(within) * (1 + 1e-9)


def _with_less_noise(plan: PlanFacts, factor: float) -> tuple[ErrorOf, ...]:
    laws = plan.measured.laws([scale / factor for scale in plan.scales])
    return all_expected(plan.workload, laws, plan.records, plan.measured.shifts)


def _with_records(plan: PlanFacts, records: int) -> tuple[ErrorOf, ...]:
    return all_expected(plan.workload, plan.laws, records, plan.measured.shifts)


def _enough(plan: PlanFacts, missed: Mapping[int, Sequence[int]], errors_at: Errors, most: float) -> dict[int, float]:
    """Per question how many times as much is enough for all that it misses; where nothing helps, it is left out.

    A part of an error stays (cells, rounding, shifts), the rest shrinks in proportion, up to steps of the noise.
    """
    limit = errors_at(most)
    out: dict[int, float] = {}
    for question, members in missed.items():
        if not all(_meets(plan, k, limit[k]) for k in members):
            continue
        times = three_digits_up(max(_in_proportion(plan, k, limit[k].half_width) for k in members))
        for _ in range(_TRIES):
            errors = errors_at(times)
            if all(_meets(plan, k, errors[k]) for k in members):
                out[question] = three_digits_up(times * _SPARE)
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
