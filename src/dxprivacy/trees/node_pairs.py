"""Find the largest ratio of a loss to a distance over all pairs of points, by branch and bound on pairs of nodes.

Pairs of nodes that cannot contain a ratio above the largest one seen are pruned, level by level.  Bounds within `_TIE`
above it are put aside at first, because a linear row along a straight line ties everywhere.  At the end they are
searched if they are few; otherwise `ceiling` is an upper bound on the true largest ratio.

Every bound on nodes is at least the true ratio of their pairs; the ratio of a single pair is bounded from both sides
(the points of a sphere are rounded).  So the returned pairs contain one with the largest ratio, or the ceiling covers
it.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dxprivacy.exact.arrays import Bools, Floats, Ints
from dxprivacy.trees.features import Numerator
from dxprivacy.trees.tree import PointTree

_TIE = 2.0**-42
_CHUNK = 1 << 17  # pairs of nodes, or of points, at a time
_ASIDE = 1 << 18  # the largest number of pairs of nodes that are put aside
_TIES_WORK = 1 << 21  # the largest number of pairs of points compared among those
_WORK = 1 << 34
_KEPT = 1 << 12  # pairs that tie in floats and are decided in fractions
_SMALLEST = 2.0**-1000

Keys = Callable[[Ints, Ints], Ints]
"""Integer keys of pairs of records: equal keys guarantee equal ratios."""


@dataclass(frozen=True, eq=False)
class FoundPairs:
    """Pairs of records whose ratio may be the largest; `ceiling` bounds the ratios of all others (None: not needed).

    `floor` is a ratio that one of them attains, up to rounding.
    """

    i: Ints
    j: Ints
    floor: float
    ceiling: float | None


def largest_ratio(tree: PointTree, numerator: Numerator, keys: Keys | None = None, *, above: float = 0.0) -> FoundPairs:
    """Return the pairs of records that may have the largest ratio, if it is at least `above`.

    If the tree has one record for each place, the loss must be 0 between records of one place.

    >>> from dxprivacy.trees import Embedding, Scalar
    >>> tree = PointTree(Embedding.flat(np.array([[0.0], [1.0], [4.0]]), 2, 1.0))
    >>> found = largest_ratio(tree, Numerator([[Scalar(tree, np.array([0.0, 2.0, 3.0]))]]))
    >>> sorted({*found.i.tolist(), *found.j.tolist()}), round(found.floor, 9)
    ([0, 1], 2.0)
    """
    walk = _Walk(tree, numerator, keys, above)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        walk.begin()
        root = np.zeros(1, dtype=np.int64)
        ceiling = walk.descend([(0, root, root, np.full(1, np.inf))], tie=_TIE, work=_WORK)
        again = walk.put_aside()
        if again is None:
            ceiling = max(ceiling, walk.floor * (1 + 2 * _TIE))
        elif again:
            ceiling = max(ceiling, walk.descend(again, tie=-walk.error, work=_TIES_WORK))
        i, j = walk.candidates()
        if walk.crowded:  # checked here, because also `candidates` may drop pairs if there are too many
            ceiling = max(ceiling, walk.most_kept)
        if walk.floor < 2 * _SMALLEST and len(tree.records) > 1:  # such small ratios cannot be distinguished from 0
            ceiling = max(ceiling, 2 * _SMALLEST)
    return FoundPairs(i, j, walk.floor, ceiling if ceiling > 0 else None)


def largest_ratios(tree: PointTree, numerator: Numerator, many: int, *, above: float = 0.0) -> FoundPairs:
    """Return `many` pairs of records with the largest ratios above `above`, the largest first, in floats.

    If the search was cut short, `ceiling` bounds all ratios that were left out.

    >>> from dxprivacy.trees import Embedding, Scalar
    >>> tree = PointTree(Embedding.flat(np.array([[0.0], [1.0], [4.0]]), 2, 1.0))
    >>> found = largest_ratios(tree, Numerator([[Scalar(tree, np.array([0.0, 2.0, 3.0]))]]), 2)
    >>> [sorted(pair) for pair in zip(found.i.tolist(), found.j.tolist())]
    [[0, 1], [0, 2]]
    """
    walk = _Top(tree, numerator, many, above)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        walk.begin()
        root = np.zeros(1, dtype=np.int64)
        ceiling = walk.descend([(0, root, root, np.full(1, np.inf))], tie=0.0, work=_WORK)
    i, j = walk.candidates()
    return FoundPairs(i, j, walk.floor, ceiling if ceiling > 0 else None)


Nodes = tuple[int, Ints, Ints, Floats]


class _Walk:
    def __init__(self, tree: PointTree, numerator: Numerator, keys: Keys | None, above: float) -> None:
        self.tree, self.numerator, self.keys = tree, numerator, keys
        self.error = 4 * (numerator.error + tree.embedding.error) + 2.0**-48
        self.floor = above
        self.kept: list[tuple[Ints, Ints, Floats]] = []
        self.size = 0
        self.most = _KEPT
        self.crowded = False
        self.most_kept = 0.0
        self.aside: list[Nodes] | None = []
        self.many_aside = 0

    @property
    def least(self) -> float:
        """The smallest ratio that may still be the largest, up to rounding."""
        return max(self.floor * (1 - self.error), _SMALLEST)

    def begin(self) -> None:
        """Compare nearest neighbors, and pairs within leaves, where irregular rows have their largest ratios."""
        i, j, _ = self.tree.neighbors
        for start in range(0, len(i), _CHUNK):
            self.look(i[start : start + _CHUNK], j[start : start + _CHUNK])
        leaf, leaves = self.tree.leaf, 1 << self.tree.levels
        first, second = np.triu_indices(leaf, 1)
        step = max(1, _CHUNK // max(len(first), 1))
        some = (
            leaves if leaves * len(first) * self.numerator.rows <= 1 << 24 else max(step, leaves // self.numerator.rows)
        )
        for start in range(0, some, step):
            base = np.arange(start, min(start + step, leaves), dtype=np.int64)[:, None] * leaf
            self.look((base + first).ravel(), (base + second).ravel())

    def look(self, i: Ints, j: Ints) -> None:
        """Evaluate pairs of slots."""
        self.take(i, j, self.numerator.between(i, j), self.tree.between(i, j))

    def take(self, i: Ints, j: Ints, top: Floats, apart: Floats) -> None:
        """Keep the pairs whose ratio may be the largest."""
        e = self.tree.embedding
        rough = top / e.rough(apart)
        some = np.flatnonzero(rough >= self.least)  # false for 0 / 0
        if not len(some):
            return
        i, j, top, apart = i[some], j[some], top[some], apart[some]
        low = top / e.most(apart)
        best = float(low[low < np.inf].max(initial=0.0))
        self.found(best)
        high = rough[some] if not e.arc else top / e.least(apart)
        near = np.flatnonzero(high >= self.least)
        if len(near):
            self.kept.append((i[near], j[near], high[near]))
            self.size += len(near)
            if self.size > 4 * self.most:
                self.tidy()

    def found(self, ratio: float) -> None:
        """Note that a pair with this ratio is known."""
        self.floor = max(self.floor, ratio)

    def tidy(self) -> None:
        """Drop pairs that cannot be the largest, duplicates by key, and the smallest ratios if there are too many."""
        i, j, high = (np.concatenate([k[c] for k in self.kept]) for c in range(3))
        near = np.flatnonzero(high >= self.least)
        i, j, high = i[near], j[near], high[near]
        if self.keys is not None and len(i) > 64:
            first = np.unique(self.keys(self.tree.record(i), self.tree.record(j)), axis=0, return_index=True)[1]
            i, j, high = i[first], j[first], high[first]
        if len(i) > _KEPT:
            self.crowded = True
            self.most_kept = max(self.most_kept, float(high.max()) * (1 + self.error))
            top = np.argpartition(-high, _KEPT // 2)[: _KEPT // 2]
            i, j, high = i[top], j[top], high[top]
        self.kept, self.size = [(i, j, high)], len(i)

    def candidates(self) -> tuple[Ints, Ints]:
        """Return the pairs kept, as records."""
        if not self.kept:
            nothing = np.zeros(0, dtype=np.int64)
            return nothing, nothing
        self.tidy()
        i, j, _ = self.kept[0]
        return self.tree.record(i), self.tree.record(j)

    def put_aside(self) -> list[Nodes] | None:
        """Return the node pairs put aside that may still tie; None if there were too many."""
        if self.aside is None:
            return None
        out = []
        for level, a, b, upper in self.aside:
            some = upper >= self.least
            if some.any():
                out.append((level, a[some], b[some], upper[some]))
        return out

    def _survivors(self, nodes: Nodes, tie: float) -> Nodes:
        level, a, b, upper = nodes
        stay = upper > max(self.floor * (1 + tie), _SMALLEST)
        if stay.all():
            return nodes
        if tie > 0 and self.aside is not None:
            close = ~stay & (upper >= self.least)
            if close.any():
                self.many_aside += int(close.sum())
                self.aside.append((level, a[close], b[close], upper[close]))
                if self.many_aside > _ASIDE:
                    self.aside = self.put_aside()
                    self.many_aside = sum(len(x[1]) for x in self.aside or [])
                    if self.many_aside > _ASIDE // 2:
                        self.aside = None
        return level, a[stay], b[stay], upper[stay]

    def descend(self, stack: list[Nodes], *, tie: float, work: int) -> float:
        """Search all node pairs that may be above the floor; return a bound on those left if the work limit is hit.

        Return 0 if nothing is left.
        """
        tree, done = self.tree, 0
        per_leaf = tree.leaf * tree.leaf * self.numerator.rows
        while stack:
            nodes = self._survivors(stack.pop(), tie)
            level, a, b, upper = nodes
            if not len(a):
                continue
            if done > work or (tie < 0 and self.crowded):
                stack.append(nodes)
                return max(float(upper.max(initial=0.0)) for _, _, _, upper in stack)
            if len(a) > _CHUNK:  # the more promising half first
                order = np.argpartition(upper, len(upper) // 2)
                for part in (order[: len(order) // 2], order[len(order) // 2 :]):
                    stack.append((level, a[part], b[part], upper[part]))
                continue
            if level == tree.levels:
                most = max(1, (work - done) // per_leaf) if tie < 0 else len(a)
                if most < len(a):
                    stack.append((level, a[most:], b[most:], upper[most:]))
                    a, b, upper = a[:most], b[:most], upper[:most]
                done += len(a) * per_leaf + 1
                self._leaves(a, b, upper, tie)
                continue
            done += len(a) * 4 * self.numerator.rows
            stack.append(self._children(level + 1, a, b, tie))
        return 0.0

    def _leaves(self, a: Ints, b: Ints, upper: Floats, tie: float) -> None:
        """Compare all pairs of points of pairs of leaves, the most promising first."""
        leaf = self.tree.leaf
        order = np.argsort(-upper)
        step = max(1, _CHUNK // (leaf * leaf))
        slots = np.arange(leaf, dtype=np.int64)
        start, size = 0, max(1, step // 16)
        while start < len(order):
            some = order[start : start + size]
            if upper[some[0]] <= max(self.floor * (1 + tie), _SMALLEST):
                self._survivors((self.tree.levels, a[order[start:]], b[order[start:]], upper[order[start:]]), tie)
                return
            first, second = a[some], b[some]
            top, apart = self.numerator.across(first, second), self.tree.across(first, second)
            i = np.broadcast_to((first * leaf)[:, None, None] + slots[:, None], top.shape)
            j = np.broadcast_to((second * leaf)[:, None, None] + slots, top.shape)
            twins = first == second
            if twins.any():  # each pair once
                top[np.ix_(np.flatnonzero(twins), slots, slots)] *= np.triu(np.ones((leaf, leaf)), 1)
            rough = top / self.tree.embedding.rough(apart)
            near: Bools = rough >= self.least
            if near.any():
                self.take(i[near], j[near], top[near], apart[near])
            start, size = start + size, step

    def _children(self, level: int, a: Ints, b: Ints, tie: float) -> Nodes:
        """Return the pairs of children that may be above the floor."""
        own = a == b
        twins, first, second = 2 * a[own], 2 * a[~own], 2 * b[~own]
        na = np.concatenate([first, first, first + 1, first + 1, twins])
        nb = np.concatenate([second, second + 1, second, second + 1, twins + 1])
        pairs = self._rated(level, na, nb, tie)
        same = np.concatenate([twins, twins + 1])
        near = self.tree.near[level][same]
        upper = self.numerator.bound(level, same, same) / near
        upper = np.where(np.isnan(upper), 0.0, upper)
        alone = self._survivors((level, same, same, upper), tie)
        a, b = np.concatenate([pairs[1], alone[1]]), np.concatenate([pairs[2], alone[2]])
        return level, a, b, np.concatenate([pairs[3], alone[3]])

    def _rated(self, level: int, a: Ints, b: Ints, tie: float) -> Nodes:
        tree, e = self.tree, self.tree.embedding
        near = tree.near[level]
        d = np.maximum(e.rough(tree.gap(level, a, b)), np.maximum(near[a], near[b]))
        upper = self.numerator.bound(level, a, b) / d
        upper = np.where(np.isnan(upper), 0.0, upper)
        some = np.flatnonzero(upper > max(self.floor * (1 + tie), _SMALLEST))
        if not len(some):
            return self._survivors((level, a, b, upper), tie)
        ends = self.numerator.ends(level, a[some], b[some])
        if ends is not None:
            self.look(*ends)
        left = np.flatnonzero(upper > max(self.floor * (1 + tie), _SMALLEST))
        if len(left):
            reach = tree.reach(level, a[left], b[left]) if e.cap < math.inf else 0.0
            better = self.numerator.refined(level, a[left], b[left], d[left], e.stretch(reach), e.blur)
            if better is not None:
                better = np.where(np.isnan(better), np.inf, better)
                upper[left] = np.minimum(upper[left], better)
        return self._survivors((level, a, b, upper), tie)


class _Top(_Walk):
    """A search that keeps many pairs, and prunes below the last of them."""

    def __init__(self, tree: PointTree, numerator: Numerator, many: int, above: float) -> None:
        super().__init__(tree, numerator, None, above)
        self.many = many
        self.most = max(_KEPT, many)

    def found(self, ratio: float) -> None:
        """Do nothing: a single pair does not bound the others."""

    def tidy(self) -> None:
        """Keep each pair once, the largest first."""
        i, j, high = (np.concatenate([k[c] for k in self.kept]) for c in range(3))
        first, second = self.tree.slots[i], self.tree.slots[j]
        pair = np.minimum(first, second) * np.int64(len(self.tree.records)) + np.maximum(first, second)
        order = np.argsort(-high, kind="stable")
        order = order[np.sort(np.unique(pair[order], return_index=True)[1])][: self.many]
        i, j, high = i[order], j[order], high[order]
        if len(order) == self.many:
            self.floor = max(self.floor, float(high[-1]))
        self.kept, self.size = [(i, j, high)], len(i)
