"""Strategies of the matrix mechanism on a small universe: which rows to ask so that a workload has the least error.

Numbers only: pairs of cells with limits, a Gram matrix, rows.  Nothing here knows plans, policies or data, and nothing
here certifies: totals are computed from the rows in floats, and what becomes of them is certified elsewhere.
"""

from dxprivacy.optimise.strategies.best import Effort, choose
from dxprivacy.optimise.strategies.limits import Limit, limit, unbiased_limit
from dxprivacy.optimise.strategies.problem import Found, Problem

__all__ = ["Effort", "Found", "Limit", "Problem", "choose", "limit", "unbiased_limit"]
