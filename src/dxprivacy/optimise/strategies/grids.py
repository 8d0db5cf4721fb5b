"""Cells in a grid: pairs that are the steps along two or more lines whose distances add up; never known by name.

The graph of the pairs is a product of paths.  From a corner, a cell whose place is x has as many neighbours that are
nearer to the corner as x has entries that are not 0, so the cells with exactly one are the axes; and with c_a the far
end of axis a, of n_a cells, x_a = (|v - c| - |v - c_a| + n_a - 1) / 2.  Whatever this proposes is checked against the
list of pairs: every place once, every pair one step along one axis, and as many pairs as the grid has steps.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.optimise.strategies.problem import Problem
from dxprivacy.optimise.strategies.structure import distinct


@dataclass(frozen=True, eq=False)
class Grid:
    """Where each cell is along each axis (axes x cells), and the least that each step along an axis may show."""

    places: Ints
    steps: tuple[Floats, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many cells each axis has."""
        return tuple(len(s) + 1 for s in self.steps)

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
    """The grid of two or more axes that the pairs are the steps of, or None.

    >>> square = Problem(np.eye(4), np.array([0, 0, 1, 2]), np.array([1, 2, 3, 3]), np.array([1.0, 2, 2, 1]))
    >>> grid(square).places
    array([[0, 1, 0, 1],
           [0, 0, 1, 1]])
    """
    from scipy.sparse import coo_matrix

    n = problem.cells
    low, high, limits = distinct(problem)
    degrees = np.bincount(np.concatenate([low, high]), minlength=n)
    count = int(degrees.min())
    if count < 2 or not count * n / 2 <= len(low) <= count * (n - 1):  # each axis has a half to all but one, per cell
        return None
    near = coo_matrix((np.ones(len(low)), (low, high)), shape=(n, n)).tocsr()
    near = near + near.T
    corner = int(np.flatnonzero(degrees == count)[0])
    axes = _axes(near, corner, count)
    if axes is None:
        return None
    sizes = [len(axis) + 1 for axis in axes]
    if math.prod(sizes) != n:
        return None
    away = _distances(near, [corner, *(axis[-1] for axis in axes)])
    twice = away[0] - away[1:] + np.array(sizes)[:, None] - 1
    places = twice // 2
    if (twice % 2).any() or (places < 0).any() or (places >= np.array(sizes)[:, None]).any():
        return None
    if len(np.unique(np.ravel_multi_index(tuple(places), sizes))) < n:
        return None
    step = places[:, high] - places[:, low]
    if (np.abs(step).sum(axis=0) != 1).any() or len(low) != sum(n // size * (size - 1) for size in sizes):
        return None
    least = [np.full(size - 1, np.inf) for size in sizes]
    for axis, along in enumerate(step):
        at = np.flatnonzero(along)
        np.minimum.at(least[axis], np.minimum(places[axis, low[at]], places[axis, high[at]]), limits[at])
    return Grid(places.astype(np.int64), tuple(least))


def _distances(near: Any, sources: list[int]) -> Ints:
    """How many steps each cell is away from each source."""
    from scipy.sparse.csgraph import dijkstra

    return np.asarray(dijkstra(near, directed=False, unweighted=True, indices=sources), dtype=np.int64)


def _axes(near: Any, corner: int, count: int) -> list[list[int]] | None:
    """The cells of each axis through the corner, in order and without it; None where they are no such paths."""
    away = _distances(near, [corner])[0]
    nearer = [[int(u) for u in near.indices[a:b] if away[u] < away[v]] for v, (a, b) in enumerate(_spans(near))]
    axes: dict[int, list[int]] = {}
    begun: dict[int, int] = {}  # which axis an axis cell lies on
    for v in np.argsort(away, kind="stable").tolist():
        if len(nearer[v]) != 1:
            continue
        before = nearer[v][0]
        first = v if before == corner else begun.get(before)
        if first is None or (first != v and axes[first][-1] != before):
            return None
        begun[v] = first
        axes.setdefault(first, []).append(v)
    return list(axes.values()) if len(axes) == count else None


def _spans(near: Any) -> list[tuple[int, int]]:
    ends = near.indptr.tolist()
    return list(zip(ends[:-1], ends[1:], strict=True))
