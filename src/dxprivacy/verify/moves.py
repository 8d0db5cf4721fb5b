"""Moves along an attribute of many places: what its rows see of the points, and the largest ratio by a walk.

Pairs that a walk leaves over are decided in fractions, and `other` is compared with one point of each class.  Where
points fall into few classes and there are several contexts, the largest loss of every two classes over all contexts is
worked out first, and one walk tells the closest pairs.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from dxprivacy.errors import Undecided
from dxprivacy.verify.blocks import Block, Column, Table
from dxprivacy.verify.combined import Joined, Scaled, WithOther
from dxprivacy.verify.distances import Constant, Distance, Places
from dxprivacy.verify.loss import Loss, Tightest, ratio
from dxprivacy.verify.reading import Exact
from dxprivacy.verify.spaces import Clipped, Floats, Ints, Space, space
from dxprivacy.verify.walks import Classes, Feature, Labels, Lines, Summand, largest_ratio

_FEW_CLASSES = 300
_FEW_LOSSES = 2_000_000
_MOST_WALKED = 1 << 26  # points times contexts
_MOST_DENSE = 30_000_000
_MOST_TIES = 512
_EXACT_FLOATS = 1 << 52
_ROOM = Fraction(1, 1 << 40)


class Moves(Protocol):
    """Moves along one attribute."""

    loss: Loss
    metric: Distance
    axis: int
    touching: list[Block]
    classes: list[int]
    members: list[int]

    def contexts(self) -> Sequence[Sequence[int]] | None: ...

    def column(self, context: Sequence[int], value: int) -> Column: ...

    def cell(self, context: Sequence[int], value: int) -> int: ...


def _clipped(metric: Distance) -> Clipped | None:
    if isinstance(metric, Places):
        return Clipped(metric.rows, metric.p, metric.price)
    if isinstance(metric, Scaled):
        base = _clipped(metric.base)
        return None if base is None else base.scaled(float(metric.factor))
    if isinstance(metric, Joined) and metric.how in ("min", "max"):
        others = [p for p in metric.parts if not isinstance(p, Constant)]
        found = _clipped(others[0]) if len(others) == 1 else None
        for part in metric.parts if found is not None else ():
            if found is not None and isinstance(part, Constant):
                found = found.joined(metric.how, float(part.epsilon))
        return found
    return None


def space_of(metric: Distance) -> Space | None:
    """The places behind a distance; None where it is not made of places, or floats do not reach that far.

    With `other` at a radius r, the shortest ways over the base and over `other` make up the distance: the space is that
    of the base, and one value lies outside of it.
    """
    outside = 0
    if isinstance(metric, WithOther):
        if not metric.radius > 0:
            return None
        metric, outside = metric.base, 1
    found = _clipped(metric)
    return None if found is None else space(found, outside)


def walk(moves: Moves) -> Tightest | None:
    """The largest ratio along an attribute of places; None where it is not one, or its numbers are beyond floats."""
    points = space_of(moves.metric)
    contexts = moves.contexts() if points is not None else None
    if points is None or contexts is None:
        return None
    best = _Best(moves)
    few = len(moves.members) <= _FEW_CLASSES and len(moves.members) ** 2 * len(contexts) <= _FEW_LOSSES
    if few and len(contexts) > 1:
        return _by_classes(moves, points, contexts, best)
    if len(contexts) * points.size > _MOST_WALKED:
        raise Undecided("too many combinations of values to verify", where="certificate")
    sight = _Sight(moves, points)
    for context in contexts:
        seen = sight.seen(context)
        if seen is None:
            return None
        if isinstance(seen, tuple):
            best.look(context, *seen)
            return best.tightest() if best.high == math.inf else None
        for value in sight.outside:
            best.look(context, 0, value)
        if not seen:
            continue
        if points.outside:
            best.star(seen, context)
        found = largest_ratio(points, seen, best.floor)
        best.looked += found.looked
        best.open(found.ceiling)
        for u, v in zip(found.i.tolist(), found.j.tolist(), strict=True):
            best.look(context, u, v)
    return best.tightest()


def _by_classes(moves: Moves, space: Space, contexts: Sequence[Sequence[int]], best: "_Best") -> Tightest:
    """The largest loss of every two classes in any context, and the walk that finds who is close."""
    count, rows = len(moves.members), 4 * sum(block.rows for block in moves.touching)
    margin = max(2.0**-40, rows * 2.0**-48)
    most = np.zeros((count, count))
    where: dict[tuple[int, int], list[tuple[float, Sequence[int]]]] = {}
    for context in contexts:
        columns = [moves.column(context, value) for value in moves.members]
        for a in range(count):
            for b in range(a):
                loss = moves.loss.about(columns[a], columns[b])
                if loss > 0 and loss >= most[a, b] * (1 - margin):
                    where.setdefault((a, b), []).append((loss, context))
                    most[a, b] = most[b, a] = max(loss, most[a, b])
    classes = np.array(moves.classes, dtype=np.int64)

    def worst(u: int, v: int) -> Iterator[Sequence[int]]:
        a, b = max(moves.classes[u], moves.classes[v]), min(moves.classes[u], moves.classes[v])
        return (context for loss, context in where.get((a, b), ()) if loss >= most[a, b] * (1 - margin))

    inside = np.unique(classes[: space.size], return_index=True)
    exact = np.isinf(most[np.ix_(inside[0], inside[0])])
    if exact.any():
        u, v = (int(inside[1][x[0]]) for x in np.nonzero(exact))
        for context in worst(u, v):
            best.look(context, u, v)
        return best.tightest()
    for last in range(space.size, space.size + space.outside):
        for value in moves.members:
            for context in worst(value, last) if value != last else ():
                best.look(context, value, last)
    within = np.where(np.isinf(most), 0.0, most)  # these concern values outside only
    found = largest_ratio(space, [Summand([Classes(space, classes, within, rows)])], best.floor)
    best.looked += found.looked
    best.open(found.ceiling)
    for u, v in zip(found.i.tolist(), found.j.tolist(), strict=True):
        for context in worst(u, v):
            best.look(context, u, v)
    return best.tightest()


class _Best:
    """The largest ratio so far, in fractions."""

    def __init__(self, moves: Moves) -> None:
        self.moves, self.looked = moves, 0
        self.low: Exact = Fraction(0)
        self.high: Exact = Fraction(0)
        self.pair: tuple[int, int] | None = None

    @property
    def floor(self) -> float:
        """A float that is not above it."""
        return float(self.low) * (1 - 2.0**-50)

    def look(self, context: Sequence[int], u: int, v: int) -> None:
        """One pair of values."""
        loss = self.moves.loss.exact(self.moves.column(context, u), self.moves.column(context, v))
        low, high = ratio(loss, *self.moves.metric.between(u, v))
        self.high = max(self.high, high)
        if low > self.low:
            cells = self.moves.cell(context, u), self.moves.cell(context, v)
            self.low, self.pair = low, (min(cells), max(cells))

    def open(self, ceiling: float) -> None:
        """Nothing is above this."""
        if ceiling > 0:
            self.high = max(self.high, math.inf if math.isinf(ceiling) else Fraction(ceiling))

    def star(self, seen: Sequence[Summand], context: Sequence[int]) -> None:
        """One point of each class against `other`, all at one distance."""
        last = self.moves.metric.size - 1
        radius = self.moves.metric.between(0, last)[0]
        if radius == math.inf:
            return
        i = np.array([value for value in self.moves.members if value != last], dtype=np.int64)
        j = np.full(len(i), last, dtype=np.int64)
        loss = sum((_most([f.between(i, j) for f in s.features]) * s.times for s in seen), np.zeros(len(i)))
        top = float(loss.max(initial=0.0))
        rows = sum(f.rows for s in seen for f in s.features)
        error = (rows + 16) * 2.0**-51
        near = np.flatnonzero((loss >= top * (1 - error)) & (loss > 0))
        for value in i[near[:_MOST_TIES]].tolist():
            self.look(context, value, last)
        if len(near) > _MOST_TIES:
            self.high = max(self.high, Fraction(top) * (1 + Fraction(error)) / Fraction(radius))

    def tightest(self) -> Tightest:
        return Tightest(self.low, self.high, self.pair, self.looked, room=_ROOM)


def _most(parts: Sequence[Floats]) -> Floats:
    return np.asarray(np.max(np.stack(parts), axis=0))


@dataclass(frozen=True)
class _Counted:
    """A table's rows and amounts along the attribute; of several rows, each point counts in one."""

    rows: Ints
    amounts: Floats


class _Sight:
    """What the rows see of the points (and of `other`, behind them) in a context."""

    def __init__(self, moves: Moves, space: Space) -> None:
        self.moves, self.space = moves, space
        self.weights = np.array(moves.loss.weights)
        self._tables: dict[int, tuple[Ints, Any, int] | None] = {}
        self.outside: set[int] = set()  # values behind the points that an exact row tells from all of these

    def seen(self, context: Sequence[int]) -> "list[Summand] | tuple[int, int] | None":
        """The summands of the loss; or two points that an exact row tells apart; or None: beyond floats."""
        loss, out = self.moves.loss, list[Summand]()
        self.outside = set()
        for blocks in loss.summands(self.moves.touching):
            times = loss.chosen(blocks[0])
            features: list[Feature] = []
            for block in blocks:
                found = self._block(block, context, largest=bool(times))
                if found is None or isinstance(found, tuple):
                    return found
                features += found
            if features:
                out.append(Summand(features, float(times or 1)))
        return out

    def _block(
        self, block: Block, context: Sequence[int], *, largest: bool
    ) -> "list[Feature] | tuple[int, int] | None":
        if isinstance(block, Table):
            counted = self._counted(block, context)
            if counted is None:
                return None
            used = np.unique(counted.rows[counted.amounts != 0])
            if len(used) > 1:
                return self._labels(counted, largest=largest)
            rows = used
            values = counted.amounts[None, :] if len(used) else np.zeros((0, len(counted.amounts)))
        else:
            dense = self._dense(block, context)
            if dense is None:
                return None
            rows, values = dense
        return self._lines(rows, values, largest=largest)

    def _labels(self, counted: _Counted, *, largest: bool) -> "list[Feature] | tuple[int, int] | None":
        counts = counted.amounts != 0
        labels = np.where(counts, counted.rows, -1)
        weights = np.where(counts, self.weights[counted.rows], 0.0)
        exact = np.isinf(weights)
        for one in np.flatnonzero(exact)[:1].tolist():
            apart = np.flatnonzero((labels != labels[one]) | (counted.amounts != counted.amounts[one]))
            inside = apart[apart < self.space.size]
            if one < self.space.size and len(inside):
                return one, int(inside[0])
            self.outside |= {int(value) for value in (one, *apart.tolist()) if value >= self.space.size}
            if one < self.space.size:  # all points count alike
                return []
            weights = np.where(exact, 0.0, weights)
        return [Labels(self.space, labels, counted.amounts, weights, largest=largest)]

    def _lines(self, rows: Ints, values: Floats, *, largest: bool) -> "list[Feature] | tuple[int, int]":
        vary = (values != values[:, :1]).any(axis=1)
        rows, values = rows[vary], values[vary]
        weights = self.weights[rows]
        exact = np.isinf(weights)
        for line in values[exact]:
            apart = np.flatnonzero(line != line[0])
            if apart[0] < self.space.size:
                return 0, int(apart[0])
            self.outside |= set(apart.tolist())
        rows, values, weights = rows[~exact], values[~exact], weights[~exact]
        return [Lines(self.space, values, weights, largest=largest)] if len(rows) else []

    def _counted(self, block: Table, context: Sequence[int]) -> _Counted | None:
        axis = self.moves.axis
        if block.first not in self._tables:
            most = max(map(abs, block.weights[axis]))
            groups = np.array(block.groups[axis], dtype=np.int64)
            amounts = np.array(block.weights[axis], dtype=np.float64) if most < _EXACT_FLOATS else None
            self._tables[block.first] = None if amounts is None else (groups, amounts, most)
        found = self._tables[block.first]
        if found is None:
            return None
        groups, amounts, most = found
        amount, row = 1, block.first
        for other in block.axes:
            if other != axis:
                amount *= block.weights[other][context[other]]
                row += block.groups[other][context[other]] * block.strides[other]
        if abs(amount) * most >= _EXACT_FLOATS:
            return None
        rows = np.where((groups >= 0) & (amount != 0), row + groups * block.strides[axis], 0)
        return _Counted(rows, np.where(groups >= 0, amounts * amount, 0.0))

    def _dense(self, block: Block, context: Sequence[int]) -> tuple[Ints, Floats] | None:
        """Entry by entry."""
        size = self.moves.metric.size
        if block.rows * size > _MOST_DENSE:
            return None
        record, values = list(context), np.zeros((block.rows, size))
        for value in range(size):
            record[self.moves.axis] = value
            for row, x in block.column(record).items():
                if abs(x) >= _EXACT_FLOATS:
                    return None
                values[row - block.first, value] = x
        return np.arange(block.first, block.first + block.rows), values
