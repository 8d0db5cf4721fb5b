"""Weighted tables on a product universe: which tables to count, how noisily, and how to put them together again.

Numbers only: attributes are 0, 1, 2, ..., a universe is the tuple of their sizes; the number of records is public, or
has to be measured as well (see `measured_table`).  The cells of the universe are never built; everything happens on
tables and on their components (see `table_components`).

In reading order: `coding`, `measured_table`, `table_components`, `table_moves`, `table_search`, `table_estimates`,
`table_limits`, `table_selection`.
"""

from dxprivacy.optimize.tables.measured_table import Budgets, MeasuredTable
from dxprivacy.optimize.tables.table_estimates import Reconstruction
from dxprivacy.optimize.tables.table_selection import ChosenTables, choose

__all__ = ["Budgets", "ChosenTables", "MeasuredTable", "Reconstruction", "choose"]
