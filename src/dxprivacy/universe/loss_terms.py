"""Terms of a loss: what adds up to it, block by block of rows, so that few pairs have to be looked at."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.universe.blocks import Rows, joint_classes


@dataclass(frozen=True, eq=False)
class LossPart:
    """The rows of one block with their weights 1/s: the sum of the w_k |A_ki - A_kj|, or the largest of them.

    `uniform` says that which of its rows changes makes no difference.
    """

    block: Rows
    weights: Floats
    largest: bool
    uniform: bool

    @classmethod
    def of(cls, block: Rows, weights: Floats, *, largest: bool) -> "LossPart":
        """With rows that are alike if their weights are."""
        return cls(block, weights, largest, bool((weights == weights[0]).all()))

    def pairwise(self, i: Ints, j: Ints) -> Floats:
        """This part's losses."""
        return (self.block.peaks if self.largest else self.block.loads)(i, j, self.weights)

    def reach(self) -> float:
        """Not less than its largest loss, up to a few roundings."""
        return self.block.summit(self.weights) if self.largest else self.block.reach(self.weights)

    def times(self, count: int) -> "LossPart":
        """So often."""
        return self if count == 1 else replace(self, weights=self.weights * count)


@dataclass(frozen=True, eq=False)
class Term:
    """One summand of a loss: the largest of its parts, one part being a block of rows.

    Its classes of values are those that all parts agree on, so whatever holds within a class holds for the largest.
    """

    parts: tuple[LossPart, ...]

    @cached_property
    def axes(self) -> tuple[int, ...]:
        """The attributes that matter to it."""
        return tuple(sorted({axis for part in self.parts for axis in part.block.axes}))

    @property
    def width(self) -> int:
        """In how many rows one record can count, at most."""
        return sum(part.block.width for part in self.parts)

    def moving(self, axis: int) -> Ints:
        """Classes of values along `axis`: within a class no answer changes, in any context."""
        parts = [part.block for part in self.parts if axis in part.block.axes]
        return self._joint(axis, [block.moving(axis) for block in parts])

    def context(self, axis: int) -> Ints:
        """Classes of values along `axis` that make no difference to what a move along another attribute costs."""
        parts = [part for part in self.parts if axis in part.block.axes]
        return self._joint(axis, [part.block.context(axis, uniform=part.uniform) for part in parts])

    def strengths(self, axis: int) -> list[tuple[Ints, Ints]]:
        """The same classes in order, part by part: kinds, and how much a move along another attribute may change."""
        parts = [part for part in self.parts if axis in part.block.axes]
        return [part.block.strengths(axis, uniform=part.uniform) for part in parts]

    def _joint(self, axis: int, classes: list[Ints]) -> Ints:
        return joint_classes(classes, self.parts[0].block.universe.shape[axis])

    def pairwise(self, i: Ints, j: Ints) -> Floats:
        """Its losses."""
        first, *more = self.parts
        out = first.pairwise(i, j)
        for part in more:
            out = np.maximum(out, part.pairwise(i, j))
        return out

    def reach(self) -> float:
        """Not less than its largest loss, up to a few roundings."""
        return max(part.reach() for part in self.parts)

    def times(self, count: int) -> "Term":
        """So often."""
        return self if count == 1 else Term(tuple(part.times(count) for part in self.parts))


Terms = tuple[Term, ...]
