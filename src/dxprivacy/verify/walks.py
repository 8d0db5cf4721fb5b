"""The largest loss / distance over all pairs of places, without looking at all of them (docs/formats.md, section 9).

Pairs of nodes of a tree are halved from the root on.  One whose bound is below a ratio that was found is left out.  All
bounds are floats moved outwards: a loss of R rows is off by at most R + 8 roundings, distances as `spaces` says.  So
the pairs that come back contain one with the largest ratio, or `ceiling` is not below it.

A bound within 2^-42 above what was found is put aside first: a linear row along a line ties everywhere.  What was put
aside is looked at in the end, as far as it is little; the rest makes the ceiling.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dxprivacy.errors import Undecided
from dxprivacy.verify.spaces import Floats, Ints, Space

_TIE = 2.0**-42
_CHUNK = 1 << 17  # pairs at a time
_KEPT = 1 << 10  # pairs to be decided in fractions
_ASIDE = 1 << 17
_WORK_ASIDE = 1 << 22
_MOST_WORK = 1 << 32
_SMALLEST = 1e-250


class Feature(Protocol):
    """What some rows see of the points."""

    rows: int

    def between(self, i: Ints, j: Ints) -> Floats:
        """The loss of pairs of records."""

    def bound(self, level: int, a: Ints, b: Ints) -> Floats:
        """Not less than the loss of any point of one node and any of another, but for roundings."""

    def placed(self, a: Ints, b: Ints) -> Floats:
        """The loss of each two points of two leaves."""


class Lines:
    """Rows that may differ everywhere: the sum over rows of |difference| * weight, or of a selection the largest."""

    def __init__(self, space: Space, values: Floats, weights: Floats, *, largest: bool) -> None:
        self.space, self.values, self.weights, self.rows = space, values, weights, len(values)
        self._join = np.max if largest else np.sum
        self._placed = values[:, space.slots]
        self._ranges = [
            (nodes.min(axis=2), nodes.max(axis=2))
            for level in range(space.levels + 1)
            for nodes in [self._placed.reshape(len(values), 1 << level, -1)]
        ]

    def between(self, i: Ints, j: Ints) -> Floats:
        apart = np.abs(self.values[:, i] - self.values[:, j])
        return np.asarray(self._join(apart * self.weights[:, None], axis=0))

    def bound(self, level: int, a: Ints, b: Ints) -> Floats:
        low, high = self._ranges[level]
        apart = np.maximum(high[:, a] - low[:, b], high[:, b] - low[:, a])
        return np.asarray(self._join(apart * self.weights[:, None], axis=0))

    def placed(self, a: Ints, b: Ints) -> Floats:
        leaves = self._placed.reshape(self.rows, -1, self.space.leaf)
        apart = np.abs(leaves[:, a][:, :, :, None] - leaves[:, b][:, :, None, :])
        return np.asarray(self._join(apart * self.weights[:, None, None, None], axis=0))


class Labels:
    """A table: each point counts in one row at most (`labels`, -1 for none), with a value and its row's weight."""

    def __init__(self, space: Space, labels: Ints, values: Floats, weights: Floats, *, largest: bool) -> None:
        self.space, self.labels, self.values, self.weights, self.rows = space, labels, values, weights, 2
        self._join = np.maximum if largest else np.add
        self._shown = np.abs(values) * weights
        # of a selection the larger one counts, but in one row numbers of two signs are as far apart as their sum
        self._most = np.maximum if largest and (values.min() >= 0 or values.max() <= 0) else np.add
        self._leaves = [x[space.slots].reshape(-1, space.leaf) for x in (labels, values, weights, self._shown)]
        self._levels = []
        for level in range(space.levels + 1):
            label, value, weight, shown = (x.reshape(1 << level, -1) for x in self._leaves)
            first = np.where(label.min(axis=1) == label.max(axis=1), label[:, 0], -2)
            self._levels.append((first, value.min(axis=1), value.max(axis=1), weight[:, 0], shown.max(axis=1)))

    def between(self, i: Ints, j: Ints) -> Floats:
        same = self.labels[i] == self.labels[j]
        inside = np.abs(self.values[i] - self.values[j]) * self.weights[i]
        return np.where(same, inside, self._join(self._shown[i], self._shown[j]))

    def bound(self, level: int, a: Ints, b: Ints) -> Floats:
        """Nodes of one and the same label have its range, others at most what both show."""
        label, low, high, weight, shown = self._levels[level]
        same = (label[a] == label[b]) & (label[a] != -2)
        inside = np.maximum(high[a] - low[b], high[b] - low[a]) * weight[a]
        return np.asarray(np.where(same, inside, self._most(shown[a], shown[b])))

    def placed(self, a: Ints, b: Ints) -> Floats:
        label, value, weight, shown = self._leaves
        same = label[a][:, :, None] == label[b][:, None, :]
        inside = np.abs(value[a][:, :, None] - value[b][:, None, :]) * weight[a][:, :, None]
        return np.where(same, inside, self._join(shown[a][:, :, None], shown[b][:, None, :]))


class Classes:
    """Points of few classes, and the loss between every two of these."""

    def __init__(self, space: Space, classes: Ints, losses: Floats, rows: int) -> None:
        self.classes, self.losses, self.rows = classes, losses, rows
        self._most, self._top = losses.max(axis=1), float(losses.max())
        self._leaves = classes[space.slots].reshape(-1, space.leaf)
        self._single = []
        for level in range(space.levels + 1):
            inside = self._leaves.reshape(1 << level, -1)
            self._single.append(np.where(inside.min(axis=1) == inside.max(axis=1), inside[:, 0], -1))

    def between(self, i: Ints, j: Ints) -> Floats:
        return np.asarray(self.losses[self.classes[i], self.classes[j]])

    def bound(self, level: int, a: Ints, b: Ints) -> Floats:
        one, two = self._single[level][a], self._single[level][b]
        most = [np.where(x >= 0, self._most[x], self._top) for x in (one, two)]
        return np.where((one >= 0) & (two >= 0), self.losses[one, two], np.minimum(*most))

    def placed(self, a: Ints, b: Ints) -> Floats:
        return np.asarray(self.losses[self._leaves[a][:, :, None], self._leaves[b][:, None, :]])


@dataclass(frozen=True)
class Summand:
    """Features of which the largest counts, so often; losses of summands add up."""

    features: Sequence[Feature]
    times: float = 1.0


@dataclass(frozen=True)
class Found:
    """Pairs of records that may have the largest ratio; `ceiling` bounds what they leave open (0: nothing).

    `floor`: one pair's ratio is certainly not below it.
    """

    i: Ints
    j: Ints
    floor: float
    ceiling: float
    looked: int


def largest_ratio(space: Space, summands: Sequence[Summand], above: float = 0.0) -> Found:
    """Where the largest ratio may be, if it is not below `above`."""
    walk = _Walk(space, summands, above)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        walk.inside_leaves()
        root = np.zeros(1, dtype=np.int64)
        walk.descend(0, root, root, np.full(1, np.inf))
        walk.again()
    return walk.found()


Nodes = tuple[int, Ints, Ints, Floats]


class _Walk:
    def __init__(self, space: Space, summands: Sequence[Summand], floor: float) -> None:
        self.space, self.summands, self.floor = space, summands, floor
        self.error = (sum(f.rows for s in summands for f in s.features) + 8 * len(summands) + 8) * 2.0**-52
        self.tie, self.ceiling, self.looked, self.limit = _TIE, 0.0, 0, _MOST_WORK
        self.aside: list[Nodes] = []
        self.many_aside = 0
        self.kept: list[tuple[Ints, Ints, Floats]] = []
        self.size = 0

    def _sum(self, each: Sequence[Sequence[Floats]]) -> Floats:
        total = None
        for summand, parts in zip(self.summands, each, strict=True):
            most = parts[0]
            for part in parts[1:]:
                most = np.maximum(most, part)
            most = most if summand.times == 1 else most * summand.times
            total = most if total is None else total + most
        return np.zeros(0) if total is None else total

    def _ratio(self, loss: Floats, apart: Floats) -> Floats:
        """Loss over distance; nothing where there is no loss, also over no distance."""
        return np.where(loss > 0, np.maximum(loss * (1 + self.error) / apart, _SMALLEST), 0.0)

    def take(self, i: Ints, j: Ints) -> None:
        """Look at pairs of records closely."""
        loss = self._sum([[f.between(i, j) for f in s.features] for s in self.summands])
        low, high = self.space.between(i, j)
        least = np.where(loss > 0, loss * (1 - self.error) / high, 0.0)
        most = self._ratio(loss, low)
        self.floor = max(self.floor, float(least.max(initial=0.0)))
        near = np.flatnonzero((most >= self.floor) & (most > 0))
        if len(near):
            self.kept.append((i[near], j[near], most[near]))
            self.size += len(near)
            if self.size > 16 * _KEPT:
                self.tidy()

    def tidy(self) -> None:
        """Forget what cannot be the largest; of too many the most promising stay, and the others make a ceiling."""
        i, j, most = (np.concatenate([k[c] for k in self.kept]) for c in range(3))
        near = np.flatnonzero(most >= self.floor)
        codes = np.minimum(i, j)[near] * self.space.size + np.maximum(i, j)[near]
        near = near[np.unique(codes, return_index=True)[1]]
        if len(near) > _KEPT:
            near = near[np.argsort(-most[near], kind="stable")]
            self.ceiling = max(self.ceiling, float(most[near[_KEPT]]))
            near = near[:_KEPT]
        self.kept, self.size = [(i[near], j[near], most[near])], len(near)

    def inside_leaves(self) -> None:
        """Where rows are rough, neighbors have the largest ratios."""
        leaves = np.arange(1 << self.space.levels, dtype=np.int64)
        self.leaves(leaves, leaves, np.full(len(leaves), np.inf))

    def leaves(self, a: Ints, b: Ints, upper: Floats) -> None:
        """All pairs of points of two leaves."""
        leaf = self.space.leaf
        step = max(1, _CHUNK // (leaf * leaf))
        slots = self.space.slots.reshape(-1, leaf)
        order = np.argsort(-upper, kind="stable")
        for start in range(0, len(order), step):
            some = order[start : start + step]
            beyond = upper[some] > self.floor * (1 + self.tie)
            if not beyond.all():  # nor are those that follow
                rest = order[start + int(beyond.sum()) :]
                self.put_aside((self.space.levels, a[rest], b[rest], upper[rest]))
                some, order = some[beyond], order[:start]
            if not len(some):
                return
            first, second = a[some], b[some]
            self.looked += len(some) * leaf * leaf
            loss = self._sum([[f.placed(first, second) for f in s.features] for s in self.summands])
            rough = self._ratio(loss, self.space.across(first, second))
            node, one, two = np.nonzero((rough >= self.floor) & (rough > 0))
            if not len(node):
                continue
            best = np.argsort(-rough[node, one, two], kind="stable")
            i, j = slots[first[node], one][best], slots[second[node], two][best]
            top = rough[node, one, two][best]
            part = 64
            while len(i):  # the most promising first: these raise the floor
                self.take(i[:part], j[:part])
                i, j, top, part = i[part:], j[part:], top[part:], _CHUNK
                left = top >= self.floor
                i, j, top = i[left], j[left], top[left]

    def put_aside(self, nodes: Nodes) -> None:
        """What may tie; where it is too much, a ceiling."""
        level, a, b, upper = nodes
        close = upper >= self.floor
        if self.floor <= 0 or not close.any():
            return
        if self.many_aside > _ASIDE or self.tie == 0:
            self.ceiling = max(self.ceiling, float(upper[close].max()))
            return
        self.aside.append((level, a[close], b[close], upper[close]))
        self.many_aside += int(close.sum())

    def descend(self, level: int, a: Ints, b: Ints, upper: Floats) -> None:
        """Halve pairs of nodes that may hold a larger ratio, the most promising first."""
        stay = upper > self.floor * (1 + self.tie)
        if not stay.all():
            self.put_aside((level, a[~stay], b[~stay], upper[~stay]))
            a, b, upper = a[stay], b[stay], upper[stay]
        if not len(a):
            return
        if self.looked > self.limit:
            if self.limit == _MOST_WORK:
                raise Undecided("too many pairs of places may be the largest ratio", where="certificate")
            self.ceiling = max(self.ceiling, float(upper.max()))
            return
        if level == self.space.levels:
            self.leaves(a, b, upper)
            return
        if len(a) > _CHUNK:
            order = np.argsort(-upper, kind="stable")
            for start in range(0, len(order), _CHUNK):
                part = order[start : start + _CHUNK]
                self.descend(level, a[part], b[part], upper[part])
            return
        self.looked += 4 * len(a)
        own = a == b
        twin, first, second = 2 * a[own], 2 * a[~own], 2 * b[~own]
        na = np.concatenate([twin, twin, twin + 1, first, first, first + 1, first + 1])
        nb = np.concatenate([twin, twin + 1, twin + 1, second, second + 1, second, second + 1])
        if level + 1 == self.space.levels:  # a leaf by itself was looked at first
            apart = na != nb
            na, nb = na[apart], nb[apart]
        loss = self._sum([[f.bound(level + 1, na, nb) for f in s.features] for s in self.summands])
        self.descend(level + 1, na, nb, self._ratio(loss, self.space.gap(level + 1, na, nb)))

    def again(self) -> None:
        """What was put aside, while it is little."""
        self.limit, self.tie = self.looked + _WORK_ASIDE, 0.0
        for level, a, b, upper in self.aside:
            near = upper >= self.floor
            if near.any():
                self.descend(level, a[near], b[near], upper[near])

    def found(self) -> Found:
        """The pairs, and what they leave open."""
        if self.kept:
            self.tidy()
        i, j, _ = self.kept[0] if self.kept else (np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
        ceiling = self.ceiling if self.ceiling >= self.floor else 0.0
        return Found(i, j, self.floor, ceiling, self.looked)


def farthest(space: Space) -> float:
    """Not below the largest distance, and at most 2^-21 of it above."""
    best, top = 0.0, 0.0
    root = np.zeros(1, dtype=np.int64)
    stack: list[Nodes] = [(0, root, root, np.full(1, np.inf))]
    slots = space.slots.reshape(-1, space.leaf)
    while stack:
        level, a, b, upper = stack.pop()
        stay = upper > best * (1 + 2.0**-22)
        top = max(top, float(upper[~stay].max(initial=0.0)))
        a, b, upper = a[stay], b[stay], upper[stay]
        if not len(a):
            continue
        if len(a) > _CHUNK >> 6:
            order = np.argsort(upper, kind="stable")
            half = len(a) // 2
            stack += [(level, a[part], b[part], upper[part]) for part in (order[:half], order[half:])]
            continue
        if level == space.levels:
            shape = (len(a), space.leaf, space.leaf)
            i = np.broadcast_to(slots[a][:, :, None], shape).ravel()
            j = np.broadcast_to(slots[b][:, None, :], shape).ravel()
            other = i != j
            low, high = space.between(i[other], j[other])
            best, top = max(best, float(low.max(initial=0.0))), max(top, float(high.max(initial=0.0)))
            continue
        low, _ = space.between(slots.reshape(1 << level, -1)[a, 0], slots.reshape(1 << level, -1)[b, -1])
        best = max(best, float(low.max()))
        first, second = 2 * a, 2 * b
        na, nb = np.concatenate([first, first, first + 1, first + 1]), np.concatenate([second, second + 1] * 2)
        each = na <= nb
        na, nb = na[each], nb[each]
        stack.append((level + 1, na, nb, space.reach(level + 1, na, nb)))
    return top
