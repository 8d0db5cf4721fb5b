"""Propose hierarchies of counts with k-norm noise, for each component of a workload.

Components have budgets of their own if distances of attributes add up; otherwise all of them are one component. Along
one attribute, the possible records that queries separate must have an order in which those within a certain reach of
one another are equally far apart: all of them (a constant metric), or some (a threshold). Over several attributes there
are two cases. Either the queries are tables, whose k-norm noise is consistent along shared margins. Or they separate
few possible records, which are all equally far from one another; these are halved attribute by attribute.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dxprivacy.errors import NotCertified, UsageError
from dxprivacy.exact.arrays import Bools, Floats, Ints
from dxprivacy.mechanisms.linear.estimators.k_norm_counts import KNormCounts
from dxprivacy.mechanisms.linear.estimators.least_squares import Component, components, rows_of
from dxprivacy.mechanisms.linear.strategies.k_norm_strategies import HARDLY_ANY, shared_margins
from dxprivacy.mechanisms.linear.strategies.matrix_mechanism import counted_for, query_of
from dxprivacy.mechanisms.linear.strategies.separated_records import SeparatedRecords, count_representatives
from dxprivacy.mechanisms.linear.strategies.tables_in_rows import sharing_a_budget, tables_in
from dxprivacy.metrics import Metric
from dxprivacy.metrics.closed_forms import Constant
from dxprivacy.metrics.with_other import present
from dxprivacy.optimize.deadline import Watch
from dxprivacy.optimize.k_norm.hierarchy_fit import MOST_CELLS, NestedFit, OrderedFit, boxes, consistent
from dxprivacy.optimize.strategies import Effort, StrategyProblem
from dxprivacy.optimize.strategies.pair_structure import threshold
from dxprivacy.privacy.costs import Cost
from dxprivacy.queries.asked import Asked, Stack
from dxprivacy.queries.strategy_rows import Groups, Tally
from dxprivacy.universe.blocks import Block
from dxprivacy.universe.workload import Workload

_MOST_LEVELS, _FEW = 16, 2  # levels of a hierarchy stored as tallies; levels with this few rows are not
_ROWS_AT_ONCE = 4_096
_ROOM = 0.99  # repaired scales may be slightly larger
_MOST_PAIRED = 400  # possible records for which all pairs are listed and an order is searched


@dataclass(frozen=True, eq=False)
class ProposedHierarchy:
    """Hierarchies of counts for a whole workload."""

    measured: KNormCounts
    scales: Floats
    about: str


def applies(workload: Workload, metric: Metric) -> bool:
    """Whether some component lies along one attribute with few possible records, or consists of tables."""
    if workload.universe.absent is not None or workload.proportional:
        return False
    return any(_may_use_k_norm(workload, part) for part in _components(workload, metric))


def _components(workload: Workload, metric: Metric) -> list[Component]:
    """The components of a workload that have budgets of their own."""
    parts = components(workload.blocks, ())
    return [sharing_a_budget(parts)] if len(parts) > 1 and present(metric).axes is None else parts


def _may_use_k_norm(workload: Workload, part: Component) -> bool:
    blocks = [workload.blocks[b] for b in part.asked]
    few = 2 <= count_representatives(blocks, part.axes) <= MOST_CELLS
    return few or (len(part.axes) > 1 and tables_in(blocks, ()) is not None)


@dataclass(frozen=True, eq=False)
class Policed:
    """The conditions of a proposal: distances, budget, earlier costs, and how long to search."""

    metric: Metric
    budget: Fraction
    spent: Cost | None
    watch: Watch
    effort: Effort


def propose(workload: Workload, under: Policed, importance: Floats, own_scales: Sequence[float]) -> ProposedHierarchy:
    """Propose measured counts for each component.

    Components for which k-norm noise is not possible get independent noise; if that is all of them, the first refusal
    is raised. `own_scales` are the scales of the workload's own rows.
    """
    parts = _components(workload, under.metric)
    found: list[_Counted | None] = []
    why: NotCertified | None = None
    for part in parts:
        try:
            found.append(_with_k_norm(workload, part, under, importance))
        except NotCertified as refused:
            found.append(None)
            why = why or refused
    if why is not None and not any(found):
        raise why
    each = [
        some or _independent(workload, part, under, importance, own_scales)
        for part, some in zip(parts, found, strict=True)
    ]
    measured = KNormCounts(workload, Stack(tuple(q for some in each for q in some.queries)))
    scales = np.concatenate([some.scales for some in each])
    measured.require_narrow(scales.tolist(), _ROOM)
    names = " and ".join(dict.fromkeys(some.name for some in each if some.name))
    told = "sums of integer counts" if measured.whole else "estimated from them"
    return ProposedHierarchy(measured, scales, f"measures {names} with k-norm noise: answers are {told}")


@dataclass(frozen=True, eq=False)
class _Counted:
    """The measured queries of one component."""

    queries: tuple[Asked, ...]
    scales: Floats
    name: str


def _with_k_norm(workload: Workload, part: Component, under: Policed, importance: Floats) -> _Counted:
    blocks = [workload.blocks[b] for b in part.asked]
    tables = tables_in(blocks, ()) if len(part.axes) > 1 else None
    if tables is not None:
        shared = shared_margins(
            workload, part, tables[0], under.metric, under.budget, importance, spent=under.spent, watch=under.watch
        )
        return _Counted(shared.queries, shared.scales, shared.name)
    if not 2 <= count_representatives(blocks, part.axes) <= MOST_CELLS:
        raise NotCertified(
            "k-norm noise needs queries along one attribute, or tables, or few possible records",
            hints=[('method="matrix"', "independent noise")],
        )
    cells = SeparatedRecords.bare(blocks)
    gram = _gram(blocks, cells, importance[rows_of(workload, part.asked)])
    found = _nested(gram, part, cells, under.metric, under.budget, under.spent, under.watch)
    queries, order = _by_levels(found.rows, cells)
    return _Counted(queries, 1 / found.weights[order], found.name)


def _by_levels(rows: Ints, cells: SeparatedRecords) -> tuple[tuple[Asked, ...], Ints]:
    """Return rows along one attribute as tallies of disjoint rows, and the new order of the rows.

    A record changes only one row of a tally, so the loss of a tally is fast to compute.
    """
    if len(cells.axes) > 1:
        return (cells.query(rows, Fraction(1)),), np.arange(len(rows))
    levels: list[list[int]] = []
    taken: list[Bools] = []
    rest: list[int] = []
    for k in np.argsort(rows.sum(axis=1), kind="stable").tolist():
        mine = rows[k] == 1
        at = next((level for level, some in enumerate(taken) if not (some & mine).any()), len(levels))
        if at == _MOST_LEVELS:
            rest.append(k)
            continue
        if at == len(levels):
            levels.append([])
            taken.append(np.zeros(rows.shape[1], dtype=bool))
        levels[at].append(k)
        taken[at] |= mine
    rest += [k for level in levels if len(level) <= _FEW for k in level]
    name, classes = cells.universe.names[cells.axes[0]], cells.classes[0]
    queries: list[Asked] = []
    order: list[int] = []
    for level in levels:
        if len(level) > _FEW:
            groups = np.where(rows[level].any(axis=0), rows[level].argmax(axis=0), -1)
            queries.append(Tally((Groups(name, tuple(groups[classes].tolist()), (1,) * len(classes)),)))
            order += level
    if rest:
        queries.append(cells.query(rows[rest], Fraction(1)))
    return tuple(queries), np.array(order + rest, dtype=np.int64)


def _independent(
    workload: Workload, part: Component, under: Policed, importance: Floats, own_scales: Sequence[float]
) -> _Counted:
    """The strategy for least squares; if there is none, the workload's own rows."""
    found = counted_for(
        workload,
        under.metric,
        under.budget,
        importance,
        own_scales,
        part,
        spent=under.spent,
        watch=under.watch,
        effort=under.effort,
    )
    if found is not None:
        return _Counted(found.queries, found.scales, found.name)
    scales = np.asarray(own_scales, dtype=np.float64)[rows_of(workload, part.asked)]
    return _Counted(tuple(query_of(workload.blocks[b]) for b in part.asked), scales, "")


def _gram(blocks: Sequence[Block], cells: SeparatedRecords, importance: Floats) -> Floats:
    out = np.zeros((cells.count, cells.count))
    first = 0
    for block in blocks:
        wanted = block.columns(cells.representatives)
        for start in range(0, block.rows, _ROWS_AT_ONCE):
            some = wanted[start : start + _ROWS_AT_ONCE].astype(np.float64)
            out += (some * importance[first + start : first + start + len(some), None]).T @ some
        first += block.rows
    return out


def _nested(
    gram: Floats,
    part: Component,
    cells: SeparatedRecords,
    metric: Metric,
    budget: Fraction,
    spent: Cost | None,
    watch: Watch,
) -> NestedFit:
    order, reach, limit = _order(gram, part, cells, metric, budget, spent)
    if limit > HARDLY_ANY:
        raise NotCertified("there is hardly any noise to save", hints=[('method="optimal"', "counts what was asked")])
    borders = None
    if len(part.axes) > 1:
        if reach < cells.count - 1:
            raise NotCertified(
                "k-norm noise over several attributes needs records that are all equally far apart",
                hints=[('method="matrix"', "independent noise")],
            )
        order, borders = boxes([int(c.max()) + 1 for c in cells.classes])
    found = consistent(OrderedFit(gram[np.ix_(order, order)], reach, limit, borders), watch)
    if found is None:
        raise NotCertified(
            "found no hierarchy of counts: on a line, prefix counts with independent noise are best",
            hints=[('method="matrix"', "independent noise")],
        )
    back = np.argsort(order)
    return NestedFit(found.name, found.rows[:, back], found.weights, found.total)


def _order(
    gram: Floats, part: Component, cells: SeparatedRecords, metric: Metric, budget: Fraction, spent: Cost | None
) -> tuple[Ints, int, float]:
    """Return an order of the possible records, its reach, and the least budget of pairs within reach."""
    count = cells.count
    axes = present(metric).axes
    alone = metric if axes is None or len(part.axes) > 1 else axes[part.axes[0]]
    if spent is None and isinstance(alone, Constant) and count > _MOST_PAIRED and 0 < alone.epsilon < math.inf:
        return np.arange(count), count - 1, float(alone.epsilon * budget)
    paired = cells.paired(metric, budget, spent)
    if paired.limits is None or paired.public or not (paired.limits > 0).all():
        raise NotCertified("too many pairs for k-norm noise, or pairs with no budget left")
    try:
        problem = StrategyProblem(gram, paired.first, paired.second, paired.limits)
    except UsageError:
        raise NotCertified("only public differences connect some possible records") from None
    known = threshold(problem)
    if known is None:
        raise NotCertified(
            "k-norm noise needs an order in which all values within a reach are equally far apart",
            hints=[('method="matrix"', "independent noise")],
        )
    return *known, float(paired.limits.min())
