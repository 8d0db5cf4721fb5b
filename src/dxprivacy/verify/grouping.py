"""What names, groups and conditions in queries mean (docs/formats.md, section 4)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dxprivacy.verify.attributes import Attribute, Property
from dxprivacy.verify.logic import Comparison, Wanted, fulfilled, holds
from dxprivacy.verify.orders import ColumnOrder, Condition, Order, PointOrder, between
from dxprivacy.verify.reading import refuse
from dxprivacy.verify.universe import Universe


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
        key = self.attribute.name if self.fact is None else self.attribute.unit_of(self.fact.name)
        return universe.units.get(key, "")

    def column(self, universe: Universe) -> str:
        """What groups of it are called: the property alone where nothing else is called so."""
        full = self.attribute.name if self.fact is None else f"{self.attribute.name}.{self.fact.name}"
        short = full.rpartition(".")[2]
        facts = [fact.name for attribute in universe.attributes for fact in attribute.properties]
        return short if facts.count(short) == 1 and short not in universe.names else full

    @property
    def entry(self) -> Attribute | None:
        """What stands in its data column; None for a property that stands in none."""
        return self.attribute if self.fact is None else self.attribute.entry_of(self.fact.name)

    @property
    def places(self) -> list[int] | None:
        """Of a column of a series: which entry each value has there."""
        if self.fact is None or self.entry is None:
            return None
        return self.attribute.places(self.fact.name)

    @property
    def is_limited(self) -> bool:
        """Whether records beyond the range of its entries may exist and count as `other`."""
        attribute, entry = self.attribute, self.entry
        may_be_other = attribute.other and not attribute.complete
        return may_be_other and entry is not None and not entry.clamp and entry.limits is not None

    def limit(self, sign: str) -> str:
        """Where a comparison ends on its open side, if records beyond that may exist and count as `other`."""
        if not self.is_limited or self.entry is None or self.entry.limits is None:
            return ""
        low, high = self.entry.limits
        return f" (up to {high})" if sign in (">", ">=") else f" (from {low})"

    def told(self, name: str, wanted: Condition, where: str) -> str | None:
        """A condition by what is really counted; None where that is what it says."""
        if self.entry is not None:
            return self.entry.told(name, wanted, where)
        return None if self.fact is None else self.attribute.told_of(self.fact.name, name, wanted, where)

    def order(self, where: str, edition: int) -> Order:
        """Where its values stand; in edition 2 those of a series in cells stood at the cells' middles."""
        if self.fact is None:
            return self.attribute.order(where)
        if (steps := self.attribute.order_of(self.fact.name, where)) is not None:
            return steps
        places, cells = self.places, self.attribute.cells
        if places is not None and cells is not None and edition > 2:
            return ColumnOrder(where, [cells.low + (k + Fraction(1, 2)) * cells.step for k in places], cells.step)
        if self.numbers is None:
            raise refuse(f"{self.name} has no numbers", where)
        return PointOrder(where, self.numbers)


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


def fulfil(name: str, wanted: Wanted, universe: Universe, where: str, *, edition: int = 5) -> tuple[int, set[int]]:
    """The attribute that a condition concerns, and its values that fulfil it."""
    named = resolve(name, universe, where)

    def plain(part: Condition | Comparison) -> set[int]:
        if isinstance(part, Comparison):
            found = _on_one_side(named, part, where, edition)
        else:
            found = _listed(named, part, where, edition)
        if not found:
            raise refuse(f"no record fulfils the condition on {name}", where)
        return found

    found = fulfilled(wanted, plain, named.attribute.size)
    if not found:
        raise refuse(f"no record fulfils the condition on {name}", where)
    return named.axis, found


def _listed(named: Named, wanted: Condition, where: str, edition: int) -> set[int]:
    """Any of some values, or from one end to another."""
    places = named.places
    if isinstance(wanted, tuple):
        return set(named.order(where, edition).inside(*wanted))
    if places is not None and named.entry is not None:
        meant = {k for text in wanted for k in named.entry.find_all(text, where)}
        return {v for v, place in enumerate(places) if place in meant}
    if named.fact is None:
        return {k for text in wanted for k in named.attribute.find_all(text, where)}
    entries = named.fact.entries
    if not set(wanted) <= set(entries):
        raise refuse(f"{named.name} has no such value", where)
    return {v for v, entry in enumerate(entries) if entry in wanted}


def _on_one_side(named: Named, wanted: Comparison, where: str, edition: int) -> set[int]:
    """What a comparison holds for: whole values, none of which holds what lies beyond a range."""
    attribute, entry = named.attribute, named.entry
    if entry is None and (attribute.cells is not None or attribute.clamp):
        raise refuse(f"compares {named.name}, which adds up what is not known exactly", where)
    order = named.order(where, edition)
    at = order.compared_with(wanted.sign, wanted.end)
    extents = list(order.extents())
    sides = [holds(wanted.sign, at, low, high, with_high=included) for low, high, included in extents]
    if None in sides:
        raise refuse(f"a comparison cuts a step of {named.name}", where)
    upwards = wanted.sign in (">", ">=")
    ends = [low for low, *_ in extents]
    outermost = min(ends) if upwards else max(ends)
    if entry is not None and entry.clamp and any(side and x == outermost for side, x in zip(sides, ends, strict=True)):
        raise refuse(f"a comparison holds for what lies beyond the range of {named.name}", where)
    return {k for k, side in enumerate(sides) if side}


@dataclass(frozen=True)
class Grouping:
    """Per value of an attribute its group, -1 for none; the groups' labels, and what they are groups of."""

    axis: int
    groups: list[int]
    labels: list[str]
    column: str
    ends: Sequence[tuple[str, str]] | None = None  # of each group, where values are names in an order

    def joined(self, first: int, last: int) -> str:
        """What the groups from one to another are called together."""
        if self.ends is None:
            return interval_label(self.labels[first], self.labels[last])
        return between(self.ends[first][0], self.ends[last][1])


def interval_label(first: str, last: str) -> str:
    """From the start of one group to the end of another.

    >>> [interval_label(*x) for x in (("0–9", "30–39"), ("0–9", "65+"), ("0 to 5", "5 to 7"), ("0 to 5", "9+"))]
    ['0–39', '0+', '0 to 7', '0+']
    """
    if first == last:
        return first
    if " to " in first and last.endswith("+"):
        return f"{first.partition(' to ')[0]}+"
    if " to " in first and " to " in last:
        return f"{first.partition(' to ')[0]} to {last.partition(' to ')[2]}"
    start = first.partition("–")[0]
    return f"{start}+" if last.endswith("+") else f"{start}–{last.rpartition('–')[2]}"


def group(written: str, universe: Universe, where: str, *, edition: int = 5) -> Grouping:
    """`age`, `age/10`, `age[0,18,65]`, `home.state`, `visit/month`, …."""
    match = re.fullmatch(r"([^\[\]/]+)(?:/([^\[\]/]+)|\[([^\[\]]*)\])?", written.strip())
    if match is None:
        raise refuse(f"groups by {written[:40]!r}", where)
    named = resolve(match[1].strip(), universe, where)
    if match[2] is not None:
        keys, labels = named.order(where, edition).steps(match[2].strip())
    elif match[3] is not None:
        keys, labels = named.order(where, edition).between(match[3], limited=named.is_limited)
    else:
        keys, labels = _plain(named, edition)
    present = sorted(set(keys) - {-1})
    if not present:
        raise refuse(f"groups by {written[:40]!r}, in which nothing is", where)
    place = {key: k for k, key in enumerate(present)} | {-1: -1}
    padded = [place[key] for key in keys] + [-1] * named.attribute.other
    ends = None
    if named.fact is None and named.attribute.ranked:
        first = {key: v for v, key in reversed(list(enumerate(keys)))}
        last = {key: v for v, key in enumerate(keys)}
        ends = [(named.attribute.label(first[key]), named.attribute.label(last[key])) for key in present]
    return Grouping(named.axis, padded, [labels[key] for key in present], named.column(universe), ends)


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
