"""Counts by cell, held for the cells that have any: what rows are answered from.

A cell is told by its attributes, one column each, so that it needs no number of its own, and only the attributes that
somebody asks about need a column.  Like the histogram that it is part of, it never shows a count.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from dxprivacy.errors import UsageError
from dxprivacy.exact.arrays import Ints, read_only
from dxprivacy.universe.universe import Universe
from dxprivacy.wording import repr_of_half_built


class Counted(Protocol):
    """Counts by cell, at least as fine as some attributes."""

    def over(self, axes: Sequence[int]) -> "Occupied":
        """Counts by cell in which these attributes can be told."""

    def by_person(self, axes: Sequence[int]) -> "Occupied":
        """The same, and whose they are."""


@repr_of_half_built
class Occupied:
    """How many records stand in each of some cells, which differ in the attributes that have a column.

    >>> u = Universe.listed(["a", "b", "c"])
    >>> some = Occupied.dense(u, np.array([4, 0, 1]))
    >>> some, some.along(0).tolist()
    (Occupied(by element, counts hidden), [0, 2])
    """

    def __init__(
        self, universe: Universe, columns: Mapping[int, Ints], counts: Ints, person: Ints | None = None
    ) -> None:
        self.universe, self.counts = universe, read_only(counts)
        self.person = None if person is None else read_only(person)  # below 0: so many people, with a row each
        self._columns = {axis: read_only(column) for axis, column in columns.items()}

    @classmethod
    def dense(cls, universe: Universe, counts: Ints) -> "Occupied":
        """From one count for each cell; nothing counts an absent record."""
        cells = np.flatnonzero(counts[: universe.cells]).astype(np.int64)
        columns = {axis: universe.along(axis, cells) for axis in range(len(universe.shape))}
        return cls(universe, columns, counts[cells])

    @property
    def axes(self) -> tuple[int, ...]:
        """The attributes in which the cells differ."""
        return tuple(self._columns)

    def along(self, axis: int) -> Ints:
        """The value of one attribute in each cell."""
        return self._columns[axis]

    def over(self, axes: Sequence[int]) -> "Occupied":
        """These counts, if the attributes can be told."""
        if not set(axes) <= set(self._columns):
            raise UsageError("a query about attributes that were not counted", hints=["count the whole records"])
        return self

    def by_person(self, axes: Sequence[int]) -> "Occupied":
        """These counts, if it is known whose they are."""
        if self.person is None:
            raise UsageError("a query about people, whose rows were not told apart", hints=["a session counts them"])
        return self.over(axes)

    @property
    def cells(self) -> Ints:
        """The numbers of the cells; only where they differ in all attributes."""
        total = self.universe.numbered(np.zeros(len(self.counts), dtype=np.int64))
        for axis in range(len(self.universe.shape)):
            total = total + self.universe.offsets(axis, self.over([axis]).along(axis))
        return total

    def __repr__(self) -> str:
        names = ", ".join(self.universe.names[axis] for axis in self._columns)
        return f"Occupied(by {names or 'nothing'}, counts hidden)"
