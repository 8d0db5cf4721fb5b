"""A measured table, and the checks that all of this package makes of what it is given.

A table over the attributes T has one row per cell: the count of the records in it.  Along a *halved* attribute, which
must have two values, one row holds the difference (records with the first value minus records with the second) instead
of two counts.  Rows are whole numbers, in the order of the cells, the last attribute fastest, halved attributes left
out.  Moving a record along any attribute of the table changes its rows by 2 in all (one row by 2, or two by 1), along
any other attribute by nothing: so noise of scale s on every row costs 2/s per attribute of the table, halved or not.
"""

import math
import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dxprivacy.errors import UsageError


@dataclass(frozen=True, order=True)
class Table:
    """The attributes of a measured table, and which of them are halved; both in increasing order.

    >>> Table((0, 2), halved=(2,)).whole
    (0,)
    >>> Table((0, 2), halved=(2,)).rows((3, 4, 2))
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
