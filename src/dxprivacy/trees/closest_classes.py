"""Closest pairs between classes of points: for two classes with different rows, only these pairs matter.

There is a tree for each class, and all are searched at once (branch and bound): a pair of nodes is kept while its boxes
are not farther apart than the closest known pair of its two classes.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.trees.embedding import Embedding, length
from dxprivacy.trees.tree import sites_of

_LEAF = 8
_CHUNK = 1 << 17
_NEIGHBORS = 5
_TIES = 1 << 20
_NEAR = 40  # the largest average number of neighbors within the reach in which close classes are decided at once
_ROUNDED = 2.0**-30  # exceeds the rounding of the sums of powers that scipy compares

Pairs = tuple[Ints, Ints]


def closest_across(embedding: Embedding, classes: Ints) -> Pairs:
    """Return for every two classes all pairs of records that may be the closest, up to float rounding.

    All ties in space are included, unless there are more than a million.

    >>> points = Embedding.flat(np.array([[0.0], [1.0], [3.0], [9.0]]), 2, 1.0)
    >>> [x.tolist() for x in closest_across(points, np.array([0, 0, 1, 1]))]
    [[1], [2]]
    """
    # Keep the first record of each place and class: a search among very many equal points does not end.
    some = sites_of(np.vstack([embedding.keys, classes])).first
    if len(some) < embedding.size:
        embedding = replace(embedding, points=embedding.points[:, some], keys=embedding.keys[:, some])
    search = _Closest(embedding, classes[some])
    with np.errstate(under="ignore"):
        search.begin()
        search.walk()
    i, j = search.pairs()
    return some[i], some[j]


@dataclass(frozen=True, eq=False)
class _Forest:
    """A balanced tree for each class: nodes with boxes, the first of two children (-1: a leaf), and a first slot."""

    records: Ints  # by slot
    low: Floats
    high: Floats
    child: Ints
    slot: Ints
    root: Ints

    @classmethod
    def of(cls, points: Floats, classes: Ints, count: int) -> "_Forest":
        from scipy.spatial import cKDTree

        order = np.argsort(classes, kind="stable")
        starts = np.searchsorted(classes[order], np.arange(count + 1))
        records, low, high, child, slot, root = [], [], [], [], [], []
        slots = nodes = 0
        for c in range(count):
            members = order[starts[c] : starts[c + 1]]
            if len(members) > _LEAF:
                kd = cKDTree(np.ascontiguousarray(points[:, members].T), leafsize=_LEAF, compact_nodes=False)
                members = members[kd.indices]
            levels = 0
            while len(members) > _LEAF << levels:
                levels += 1
            many = _LEAF << levels
            members = members[np.arange(many) * len(members) // many]
            leaves = points[:, members].reshape(len(points), 1 << levels, _LEAF)
            lows, highs = [leaves.min(axis=2)], [leaves.max(axis=2)]
            for _ in range(levels):
                lows.append(np.minimum(lows[-1][:, 0::2], lows[-1][:, 1::2]))
                highs.append(np.maximum(highs[-1][:, 0::2], highs[-1][:, 1::2]))
            low += lows[::-1]
            high += highs[::-1]
            heap = np.arange((2 << levels) - 1, dtype=np.int64)
            inner = heap < (1 << levels) - 1
            child.append(np.where(inner, nodes + 2 * heap + 1, -1))
            depth = np.repeat(np.arange(levels + 1), 1 << np.arange(levels + 1))
            slot.append(slots + (heap + 1 - (1 << depth)) * (many >> depth))
            root.append(nodes)
            records.append(members)
            slots, nodes = slots + many, nodes + len(heap)
        return cls(
            np.concatenate(records).astype(np.int64),
            np.concatenate(low, axis=1),
            np.concatenate(high, axis=1),
            np.concatenate(child),
            np.concatenate(slot),
            np.array(root, dtype=np.int64),
        )


class _Closest:
    def __init__(self, embedding: Embedding, classes: Ints) -> None:
        self.embedding, self.classes = embedding, classes
        self.count = int(classes.max()) + 1
        self.best = np.full(self.count * self.count, np.inf)
        self.forest = _Forest.of(embedding.points, classes, self.count)
        self.kept: list[tuple[Ints, Ints, Ints, Floats]] = []
        self.size = 0
        self.decided = np.zeros(len(self.best), dtype=bool)

    def _apart(self, i: Ints, j: Ints) -> Floats:
        return length([x[i] - x[j] for x in self.embedding.points], self.embedding.p, tame=self.embedding.tame)

    def _limit(self, code: Ints) -> Floats:
        """Return a distance beyond which pairs are certainly farther apart than the closest known pair."""
        return np.asarray(self.best[code] * (1 + 8 * self.embedding.error) + 4 * self.embedding.blur)

    def begin(self) -> None:
        """Initialize with near neighbors of different classes."""
        from scipy.spatial import cKDTree

        e = self.embedding
        if not e.tame or e.size < 2:
            return
        kd = cKDTree(np.ascontiguousarray(e.points.T), compact_nodes=False)
        sample = np.linspace(0, e.size - 1, min(e.size, 1 << 17)).astype(np.int64)
        order = np.argsort(kd.indices.argsort()[sample]) if len(sample) < e.size else kd.indices
        sample = sample[order] if len(sample) < e.size else np.asarray(order, dtype=np.int64)
        d, near = kd.query(kd.data[sample], k=min(_NEIGHBORS, e.size), p=e.p)
        i, j = np.repeat(sample, near.shape[1]), near.ravel().astype(np.int64)
        a, b = self.classes[i], self.classes[j]
        across = a != b
        i, j, a, b = i[across], j[across], a[across], b[across]
        np.minimum.at(self.best, np.minimum(a, b) * self.count + np.maximum(a, b), self._apart(i, j))
        self._decide_near(kd, float(np.median(d[:, -1])))

    def _decide_near(self, kd: Any, reach: float) -> None:
        """Decide classes with pairs within a short reach directly, which is cheaper for intermixed classes."""
        e = self.embedding
        if not 0 < reach < math.inf or kd.count_neighbors(kd, reach, p=e.p) > _NEAR * e.size:
            return
        pairs = kd.query_pairs(reach * (1 + _ROUNDED), p=e.p, output_type="ndarray").astype(np.int64)
        a, b = self.classes[pairs[:, 0]], self.classes[pairs[:, 1]]
        pairs, a, b = pairs[a != b], a[a != b], b[a != b]
        code, d = np.minimum(a, b) * self.count + np.maximum(a, b), self._apart(pairs[:, 0], pairs[:, 1])
        np.minimum.at(self.best, code, d)
        self.decided = self._limit(np.arange(len(self.best))) <= reach * (1 - _ROUNDED)
        near = np.flatnonzero((d <= self._limit(code)) & self.decided[code])
        self.kept.append((code[near], pairs[near, 0], pairs[near, 1], d[near]))

    def walk(self) -> None:
        """Search from the roots of every two classes down to their closest pairs."""
        for c in range(1, self.count):
            lower = np.arange(c, dtype=np.int64)
            lower = lower[~self.decided[lower * self.count + c]]
            root = np.full(len(lower), self.forest.root[c], dtype=np.int64)
            stack = [(lower * self.count + c, self.forest.root[lower], root)]
            while stack:
                code, a, b = stack.pop()
                code, a, b = self._near(code, a, b)
                if not len(code):
                    continue
                if len(code) > _CHUNK:
                    half = len(code) // 2
                    stack += [(code[:half], a[:half], b[:half]), (code[half:], a[half:], b[half:])]
                    continue
                stack += self._next(code, a, b)

    def _near(self, code: Ints, a: Ints, b: Ints) -> tuple[Ints, Ints, Ints]:
        f = self.forest
        i, j = f.records[f.slot[a]], f.records[f.slot[b]]
        np.minimum.at(self.best, code, self._apart(i, j))
        parts = []
        for low, high in zip(f.low, f.high, strict=True):
            parts.append(np.maximum(np.maximum(low[a] - high[b], low[b] - high[a]), 0.0))
        gap = length(parts, self.embedding.p, tame=self.embedding.tame)
        stay = gap <= self._limit(code)
        return code[stay], a[stay], b[stay]

    def _next(self, code: Ints, a: Ints, b: Ints) -> list[tuple[Ints, Ints, Ints]]:
        """Return the pairs of children; evaluate pairs of leaves."""
        child = self.forest.child
        first, second = child[a], child[b]
        leaves = (first < 0) & (second < 0)
        out = []
        for some, left, right in (
            ((first >= 0) & (second >= 0), (0, 0, 1, 1), (0, 1, 0, 1)),
            ((first >= 0) & (second < 0), (0, 1), (None, None)),
            ((first < 0) & (second >= 0), (None, None), (0, 1)),
        ):
            if some.any():
                new_a = np.concatenate([a[some] if s is None else first[some] + s for s in left])
                new_b = np.concatenate([b[some] if s is None else second[some] + s for s in right])
                out.append((np.tile(code[some], len(left)), new_a, new_b))
        step = max(1, _CHUNK // _LEAF**2)
        code, a, b = code[leaves], a[leaves], b[leaves]
        for start in range(0, len(code), step):
            piece = slice(start, start + step)
            self._look(code[piece], a[piece], b[piece])
        return out

    def _look(self, code: Ints, a: Ints, b: Ints) -> None:
        f, slots = self.forest, np.arange(_LEAF, dtype=np.int64)
        i = f.records[f.slot[a][:, None, None] + slots[:, None]]
        j = f.records[f.slot[b][:, None, None] + slots]
        i, j = np.broadcast_arrays(i, j)
        d = self._apart(i, j)
        np.minimum.at(self.best, code, d.min(axis=(1, 2)))
        near = np.nonzero(d <= self._limit(code)[:, None, None])
        self.kept.append((code[near[0]], i[near], j[near], d[near]))
        self.size += len(near[0])
        if self.size > _TIES:
            self.kept = [self._tidy()]
            self.size = len(self.kept[0][0])

    def _tidy(self) -> tuple[Ints, Ints, Ints, Floats]:
        code, i, j, d = (np.concatenate([k[c] for k in self.kept]) for c in range(4))
        near = d <= self._limit(code)
        code, i, j, d = code[near], i[near], j[near], d[near]
        first = np.unique(np.minimum(i, j) * np.int64(self.embedding.size) + np.maximum(i, j), return_index=True)[1]
        if len(first) > _TIES // 2:  # too many ties: each pair of classes keeps its first
            first = np.unique(np.stack([code, d.view(np.int64)], axis=1), axis=0, return_index=True)[1]
        return code[first], i[first], j[first], d[first]

    def pairs(self) -> Pairs:
        """Return the pairs found, as records."""
        if not self.kept:
            nothing = np.zeros(0, dtype=np.int64)
            return nothing, nothing
        _, i, j, _ = self._tidy()
        return np.minimum(i, j), np.maximum(i, j)
