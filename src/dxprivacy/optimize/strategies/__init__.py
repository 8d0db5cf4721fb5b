"""Strategies of the matrix mechanism on a small universe: rows to measure for the least error of a workload.

The inputs are pairs of elements (called cells) with limits, a Gram matrix, and rows.  Nothing here knows plans or data,
and nothing here is certified: totals are computed from the rows in floats, and plans are certified elsewhere.

In reading order: `strategy_problem`, `pair_structure`, `reweight`, `p_identity`, `tents`, `bases`, `strategy_limits`,
`best_strategy`.
"""

from dxprivacy.optimize.strategies.best_strategy import Effort, choose
from dxprivacy.optimize.strategies.strategy_limits import Limit, limit, unbiased_limit
from dxprivacy.optimize.strategies.strategy_problem import FoundStrategy, StrategyProblem

__all__ = ["Effort", "FoundStrategy", "Limit", "StrategyProblem", "choose", "limit", "unbiased_limit"]
