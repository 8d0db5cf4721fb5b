"""Whether an answer tells more than a guess that looks at no data: from public numbers alone.

A number that must lie between two public ends is guessed by their middle, which errs by half their difference at most:
a count of n records by n/2, a sum by n times half the range of what one record adds, a mean by half its range.  An
answer whose noise needs more than that to be covered, 95 % of the time, is *no better than a guess*; a question is, if
all its noisy answers are.  A choice is, if what can be said of it, 95 % of the time, is no more than what holds for any
candidate: that its score is below the best by the whole range of scores at most.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dxprivacy.model.arrays import Floats
from dxprivacy.model.blocks import Block
from dxprivacy.model.shown import names
from dxprivacy.model.workload import Ratio, Workload
from dxprivacy.planning.expected import all_expected
from dxprivacy.wording import digits, plural, short

if TYPE_CHECKING:
    from dxprivacy.planning.choice import Choice
    from dxprivacy.planning.plan import Plan

_WORDS = 60


def guesses(workload: Workload, records: int | None) -> list[float]:
    """Per answer, the most by which the middle of what is possible can err; infinite where `records` is not known.

    >>> from dxprivacy.model.questions import gather
    >>> from dxprivacy.model.universe import Universe
    >>> guesses(gather([[1, 0, 1], [0, 5, 3]]).on(Universe.listed("abc")), 100)
    [50.0, 250.0]
    """
    spread = np.concatenate([_spreads(block) for block in workload.blocks])
    out = []
    for answer in workload.answers:
        recipe = answer.recipe
        if isinstance(recipe, Ratio):
            out.append(float(recipe.high - recipe.low) / 2)
        else:
            number = 1 if recipe.per_record else math.inf if records is None else records
            out.append(float(spread[recipe.row]) * float(recipe.factor) / 2 * number)
    return out


def _spreads(block: Block) -> Floats:
    """Per row the largest entry less the smallest, absence counted as nothing; or more than that."""
    found = block.ends(absent=True)
    if found is None:
        return np.asarray(2.0 * block.peak_of_row, dtype=np.float64)
    pair, row, amount = block.differences(*found)
    out = np.zeros(block.rows)
    out[row[pair == row]] = amount[pair == row]
    return out


def no_better(plan: "Plan", records: int | None = None) -> list[int]:
    """The noisy answers that are no better than a guess; `records` where the plan was made without their number."""
    known = plan.rows if records is None else records
    shifts = None if plan.measured is None else plan.measured.shifts
    errors = plan.errors if known == plan.rows else all_expected(plan.workload, plan.laws, known, shifts)
    noisy = [any(plan.laws[r].variance for r in answer.rows) for answer in plan.workload.answers]
    compared = zip(noisy, errors, guesses(plan.workload, known), strict=True)
    return [k for k, (some, error, guess) in enumerate(compared) if some and error.noise_half_width > guess]


def useless_questions(plan: "Plan", useless: Sequence[int]) -> list[int]:
    """The questions all of whose noisy answers are among the useless ones."""
    hopeless = set(useless)
    answers = plan.workload.answers
    noisy = [k for k, a in enumerate(answers) if any(plan.laws[r].variance for r in a.rows)]
    asked = {answers[k].question for k in noisy}
    return sorted(asked - {answers[k].question for k in noisy if k not in hopeless})


def plan_warning(plan: "Plan", records: int | None = None) -> tuple[str, bool]:
    """In words what is no better than a guess, nothing where all is; and whether a whole question is."""
    useless = no_better(plan, records)
    if not useless:
        return "", False
    whole = useless_questions(plan, useless)
    answers = plan.workload.answers
    named = [k for k in useless if answers[k].question == whole[0]] if whole else useless  # what the numbers are of
    worst = max(named, key=lambda k: plan.errors[k].half_width)
    guess = guesses(plan.workload, plan.rows if records is None else records)[worst]
    unit = f" {answers[worst].unit}" if answers[worst].unit else ""
    error = f"± {digits(plan.errors[worst].half_width)}{unit} where a constant errs by at most {digits(guess)}{unit}"
    if whole:
        titles = [short(plan.workload.titles[q], _WORDS) for q in whole]
        which = "; ".join(titles[:2]) + (f"; {len(titles) - 2} more" if len(titles) > 2 else "")
    else:
        which = f"{len(useless):,} of {plural(len(answers), 'answer')}, such as {short(names(answers)[worst], _WORDS)}"
    return f"no better than a guess: {which} ({error})", bool(whole)


def chance_of_the_best(choice: "Choice", records: int) -> float:
    """That the best is chosen where its score is as far above all others as so many records can make it.

    Of `exp(u / 2c)`; permute-and-flip errs no more.
    """
    if choice.scale == 0:
        return 1.0
    ahead = choice.candidates.largest(records) / (2 * choice.scale)
    return 1.0 / (1.0 + (len(choice.candidates) - 1) * math.exp(-min(ahead, 700.0)))


def choice_warning(choice: "Choice", records: int | None = None) -> str:
    """In words that a choice is no better than a guess; nothing where it is, or where nobody knows."""
    known = choice.rows if records is None else records
    if known is None:
        return ""
    most = choice.candidates.largest(known) * float(choice.candidates.unit)
    if choice.shortfall() <= most:
        return ""
    return (
        f"no better than a guess: short of the best by up to {digits(choice.shortfall())}, and no candidate can be by "
        f"more than {digits(most)}; if all {known:,} records spoke for one of {len(choice.candidates):,}, it would be "
        f"chosen with probability {digits(chance_of_the_best(choice, known))}"
    )
