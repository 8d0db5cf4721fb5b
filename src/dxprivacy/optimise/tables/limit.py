"""Limits that no independent Laplace noise goes below, of tables or of anything else (MATH 3g).

For any prices p >= 0 of the attributes, `2 (sum_S sqrt(c_S u_S))^2 / sum_a p_a f_a budget_a^2` is such a limit: with
u_S = sum_{a in S} 2 n_a prod_{S without a} (n_b - 1) p_a, and f_a = floor(n_a^2 / 4) / (n_a (n_a - 1) / 2) the part of
the pairs of n_a values that a cut can separate.  Whatever the maximiser does, its answer is a limit.

It is the limit under the discrete metric: every two values of attribute a are `budget_a` apart.  Where some are farther
apart (a line), strategies that are not tables may go below it.
"""

import math
from collections.abc import Sequence

import numpy as np

from dxprivacy.exact.arrays import Floats
from dxprivacy.optimise.tables.system import Attributes, components, importances

_HUGE = 700.0  # a budget at which nothing is left to be hidden


def limit(
    sizes: Sequence[int], budgets: Sequence[float], workload: Sequence[Attributes], weights: Sequence[float]
) -> float:
    """A lower limit on the weighted squared error of these tables; the attributes of each in increasing order.

    For independent continuous Laplace noise; half of it for any additive noise of a density (`strategies/limits.py`).
    """
    private = [a for a in range(len(sizes)) if math.isfinite(budgets[a]) and sizes[a] > 1]
    parts = [s for s in components(workload) if any(a in private for a in s)]
    parts = [s for s in parts if all(sizes[a] > 1 for a in s)]
    if not parts:
        return 0.0
    c = importances(sizes, workload, weights, parts)
    reach = np.zeros((len(private), len(parts)))
    line = {a: k for k, a in enumerate(private)}
    for k, s in enumerate(parts):
        for a in s:
            if a in line:
                reach[line[a], k] = 2.0 * sizes[a] * math.prod(sizes[b] - 1 for b in s if b != a)
    used = reach.max(axis=1) > 0
    reach = reach[used]
    n = np.array([sizes[a] for a in private], dtype=np.float64)[used]
    room = np.array([budgets[a] for a in private])[used] ** 2 * np.floor(n * n / 4) / (n * (n - 1) / 2)
    return 2 * _maximised(c / c.max(), reach, room) * float(c.max())


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


def _maximised(c: Floats, reach: Floats, room: Floats) -> float:
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
