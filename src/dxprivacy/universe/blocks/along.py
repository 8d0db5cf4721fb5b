"""Rows that depend on one attribute only, stored as a small matrix over its values."""

from fractions import Fraction
from functools import cached_property

import numpy as np

from dxprivacy.errors import QueryError
from dxprivacy.exact.arrays import Floats, Ints, read_only
from dxprivacy.universe.blocks.block import Block, Differences, classes_of_rows, largest_entry, require_exact
from dxprivacy.universe.blocks.dense_and_sparse import dense_loads
from dxprivacy.universe.occupied import Occupied
from dxprivacy.universe.universe import Universe


class AlongAxis(Block):
    """Any rows that depend on one attribute only, such as prefixes and ranges: a small matrix over its values."""

    kind = "along"

    def __init__(self, universe: Universe, axis: int, matrix: Ints, *, unit: Fraction = Fraction(1)) -> None:
        self.universe, self.unit, self.bias = universe, unit, Fraction(0)
        self.axis, self.matrix = axis, read_only(matrix)
        self.rows = matrix.shape[0]
        if matrix.ndim != 2 or matrix.shape[1] != universe.shape[axis]:
            raise QueryError("a matrix along an attribute needs a column for each of its values")
        require_exact(self.largest)

    @property
    def axes(self) -> tuple[int, ...]:
        return (self.axis,)

    @cached_property
    def largest(self) -> int:
        return largest_entry(self.matrix)

    @cached_property
    def peak_of_row(self) -> Ints:
        """The largest absolute entry of each row."""
        return np.asarray(np.abs(self.matrix).max(axis=1, initial=0), dtype=np.int64)

    def moving(self, axis: int) -> Ints:
        if axis != self.axis:
            return np.zeros(self.universe.shape[axis], dtype=np.int64)
        return self._classes

    @cached_property
    def _classes(self) -> Ints:
        """A class number for each value, equal for equal columns."""
        return classes_of_rows(self.matrix.T)

    def context(self, axis: int, *, uniform: bool) -> Ints:  # noqa: ARG002  (no other attribute matters)
        """Return the classes of `moving`: no other attribute matters, so this one is never a context."""
        return self.moving(axis)

    def differences(self, i: Ints, j: Ints) -> Differences:
        amounts = self.columns(i)
        amounts -= self.columns(j)
        np.abs(amounts, out=amounts)
        row, pair = np.nonzero(amounts)
        return pair, row, amounts[row, pair]

    @cached_property
    def _floats(self) -> Floats:
        """The transposed matrix in floats: one line per value, and a last one for absence."""
        lines = np.vstack([self.matrix.T, np.zeros((1, self.rows))])
        return lines.astype(np.float64, order="C")  # contiguous lines, because they are read one by one

    def loads(self, i: Ints, j: Ints, weights: Floats) -> Floats:
        return dense_loads(self._floats, self._lines(i), self._lines(j), weights)

    def peaks(self, i: Ints, j: Ints, weights: Floats) -> Floats:
        return dense_loads(self._floats, self._lines(i), self._lines(j), weights, largest=True)

    def ends(self, *, absent: bool) -> tuple[Ints, Ints]:
        """Return records with the smallest and the largest entry of each row; possibly an absent one."""
        rows = np.arange(self.rows)
        low, high = self.matrix.argmin(axis=1), self.matrix.argmax(axis=1)
        at_low, at_high = (self.universe.offsets(self.axis, np.asarray(end, dtype=np.int64)) for end in (low, high))
        if absent and self.universe.absent is not None:
            at_low[self.matrix[rows, low] > 0] = self.universe.absent
            at_high[self.matrix[rows, high] < 0] = self.universe.absent
        return at_low, at_high

    def _lines(self, cells: Ints) -> Ints:
        lines = self.universe.along(self.axis, cells)
        return lines if self.universe.absent is None else np.where(cells == self.universe.absent, -1, lines)

    def columns(self, cells: Ints) -> Ints:
        """Return the columns of the records' values; 0 for an absent record."""
        columns = self.matrix[:, self.universe.along(self.axis, cells)]
        if self.universe.absent is not None:
            columns[:, cells == self.universe.absent] = 0
        return columns

    def answer(self, counts: Occupied) -> Ints:
        """Apply the small matrix to the histogram of the attribute."""
        own = np.zeros(self.universe.shape[self.axis], dtype=np.int64)
        np.add.at(own, counts.along(self.axis), counts.counts)
        return np.asarray(self.matrix @ own, dtype=np.int64)

    def reach(self, weights: Floats) -> float:
        """Add up the ranges of all rows, weighted."""
        top, bottom = self.matrix.max(axis=1), self.matrix.min(axis=1)
        if self.universe.absent is not None:
            top, bottom = np.maximum(top, 0), np.minimum(bottom, 0)
        spread = (top - bottom).tolist()
        return float(sum(w * s for w, s in zip(weights.tolist(), spread, strict=True) if s))

    def parts(self) -> tuple[Ints, ...]:
        return np.array([self.rows, self.axis], dtype=np.int64), self.matrix.ravel()

    def extremes(self) -> tuple[Floats, Floats]:
        return self.matrix.min(axis=1).astype(np.float64), self.matrix.max(axis=1).astype(np.float64)

    def _row(self, k: int) -> "AlongAxis":
        return AlongAxis(self.universe, self.axis, self.matrix[k : k + 1], unit=self.unit)
