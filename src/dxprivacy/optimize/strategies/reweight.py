"""Given rows, the best weights: least squares and the least noise in turn, which never makes the error larger.

For fixed weights w, least squares gives each row's part in the workload's error; for a fixed reconstruction the error
is a sum of parts / w^2, convex under the pairs' limits, and `optimize` solves it.  Each step minimizes the same
function in one of its two arguments.
"""

from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.optimize.barrier import optimize
from dxprivacy.optimize.deadline import Watch
from dxprivacy.optimize.pair_constraints import SparsePairs
from dxprivacy.optimize.strategies.pair_structure import distinct
from dxprivacy.optimize.strategies.strategy_problem import StrategyProblem, connected

# -- The error of a strategy that asks every cell and a few rows more, with its gradient, without an N x N inverse -----
# The strategy is A = [diag(a); F] with q rows in F, so that M = diag(a^2) + F'F, and M^-1 is a diagonal minus a matrix
# of rank q (Woodbury).  Where the all-ones direction is free, Z = M^-1 - k k'/(1'k) with k = M^-1 1 takes its place.
# Value and gradient of tr(G Z) cost one product of a (q+1) x N by an N x N matrix: this is what makes searches over
# strategies quick.  dZ = -Z dM Z gives the gradients -2 a diag(ZGZ) and -2 F ZGZ.


def cells_and_rows(a: Floats, F: Floats, G: Floats, *, free: bool) -> tuple[float, Floats, Floats]:
    """tr(G Z), and its derivatives by a and by F.

    >>> cells_and_rows(np.array([1.0, 2.0]), np.zeros((0, 2)), np.eye(2), free=False)[0]
    1.25
    """
    q = len(F)
    s = 1 / a
    Y = F * s
    back = np.linalg.inv(np.linalg.cholesky(np.eye(q) + Y @ Y.T))
    B = (back @ Y) * s
    if free:
        k = s * s - B.T @ B.sum(axis=1)
        root = np.sqrt(k.sum())
        B = np.vstack([B, k / root])
    BG = B @ G
    crossed = (B * BG).sum(axis=0)
    g = np.diagonal(G)
    value = float((s * s * g - crossed).sum())
    bent = s**4 * g - 2 * s * s * crossed + (B * ((BG @ B.T) @ B)).sum(axis=0)
    P = back.T @ BG[:q]
    if free:
        P = P - np.outer(F @ k / root, BG[q])
    PZ = P * (s * s) - (P @ B.T) @ B
    return value, -2 * a * bent, -2 * PZ


# -- One cell that is linked to all others, as `other` (missing or invalid) is: plan the rest, then fit it in ----------
# The rest keeps its structure (a line, a threshold), and a strategy for it becomes one for all by giving the hub the
# column of a cell in the middle, scaled down a little, and a row of its own from what that leaves of its pairs.  How
# much the rest is scaled down is a search in one variable.


_FRACTIONS = 1 - np.geomspace(0.5, 1e-4, 40)


@dataclass(frozen=True, eq=False)
class Hub:
    """The hub, its limits to all other cells, and the problem of these."""

    cell: int
    limits: Floats
    rest: StrategyProblem
    others: Ints

    def extended(self, whole: StrategyProblem, rows: Floats) -> Floats | None:
        """A strategy of the rest (at load 1) as one of the whole, at the budget that gives the least error."""
        far = np.array([np.abs(rows - rows[:, [c]]).sum(axis=0) for c in range(rows.shape[1])])
        middle = int((far / self.limits).max(axis=1).argmin())
        best: tuple[float, Floats] | None = None
        for fraction in _FRACTIONS:
            room = float((self.limits - fraction * far[middle]).min())
            if room <= 0:
                continue
            proposed = np.zeros((len(rows) + 1, whole.cells))
            proposed[:-1, self.others] = fraction * rows
            proposed[:-1, self.cell] = fraction * rows[:, middle]
            proposed[-1, self.cell] = room
            total = whole.total(proposed)
            if best is None or total < best[0]:
                best = (total, proposed)
        return None if best is None else best[1]


def hub(problem: StrategyProblem) -> Hub | None:
    """The hub of a problem whose other cells are connected without it, and not all linked to one another."""
    n = problem.cells
    if n < 4:
        return None
    first, second, distances = distinct(problem)
    degrees = np.bincount(np.concatenate([first, second]), minlength=n)
    hubs = np.flatnonzero(degrees == n - 1)
    if len(hubs) != 1:
        return None
    cell = int(hubs[0])
    here = (first == cell) | (second == cell)
    others = np.delete(np.arange(n), cell)
    place = np.full(n, -1)
    place[others] = np.arange(n - 1)
    limits = np.empty(n - 1)
    limits[place[np.where(first[here] == cell, second[here], first[here])]] = distances[here]
    left, right = place[first[~here]], place[second[~here]]
    if not connected(n - 1, left, right):
        return None
    rest = StrategyProblem(problem.gram[np.ix_(others, others)], left, right, distances[~here])
    return Hub(cell, limits, rest, others)


# -- Given rows, the best weights --------------------------------------------------------------------------------------


MOST_ROWS = 600
_MOST_LOADS = 4_000_000
_AT_ONCE = 1_000_000  # entries


def fits(problem: StrategyProblem, rows: Floats) -> bool:
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
    problem: StrategyProblem, rows: Floats, *, parts: Floats, groups: Ints | None = None, rounds: int, watch: Watch
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


def row_parts(problem: StrategyProblem, rows: Floats) -> Floats:
    """What each row's noise adds to the error as it is."""
    return _parts(problem, rows - rows.mean(axis=1, keepdims=True), np.ones(len(rows)))


def _shown(problem: StrategyProblem, rows: Floats) -> Floats:
    """What the rows show of each pair."""
    return np.asarray(np.abs(rows[:, problem.first] - rows[:, problem.second]).sum(axis=0), dtype=np.float64)


def _parts(problem: StrategyProblem, X: Floats, w: Floats) -> Floats:
    """What each row's noise adds to the error, times its weight squared, if all are combined by least squares."""
    M = (X.T * w**2) @ X
    Y = X @ np.linalg.pinv(M, rcond=1e-12, hermitian=True)
    return np.asarray(w**4 * ((Y @ problem.root.T) ** 2).sum(axis=1), dtype=np.float64)
