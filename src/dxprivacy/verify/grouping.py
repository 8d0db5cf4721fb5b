"""What names, groups and conditions in questions mean (docs/formats.md, section 4)."""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

from dxprivacy.verify import days
from dxprivacy.verify.attributes import Attribute, Dates, Numbers, Points, Property, Series
from dxprivacy.verify.reading import decimal, refuse
from dxprivacy.verify.universe import Universe
from dxprivacy.verify.words import number_text

End = Fraction | date
Condition = list[str] | tuple[End, End]
"""Any of these values, or from one end to the other."""


@dataclass(frozen=True)
class Named:
    """What a name means: an attribute, or one of its properties."""

    axis: int
    attribute: Attribute
    fact: Property | None

    @property
    def name(self) -> str:
        """Without the attribute's, for a property."""
        return self.attribute.name if self.fact is None else self.fact.name

    @property
    def numbers(self) -> Sequence[Fraction] | None:
        """The numbers of listed values."""
        return self.attribute.numbers if self.fact is None else self.fact.numbers

    def unit(self, universe: Universe) -> str:
        """The unit of these numbers; a series' properties have that of the series."""
        own = universe.units.get(self.attribute.name, "")
        if self.fact is None or not isinstance(self.attribute, Points):
            return own
        return universe.units.get(f"{self.attribute.name}.{self.fact.name}", "")

    def column(self, universe: Universe) -> str:
        """What groups of it are called: the property alone where nothing else is called so."""
        full = self.attribute.name if self.fact is None else f"{self.attribute.name}.{self.fact.name}"
        short = full.rpartition(".")[2]
        facts = [fact.name for attribute in universe.attributes for fact in attribute.properties]
        return short if facts.count(short) == 1 and short not in universe.names else full

    @property
    def entry(self) -> Attribute | None:
        """What stands in its data column; None for a property that stands in none."""
        if self.fact is None:
            return self.attribute
        a = self.attribute
        return a.entry if isinstance(a, Series) and self.fact.name in a.columns else None

    @property
    def places(self) -> list[int] | None:
        """Of a column of a series: which entry each value has there."""
        a = self.attribute
        if isinstance(a, Series) and self.fact is not None and self.fact.name in a.columns:
            return a.places(self.fact.name)
        return None

    def order(self, where: str, edition: int) -> "Order":
        """Where its values stand; in edition 2 those of a series in cells stood at the cells' middles."""
        places = self.places
        if places is not None and isinstance(self.entry, Numbers) and edition > 2:
            return _Column(where, self.entry, places)
        if self.fact is None and isinstance(self.attribute, Dates):
            return _Days(where, self.attribute)
        if self.fact is None and isinstance(self.attribute, Numbers):
            return _Cells(where, self.attribute)
        if self.numbers is None:
            raise refuse(f"{self.name} has no numbers", where)
        return _Points(where, self.numbers)


def resolve(name: str, universe: Universe, where: str) -> Named:
    """An attribute, or a property of exactly one."""
    if name in universe.names:
        axis = universe.names.index(name)
        return Named(axis, universe.attributes[axis], None)
    owner, _, short = name.rpartition(".")
    found = [
        Named(axis, attribute, fact)
        for axis, attribute in enumerate(universe.attributes)
        if owner in ("", attribute.name)
        for fact in attribute.properties
        if fact.name == short
    ]
    if len(found) != 1:
        raise refuse(f"no attribute {name[:40]!r}" if not found else f"{name[:40]!r} is ambiguous", where)
    return found[0]


def fulfil(name: str, wanted: Condition, universe: Universe, where: str, *, edition: int = 3) -> tuple[int, set[int]]:
    """The attribute that a condition concerns, and its values that fulfil it."""
    named = resolve(name, universe, where)
    places = named.places
    if isinstance(wanted, tuple):
        found = set(named.order(where, edition).inside(*wanted))
    elif places is not None and named.entry is not None:
        meant = {named.entry.find(text, where) for text in wanted}
        found = {v for v, place in enumerate(places) if place in meant}
    elif named.fact is None:
        found = {named.attribute.find(text, where) for text in wanted}
    else:
        entries = named.fact.entries
        if not set(wanted) <= set(entries):
            raise refuse(f"{name} has no such value", where)
        found = {v for v, entry in enumerate(entries) if entry in wanted}
    if not found:
        raise refuse(f"no record fulfils the condition on {name}", where)
    return named.axis, found


@dataclass(frozen=True)
class Grouping:
    """Per value of an attribute its group, -1 for none; the groups' labels, and what they are groups of."""

    axis: int
    groups: list[int]
    labels: list[str]
    column: str


def group(written: str, universe: Universe, where: str, *, edition: int = 3) -> Grouping:
    """`age`, `age/10`, `age[0,18,65]`, `home.state`, `visit/month`, …."""
    match = re.fullmatch(r"([^\[\]/]+)(?:/([^\[\]/]+)|\[([^\[\]]*)\])?", written.strip())
    if match is None:
        raise refuse(f"groups by {written[:40]!r}", where)
    named = resolve(match[1].strip(), universe, where)
    if match[2] is not None:
        keys, labels = named.order(where, edition).steps(match[2].strip())
    elif match[3] is not None:
        keys, labels = named.order(where, edition).between(match[3])
    else:
        keys, labels = _plain(named, edition)
    present = sorted(set(keys) - {-1})
    if not present:
        raise refuse(f"groups by {written[:40]!r}, in which nothing is", where)
    place = {key: k for k, key in enumerate(present)} | {-1: -1}
    padded = [place[key] for key in keys] + [-1] * named.attribute.other
    return Grouping(named.axis, padded, [labels[key] for key in present], named.column(universe))


def _plain(named: Named, edition: int) -> tuple[list[int], list[str]]:
    if (places := named.places) is not None and named.entry is not None and edition > 2:
        return places, [named.entry.label(k) for k in range(named.entry.listed)]
    if named.fact is None:
        return list(range(named.attribute.listed)), [named.attribute.label(k) for k in range(named.attribute.listed)]
    entries = named.fact.entries
    value = dict(zip(entries, named.fact.numbers or [Fraction(0)] * len(entries), strict=True))
    order = sorted(set(entries), key=lambda e: (value[e], e))
    place = {entry: k for k, entry in enumerate(order)}
    return [place[e] for e in entries], order


class Order(ABC):
    """Where listed values stand: the start of each, in order of the values."""

    starts: Sequence[Fraction]

    def __init__(self, where: str) -> None:
        self.where = where

    @abstractmethod
    def read(self, written: str | End) -> Fraction:
        """Where an edge or an end stands."""

    @abstractmethod
    def label(self, low: Fraction, high: Fraction | None) -> str:
        """The group from low to below high, or without end."""

    @abstractmethod
    def steps(self, width: str) -> tuple[list[int], list[str]]:
        """Groups of one width: that of each value, and their labels."""

    def inside(self, low: End, high: End) -> list[int]:
        """The values from one end to the other."""
        first, last = self.read(low), self.read(high)
        return [k for k, x in enumerate(self.starts) if first <= x <= last]

    def between(self, written: str) -> tuple[list[int], list[str]]:
        """Groups from edge to edge, the last one open: that of each value, and their labels."""
        edges = [self.read(part.strip()) for part in written.split(",") if part.strip()]
        if not edges or any(a >= b for a, b in pairwise(edges)):
            raise refuse(f"groups by the edges {written[:40]!r}", self.where)
        keys = [sum(edge <= x for edge in edges) - 1 for x in self.starts]
        return keys, [self.label(a, b) for a, b in zip(edges, [*edges[1:], None], strict=True)]


class _Points(Order):
    """Single numbers."""

    def __init__(self, where: str, numbers: Sequence[Fraction]) -> None:
        super().__init__(where)
        self.starts = numbers
        self._all_whole = all(x.denominator == 1 for x in numbers)

    def read(self, written: str | End) -> Fraction:
        found = decimal(written) if isinstance(written, str) else written
        if not isinstance(found, Fraction):
            raise refuse(f"{str(written)[:40]!r} is no number", self.where)
        return found

    def label(self, low: Fraction, high: Fraction | None) -> str:
        if high is not None and self._all_whole and low.denominator == high.denominator == 1:
            first, last = max(low, min(self.starts)), min(high - 1, max(self.starts))
            return f"{number_text(first)}–{number_text(last)}" if last > first else number_text(first)
        return _span(low, high)

    def steps(self, width: str) -> tuple[list[int], list[str]]:
        size = decimal(width)
        if size is None or size <= 0:
            raise refuse(f"groups by steps of {width[:40]!r}", self.where)
        cuts = [x // size for x in self.starts]
        place = {cut: k for k, cut in enumerate(sorted(set(cuts)))}
        for cut in place:
            self.require_end((cut + 1) * size)
        return [place[cut] for cut in cuts], [self.label(cut * size, (cut + 1) * size) for cut in place]

    def require_end(self, edge: Fraction) -> None:
        """Points cannot be cut in two."""


def _span(low: Fraction, high: Fraction | None) -> str:
    return f"{number_text(low)}+" if high is None else f"{number_text(low)} to {number_text(high)}"


class _Cells(_Points):
    """Half-open cells; nothing may cut one in two."""

    def __init__(self, where: str, attribute: Numbers) -> None:
        super().__init__(where, [attribute.low + k * attribute.step for k in range(attribute.listed)])
        self.attribute = attribute

    def read(self, written: str | End) -> Fraction:
        edge = super().read(written)
        self.require_end(edge)
        return edge

    def require_end(self, edge: Fraction) -> None:
        a = self.attribute
        if a.low < edge < a.high and (edge - a.low) % a.step:
            raise refuse(f"{number_text(edge)} lies inside a cell of {a.name}", self.where)

    def label(self, low: Fraction, high: Fraction | None) -> str:
        return _span(low, high)

    def inside(self, low: End, high: End) -> list[int]:
        first, last = self.read(low), self.read(high)
        return [k for k, x in enumerate(self.starts) if first <= x and x + self.attribute.step <= last]


class _Column(_Cells):
    """A column of a series.  Questions of version 0.1.0 may cut its cells: these then count by their middles."""

    def __init__(self, where: str, attribute: Numbers, places: Sequence[int]) -> None:
        super().__init__(where, attribute)
        self.middles = [attribute.low + (k + Fraction(1, 2)) * attribute.step for k in places]
        self.starts = self.middles

    def require_end(self, edge: Fraction) -> None:
        """Stored questions may cut a cell."""

    def inside(self, low: End, high: End) -> list[int]:
        first, last = self.read(low), self.read(high)
        return [k for k, x in enumerate(self.middles) if first <= x <= last]


class _Days(Order):
    """Days, counted from the first one."""

    def __init__(self, where: str, attribute: Dates) -> None:
        super().__init__(where)
        self.attribute = attribute

    @cached_property
    def starts(self) -> Sequence[Fraction]:  # type: ignore[override]
        return [Fraction(k) for k in range(self.attribute.listed)]

    def read(self, written: str | End) -> Fraction:
        found = days.day(written) if isinstance(written, str) else written
        if not isinstance(found, date):
            raise refuse(f"{str(written)[:40]!r} is no day", self.where)
        return Fraction((found - self.attribute.first).days)

    def label(self, low: Fraction, high: Fraction | None) -> str:
        def shown(at: Fraction) -> str:
            return (self.attribute.first + timedelta(days=int(at))).isoformat()

        if high is None:
            return f"{shown(low)}+"
        first, last = max(low, Fraction(0)), min(high - 1, Fraction(self.attribute.listed - 1))
        return f"{shown(first)}–{shown(last)}" if last > first else shown(first)

    def steps(self, width: str) -> tuple[list[int], list[str]]:
        listed = self.attribute.listed
        if width in days.CALENDAR:
            groups = [days.calendar(width, self.attribute.day(k)) for k in range(listed)]
            place = {key: k for k, key in enumerate(sorted(set(groups)))}
            return [place[key] for key in groups], [label for _, label in place]
        size = int(width) if re.fullmatch("[0-9]{1,9}", width) else 0
        if not size:
            raise refuse(f"groups days by {width[:40]!r}", self.where)
        spans = range(0, listed, size)
        return [k // size for k in range(listed)], [self.label(Fraction(a), Fraction(a + size)) for a in spans]
