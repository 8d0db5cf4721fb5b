"""The loss of rows with noise, and its ratio to a distance, in floats and in fractions (docs/formats.md, section 7)."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dxprivacy.verify.blocks import Block, Column
from dxprivacy.verify.distances import Distance
from dxprivacy.verify.reading import Exact
from dxprivacy.verify.universe import Universe


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

    def at(self, cell: int) -> Column:
        """Where a cell counts, over all blocks; who is absent counts nowhere."""
        return {} if cell == self.universe.absent else self.column(self.universe.values(cell), self.blocks)

    def of_cells(self, i: int, j: int) -> Exact:
        """The loss of two cells."""
        return self.exact(self.at(i), self.at(j))


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
