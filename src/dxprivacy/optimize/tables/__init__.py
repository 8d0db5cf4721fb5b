"""Weighted tables on a product universe: which tables to measure, with how much noise, and how to combine them.

Attributes are numbered 0, 1, 2, ..., and a universe is the tuple of their sizes.  The number of records is public, or
is measured as well (see `measured_table`).  The possible records are never enumerated; all computations are on tables
and their components (see `table_components`).

In reading order: `measured_table`, `table_components`, `table_moves`, `table_search`, `coding`, `table_estimates`,
`table_limits`, `table_selection`.
"""

from dxprivacy.optimize.tables.measured_table import Budgets, MeasuredTable
from dxprivacy.optimize.tables.table_estimates import Reconstruction
from dxprivacy.optimize.tables.table_selection import ChosenTables, choose

__all__ = ["Budgets", "ChosenTables", "MeasuredTable", "Reconstruction", "choose"]
