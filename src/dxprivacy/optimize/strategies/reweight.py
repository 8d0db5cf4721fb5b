"""Given rows, the best weights: least squares and the least noise in turn, which never makes the error larger.

For fixed weights w, least squares gives each row's part in the workload's error; for a fixed reconstruction the error
is a sum of parts / w^2, convex under the pairs' limits, and `optimize` solves it.  Each step minimizes the same
function in one of its two arguments.
"""

from hashlib import blake2b

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.optimize.barrier import optimize
from dxprivacy.optimize.deadline import Watch
from dxprivacy.optimize.pair_constraints import SparsePairs
from dxprivacy.optimize.strategies.strategy_problem import Problem

MOST_ROWS = 600
_MOST_LOADS = 4_000_000
_AT_ONCE = 1_000_000  # entries


def fits(problem: Problem, rows: Floats) -> bool:
    """Whether there are few enough rows to weigh each by itself."""
    return 0 < len(rows) <= MOST_ROWS and len(rows) * len(problem.first) <= _MOST_LOADS


def distinct_rows(rows: Floats) -> tuple[Floats, Floats]:
    """Rows that tell some cells apart, each once with a range of 1; and the sum of squares of the ranges they had.

    >>> distinct_rows(np.array([[1.0, 1.0], [0.0, 2.0], [5.0, 4.0]]))
    (array([[ 0.5, -0.5]]), array([5.]))
    """
    kind: dict[bytes, int] = {}
    kept: list[Floats] = [np.zeros((0, rows.shape[1]))]
    parts: list[float] = []
    step = max(16, _AT_ONCE // rows.shape[1])
    for at in range(0, len(rows), step):
        some, ranges = _in_unit_range(rows[at : at + step])
        new = []
        for k, (row, size) in enumerate(zip(np.round(some, 9) + 0.0, ranges.tolist(), strict=True)):
            digest = blake2b(row.tobytes(), digest_size=16).digest()
            place = kind.setdefault(digest, len(kind))
            if place == len(parts):
                new.append(k)
                parts.append(0.0)
            parts[place] += size**2
        kept.append(some[new] + 0.0)
    return np.concatenate(kept), np.array(parts)


def _in_unit_range(rows: Floats) -> tuple[Floats, Floats]:
    """Rows that tell some cells apart with a range of 1, the first of their largest entries positive; their ranges."""
    low, high = rows.min(axis=1), rows.max(axis=1)
    varied = high - low > 1e-12 * np.maximum(np.abs(low), np.abs(high))
    rows, low, high = rows[varied], low[varied], high[varied]
    rows = (rows - ((low + high) / 2)[:, None]) / (high - low)[:, None]
    first = np.abs(np.round(rows, 9)).argmax(axis=1) if len(rows) else np.zeros(0, dtype=np.int64)
    return rows * np.sign(rows[np.arange(len(rows)), first])[:, None], high - low


def reweighted(
    problem: Problem, rows: Floats, *, parts: Floats, groups: Ints | None = None, rounds: int, watch: Watch
) -> Floats:
    """The rows times their best weights, one for each group of rows (each row by itself where that is None).

    `parts` are the groups' parts in the error of the first solve.
    """
    from scipy.sparse import csr_matrix

    groups = np.arange(len(rows)) if groups is None else groups
    gather = csr_matrix((np.ones(len(rows)), (np.arange(len(rows)), groups)))
    loads = csr_matrix(np.stack([_shown(problem, rows[groups == g]) for g in range(len(parts))], axis=1))
    X = rows - rows.mean(axis=1, keepdims=True)
    least, best = np.inf, rows
    for _ in range(rounds):
        keep = parts > parts.max() * 1e-12
        free = np.full(int(keep.sum()), np.inf)
        weights = np.zeros(len(parts))
        pairs = SparsePairs(loads[:, keep], problem.limits)
        weights[keep] = optimize(pairs, parts[keep], 2, free, tolerance=1e-5).w
        each = weights[groups]
        total = problem.total(rows * each[:, None])
        if not total < least:
            break
        slow = total > least * (1 - 1e-4)
        least, best = total, rows[each > 0] * each[each > 0, None]
        if slow or watch.over:
            break
        parts = np.asarray(gather.T @ _parts(problem, X, each), dtype=np.float64)
    return best


def row_parts(problem: Problem, rows: Floats) -> Floats:
    """What each row's noise adds to the error as it is."""
    return _parts(problem, rows - rows.mean(axis=1, keepdims=True), np.ones(len(rows)))


def _shown(problem: Problem, rows: Floats) -> Floats:
    """What the rows show of each pair."""
    return np.asarray(np.abs(rows[:, problem.first] - rows[:, problem.second]).sum(axis=0), dtype=np.float64)


def _parts(problem: Problem, X: Floats, w: Floats) -> Floats:
    """What each row's noise adds to the error, times its weight squared, if all are combined by least squares."""
    M = (X.T * w**2) @ X
    Y = X @ np.linalg.pinv(M, rcond=1e-12, hermitian=True)
    return np.asarray(w**4 * ((Y @ problem.root.T) ** 2).sum(axis=1), dtype=np.float64)
