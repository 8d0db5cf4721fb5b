"""Directions in which a record may move, and the largest loss / distance along each (docs/formats.md, section 9).

Along a direction, values that no row tells apart are one class; of two classes only their closest pair matters, and of
the contexts the one with the largest loss.  Floats find the few pairs that may be the largest; fractions decide among
them.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import product

from dxprivacy.errors import Undecided
from dxprivacy.verify.blocks import Block, Column
from dxprivacy.verify.distances import Distance
from dxprivacy.verify.loss import Loss, Tightest, ratio
from dxprivacy.verify.reading import Exact

MOST_PAIRS = 20_000_000
MANY_PLACES = 400
_MOST_COMPARED = 1_000
_WIDE = 2_000
MARGIN = 2.0**-17  # well above the errors of both floats
NOTHING = Tightest(Fraction(0), Fraction(0), None, 0)


def contexts(loss: Loss, blocks: Sequence[Block], moving: int | None) -> Sequence[Sequence[int]] | None:
    """Records that stand for all, as far as they change the loss of a move (along `moving`, or of coming and going).

    None if they are too many.
    """
    choices: list[list[int]] = []
    for axis, size in enumerate(loss.universe.shape):
        concerned = [(b, loss.uniform(b)) for b in blocks if axis in b.axes and axis != moving]
        seen: dict[Strengths, int] = {}
        for value in range(size if concerned else 1):
            each = (b.strength(axis, value, uniform) for b, uniform in concerned)
            seen.setdefault(tuple((kind if strong else None, strong) for kind, strong in each), value)
        choices.append(_strongest(seen))
    return None if math.prod(map(len, choices)) > MOST_PAIRS else list(product(*choices))


Strengths = tuple[tuple[object, int], ...]


def _strongest(seen: dict[Strengths, int]) -> list[int]:
    """Of values that are of the same kind to every block, those beside which every move changes most.

    A value may be left out if another is of its kind, and at least as strong, to every block that it matters to: losses
    are multiplied by these strengths, and sums and largest ones of them grow with each.
    """
    alike: dict[tuple[object, ...], list[Strengths]] = {}
    for strengths in seen:
        alike.setdefault(tuple(kind for kind, _ in strengths), []).append(strengths)
    kept: list[Strengths] = []
    for group in alike.values():
        sizes = [tuple(size for _, size in strengths) for strengths in group]
        most = tuple(map(max, *sizes)) if len(sizes) > 1 else sizes[0]
        kept += [group[sizes.index(most)]] if most in sizes else group
    if len(kept) <= _MOST_COMPARED:
        kept = [x for x in kept if not any(_weaker(x, y) for y in kept if y is not x)]
    return sorted(seen[strengths] for strengths in kept)


def _weaker(x: Strengths, y: Strengths) -> bool:
    pairs = zip(x, y, strict=True)
    return all(not a or (kind == other and a <= b) for (kind, a), (other, b) in pairs)


class Direction(ABC):
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

    @abstractmethod
    def contexts(self) -> Sequence[Sequence[int]] | None:
        """Records to start from; None if they are too many."""

    @abstractmethod
    def column(self, context: Sequence[int], value: int) -> Column:
        """Where the record with this value in this context counts."""

    @property
    def wide(self) -> bool:
        """Whether records count in so many rows that only the differences of two are worth knowing."""
        return False

    def about(self, context: Sequence[int], key: tuple[int, int]) -> float:
        """The loss between two classes, as a float."""
        return self.loss.about(*self.sides(context, key))

    def sides(self, context: Sequence[int], key: tuple[int, int]) -> tuple[Column, Column]:
        """Where two classes count differently."""
        return self.column(context, self.members[key[0]]), self.column(context, self.members[key[1]])

    @abstractmethod
    def cell(self, context: Sequence[int], value: int) -> int:
        """That record's cell."""

    @abstractmethod
    def bound(self, near: "dict[tuple[int, int], Near]") -> Tightest:
        """An upper bound where there are too many contexts."""

    def nearest(self) -> "dict[tuple[int, int], Near]":
        """For each two classes the closest pairs."""
        if self.metric.pair_count(self.classes) > MOST_PAIRS:
            raise Undecided("too many pairs of records to verify", where="certificate")
        near: dict[tuple[int, int], Near] = {}
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
                near[key] = Near(d, [(u, v, d)])
            elif d <= known.about * (1 + MARGIN):
                known.add(u, v, d)
        return near

    def walk(self) -> Tightest | None:
        """The largest ratio along this direction, if it leads over places; otherwise None."""
        return None

    def search(self) -> Tightest:
        """The largest ratio along this direction."""
        if len(self.members) < 2:
            return NOTHING
        walked = self.walk() if self.size >= MANY_PLACES else None
        if walked is not None:
            return walked
        near = self.nearest()
        if not near:
            return NOTHING
        contexts = self.contexts()
        if contexts is None or len(near) * len(contexts) > MOST_PAIRS:
            return self.bound(near)
        most: dict[tuple[int, int], float] = dict.fromkeys(near, 0.0)
        for context in contexts:
            columns = None if self.wide else [self.column(context, value) for value in self.members]
            for key in near:
                loss = (
                    self.about(context, key) if columns is None else self.loss.about(columns[key[0]], columns[key[1]])
                )
                if loss > most[key]:
                    most[key] = loss
        ratios = {key: _quotient(most[key], near[key].about) for key in near if most[key] > 0}
        looked = len(near) * len(contexts)
        if not ratios:
            return Tightest(Fraction(0), Fraction(0), None, looked)
        limit = max(ratios.values()) * (1 - MARGIN)
        keep = [key for key, r in ratios.items() if r >= limit or r == math.inf]
        return self.decide(keep, near, most, contexts, looked)

    def decide(
        self,
        keep: Sequence[tuple[int, int]],
        near: "dict[tuple[int, int], Near]",
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
                for c in key if not self.wide else ():
                    if c not in columns:
                        columns[c] = self.column(context, self.members[c])
                if self.wide and self.about(context, key) < most[key] * (1 - MARGIN):
                    continue
                a, b = self.sides(context, key) if self.wide else (columns[key[0]], columns[key[1]])
                if self.loss.about(a, b) >= most[key] * (1 - MARGIN):
                    exact = self.loss.exact(a, b)
                    if key not in worst or exact > worst[key][0]:
                        worst[key] = exact, context
        for key in keep:
            loss, context = worst[key]
            for u, v, _ in near[key].pairs:
                bounds = ratio(loss, *self.metric.between(u, v))
                if bounds[0] > low:
                    low, pair = bounds[0], (self.cell(context, u), self.cell(context, v))
                high = max(high, bounds[1])
        return Tightest(low, high, (min(pair), max(pair)), looked)


class Near:
    """The closest pairs of two classes, up to the margin."""

    __slots__ = ("about", "pairs")

    def __init__(self, about: float, pairs: list[tuple[int, int, float]]) -> None:
        self.about, self.pairs = about, pairs

    def add(self, u: int, v: int, d: float) -> None:
        """One more pair that is not farther than the margin allows."""
        if d < self.about:
            self.about = d
            self.pairs = [p for p in self.pairs if p[2] <= d * (1 + MARGIN)]
        self.pairs.append((u, v, d))


def _quotient(loss: float, d: float) -> float:
    return math.inf if not d or math.isinf(loss) else loss / d


class Along(Direction):
    """Moves along one attribute."""

    def __init__(self, loss: Loss, metric: Distance, axis: int) -> None:
        super().__init__(loss, metric, metric.size)
        self.axis = axis
        self.touching = [b for b in loss.blocks if axis in b.axes]
        self.number(tuple(b.moving(axis, v) for b in self.touching) for v in range(metric.size))

    def walk(self) -> Tightest | None:
        """By a tree of places; numpy is loaded only here."""
        from dxprivacy.verify.moves import walk

        return walk(self)

    def contexts(self) -> Sequence[Sequence[int]] | None:
        """Every combination of values that can change the loss of a move."""
        return contexts(self.loss, self.touching, self.axis)

    def _record(self, context: Sequence[int], value: int) -> list[int]:
        return [value if axis == self.axis else c for axis, c in enumerate(context)]

    def column(self, context: Sequence[int], value: int) -> Column:
        """Of the blocks that this attribute concerns."""
        return self.loss.column(self._record(context, value), self.touching)

    @property
    def wide(self) -> bool:
        return sum(block.rows for block in self.touching) > _WIDE

    def about(self, context: Sequence[int], key: tuple[int, int]) -> float:
        if self.loss.choices:
            return super().about(context, key)
        a, b = (self._record(context, self.members[c]) for c in key)
        total = 0.0
        for block in self.touching:
            shown = block.shown(a, b, self.loss.weights)
            total += self.loss.about(*block.apart(a, b)) if shown is None else shown
        return total

    def sides(self, context: Sequence[int], key: tuple[int, int]) -> tuple[Column, Column]:
        records = [self._record(context, self.members[c]) for c in key]
        a, b = Column(), Column()
        for block in self.touching:
            for column, more in zip((a, b), block.apart(*records), strict=True):
                column.update(more)
        return a, b

    def cell(self, context: Sequence[int], value: int) -> int:
        return self.loss.universe.cell(self._record(context, value))

    def bound(self, near: dict[tuple[int, int], Near]) -> Tightest:
        """The sum of the blocks' largest losses, each in its own worst context; of a choice the largest of them."""
        worst: list[dict[tuple[int, int], float]] = []
        places: list[Sequence[Sequence[int]]] = []
        for block in self.touching:
            alone = contexts(self.loss, [block], self.axis)
            if alone is None or len(near) * len(alone) > MOST_PAIRS:
                raise Undecided("too many combinations of values to verify", where="certificate")
            most: dict[tuple[int, int], float] = dict.fromkeys(near, 0.0)
            for context in alone:
                columns = [block.column(self._record(context, value)) for value in self.members]
                for key in near:
                    most[key] = max(most[key], self.loss.about(columns[key[0]], columns[key[1]]))
            worst.append(most)
            places.append(alone)
        parts = {block.first: (most, alone) for block, most, alone in zip(self.touching, worst, places, strict=True)}
        summands = self.loss.summands(self.touching)

        def about(key: tuple[int, int]) -> float:
            return math.fsum(max(parts[block.first][0][key] for block in blocks) for blocks in summands)

        def exact(key: tuple[int, int]) -> Exact:
            total: Exact = Fraction(0)
            for blocks in summands:
                found = ((block, *parts[block.first]) for block in blocks)
                total += max(self._largest(block, key, most[key], alone) for block, most, alone in found)
            return total

        ratios = {key: _quotient(about(key), near[key].about) for key in near}
        limit = max(ratios.values()) * (1 - MARGIN)
        high: Exact = Fraction(0)
        for key in (key for key, r in ratios.items() if r > 0 and r >= limit):
            total = exact(key)
            for u, v, _ in near[key].pairs:
                high = max(high, ratio(total, *self.metric.between(u, v))[1])
        return Tightest(Fraction(0), high, None, sum(len(near) * len(c) for c in places), False)

    def _largest(self, block: Block, key: tuple[int, int], most: float, contexts: Sequence[Sequence[int]]) -> Exact:
        """One block's largest loss between two classes, as a fraction."""
        best: Exact = Fraction(0)
        for context in contexts:
            a, b = (block.column(self._record(context, self.members[c])) for c in key)
            if self.loss.about(a, b) >= most * (1 - MARGIN):
                best = max(best, self.loss.exact(a, b))
        return best


class Anywhere(Direction):
    """Moves from any of some cells to any other."""

    def __init__(self, loss: Loss, metric: Distance, cells: Sequence[int]) -> None:
        super().__init__(loss, metric, len(cells))
        self.cells = cells
        if metric.pair_count(range(len(cells))) > MOST_PAIRS:
            raise Undecided("too many pairs of records to verify", where="certificate")
        self._columns: list[Column] = [loss.at(cell) for cell in cells]
        self.number(frozenset(column.items()) for column in self._columns)

    def contexts(self) -> Sequence[Sequence[int]]:
        return [()]

    def column(self, context: Sequence[int], value: int) -> Column:  # noqa: ARG002
        return self._columns[value]

    def cell(self, context: Sequence[int], value: int) -> int:  # noqa: ARG002
        return self.cells[value]

    def bound(self, near: dict[tuple[int, int], Near]) -> Tightest:
        raise Undecided(f"{len(near):,} pairs of records are too many to verify", where="certificate")
