"""Asked: everything that has rows, whether people ask it or a plan does in its place.  Frozen, serializable."""

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

# -- What people give to queries in Python, looked at before anything is made of it ------------------------------------


def one_name(of: str) -> str:
    """The name of one attribute, or of a public fact."""
    if not isinstance(of, str) or not of.strip():
        raise UsageError("of which attribute? its name is a text", hints=['dx.mean_of("age")', 'dx.median_of("age")'])
    return of.strip()


def require_no_conditions(where: Mapping[str, object], ask: str) -> None:
    """Refuse keywords that could only be conditions, where there are none."""
    if "by" in where:
        raise QueryError(f"{ask} cannot be grouped", hints=[('dx.table("sex", "age/10")', "for groups")])
    if where:
        named = ", ".join(str(name) for name in where)[:60]
        hints = [('dx.count(sex="F")', "for conditions"), ('dx.table("age/10", sex="F")', "")]
        raise QueryError(f"{ask} take no condition, and nothing called “{named}”", hints=hints)


# -- Asked -------------------------------------------------------------------------------------------------------------


_HEAVIEST = 1_000_000


class Asked(OneLine, ABC):
    """One query: `query.on(universe)` turns it into a workload.  The rest helps those who speak about it."""

    by: tuple[str, ...] = ()  # what it is grouped by

    @abstractmethod
    def on(self, universe: Universe) -> Workload:
        """Its rows over a universe."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """For JSON; `ask` says which kind it is."""

    @property
    def name(self) -> str:
        """What it is called: its words."""
        return str(self)

    def in_short(self) -> str:
        return repr(str(self))

    @property
    def measure(self) -> str:
        """What its numbers are: `count`, `sum`, `mean`, or nothing that is known."""
        return ""

    def rows_only(self) -> "Asked":
        """The same rows without target, unit, weight and title, which say nothing about them."""
        return self

    def untargeted(self) -> "Asked":
        """The same without target and unit, which decide scales, and no rows."""
        return self

    def of_numbers(self) -> str:
        """The numbers that it adds up, by name; nothing where it counts."""
        return ""

    def names(self, universe: Universe) -> list[str]:  # noqa: ARG002
        """All attributes and properties whose values it tells apart, or adds up."""
        return []

    def require_honest(self, universe: Universe) -> None:
        """Refuse a new query that would count something else than it says; stored ones mean what they meant."""

    def remarks(self, universe: Universe) -> list[str]:  # noqa: ARG002
        """What a reader of its answers must know, in sentences of its own."""
        return []

    def __add__(self, other: "Asked | Stack") -> "Stack":
        return Stack((self,)) + other


@dataclass(frozen=True)
class Stack(OneLine):
    """Several queries asked together."""

    queries: tuple[Asked, ...]
    notes: tuple[str, ...] = field(default=(), compare=False)  # what the reader of a text passed over, for its author

    def in_short(self) -> str:
        return ", ".join(repr(str(query)) for query in self.queries)

    def __add__(self, other: "Asked | Stack") -> "Stack":
        more = other if isinstance(other, Stack) else Stack((other,))
        return Stack((*self.queries, *more.queries), (*self.notes, *more.notes))

    def on(self, universe: Universe) -> Workload:
        """All rows over a universe."""
        return stack([q.on(universe) for q in self.queries])

    def require_honest(self, universe: Universe) -> None:
        """Refuse new queries that would count something else than they say."""
        for query in self.queries:
            query.require_honest(universe)

    def to_dict(self) -> list[dict[str, Any]]:
        """For JSON."""
        return [q.to_dict() for q in self.queries]


def target(within: Number | None) -> Fraction | None:
    """A target as it was given: a positive number, or none."""
    if within is None:
        return None
    number = exact(within, what="within")
    if number <= 0:
        raise UsageError(f"within is {within}; a target is positive", hints=["within=10"])
    return Fraction(number)


def importance(weight: Number) -> Fraction:
    """A weight as it was given: a positive number of a sane size.

    >>> importance(2), importance("0.5")
    (Fraction(2, 1), Fraction(1, 2))
    """
    number = Fraction(exact(weight, what="weight"))
    if not 1 / _HEAVIEST <= number <= _HEAVIEST:
        what = f"weight is {str(weight)[:40]}; it lies between 1/{_HEAVIEST:,} and {_HEAVIEST:,}"
        raise UsageError(what, hints=[("weight 2", "its squared errors count twice")])
    return number
