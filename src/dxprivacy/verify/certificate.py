"""The certificate, recomputed: the largest loss / distance over all pairs (docs/formats.md, sections 7 and 9).

Directions.  If distances add up over attributes, pairs that differ in one attribute suffice, in every context of the
others; otherwise a record moves to any other.  Along a direction, values that no row tells apart are one class; of two
classes only their closest pair matters, and of the contexts the one with the largest loss.  Floats find the few pairs
that may be the largest; fractions decide among them.

Where there are too many contexts, each block takes its own worst one: a sound upper bound.  Where even pairs are too
many, nothing is claimed: `Undecided`.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from dxprivacy.errors import Undecided
from dxprivacy.verify.blocks import Block, Column
from dxprivacy.verify.distances import Constant, Distance
from dxprivacy.verify.reading import Exact, refuse
from dxprivacy.verify.universe import Universe

MOST_PAIRS = 20_000_000
_MOST_COLUMNS = 2_500
_MARGIN = 2.0**-17  # well above the errors of both floats


@dataclass(frozen=True)
class Tightest:
    """The largest ratio lies between `low` and `high`; `pair` attains it.  `exact` is False for an upper bound only."""

    low: Exact
    high: Exact
    pair: tuple[int, int] | None
    pairs: int
    exact: bool = True


class Loss:
    """L(i, j) = sum over rows of |difference| / scale; scales are float64 numbers, taken exactly."""

    def __init__(self, universe: Universe, blocks: Sequence[Block], scales: Sequence[float]) -> None:
        self.universe, self.blocks, self.scales = universe, blocks, scales
        self.weights = [1.0 / s if s else math.inf for s in scales]
        self._exact: dict[frozenset[tuple[float, int]], Exact] = {}

    def uniform(self, block: Block) -> bool:
        """Whether all rows of a block have one scale."""
        return len(set(self.scales[block.first : block.first + block.rows])) == 1

    def column(self, values: Sequence[int], blocks: Iterable[Block]) -> Column:
        """Where a record counts, over several blocks."""
        out: Column = {}
        for block in blocks:
            out.update(block.column(values))
        return out

    def about(self, a: Column, b: Column) -> float:
        """The loss between two columns; relative error below rows * 2^-50."""
        w, total = self.weights, 0.0
        for row, x in a.items():
            y = b.get(row, 0)
            if x != y:
                total += abs(x - y) * w[row]
        for row, y in b.items():
            if row not in a:
                total += abs(y) * w[row]
        return total

    def exact(self, a: Column, b: Column) -> Exact:
        """The loss between two columns, as a fraction."""
        by_scale: dict[float, int] = {}
        for row in {**a, **b}:
            apart = abs(a.get(row, 0) - b.get(row, 0))
            if apart:
                by_scale[self.scales[row]] = by_scale.get(self.scales[row], 0) + apart
        key = frozenset(by_scale.items())
        if key not in self._exact:
            infinite = 0.0 in by_scale
            parts = (Fraction(n) / Fraction(s) for s, n in by_scale.items() if s)
            self._exact[key] = math.inf if infinite else sum(parts, Fraction(0))
        return self._exact[key]

    def of_cells(self, i: int, j: int) -> Exact:
        """The loss of two cells."""
        values = self.universe.values
        return self.exact(self.column(values(i), self.blocks), self.column(values(j), self.blocks))


def ratio_of(loss: Loss, metric: Distance, i: int, j: int) -> tuple[Exact, Exact]:
    """Loss / distance of one pair, between two numbers."""
    return _ratio(loss.of_cells(i, j), *metric.between(i, j))


def _ratio(loss: Exact, low: Exact, high: Exact) -> tuple[Exact, Exact]:
    if low == math.inf or loss == 0:
        return Fraction(0), Fraction(0)
    if loss == math.inf or high == 0:
        return math.inf, math.inf
    return Fraction(loss) / Fraction(high), Fraction(loss) / Fraction(low)


def tightest(loss: Loss, metric: Distance) -> Tightest:
    """The largest ratio over all pairs."""
    if metric.size != loss.universe.size:
        raise refuse("is not over the cells of the universe", "metric")
    if isinstance(metric, Constant):
        return _constant(loss, metric)
    best = Tightest(Fraction(0), Fraction(0), None, 0)
    for direction in _directions(loss, metric):
        best = _larger(best, direction.search())
    return best


def _larger(a: Tightest, b: Tightest) -> Tightest:
    low, high = max(a.low, b.low), max(a.high, b.high)
    return Tightest(low, high, b.pair if b.low > a.low else a.pair, a.pairs + b.pairs, a.exact and b.exact)


def _directions(loss: Loss, metric: Distance) -> "Iterator[_Direction]":
    universe = loss.universe
    axes = [metric] if len(universe.shape) == 1 else metric.axes
    if axes is None or [axis.size for axis in axes] != universe.shape:
        yield _Anywhere(loss, metric, range(universe.size))
        return
    for axis, along in enumerate(axes):
        yield _Along(loss, along, axis)


class _Direction:
    """Moves between values 0, 1, … with a class each; `columns` gives the classes' columns, context by context."""

    def __init__(self, loss: Loss, metric: Distance, size: int) -> None:
        self.loss, self.metric, self.size = loss, metric, size
        self.classes: list[int] = []
        self.members: list[int] = []  # one value of each class

    def number(self, keys: Iterable[object]) -> None:
        """Number the classes."""
        seen: dict[object, int] = {}
        for value, key in enumerate(keys):
            if key not in seen:
                seen[key] = len(seen)
                self.members.append(value)
            self.classes.append(seen[key])

    def contexts(self) -> Sequence[Sequence[int]] | None:
        """Records to start from; None if they are too many."""
        raise NotImplementedError

    def column(self, context: Sequence[int], value: int) -> Column:
        """Where the record with this value in this context counts."""
        raise NotImplementedError

    def cell(self, context: Sequence[int], value: int) -> int:
        """That record's cell."""
        raise NotImplementedError

    def bound(self, near: "dict[tuple[int, int], _Near]") -> Tightest:
        """An upper bound where there are too many contexts."""
        raise NotImplementedError

    def nearest(self) -> "dict[tuple[int, int], _Near]":
        """For each two classes the closest pairs."""
        if self.metric.pair_count(self.classes) > MOST_PAIRS:
            raise Undecided("too many pairs of records to verify", where="certificate")
        near: dict[tuple[int, int], _Near] = {}
        classes, about = self.classes, self.metric.about
        for u, v in self.metric.pairs(classes):
            a, b = classes[u], classes[v]
            if a == b:
                continue
            d = about(u, v)
            if d == math.inf:
                continue
            key = (a, b) if a < b else (b, a)
            known = near.get(key)
            if known is None:
                near[key] = _Near(d, [(u, v, d)])
            elif d <= known.about * (1 + _MARGIN):
                known.add(u, v, d)
        return near

    def search(self) -> Tightest:
        """The largest ratio along this direction."""
        if len(self.members) < 2:
            return Tightest(Fraction(0), Fraction(0), None, 0)
        near = self.nearest()
        if not near:
            return Tightest(Fraction(0), Fraction(0), None, 0)
        contexts = self.contexts()
        if contexts is None or len(near) * len(contexts) > MOST_PAIRS:
            return self.bound(near)
        most: dict[tuple[int, int], float] = dict.fromkeys(near, 0.0)
        for context in contexts:
            columns = [self.column(context, value) for value in self.members]
            for key in near:
                loss = self.loss.about(columns[key[0]], columns[key[1]])
                if loss > most[key]:
                    most[key] = loss
        ratios = {key: _quotient(most[key], near[key].about) for key in near if most[key] > 0}
        looked = len(near) * len(contexts)
        if not ratios:
            return Tightest(Fraction(0), Fraction(0), None, looked)
        limit = max(ratios.values()) * (1 - _MARGIN)
        keep = [key for key, r in ratios.items() if r >= limit or r == math.inf]
        return self.decide(keep, near, most, contexts, looked)

    def decide(
        self,
        keep: Sequence[tuple[int, int]],
        near: "dict[tuple[int, int], _Near]",
        most: dict[tuple[int, int], float],
        contexts: Sequence[Sequence[int]],
        looked: int,
    ) -> Tightest:
        """Among the pairs that may be the largest, in fractions."""
        low: Exact = Fraction(-1)
        high: Exact = Fraction(-1)
        pair = (0, 0)
        worst: dict[tuple[int, int], tuple[Exact, Sequence[int]]] = {}
        for context in contexts:
            columns: dict[int, Column] = {}
            for key in keep:
                for c in key:
                    if c not in columns:
                        columns[c] = self.column(context, self.members[c])
                a, b = columns[key[0]], columns[key[1]]
                if self.loss.about(a, b) >= most[key] * (1 - _MARGIN):
                    exact = self.loss.exact(a, b)
                    if key not in worst or exact > worst[key][0]:
                        worst[key] = exact, context
        for key in keep:
            loss, context = worst[key]
            for u, v, _ in near[key].pairs:
                bounds = _ratio(loss, *self.metric.between(u, v))
                if bounds[0] > low:
                    low, pair = bounds[0], (self.cell(context, u), self.cell(context, v))
                high = max(high, bounds[1])
        return Tightest(low, high, (min(pair), max(pair)), looked)


class _Near:
    """The closest pairs of two classes, up to the margin."""

    __slots__ = ("about", "pairs")

    def __init__(self, about: float, pairs: list[tuple[int, int, float]]) -> None:
        self.about, self.pairs = about, pairs

    def add(self, u: int, v: int, d: float) -> None:
        if d < self.about:
            self.about = d
            self.pairs = [p for p in self.pairs if p[2] <= d * (1 + _MARGIN)]
        self.pairs.append((u, v, d))


def _quotient(loss: float, d: float) -> float:
    return math.inf if not d or math.isinf(loss) else loss / d


class _Along(_Direction):
    """Moves along one attribute."""

    def __init__(self, loss: Loss, metric: Distance, axis: int) -> None:
        super().__init__(loss, metric, metric.size)
        self.axis = axis
        self.touching = [b for b in loss.blocks if axis in b.axes]
        self.number(tuple(b.moving(axis, v) for b in self.touching) for v in range(metric.size))

    def contexts(self) -> Sequence[Sequence[int]] | None:
        """Every combination of values that can change the loss of a move."""
        return self._contexts_of(self.touching)

    def _contexts_of(self, blocks: Sequence[Block]) -> Sequence[Sequence[int]] | None:
        choices: list[list[int]] = []
        for axis, size in enumerate(self.loss.universe.shape):
            concerned = [(b, self.loss.uniform(b)) for b in blocks if axis in b.axes and axis != self.axis]
            if not concerned:
                choices.append([0])
                continue
            seen: dict[object, int] = {}
            for value in range(size):
                seen.setdefault(tuple(b.context(axis, value, uniform) for b, uniform in concerned), value)
            choices.append(list(seen.values()))
        if math.prod(map(len, choices)) > MOST_PAIRS:
            return None
        return list(product(*choices))

    def _record(self, context: Sequence[int], value: int) -> list[int]:
        return [value if axis == self.axis else c for axis, c in enumerate(context)]

    def column(self, context: Sequence[int], value: int) -> Column:
        """Of the blocks that this attribute concerns."""
        return self.loss.column(self._record(context, value), self.touching)

    def cell(self, context: Sequence[int], value: int) -> int:
        """Of the whole universe."""
        return self.loss.universe.cell(self._record(context, value))

    def bound(self, near: dict[tuple[int, int], _Near]) -> Tightest:
        """The sum of the blocks' largest losses, each in its own worst context."""
        worst: list[dict[tuple[int, int], float]] = []
        places: list[Sequence[Sequence[int]]] = []
        for block in self.touching:
            contexts = self._contexts_of([block])
            if contexts is None or len(near) * len(contexts) > MOST_PAIRS:
                raise Undecided("too many combinations of values to verify", where="certificate")
            most: dict[tuple[int, int], float] = dict.fromkeys(near, 0.0)
            for context in contexts:
                columns = [block.column(self._record(context, value)) for value in self.members]
                for key in near:
                    most[key] = max(most[key], self.loss.about(columns[key[0]], columns[key[1]]))
            worst.append(most)
            places.append(contexts)
        ratios = {key: _quotient(math.fsum(most[key] for most in worst), near[key].about) for key in near}
        limit = max(ratios.values()) * (1 - _MARGIN)
        high: Exact = Fraction(0)
        for key in (key for key, r in ratios.items() if r > 0 and r >= limit):
            parts = zip(self.touching, worst, places, strict=True)
            total = sum((self._largest(b, key, most[key], contexts) for b, most, contexts in parts), Fraction(0))
            for u, v, _ in near[key].pairs:
                high = max(high, _ratio(total, *self.metric.between(u, v))[1])
        return Tightest(Fraction(0), high, None, sum(len(near) * len(c) for c in places), False)

    def _largest(self, block: Block, key: tuple[int, int], most: float, contexts: Sequence[Sequence[int]]) -> Exact:
        """One block's largest loss between two classes, as a fraction."""
        best: Exact = Fraction(0)
        for context in contexts:
            a, b = (block.column(self._record(context, self.members[c])) for c in key)
            if self.loss.about(a, b) >= most * (1 - _MARGIN):
                best = max(best, self.loss.exact(a, b))
        return best


class _Anywhere(_Direction):
    """Moves from any of some cells to any other."""

    def __init__(self, loss: Loss, metric: Distance, cells: Sequence[int]) -> None:
        super().__init__(loss, metric, len(cells))
        self.cells = cells
        if metric.pair_count(range(len(cells))) > MOST_PAIRS:
            raise Undecided("too many pairs of records to verify", where="certificate")
        self._columns: list[Column] = [loss.column(loss.universe.values(cell), loss.blocks) for cell in cells]
        self.number(frozenset(column.items()) for column in self._columns)

    def contexts(self) -> Sequence[Sequence[int]]:
        """None besides the cell itself."""
        return [()]

    def column(self, context: Sequence[int], value: int) -> Column:  # noqa: ARG002
        """Of the cell."""
        return self._columns[value]

    def cell(self, context: Sequence[int], value: int) -> int:  # noqa: ARG002
        """The cell."""
        return self.cells[value]

    def bound(self, near: dict[tuple[int, int], _Near]) -> Tightest:
        """There is none."""
        raise Undecided(f"{len(near):,} pairs of records are too many to verify", where="certificate")


def _constant(loss: Loss, metric: Constant) -> Tightest:
    """One distance for all: one cell of each different column; the sum of the blocks' reaches if these are too many."""
    if metric.epsilon == math.inf or metric.size < 2:
        return Tightest(Fraction(0), Fraction(0), None, 0)
    choices: list[list[int]] = []
    for axis, size in enumerate(loss.universe.shape):
        blocks = [b for b in loss.blocks if axis in b.axes]
        seen: dict[object, int] = {}
        for value in range(size if blocks else 1):
            seen.setdefault(tuple(b.moving(axis, value) for b in blocks), value)
        choices.append(list(seen.values()))
    if math.prod(map(len, choices)) <= _MOST_COLUMNS:
        cells = [loss.universe.cell(values) for values in product(*choices)]
        return _Anywhere(loss, Constant(len(cells), metric.epsilon), cells).search()
    reach = sum(block.reach(loss.weights) for block in loss.blocks)
    if not reach:
        return Tightest(Fraction(0), Fraction(0), None, 0)
    if math.isinf(reach) or metric.epsilon == 0:
        return Tightest(Fraction(0), math.inf, None, 0, False)
    rounding = 1 + Fraction(len(loss.scales) + 16, 1 << 52)  # one per row, and a few more
    return Tightest(Fraction(0), Fraction(reach) * rounding / Fraction(metric.epsilon), None, 0, False)


def largest_loss(loss: Loss) -> float:
    """The largest loss over all pairs, public differences included: the reading of plain differential privacy."""
    return float(tightest(loss, Constant(loss.universe.size, Fraction(1))).high)
