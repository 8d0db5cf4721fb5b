"""A measured table, and the checks that all of this package makes of what it is given.

A table over the attributes T has one row per cell: the count of the records in it.  Along a *halved* attribute, which
must have two values, one row holds the difference (records with the first value minus records with the second) instead
of two counts.  Rows are whole numbers, in the order of the cells, the last attribute fastest, halved attributes left
out.  Moving a record along any attribute of the table changes its rows by 2 in all (one row by 2, or two by 1), along
any other attribute by nothing: so noise of scale s on every row costs 2/s per attribute of the table, halved or not.
"""

import math
import operator
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dxprivacy.errors import UsageError
from dxprivacy.exact.arrays import Floats


@dataclass(frozen=True, order=True)
class MeasuredTable:
    """The attributes of a measured table, and which of them are halved; both in increasing order.

    >>> MeasuredTable((0, 2), halved=(2,)).whole
    (0,)
    >>> MeasuredTable((0, 2), halved=(2,)).rows((3, 4, 2))
    3
    """

    attributes: tuple[int, ...]
    halved: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for name, given in (("attributes", self.attributes), ("halved", self.halved)):
            if list(given) != sorted(set(given)):
                raise UsageError(f"a table's {name} must increase: {given}")
        if not set(self.halved) <= set(self.attributes):
            raise UsageError(f"halved attributes {self.halved} that are not among the table's {self.attributes}")

    @property
    def whole(self) -> tuple[int, ...]:
        """The attributes of which every value has its own rows."""
        return tuple(a for a in self.attributes if a not in self.halved)

    def rows(self, sizes: Sequence[int]) -> int:
        """How many numbers are measured."""
        return cells(sizes, self.whole)

    def check(self, sizes: Sequence[int]) -> None:
        """Raise unless this is a table of such a universe."""
        checked_attributes(self.attributes, sizes)
        wrong = [a for a in self.halved if sizes[a] != 2]
        if wrong:
            raise UsageError(
                f"only an attribute of two values can be halved; attribute {wrong[0]} has {sizes[wrong[0]]}"
            )


def cells(sizes: Sequence[int], attributes: Iterable[int]) -> int:
    """How many cells a table over these attributes has.

    >>> cells((3, 4, 2), (0, 2)), cells((3, 4, 2), ())
    (6, 1)
    """
    return math.prod(sizes[a] for a in attributes)


def checked_sizes(sizes: Sequence[int]) -> tuple[int, ...]:
    """Whole numbers of at least 1, one per attribute."""
    found = tuple(whole_number(n, "the size of an attribute") for n in sizes)
    if not found:
        raise UsageError("a product universe needs at least one attribute")
    if min(found) < 1:
        raise UsageError(f"an attribute needs at least one value; the sizes are {found}")
    return found


def checked_attributes(attributes: Sequence[int], sizes: Sequence[int]) -> tuple[int, ...]:
    """Different attributes of this universe, in the order given."""
    found = tuple(whole_number(a, "an attribute") for a in attributes)
    if len(set(found)) < len(found):
        raise UsageError(f"a table names an attribute twice: {found}")
    if found and not 0 <= min(found) <= max(found) < len(sizes):
        raise UsageError(f"a table over {found}, but the attributes are 0 to {len(sizes) - 1}")
    return found


def checked_positive(given: Iterable[float], what: str, count: int, *, zero: bool = False) -> tuple[float, ...]:
    """`count` finite numbers above 0, or of at least 0."""
    try:
        found = tuple(float(x) for x in given)
    except (TypeError, ValueError):
        raise UsageError(f"{what} must be numbers") from None
    if len(found) != count:
        raise UsageError(f"{count} {what} are needed, {len(found)} were given")
    if not all(math.isfinite(x) and (x > 0 or (zero and x == 0)) for x in found):
        raise UsageError(f"{what} must be finite and {'at least' if zero else 'above'} 0")
    return found


def whole_number(given: object, what: str) -> int:
    """An integer of any kind, but no truth value."""
    try:
        if isinstance(given, bool):
            raise TypeError
        return operator.index(given)  # type: ignore[arg-type]
    except TypeError:
        raise UsageError(f"{what} must be a whole number, not {given!r}") from None


# -- What is asked along each attribute of a table, and how it is measured: single values, or anything along a line ----
# A table may ask, along attribute a, not for each value's count but for other rows with the Gram matrix G (prefixes,
# ranges), and may measure other rows A (cells and mixtures of cells, say) whose columns have an l1 norm of at most 1,
# so that a table of products of rows costs what a table of counts costs.  If the all-ones vector is an eigenvector of
# A'A, the components of `table_components` stay uncorrelated, and three numbers per attribute say everything:
#
#     contrast   tr(Q G Q (A'A)^+) / n, with Q the projection along the all-ones vector     counts: (n - 1) / n
#     asked      1'G1 / n^2: what of the mean is asked                                        counts: 1 / n
#     told       1'A'A1 / n^2: what of the mean is measured                                   counts: 1 / n
#
# Then c_S = sum over asked tables W >= S of weight prod_S contrast prod_{W without S} asked, and a measured table T
# tells of the component S by w^2 prod_{T without S} told prod_S 1/n.  Where all are counts, that is
# `table_components`'s formula.


_COMMUTES = 1e-9  # of its mean: what roundings may leave of the all-ones vector's image off that vector


@dataclass(frozen=True)
class TableAxis:
    """One attribute: its size, and the three numbers; `counts` says that single values are asked and measured."""

    size: int
    contrast: float
    asked: float
    told: float
    counts: bool = False

    @classmethod
    def of_counts(cls, size: int) -> "TableAxis":
        """Single values, each counted.

        >>> TableAxis.of_counts(4)
        TableAxis(size=4, contrast=0.75, asked=0.25, told=0.25, counts=True)
        """
        return cls(size, (size - 1) / size, 1 / size, 1 / size, counts=True)

    @classmethod
    def of_rows(cls, gram: Floats, rows: Floats) -> "TableAxis":
        """Queries with this Gram matrix, measured by rows whose Gram matrix keeps the all-ones vector.

        >>> TableAxis.of_rows(np.eye(4), np.eye(4))
        TableAxis(size=4, contrast=0.75, asked=0.25, told=0.25, counts=False)
        """
        n = gram.shape[0]
        if gram.shape != (n, n) or rows.shape[1:] != (n,):
            raise UsageError(f"a Gram matrix and rows over the same values are needed, not {gram.shape}, {rows.shape}")
        if np.abs(rows).sum(axis=0).max() > 1 + 1e-9:
            raise UsageError("the columns of the rows that are measured must have a norm of at most 1")
        moments = rows.T @ rows
        image = moments.sum(axis=0)
        if np.ptp(image) > _COMMUTES * abs(float(image.mean())):
            raise UsageError("the rows must tell the mean of all values apart from everything else")
        centered = gram - gram.mean(axis=0) - gram.mean(axis=1)[:, None] + gram.mean()
        contrast = float(np.trace(np.linalg.solve(moments, centered))) / n
        return cls(n, contrast, float(gram.mean()), float(moments.mean()))


def of_sizes(sizes: Sequence[int]) -> tuple[TableAxis, ...]:
    """Counts along all attributes."""
    return tuple(TableAxis.of_counts(n) for n in sizes)


# -- What tables may cost: a budget for each attribute, one for all records alike, and one for a record's presence -----
# A table whose rows have noise of scale 1/w changes, when a record is replaced, by at most 2 w along each of its
# attributes (see `measured_table`).  Three kinds of linear constraints follow, and any of them may hold together:
#
#     attribute a   sum over tables with a of 2 w <= budget_a        distances add up over attributes
#     together      sum over tables of 2 w <= budget                 one distance for every two records (standard DP)
#     presence      sum over tables of w <= budget                   a record comes or goes: it counts once in each
# table
#
# The first is exact.  So is the third.  The second is exact for whole tables: two records that differ in every
# attribute are in different cells of all of them; where tables consist of halved attributes only, records may differ by
# less.
#
# Without presence the number of records is public, and the table of no attributes, the total, is known.  With presence
# it is one more table that has to be measured, and no attribute is public.


@dataclass(frozen=True)
class Budgets:
    """Per attribute its budget, infinite where only others limit it; for all records alike; and for presence.

    >>> plain = Budgets((math.inf, math.inf), together=1.0)
    >>> plain.of(0), plain.total_is_private, [limit for _, limit in plain.constraints((0, 1))]
    (1.0, False, [1.0])
    """

    attributes: tuple[float, ...]
    together: float = math.inf
    presence: float = math.inf

    @classmethod
    def checked(cls, given: "Sequence[float] | Budgets", sizes: Sequence[int]) -> "Budgets":
        """Numbers of at least 0, one for each attribute; those for everything above 0."""
        if not isinstance(given, Budgets):
            given = cls(_numbers(given))
        if len(given.attributes) != len(sizes):
            raise UsageError(f"{len(sizes)} budgets are needed, {len(given.attributes)} were given")
        found = cls(_numbers(given.attributes), *_numbers((given.together, given.presence)))
        if not all(b >= 0 for b in found.attributes):
            raise UsageError("budgets must be at least 0")
        if not (found.together > 0 and found.presence > 0):
            raise UsageError("a budget for all tables must be above 0")
        return found

    @property
    def total_is_private(self) -> bool:
        """Whether records may come and go, so that their number has to be measured like anything else."""
        return math.isfinite(self.presence)

    @property
    def jointly(self) -> bool:
        """Whether some budget is shared by all tables, whatever their attributes."""
        return math.isfinite(min(self.together, self.presence))

    @property
    def least(self) -> int:
        """The least number of attributes of a table that has to be measured."""
        return 0 if self.total_is_private else 1

    def of(self, attribute: int) -> float:
        """What all tables with an attribute may show of it together; infinite for a public one."""
        return min(self.attributes[attribute], self.together, 2 * self.presence)

    def constraints(self, used: Sequence[int]) -> Iterator["tuple[Constraint, float]"]:
        """Those that are finite, among tables of some attributes."""
        for a in used:
            if math.isfinite(self.attributes[a]):
                yield Constraint(a), self.attributes[a]
        if math.isfinite(self.together):
            yield Constraint(TOGETHER), self.together
        if self.total_is_private:
            yield Constraint(PRESENCE), self.presence


TOGETHER = -1
PRESENCE = -2


@dataclass(frozen=True)
class Constraint:
    """Which tables share a budget: those with an attribute, all with any attribute, or all."""

    about: int

    def cost(self, table: MeasuredTable) -> float:
        """What a unit of a table's precision takes of it."""
        if self.about == PRESENCE:
            return 1.0
        if self.about == TOGETHER:
            return 2.0 if table.attributes else 0.0
        return 2.0 if self.about in table.attributes else 0.0


def _numbers(given: Sequence[float]) -> tuple[float, ...]:
    try:
        return tuple(float(b) for b in given)
    except (TypeError, ValueError):
        raise UsageError("budgets must be numbers") from None
