"""Biased plans: rows that are moved a little on purpose, because they can then be told with less noise.

The number of records is public, so the worst that a shift can do to an answer is known before anything is spent.  It is
worth it only for few records or a very strict policy: with n records and a pair at distance d the error falls by the
factor sqrt(x / (x + 8)), x = (n d)^2, which is 0.996 at n d = 30 (MATH 3b).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dxprivacy.errors import NotCertified, UsageError
from dxprivacy.model.arrays import Floats, Ints
from dxprivacy.model.questions import Asked, Stack
from dxprivacy.model.workload import Linear, Workload
from dxprivacy.planning.biased import many, single
from dxprivacy.planning.cells import Cells
from dxprivacy.planning.measured import RowForRow

MOST_CELLS = 300
WORTH_IT = 30.0
_LARGEST = 2.0**40


@dataclass(frozen=True, eq=False)
class Shifted:
    """A proposal: the rows to count in place of those asked for, and their scales."""

    measured: RowForRow
    scales: Floats
    about: str


def worth_trying(cells: Cells, records: int) -> bool:
    """Whether bias can lower an error by more than half a percent."""
    return cells.limits is not None and records * float(cells.limits.min(initial=math.inf)) <= WORTH_IT


def propose(
    workload: Workload,
    cells: Cells,
    importance: Floats,
    own_scales: Floats,
    records: int,
    *,
    seconds: float,
    progress: Callable[[str, float], None] | None = None,
) -> Shifted | None:
    """Rows with bias, or None where they would not be better; `own_scales` are those of the rows without bias."""
    if not all(isinstance(a.recipe, Linear) for a in workload.answers) or cells.limits is None:
        return None
    wanted = workload.columns(cells.representatives).astype(np.float64)
    pairs = (cells.first, cells.second, cells.limits)
    if len(wanted) == 1:
        found = single(wanted[0], *pairs, records)
    else:
        found = many(wanted, *pairs, records, importance, own_scales, seconds=seconds, progress=progress)
    if found.name == "unbiased" or not (found.bias > 0).any():
        return None
    questions, scales, start = [], [], 0
    for block in workload.blocks:
        rows = slice(start, start + block.rows)
        question, each = _question(block.unit, found.rows[rows], found.scales[rows], cells)
        questions.append(question)
        scales.append(each)
        start += block.rows
    worst = float(np.max(found.bias * np.array([float(u) for u in workload.units])))
    about = f"moves answers by up to {worst:.3g} on purpose, which the errors shown include, for less noise"
    return Shifted(RowForRow(workload, Stack(tuple(questions))), np.concatenate(scales), about)


def applies(workload: Workload, records: int | None) -> bool:
    """Whether a biased plan can be made."""
    return (
        bool(records)
        and workload.universe.absent is None
        and all(isinstance(a.recipe, Linear) for a in workload.answers)
    )


def require_applicable(workload: Workload, records: int | None) -> int:
    """The number of records, which a biased plan needs; or why it cannot be made."""
    if workload.universe.absent is not None:
        raise NotCertified(
            "a biased plan needs a public number of records", hints=[('method="optimal"', "works without it")]
        )
    if not records:
        raise UsageError(
            "a biased plan needs the number of records: how much a shift moves an answer grows with it",
            hints=[("--rows 20000", "in Python: rows=20000")],
        )
    if not all(isinstance(a.recipe, Linear) for a in workload.answers):
        raise NotCertified(
            "a mean by group or condition is a ratio of two answers, and has no biased plan",
            hints=[("sum … by …", "ask for sums and counts instead")],
        )
    return records


def _question(unit: Fraction, rows: Floats, scales: Floats, cells: Cells) -> tuple[Asked, Floats]:
    """Real rows on a grid so fine that rounding does not matter."""
    largest = max(float(np.abs(rows).max(initial=0.0)), 1.0)
    bits = max(0, min(20, math.floor(math.log2(_LARGEST / largest))))
    whole: Ints = np.rint(rows * 2.0**bits).astype(np.int64)
    return cells.question(whole, unit / (1 << bits)), scales * 2.0**bits
