"""The pairs of records that limit the precision w = 1/s: `sum_k w_k |A_ki - A_kj| <= limit(i, j)`, in two shapes.

*sparse*  few rows change on a pair, as in tables of counts: a sparse matrix of loads;
*dense*   (nearly) all rows change on every pair, as with arbitrary matrices and ranges: the loads are never stored,
          only the columns of the records; a pass over all pairs is one call of compiled code.

Both measure loads as fractions of each pair's limit, so the policy requires `used(w) <= 1`.  Everything here is in
floats and only a proposal: every w is certified elsewhere.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np

from dxprivacy.exact.arrays import Bools, Floats, Ints

# -- Integer rows as combinations of independent ones: Gaussian elimination with exact zeros ---------------------------
# The rows become `of_rows @ U`, where U has one row for each independent direction.  Values are floats, but whether a
# number is zero is decided modulo a prime in parallel, so rounding errors are never mistaken for nonzero entries.  This
# matters if rows have unequal weights: the rounding error of a row with little noise could outweigh a row with much.
#
# Pivot rows are chosen by complete pivoting on the weighted rows, so |of_rows_ij| weight_i <= the weight of the row
# that gave direction j.  With this scaling, `of_rows` is a unit triangle with further rows below it and no entry above
# 1, whatever the weights (Peters and Wilkinson 1970).


PRIME = 2**31 - 1  # products of two remainders fit into 64 bits
_HALF = 16  # bits of a remainder that are multiplied at a time, so that sums of products are exact in floats
_DIGIT = 20
_ACCIDENT = 1e-6  # relative to a row's size: a larger number is nonzero even if the prime divides it


@dataclass(frozen=True, eq=False)
class Directions:
    """Independent directions of a set of rows.

    `rows` are the pivot rows, the first `preferred` of them from the preferred rows.  `of_rows` has the coefficients of
    each row in the directions, `of_cells` those of each single record, and `unseen` the remainder of each record that
    they do not span.
    """

    rows: Ints
    preferred: int
    of_rows: Floats
    of_cells: "_SparseNumbers"
    unseen: "_SparseNumbers"

    def parts(self, wanted: Ints) -> tuple[Floats, Bools]:
        """Return other rows as combinations of the directions, and which of them are outside their span.

        >>> found = directions(np.array([[1, 1, 1], [1, 2, 0]]), 1, np.ones(1))
        >>> parts, missing = found.parts(np.array([[3, 4, 2], [1, 0, 0]]))
        >>> parts[0].tolist(), missing.tolist()
        ([3.0, 1.0], [False, True])
        """
        found, zero = self.of_cells.combined(wanted)
        found[zero] = 0.0
        return found, np.asarray((~self.unseen.combined(wanted)[1]).any(axis=1), dtype=np.bool_)


@dataclass(frozen=True, eq=False)
class _SparseNumbers:
    """Numbers for each record, as floats and as remainders modulo the prime."""

    sizes: Floats
    remainders: Ints

    def combined(self, wanted: Ints) -> tuple[Floats, Bools]:
        """Return the products of rows with these numbers, and which of them are zero."""
        found = np.asarray(wanted.astype(np.float64) @ self.sizes)
        room = _ACCIDENT * (np.abs(wanted).astype(np.float64) @ np.abs(self.sizes))
        return found, np.asarray((_product(wanted, self.remainders) == 0) & (np.abs(found) <= room))


def directions(rows: Ints, preferred: int, weights: Floats) -> Directions:
    """Return the directions of integer rows: first of the first `preferred` rows, then of the weighted others."""
    m = len(rows)
    work = _Elimination(rows)
    work.take(np.arange(preferred), np.ones(preferred))
    first = len(work.given)
    work.take(np.arange(preferred, m), weights)
    rank = len(work.given)
    return Directions(
        np.array(work.given, dtype=np.int64),
        first,
        work.lower[:m, :rank],
        _SparseNumbers(work.lower[m:, :rank], work.remainders[m:, :rank]),
        _SparseNumbers(work.sizes[m:, work.columns], work.left[m:, work.columns]),
    )


class _Elimination:
    """Gaussian elimination of the rows, with an extra unit row for each record, which is never a pivot.

    `sizes` and `left` are the remainders of the rows after elimination, as floats and modulo the prime.
    """

    def __init__(self, rows: Ints) -> None:
        m, n = rows.shape
        self.sizes = np.vstack([rows.astype(np.float64), np.eye(n)])
        self.left = np.vstack([rows % PRIME, np.eye(n, dtype=np.int64)])
        self.room = _ACCIDENT * np.abs(self.sizes).max(axis=1, initial=0.0)
        self.lower = np.zeros((m + n, n))
        self.remainders = np.zeros((m + n, n), dtype=np.int64)
        self.open = np.ones(m + n, dtype=bool)
        self.columns: Ints = np.arange(n, dtype=np.int64)
        self.given: list[int] = []

    def take(self, rows: Ints, weights: Floats) -> None:
        """Add directions from some rows until nothing of these is left."""
        weight = np.zeros(len(self.open))
        weight[rows] = weights
        says = np.zeros(len(self.open))
        says[rows] = self._largest(rows) * weights
        while says.max(initial=0.0) > 0:
            row = int(says.argmax())
            changed = self._step(row)
            says[row] = 0.0
            changed = changed[weight[changed] > 0]
            says[changed] = self._largest(changed) * weight[changed]

    def _largest(self, rows: Ints) -> Floats:
        """Return the largest absolute value of each row among its entries that are certainly nonzero."""
        place = np.ix_(rows, self.columns)
        return np.asarray((np.abs(self.sizes[place]) * (self.left[place] != 0)).max(axis=1, initial=0.0))

    def _step(self, row: int) -> Ints:
        """Eliminate with the largest entry of a row as pivot; return the rows that changed."""
        step = len(self.given)
        at = int((np.abs(self.sizes[row, self.columns]) * (self.left[row, self.columns] != 0)).argmax())
        pivot, columns = self.columns[at], np.delete(self.columns, at)
        self.given.append(row)
        self.open[row] = False
        self.columns = columns
        touched = np.flatnonzero(self.open & ((self.left[:, pivot] != 0) | (self.sizes[:, pivot] != 0)))
        factor = self.sizes[touched, pivot] / self.sizes[row, pivot]
        remainder = self.left[touched, pivot] * pow(int(self.left[row, pivot]), -1, PRIME) % PRIME
        self.lower[row, step] = self.remainders[row, step] = 1
        self.lower[touched, step], self.remainders[touched, step] = factor, remainder
        place = np.ix_(touched, columns)
        left = (self.left[place] - remainder[:, None] * self.left[row, columns]) % PRIME
        sizes = self.sizes[place] - factor[:, None] * self.sizes[row, columns]
        sizes[(left == 0) & (np.abs(sizes) <= self.room[touched, None])] = 0.0
        self.left[place], self.sizes[place] = left, sizes
        return touched


def _product(whole: Ints, remainders: Ints) -> Ints:
    """Return whole @ remainders modulo the prime, by exact products of floats.

    >>> _product(np.array([[-3, 2**40]]), np.array([[PRIME - 1], [5]])).tolist() == [[(3 + 5 * 2**40) % PRIME]]
    True
    """
    halves = [(remainders >> shift & (1 << _HALF) - 1).astype(np.float64) for shift in (0, _HALF)]
    out: Ints = np.zeros((len(whole), remainders.shape[1]), dtype=np.int64)
    place, rest = 0, np.abs(whole)
    while rest.any():
        digit = (np.sign(whole) * (rest & (1 << _DIGIT) - 1)).astype(np.float64)
        for half, shift in zip(halves, (0, _HALF), strict=True):
            part = (digit @ half).astype(np.int64) % PRIME
            out = (out + part * pow(2, place + shift, PRIME)) % PRIME
        place, rest = place + _DIGIT, rest >> _DIGIT
    return out


# -- The pairs of records that limit the precision w = 1/s -------------------------------------------------------------


_PIECE = 1 << 22


class Pairs(Protocol):
    """The pairs of records that limit the precision."""

    @property
    def count(self) -> int:
        """The number of variables."""

    @property
    def size(self) -> int:
        """The number of pairs."""

    @property
    def entries(self) -> int:
        """The work of one pass over all pairs."""

    def used(self, w: Floats) -> Floats:
        """Return the fraction of each pair's limit that w uses."""

    def rows(self, chosen: Ints) -> Floats:
        """Return the dense rows of some pairs: w uses the fractions `rows @ w` of their limits."""

    def own(self, room: Floats | None = None) -> tuple[Floats, Ints]:
        """Return the largest value of each variable alone, and its limiting pair; `room` is the free part of pairs."""

    def worst(self, values: Floats) -> Floats:
        """Return for each variable the largest of one value per pair, over the pairs on which the variable changes."""

    def touched(self, chosen: Ints) -> Bools:
        """Return which variables change on any of some pairs."""

    def among(self, variables: Ints) -> Self:
        """Return the same pairs restricted to some of the variables."""


@dataclass(frozen=True, eq=False)
class SparsePairs:
    """Pairs as a sparse system `loads @ w <= limits`, all limits positive."""

    loads: Any
    limits: Floats

    @property
    def count(self) -> int:
        """The number of columns."""
        return int(self.loads.shape[1])

    @property
    def size(self) -> int:
        """The number of rows."""
        return int(self.loads.shape[0])

    @property
    def entries(self) -> int:
        """The number of stored entries."""
        return int(self.loads.nnz)

    def used(self, w: Floats) -> Floats:
        """Return loads divided by limits."""
        return np.asarray(self.loads @ w / self.limits, dtype=np.float64)

    def rows(self, chosen: Ints) -> Floats:
        """Return some rows, divided by their limits."""
        return np.asarray(self.loads[chosen].toarray() / self.limits[chosen, None], dtype=np.float64)

    @cached_property
    def _by_variable(self) -> tuple[Ints, Ints, Floats]:
        """For every entry, ordered by variable: the variable, the pair, and the fraction of its limit."""
        csc = self.loads.tocsc()
        column = np.repeat(np.arange(self.count), np.diff(csc.indptr))
        pair = csc.indices.astype(np.int64)
        return column, pair, csc.data / self.limits[pair]

    def own(self, room: Floats | None = None) -> tuple[Floats, Ints]:
        """Return the smallest ratio of room to load of each column."""
        return self._alone if room is None else self._within(room)

    @cached_property
    def _alone(self) -> tuple[Floats, Ints]:
        return self._within(np.ones(self.size))

    def _within(self, room: Floats) -> tuple[Floats, Ints]:
        column, pair, part = self._by_variable
        alone = room[pair] / part
        some, starts = self._starts
        best, at = np.full(self.count, np.inf), np.zeros(self.count, dtype=np.int64)
        if len(some):
            best[some] = np.minimum.reduceat(alone, starts)
            tightest = np.flatnonzero(alone == best[column])
            at[column[tightest][::-1]] = pair[tightest][::-1]  # the first of equally tight pairs
        return best, at

    @cached_property
    def _starts(self) -> tuple[Ints, Ints]:
        """The variables with entries, and the start of the entries of each."""
        some, starts = np.unique(self._by_variable[0], return_index=True)
        return some.astype(np.int64), starts.astype(np.int64)

    def worst(self, values: Floats) -> Floats:
        """Return the largest value over the entries of each column."""
        some, starts = self._starts
        out = np.zeros(self.count)
        if len(some):
            out[some] = np.maximum.reduceat(values[self._by_variable[1]], starts)
        return out

    def touched(self, chosen: Ints) -> Bools:
        """Return the columns with an entry."""
        out = np.zeros(self.count, dtype=bool)
        out[self.loads[chosen].indices] = True
        return out

    def among(self, variables: Ints) -> "SparsePairs":
        """Return the pairs with some of the columns."""
        if len(variables) == self.count:
            return self
        return SparsePairs(self.loads.tocsc()[:, variables].tocsr(), self.limits)


@dataclass(frozen=True, eq=False)
class DensePairs:
    """Pairs of columns: `lines` has a line of numbers for each record; `first` and `second` are the lines of each pair.

    An infinite limit means no constraint.
    """

    lines: Floats
    first: Ints
    second: Ints
    limits: Floats

    @property
    def count(self) -> int:
        """The number of variables in a line."""
        return int(self.lines.shape[1])

    @property
    def size(self) -> int:
        """The number of pairs."""
        return len(self.limits)

    @property
    def entries(self) -> int:
        """The product of pairs and variables."""
        return self.size * self.count

    @cached_property
    def _part(self) -> Floats:
        return 1.0 / self.limits

    @cached_property
    def _complete(self) -> bool:
        """Whether these are all pairs of lines, in the order of `pdist`."""
        n = len(self.lines)
        if self.size != n * (n - 1) // 2:
            return False
        first, second = np.triu_indices(n, 1)
        return bool(np.array_equal(first, self.first) and np.array_equal(second, self.second))

    @cached_property
    def _columns(self) -> Floats:
        return np.ascontiguousarray(self.lines.T)

    def used(self, w: Floats) -> Floats:
        """Return the weighted l1 distances of lines over limits; differences come first, to lose no digits."""
        from scipy.spatial.distance import pdist

        if self._complete and (w > 0).any():
            some = np.flatnonzero(w)
            return np.asarray(pdist(self.lines[:, some], "cityblock", w=w[some]) * self._part, dtype=np.float64)
        out = np.empty(self.size)
        piece = max(16, _PIECE // 8 // max(self.count, 1))
        for start in range(0, self.size, piece):
            part = slice(start, start + piece)
            out[part] = self._apart(self.first[part], self.second[part]) @ w
        return out * self._part

    def _apart(self, first: Ints, second: Ints) -> Floats:
        apart = self.lines.take(first, axis=0)
        apart -= self.lines.take(second, axis=0)
        return np.abs(apart, out=apart)

    def rows(self, chosen: Ints) -> Floats:
        """Return absolute differences of lines over limits."""
        return self._apart(self.first[chosen], self.second[chosen]) * self._part[chosen, None]

    def _changes(self, variable: int) -> Floats:
        """Return the absolute change of one variable on each pair."""
        from scipy.spatial.distance import pdist

        numbers = self._columns[variable]
        if self._complete:
            return np.asarray(pdist(numbers[:, None], "cityblock"), dtype=np.float64)
        return np.asarray(np.abs(numbers[self.first] - numbers[self.second]), dtype=np.float64)

    def own(self, room: Floats | None = None) -> tuple[Floats, Ints]:
        """Compute one variable at a time, with memory for one number per pair."""
        return self._alone if room is None else self._within(room)

    @cached_property
    def _alone(self) -> tuple[Floats, Ints]:
        return self._within(np.ones(self.size))

    def _within(self, room: Floats) -> tuple[Floats, Ints]:
        with np.errstate(divide="ignore"):
            strain = np.where(room > 0, self._part / np.where(room > 0, room, 1.0), np.inf)
        blocked = np.isinf(strain)
        any_blocked = bool(blocked.any())
        best, at = np.full(self.count, np.inf), np.zeros(self.count, dtype=np.int64)
        for k in range(self.count):
            changes = self._changes(k)
            if any_blocked and bool((blocked & (changes > 0)).any()):
                best[k], at[k] = 0.0, int((blocked & (changes > 0)).argmax())
                continue
            changes *= np.where(blocked, 0.0, strain) if any_blocked else strain
            at[k] = int(changes.argmax())
            most = float(changes[at[k]])
            best[k] = 1.0 / most if most > 0 else np.inf
        return best, at

    def worst(self, values: Floats) -> Floats:
        """Compute the largest values, one variable at a time."""
        return np.array([float(values[self._changes(k) > 0].max(initial=0.0)) for k in range(self.count)])

    def touched(self, chosen: Ints) -> Bools:
        """Return the variables that differ on any of the pairs."""
        out = np.zeros(self.count, dtype=bool)
        piece = max(16, _PIECE // max(self.count, 1))
        for start in range(0, len(chosen), piece):
            some = chosen[start : start + piece]
            out |= (self._apart(self.first[some], self.second[some]) > 0).any(axis=0)
        return out

    def among(self, variables: Ints) -> "DensePairs":
        """Return the pairs with some of the variables."""
        if len(variables) == self.count:
            return self
        return replace(self, lines=np.ascontiguousarray(self.lines[:, variables]))
