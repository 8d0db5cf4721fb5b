"""How wrong each answer will be, before anything is spent: from the discrete law and the rounding of the grid."""

import math
from collections.abc import Sequence
from functools import cache

from dxprivacy.mechanisms.linear.noise.discrete_laplace_law import scale_for
from dxprivacy.mechanisms.linear.noise.noise_laws import Laplace
from dxprivacy.universe.answers import ErrorOf, Law
from dxprivacy.universe.workload import Answer, Workload


def all_expected(
    workload: Workload, laws: Sequence[Law | float], records: int | None, shifts: Sequence[float] | None = None
) -> tuple[ErrorOf, ...]:
    """The error of every answer, given the law of every row or its scale; what is alike is computed once.

    `shifts` is how far a plan may move the row of one record on purpose, in steps of its grid.
    """
    of_scale = cache(Laplace)  # rows of one scale share the law
    given = tuple(of_scale(x) if isinstance(x, (int, float)) else x for x in laws)
    law_of, block_of = _numbered(given), workload.block_of.tolist()
    known: dict[tuple[object, ...], ErrorOf] = {}
    out = []
    for answer in workload.answers:
        rows = answer.recipe.rows
        shift = shifts[rows[0]] if shifts is not None else 0.0
        key = (answer.question, answer.recipe.which, shift, *[(block_of[r], law_of[r]) for r in rows])
        if key not in known:
            known[key] = answer.recipe.expected(given, records, shift)
        out.append(known[key])
    return tuple(out)


def _numbered(laws: Sequence[Law]) -> list[int]:
    """A number for each law, the same for equal ones: rows mostly share the very object, and laws are slow to hash."""
    objects: dict[int, int] = {}
    numbers: dict[Law, int] = {}
    return [
        objects[id(law)] if id(law) in objects else objects.setdefault(id(law), numbers.setdefault(law, len(numbers)))
        for law in laws
    ]


def target_scales(answer: Answer, records: int | None) -> dict[int, float]:
    """The largest scale per row that still meets the answer's target; empty if it has none or cannot meet it."""
    if answer.within is None:
        return {}
    hidden, within = answer.recipe.hidden(records), float(answer.within)
    # Where cells alone hide more than was asked for, less noise cannot help: it is then made as small as was asked.
    steps = answer.recipe.steps_within(within - hidden if hidden < within else within, records)
    return {row: scale_for(math.floor(h), each) for row, (h, each) in steps.items() if 0 <= h < 1e15}
