"""Nearest and farthest pairs of points, and all pairs within a reach: candidates for exact comparison.

Distances are in space.  The metric is an increasing function of them, so its extremes are among these pairs.
"""

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.trees.embedding import Embedding, length
from dxprivacy.trees.tree import PointTree, Sites, sites_of

Pairs = tuple[Ints, Ints]

_ROUNDED = 2.0**-30  # exceeds the rounding of the sums of powers that scipy compares
_CHUNK = 1 << 17
_TIE = 2.0**-44


def _none() -> Pairs:
    nothing = np.zeros(0, dtype=np.int64)
    return nothing, nothing


def same_places(embedding: Embedding, most: int) -> list[tuple[int, int]]:
    """Return pairs of records at the same place, in order, at most `most` of them.

    >>> same_places(Embedding.flat(np.array([[1.0], [2.0], [1.0]]), 2, 1.0), 10)
    [(0, 2)]
    """
    return _same(sites_of(embedding.keys), most)


def _same(sites: Sites, most: int) -> list[tuple[int, int]]:
    crowded = np.flatnonzero(np.bincount(sites.of, minlength=sites.count) > 1)
    if not len(crowded):
        return []
    order = np.argsort(sites.of, kind="stable")
    starts = np.searchsorted(sites.of[order], crowded)
    found: list[tuple[int, int]] = []
    groups = {int(c): order[s : s + most + 1].tolist() for c, s in zip(crowded[:most].tolist(), starts, strict=False)}
    for site, members in groups.items():
        members = [m for m in members if sites.of[m] == site]
        for k, i in enumerate(members):
            found += [(i, j) for j in members[k + 1 : k + 1 + most]]
            if len(found) > 4 * most:
                break
    return sorted(found)[:most]


def closest_pairs(tree: PointTree) -> Pairs:
    """Return the pairs of records of different places that may be the nearest of all."""
    from scipy.spatial import cKDTree

    first, second, gaps = tree.neighbors
    e = tree.embedding
    if tree.sites.count < 2:
        return _none()
    if not len(first):  # coordinates beyond what scipy can compare
        return _closest_by_lines(tree)
    apart = tree.between(first, second)
    limit = float(apart.min()) * (1 + _ROUNDED) + 4 * e.blur
    place = np.flatnonzero(gaps * (1 - _ROUNDED) <= limit)
    records = tree.sites.first[place]
    pairs = cKDTree(np.ascontiguousarray(e.points[:, records].T)).query_pairs(
        limit * (1 + _ROUNDED), p=e.p, output_type="ndarray"
    )
    i, j = records[pairs[:, 0]], records[pairs[:, 1]]
    return np.minimum(i, j), np.maximum(i, j)


def _closest_by_lines(tree: PointTree) -> Pairs:
    """Compare all pairs, one line at a time; used only for coordinates of extreme size."""
    records, e = tree.sites.first, tree.embedding
    best, found = np.inf, _none()
    for k in range(len(records) - 1):
        d = length([x[records[k]] - x[records[k + 1 :]] for x in e.points], e.p, tame=False)
        near = np.flatnonzero(d <= min(best, float(d.min())) * (1 + _ROUNDED))
        if len(near):
            fresh = float(d.min()) < best
            i, j = np.full(len(near), records[k]), records[k + 1 :][near]
            keep = _none() if fresh and best > float(d.min()) * (1 + _ROUNDED) else found
            found = (np.concatenate([keep[0], i]), np.concatenate([keep[1], j]))
            best = min(best, float(d.min()))
    return np.minimum(*found), np.maximum(*found)


def farthest_pairs(tree: PointTree) -> Pairs:
    """Return the pairs of records that may be the farthest of all, up to float rounding."""
    far = _Far(tree)
    far.begin()
    stack = [(0, np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64), np.full(1, np.inf))]
    while stack:
        level, a, b, upper = stack.pop()
        stay = upper > far.best * (1 + _TIE)
        a, b, upper = a[stay], b[stay], upper[stay]
        if not len(a):
            continue
        if len(a) > _CHUNK:
            order = np.argpartition(upper, len(upper) // 2)
            stack += [(level, a[o], b[o], upper[o]) for o in (order[: len(order) // 2], order[len(order) // 2 :])]
            continue
        if level == tree.levels:
            far.leaves(a, b, upper)
            continue
        own = a == b
        twins, first, second = 2 * a[own], 2 * a[~own], 2 * b[~own]
        a = np.concatenate([first, first, first + 1, first + 1, twins, twins, twins + 1])
        b = np.concatenate([second, second + 1, second, second + 1, twins + 1, twins, twins + 1])
        stack.append((level + 1, a, b, tree.reach(level + 1, a, b)))
    return far.pairs()


class _Far:
    def __init__(self, tree: PointTree) -> None:
        self.tree, self.best = tree, 0.0
        self.kept: list[tuple[Ints, Ints, Floats]] = []

    def begin(self) -> None:
        """Compare the extreme points of every coordinate, and of every sum and difference of two."""
        lines = list(self.tree.points)
        lines += [x + s * y for k, x in enumerate(lines) for y in lines[:k] for s in (1.0, -1.0)]
        ends = np.unique([at for line in lines[:64] for at in (int(line.argmin()), int(line.argmax()))])
        i, j = np.meshgrid(ends, ends)
        self.take(i.ravel(), j.ravel(), self.tree.between(i.ravel(), j.ravel()))

    def take(self, i: Ints, j: Ints, d: Floats) -> None:
        """Keep pairs that may be the farthest; near the antipode, an arc depends on the last digits of its chord."""
        self.best = max(self.best, float(d.max(initial=0.0)))
        near = np.flatnonzero((d >= self.best * (1 - 2.0**-40)) & (d > 0))
        if len(near):
            if len(near) > 4096:
                near = near[np.argsort(-d[near])[:4096]]
            self.kept.append((i[near], j[near], d[near]))

    def leaves(self, a: Ints, b: Ints, upper: Floats) -> None:
        """Compare all pairs of points of pairs of leaves, the most promising first."""
        leaf, order = self.tree.leaf, np.argsort(-upper)
        slots = np.arange(leaf, dtype=np.int64)
        step = max(1, _CHUNK // (leaf * leaf))
        for start in range(0, len(order), step):
            some = order[start : start + step]
            if upper[some[0]] <= self.best * (1 + _TIE):
                return
            i = np.broadcast_to((a[some] * leaf)[:, None, None] + slots[:, None], (len(some), leaf, leaf))
            j = np.broadcast_to((b[some] * leaf)[:, None, None] + slots, (len(some), leaf, leaf))
            self.take(i.ravel(), j.ravel(), self.tree.across(a[some], b[some]).ravel())

    def pairs(self) -> Pairs:
        """Return the pairs found, as records."""
        if not self.kept:
            return _none()
        i, j, d = (np.concatenate([k[c] for k in self.kept]) for c in range(3))
        near = np.flatnonzero(d >= self.best * (1 - 2.0**-40))
        i, j = self.tree.record(i[near]), self.tree.record(j[near])
        pairs = np.unique(np.stack([np.minimum(i, j), np.maximum(i, j)], axis=1), axis=0)
        return pairs[:, 0], pairs[:, 1]


def within_pairs(embedding: Embedding, reach: float) -> Pairs:
    """Return all pairs of records at most `reach` apart in the metric; some may be slightly farther apart."""
    from scipy.spatial import cKDTree

    e = embedding
    x = reach / e.slope
    x = 2 * np.sin(min(x / 2, np.pi / 2)) if e.arc else x
    limit = float(x) * (1 + _ROUNDED) + 4 * e.blur
    tree = cKDTree(np.ascontiguousarray(e.points.T))
    pairs = tree.query_pairs(limit, p=e.p, output_type="ndarray").astype(np.int64)
    i, j = pairs.min(axis=1, initial=e.size), pairs.max(axis=1, initial=-1)
    order = np.lexsort((j, i))
    return i[order], j[order]


def second_nearest(embedding: Embedding) -> tuple[Ints, Ints]:
    """Return for each record its nearest and second nearest other record; at least 3 records are needed."""
    from scipy.spatial import cKDTree

    sites, n = sites_of(embedding.keys), embedding.size
    every = np.arange(n, dtype=np.int64)
    size = np.bincount(sites.of, minlength=sites.count)
    # The first three records of each place.
    order = np.argsort(sites.of, kind="stable")
    starts = np.cumsum(size) - size
    member = [order[np.minimum(starts + k, starts + size - 1)] for k in range(3)]
    if sites.count < 2:
        return np.where(every == member[0][0], member[1][0], member[0][0]), np.where(
            np.isin(every, [member[0][0], member[1][0]]), member[2][0], member[1][0]
        )
    points = np.ascontiguousarray(embedding.points[:, sites.first].T)
    asked = min(3, sites.count)
    at = cKDTree(points).query(points, k=asked, p=embedding.p)[1]
    place = np.arange(sites.count)[:, None]
    itself = at == place
    itself[:, -1] |= ~itself.any(axis=1)  # rounded points may be missing behind others at distance 0
    others = at[~itself].reshape(sites.count, asked - 1)
    one, two = others[:, 0], others[:, -1]
    own = sites.of
    twin = np.where(every == member[0][own], member[1][own], member[0][own])
    third = np.where((every == member[0][own]) | (every == member[1][own]), member[2][own], member[1][own])
    other = member[0][one[own]]
    other_twin = np.where(size[one[own]] > 1, member[1][one[own]], member[0][two[own]])
    nearest = np.where(size[own] > 1, twin, other)
    second = np.where(size[own] > 2, third, np.where(size[own] == 2, other, other_twin))
    return nearest, second
