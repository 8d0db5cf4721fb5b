"""Weighted tables on a product universe: which tables to count, how noisily, and how to put them together again.

Numbers only: attributes are 0, 1, 2, ..., a universe is the tuple of their sizes; the number of records is public, or
has to be measured as well (see `budgets`).  The cells of the universe are never built; everything happens on tables and
on their components (see `system`).
"""

from dxprivacy.optimise.tables.budgets import Budgets
from dxprivacy.optimise.tables.choice import Chosen, choose
from dxprivacy.optimise.tables.reconstruction import Reconstruction
from dxprivacy.optimise.tables.table import Table

__all__ = ["Budgets", "Chosen", "Reconstruction", "Table", "choose"]
