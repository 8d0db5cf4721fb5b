"""Structure that is recognized from the pairs alone: a tree, a threshold on an order, one limit for all, a grid.

Everything is decided exactly from the list of pairs.  If floats propose something (an order from an eigenvector), the
proposal is checked against the list.  Duplicate pairs count once, with the smaller limit.
"""

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.optimize.strategies.strategy_problem import StrategyProblem


@dataclass(frozen=True, eq=False)
class Tree:
    """A tree of N - 1 pairs: for each pair (in the problem's order) the indicator of one side, and its limit."""

    sides: Floats
    limits: Floats
    gram: Floats
    path: bool


def distinct(problem: StrategyProblem) -> tuple[Ints, Ints, Floats]:
    """Return the pairs, each once, with its smaller end first and its smallest limit."""
    low, high = np.minimum(problem.first, problem.second), np.maximum(problem.first, problem.second)
    order = np.lexsort((problem.limits, high, low))
    low, high, limits = low[order], high[order], problem.limits[order]
    fresh = np.ones(len(low), dtype=bool)
    fresh[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1])
    return low[fresh], high[fresh], limits[fresh]


def tree(problem: StrategyProblem) -> Tree | None:
    """Return the tree that the pairs form, or None.

    In edge space (a column for each pair), a strategy C @ sides has the l1 norm of C's column as its load on each pair:
    ordinary differential privacy with a budget for each column.

    >>> from dxprivacy.optimize.strategies.strategy_problem import StrategyProblem
    >>> tree(StrategyProblem(np.eye(3), np.array([0, 1]), np.array([1, 2]), np.ones(2))).sides
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
    leaf = int(np.flatnonzero(degree == 1)[-1])  # the root; for a path, sides are prefixes from the other end
    graph = coo_matrix((np.ones(n - 1), (low, high)), shape=(n, n)).tocsr()
    order, parents = breadth_first_order(graph, leaf, directed=False)
    below = np.eye(n)
    for cell in order[:0:-1]:
        below[parents[cell]] += below[cell]
    child = np.where(parents[low] == high, low, high)
    G = problem.gram
    difference = G[low] - G[high]
    return Tree(below[child], limits, difference[:, low] - difference[:, high], bool(degree.max() <= 2))


def threshold(problem: StrategyProblem) -> tuple[Ints, int] | None:
    """Return an order of the cells and a T such that the pairs are those at most T apart in it, at one limit; or None.

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
    return order, reach  # no pair is beyond reach, and the number of pairs is that within reach: so these are all


def seriation(problem: StrategyProblem) -> Ints:
    """Return the cells along the Fiedler vector of the pairs, or of the workload if all pairs have equal limits."""
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


def classes(problem: StrategyProblem) -> list[Ints]:
    """Return the pairs, grouped by their limit."""
    _, kind = np.unique(problem.limits, return_inverse=True)
    return [np.flatnonzero(kind == k) for k in range(int(kind.max()) + 1)]


def bipartite(n: int, first: Ints, second: Ints) -> bool:
    """Return whether one division of the cells into two cuts all pairs."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    # The double cover of a connected graph is disconnected if and only if the graph is bipartite.
    once = np.concatenate([first, first + n])
    other = np.concatenate([second + n, second])
    cover = coo_matrix((np.ones(len(once)), (once, other)), shape=(2 * n, 2 * n))
    _, label = connected_components(cover, directed=False)
    return not bool((label[:n] == label[n:]).any())


def _equal(limits: Floats) -> bool:
    return bool(limits.max() <= limits.min() * (1 + 1e-12))


def nested_ranges(n: int, branches: int) -> tuple[Floats, Ints]:
    """Return ranges along the cells, divided in two (or more) down to single cells, and the level of each.

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


# -- Universes of several attributes whose distances add up, recognized from the pairs alone ---------------------------
# The graph of the pairs is then a Cartesian product: it has a coordinate for each attribute, and every pair differs in
# exactly one.  Its finest factors are found as in any graph (Feigenbaum, Hershberger and Schäffer 1985): two pairs
# belong to the same factor if their distances are related (|u - x| + |v - y| differs from |u - y| + |v - x|), or if
# they meet in the only common neighbor of their other ends; then the transitive closure is taken.  The proposal is
# checked against the list of pairs: every place occurs once, every pair is along one axis, and each pair of places
# occurs as often as there are places along the other axes.
#
# An axis is a line, a line with one value that is linked to all others (`other`: missing or invalid), or a list of
# values that are all linked.  Anything else is not a grid.


_MOST_PAIRS = 4_000  # all pairs of them are compared
_ENDS = 2


@dataclass(frozen=True, eq=False)
class GridLine:
    """Values in an order, the limit of each step, and the limits between `other` (the last place) and each value."""

    steps: Floats
    away: Floats | None = None

    @property
    def length(self) -> int:
        """The number of values in the order."""
        return len(self.steps) + 1

    @property
    def size(self) -> int:
        """The number of places, including `other`."""
        return self.length + (self.away is not None)


@dataclass(frozen=True, eq=False)
class Listed:
    """Values that are all linked, and the smallest limit of two of them."""

    size: int
    limit: float


Axis = GridLine | Listed


@dataclass(frozen=True, eq=False)
class GridStructure:
    """The axes, and the place of each cell along each of them (axes x cells)."""

    axes: tuple[Axis, ...]
    places: Ints

    def over_cells(self, axis: int, functions: Floats) -> Floats:
        """Return functions along one axis as rows over all cells."""
        return np.asarray(functions[:, self.places[axis]], dtype=np.float64)

    def products(self, functions: list[Floats]) -> Floats:
        """Return all products of functions, one along each axis, as rows over the cells."""
        rows = np.ones((1, self.places.shape[1]))
        for axis, along in enumerate(functions):
            mine = self.over_cells(axis, along)
            rows = (rows[:, None, :] * mine[None, :, :]).reshape(-1, rows.shape[1])
        return rows


def grid(problem: StrategyProblem) -> GridStructure | None:
    """Return the grid of two or more axes that the pairs form, or None.

    >>> square = StrategyProblem(np.eye(4), np.array([0, 0, 1, 2]), np.array([1, 2, 3, 3]), np.array([1.0, 2, 2, 1]))
    >>> grid(square).places
    array([[0, 1, 0, 1],
           [0, 0, 1, 1]])
    """
    n = problem.cells
    low, high, limits = distinct(problem)
    if len(low) > _MOST_PAIRS or len(low) < n:  # a tree has fewer pairs than cells, every product as many or more
        return None
    kinds = _factors(n, low, high)
    count = int(kinds.max()) + 1
    if count < 2:
        return None
    axes: list[Axis] = []
    places = np.empty((count, n), dtype=np.int64)
    for axis in range(count):
        mine = kinds == axis
        found = _axis(n, low, high, limits, mine)
        if found is None:
            return None
        axes.append(found[0])
        places[axis] = found[1]
    sizes = [axis.size for axis in axes]
    if math.prod(sizes) != n or len(np.unique(np.ravel_multi_index(tuple(places), sizes))) < n:
        return None
    moved = places[:, low] != places[:, high]
    if (moved.sum(axis=0) != 1).any():
        return None
    for axis, size in enumerate(sizes):
        ends = np.sort(places[axis][np.stack([low, high])[:, kinds == axis]], axis=0)
        _, often = np.unique(ends, axis=1, return_counts=True)
        if (often != n // size).any():
            return None
    return GridStructure(tuple(axes), places)


def _factors(n: int, low: Ints, high: Ints) -> Ints:
    """Return the factor of each pair; factors are numbered in the order of their first pairs."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components, dijkstra

    near = coo_matrix((np.ones(len(low)), (low, high)), shape=(n, n)).tocsr()
    away = np.asarray(dijkstra(near, directed=False, unweighted=True), dtype=np.int16)
    between = away[low][:, low] + away[high][:, high] - away[low][:, high] - away[high][:, low]
    same = between != 0
    near = near + near.T
    common = np.asarray((near @ near).todense())
    number = np.full((n, n), -1)
    number[low, high] = number[high, low] = np.arange(len(low))
    for u in range(n):
        around = near.indices[near.indptr[u] : near.indptr[u + 1]]
        alone = common[np.ix_(around, around)] == 1
        i, j = np.nonzero(alone & (number[np.ix_(around, around)] < 0))
        same[number[u, around[i]], number[u, around[j]]] |= i != j
    _, label = connected_components(same, directed=False)
    first = np.unique(label, return_index=True)[1]
    rank = np.empty_like(first)
    rank[np.argsort(first)] = np.arange(len(first))
    return np.asarray(rank[label], dtype=np.int64)


def _axis(n: int, low: Ints, high: Ints, limits: Floats, mine: Any) -> tuple[Axis, Ints] | None:
    """Return one axis and the place of each cell along it; cells joined by pairs of other axes share a place."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    rest = coo_matrix((np.ones(int((~mine).sum())), (low[~mine], high[~mine])), shape=(n, n))
    size, label = connected_components(rest, directed=False)
    least = np.full((size, size), np.inf)
    i, j = label[low[mine]], label[high[mine]]
    np.minimum.at(least, (i, j), limits[mine])
    least = np.minimum(least, least.T)
    linked = np.isfinite(least)
    if linked.diagonal().any():
        return None
    degrees = linked.sum(axis=0)
    if size > _ENDS and (degrees == size - 1).all():
        return Listed(size, float(least[linked].min())), label.astype(np.int64)
    hubs = np.flatnonzero(degrees == size - 1) if size > _ENDS else np.zeros(0, dtype=np.int64)
    hubs = hubs[np.argsort([-float(least[h][linked[h]].sum()) for h in hubs], kind="stable")]
    for hub in [None, *hubs.tolist()]:
        values = np.array([v for v in range(size) if v != hub])
        order = _path(linked[np.ix_(values, values)])
        if order is None:
            continue
        along = values[order]
        place = np.full(size, size - 1)
        place[along] = np.arange(len(along))
        steps = least[along[:-1], along[1:]]
        return GridLine(steps, None if hub is None else least[hub, along]), place[label].astype(np.int64)
    return None


def _path(linked: Any) -> list[int] | None:
    """Return the places in an order in which exactly neighbors are linked, from the lower-numbered end; or None."""
    size = len(linked)
    degrees = linked.sum(axis=0)
    ends = np.flatnonzero(degrees == 1)
    if size < _ENDS or len(ends) != _ENDS or (np.delete(degrees, ends) != _ENDS).any():
        return None
    order = [int(ends[0])]
    while len(order) < size:
        onward = [v for v in np.flatnonzero(linked[order[-1]]).tolist() if v not in order[-2:]]
        if not onward:
            return None
        order.append(onward[0])
    return order
