"""Tables whose attributes are asked for, and measured, by other rows than single values: unions of products of rows.

An asked table is a product of rows along its attributes (all prefixes of age for each sex, say), a measured one a
product of the attributes' codings (see `table_axes`, `coding`).  The search is that of tables of counts: which to
measure, and how precisely, under one budget or several.  Never sees data; nothing here is certified.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from dxprivacy.exact.arrays import Floats
from dxprivacy.optimize.deadline import Watch
from dxprivacy.optimize.tables.measured_table import Table, checked_attributes, checked_positive
from dxprivacy.optimize.tables.table_axes import Axis
from dxprivacy.optimize.tables.table_budgets import Budgets
from dxprivacy.optimize.tables.table_components import Attributes, build
from dxprivacy.optimize.tables.table_search import search


@dataclass(frozen=True, eq=False)
class Products:
    """The tables to measure, the precision (1 / scale) of each, and the weighted squared error in all."""

    tables: tuple[Table, ...]
    precisions: Floats
    total: float


def choose_products(
    axes: Sequence[Axis],
    budgets: Budgets,
    workload: Sequence[Sequence[int]],
    weights: Sequence[float],
    *,
    watch: Watch | None = None,
) -> Products:
    """The best tables that the search finds, all attributes having at least two values and a budget.

    >>> from dxprivacy.optimize.tables.coding import prefixes
    >>> import math, numpy as np
    >>> axes = [Axis.of_rows(prefixes(3), np.eye(3)), Axis.of_counts(2)]
    >>> round(choose_products(axes, Budgets((math.inf,) * 2, presence=1.0), [(0, 1)], [1]).total, 6)
    24.0
    """
    sizes = [axis.size for axis in axes]
    asked: dict[Attributes, float] = {}
    given = checked_positive(weights, "weights", len(workload))
    for table, weight in zip(workload, given, strict=True):
        key = tuple(sorted(checked_attributes(table, sizes)))
        asked[key] = asked.get(key, 0.0) + weight
    system = build(sizes, budgets, list(asked), list(asked.values()), axes)
    found = search(system, watch or Watch(), lambda _: None)
    return Products(found.tables, found.precisions, found.error)
