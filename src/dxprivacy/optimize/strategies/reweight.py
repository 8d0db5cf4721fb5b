"""Find the best weights of given rows by alternating minimization, which never increases the error.

For fixed weights w, least squares gives the contribution of each row to the workload's error.  For a fixed estimator,
the error is a sum of parts / w^2, convex under the pairs' limits, and `optimize` minimizes it.  Each step minimizes the
same function in one of its two arguments.
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

# -- The error of a strategy of all cells and a few more rows, with its gradient, without an N x N inverse -------------
# The strategy is A = [diag(a); F] with q rows in F, so that M = diag(a^2) + F'F, and M^-1 is a diagonal minus a matrix
# of rank q (Woodbury).  If the all-ones direction is free, Z = M^-1 - k k'/(1'k) with k = M^-1 1 replaces it.  Value
# and gradient of tr(G Z) cost one product of a (q+1) x N by an N x N matrix, which makes searches over strategies fast.
# dZ = -Z dM Z gives the gradients -2 a diag(ZGZ) and -2 F ZGZ.


def cells_and_rows(a: Floats, F: Floats, G: Floats, *, free: bool) -> tuple[float, Floats, Floats]:
    """Return tr(G Z), and its derivatives by a and by F.

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


# -- A hub: one cell that is linked to all others, such as `other` (missing or invalid) --------------------------------
# The rest keeps its structure (a line, a threshold).  A strategy for the rest is extended to all cells: it is scaled
# down, the hub gets the column of a cell in the middle, and a row of its own uses the remaining limits of its pairs.
# The factor is found by a search in one variable.


_FRACTIONS = 1 - np.geomspace(0.5, 1e-4, 40)


@dataclass(frozen=True, eq=False)
class Hub:
    """The hub, its limits to all other cells, and the problem of these."""

    cell: int
    limits: Floats
    rest: StrategyProblem
    others: Ints

    def extended(self, whole: StrategyProblem, rows: Floats) -> Floats | None:
        """Extend a strategy of the rest (at load 1) to the whole, with the factor that gives the least error."""
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
    """Return the hub of a problem, if there is exactly one and the other cells are connected without it."""
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


# -- The best weights of given rows ------------------------------------------------------------------------------------


MOST_ROWS = 600
_MOST_LOADS = 4_000_000
_AT_ONCE = 1_000_000  # entries


def fits(problem: StrategyProblem, rows: Floats) -> bool:
    """Return whether there are few enough rows to give each a weight."""
    return 0 < len(rows) <= MOST_ROWS and len(rows) * len(problem.first) <= _MOST_LOADS


def distinct_rows(rows: Floats) -> tuple[Floats, Floats]:
    """Return non-constant rows, each once, with a range of 1; and the sums of squares of their original ranges.

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
    """Return non-constant rows scaled to a range of 1, the first largest entry positive; and their ranges."""
    low, high = rows.min(axis=1), rows.max(axis=1)
    varied = high - low > 1e-12 * np.maximum(np.abs(low), np.abs(high))
    rows, low, high = rows[varied], low[varied], high[varied]
    rows = (rows - ((low + high) / 2)[:, None]) / (high - low)[:, None]
    first = np.abs(np.round(rows, 9)).argmax(axis=1) if len(rows) else np.zeros(0, dtype=np.int64)
    return rows * np.sign(rows[np.arange(len(rows)), first])[:, None], high - low


def reweighted(
    problem: StrategyProblem, rows: Floats, *, parts: Floats, groups: Ints | None = None, rounds: int, watch: Watch
) -> Floats:
    """Return the rows times their best weights, one for each group of rows (for each row if `groups` is None).

    `parts` are the initial contributions of the groups to the error.
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
    """Return the contribution of each row's noise to the error at weight 1."""
    return _parts(problem, rows - rows.mean(axis=1, keepdims=True), np.ones(len(rows)))


def _shown(problem: StrategyProblem, rows: Floats) -> Floats:
    """Return the load of the rows on each pair."""
    return np.asarray(np.abs(rows[:, problem.first] - rows[:, problem.second]).sum(axis=0), dtype=np.float64)


def _parts(problem: StrategyProblem, X: Floats, w: Floats) -> Floats:
    """Return each row's contribution to the least-squares error, times its squared weight."""
    M = (X.T * w**2) @ X
    Y = X @ np.linalg.pinv(M, rcond=1e-12, hermitian=True)
    return np.asarray(w**4 * ((Y @ problem.root.T) ** 2).sum(axis=1), dtype=np.float64)
