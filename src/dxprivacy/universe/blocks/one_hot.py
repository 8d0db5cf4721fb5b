"""Tables, counts and sums: every record counts in at most one row, with an integer weight."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from dxprivacy.errors import QueryError
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.universe.blocks.block import Block, Differences, classes_of_rows, largest_entry, require_exact
from dxprivacy.universe.occupied import Occupied
from dxprivacy.universe.universe import Universe

_MOST_TOP = 2_000  # rows of nearly the same weight that are compared in pairs


@dataclass(frozen=True)
class Factor:
    """The factor of one attribute in a block: the group of each value (-1: not counted) and its integer weight."""

    groups: Ints
    values: Ints

    @cached_property
    def leaves_out(self) -> bool:
        """Whether some value is in no group."""
        return bool((self.groups < 0).any())

    @cached_property
    def only_counts(self) -> bool:
        """Whether every value has weight 1."""
        return bool((self.values == 1).all())

    @cached_property
    def weighs_alike(self) -> bool:
        """Whether all values in groups have the same weight."""
        counted = self.values[self.groups >= 0]
        return not len(counted) or bool((counted == counted[0]).all())

    @property
    def count(self) -> int:
        """The number of groups."""
        return int(self.groups.max(initial=-1)) + 1

    def extremes(self, groups: int) -> tuple[Floats, Floats]:
        """Return for each group the smallest and the largest weight; values outside the group count as 0."""
        low, high = np.full(groups, np.inf), np.full(groups, -np.inf)
        counted = self.groups >= 0
        np.minimum.at(low, self.groups[counted], self.values[counted])
        np.maximum.at(high, self.groups[counted], self.values[counted])
        partial = np.bincount(self.groups[counted], minlength=groups) < len(self.groups)
        return np.where(partial, np.minimum(low, 0), low), np.where(partial, np.maximum(high, 0), high)


class OneHot(Block):
    """Rows of which at most one counts each record, with a weight: tables, counts, sums.

    `sizes` gives the number of groups per factor; rows are numbered with the last factor fastest.
    """

    kind = "table"

    def __init__(
        self,
        universe: Universe,
        factors: Mapping[int, Factor],
        sizes: Mapping[int, int],
        *,
        unit: Fraction = Fraction(1),
        bias: Fraction = Fraction(0),
    ) -> None:
        self.universe, self.unit, self.bias = universe, unit, bias
        self.factors = dict(factors)
        self._moving: dict[int, Ints] = {}  # both are cached, because they are requested often
        self._context: dict[tuple[int, bool], Ints] = {}
        self._axes = tuple(sorted(self.factors))
        self._strides: dict[int, int] = {}
        self.sizes = {axis: sizes[axis] for axis in self._axes}  # groups per factor
        rows = 1
        for axis in reversed(self._axes):
            self._strides[axis] = rows
            rows *= sizes[axis]
        self.rows = rows
        for axis, factor in self.factors.items():
            excluded = (factor.groups < 0) | (factor.values == 0)
            factor.groups[excluded], factor.values[excluded] = -1, 0
            if len(factor.groups) != universe.shape[axis]:
                raise QueryError("a factor does not match its attribute")
        require_exact(self.largest)

    @property
    def axes(self) -> tuple[int, ...]:
        return self._axes

    @property
    def width(self) -> int:
        return 1

    @cached_property
    def largest(self) -> int:
        out = 1
        for factor in self.factors.values():
            out *= largest_entry(factor.values)
        return out

    def moving(self, axis: int) -> Ints:
        if axis not in self.factors:
            return np.zeros(self.universe.shape[axis], dtype=np.int64)
        if axis not in self._moving:
            factor = self.factors[axis]
            self._moving[axis] = classes_of_rows(np.stack([factor.groups, factor.values], axis=1))
        return self._moving[axis]

    def context(self, axis: int, *, uniform: bool) -> Ints:
        """Return classes by |weight|, which multiplies a change; the row matters only if scales differ."""
        if axis not in self.factors:
            return np.zeros(self.universe.shape[axis], dtype=np.int64)
        if (axis, uniform) not in self._context:
            factor = self.factors[axis]
            size = np.abs(factor.values)
            told = size[:, None] if uniform else np.stack([factor.groups, size], axis=1)
            self._context[axis, uniform] = classes_of_rows(told)
        return self._context[axis, uniform]

    def strengths(self, axis: int, *, uniform: bool) -> tuple[Ints, Ints]:
        """Return the group of each value (only if scales differ) as its kind, and |weight| as its strength."""
        if axis not in self.factors:
            return super().strengths(axis, uniform=uniform)
        factor = self.factors[axis]
        return np.zeros_like(factor.groups) if uniform else factor.groups, np.abs(factor.values)

    def lines(self, axis: int) -> tuple[Ints, Ints | None]:
        """Return the group and the weight of each value; with a single group, uncounted values have weight 0."""
        if axis not in self.factors:
            return super().lines(axis)
        factor = self.factors[axis]
        if self.sizes[axis] == 1:
            return np.zeros_like(factor.groups), factor.values
        return factor.groups, None if factor.weighs_alike else factor.values

    def place(self, cells: Ints) -> tuple[Ints, Ints]:
        """Return the row and the weight of each record; weight 0 if it is not counted."""
        row = np.zeros(len(cells), dtype=np.int64)
        value = np.ones(len(cells), dtype=np.int64)
        for axis, factor in self.factors.items():
            u = self.universe.along(axis, cells)
            row += factor.groups[u] * self._strides[axis]
            value *= factor.values[u]
        if self.universe.absent is not None:
            value[cells == self.universe.absent] = 0
        return row, value

    def differences(self, i: Ints, j: Ints) -> Differences:
        """Return the difference of weights within a row, and both weights across rows."""
        (row_i, value_i), (row_j, value_j) = self.place(i), self.place(j)
        same = (row_i == row_j) & (value_i != 0) & (value_j != 0)
        first = np.abs(np.where(same, value_i - value_j, value_i))
        second = np.abs(np.where(same, 0, value_j))
        a, b = np.flatnonzero(first), np.flatnonzero(second)
        return (
            np.concatenate([a, b]),
            np.concatenate([row_i[a], row_j[b]]),
            np.concatenate([first[a], second[b]]),
        )

    def peaks(self, i: Ints, j: Ints, weights: Floats) -> Floats:
        """Return the larger of the at most two weighted changes."""
        (row_i, value_i), (row_j, value_j) = self.place(i), self.place(j)
        row_i, row_j = np.where(value_i == 0, row_j, row_i), np.where(value_j == 0, row_i, row_j)
        same = row_i == row_j  # also if one of them is not counted
        first = np.abs(np.where(same, value_i - value_j, value_i))
        second = np.abs(np.where(same, 0, value_j))
        out = np.zeros(len(i))
        for row, amount in ((row_i, first), (row_j, second)):
            moved = np.flatnonzero(amount)  # 0 times an infinite weight is 0
            out[moved] = np.maximum(out[moved], amount[moved] * weights[row[moved]])
        return out

    def ends(self, *, absent: bool) -> tuple[Ints, Ints]:
        """Return the ends by products of the factors' extreme weights; 0 if a record can count in another row."""
        low = high = np.ones(1, dtype=np.int64)  # entries, and the records that have them, row by row
        at_low = at_high = self.universe.numbered([0])
        nobody = self.universe.absent if absent else None
        outside = self.universe.numbered([-1 if nobody is None else nobody])
        for axis in self._axes:
            least, most, elsewhere = _group_ends(self.factors[axis], self.sizes[axis])
            values = self.factors[axis].values
            cells = [
                (at[:, None] + self.universe.offsets(axis, np.maximum(chosen, 0))).ravel()
                for at in (at_low, at_high)
                for chosen in (least, most)
            ]
            entries = np.stack(
                [
                    (entry[:, None] * np.where(chosen < 0, 0, values[chosen])).ravel()
                    for entry in (low, high)
                    for chosen in (least, most)
                ]
            )
            rows = np.arange(entries.shape[1])
            first, last = entries.argmin(axis=0), entries.argmax(axis=0)
            low, high = entries[first, rows], entries[last, rows]
            at_low, at_high = np.stack(cells)[first, rows], np.stack(cells)[last, rows]
            left_out = np.where(elsewhere < 0, -1, self.universe.offsets(axis, elsewhere))
            outside = np.where(outside[:, None] >= 0, outside[:, None], left_out).ravel()
        return np.where((low > 0) & (outside >= 0), outside, at_low), np.where(
            (high < 0) & (outside >= 0), outside, at_high
        )

    def widest(self, weights: Floats, *, absent: bool) -> tuple[Ints, Ints] | None:
        """Return the ends of each row, and pairs of peaks of those rows whose weighted peaks are largest."""
        low, high = self.ends(absent=absent)
        least, most = self._entries(low), self._entries(high)
        alike = classes_of_rows(np.stack([_numbers(weights), least, most], axis=1))
        rows = _first_two(alike)
        peak = np.where(np.abs(least) > np.abs(most), low, high)[rows]
        size = np.maximum(np.abs(least), np.abs(most))[rows]
        far = np.zeros(len(rows))
        np.multiply(size, weights[rows], out=far, where=size > 0)  # 0 times an infinite weight is 0
        enough = np.sort(far)[-2:].min(initial=np.inf) * (1 - 2.0**-40)
        top = np.flatnonzero((far >= enough) & (far > 0))
        if len(top) > _MOST_TOP:
            return None
        first, second = np.triu_indices(len(top), 1)
        i, j = np.concatenate([low[rows], peak[top[first]]]), np.concatenate([high[rows], peak[top[second]]])
        return i, j

    def _entries(self, cells: Ints) -> Ints:
        """Return the entry of row k at the k-th record; 0 if that record counts in another row."""
        row, value = self.place(cells)
        return np.where(row == np.arange(self.rows), value, 0)

    def place_of(self, counts: Occupied) -> tuple[Ints, Ints]:
        """Return the row and the weight of each sparse count; weight 0 if its records are not counted."""
        row = np.zeros(len(counts.counts), dtype=np.int64)
        value = np.ones(len(counts.counts), dtype=np.int64)
        for axis, factor in self.factors.items():
            at = counts.along(axis)
            row += factor.groups[at] * self._strides[axis]
            value *= factor.values[at]
        return row, value

    def answer(self, counts: Occupied) -> Ints:
        """Add each count to its row, with its weight."""
        row = np.zeros(len(counts.counts), dtype=np.int64)
        amount = counts.counts
        for axis, factor in self.factors.items():
            value = counts.along(axis)
            row += factor.groups[value] * self._strides[axis]
            if not factor.only_counts:
                amount = amount * factor.values[value]
        out = np.zeros(self.rows, dtype=np.int64)
        if any(factor.leaves_out for factor in self.factors.values()):
            counted = np.flatnonzero(amount)  # left-out values have weight 0 and a meaningless row
            row, amount = row[counted], amount[counted]
        np.add.at(out, row, amount)
        return out

    def reach(self, weights: Floats) -> float:
        """Bound the change by twice the largest weighted entry; by once for a single row of one sign."""
        one_sign = all((f.values >= 0).all() for f in self.factors.values())
        varies = self.universe.absent is not None or any(self.moving(axis).any() for axis in self._axes)
        counted = np.flatnonzero(self.peak_of_row)  # the other rows are always 0
        if not varies or not len(counted):
            return 0.0
        return float(weights[counted].max()) * self.largest * (1 if self.rows == 1 and one_sign else 2)

    @cached_property
    def peak_of_row(self) -> Ints:
        """The largest absolute entry of each row."""
        peaks = np.ones(1, dtype=np.int64)
        for axis in self._axes:
            groups = np.zeros(self.sizes[axis], dtype=np.int64)
            inside = self.factors[axis].groups >= 0
            np.maximum.at(groups, self.factors[axis].groups[inside], np.abs(self.factors[axis].values[inside]))
            peaks = (peaks[:, None] * groups).ravel()
        return peaks

    def parts(self) -> tuple[Ints, ...]:
        """Return for each factor its attribute, stride, groups and weights."""
        shape = np.array([self.rows, *(x for a in self._axes for x in (a, self._strides[a]))], dtype=np.int64)
        return (shape, *(x for a in self._axes for x in (self.factors[a].groups, self.factors[a].values)))

    def columns(self, cells: Ints) -> Ints:
        row, value = self.place(cells)
        out = np.zeros((self.rows, len(cells)), dtype=np.int64)
        counted = np.flatnonzero(value)
        out[row[counted], counted] = value[counted]
        return out

    def extremes(self) -> tuple[Floats, Floats]:
        """Combine the extreme weights of each attribute, inside and outside of a group."""
        low = high = np.ones(1)
        for axis in self.axes:
            least, most = self.factors[axis].extremes(self.sizes[axis])
            corners = np.stack([np.multiply.outer(a, b).ravel() for a in (low, high) for b in (least, most)])
            low, high = corners.min(axis=0), corners.max(axis=0)
        return low, high

    def _row(self, k: int) -> "OneHot":
        factors = {}
        for axis, factor in self.factors.items():
            inside = factor.groups == k // self._strides[axis] % self.sizes[axis]
            factors[axis] = Factor(np.where(inside, 0, -1), np.where(inside, factor.values, 0))
        return OneHot(self.universe, factors, dict.fromkeys(factors, 1), unit=self.unit, bias=self.bias)


def _numbers(weights: Floats) -> Ints:
    """Number the distinct weights."""
    return np.unique(weights, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _first_two(classes: Ints) -> Ints:
    """Return the positions of the first two members of each class."""
    order = np.argsort(classes, kind="stable")
    ordered = classes[order]
    new = np.append(True, ordered[1:] != ordered[:-1])
    start = np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))
    return np.sort(order[np.arange(len(order)) - start < 2])


def _group_ends(factor: Factor, size: int) -> tuple[Ints, Ints, Ints]:
    """Return for each group a value with the smallest weight, one with the largest, and one outside; -1 for none."""
    least, most, outside = (np.full(size, -1, dtype=np.int64) for _ in range(3))
    order = np.argsort(factor.values, kind="stable")
    order = order[factor.groups[order] >= 0]
    most[factor.groups[order]] = order  # if an index repeats, numpy keeps the last assignment
    least[factor.groups[order[::-1]]] = order[::-1]
    one = np.flatnonzero(factor.groups != factor.groups[0])
    outside[:] = 0
    outside[factor.groups[0] if factor.groups[0] >= 0 else slice(0, 0)] = one[0] if len(one) else -1
    return least, most, outside
