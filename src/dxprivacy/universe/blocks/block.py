"""The interface of blocks: groups of rows of the workload matrix Q."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dxprivacy.errors import QueryError, TooLarge
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.universe.occupied import Occupied
from dxprivacy.universe.universe import Universe

ENTRIES_AT_ONCE = 1 << 22
"""The number of entries (rows x pairs of records) of differences held in memory at once."""

Differences = tuple[Ints, Ints, Ints]
"""Sparse |Q_ki - Q_kj|: for each nonzero entry, the position of the pair, the row, and the amount."""


class Rows(ABC):
    """Some rows of Q, with what bounds on the privacy loss need: which records differ, and by how much."""

    universe: Universe
    rows: int

    @property
    @abstractmethod
    def axes(self) -> tuple[int, ...]:
        """The attributes on which these rows depend."""

    @property
    def width(self) -> int:
        """The largest number of rows in which one record can count."""
        return self.rows

    @abstractmethod
    def moving(self, axis: int) -> Ints:
        """Return classes of values along `axis`: within a class, no answer changes, in any context."""

    @abstractmethod
    def context(self, axis: int, *, uniform: bool) -> Ints:
        """Return classes of values along `axis` with equal effect on changes along ANOTHER attribute.

        `uniform` says that all rows of the block have the same scale.
        """

    def strengths(self, axis: int, *, uniform: bool) -> tuple[Ints, Ints]:
        """Return the same classes in order: the kind of each value and its strength.

        If two values are of one kind, a change along another attribute has at least as much effect in each row with
        the stronger value as with the weaker one.  With strength 0 it has none.
        """
        kinds = self.context(axis, uniform=uniform)
        return kinds, np.ones(len(kinds), dtype=np.int64)

    def lines(self, axis: int) -> tuple[Ints, Ints | None]:
        """Return for each value along `axis` a kind and an integer x, such that columns of one kind are A + x B.

        A and B depend on the other attributes only, and are the same for all values of a kind.  If the numbers x are
        None, all columns of a kind are equal.
        """
        return self.moving(axis), None

    @abstractmethod
    def loads(self, i: Ints, j: Ints, weights: Floats) -> Floats:
        """Return sum_k w_k |Q_ki - Q_kj| for each pair; each term is rounded a few times at most."""

    @abstractmethod
    def peaks(self, i: Ints, j: Ints, weights: Floats) -> Floats:
        """Return the largest w_k |Q_ki - Q_kj| for each pair."""

    @abstractmethod
    def reach(self, weights: Floats) -> float:
        """Return an upper bound on sum_k w_k |Q_ki - Q_kj| over all pairs, up to float rounding."""

    @abstractmethod
    def ends(self, *, absent: bool) -> tuple[Ints, Ints] | None:
        """Return for each row a record with its smallest entry and one with its largest; None if not known.

        With `absent`, the absent record counts too, if the universe has one.
        """

    def widest(self, weights: Floats, *, absent: bool) -> tuple[Ints, Ints] | None:  # noqa: ARG002
        """Return pairs of records that include one with the largest sum_k w_k |Q_ki - Q_kj|; None if not known."""
        return None

    def summit(self, weights: Floats) -> float:
        """Return the largest w_k |Q_ki - Q_kj| over all rows and pairs, or an upper bound, up to float rounding."""
        found = self.ends(absent=True)
        return float(self.peaks(*found, weights).max()) if found is not None else self.reach(weights)


def pieces(width: int, pairs: int) -> Iterator[slice]:
    """Yield slices of pairs, small enough that their differences in `width` rows fit into memory.

    >>> list(pieces(ENTRIES_AT_ONCE // 2, 3))
    [slice(0, 2, None), slice(2, 4, None)]
    """
    step = max(ENTRIES_AT_ONCE // max(width, 1), 1)
    return (slice(start, start + step) for start in range(0, pairs, step))


class Block(Rows):
    """Some rows of Q on the integer grid."""

    kind: ClassVar[str]
    by_pairs: ClassVar[bool] = True  # whether its cost is accounted pair by pair; otherwise it is proportional
    unit: Fraction
    bias: Fraction

    @abstractmethod
    def differences(self, i: Ints, j: Ints) -> Differences:
        """Return |Q_ki - Q_kj| of many pairs, sparse."""

    def loads(self, i: Ints, j: Ints, weights: Floats) -> Floats:
        """Return sum_k w_k |Q_ki - Q_kj| for each pair."""
        pair, row, amount = self.differences(i, j)
        return np.asarray(np.bincount(pair, weights=amount * weights[row], minlength=len(i)), dtype=np.float64)

    def peaks(self, i: Ints, j: Ints, weights: Floats) -> Floats:
        """Return the largest w_k |Q_ki - Q_kj| for each pair."""
        pair, row, amount = self.differences(i, j)
        out = np.zeros(len(i))
        np.maximum.at(out, pair, amount * weights[row])
        return out

    @abstractmethod
    def answer(self, counts: Occupied) -> Ints:
        """Return Q x exactly, for sparse counts of records."""

    @property
    @abstractmethod
    def largest(self) -> int:
        """The largest absolute entry."""

    @property
    @abstractmethod
    def peak_of_row(self) -> Ints:
        """An upper bound on the absolute entries of each row; 0 only if a row counts no record."""

    @abstractmethod
    def parts(self) -> tuple[Ints, ...]:
        """The arrays that determine these rows."""

    @abstractmethod
    def columns(self, cells: Ints) -> Ints:
        """Return the columns Q_i of some records, side by side."""

    def row(self, k: int) -> "Block":
        """Return one of its rows as a block of the same kind."""
        if not 0 <= k < self.rows:
            raise QueryError(f"there is no row {k + 1} among {self.rows:,}")
        return self._row(k)

    @abstractmethod
    def _row(self, k: int) -> "Block":
        """Return row k; its number has been checked."""

    def extremes(self) -> tuple[Floats, Floats]:
        """Return the smallest and the largest entry of each row over all records without `absent`."""
        rows = self.dense()[:, : self.universe.cells].astype(np.float64)
        return rows.min(axis=1), rows.max(axis=1)

    def spans(self, *, absent: bool = False) -> Floats:
        """Return the largest minus the smallest entry of each row; with `absent`, an absent record counts as 0."""
        low, high = self.extremes()
        if absent and self.universe.absent is not None:
            low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)
        return high - low

    def dense(self) -> Ints:
        """Return the matrix itself; for tests and small universes."""
        return self.columns(np.arange(self.universe.size, dtype=np.int64))


def largest_entry(entries: Ints) -> int:
    """Return the largest absolute value; correct also for -2^63, whose 64-bit absolute value overflows.

    >>> largest_entry(np.array([-(2**63), 5])) == 2**63
    True
    """
    return max(int(entries.max(initial=0)), -int(entries.min(initial=0)))


def require_exact(largest: int) -> None:
    """Raise TooLarge unless sums over a few rows fit into 64 bits, and floats represent single entries exactly."""
    if largest >= 1 << 53:
        raise TooLarge("a query's numbers are too large for exact arithmetic", hints=["use larger units"])


def joint_classes(classes: Sequence[Ints], size: int) -> Ints:
    """Return the common refinement of several partitions of `size` values.

    >>> joint_classes([np.array([0, 0, 1]), np.array([0, 1, 1])], 3).tolist()
    [0, 1, 2]
    """
    distinct = [c for c in classes if c.any()]
    if not distinct:
        return np.zeros(size, dtype=np.int64)
    if len(distinct) == 1:
        return distinct[0]
    return classes_of_rows(np.stack(distinct, axis=1))


_MANY_COLUMNS = 16


def _by_sums(rows: Ints) -> Ints | None:
    """Number distinct long rows by hashes (weighted sums); None if different rows have the same hash."""
    if rows.dtype != np.int64:
        return None
    weights = np.arange(1, rows.shape[1] + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    weights ^= weights >> np.uint64(29)  # any weights work; these make collisions unlikely
    _, first, which = np.unique(rows @ weights.astype(np.int64), return_index=True, return_inverse=True)
    which = which.reshape(-1)
    if not np.array_equal(rows, rows[first[which]]):
        return None
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[which]


def classes_of_rows(rows: Ints) -> Ints:
    """Number the distinct rows: short rows in lexicographic order, long rows in order of first occurrence.

    >>> classes_of_rows(np.array([[1, 5], [0, 7], [1, 5]])).tolist()
    [1, 0, 1]
    """
    if not len(rows):
        return np.zeros(0, dtype=np.int64)
    if rows.shape[1] > _MANY_COLUMNS and (found := _by_sums(rows)) is not None:
        return found
    columns = [column for column in rows.T if (column != column[0]).any()]
    if not columns:
        return np.zeros(len(rows), dtype=np.int64)
    order = np.lexsort(columns[::-1])  # several times faster than sorting rows as such
    new = np.zeros(len(rows), dtype=bool)
    for column in columns:
        new[1:] |= column[order[1:]] != column[order[:-1]]
    out = np.empty(len(rows), dtype=np.int64)
    out[order] = np.cumsum(new)
    return out
