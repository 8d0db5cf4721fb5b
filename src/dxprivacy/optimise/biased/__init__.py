"""Biased plans: rows that are cheaper to answer than the asked ones, where the number of records is public.

Numbers in, numbers out: nothing here knows of plans, policies or data, and what is proposed is certified elsewhere.
"""

from dxprivacy.optimise.biased.envelope import envelope
from dxprivacy.optimise.biased.many_rows import many
from dxprivacy.optimise.biased.one_row import single
from dxprivacy.optimise.biased.result import Biased
from dxprivacy.optimise.biased.smalldb import Envelope, surrogate

__all__ = ["Biased", "Envelope", "envelope", "many", "single", "surrogate"]
