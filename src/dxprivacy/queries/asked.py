"""The base class of queries, from users or from plans, and stacks of queries.  Frozen and serializable."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from dxprivacy.errors import QueryError, UsageError
from dxprivacy.exact.rounding import Number, exact
from dxprivacy.universe.universe import Universe
from dxprivacy.universe.workload import Workload, stack
from dxprivacy.wording import OneLine

# -- Checks of arguments from Python -----------------------------------------------------------------------------------


def one_name(of: str) -> str:
    """Return the name of one attribute or property; refuse everything else."""
    if not isinstance(of, str) or not of.strip():
        raise UsageError("name an attribute, as a text", hints=['dx.mean_of("age")', 'dx.median_of("age")'])
    return of.strip()


def require_no_conditions(where: Mapping[str, object], ask: str) -> None:
    """Refuse keywords that could only be conditions, for queries that take no conditions."""
    if "by" in where:
        raise QueryError(f"{ask} cannot be grouped", hints=[('dx.table("sex", "age/10")', "for groups")])
    if where:
        named = ", ".join(str(name) for name in where)[:60]
        hints = [('dx.count(sex="F")', "for conditions"), ('dx.table("age/10", sex="F")', "")]
        raise QueryError(f"{ask} take no condition, and nothing called “{named}”", hints=hints)


# -- Asked -------------------------------------------------------------------------------------------------------------


_HEAVIEST = 1_000_000


class Asked(OneLine, ABC):
    """One query: `query.on(universe)` turns it into a workload; the other methods describe it."""

    by: tuple[str, ...] = ()  # attributes or properties that it is grouped by

    @abstractmethod
    def on(self, universe: Universe) -> Workload:
        """Return its rows over a universe."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Write it as JSON data; `ask` is the kind of query."""

    @property
    def name(self) -> str:
        """Its name: its words, unless it has a title."""
        return str(self)

    def in_short(self) -> str:
        return repr(str(self))

    @property
    def measure(self) -> str:
        """The kind of its numbers: `count`, `sum`, `mean`, …; empty if unknown."""
        return ""

    def rows_only(self) -> "Asked":
        """Return the same query without target, unit, weight and title, which do not change its rows."""
        return self

    def untargeted(self) -> "Asked":
        """Return the same query without target and unit, which change scales but not rows."""
        return self

    def of_numbers(self) -> str:
        """Return the name of the numbers that it adds up; empty if it counts."""
        return ""

    def names(self, universe: Universe) -> list[str]:  # noqa: ARG002
        """Return all attributes and properties whose values it separates or adds up."""
        return []

    def require_honest(self, universe: Universe) -> None:
        """Refuse a new query that would count something else than its words say; stored queries are not checked."""

    def remarks(self, universe: Universe) -> list[str]:  # noqa: ARG002
        """Return sentences that a reader of its answers must know."""
        return []

    def __add__(self, other: "Asked | Stack") -> "Stack":
        return Stack((self,)) + other


@dataclass(frozen=True)
class Stack(OneLine):
    """Several queries, answered together."""

    queries: tuple[Asked, ...]
    notes: tuple[str, ...] = field(default=(), compare=False)  # parts of a text that were ignored, for its author

    def in_short(self) -> str:
        return ", ".join(repr(str(query)) for query in self.queries)

    def __add__(self, other: "Asked | Stack") -> "Stack":
        more = other if isinstance(other, Stack) else Stack((other,))
        return Stack((*self.queries, *more.queries), (*self.notes, *more.notes))

    def on(self, universe: Universe) -> Workload:
        """Return all rows over a universe."""
        return stack([q.on(universe) for q in self.queries])

    def require_honest(self, universe: Universe) -> None:
        """Refuse new queries that would count something else than their words say."""
        for query in self.queries:
            query.require_honest(universe)

    def to_dict(self) -> list[dict[str, Any]]:
        """Write all queries as JSON data."""
        return [q.to_dict() for q in self.queries]


def target(within: Number | None) -> Fraction | None:
    """Return a target as an exact positive number; None if no target is given."""
    if within is None:
        return None
    number = exact(within, what="within")
    if number <= 0:
        raise UsageError(f"within is {within}; a target is positive", hints=["within=10"])
    return Fraction(number)


def importance(weight: Number) -> Fraction:
    """Return a weight as an exact positive number of a sane size.

    >>> importance(2), importance("0.5")
    (Fraction(2, 1), Fraction(1, 2))
    """
    number = Fraction(exact(weight, what="weight"))
    if not 1 / _HEAVIEST <= number <= _HEAVIEST:
        what = f"weight is {str(weight)[:40]}; it lies between 1/{_HEAVIEST:,} and {_HEAVIEST:,}"
        raise UsageError(what, hints=[("weight 2", "its squared errors count twice")])
    return number
