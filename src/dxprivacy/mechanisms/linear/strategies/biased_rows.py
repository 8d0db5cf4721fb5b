"""Biased plans: rows that are changed slightly on purpose, because the changed rows need less noise.

The number of records is public, so the largest effect of the change on an answer is known before anything is spent.
Bias is worth it only for few records or a very strict policy: with n records and a pair at distance d, the error falls
by the factor sqrt(x / (x + 8)), x = (n d)^2, which is 0.996 at n d = 30.

If distances add up over the attributes, queries about different attributes share no generating pair. The problem then
separates into parts that are solved one by one (appendix C of the paper; docs/statistical.md). A part of one row is a
problem in one variable and is solved exactly.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dxprivacy.errors import NotCertified, UsageError
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.mechanisms.linear.estimators.measured import RowForRow
from dxprivacy.mechanisms.linear.noise import discrete_laplace_distribution
from dxprivacy.mechanisms.linear.strategies.separated_records import SeparatedRecords, count_representatives, moves
from dxprivacy.metrics import Metric
from dxprivacy.optimize.biased import Biased, many, single
from dxprivacy.optimize.deadline import Watch
from dxprivacy.optimize.objectives import SQUARED, Objective
from dxprivacy.privacy.costs import Cost
from dxprivacy.queries.asked import Asked, Stack
from dxprivacy.universe.workload import Workload

MOST_CELLS = 300  # possible records separated by the rows of one part
MOST_ALONE = 1_000  # possible records separated by a single row
WORTH_IT = 30.0
_LARGEST = 2.0**40


@dataclass(frozen=True, eq=False)
class Shifted:
    """A proposal: the rows to measure in place of the workload's own, and their scales."""

    measured: RowForRow
    scales: Floats
    about: str


@dataclass(frozen=True, eq=False)
class BiasedPart:
    """Blocks of rows that share pairs of possible records with one another, and with no others.

    `cells` is None if they separate too many possible records; their rows are then measured unchanged.
    """

    blocks: tuple[int, ...]
    rows: Ints
    cells: SeparatedRecords | None


def parts_of(workload: Workload, metric: Metric, budget: Fraction, spent: Cost | None) -> list[BiasedPart]:
    """Partition the queries into parts that are planned independently; one part if distances do not add up."""
    blocks = workload.blocks
    joined: list[tuple[set[int], list[int]]] = []  # attributes, blocks
    for k, block in enumerate(blocks):
        axes, members = moves(block), [k]
        if metric.axes is None or len(metric.axes) == 1:
            axes = axes | {-1}
        for other in [j for j in joined if j[0] & axes]:
            joined.remove(other)
            axes, members = axes | other[0], other[1] + members
        joined.append((axes, members))
    out = []
    for axes, members in joined:
        some = [blocks[k] for k in members]
        rows = np.concatenate([workload.offsets[k] + np.arange(blocks[k].rows) for k in members]).astype(np.int64)
        most = MOST_ALONE if len(rows) == 1 else MOST_CELLS
        moved = sorted(axes - {-1})
        small = bool(moved) and count_representatives(some, moved) <= most
        cells = SeparatedRecords.of(some, metric, budget, spent) if small else None
        out.append(BiasedPart(tuple(members), rows, cells if cells is not None and _usable(cells) else None))
    return out


def _usable(cells: SeparatedRecords) -> bool:
    return cells.limits is not None and len(cells.limits) > 0 and bool((cells.limits > 0).all())


def worth_trying(part: BiasedPart, records: int) -> bool:
    """Whether bias can lower an error by more than half a percent."""
    limits = None if part.cells is None else part.cells.limits
    return limits is not None and records * float(limits.min(initial=math.inf)) <= WORTH_IT


def propose(
    workload: Workload,
    parts: Sequence[BiasedPart],
    importance: Floats,
    own_scales: Floats,
    records: int,
    *,
    objective: Objective = SQUARED,
    watch: Watch,
    progress: Callable[[str, float], None] | None = None,
) -> Shifted | None:
    """Return rows with bias; None if they would not be better. `own_scales` are the scales without bias."""
    queries: list[Asked | None] = [None] * len(workload.blocks)
    scales, worst = own_scales.copy(), 0.0
    units = np.array([float(u) for u in workload.units])
    for part in parts:
        found = _solved(workload, part, importance, own_scales, records, objective, watch, progress)
        at = 0
        for k in part.blocks:
            block, start = workload.blocks[k], workload.offsets[k]
            rows = slice(at, at + block.rows)
            at += block.rows
            if found is None or part.cells is None:
                bare = SeparatedRecords.bare([block])
                queries[k] = bare.query(block.columns(bare.representatives), block.unit)
                continue
            each = found.scales[rows]
            queries[k], scales[start : start + block.rows] = _query(block.unit, found.rows[rows], each, part.cells)
        if found is not None:
            worst = max(worst, float(np.max(found.bias * units[part.rows])))
    if worst == 0:
        return None
    about = f"moves answers by up to {worst:.3g} on purpose, which the errors shown include, for less noise"
    put = tuple(query for query in queries if query is not None)
    return Shifted(RowForRow(workload, Stack(put)), scales, about)


def _solved(
    workload: Workload,
    part: BiasedPart,
    importance: Floats,
    own_scales: Floats,
    records: int,
    objective: Objective,
    watch: Watch,
    progress: Callable[[str, float], None] | None,
) -> Biased | None:
    """The best biased rows of one part; None if its own rows are better."""
    if part.cells is None or part.cells.limits is None:
        return None
    wanted = np.vstack([workload.blocks[k].columns(part.cells.representatives) for k in part.blocks])
    wanted = wanted.astype(np.float64)
    pairs = (part.cells.first, part.cells.second, part.cells.limits)
    if len(wanted) == 1:
        found = single(wanted[0], *pairs, records, objective=objective)
    else:
        weights, own = importance[part.rows], own_scales[part.rows]
        found = many(wanted, *pairs, records, weights, own, watch=watch, progress=progress)
    if found.name == "unbiased" or not (found.bias > 0).any():
        return None
    return found if found.loss < _without(objective, importance[part.rows], own_scales[part.rows]) else None


def _without(objective: Objective, importance: Floats, scales: Floats) -> float:
    """The error objective without bias, for discrete noise, which on a coarse grid is less than that of continuous
    noise.

    The biased rows lie on a fine grid, where the two agree.
    """
    if len(scales) == 1:  # a single row needs no weight
        return (
            discrete_laplace_distribution.mean_absolute(float(scales[0]))
            if objective.absolute
            else discrete_laplace_distribution.variance(float(scales[0]))
        )
    return float(importance @ np.array([discrete_laplace_distribution.variance(s) for s in scales.tolist()]))


def applies(workload: Workload, records: int | None) -> bool:
    """Whether a biased plan can be made."""
    return (
        bool(records)
        and workload.universe.absent is None
        and all(a.recipe.single is not None for a in workload.answers)
    )


def require_applicable(workload: Workload, records: int | None) -> int:
    """Return the number of records, which a biased plan needs, or raise with the reason why none can be made."""
    if workload.universe.absent is not None:
        raise NotCertified(
            "a biased plan needs a public number of records", hints=[('method="optimal"', "works without it")]
        )
    if not records:
        raise UsageError(
            "a biased plan needs the number of records: how much a shift moves an answer grows with it",
            hints=[("--n-records 20000", "in Python: n_records=20000")],
        )
    if any(a.recipe.single is None for a in workload.answers):
        raise NotCertified(
            "a mean by group or condition is a ratio of two answers, and has no biased plan",
            hints=[("sum … by …", "ask for sums and counts instead")],
        )
    return records


def _query(unit: Fraction, rows: Floats, scales: Floats, cells: SeparatedRecords) -> tuple[Asked, Floats]:
    """Real rows on a grid so fine that rounding does not matter."""
    largest = max(float(np.abs(rows).max(initial=0.0)), 1.0)
    bits = max(0, min(20, math.floor(math.log2(_LARGEST / largest))))
    whole: Ints = np.rint(rows * 2.0**bits).astype(np.int64)
    return cells.query(whole, unit / (1 << bits)), scales * 2.0**bits
