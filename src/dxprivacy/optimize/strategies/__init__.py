"""Strategies of the matrix mechanism on a small universe: which rows to ask so that a workload has the least error.

Numbers only: pairs of cells with limits, a Gram matrix, rows.  Nothing here knows plans, policies or data, and nothing
here certifies: totals are computed from the rows in floats, and what becomes of them is certified elsewhere.

In reading order: `strategy_problem`, `pair_structure`, `reweight`, `p_identity`, `bases`, `tents`, `strategy_limits`,
`best_strategy`.
"""

from dxprivacy.optimize.strategies.best_strategy import Effort, choose
from dxprivacy.optimize.strategies.strategy_limits import Limit, limit, unbiased_limit
from dxprivacy.optimize.strategies.strategy_problem import FoundStrategy, StrategyProblem

__all__ = ["Effort", "FoundStrategy", "Limit", "StrategyProblem", "choose", "limit", "unbiased_limit"]
