"""Weighted tables on a product universe: which tables to count, how noisily, and how to put them together again.

Numbers only: attributes are 0, 1, 2, ..., a universe is the tuple of their sizes, and the number of records is public.
The cells of the universe are never built; everything happens on tables and on their components (see `system`).
"""

from dxprivacy.optimise.tables.choice import Chosen, choose
from dxprivacy.optimise.tables.reconstruction import Reconstruction
from dxprivacy.optimise.tables.table import Table

__all__ = ["Chosen", "Reconstruction", "Table", "choose"]
