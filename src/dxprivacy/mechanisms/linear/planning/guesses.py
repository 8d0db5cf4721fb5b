"""Whether an answer tells more than a guess that looks at no data: from public numbers alone.

A number that must lie between two public ends is guessed by their middle, which errs by half their difference at most:
a count of n records by n/2, a sum by n times half the range of what one record adds, a mean by half its range.  An
answer whose noise needs more than that to be covered, 95 % of the time, is *no better than a guess*; a question is, if
all its noisy answers are.  A choice is, if what can be said of it, 95 % of the time, is no more than what holds for any
candidate: that its score is below the best by the whole range of scores at most.
"""

from collections.abc import Sequence

import numpy as np

from dxprivacy.exact.arrays import Floats
from dxprivacy.mechanisms.linear.estimators.expected_errors import all_expected
from dxprivacy.mechanisms.linear.plan_facts import PlanFacts
from dxprivacy.universe.answers import ErrorOf
from dxprivacy.universe.blocks import Block, PeopleTable
from dxprivacy.universe.workload import Workload


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
    """The noisy answers that are no better than a guess; `records` where the plan was made without their number."""
    known = plan.records if records is None else records
    errors = errors_with(plan, known)
    noisy = [any(plan.laws[r].variance for r in answer.rows) for answer in plan.workload.answers]
    compared = zip(noisy, errors, guesses(plan.workload, known), strict=True)
    return [k for k, (some, error, guess) in enumerate(compared) if some and error.noise_half_width > guess]


def errors_with(plan: PlanFacts, records: int | None) -> tuple[ErrorOf, ...]:
    """The errors of all answers with this number of records."""
    if records == plan.records:
        return plan.errors
    return all_expected(plan.workload, plan.laws, records, plan.measured.shifts)


def useless_questions(plan: PlanFacts, useless: Sequence[int]) -> list[int]:
    """The questions all of whose noisy answers are among the useless ones."""
    hopeless = set(useless)
    answers = plan.workload.answers
    noisy = [k for k, a in enumerate(answers) if any(plan.laws[r].variance for r in a.rows)]
    asked = {answers[k].question for k in noisy}
    return sorted(asked - {answers[k].question for k in noisy if k not in hopeless})
