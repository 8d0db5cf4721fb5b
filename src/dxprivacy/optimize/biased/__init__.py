"""Biased plans: rows that are cheaper to measure than the workload queries, if the number of records is public.

Nothing here knows plans, policies or data; the results are proposals in floats and are certified elsewhere.

In reading order: `closed_pairs`, `shapes`, `envelope`, `one_row`, `joint`, `many_rows`, `smalldb_bound`.
"""

from dxprivacy.optimize.biased.envelope import envelope
from dxprivacy.optimize.biased.many_rows import many
from dxprivacy.optimize.biased.one_row import single
from dxprivacy.optimize.biased.shapes import Biased
from dxprivacy.optimize.biased.smalldb_bound import Envelope, surrogate

__all__ = ["Biased", "Envelope", "envelope", "many", "single", "surrogate"]
