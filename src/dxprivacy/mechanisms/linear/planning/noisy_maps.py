"""Maps that are mostly noise at the width asked for, and a width at which they are not: from public numbers alone.

Where noise is many times what a cell would hold if all records lay evenly over the map, few cells can ever stand out
of it, wherever people live: that many records are not there.  A wider bell has less noise, and fewer and larger cells.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from dxprivacy.errors import DxError
from dxprivacy.mechanisms.linear.plan_facts import PlanFacts
from dxprivacy.mechanisms.linear.planning.smoothing_widths import FEW, map_with_width, next_width
from dxprivacy.privacy.map_costs import unit_part
from dxprivacy.queries.kinds.densities import Density
from dxprivacy.releases.map_cells import clear_from
from dxprivacy.universe.blocks import Blurred
from dxprivacy.universe.workload import Workload

_MOST_NOISE = 10  # times what a cell would hold evenly; maps whose width is left open have some 2 to 8
_ADVISED = 8  # less than that: beside other questions a wider map may get a smaller part of the policy
_TRIED = 8  # widths, each twice the one before or more


@dataclass(frozen=True)
class PoorMap:
    """A map with its noise (95 %), and the same question with a width that will do; None where none does.

    Of the cells in which anybody can count, so many at most can hold enough to stand out of the noise of all.
    """

    question: Density
    half_width: float
    cells: int
    clear: int
    records: int
    instead: Density | None


def poor_maps(plan: PlanFacts, records: int | None = None) -> list[PoorMap]:
    """The maps of a plan that are mostly noise; for as many records as a width is chosen for, if nobody says."""
    known = records or plan.records or FEW
    return [found for k in range(len(plan.questions.questions)) if (found := _poor(plan, k, known)) is not None]


def _poor(plan: PlanFacts, k: int, records: int) -> PoorMap | None:
    question, universe = plan.questions.questions[k], plan.metric.universe
    if not isinstance(question, Density) or question.places(universe) is None:
        return None
    rows = [answer.rows[0] for answer in plan.workload.answers if answer.question == k]
    noisy = [row for row in rows if plan.laws[row].variance]
    if not noisy:
        return None
    block = plan.workload.blocks[int(plan.workload.block_of[noisy[0]])]
    unit = float(plan.workload.units[noisy[0]])
    noise = math.sqrt(plan.laws[noisy[0]].variance) * unit
    if not isinstance(block, Blurred) or noise <= _MOST_NOISE * records / len(noisy):
        return None
    per_part = noise / _paid(block, plan)
    instead = next((q for q in _wider(question, plan, records) if _will_do(q, plan, per_part, records)), None)
    both = zip(plan.errors, plan.workload.answers, strict=True)
    half_width = next(error.noise_half_width for error, answer in both if answer.rows[0] == noisy[0])
    clear = math.floor(records / clear_from(half_width, len(rows)))
    return PoorMap(question, half_width, len(noisy), clear, records, instead)


def _wider(question: Density, plan: PlanFacts, records: int) -> Iterator[Density]:
    """The same question with the width that a plan would choose, and with wider ones; cells are half as wide."""
    share = plan.share / len(plan.questions.questions)
    chosen = map_with_width(replace(question, width=None, every=None), plan.metric, share, records)
    least = question.width or Fraction(0)
    for _ in range(_TRIED):
        if chosen.width is None:
            return
        if chosen.width > least:
            yield chosen
        chosen = replace(chosen, width=next_width(chosen.width), every=None)


def _will_do(question: Density, plan: PlanFacts, per_part: float, records: int) -> bool:
    """Whether it is clear of its noise, if it is paid the same part of the policy."""
    try:
        workload: Workload = question.on(plan.metric.universe)
    except DxError:  # wider than its map, for instance
        return False
    (block,) = workload.blocks
    if not isinstance(block, Blurred) or block.tells_nothing:
        return False
    filled = int((block.peak_of_row > 0).sum())
    return per_part * _paid(block, plan) <= _ADVISED * records / filled


def _paid(block: Blurred, plan: PlanFacts) -> float:
    """How much of the policy noise of scale 1 takes: scales of two maps that are paid alike go by it."""
    return float(unit_part(block, plan.metric).most)
