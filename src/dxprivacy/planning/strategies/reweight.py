"""Given rows, the best weights: least squares and the least noise in turn, which never makes the error larger.

For fixed weights w, least squares gives each row's part in the workload's error; for a fixed reconstruction the error
is a sum of parts / w^2, convex under the pairs' limits, and `optimise` solves it.  Each step minimises the same function
in one of its two arguments.
"""

import numpy as np

from dxprivacy.model.arrays import Floats
from dxprivacy.planning.optimal import SparsePairs, optimise
from dxprivacy.planning.strategies.problem import Clock, Problem

MOST_ROWS = 600
_MOST_LOADS = 30_000_000


def fits(problem: Problem, rows: Floats) -> bool:
    """Whether there are few enough rows to weigh each by itself."""
    return 0 < len(rows) <= MOST_ROWS and len(rows) * len(problem.first) <= _MOST_LOADS


def distinct_rows(rows: Floats) -> tuple[Floats, Floats]:
    """Rows that tell some cells apart, each once with a range of 1; and the sum of squares of the ranges they had.

    >>> distinct_rows(np.array([[1.0, 1.0], [0.0, 2.0], [5.0, 4.0]]))
    (array([[ 0.5, -0.5]]), array([5.]))
    """
    low, high = rows.min(axis=1), rows.max(axis=1)
    varied = high - low > 1e-12 * np.maximum(np.abs(low), np.abs(high))
    rows, low, high = rows[varied], low[varied], high[varied]
    if not len(rows):
        return rows, low
    rows = (rows - ((low + high) / 2)[:, None]) / (high - low)[:, None]
    first = np.abs(np.round(rows, 9)).argmax(axis=1)
    rows = rows * np.sign(rows[np.arange(len(rows)), first])[:, None]
    _, at, kind = np.unique(np.round(rows, 9) + 0.0, axis=0, return_index=True, return_inverse=True)
    parts = np.bincount(kind.ravel(), (high - low) ** 2)
    order = np.argsort(at)
    return np.asarray(rows[at[order]] + 0.0, dtype=np.float64), parts[order]


def reweighted(problem: Problem, rows: Floats, *, parts: Floats | None, rounds: int, clock: Clock) -> Floats:
    """The rows times their best weights; `parts` are the rows' parts in the error of the first solve (None: equal)."""
    from scipy.sparse import csr_matrix

    loads = csr_matrix(np.abs(rows[:, problem.first] - rows[:, problem.second]).T)
    X = rows - rows.mean(axis=1, keepdims=True)
    least, best, weights = np.inf, rows, np.ones(len(rows))
    errors = np.ones(len(rows)) if parts is None else parts
    for _ in range(rounds):
        keep = errors > errors.max() * 1e-12
        found = optimise(
            SparsePairs(loads[:, keep], problem.limits),
            errors[keep],
            2,
            np.full(int(keep.sum()), np.inf),
            tolerance=1e-5,
        )
        weights = np.zeros(len(rows))
        weights[keep] = found.w
        total = problem.total(rows * weights[:, None])
        if not total < least * (1 - 1e-4):
            break
        least, best = total, rows[keep] * weights[keep, None]
        if clock.out:
            break
        errors = _parts(problem, X, weights)
    return best


def _parts(problem: Problem, X: Floats, w: Floats) -> Floats:
    """What each row's noise adds to the error, times its weight squared, if all are combined by least squares."""
    M = (X.T * w**2) @ X
    Y = X @ np.linalg.pinv(M, rcond=1e-12, hermitian=True)
    return np.asarray(w**4 * ((Y @ problem.root.T) ** 2).sum(axis=1), dtype=np.float64)
