"""Recognize tables among rows, whether they were asked for as tables or as an explicit matrix.

A row of a table has entries 0 and 1, and counts the records with certain values of some attributes. The rows of a
matrix are grouped by their attributes. Each bin of a table may occur at most once, and bins may be missing.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dxprivacy.exact.arrays import Ints
from dxprivacy.mechanisms.linear.estimators.least_squares import Component, TableOf, table_of
from dxprivacy.mechanisms.linear.strategies.separated_records import classes_of, combinations_of, pairs_between
from dxprivacy.metrics import Metric
from dxprivacy.metrics.closed_forms import Constant
from dxprivacy.metrics.with_other import WithAbsent, present
from dxprivacy.optimize.tables import Budgets
from dxprivacy.privacy.costs import Cost
from dxprivacy.universe.blocks import Block, Explicit
from dxprivacy.universe.universe import Universe

_MOST_ENTRIES = 5_000_000


@dataclass(frozen=True, eq=False)
class AskedTable:
    """A table's attributes, and the number of each bin's row among all workload rows; -1 if the bin is missing."""

    attributes: tuple[int, ...]
    rows: Ints


def tables_in(asked: Sequence[Block], counted: Sequence[Block]) -> tuple[list[AskedTable], list[TableOf]] | None:
    """Express all rows of a component as tables over the values that they separate; None if some are not tables.

    Measured tables must be complete and must not be halved.
    """
    blocks = [*asked, *counted]
    classes = {axis: classes_of(blocks, axis) for axis in sorted({a for b in blocks for a in b.axes})}
    found: list[AskedTable] = []
    start = 0
    for block in asked:
        mine = _in_block(block, classes)
        if mine is None:
            return None
        found += [AskedTable(t.attributes, np.where(t.rows >= 0, t.rows + start, -1)) for t in mine]
        start += block.rows
    made = [table_of(block, classes) for block in counted]
    whole = [t for t in made if t is not None and not t.halved and (t.rows >= 0).all()]
    return (found, whole) if found and len(whole) == len(counted) else None


def _in_block(block: Block, classes: dict[int, Ints]) -> list[AskedTable] | None:
    if isinstance(block, Explicit):
        return _in_matrix(block, classes)
    table = table_of(block, classes)
    return None if table is None or table.halved else [AskedTable(table.attributes, table.rows)]


def _in_matrix(block: Explicit, classes: dict[int, Ints]) -> list[AskedTable] | None:
    axes = [axis for axis, c in classes.items() if int(c.max()) > 0]
    sizes = [int(classes[axis].max()) + 1 for axis in axes]
    if math.prod(sizes) * block.rows > _MOST_ENTRIES:
        return None
    cells = combinations_of(block.universe, {axis: classes[axis] for axis in axes})
    columns = block.columns(cells)
    if not ((columns == 0) | (columns == 1)).all():
        return None
    found: dict[tuple[int, ...], Ints] = {}
    for number, row in enumerate(columns.reshape(block.rows, *sizes)):
        places = np.nonzero(row)
        values = [np.unique(x) for x in places]
        if not all(len(v) in (1, n) for v, n in zip(values, sizes, strict=True)):
            return None
        fixed = [k for k, (v, n) in enumerate(zip(values, sizes, strict=True)) if len(v) < n]
        if len(places[0]) != math.prod(n for k, n in enumerate(sizes) if k not in fixed):
            return None
        key = tuple(axes[k] for k in fixed)
        mine = found.setdefault(key, np.full([sizes[k] for k in fixed], -1, dtype=np.int64))
        at = tuple(int(values[k][0]) for k in fixed)
        if mine[at] >= 0:
            return None  # the same bin occurs twice
        mine[at] = number
    return [AskedTable(attributes, rows.reshape(-1)) for attributes, rows in found.items()]


# -- Budgets of tables over some attributes ----------------------------------------------------------------------------


def sharing_a_budget(parts: Sequence[Component]) -> Component:
    """Merge components that share one budget into one component."""
    axes = sorted(a for part in parts for a in part.axes)
    return Component(tuple(axes), tuple(sorted({b for part in parts for b in part.asked})), ())


def budgets_of_tables(
    universe: Universe,
    axes: Sequence[int],
    classes: Sequence[Ints],
    metric: Metric,
    budget: Fraction,
    spent: Cost | None,
) -> tuple[Budgets, bool] | None:
    """Return the budgets of tables over classes of these attributes' values, and whether all classes are equally far
    apart.

    None if distances are neither a sum over attributes nor the same for all records. If one budget covers all tables,
    earlier costs are left to the certificate.
    """
    base, part = present(metric), float(budget)
    presence = part * float(metric.radius) if isinstance(metric, WithAbsent) else math.inf
    if isinstance(base, Constant) and len(universe.attributes) > 1:
        together = min(part * float(base.epsilon), 2 * presence)
        if not 0 < together < math.inf:
            return None
        return Budgets((math.inf,) * len(classes), together, presence), spent is None
    if base.axes is None and len(universe.attributes) > 1:
        return None
    budgets, even = [], spent is None
    for axis, c in zip(axes, classes, strict=True):
        pairs = pairs_between([axis], [c], metric, budget, spent)
        if pairs is None:
            return None
        here = pairs[1] <= int(c.max())  # without pairs with `absent`
        budgets.append(float(pairs[2][here].min(initial=math.inf)))
        alone = base if base.axes is None else base.axes[axis]
        even = even and isinstance(alone, Constant)
    return Budgets(tuple(budgets), presence=presence), even
