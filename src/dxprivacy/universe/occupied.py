"""Sparse counts of possible records: those with a nonzero count, from which rows are answered.

A possible record is identified by its attribute values, one column per attribute, so no index is needed, and only
queried attributes need a column.  Like the histogram it belongs to, this object never shows a count.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from dxprivacy.errors import UsageError
from dxprivacy.exact.arrays import Ints, read_only
from dxprivacy.universe.universe import Universe
from dxprivacy.wording import repr_of_half_built


class Counted(Protocol):
    """Counts of possible records, at least as fine as some attributes."""

    def over(self, axes: Sequence[int]) -> "Occupied":
        """Return counts with a column for each of these attributes."""

    def by_person(self, axes: Sequence[int]) -> "Occupied":
        """Return the same counts, with the person of each."""


@repr_of_half_built
class Occupied:
    """Counts of records by the values of those attributes that have a column.

    >>> u = Universe.listed(["a", "b", "c"])
    >>> some = Occupied.dense(u, np.array([4, 0, 1]))
    >>> some, some.along(0).tolist()
    (Occupied(by element, counts hidden), [0, 2])
    """

    def __init__(
        self, universe: Universe, columns: Mapping[int, Ints], counts: Ints, person: Ints | None = None
    ) -> None:
        self.universe, self.counts = universe, read_only(counts)
        self.person = None if person is None else read_only(person)  # < 0: people with one row each
        self._columns = {axis: read_only(column) for axis, column in columns.items()}

    @classmethod
    def dense(cls, universe: Universe, counts: Ints) -> "Occupied":
        """Return the nonzero counts of an array with one count per possible record; absent records are not counted."""
        cells = np.flatnonzero(counts[: universe.cells]).astype(np.int64)
        columns = {axis: universe.along(axis, cells) for axis in range(len(universe.shape))}
        return cls(universe, columns, counts[cells])

    @property
    def axes(self) -> tuple[int, ...]:
        """The attributes that have a column."""
        return tuple(self._columns)

    def along(self, axis: int) -> Ints:
        """Return the column of one attribute."""
        return self._columns[axis]

    def over(self, axes: Sequence[int]) -> "Occupied":
        """Return these counts; raise UsageError if an attribute has no column."""
        if not set(axes) <= set(self._columns):
            raise UsageError("a query about attributes that were not counted", hints=["count the whole records"])
        return self

    def by_person(self, axes: Sequence[int]) -> "Occupied":
        """Return these counts; raise UsageError if the person of each is not known."""
        if self.person is None:
            raise UsageError("a query about people needs counts by person", hints=["a session counts them"])
        return self.over(axes)

    @property
    def cells(self) -> Ints:
        """The indices of the possible records; all attributes need a column."""
        total = self.universe.numbered(np.zeros(len(self.counts), dtype=np.int64))
        for axis in range(len(self.universe.shape)):
            total = total + self.universe.offsets(axis, self.over([axis]).along(axis))
        return total

    def __repr__(self) -> str:
        names = ", ".join(self.universe.names[axis] for axis in self._columns)
        return f"Occupied(by {names or 'nothing'}, counts hidden)"
