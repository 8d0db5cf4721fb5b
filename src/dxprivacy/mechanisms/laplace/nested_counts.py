"""Which counts to make for a workload, so that consistent noise errs least: a proposal for each component.

Components of a workload have budgets of their own where distances of attributes add up; otherwise all is one.  Along
one attribute the cells that questions tell apart must have an order in which those within a reach of one another are
equally far apart: all of them (values that are alike), or some (a threshold).  Over several attributes questions are
tables, whose noise agrees along margins, or tell few cells apart that are all equally far from one another, which are
halved attribute by attribute.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dxprivacy.accounting.costs import Cost
from dxprivacy.errors import NotCertified, UsageError
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.mechanisms.laplace.cells import Cells, cells_told_apart
from dxprivacy.mechanisms.laplace.consistent import Consistent
from dxprivacy.mechanisms.laplace.least_squares import Component, components, rows_of, tables_of
from dxprivacy.mechanisms.laplace.shared_margins import shared_margins
from dxprivacy.mechanisms.laplace.table_budgets import sharing_a_budget
from dxprivacy.metrics import Metric
from dxprivacy.metrics.other import present
from dxprivacy.metrics.simple import Constant
from dxprivacy.model.blocks import Block
from dxprivacy.model.workload import Workload
from dxprivacy.optimise.consistent.fit import MOST_CELLS, Nested, Ordered, boxes, consistent
from dxprivacy.optimise.strategies import Problem
from dxprivacy.optimise.strategies.structure import threshold
from dxprivacy.optimise.watch import Watch
from dxprivacy.questions.asked import Asked, Stack

_ROOM = 0.99  # what is repaired afterwards may be a little wider
_HARDLY_ANY = 60.0  # what two values may show: then noise is not 0 once in e^30
_MOST_PAIRED = 400  # cells whose pairs are looked at one by one, and whose order is looked for


@dataclass(frozen=True, eq=False)
class Proposed:
    """Nested counts for a whole workload."""

    measured: Consistent
    scales: Floats
    about: str


def applies(workload: Workload, metric: Metric) -> bool:
    """Whether every component lies along one attribute, with few enough cells, or consists of tables or few cells."""
    if workload.universe.absent is not None or workload.wholes:
        return False
    parts = _components(workload, metric)
    return bool(parts) and all(_may_agree(workload, part) for part in parts)


def _components(workload: Workload, metric: Metric) -> list[Component]:
    """Each with a budget of its own."""
    parts = components(workload.blocks, ())
    return [sharing_a_budget(parts)] if len(parts) > 1 and present(metric).axes is None else parts


def _may_agree(workload: Workload, part: Component) -> bool:
    blocks = [workload.blocks[b] for b in part.asked]
    few = 2 <= cells_told_apart(blocks, part.axes) <= MOST_CELLS
    return few or (len(part.axes) > 1 and tables_of(blocks, ()) is not None)


def propose(
    workload: Workload, metric: Metric, share: Fraction, importance: Floats, *, spent: Cost | None, watch: Watch
) -> Proposed:
    """Counts for each component; refuses where one of them has none."""
    questions: list[Asked] = []
    scales: list[Floats] = []
    names: list[str] = []
    for part in _components(workload, metric):
        blocks = [workload.blocks[b] for b in part.asked]
        if len(part.axes) > 1 and tables_of(blocks, ()) is not None:
            shared = shared_margins(workload, part, metric, share, importance, spent=spent, watch=watch)
            questions += shared.questions
            scales.append(shared.scales)
            names.append(shared.name)
            continue
        cells = Cells.bare(blocks)
        found = _nested(
            _gram(blocks, cells, importance[rows_of(workload, part.asked)]), part, cells, metric, share, spent, watch
        )
        questions.append(cells.question(found.rows, Fraction(1)))
        scales.append(1 / found.weights)
        names.append(found.name)
    measured = Consistent(workload, Stack(tuple(questions)))
    each = np.concatenate(scales)
    measured.require_narrow(each.tolist(), _ROOM)
    told = "sums of whole counts" if measured.whole else "worked out from counts that share margins"
    about = f"counts {' and '.join(dict.fromkeys(names))}, with noise that agrees: answers are {told}"
    return Proposed(measured, each, about)


def _gram(blocks: Sequence[Block], cells: Cells, importance: Floats) -> Floats:
    wanted = np.vstack([b.columns(cells.representatives) for b in blocks]).astype(np.float64)
    return np.asarray((wanted * importance[:, None]).T @ wanted, dtype=np.float64)


def _nested(
    gram: Floats,
    part: Component,
    cells: Cells,
    metric: Metric,
    share: Fraction,
    spent: Cost | None,
    watch: Watch,
) -> Nested:
    order, reach, limit = _order(gram, part, cells, metric, share, spent)
    if limit > _HARDLY_ANY:
        raise NotCertified("there is hardly any noise to save", hints=[('method="optimal"', "counts what was asked")])
    borders = None
    if len(part.axes) > 1:
        if reach < cells.count - 1:
            raise NotCertified(
                "consistent noise over several attributes needs records that are all equally far apart",
                hints=[('method="matrix"', "independent noise")],
            )
        order, borders = boxes([int(c.max()) + 1 for c in cells.classes])
    found = consistent(Ordered(gram[np.ix_(order, order)], reach, limit, borders), watch)
    if found is None:
        raise NotCertified(
            "found no nested counts: on a line, counts up to each value with noise of their own are as good as it gets",
            hints=[('method="matrix"', "independent noise")],
        )
    back = np.argsort(order)
    return Nested(found.name, found.rows[:, back], found.weights, found.total)


def _order(
    gram: Floats, part: Component, cells: Cells, metric: Metric, share: Fraction, spent: Cost | None
) -> tuple[Ints, int, float]:
    """The cells in an order, how far it reaches, and what those within reach may show."""
    count = cells.count
    axes = present(metric).axes
    alone = metric if axes is None or len(part.axes) > 1 else axes[part.axes[0]]
    if spent is None and isinstance(alone, Constant) and count > _MOST_PAIRED and 0 < alone.epsilon < math.inf:
        return np.arange(count), count - 1, float(alone.epsilon * share)
    paired = cells.paired(metric, share, spent)
    if paired.limits is None or paired.public or not (paired.limits > 0).all():
        raise NotCertified("too many pairs, or pairs of which nothing is left, for consistent noise")
    try:
        problem = Problem(gram, paired.first, paired.second, paired.limits)
    except UsageError:
        raise NotCertified("cells that only public differences join") from None
    known = threshold(problem)
    if known is None:
        raise NotCertified(
            "consistent noise needs an order in which all values within a reach are equally far apart",
            hints=[('method="matrix"', "independent noise")],
        )
    return *known, float(paired.limits.min())
