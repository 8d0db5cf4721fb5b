"""Strategies of the matrix mechanism on a small universe: which rows to ask so that a workload has the least error.

Numbers only: pairs of cells with limits, a Gram matrix, rows.  Nothing here knows plans, policies or data, and nothing
here certifies: totals are computed from the rows in floats, and what becomes of them is certified elsewhere.

In reading order: `strategy_problem`, `pair_structure`, `grid_structure`, `few_rows`, `p_identity`, `ramps`, `tents`,
`bases`, `hub_value`, `polish`, `reweight`, `strategy_limits`, `best_strategy`.
"""

from dxprivacy.optimize.strategies.best_strategy import Effort, choose
from dxprivacy.optimize.strategies.strategy_limits import Limit, limit, unbiased_limit
from dxprivacy.optimize.strategies.strategy_problem import Found, Problem

__all__ = ["Effort", "Found", "Limit", "Problem", "choose", "limit", "unbiased_limit"]
