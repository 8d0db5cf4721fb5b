"""Counts of people with several rows: each group counts the people with at least one row in it.

Such a count is not a sum over rows, so the effect of a row is not given by a column.  Its cost is computed for whole
people (`privacy/people_costs.py`), and methods about the loss of single rows raise an error.
"""

from fractions import Fraction
from typing import NoReturn

import numpy as np

from dxprivacy.errors import NotCertified
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.universe.blocks.block import Block, Differences
from dxprivacy.universe.blocks.one_hot import OneHot
from dxprivacy.universe.occupied import Occupied


class PeopleTable(Block):
    """A table whose groups count people."""

    kind = "people"
    by_pairs = False
    unit, bias = Fraction(1), Fraction(0)

    def __init__(self, groups: OneHot) -> None:
        self.groups, self.universe, self.rows = groups, groups.universe, groups.rows

    @property
    def axes(self) -> tuple[int, ...]:
        return self.groups.axes

    @property
    def largest(self) -> int:
        return 1

    @property
    def peak_of_row(self) -> Ints:
        return self.groups.peak_of_row

    def answer(self, counts: Occupied) -> Ints:
        """Return the number of people with at least one row in each group; `counts` must name the people."""
        person = counts.person
        if person is None:
            raise NotCertified("counts of people need to know the person of each row")
        row, value = self.groups.place_of(counts)
        inside = np.flatnonzero(value)
        row, person, rows = row[inside], person[inside], counts.counts[inside]
        own = person < 0  # these counts are numbers of people with one row each
        out = np.bincount(row[own], weights=rows[own], minlength=self.rows).astype(np.int64)
        pairs = np.unique(np.stack([row[~own], person[~own]], axis=1), axis=0)
        return out + np.bincount(pairs[:, 0], minlength=self.rows)

    def parts(self) -> tuple[Ints, ...]:
        return self.groups.parts()

    def columns(self, cells: Ints) -> Ints:
        """Return which groups a row belongs to."""
        return self.groups.columns(cells)

    def extremes(self) -> tuple[Floats, Floats]:
        """Return whether a row can be outside of each group, and inside."""
        return self.groups.extremes()

    def ends(self, *, absent: bool) -> tuple[Ints, Ints]:
        """Return for each group a row outside and a row inside."""
        return self.groups.ends(absent=absent)

    def _row(self, k: int) -> "PeopleTable":
        return PeopleTable(self.groups._row(k))

    def moving(self, axis: int) -> Ints:
        return self.groups.moving(axis)

    def context(self, axis: int, *, uniform: bool) -> Ints:  # noqa: ARG002
        return _not_by_rows()

    def differences(self, i: Ints, j: Ints) -> Differences:  # noqa: ARG002
        return _not_by_rows()

    def loads(self, i: Ints, j: Ints, weights: Floats) -> Floats:  # noqa: ARG002
        return _not_by_rows()

    def peaks(self, i: Ints, j: Ints, weights: Floats) -> Floats:  # noqa: ARG002
        return _not_by_rows()

    def reach(self, weights: Floats) -> float:  # noqa: ARG002
        return _not_by_rows()


def _not_by_rows() -> NoReturn:
    raise NotCertified("counts of people are not accounted row by row", hints=["this is a bug: please report it"])
