"""Which nested counts to make for a workload, so that consistent noise errs least: a proposal for each component.

Components of a workload have budgets of their own where distances of attributes add up.  Of each the cells that its
questions tell apart must lie along one attribute, in an order in which those within a reach of one another are equally
far apart: all of them (values that are alike), or some (a threshold).
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dxprivacy.accounting.costs import Cost
from dxprivacy.errors import NotCertified, UsageError
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.mechanisms.laplace.cells import Cells, cells_told_apart
from dxprivacy.mechanisms.laplace.consistent import WIDEST, Consistent
from dxprivacy.mechanisms.laplace.least_squares import Component, components, rows_of
from dxprivacy.metrics import Metric
from dxprivacy.metrics.other import present
from dxprivacy.metrics.simple import Constant
from dxprivacy.model.workload import Workload
from dxprivacy.optimise.consistent.fit import MOST_CELLS, Nested, Ordered, consistent
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
    """Whether every component lies along one attribute, with few enough cells."""
    if workload.universe.absent is not None or workload.wholes:
        return False
    parts = components(workload.blocks, ())
    if not parts or (len(parts) > 1 and present(metric).axes is None):
        return False
    blocks = [[workload.blocks[b] for b in part.asked] for part in parts]
    return all(
        len(part.axes) == 1 and 2 <= cells_told_apart(mine, part.axes) <= MOST_CELLS
        for part, mine in zip(parts, blocks, strict=True)
    )


def propose(
    workload: Workload, metric: Metric, share: Fraction, importance: Floats, *, spent: Cost | None, watch: Watch
) -> Proposed:
    """Nested counts for each component; refuses where one of them has none."""
    questions: list[Asked] = []
    scales: list[Floats] = []
    names: list[str] = []
    for part in components(workload.blocks, ()):
        blocks = [workload.blocks[b] for b in part.asked]
        wanted_by = importance[rows_of(workload, part.asked)]
        cells = Cells.bare(blocks)
        wanted = np.vstack([b.columns(cells.representatives) for b in blocks]).astype(np.float64)
        gram = (wanted * wanted_by[:, None]).T @ wanted
        found = _nested(gram, part, cells, metric, share, spent, watch)
        if (1 / found.weights[found.rows.sum(axis=1) == 1]).max() > WIDEST * _ROOM:
            raise NotCertified(
                f"consistent noise of a scale of more than {WIDEST:,.0f} needs tables that are too long",
                hints=[('method="matrix"', "independent noise, of any scale")],
            )
        questions.append(cells.question(found.rows, Fraction(1)))
        scales.append(1 / found.weights)
        names.append(found.name)
    about = f"counts {' and '.join(dict.fromkeys(names))}, with noise that agrees: answers are sums of whole counts"
    return Proposed(Consistent(workload, Stack(tuple(questions))), np.concatenate(scales), about)


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
    found = consistent(Ordered(gram[np.ix_(order, order)], reach, limit), watch)
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
    alone = metric if axes is None else axes[part.axes[0]]
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
