"""Terms of a privacy loss: its summands, one per block of rows, so that few pairs have to be compared."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.universe.blocks import Rows, joint_classes


@dataclass(frozen=True, eq=False)
class LossPart:
    """The rows of one block with weights w = 1/scale: the sum of w_k |A_ki - A_kj|, or the largest of these.

    `uniform` is true if all rows have the same weight, so that it does not matter which of them changes.
    """

    block: Rows
    weights: Floats
    largest: bool
    uniform: bool

    @classmethod
    def of(cls, block: Rows, weights: Floats, *, largest: bool) -> "LossPart":
        """Return the part of a block; it is uniform if all weights are equal."""
        return cls(block, weights, largest, bool((weights == weights[0]).all()))

    def pairwise(self, i: Ints, j: Ints) -> Floats:
        """Return this part's losses on the pairs (i, j)."""
        return (self.block.peaks if self.largest else self.block.loads)(i, j, self.weights)

    def reach(self) -> float:
        """Return an upper bound on its largest loss, up to float rounding."""
        return self.block.summit(self.weights) if self.largest else self.block.reach(self.weights)

    def times(self, count: int) -> "LossPart":
        """Return the part with its weights multiplied by `count`."""
        return self if count == 1 else replace(self, weights=self.weights * count)


@dataclass(frozen=True, eq=False)
class Term:
    """One summand of a loss: the largest of its parts, each of which is a block of rows.

    Its value classes are the common refinement of those of its parts, so what holds within a class holds for the
    largest part.
    """

    parts: tuple[LossPart, ...]

    @cached_property
    def axes(self) -> tuple[int, ...]:
        """The attributes on which it depends."""
        return tuple(sorted({axis for part in self.parts for axis in part.block.axes}))

    @property
    def width(self) -> int:
        """The largest number of rows in which one record can count."""
        return sum(part.block.width for part in self.parts)

    def moving(self, axis: int) -> Ints:
        """Return classes of values along `axis`: within a class, no answer changes, in any context."""
        parts = [part.block for part in self.parts if axis in part.block.axes]
        return self._joint(axis, [block.moving(axis) for block in parts])

    def context(self, axis: int) -> Ints:
        """Return classes of values along `axis` with equal effect on the loss of changes along other attributes."""
        parts = [part for part in self.parts if axis in part.block.axes]
        return self._joint(axis, [part.block.context(axis, uniform=part.uniform) for part in parts])

    def strengths(self, axis: int) -> list[tuple[Ints, Ints]]:
        """Return for each part the kinds of these classes, and how much a change along another attribute may matter.

        Classes of one kind are ordered by this strength.
        """
        parts = [part for part in self.parts if axis in part.block.axes]
        return [part.block.strengths(axis, uniform=part.uniform) for part in parts]

    def _joint(self, axis: int, classes: list[Ints]) -> Ints:
        return joint_classes(classes, self.parts[0].block.universe.shape[axis])

    def pairwise(self, i: Ints, j: Ints) -> Floats:
        """Return its losses on the pairs (i, j)."""
        first, *more = self.parts
        out = first.pairwise(i, j)
        for part in more:
            out = np.maximum(out, part.pairwise(i, j))
        return out

    def reach(self) -> float:
        """Return an upper bound on its largest loss, up to float rounding."""
        return max(part.reach() for part in self.parts)

    def times(self, count: int) -> "Term":
        """Return the term multiplied by `count`."""
        return self if count == 1 else Term(tuple(part.times(count) for part in self.parts))


Terms = tuple[Term, ...]
