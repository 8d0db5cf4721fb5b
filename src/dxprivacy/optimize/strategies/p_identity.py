"""Search for p-identity strategies (HDMM): all cells and a few mixtures of cells, with a budget for each column.

The strategy is [diag(a); F] with a_i + sum_r |F_ri| = budget_i, written as a = budget D, F = budget T D with
T = P - Q, P and Q >= 0 and D = 1/(1 + sum (P + Q)).  Then all budgets are kept exactly for any P and Q, and L-BFGS
needs bounds only.  In the edge space of a tree, the budget of a column is its pair's limit.  Elsewhere, two cells i, j
differ by at most budget_i + budget_j, which must not exceed their limit.  Rows that are cheap for every pair (`base`,
load 1) may use a fraction v of all limits; the columns share the rest.  Results are proposals: the problem measures
their load and error.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dxprivacy.exact.arrays import Floats
from dxprivacy.optimize.barrier import optimize
from dxprivacy.optimize.deadline import Watch
from dxprivacy.optimize.pair_constraints import SparsePairs
from dxprivacy.optimize.strategies.pair_structure import Tree
from dxprivacy.optimize.strategies.reweight import cells_and_rows
from dxprivacy.optimize.strategies.strategy_problem import StrategyProblem

_MOST = 1e4  # the largest weight in a mixture relative to a cell's own row; more gains less than 1 in 10,000
_FAR = 1e10  # the objective if floats cannot compute it


@dataclass(frozen=True, eq=False)
class Space:
    """Columns with budgets: the cells of a problem (constants cost nothing: `free`), or the edges of a tree."""

    gram: Floats
    budgets: Floats
    free: bool
    base: Floats = field(default_factory=lambda: np.zeros((0, 0)))

    @property
    def columns(self) -> int:
        """The number of columns."""
        return len(self.budgets)


def cell_space(problem: StrategyProblem, budgets: Floats | None = None) -> Space:
    """Return the space of a problem's cells, with budgets that keep its pairs."""
    return Space(problem.centered, cell_budgets(problem) if budgets is None else budgets, free=True)


def edge_space(tree: Tree) -> Space:
    """Return the space of a tree's edges; `rows @ tree.sides` are rows over its cells."""
    return Space(tree.gram, tree.limits, free=False)


def cell_budgets(problem: StrategyProblem) -> Floats:
    """Return budgets b with b_i + b_j <= limit for every pair, about optimal if only cells are measured."""
    from scipy.sparse import csr_matrix

    limits = problem.limits
    if limits.max() <= limits.min() * (1 + 1e-12):
        return np.full(problem.cells, limits.min() / 2)
    weights = np.diagonal(problem.centered)
    weights = np.maximum(weights, 1e-6 * max(float(weights.max()), 1e-300))
    pairs = np.arange(len(limits))
    ends = (np.concatenate([pairs, pairs]), np.concatenate([problem.first, problem.second]))
    loads = csr_matrix((np.ones(2 * len(pairs)), ends), shape=(len(pairs), problem.cells))
    return optimize(SparsePairs(loads, limits), weights, 2, np.full(problem.cells, np.inf), tolerance=1e-4).w


def objective(space: Space, p: int, y: Floats) -> tuple[float, Floats]:
    """Return the logarithm of tr(G Z) at the parameters (P, Q, v), and its gradient."""
    T, D, v = _parts(space, p, y)
    a = (1 - v) * space.budgets * D
    base = space.base
    rows = np.vstack([T * a, v * base]) if len(base) else T * a
    try:
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            value, by_a, by_F = cells_and_rows(a, rows, space.gram, free=space.free)
    except np.linalg.LinAlgError:
        value = np.nan
    if not 0 < value < np.inf:
        return _FAR, np.zeros_like(y)
    along = by_F[:p]
    straight = along * a
    shrink = a * D * (by_a + (along * T).sum(axis=0))
    by_v = 0.0
    if len(base):
        by_v = float((by_F[p:] * base).sum() - ((by_a + (along * T).sum(axis=0)) * a).sum() / (1 - v))
    gradient = np.concatenate([(straight - shrink).ravel(), (-straight - shrink).ravel(), [by_v]])
    return float(np.log(value)), gradient / value


def mixtures(space: Space, start: Floats, fraction: float, *, iterations: int, watch: Watch) -> Floats:
    """Return the rows of the strategy that a descent from `start` (2p x columns: P over Q) finds."""
    from scipy.optimize import minimize

    p = len(start) // 2

    def stop(_: Floats) -> None:
        if watch.over:
            raise StopIteration

    bounds = [(0.0, _MOST)] * start.size + [(1e-3, 0.98)]
    done = minimize(
        lambda y: objective(space, p, y),
        np.concatenate([start.ravel(), [fraction]]),
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        callback=stop,
        options={"maxiter": iterations, "maxfun": 2 * iterations, "maxcor": 20, "ftol": 1e-9, "gtol": 1e-9},
    )
    T, _, v = _parts(space, p, np.asarray(done.x, dtype=np.float64))
    a = (1 - v) * space.budgets / (1 + np.abs(T).sum(axis=0))  # common parts of P and Q are useless: reuse them
    parts = [np.diag(a), T * a]
    return np.vstack([*parts, v * space.base] if len(space.base) else parts)


def _parts(space: Space, p: int, y: Floats) -> tuple[Floats, Floats, float]:
    both = y[:-1].reshape(2 * p, space.columns)
    return both[:p] - both[p:], 1 / (1 + both.sum(axis=0)), float(y[-1]) if len(space.base) else 0.0


# -- A search over all entries of a strategy, for `thorough` -----------------------------------------------------------
# It minimizes log tr(G M^-1) + 2 log load, which is invariant under scaling of the rows.  To have a gradient, |x| is
# replaced by sqrt(x^2 + width^2) and the maximum over pairs by a power mean; both are sharpened in stages.  The best
# exact total of any stage is kept, so the result is never worse than the start.


_WORK = 8_000_000_000  # multiplications in one stage
STAGES = ((60.0, 3e-3), (250.0, 1e-3), (1000.0, 3e-4), (4000.0, 1e-4), (20000.0, 3e-5))


@dataclass(frozen=True, eq=False)
class Smoothed:
    """The smoothed objective of a strategy, with the power of the mean over pairs and the width of the smoothed |x|."""

    problem: StrategyProblem
    differences: Any
    transposed: Any  # computed once, because it is used thousands of times
    power: float
    width: float

    @classmethod
    def of(cls, problem: StrategyProblem, power: float, width: float) -> "Smoothed":
        """Return the smoothed objective of a problem, with the differences of its pairs as a sparse matrix."""
        from scipy.sparse import csr_matrix

        pairs = np.arange(len(problem.first))
        ends = (np.concatenate([pairs, pairs]), np.concatenate([problem.first, problem.second]))
        signs = np.concatenate([1 / problem.limits, -1 / problem.limits])
        differences = csr_matrix((signs, ends), shape=(len(pairs), problem.cells))
        return cls(problem, differences, differences.T.tocsr(), power, width)

    def __call__(self, flat: Floats) -> tuple[float, Floats]:
        """Return the value at the rows (flat), and its gradient."""
        n = self.problem.cells
        A = flat.reshape(-1, n)
        X = A - A.sum(axis=1, keepdims=True) / n
        M = X.T @ X
        M += M.trace() / n**2  # only along the all-ones vector, on which the centered Gram matrix is 0
        try:
            back = np.linalg.inv(np.linalg.cholesky(M))
        except np.linalg.LinAlgError:
            return 1e10, np.zeros_like(flat)
        inverse = back.T @ back
        T = inverse @ self.problem.centered
        error = float(T.trace())
        if not error > 0:
            return 1e10, np.zeros_like(flat)
        by_error = -2 * (X @ (T @ inverse)) / error
        D = self.differences @ A.T
        round_D = np.sqrt(D * D + self.width**2)
        shown = np.maximum(round_D.sum(axis=1) - len(A) * self.width, 1e-12)
        most = float(shown.max())
        z = (shown / most) ** self.power
        load = float(np.log(most) + np.log(z.sum()) / self.power)
        by_load = (self.transposed @ ((D / round_D) * (z / z.sum() / shown)[:, None])).T
        return float(np.log(error)) + 2 * load, (by_error + 2 * by_load).ravel()


def search(problem: StrategyProblem, start: Floats, *, watch: Watch, iterations: int | None = None) -> Floats:
    """Return the best rows that a descent from `start` finds, at load 1 and centered, to keep floating-point digits."""
    from scipy.optimize import minimize

    def stop(_: Floats) -> None:
        if watch.over:
            raise StopIteration

    iterations = iterations or _iterations(problem, len(start))
    rows = _around_zero(start / problem.load(start))
    best, least = rows, problem.total(rows)
    for power, width in STAGES:
        done = minimize(
            Smoothed.of(problem, power, width),
            rows.ravel(),
            jac=True,
            method="L-BFGS-B",
            callback=stop,
            options={"maxiter": iterations, "maxfun": 2 * iterations, "maxcor": 30, "ftol": 1e-13, "gtol": 1e-9},
        )
        rows = _around_zero(np.asarray(done.x, dtype=np.float64).reshape(start.shape))
        rows = rows / problem.load(rows)
        total = problem.total(rows)
        if total < least:
            best, least = rows, total
        if watch.over:
            break
    return best


def _around_zero(rows: Floats) -> Floats:
    """Subtract the mean from each row: constants have no cost and no effect, but drift in a descent."""
    return np.asarray(rows - rows.mean(axis=1, keepdims=True), dtype=np.float64)


def _iterations(problem: StrategyProblem, rows: int) -> int:
    """Return a number of iterations with which all stages take about a minute on a slow machine."""
    each = problem.cells**2 * (problem.cells + rows) + len(problem.first) * rows
    return int(np.clip(_WORK // each, 50, 2_500))
