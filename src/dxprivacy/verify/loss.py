"""The loss of rows with noise, and its ratio to a distance, in floats and in fractions (docs/formats.md, section 7)."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dxprivacy.verify.blocks import Block, Column, PeopleTable
from dxprivacy.verify.blurred import Blurred
from dxprivacy.verify.distances import Distance
from dxprivacy.verify.reading import Exact
from dxprivacy.verify.universe import Universe


@dataclass(frozen=True)
class Tightest:
    """The largest ratio lies between `low` and `high`; `pair` attains `low`.  `exact` is False for an upper bound only.

    `room` is how much larger, relatively, a ratio may be stated: roundings of irrational distances, and of very many
    places whose ratios are nearly equal a bound on these.
    """

    low: Exact
    high: Exact
    pair: tuple[int, int] | None
    pairs: int
    exact: bool = True
    room: Fraction = Fraction(1, 1 << 58)


class Loss:
    """L(i, j) = sum over rows of |difference| / scale; scales are float64 numbers, taken exactly.

    `selections` are ranges of rows, of which not the sum but the largest counts; each consists of whole blocks, and
    counts as often as `times` says.
    """

    def __init__(
        self,
        universe: Universe,
        blocks: Sequence[Block],
        scales: Sequence[float],
        selections: Sequence[range] = (),
        times: Sequence[int] = (),
    ) -> None:
        self.universe, self.blocks, self.scales, self.selections = universe, blocks, scales, selections
        self.times = times or [1] * len(selections)
        self.weights = [1.0 / s if s else math.inf for s in scales]
        self._selection = {row: k for k, rows in enumerate(selections) for row in rows}
        self._uniform: dict[int, bool] = {}
        self._exact: dict[frozenset[tuple[int, float, int]], Exact] = {}

    @property
    def people(self) -> list[PeopleTable]:
        """The blocks that count people: no pair of rows tells what these lose."""
        return [block for block in self.blocks if isinstance(block, PeopleTable)]

    @property
    def maps(self) -> list[Blurred]:
        """The blocks that are maps: no pair has to be looked at to know what these lose at most."""
        return [block for block in self.blocks if isinstance(block, Blurred)]

    @property
    def by_pairs(self) -> "Loss":
        """The loss without both."""
        return self.only([block for block in self.blocks if not isinstance(block, PeopleTable | Blurred)])

    def uniform(self, block: Block) -> bool:
        """Whether all rows of a block have one scale."""
        if block.first not in self._uniform:
            self._uniform[block.first] = len(set(self.scales[block.first : block.first + block.rows])) == 1
        return self._uniform[block.first]

    def chosen(self, block: Block) -> int:
        """How often the selection counts that a block is part of; 0 if it is part of none."""
        selection = self._selection.get(block.first)
        return 0 if selection is None else self.times[selection]

    def summands(self, blocks: Iterable[Block]) -> list[list[Block]]:
        """Blocks whose losses add up; of those in one list the largest counts."""
        found: dict[tuple[bool, int], list[Block]] = {}
        for block in blocks:
            selection = self._selection.get(block.first)
            found.setdefault((selection is None, block.first if selection is None else selection), []).append(block)
        return list(found.values())

    @property
    def alternatives(self) -> "list[Loss]":
        """Losses of which this one is the largest: of a single selection its blocks, each by itself."""
        if len(self.selections) != 1 or len(self.selections[0]) < sum(block.rows for block in self.blocks):
            return [self]
        return [Loss(self.universe, [block], self.scales, self.selections, self.times) for block in self.blocks]

    def only(self, blocks: Sequence[Block]) -> "Loss":
        """The loss of some blocks; of a selection all of its blocks, or none."""
        firsts = {block.first for block in blocks}
        mine = [k for k, rows in enumerate(self.selections) if any(row in firsts for row in rows)]
        selections, times = [self.selections[k] for k in mine], [self.times[k] for k in mine]
        return Loss(self.universe, blocks, self.scales, selections, times)

    def column(self, values: Sequence[int], blocks: Iterable[Block]) -> Column:
        """Where a record counts, over several blocks."""
        out: Column = {}
        for block in blocks:
            out.update(block.column(values))
        return out

    def about(self, a: Column, b: Column) -> float:
        """The loss between two columns; relative error below rows * 2^-50."""
        w, total = self.weights, 0.0
        if self.selections:
            return self._about_selections(a, b)
        for row, x in a.items():
            y = b.get(row, 0)
            if x != y:
                total += abs(x - y) * w[row]
        for row, y in b.items():
            if row not in a:
                total += abs(y) * w[row]
        return total

    def _about_selections(self, a: Column, b: Column) -> float:
        total, most = 0.0, [0.0] * len(self.selections)
        for row in {**a, **b}:
            apart = abs(a.get(row, 0) - b.get(row, 0))
            if not apart:
                continue
            loss, selection = apart * self.weights[row], self._selection.get(row)
            if selection is None:
                total += loss
            elif loss > most[selection]:
                most[selection] = loss
        return total + sum(n * x for n, x in zip(self.times, most, strict=True))

    def exact(self, a: Column, b: Column) -> Exact:
        """The loss between two columns, as a fraction."""
        amounts: dict[tuple[int, float], int] = {}  # by choice (-1: none) and scale: the sum, or the largest
        for row in {**a, **b}:
            apart = abs(a.get(row, 0) - b.get(row, 0))
            if apart:
                key = (self._selection.get(row, -1), self.scales[row])
                known = amounts.get(key, 0)
                amounts[key] = known + apart if key[0] < 0 else max(known, apart)
        found = frozenset((selection, scale, amount) for (selection, scale), amount in amounts.items())
        if found not in self._exact:
            self._exact[found] = _added(found, self.times)
        return self._exact[found]

    def at(self, cell: int) -> Column:
        """Where a cell counts, over all blocks; who is absent counts nowhere."""
        return {} if cell == self.universe.absent else self.column(self.universe.values(cell), self.blocks)

    def of_cells(self, i: int, j: int) -> Exact:
        """The loss of two cells."""
        return self.exact(self.at(i), self.at(j))


def _added(amounts: Iterable[tuple[int, float, int]], times: Sequence[int]) -> Exact:
    """Amounts over scales: those of a selection by their largest, so often, the others all."""
    top, bottom = 0, 1  # one fraction at the end: to shorten every sum takes several times as long
    most: dict[int, Exact] = {}
    for selection, scale, amount in amounts:
        if selection >= 0:
            loss: Exact = Fraction(amount) / Fraction(scale) if scale else math.inf
            most[selection] = max(most.get(selection, Fraction(0)), loss)
        elif scale:
            n, d = scale.as_integer_ratio()
            top, bottom = top * n + amount * d * bottom, bottom * n
        else:
            return math.inf
    return Fraction(top, bottom) + sum((times[selection] * loss for selection, loss in most.items()), Fraction(0))


def ratio_of(loss: Loss, metric: Distance, i: int, j: int) -> tuple[Exact, Exact]:
    """Loss / distance of one pair, between two numbers."""
    return ratio(loss.of_cells(i, j), *metric.between(i, j))


def ratio(loss: Exact, low: Exact, high: Exact) -> tuple[Exact, Exact]:
    """Loss / distance, the distance between two numbers; infinite distances ask for nothing."""
    if low == math.inf or loss == 0:
        return Fraction(0), Fraction(0)
    if loss == math.inf or high == 0:
        return math.inf, math.inf
    return Fraction(loss) / Fraction(high), Fraction(loss) / Fraction(low)
