"""How far counts of regions with soft borders may be from those with hard ones: from the policy alone, before spending.

Blur is bias on purpose.  No interval tells how large it is, as that depends on where people live; but which part of a
record counts on the other side of a border is known for every place.
"""

import numpy as np

from dxprivacy.mechanisms.linear.plan_facts import PlanFacts
from dxprivacy.queries.grouped import Grouped
from dxprivacy.queries.kinds.counts import Count
from dxprivacy.queries.kinds.soft_regions import counted_elsewhere
from dxprivacy.universe.blocks import Blurred
from dxprivacy.wording import percent, plural

_SOME, _MOST = 0.1, 0.5


def soft_border_notes(plan: PlanFacts) -> list[str]:
    """For each count of regions with a blur: how many places count in part elsewhere, and the largest part."""
    out = []
    for k, asked in enumerate(plan.questions.questions):
        first = next(answer.rows[0] for answer in plan.workload.answers if answer.question == k)
        block = plan.workload.blocks[int(plan.workload.block_of[first])]
        if isinstance(asked, Count) and isinstance(block, Blurred):
            out.append(_note(asked, block))
    return out


def _note(asked: Count, block: Blurred) -> str:
    groups = Grouped.of(asked, block.universe).groups[block.axis]
    parts, places = counted_elsewhere(block, groups), block.universe.attributes[block.axis]
    largest = int(np.argmax(parts))
    if not parts[largest]:
        return f"{asked.name}: no place counts in part elsewhere, so that soft and hard borders count the same"
    own = "outside its own group" if groups[largest] >= 0 else "though the conditions leave it out"
    return (
        f"{asked.name}: blur is bias, which intervals do not hold: of {plural(len(parts), 'place')} "
        f"{int((parts > _SOME).sum()):,} count by more than {percent(_SOME)} on the other side of a border, "
        f"{int((parts > _MOST).sum()):,} by more than half; a record at {places.label(largest)} counts by "
        f"{percent(float(parts[largest]))} {own}, and none by more. A narrower blur moves less and has more noise"
    )
