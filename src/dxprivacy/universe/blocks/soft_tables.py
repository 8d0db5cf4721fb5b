"""Soft tables: the values of one attribute count in several parts, each crossed with groups of other attributes.

Ramps of a distribution function, kernels of a density and soft borders have this form: a small integer matrix over the
values of one attribute, repeated for each combination of groups of the other attributes.  The block of these groups is
called `beside`.
"""

from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from dxprivacy.errors import QueryError, TooLarge
from dxprivacy.exact.arrays import Floats, Ints, read_only
from dxprivacy.universe.blocks.block import Block, Differences, classes_of_rows, require_exact
from dxprivacy.universe.blocks.dense_and_sparse import dense_loads
from dxprivacy.universe.blocks.one_hot import OneHot
from dxprivacy.universe.occupied import Occupied

MOST_ENTRIES = 20_000_000  # limit on parts x values, and on groups of other attributes x values
_AT_ONCE = 2_000_000  # entries of differences held in memory at once


class SoftTable(Block):
    """Rows `beside x parts`: a record counts in the parts of its value, within its group of the other attributes.

    `matrix` has a column for each value of the attribute and a row for each part; `beside` is a block of the other
    attributes.  Rows are numbered with the parts fastest.
    """

    kind = "soft"

    def __init__(
        self, axis: int, matrix: Any, beside: OneHot, *, unit: Fraction = Fraction(1), bias: Fraction = Fraction(0)
    ) -> None:
        from scipy.sparse import csc_array

        self.universe, self.unit, self.bias = beside.universe, unit, bias
        self.axis, self.beside = axis, beside
        if axis in beside.axes or matrix.ndim != 2 or matrix.shape[1] != self.universe.shape[axis]:
            raise QueryError("soft groups need a column for each value of one attribute, and groups of others")
        self._require_few(int(matrix.shape[0]), int(matrix.shape[1]))
        columns = csc_array(matrix, dtype=np.int64)
        columns.sum_duplicates()
        columns.eliminate_zeros()
        self.parts_each = int(matrix.shape[0])
        self.rows = beside.rows * self.parts_each
        self._starts: Ints = read_only(np.asarray(columns.indptr, dtype=np.int64))
        self._part: Ints = read_only(np.asarray(columns.indices, dtype=np.int64))
        self._amount: Ints = read_only(np.asarray(columns.data, dtype=np.int64))
        require_exact(self.largest)

    def _require_few(self, parts: int, values: int) -> None:
        if parts * values > MOST_ENTRIES or self.beside.rows * values > MOST_ENTRIES:
            raise TooLarge(
                f"{parts:,} parts of {values:,} values in {self.beside.rows:,} groups are too many",
                hints=["a larger width, fewer grid cells, or coarser values and groups"],
            )

    @property
    def axes(self) -> tuple[int, ...]:
        return tuple(sorted((self.axis, *self.beside.axes)))

    @cached_property
    def width(self) -> int:
        return int(np.diff(self._starts).max(initial=0))

    @property
    def entries(self) -> tuple[Ints, Ints, Ints]:
        """The value, part and amount of each nonzero entry of the matrix."""
        values = np.repeat(np.arange(len(self._starts) - 1), np.diff(self._starts))
        return values, self._part, self._amount

    @cached_property
    def matrix(self) -> Ints:
        """The dense matrix, with one column for each value."""
        out = np.zeros((self.parts_each, self.universe.shape[self.axis]), dtype=np.int64)
        out[self._part, np.repeat(np.arange(out.shape[1]), np.diff(self._starts))] = self._amount
        return read_only(out)

    @cached_property
    def largest(self) -> int:
        return int(np.abs(self._amount).max(initial=0)) * self.beside.largest

    @cached_property
    def peak_of_row(self) -> Ints:
        peaks = np.abs(self.matrix).max(axis=1, initial=0)
        return np.asarray(np.multiply.outer(self.beside.peak_of_row, peaks).ravel(), dtype=np.int64)

    def moving(self, axis: int) -> Ints:
        return self._classes if axis == self.axis else self.beside.moving(axis)

    @cached_property
    def _classes(self) -> Ints:
        """A class number for each value, equal for equal columns."""
        return classes_of_rows(np.ascontiguousarray(self.matrix.T))

    def context(self, axis: int, *, uniform: bool) -> Ints:
        """Return classes of equal columns; for equal scales, of columns with equal absolute sum and maximum."""
        if axis != self.axis:
            return self.beside.context(axis, uniform=uniform)
        if not uniform:
            return self._classes
        size = np.abs(self.matrix)
        return classes_of_rows(np.stack([size.sum(axis=0), size.max(axis=0, initial=0)], axis=1))

    def strengths(self, axis: int, *, uniform: bool) -> tuple[Ints, Ints]:
        """Return one kind if columns are ordered (ramps: of two values, one counts at least as much in every part)."""
        if axis != self.axis:
            return self.beside.strengths(axis, uniform=uniform)
        size = np.abs(self.matrix)
        total = size.sum(axis=0)
        order = np.argsort(total, kind="stable")
        if (np.diff(size[:, order], axis=1) >= 0).all():
            return np.zeros(len(total), dtype=np.int64), np.asarray(total, dtype=np.int64)
        return self.context(axis, uniform=uniform), np.asarray(total > 0, dtype=np.int64)

    def widest(self, weights: Floats, *, absent: bool) -> tuple[Ints, Ints] | None:
        """Return two records in different groups with the largest column, whose loss includes both columns in full.

        No two columns differ by more than the sum of their norms.  None if there is one group only, or if weights
        differ.
        """
        if not len(weights) or not (weights == weights[0]).all():
            return None
        places = self.beside.ends(absent=absent)
        sizes = np.stack([self._beside_at(cells) for cells in places])
        cells, counted = np.where(sizes[0] > sizes[1], *places), sizes.max(axis=0)
        groups = np.flatnonzero(counted == counted.max(initial=0))
        if len(groups) < 2 or not counted[groups[0]]:
            return None
        value = np.abs(self.matrix).sum(axis=0).argmax()
        ends = cells[groups[:2]] + self.universe.offsets(self.axis, np.array([value], dtype=np.int64))
        return ends[:1], ends[1:]

    def _beside_at(self, cells: Ints) -> Ints:
        """Return the absolute weight of the k-th record in group k of the other attributes; 0 if it is in another."""
        row, amount = self.beside.place(cells)
        return np.abs(np.where(row == np.arange(self.beside.rows), amount, 0))

    def lines(self, axis: int) -> tuple[Ints, Ints | None]:
        """Return the lines of the other attributes: a column is the value's column times their weight."""
        return super().lines(axis) if axis == self.axis else self.beside.lines(axis)

    def _entries(self, cells: Ints) -> tuple[Ints, Ints, Ints]:
        """Return all nonzero entries of some columns: the position of the record, the row, and the amount."""
        row, weight = self.beside.place(cells)  # weight 0 if a record is absent, or in no group
        value = self.universe.along(self.axis, cells)
        many = np.where(weight == 0, 0, self._starts[value + 1] - self._starts[value])
        which = np.repeat(np.arange(len(cells), dtype=np.int64), many)
        within = np.arange(len(which), dtype=np.int64) - np.repeat(np.cumsum(many) - many, many)
        at = self._starts[value[which]] + within
        return which, row[which] * self.parts_each + self._part[at], weight[which] * self._amount[at]

    def differences(self, i: Ints, j: Ints) -> Differences:
        """Return the differences; pairs in the same group usually differ in few parts, found without sorting."""
        (row_i, by_i), (row_j, by_j) = self.beside.place(i), self.beside.place(j)
        alike = (row_i == row_j) & (by_i == by_j) & (by_i != 0)
        some, others = np.flatnonzero(alike), np.flatnonzero(~alike)
        many = max(_AT_ONCE // self.parts_each, 1)
        found = [self._beside_each_other(i, j, some[a : a + many], row_i, by_i) for a in range(0, len(some), many)]
        if len(others) or not found:
            pair, row, amount = self._sorted_out(i[others], j[others])
            found.append((others[pair], row, amount))
        pair, row, amount = (np.concatenate([part[side] for part in found]) for side in range(3))
        order = np.argsort(pair, kind="stable")
        return pair[order], row[order], amount[order]

    def _beside_each_other(self, i: Ints, j: Ints, pairs: Ints, row: Ints, by: Ints) -> Differences:
        """Return the differences of pairs with the same group and weight."""
        u, v = (self.universe.along(self.axis, cells[pairs]) for cells in (i, j))
        apart = np.abs(self._lines[u] - self._lines[v])
        which, part = np.nonzero(apart)
        at = pairs[which]
        return at, row[at] * self.parts_each + part, np.abs(by[at]) * apart[which, part]

    @cached_property
    def _lines(self) -> Ints:
        """The transposed matrix: one line per value."""
        return read_only(np.ascontiguousarray(self.matrix.T))

    def _sorted_out(self, i: Ints, j: Ints) -> Differences:
        ends = [self._entries(i), self._entries(j)]
        pair, row = (np.concatenate([end[side] for end in ends]) for side in (0, 1))
        amount = np.concatenate([ends[0][2], -ends[1][2]])
        order = np.lexsort((row, pair))
        pair, row, amount = pair[order], row[order], amount[order]
        first = np.flatnonzero(np.append(True, (np.diff(pair) != 0) | (np.diff(row) != 0))[: len(pair)])
        amount = np.abs(np.add.reduceat(amount, first)) if len(first) else amount
        apart = np.flatnonzero(amount)
        return pair[first][apart], row[first][apart], amount[apart]

    def loads(self, i: Ints, j: Ints, weights: Floats) -> Floats:
        return self._shown(i, j, weights, largest=False)

    def peaks(self, i: Ints, j: Ints, weights: Floats) -> Floats:
        return self._shown(i, j, weights, largest=True)

    def _shown(self, i: Ints, j: Ints, weights: Floats, *, largest: bool) -> Floats:
        """Return losses: across groups, both columns count in full; within a group, their difference counts."""
        (row_i, by_i), (row_j, by_j) = self.beside.place(i), self.beside.place(j)
        alike = (row_i == row_j) & (by_i != 0) & (by_j != 0)
        slowly = super().peaks if largest else super().loads
        if np.isinf(weights).any() or (by_i != by_j)[alike].any():
            return slowly(i, j, weights)
        u, v = self.universe.along(self.axis, i), self.universe.along(self.axis, j)
        by_part = weights.reshape(self.beside.rows, self.parts_each)
        out = np.zeros(len(i))
        apart = np.flatnonzero(~alike)
        if len(apart):
            size = np.abs(self.matrix).astype(np.float64)
            tops = np.stack([(size * w[:, None]).max(axis=0, initial=0.0) for w in by_part])
            whole = tops if largest else by_part @ size
            first, second = (
                np.abs(by[apart]) * whole[np.maximum(row[apart], 0), at[apart]]
                for by, row, at in ((by_i, row_i, u), (by_j, row_j, v))
            )
            out[apart] = np.maximum(first, second) if largest else first + second
        for row in np.unique(row_i[alike]).tolist():
            mine = np.flatnonzero(alike & (row_i == row))
            out[mine] = np.abs(by_i[mine]) * dense_loads(self._floats, u[mine], v[mine], by_part[row], largest=largest)
        return out

    @cached_property
    def _floats(self) -> Floats:
        """The transposed matrix in floats: one line per value."""
        return np.ascontiguousarray(self.matrix.T, dtype=np.float64)

    def columns(self, cells: Ints) -> Ints:
        out = np.zeros((self.rows, len(cells)), dtype=np.int64)
        which, row, amount = self._entries(cells)
        out[row, which] = amount
        return out

    def answer(self, counts: Occupied) -> Ints:
        """Count groups by values in integers, then apply the matrix."""
        row, weight = self.beside.place_of(counts)
        counted = np.flatnonzero(weight)
        table = np.zeros((self.beside.rows, self.universe.shape[self.axis]), dtype=np.int64)
        value = counts.along(self.axis)
        np.add.at(table, (row[counted], value[counted]), (counts.counts * weight)[counted])
        out = np.zeros((self.beside.rows, self.parts_each), dtype=np.int64)
        for at in np.flatnonzero(table.any(axis=0)).tolist():
            some = slice(self._starts[at], self._starts[at + 1])
            out[:, self._part[some]] += table[:, at, None] * self._amount[some]
        return out.ravel()

    def ends(self, *, absent: bool) -> tuple[Ints, Ints]:
        """Combine the ends of the groups with those of the matrix."""
        beside = self.beside.ends(absent=absent)
        nobody = self.universe.absent
        cells, entries = [], []
        for cell in beside:
            weight = self._beside_entry(cell)
            for found in (self.matrix.argmin(axis=1), self.matrix.argmax(axis=1)):
                moved = cell[:, None] + self.universe.offsets(self.axis, np.asarray(found, dtype=np.int64))
                cells.append((moved if nobody is None else np.where(cell[:, None] == nobody, nobody, moved)).ravel())
                entries.append(np.multiply.outer(weight, self.matrix[np.arange(self.parts_each), found]).ravel())
        rows, corners, at = np.arange(self.rows), np.stack(entries), np.stack(cells)
        return at[corners.argmin(axis=0), rows], at[corners.argmax(axis=0), rows]

    def _beside_entry(self, cells: Ints) -> Ints:
        """Return the entry of row k of the groups at the k-th record."""
        row, weight = self.beside.place(cells)
        return np.where(row == np.arange(self.beside.rows), weight, 0)

    def extremes(self) -> tuple[Floats, Floats]:
        low, high = self.ends(absent=False)
        own = np.arange(self.rows)
        return self._at(low, own).astype(np.float64), self._at(high, own).astype(np.float64)

    def _at(self, cells: Ints, rows: Ints) -> Ints:
        """Return for each record the entry of its column in the given row."""
        which, row, amount = self._entries(cells)
        mine = np.flatnonzero(row == rows[which])
        out = np.zeros(len(cells), dtype=np.int64)
        out[which[mine]] = amount[mine]
        return out

    def reach(self, weights: Floats) -> float:
        """Bound the loss by the full columns of two records."""
        alike = self.universe.absent is None and not any(self.moving(axis).any() for axis in self.axes)
        counted, used = np.flatnonzero(self.beside.peak_of_row), np.flatnonzero(self.matrix.any(axis=1))
        if alike or not len(counted) or not len(used):
            return 0.0
        shown = weights.reshape(self.beside.rows, self.parts_each)[np.ix_(counted, used)]
        if np.isinf(shown).any():  # 0 times an infinite weight would be NaN
            return float("inf")
        return 2.0 * float((shown @ np.abs(self.matrix[used]).astype(np.float64)).max()) * self.beside.largest

    def parts(self) -> tuple[Ints, ...]:
        """Return numbers of rows, attribute and parts; the sparse columns; and the parts of the groups' block."""
        head = np.array([self.rows, self.axis, self.parts_each], dtype=np.int64)
        return head, self._starts, self._part, self._amount, *self.beside.parts()

    def _row(self, k: int) -> "SoftTable":
        group, part = divmod(k, self.parts_each)
        return SoftTable(
            self.axis, self.matrix[part : part + 1], self.beside._row(group), unit=self.unit, bias=self.bias
        )
