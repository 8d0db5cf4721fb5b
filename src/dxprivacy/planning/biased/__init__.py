"""Biased plans: rows that are cheaper to answer than the asked ones, where the number of records is public.

Numbers in, numbers out: nothing here knows of plans, policies or data, and what is proposed is certified elsewhere.
"""

from dxprivacy.planning.biased.lines import envelope
from dxprivacy.planning.biased.many_rows import many
from dxprivacy.planning.biased.one_row import single
from dxprivacy.planning.biased.result import Biased
from dxprivacy.planning.biased.smalldb import Envelope, surrogate

__all__ = ["Biased", "Envelope", "envelope", "many", "single", "surrogate"]
