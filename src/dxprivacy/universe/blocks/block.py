"""What every group of rows of the workload matrix Q can do."""

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
"""Rows x pairs of records whose differences are held at once."""

Differences = tuple[Ints, Ints, Ints]
"""Sparse |Q_ki - Q_kj|: for each non-zero entry the pair's position, the row, the amount."""


class Rows(ABC):
    """Some rows of Q, as far as bounds need them: what tells records apart, and by how much."""

    universe: Universe
    rows: int

    @property
    @abstractmethod
    def axes(self) -> tuple[int, ...]:
        """The attributes that matter to these rows."""

    @property
    def width(self) -> int:
        """In how many rows one record can count, at most."""
        return self.rows

    @abstractmethod
    def moving(self, axis: int) -> Ints:
        """Classes of values along `axis`: within a class no answer changes, in any context."""

    @abstractmethod
    def context(self, axis: int, *, uniform: bool) -> Ints:
        """Classes of values along `axis` that make no difference to what a move along ANOTHER attribute changes.

        `uniform` says that all rows of the block have the same scale.
        """

    def strengths(self, axis: int, *, uniform: bool) -> tuple[Ints, Ints]:
        """The same classes in order: the kind of each value and its strength.

        Of two values of one kind, whatever a move along another attribute changes beside the weaker it changes at least
        as much beside the stronger, row by row; beside strength 0 it changes nothing.
        """
        kinds = self.context(axis, uniform=uniform)
        return kinds, np.ones(len(kinds), dtype=np.int64)

    def lines(self, axis: int) -> tuple[Ints, Ints | None]:
        """A kind for each value along `axis`, and a whole number x: the columns of one kind are A + x B.

        A and B depend on the other attributes, and are the same for all values of the kind; None where x is.
        """
        return self.moving(axis), None

    @abstractmethod
    def loads(self, i: Ints, j: Ints, weights: Floats) -> Floats:
        """sum_k w_k |Q_ki - Q_kj| for each pair, each term rounded a few times at most."""

    @abstractmethod
    def peaks(self, i: Ints, j: Ints, weights: Floats) -> Floats:
        """The largest w_k |Q_ki - Q_kj| for each pair."""

    @abstractmethod
    def reach(self, weights: Floats) -> float:
        """Not less than the largest sum_k w_k |Q_ki - Q_kj| over all pairs, up to a few roundings."""

    @abstractmethod
    def ends(self, *, absent: bool) -> tuple[Ints, Ints] | None:
        """For each row a record with its least entry and one with its largest, perhaps an absent one; None: not known.

        `absent` says that absence counts too, where the universe has it.
        """

    def widest(self, weights: Floats, *, absent: bool) -> tuple[Ints, Ints] | None:  # noqa: ARG002
        """Pairs of records among which the largest sum_k w_k |Q_ki - Q_kj| of all is found; None: not known."""
        return None

    def summit(self, weights: Floats) -> float:
        """The largest w_k |Q_ki - Q_kj| over all rows and pairs, or a bound of it, up to a few roundings."""
        found = self.ends(absent=True)
        return float(self.peaks(*found, weights).max()) if found is not None else self.reach(weights)


def pieces(width: int, pairs: int) -> Iterator[slice]:
    """Slices of many pairs, so few at a time that their differences in `width` rows fit into memory.

    >>> list(pieces(ENTRIES_AT_ONCE // 2, 3))
    [slice(0, 2, None), slice(2, 4, None)]
    """
    step = max(ENTRIES_AT_ONCE // max(width, 1), 1)
    return (slice(start, start + step) for start in range(0, pairs, step))


class Block(Rows):
    """Some rows of Q on the integer grid."""

    kind: ClassVar[str]
    by_pairs: ClassVar[bool] = True  # whether pairs of records tell what it costs; otherwise it is accounted as a whole
    unit: Fraction
    bias: Fraction

    @abstractmethod
    def differences(self, i: Ints, j: Ints) -> Differences:
        """|Q_ki - Q_kj| of many pairs, sparse."""

    def loads(self, i: Ints, j: Ints, weights: Floats) -> Floats:
        """sum_k w_k |Q_ki - Q_kj| for each pair."""
        pair, row, amount = self.differences(i, j)
        return np.asarray(np.bincount(pair, weights=amount * weights[row], minlength=len(i)), dtype=np.float64)

    def peaks(self, i: Ints, j: Ints, weights: Floats) -> Floats:
        """The largest w_k |Q_ki - Q_kj| for each pair."""
        pair, row, amount = self.differences(i, j)
        out = np.zeros(len(i))
        np.maximum.at(out, pair, amount * weights[row])
        return out

    @abstractmethod
    def answer(self, counts: Occupied) -> Ints:
        """Q x, exactly, for the records that stand in some cells."""

    @property
    @abstractmethod
    def largest(self) -> int:
        """The largest absolute entry."""

    @property
    @abstractmethod
    def peak_of_row(self) -> Ints:
        """The largest absolute entry of each row, or more: 0 only where a row counts nobody."""

    @abstractmethod
    def parts(self) -> tuple[Ints, ...]:
        """The arrays that determine these rows."""

    @abstractmethod
    def columns(self, cells: Ints) -> Ints:
        """The columns Q_i of some cells, side by side."""

    def row(self, k: int) -> "Block":
        """One of its rows as a block of its own, of the same kind."""
        if not 0 <= k < self.rows:
            raise QueryError(f"there is no row {k + 1} among {self.rows:,}")
        return self._row(k)

    @abstractmethod
    def _row(self, k: int) -> "Block":
        """Row k, which exists."""

    def extremes(self) -> tuple[Floats, Floats]:
        """Per row its least and its largest entry over all records that are present."""
        rows = self.dense()[:, : self.universe.cells].astype(np.float64)
        return rows.min(axis=1), rows.max(axis=1)

    def spans(self, *, absent: bool = False) -> Floats:
        """Per row its largest minus its least entry; with `absent`, absence counts as 0 where the universe has it."""
        low, high = self.extremes()
        if absent and self.universe.absent is not None:
            low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)
        return high - low

    def dense(self) -> Ints:
        """The matrix itself; for tests and small universes."""
        return self.columns(np.arange(self.universe.size, dtype=np.int64))


def largest_entry(entries: Ints) -> int:
    """The largest absolute value, also of -2^63, whose absolute value in 64 bits is negative.

    >>> largest_entry(np.array([-(2**63), 5])) == 2**63
    True
    """
    return max(int(entries.max(initial=0)), -int(entries.min(initial=0)))


def require_exact(largest: int) -> None:
    """Differences and sums over few rows stay within 64 bits, and floats hold single entries exactly."""
    if largest >= 1 << 53:
        raise TooLarge("a query's numbers are too large for exact arithmetic", hints=["use larger units"])


def joint_classes(classes: Sequence[Ints], size: int) -> Ints:
    """Values alike in all of several partitions of `size` values.

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
    """The same for long rows: equal rows have equal weighted sums, and it is checked that no others have."""
    if rows.dtype != np.int64:
        return None
    weights = np.arange(1, rows.shape[1] + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    weights ^= weights >> np.uint64(29)  # any weights would do
    _, first, which = np.unique(rows @ weights.astype(np.int64), return_index=True, return_inverse=True)
    which = which.reshape(-1)
    if not np.array_equal(rows, rows[first[which]]):
        return None
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[which]


def classes_of_rows(rows: Ints) -> Ints:
    """Number the distinct rows: short ones in their order, long ones in that of their first occurrence.

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
