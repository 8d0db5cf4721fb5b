"""The histogram: the number of rows of each possible record.

This is the one object that holds true counts. It never shows them by itself: neither its `repr` nor any error text
contains a count, so that it can pass through logs and tracebacks.

It holds only possible records that have rows. It may distinguish them by some attributes only: those that queries use,
in one table, or in several if one would be too large.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from dxprivacy.errors import DataError, TooLarge, UsageError
from dxprivacy.exact.arrays import Ints, read_only
from dxprivacy.universe.occupied import Occupied
from dxprivacy.universe.universe import Universe
from dxprivacy.wording import repr_of_half_built

MAX_DENSE = 1 << 28
"""Largest number of possible records for which a count of each can be held at once."""
_TOO_LARGE = 1 << 62


@repr_of_half_built
@dataclass(frozen=True, repr=False, eq=False)
class Histogram:
    """Row counts of the possible records, in one table or in several coarser ones of the same rows.

    >>> h = Histogram.of(Universe.listed(["a", "b", "c"]), [4, 0, 1])
    >>> h, h.total
    (Histogram(3 cells, counts hidden), 5)
    """

    universe: Universe
    tables: tuple[Occupied, ...] = field(repr=False)
    people: tuple[Occupied, ...] = field(default=(), repr=False)  # the same rows, by person
    most: int | None = None  # how many rows there can be: public, where their own number is private

    @classmethod
    def of(cls, universe: Universe, counts: object) -> "Histogram":
        """Build from a list or an array of any integer-valued type, one number for each possible record."""
        return cls(universe, (Occupied.dense(universe, _checked(counts, universe.size)),))

    @classmethod
    def joined(
        cls,
        universe: Universe,
        parts: Iterable[tuple[Sequence[int], "Histogram"]],
        people: Iterable[Occupied] = (),
        most: int | None = None,
    ) -> "Histogram":
        """Combine histograms of the same rows, by some attributes each, into one of the whole universe."""
        tables = []
        for axes, part in parts:
            (table,) = part.tables
            columns = {axis: table.along(k) for k, axis in enumerate(axes)}
            tables.append(Occupied(universe, columns, table.counts))
        return cls(universe, tuple(tables), tuple(people), most)

    def over(self, axes: Sequence[int]) -> Occupied:
        """Return the counts of a table that distinguishes at least these attributes."""
        for table in self.tables:
            if set(axes) <= set(table.axes):
                return table
        raise UsageError("a query about attributes that were not counted", hints=["count the whole records"])

    def by_person(self, axes: Sequence[int]) -> Occupied:
        """Return the counts by person of a table that distinguishes at least these attributes."""
        for table in self.people:
            if set(axes) <= set(table.axes):
                return table
        raise UsageError("a query about people, but rows were not counted by person", hints=["a session counts them"])

    @cached_property
    def counts(self) -> Ints:
        """One count for each possible record, for callers that need all of them."""
        if self.universe.size > MAX_DENSE:
            raise TooLarge(
                f"{self.universe.cells:,} possible records are too many to hold a count for each",
                hints=["ask about some of the attributes"],
            )
        whole = np.zeros(self.universe.size, dtype=np.int64)
        table = self.over(range(len(self.universe.shape)))
        np.add.at(whole, table.cells, table.counts)
        return read_only(whole)

    @property
    def public_records(self) -> int:
        """The number of rows if it is public; if it is private, how many there can be.

        If there are more rows than were declared, answers may wrap around 64 bits. That is wrong, but private: (A x +
        Y) mod 2^64 is post-processing of A x + Y. A refusal would reveal something about their number.
        """
        if self.universe.absent is None:
            return self.total
        most = self.universe.max_records if self.most is None else self.most
        if most is None:
            raise DataError("the number of people is missing; it is public", hints=["a session counts them"])
        return most

    @property
    def total(self) -> int:
        """The number of rows; refused if the policy makes it private."""
        if self.universe.absent is not None:
            raise DataError("the number of records is private under this policy", hints=[("count", "with noise")])
        return int(self.tables[0].counts.sum())

    def __repr__(self) -> str:
        return f"Histogram({self.universe.size:,} cells, counts hidden)"


def _checked(counts: object, size: int) -> Ints:
    """Return a read-only int64 copy of `counts`; no refusal contains a count."""
    array = _as_array(counts)
    if array is None or array.dtype.kind not in "iuf":
        raise DataError("counts must be whole numbers", hints=["give one whole number for each possible record"])
    if array.shape != (size,):
        shape = " × ".join(f"{n:,}" for n in array.shape) or "a single number"
        raise DataError(f"counts have the wrong shape: {shape} instead of {size:,}, one for each possible record")
    if array.dtype.kind == "f" and not (np.isfinite(array).all() and (array == np.trunc(array)).all()):
        raise DataError("counts must be whole numbers", details=["Some are fractional, infinite or not a number."])
    if size and array.min() < 0:
        raise DataError("counts must not be negative")
    # The sum bounds every single count, and float64 is exact enough to detect a sum of 2^62.
    if float(array.sum(dtype=np.float64)) >= _TOO_LARGE:
        raise DataError("counts are too large for 64-bit whole numbers")
    out = array.astype(np.int64)
    out.setflags(write=False)
    return out


def _as_array(counts: object) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]] | None:
    """Return counts as a numpy array, or None if they are not a rectangle of numbers."""
    try:
        array = np.asarray(counts)
        if array.dtype.kind == "O" and all(type(x) is int for x in array.flat):
            array = array.astype(np.float64)  # whole numbers beyond 64 bits, refused for their size later
        if array.size == 0:
            array = array.astype(np.int64)  # an empty list has no type of its own
    except (ValueError, TypeError, OverflowError):
        return None
    return array
