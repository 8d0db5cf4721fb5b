"""A balanced tree of points, with a bounding box and a lower bound on nearest-neighbor distances for each node.

The tree is implicit: all leaves have equally many slots, and the children of node a on one level are 2a and 2a + 1 on
the next.  Points fill the slots in the order of a KD-tree, some of them twice so that no slot stays empty; a point and
its copy have distance 0 and loss 0, so they add no constraint.

Boxes are exact: their ends are coordinates of points.  Nearest-neighbor distances come from scipy, which compares sums
of powers that are rounded a few times per level; `_NEIGHBOR` exceeds this error by far.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.trees.embedding import Embedding, length

_LEAF = 16
_NEIGHBOR = 2.0**-30


@dataclass(frozen=True, eq=False)
class Sites:
    """The distinct places: `first` is the first record of each, `of` the place of each record."""

    first: Ints
    of: Ints

    @property
    def count(self) -> int:
        """The number of places."""
        return len(self.first)


def sites_of(keys: Floats) -> Sites:
    """Group records by their keys: records with equal keys are at one place.

    >>> sites_of(np.array([[0.0, 1.0, 0.0]])).of.tolist()
    [0, 1, 0]
    """
    n = keys.shape[1]
    every = np.arange(n, dtype=np.int64)
    alone = np.sort(keys[0])
    if (alone[1:] != alone[:-1]).all():  # the first coordinates are all different
        return Sites(every, every)
    order = np.lexsort(keys[::-1])
    new = np.zeros(n, dtype=bool)
    new[:1] = True
    for line in keys:
        new[1:] |= line[order[1:]] != line[order[:-1]]
    if new.all():
        return Sites(every, every)
    of = np.empty(n, dtype=np.int64)
    of[order] = np.cumsum(new) - 1
    first = np.minimum.reduceat(order, np.flatnonzero(new)).astype(np.int64)
    by_first = np.argsort(first)  # sites in the order of their first records
    rank = np.empty(len(first), dtype=np.int64)
    rank[by_first] = np.arange(len(first))
    return Sites(first[by_first], rank[of])


class PointTree:
    """A balanced tree of records in space; without a minimum distance (floor), each place is included once."""

    def __init__(self, embedding: Embedding) -> None:
        from scipy.spatial import cKDTree

        self.embedding = embedding
        self.sites = sites_of(embedding.keys)
        self.merged = embedding.floor <= 0
        self.records = self.sites.first if self.merged else np.arange(embedding.size, dtype=np.int64)
        points = embedding.points[:, self.records]
        n = len(self.records)
        self._kd = cKDTree(np.ascontiguousarray(points.T), leafsize=_LEAF, compact_nodes=False)
        levels = 0
        while -(-n // (1 << levels)) > _LEAF:
            levels += 1
        self.levels, self.leaf = levels, -(-n // (1 << levels))
        slots = self.leaf << levels
        self.slots: Ints = np.asarray(self._kd.indices, dtype=np.int64)[np.arange(slots, dtype=np.int64) * n // slots]
        self.points = np.ascontiguousarray(points[:, self.slots])
        leaves = self.points.reshape(len(points), 1 << levels, self.leaf)
        self.low, self.high = self.up(leaves.min(axis=2), np.minimum), self.up(leaves.max(axis=2), np.maximum)

    def record(self, slots: Ints) -> Ints:
        """Return the records in some slots."""
        return np.asarray(self.records[self.slots[slots]])

    def leaves(self, values: Floats) -> Floats:
        """Return values of the records, leaf by leaf."""
        return values[self.records[self.slots]].reshape(1 << self.levels, self.leaf)

    def up(self, leaves: Floats, join: np.ufunc) -> list[Floats]:
        """Combine leaf values (last axis) to values of all nodes, level by level from the root."""
        out = [np.ascontiguousarray(leaves)]
        for _ in range(self.levels):
            below = out[-1]
            out.append(join(below[..., 0::2], below[..., 1::2]))
        return out[::-1]

    @cached_property
    def neighbors(self) -> tuple[Ints, Ints, Floats]:
        """For each place, a slot of it and one of its nearest place, and a lower bound on their distance in space."""
        e = self.embedding
        slot_of = np.empty(len(self.records), dtype=np.int64)
        slot_of[self.slots[::-1]] = np.arange(len(self.slots), dtype=np.int64)[::-1]
        if self.sites.count < 2:
            nothing = np.zeros(0, dtype=np.int64)
            return nothing, nothing, np.full(self.sites.count, np.inf)
        if self.merged or self.sites.count == e.size:
            kd, place = self._kd, np.arange(len(self.records), dtype=np.int64)
        else:
            from scipy.spatial import cKDTree

            place = self.sites.first
            kd = cKDTree(np.ascontiguousarray(e.points[:, place].T), compact_nodes=False)
        if not e.tame:  # sums of powers in scipy may overflow
            nothing = np.zeros(0, dtype=np.int64)
            return nothing, nothing, np.zeros(len(place))
        order = kd.indices  # queries in the order of the tree are twice as fast
        found, near = np.empty(len(place)), np.empty(len(place), dtype=np.int64)
        d, at = kd.query(kd.data[order], k=2, p=e.p)
        itself = at[:, 1] == order  # with rounded coordinates, another point may be at distance 0
        near[order], found[order] = np.where(itself, at[:, 0], at[:, 1]), d[:, 1]
        return slot_of[place], slot_of[place[near]], found * (1 - _NEIGHBOR)

    @cached_property
    def near(self) -> list[Floats]:
        """For each node, a lower bound on the distance of its points from all others in the metric, level by level."""
        e = self.embedding
        gaps = self.neighbors[2]
        if not self.merged:
            alone = np.bincount(self.sites.of, minlength=self.sites.count) == 1
            gaps = np.where(alone, gaps, 0.0)[self.sites.of]
        d = e.least(gaps[self.slots])
        return self.up(d.reshape(1 << self.levels, self.leaf).min(axis=1), np.minimum)

    def gap(self, level: int, a: Ints, b: Ints) -> Floats:
        """Return the distance of two boxes in space."""
        parts = []
        for low, high in zip(self.low[level], self.high[level], strict=True):
            part = np.maximum(low[a] - high[b], low[b] - high[a])
            parts.append(np.maximum(part, 0.0, out=part))
        return length(parts, self.embedding.p, tame=self.embedding.tame)

    def reach(self, level: int, a: Ints, b: Ints) -> Floats:
        """Return the largest distance of points of two boxes in space."""
        parts = []
        for low, high in zip(self.low[level], self.high[level], strict=True):
            parts.append(np.maximum(high[a] - low[b], high[b] - low[a]))
        return length(parts, self.embedding.p, tame=self.embedding.tame)

    def between(self, i: Ints, j: Ints) -> Floats:
        """Return the distance of the points in two slots, in space."""
        return length([x[i] - x[j] for x in self.points], self.embedding.p, tame=self.embedding.tame)

    def across(self, a: Ints, b: Ints) -> Floats:
        """Return all distances between the points of two leaves, for many pairs of leaves."""
        parts = []
        for x in self.points:
            leaves = x.reshape(-1, self.leaf)
            parts.append(leaves[a][:, :, None] - leaves[b][:, None, :])
        return length(parts, self.embedding.p, tame=self.embedding.tame)
