"""Measured tables, their axes and budgets, and checks of arguments.

A table over the attributes T has one row per combination of values: the number of records with it.  Along a *halved*
attribute, which must have two values, one row has the difference (records with the first value minus records with the
second) instead of two counts.  Rows are integers, ordered with the last attribute fastest; halved attributes are left
out of the order.  Changing one attribute of the table in a record changes the rows by 2 in total (one row by 2, or two
by 1); changing any other attribute has no effect.  So noise of scale s on every row costs 2/s per attribute of the
table, halved or not.
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
        """The attributes that are not halved: each of their values has its own rows."""
        return tuple(a for a in self.attributes if a not in self.halved)

    def rows(self, sizes: Sequence[int]) -> int:
        """Return the number of rows."""
        return cells(sizes, self.whole)

    def check(self, sizes: Sequence[int]) -> None:
        """Raise UsageError unless this is a table of a universe with these sizes."""
        checked_attributes(self.attributes, sizes)
        wrong = [a for a in self.halved if sizes[a] != 2]
        if wrong:
            raise UsageError(
                f"only an attribute of two values can be halved; attribute {wrong[0]} has {sizes[wrong[0]]}"
            )


def cells(sizes: Sequence[int], attributes: Iterable[int]) -> int:
    """Return the number of combinations of values of these attributes.

    >>> cells((3, 4, 2), (0, 2)), cells((3, 4, 2), ())
    (6, 1)
    """
    return math.prod(sizes[a] for a in attributes)


def checked_sizes(sizes: Sequence[int]) -> tuple[int, ...]:
    """Return the sizes of attributes as integers; raise UsageError unless all are at least 1."""
    found = tuple(whole_number(n, "the size of an attribute") for n in sizes)
    if not found:
        raise UsageError("a product universe needs at least one attribute")
    if min(found) < 1:
        raise UsageError(f"an attribute needs at least one value; the sizes are {found}")
    return found


def checked_attributes(attributes: Sequence[int], sizes: Sequence[int]) -> tuple[int, ...]:
    """Return attributes in the order given; raise UsageError unless they are distinct and exist."""
    found = tuple(whole_number(a, "an attribute") for a in attributes)
    if len(set(found)) < len(found):
        raise UsageError(f"a table names an attribute twice: {found}")
    if found and not 0 <= min(found) <= max(found) < len(sizes):
        raise UsageError(f"a table over {found}, but the attributes are 0 to {len(sizes) - 1}")
    return found


def checked_positive(given: Iterable[float], what: str, count: int, *, zero: bool = False) -> tuple[float, ...]:
    """Return numbers as floats; raise UsageError unless they are `count` finite numbers > 0 (with `zero`, >= 0)."""
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
    """Return an integer of any type except bool; raise UsageError for anything else."""
    try:
        if isinstance(given, bool):
            raise TypeError
        return operator.index(given)  # type: ignore[arg-type]
    except TypeError:
        raise UsageError(f"{what} must be a whole number, not {given!r}") from None


# -- The rows that are queried and measured along each attribute of a table: single values, or any others --------------
# Along an attribute, a workload table may have other rows than single values, such as prefixes or ranges, with the Gram
# matrix G.  It may be measured by other rows A, such as single values and mixtures of values, whose columns have an l1
# norm of at most 1.  Then a table of products of rows costs as much as a table of counts.  If the all-ones vector is an
# eigenvector of A'A, the components of `table_components` stay uncorrelated, and three numbers per attribute suffice:
#
#     contrast   tr(Q G Q (A'A)^+) / n, with Q the projection along the all-ones vector     counts: (n - 1) / n
#     asked      1'G1 / n^2: the weight of the mean in the workload                           counts: 1 / n
#     told       1'A'A1 / n^2: the precision with which the mean is measured                  counts: 1 / n
#
# Then c_S = sum over workload tables W >= S of weight prod_S contrast prod_{W without S} asked, and a measured table T
# has precision w^2 prod_{T without S} told prod_S 1/n for the component S.  For counts this is the formula of
# `table_components`.


_COMMUTES = 1e-9  # relative to its mean: the largest variation of A'A 1 from rounding


@dataclass(frozen=True)
class TableAxis:
    """One attribute: its size, and the three numbers; with `counts`, single values are queried and measured."""

    size: int
    contrast: float
    asked: float
    told: float
    counts: bool = False

    @classmethod
    def of_counts(cls, size: int) -> "TableAxis":
        """Return an axis along which single values are queried and measured.

        >>> TableAxis.of_counts(4)
        TableAxis(size=4, contrast=0.75, asked=0.25, told=0.25, counts=True)
        """
        return cls(size, (size - 1) / size, 1 / size, 1 / size, counts=True)

    @classmethod
    def of_rows(cls, gram: Floats, rows: Floats) -> "TableAxis":
        """Return an axis for queries with this Gram matrix; the Gram matrix of `rows` must keep the all-ones vector.

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
            raise UsageError("the rows must measure the mean of all values independently of everything else")
        centered = gram - gram.mean(axis=0) - gram.mean(axis=1)[:, None] + gram.mean()
        contrast = float(np.trace(np.linalg.solve(moments, centered))) / n
        return cls(n, contrast, float(gram.mean()), float(moments.mean()))


def of_sizes(sizes: Sequence[int]) -> tuple[TableAxis, ...]:
    """Return axes of counts for all attributes."""
    return tuple(TableAxis.of_counts(n) for n in sizes)


# -- Budgets of tables: one for each attribute, one for all pairs of records, and one for the presence of a record -----
# A table whose rows have noise of scale 1/w changes, when a record is replaced, by at most 2 w along each of its
# attributes (see `measured_table`).  Three kinds of linear constraints follow, and any of them may hold together:
#
#     attribute a   sum over tables with a of 2 w <= budget_a        distances add up over attributes
#     together      sum over tables of 2 w <= budget                 one distance for all pairs (standard DP)
#     presence      sum over tables of w <= budget                   a record counts once in each table
#
# The first and the third are exact.  The second is exact for tables without halved attributes: two records that differ
# in every attribute count in different rows of all of them.  If tables consist of halved attributes only, records may
# differ by less.
#
# Without presence, the number of records is public, and so is the table of no attributes, the total.  With presence, it
# is one more table that has to be measured, and no attribute is public.


@dataclass(frozen=True)
class Budgets:
    """The budgets of attributes (infinite if only others limit them), of all pairs of records, and of presence.

    >>> plain = Budgets((math.inf, math.inf), together=1.0)
    >>> plain.of(0), plain.total_is_private, [limit for _, limit in plain.constraints((0, 1))]
    (1.0, False, [1.0])
    """

    attributes: tuple[float, ...]
    together: float = math.inf
    presence: float = math.inf

    @classmethod
    def checked(cls, given: "Sequence[float] | Budgets", sizes: Sequence[int]) -> "Budgets":
        """Return budgets; raise UsageError unless those of attributes are >= 0, and those for all tables > 0."""
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
        """Whether records may be added and removed, so that their number has to be measured, too."""
        return math.isfinite(self.presence)

    @property
    def jointly(self) -> bool:
        """Whether some budget is shared by all tables, regardless of their attributes."""
        return math.isfinite(min(self.together, self.presence))

    @property
    def least(self) -> int:
        """The smallest number of attributes of a table that has to be measured."""
        return 0 if self.total_is_private else 1

    def of(self, attribute: int) -> float:
        """Return the budget that all tables with an attribute share; infinite for a public attribute."""
        return min(self.attributes[attribute], self.together, 2 * self.presence)

    def constraints(self, used: Sequence[int]) -> Iterator["tuple[Constraint, float]"]:
        """Yield the finite constraints on tables of some attributes, with their budgets."""
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
    """The tables that share a budget: those with a given attribute, those with any attribute, or all."""

    about: int

    def cost(self, table: MeasuredTable) -> float:
        """Return the cost of one unit of a table's precision."""
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
