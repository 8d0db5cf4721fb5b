"""Directions in which a record may move, and the largest loss / distance along each (docs/formats.md, section 9).

Along a direction, values that no row tells apart are one class; of two classes only their closest pair matters, and of
the contexts the one with the largest loss, which each part of the loss has by itself.  Floats find the few pairs that
may be the largest; fractions decide among them.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Container, Iterable, Sequence
from fractions import Fraction
from itertools import product

from dxprivacy.errors import Undecided
from dxprivacy.verify.blocks import Block, Column
from dxprivacy.verify.distances import Distance
from dxprivacy.verify.exchange import standing
from dxprivacy.verify.lines import at_one_distance, ends
from dxprivacy.verify.loss import Loss, Tightest, ratio
from dxprivacy.verify.parts import MARGIN, OfBlocks, OfCells, Part, separate
from dxprivacy.verify.reading import Exact

MOST_PAIRS = 20_000_000
MANY_PLACES = 400
_MANY_PAIRS = 500_000  # from which a bound is tried first
_MANY_VALUES = 300
_MOST_COMPARED = 1_000
NONE = -1  # the class of values that need not be looked at
NOTHING = Tightest(Fraction(0), Fraction(0), None, 0)


def contexts(loss: Loss, blocks: Sequence[Block], moving: int | None) -> Sequence[Sequence[int]] | None:
    """Records that stand for all, as far as they change the loss of a move (along `moving`, or of coming and going).

    None if they are too many.
    """
    selections: list[list[int]] = []
    for axis, size in enumerate(loss.universe.shape):
        concerned = [(b, loss.uniform(b)) for b in blocks if axis in b.axes and axis != moving]
        seen: dict[Strengths, int] = {}
        for value in range(size if concerned else 1):
            each = (b.strength(axis, value, uniform) for b, uniform in concerned)
            seen.setdefault(tuple((kind if strong else None, strong) for kind, strong in each), value)
        selections.append(_strongest(seen))
    return None if math.prod(map(len, selections)) > MOST_PAIRS else list(product(*selections))


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
    """Moves between values 0, 1, … with a class each."""

    def __init__(self, loss: Loss, metric: Distance, size: int) -> None:
        self.loss, self.metric, self.size = loss, metric, size
        self.classes: list[int] = []
        self.members: list[int] = []  # one value of each class

    def number(self, keys: Iterable[object], leave_out: Container[int] = ()) -> None:
        """Number the classes; values that need not be looked at are in none."""
        seen: dict[object, int] = {}
        for value, key in enumerate(keys):
            if value in leave_out:
                self.classes.append(NONE)
                continue
            if key not in seen:
                seen[key] = len(seen)
                self.members.append(value)
            self.classes.append(seen[key])

    @abstractmethod
    def parts(self) -> list[Part] | None:
        """Parts of the loss that add up, each with its own contexts; None if these are too many."""

    @abstractmethod
    def cell(self, context: Sequence[int], value: int) -> int:
        """That record's cell."""

    @abstractmethod
    def bound(self, near: "dict[tuple[int, int], Near]") -> Tightest:
        """An upper bound where there are too many contexts."""

    def nearest(self) -> "dict[tuple[int, int], Near]":
        """For each two classes the closest pairs."""
        near: dict[tuple[int, int], Near] = {}
        classes, about = self.classes, self.metric.about
        for u, v in self.metric.pairs(classes):
            a, b = classes[u], classes[v]
            if a == b or NONE in (a, b):
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

    def bound_by_block(self) -> Tightest | None:
        """The sum of what blocks show by themselves; None if there is but one."""
        return None

    def search(self, enough: Exact = Fraction(0)) -> Tightest:
        """The largest ratio along this direction; of very many pairs a bound of it, if that is at most `enough`."""
        if len(self.members) < 2:
            return NOTHING
        walked = self.walk() if self.size >= MANY_PLACES else None
        if walked is not None:
            return walked
        pairs = self.metric.pair_count(self.classes)
        if pairs > min(_MANY_PAIRS, MOST_PAIRS):
            bounded = self.bound_by_block()
            if bounded is not None and (bounded.high <= enough or pairs > MOST_PAIRS):
                return bounded
        if pairs > MOST_PAIRS:
            raise Undecided("too many pairs of records to verify", where="certificate")
        near = self.nearest()
        if not near:
            return NOTHING
        parts = self.parts()
        looked = 0 if parts is None else len(near) * sum(len(part.contexts) for part in parts)
        if parts is None or looked > MOST_PAIRS:
            return self.bound(near)
        most = [part.most(near) for part in parts]
        sums = {key: math.fsum(known[key] for known in most) for key in near}
        ratios = {key: _quotient(sums[key], near[key].about) for key in near if sums[key] > 0}
        if not ratios:
            return Tightest(Fraction(0), Fraction(0), None, looked)
        limit = max(ratios.values()) * (1 - MARGIN)
        keep = [key for key, r in ratios.items() if r >= limit or r == math.inf]
        return self._decide(keep, near, list(zip(parts, most, strict=True)), looked)

    def _decide(
        self,
        keep: Sequence[tuple[int, int]],
        near: "dict[tuple[int, int], Near]",
        parts: Sequence[tuple[Part, dict[tuple[int, int], float]]],
        looked: int,
    ) -> Tightest:
        """Among the pairs that may be the largest, in fractions."""
        low: Exact = Fraction(-1)
        high: Exact = Fraction(-1)
        pair = (0, 0)
        found = [(part, part.largest(keep, most)) for part, most in parts]
        for key in keep:
            loss: Exact = sum((largest[key][0] for _, largest in found), Fraction(0))
            record = [0] * len(self.loss.universe.shape)
            for part, largest in found:
                part.put(record, largest[key][1])
            for u, v, _ in near[key].pairs:
                bounds = ratio(loss, *self.metric.between(u, v))
                if bounds[0] > low:
                    low, pair = bounds[0], (self.cell(record, u), self.cell(record, v))
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
        stood_for = self._stood_for() if self.touching else set[int]()
        self.number((tuple(b.moving(axis, v) for b in self.touching) for v in range(metric.size)), stood_for)

    def _stood_for(self) -> set[int]:
        """Values for which others stand, where all are equally far from one another."""
        values = range(at_one_distance(self.metric) or 0)
        kept = ends(self.touching, self.axis, values)
        if len(kept) > _MANY_VALUES:
            kept = standing(self.loss, self.touching, self.axis, values) or kept
        return {*values}.difference(kept)

    def walk(self) -> Tightest | None:
        """By a tree of places; numpy is loaded only here."""
        from dxprivacy.verify.moves import walk

        return walk(self)

    def bound_by_block(self) -> Tightest | None:
        """Blocks have fewer classes of values, and so fewer pairs."""
        summands = self.loss.summands(self.touching)
        if len(summands) < 2:
            return None
        alone = [Along(self.loss.only(blocks), self.metric, self.axis).search() for blocks in summands]
        high = sum((found.high for found in alone), Fraction(0))
        return Tightest(Fraction(0), high, None, sum(found.pairs for found in alone), exact=False)

    def parts(self) -> list[Part] | None:
        """Blocks that share no other attribute with the rest."""
        out: list[Part] = []
        for blocks in separate(self.loss.summands(self.touching), self.axis):
            found = contexts(self.loss, blocks, self.axis)
            if found is None:
                return None
            out.append(OfBlocks(self.loss, found, blocks, self.axis, self.members))
        return out

    def contexts(self) -> Sequence[Sequence[int]] | None:
        """Every combination of values that can change the loss of a move."""
        return contexts(self.loss, self.touching, self.axis)

    def _record(self, context: Sequence[int], value: int) -> list[int]:
        return [value if axis == self.axis else c for axis, c in enumerate(context)]

    def column(self, context: Sequence[int], value: int) -> Column:
        """Of the blocks that this attribute concerns."""
        return self.loss.column(self._record(context, value), self.touching)

    def cell(self, context: Sequence[int], value: int) -> int:
        return self.loss.universe.cell(self._record(context, value))

    def bound(self, near: dict[tuple[int, int], Near]) -> Tightest:
        """The sum of the blocks' largest losses, each in its own worst context; of a selection the largest of them."""
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

    def parts(self) -> list[Part]:
        return [OfCells(self.loss, [self._columns[value] for value in self.members])]

    def cell(self, context: Sequence[int], value: int) -> int:  # noqa: ARG002
        return self.cells[value]

    def bound(self, near: dict[tuple[int, int], Near]) -> Tightest:
        raise Undecided(f"{len(near):,} pairs of records are too many to verify", where="certificate")
