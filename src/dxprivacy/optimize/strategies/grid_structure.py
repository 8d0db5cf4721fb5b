"""Universes of several attributes whose distances add up, seen in the pairs alone: lines, lines with `other`, lists.

The graph of the pairs is then a product: it has a coordinate for each attribute, and every pair differs in exactly one.
Its finest factors are found as in any graph (Feigenbaum, Hershberger and Schäffer 1985): two pairs belong to the same
factor if distances tell them apart (|u - x| + |v - y| differs from |u - y| + |v - x|), or if they meet in the only
common neighbor of their other ends; and so on transitively.  Whatever this proposes is checked against the list of
pairs: every place once, every pair along one axis, each as often as there are places along the others.

An axis is a line, a line and one value that is linked to all others (`other`: missing or invalid), or a list of values
that are all linked.  Anything else is no grid.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.optimize.strategies.pair_structure import distinct
from dxprivacy.optimize.strategies.strategy_problem import Problem

_MOST_PAIRS = 4_000  # each is compared with each
_ENDS = 2


@dataclass(frozen=True, eq=False)
class Line:
    """Values in an order, what each step may show; and what `other` (the last place) and each value may, if it is."""

    steps: Floats
    away: Floats | None = None

    @property
    def length(self) -> int:
        """How many values are in the order."""
        return len(self.steps) + 1

    @property
    def size(self) -> int:
        """How many places there are, `other` among them."""
        return self.length + (self.away is not None)


@dataclass(frozen=True, eq=False)
class Listed:
    """Values that are all linked, and the least that two of them may show."""

    size: int
    limit: float


Axis = Line | Listed


@dataclass(frozen=True, eq=False)
class Grid:
    """The axes, and where each cell is along each of them (axes x cells)."""

    axes: tuple[Axis, ...]
    places: Ints

    def over_cells(self, axis: int, functions: Floats) -> Floats:
        """Functions along one axis as rows over all cells."""
        return np.asarray(functions[:, self.places[axis]], dtype=np.float64)

    def products(self, functions: list[Floats]) -> Floats:
        """All products of functions along the axes, one of each axis, as rows over the cells."""
        rows = np.ones((1, self.places.shape[1]))
        for axis, along in enumerate(functions):
            mine = self.over_cells(axis, along)
            rows = (rows[:, None, :] * mine[None, :, :]).reshape(-1, rows.shape[1])
        return rows


def grid(problem: Problem) -> Grid | None:
    """The grid of two or more axes that the pairs belong to, or None.

    >>> square = Problem(np.eye(4), np.array([0, 0, 1, 2]), np.array([1, 2, 3, 3]), np.array([1.0, 2, 2, 1]))
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
    return Grid(tuple(axes), places)


def _factors(n: int, low: Ints, high: Ints) -> Ints:
    """The factor of each pair, numbered in the order of their first pairs."""
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
    """One axis and the place of each cell along it: what the other pairs join has the same one."""
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
        return Line(steps, None if hub is None else least[hub, along]), place[label].astype(np.int64)
    return None


def _path(linked: Any) -> list[int] | None:
    """The places in an order in which just neighbors are linked, from the end with the lower number; or None."""
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
