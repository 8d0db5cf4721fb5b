"""A search over all entries of a strategy, for those who can wait: smoothed, descended, sharpened, measured exactly.

It minimizes log tr(G M^-1) + 2 log load, which no scaling of the rows changes.  For a gradient, |x| becomes
sqrt(x^2 + width^2) and the maximum over pairs a power mean; both are sharpened stage by stage.  What is kept is the
best exact total of any stage, so the search never returns anything worse than its start.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dxprivacy.exact.arrays import Floats
from dxprivacy.optimize.deadline import Watch
from dxprivacy.optimize.strategies.strategy_problem import Problem

_WORK = 8_000_000_000  # multiplications in one stage
STAGES = ((60.0, 3e-3), (250.0, 1e-3), (1000.0, 3e-4), (4000.0, 1e-4), (20000.0, 3e-5))


@dataclass(frozen=True, eq=False)
class Smoothed:
    """The smoothed error of a strategy: the power of the mean over pairs, the width of the rounded |x|."""

    problem: Problem
    differences: Any
    transposed: Any  # made once: it would be, ten thousand times
    power: float
    width: float

    @classmethod
    def of(cls, problem: Problem, power: float, width: float) -> "Smoothed":
        """With the differences of a problem's pairs as a sparse matrix."""
        from scipy.sparse import csr_matrix

        pairs = np.arange(len(problem.first))
        ends = (np.concatenate([pairs, pairs]), np.concatenate([problem.first, problem.second]))
        signs = np.concatenate([1 / problem.limits, -1 / problem.limits])
        differences = csr_matrix((signs, ends), shape=(len(pairs), problem.cells))
        return cls(problem, differences, differences.T.tocsr(), power, width)

    def __call__(self, flat: Floats) -> tuple[float, Floats]:
        """The value at the rows (flat), and its gradient."""
        n = self.problem.cells
        A = flat.reshape(-1, n)
        X = A - A.sum(axis=1, keepdims=True) / n
        M = X.T @ X
        M += M.trace() / n**2  # only along the all-ones vector, which the centered Gram matrix does not see
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


def search(problem: Problem, start: Floats, *, watch: Watch, iterations: int | None = None) -> Floats:
    """The best rows that a descent from `start` meets, at load 1; around 0, where no offset eats their digits."""
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
    """The same rows less a constant each, which costs and tells nothing: a descent lets them drift."""
    return np.asarray(rows - rows.mean(axis=1, keepdims=True), dtype=np.float64)


def _iterations(problem: Problem, rows: int) -> int:
    """So many that all stages take about a minute on a slow machine."""
    each = problem.cells**2 * (problem.cells + rows) + len(problem.first) * rows
    return int(np.clip(_WORK // each, 50, 2_500))
