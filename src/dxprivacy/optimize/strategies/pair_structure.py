"""What the pairs alone tell about a policy: a tree, a threshold on an order, one limit for all; never its name.

Everything here is decided exactly from the list of pairs; where floats propose (an order from an eigenvector), the
proposal is checked against the list.  Duplicate pairs count once, with the smaller limit.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.optimize.strategies.strategy_problem import Problem


@dataclass(frozen=True, eq=False)
class Tree:
    """A tree of N - 1 pairs: for each pair (in the problem's order) the indicator of one side, and its limit."""

    sides: Floats
    limits: Floats
    gram: Floats
    path: bool


def distinct(problem: Problem) -> tuple[Ints, Ints, Floats]:
    """The pairs, each once with its smaller end first and its smallest limit."""
    low, high = np.minimum(problem.first, problem.second), np.maximum(problem.first, problem.second)
    order = np.lexsort((problem.limits, high, low))
    low, high, limits = low[order], high[order], problem.limits[order]
    fresh = np.ones(len(low), dtype=bool)
    fresh[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1])
    return low[fresh], high[fresh], limits[fresh]


def tree(problem: Problem) -> Tree | None:
    """The tree that the pairs form, or None.

    In edge space (a column for each pair) a strategy C @ sides shows the l1 norm of C's column on each pair: ordinary
    differential privacy with a budget for each column and nothing free.

    >>> from dxprivacy.optimize.strategies.strategy_problem import Problem
    >>> tree(Problem(np.eye(3), np.array([0, 1]), np.array([1, 2]), np.ones(2))).sides
    array([[1., 0., 0.],
           [1., 1., 0.]])
    """
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import breadth_first_order

    n = problem.cells
    low, high, limits = distinct(problem)
    if len(low) != n - 1:
        return None
    degree = np.bincount(np.concatenate([low, high]), minlength=n)
    leaf = int(np.flatnonzero(degree == 1)[-1])  # the root; a path then gives its prefixes, from the other end
    graph = coo_matrix((np.ones(n - 1), (low, high)), shape=(n, n)).tocsr()
    order, parents = breadth_first_order(graph, leaf, directed=False)
    below = np.eye(n)
    for cell in order[:0:-1]:
        below[parents[cell]] += below[cell]
    child = np.where(parents[low] == high, low, high)
    G = problem.gram
    difference = G[low] - G[high]
    return Tree(below[child], limits, difference[:, low] - difference[:, high], bool(degree.max() <= 2))


def threshold(problem: Problem) -> tuple[Ints, int] | None:
    """An order of the cells and a T such that the pairs are those at most T apart in it, at one limit; or None.

    T = N - 1 is the complete graph.  The Fiedler vector of such a graph is monotone along its order.
    """
    low, high, limits = distinct(problem)
    n = problem.cells
    if not _equal(limits):
        return None
    reach = int(np.bincount(np.concatenate([low, high]), minlength=n).min())
    if len(low) != reach * n - reach * (reach + 1) // 2:
        return None
    order = seriation(problem)
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n)
    if int(np.abs(place[low] - place[high]).max()) > reach:
        return None
    return order, reach  # as many different pairs as there are within reach, and none beyond: all of them


def seriation(problem: Problem) -> Ints:
    """The cells along the Fiedler vector of the pairs; of the workload, where the pairs say nothing (all alike)."""
    low, high, limits = distinct(problem)
    n = problem.cells
    near = np.zeros((n, n))
    near[low, high] = near[high, low] = (limits.min() / limits) ** 2
    if len(low) == n * (n - 1) // 2 and _equal(limits):
        G = problem.gram - problem.gram.min()
        near = G / max(float(G.max()), 1e-300)
        np.fill_diagonal(near, 0.0)
    _, vectors = np.linalg.eigh(np.diag(near.sum(axis=1)) - near)
    along = vectors[:, 1]
    tilt = float(np.diagonal(problem.gram) @ along)
    if tilt > 1e-9 * float(np.abs(np.diagonal(problem.gram)).sum()) or (
        abs(tilt) <= 1e-9 * float(np.abs(np.diagonal(problem.gram)).sum()) and along[0] > along[-1]
    ):
        along = -along
    return np.argsort(along, kind="stable").astype(np.int64)


def classes(problem: Problem) -> list[Ints]:
    """The pairs by their limit."""
    _, kind = np.unique(problem.limits, return_inverse=True)
    return [np.flatnonzero(kind == k) for k in range(int(kind.max()) + 1)]


def bipartite(n: int, first: Ints, second: Ints) -> bool:
    """Whether the pairs are all cut by one division of the cells into two."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    # The double cover of a connected bipartite graph falls into two parts, that of any other does not.
    once = np.concatenate([first, first + n])
    other = np.concatenate([second + n, second])
    cover = coo_matrix((np.ones(len(once)), (once, other)), shape=(2 * n, 2 * n))
    _, label = connected_components(cover, directed=False)
    return not bool((label[:n] == label[n:]).any())


def _equal(limits: Floats) -> bool:
    return bool(limits.max() <= limits.min() * (1 + 1e-12))


def nested_ranges(n: int, branches: int) -> tuple[Floats, Ints]:
    """Ranges along the cells, halved (or divided by more) down to single cells; and the level of each.

    >>> nested_ranges(4, 2)[1]
    array([0, 0, 1, 1, 1, 1])
    """
    rows: list[Floats] = []
    levels: list[int] = []
    borders = [0, n]
    while len(borders) <= n:
        finer = {int(x) for a, b in pairwise(borders) for x in np.linspace(a, b, branches + 1).round()}
        level = max(levels, default=-1) + 1
        borders = sorted(finer)
        for a, b in pairwise(borders):
            rows.append(((np.arange(n) >= a) & (np.arange(n) < b)).astype(np.float64))
            levels.append(level)
    return np.array(rows), np.array(levels, dtype=np.int64)
