"""Limits that no independent Laplace noise goes below, of tables or of anything else (MATH 3g).

For any prices p >= 0 of the constraints, `2 (sum_S sqrt(c_S u_S))^2 / sum_k p_k f_k budget_k^2` is such a limit: u_S is
the trace, on the component S, of the mean of (e_i - e_j)(e_i - e_j)' over the pairs of a constraint (times the number
of cells), and f the part of these pairs that a cut can separate:

    attribute a   pairs that differ in a alone: 2 n_a prod_{S without a} (n_b - 1) if a is in S; floor(n_a^2 / 4) of
                  n_a (n_a - 1) / 2 pairs of values
    together      all pairs of the N cells: 2 dim_S N / (N - 1) but for the total; floor(N^2 / 4) of N (N - 1) / 2
    presence      every cell and `absent`: dim_S, also for the total; all of them

Whatever the maximizer does, its answer is a limit.  It is the limit under the discrete metric: every two values of
attribute a are `budget_a` apart.  Where some are farther apart (a line), strategies that are no tables may go below.
"""

import math
from collections.abc import Sequence

import numpy as np

from dxprivacy.exact.arrays import Floats
from dxprivacy.optimize.tables.table_axes import of_sizes
from dxprivacy.optimize.tables.table_budgets import PRESENCE, TOGETHER, Budgets
from dxprivacy.optimize.tables.table_components import Attributes, components, importances

_HUGE = 700.0  # a budget at which nothing is left to be hidden


def limit(
    sizes: Sequence[int],
    budgets: Sequence[float] | Budgets,
    workload: Sequence[Attributes],
    weights: Sequence[float],
) -> float:
    """A lower limit on the weighted squared error of these tables; the attributes of each in increasing order.

    For independent continuous Laplace noise; half of it for any additive noise of a density (`strategies/limits.py`).
    """
    budgets = Budgets.checked(budgets, sizes)
    parts = [s for s in components(workload, budgets.least) if all(sizes[a] > 1 for a in s)]
    parts = [s for s in parts if not s or any(math.isfinite(budgets.of(a)) for a in s)]
    if not parts:
        return 0.0
    c = importances(of_sizes(sizes), workload, weights, parts)
    used = sorted({a for s in parts for a in s})
    reach, room = [], []
    for constraint, budget in budgets.constraints(used):
        reach.append([_reach(sizes, s, constraint.about, used) for s in parts])
        room.append(budget**2 * _separable(sizes, constraint.about, used))
    reached: Floats = np.array(reach)
    tells = reached.max(axis=1) > 0
    return 2 * _maximized(c / c.max(), reached[tells], np.array(room)[tells]) * float(c.max())


def _reach(sizes: Sequence[int], s: Attributes, about: int, used: Sequence[int]) -> float:
    """The trace on a component, per unit of a constraint's price."""
    if about == PRESENCE:
        return float(math.prod(sizes[b] - 1 for b in s))
    if about == TOGETHER:
        everything = math.prod(sizes[a] for a in used)
        return 2 * math.prod(sizes[b] - 1 for b in s) * (everything / (everything - 1)) if s else 0.0
    return 2.0 * sizes[about] * math.prod(sizes[b] - 1 for b in s if b != about) if about in s else 0.0


def _separable(sizes: Sequence[int], about: int, used: Sequence[int]) -> float:
    """The largest part of a constraint's pairs that a cut separates."""
    if about == PRESENCE:
        return 1.0
    n = math.prod(sizes[a] for a in used) if about == TOGETHER else sizes[about]
    return (n * n // 4) / (n * (n - 1) // 2)


def unbiased_limit(
    sizes: Sequence[int], budgets: Sequence[float], workload: Sequence[Attributes], weights: Sequence[float]
) -> float:
    """What no answers without bias go below, integers or not: 1 / (4 sinh(d/2)^2) for each cell of each table.

    d is the least budget of its attributes; proof in `strategies/limits.py: unbiased_limit`.

    >>> print(f"{unbiased_limit((2, 3), (1, 0.5), [(0,), (0, 1)], [1, 1]):.3f}")
    25.348
    """
    total = 0.0
    for table, weight in zip(workload, weights, strict=True):
        least = min((float(budgets[a]) for a in table if sizes[a] > 1), default=math.inf)
        if least < _HUGE:
            total += weight * math.prod(sizes[a] for a in table) / (4 * math.sinh(least / 2) ** 2)
    return total * (1 - 1e-12)


def _maximized(c: Floats, reach: Floats, room: Floats) -> float:
    """max over p of (sum sqrt(c u))^2 / (p . room), u = reach' p: concave in p once scaled, smooth in log p."""
    from scipy.optimize import minimize

    def value(y: Floats) -> tuple[float, Floats]:
        p = np.exp(y - y.max()) / room  # the value does not change with the size of p
        u = reach.T @ p
        h, total = float(np.sqrt(c * u).sum()), float(p @ room)
        slope = (reach @ np.sqrt(c / u)) / h - room / total
        return -(2 * math.log(h) - math.log(total)), -slope * p

    def start() -> Floats:
        return np.zeros(len(room))

    found = minimize(
        value, start(), jac=True, method="L-BFGS-B", bounds=[(-60, 60)] * len(room), options={"maxiter": 500}
    )
    return math.exp(-min(float(found.fun), value(start())[0]))
