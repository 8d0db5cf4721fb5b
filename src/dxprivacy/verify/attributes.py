"""Attributes from their specs: sizes, labels, numbers, properties, and finding values (docs/formats.md, section 2)."""

import datetime
import math
import re
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from dxprivacy.verify import days, reading
from dxprivacy.verify.reading import decimal, refuse
from dxprivacy.verify.words import number_text

OTHER = "other"
_COMMON = ("kind", "name", "column", "other", "other_value")
_MOST_VALUES = 1 << 26
_CELL_VALUES = {"low": Fraction(0), "middle": Fraction(1, 2), "high": Fraction(1)}  # from the start, in steps


@dataclass(frozen=True)
class Property:
    """A public fact about each listed value."""

    name: str
    entries: Sequence[str]

    @cached_property
    def numbers(self) -> list[Fraction] | None:
        """The entries as numbers, if all of them are."""
        read = [decimal(entry) for entry in self.entries]
        return None if any(x is None for x in read) else [x for x in read if x is not None]


class Attribute(ABC):
    """One attribute of the records."""

    listed: int
    optional: Sequence[str] = ()
    clamp = False
    numbers: Sequence[Fraction] | None = None
    properties: Sequence[Property] = ()

    def __init__(self, spec: dict[str, Any], where: str, needed: Sequence[str]) -> None:
        reading.members(spec, where, (*_COMMON, *needed), ("format", "complete", *self.optional))
        self.kind = reading.text(spec["kind"], where)
        self.name = reading.text(spec["name"], where)
        if not self.name.strip():
            raise refuse("has no name", where)
        reading.text(spec["column"], f"{where} column")
        reading.text(spec.get("format", ""), f"{where} format")
        self.other = reading.flag(spec["other"], f"{where} other")
        self.complete = reading.flag(spec.get("complete", False), f"{where} complete")
        given = spec["other_value"]
        self.other_value = None if given is None else reading.fraction(given, f"{where} other_value")

    @property
    def size(self) -> int:
        """Listed values, and `other`."""
        return self.listed + self.other

    @abstractmethod
    def label(self, index: int) -> str:
        """The label of a listed value."""

    @abstractmethod
    def place(self, written: str) -> int | None:
        """The listed value that a text names."""

    def find(self, written: str, where: str) -> int:
        """The value that a text names; `other` too."""
        index = self.listed if self.other and written == OTHER else self.place(written)
        if index is None:
            raise refuse(f"{self.name} has no value {written[:40]!r}", where)
        return index

    def show(self, index: int) -> str:
        """The label of any value."""
        return self.label(index) if index < self.listed else OTHER

    def in_sums(self, numbers: Sequence[Fraction], *, zero: bool) -> list[Fraction]:
        """What each value counts in sums, `other` included: as declared, or 0, or in the middle."""
        if not self.other:
            return list(numbers)
        usual = Fraction(0) if zero else (min(numbers) + max(numbers)) / 2
        return [*numbers, usual if self.other_value is None else self.other_value]

    def hides(self, name: str) -> tuple[Fraction, Fraction]:  # noqa: ARG002
        """How far below and above its number an entry may lie, of the attribute or of a property."""
        return Fraction(0), Fraction(0)


class Values(Attribute):
    """Texts."""

    def __init__(self, spec: dict[str, Any], where: str) -> None:
        super().__init__(spec, where, ("values",))
        self.values = reading.each(spec["values"], where, reading.text)
        self.listed = len(self.values)
        self._at = {value: k for k, value in enumerate(self.values)}
        if len(self._at) < self.listed or (self.other and OTHER in self._at):
            raise refuse("lists a value twice", where)

    def label(self, index: int) -> str:
        """The text."""
        return self.values[index]

    def place(self, written: str) -> int | None:
        """Equal text."""
        return self._at.get(written)


class Integers(Attribute):
    """Whole numbers."""

    optional = ("outside",)

    def __init__(self, spec: dict[str, Any], where: str) -> None:
        super().__init__(spec, where, ("range",))
        if spec.get("outside", "clamp") != "clamp":
            raise refuse("outside is not clamp", where)
        self.clamp = "outside" in spec
        self.low, self.high = _two(spec["range"], where, reading.whole)
        self.listed = self.high - self.low + 1
        _require_size(self.listed, where)

    @cached_property
    def numbers(self) -> Sequence[Fraction]:  # type: ignore[override]
        """The numbers themselves."""
        return [Fraction(v) for v in range(self.low, self.high + 1)]

    def label(self, index: int) -> str:
        """The number."""
        return str(self.low + index)

    def place(self, written: str) -> int | None:
        """Sign and digits."""
        if not re.fullmatch("[+-]?[0-9]{1,24}", written.strip()):
            return None
        value = int(written)
        if self.clamp:
            value = min(max(value, self.low), self.high)
        return value - self.low if self.low <= value <= self.high else None


class Numbers(Attribute):
    """Numbers in half-open cells."""

    optional = ("cell_value",)

    def __init__(self, spec: dict[str, Any], where: str) -> None:
        super().__init__(spec, where, ("range", "step", "outside"))
        self.low, self.high = _two(spec["range"], where, reading.fraction)
        self.step = reading.positive(spec["step"], where)
        if spec["outside"] not in ("clamp", OTHER):
            raise refuse("outside is neither clamp nor other", where)
        self.clamp = spec["outside"] == "clamp"
        self.cell_value = spec.get("cell_value", "middle")
        if self.cell_value not in _CELL_VALUES or spec.get("cell_value") == "middle":
            raise refuse("cell_value is neither low nor high", where)
        cells = (self.high - self.low) / self.step
        if cells.denominator != 1:
            raise refuse("the range is no whole number of steps", where)
        self.listed = int(cells)
        _require_size(self.listed, where)

    @cached_property
    def numbers(self) -> Sequence[Fraction]:  # type: ignore[override]
        """What each cell counts as."""
        return [self.low + (k + _CELL_VALUES[self.cell_value]) * self.step for k in range(self.listed)]

    def hides(self, name: str) -> tuple[Fraction, Fraction]:  # noqa: ARG002
        """To the ends of a cell."""
        below = _CELL_VALUES[self.cell_value] * self.step
        return below, self.step - below

    @cached_property
    def _edges(self) -> list[float]:
        return [float(self.low + k * self.step) for k in range(self.listed + 1)]

    def label(self, index: int) -> str:
        """Its two ends."""
        return f"{number_text(self.low + index * self.step)} to {number_text(self.low + (index + 1) * self.step)}"

    def place(self, written: str) -> int | None:
        """The cell of a decimal number."""
        read = decimal(written)
        if read is None:
            return None
        x, first, last = float(read), self._edges[0], self._edges[-1]
        if self.clamp:
            x = min(max(x, first), last)
        return min(bisect_right(self._edges, x) - 1, self.listed - 1) if first <= x <= last else None


class Dates(Attribute):
    """Days."""

    def __init__(self, spec: dict[str, Any], where: str) -> None:
        super().__init__(spec, where, ("range", "timezone"))
        reading.text(spec["timezone"], f"{where} timezone")
        ends = _two(spec["range"], where, reading.text)
        first, last = (days.day(end) for end in ends)
        if first is None or last is None:
            raise refuse("its range is not two days", where)
        self.first = first
        self.listed = (last - first).days + 1
        _require_size(self.listed, where)
        self._read = days.reader(spec.get("format", ""), where)

    def label(self, index: int) -> str:
        """The day."""
        return self.day(index).isoformat()

    def day(self, index: int) -> datetime.date:
        """The day itself."""
        return self.first + datetime.timedelta(days=index)

    def place(self, written: str) -> int | None:
        """A day as 2026-01-31, or as the data writes it."""
        found = days.day(written) or self._read(written)
        index = -1 if found is None else (found - self.first).days
        return index if 0 <= index < self.listed else None


class Points(Attribute):
    """Places; their coordinates are read by the metric."""

    def __init__(self, spec: dict[str, Any], where: str) -> None:
        super().__init__(spec, where, ("ids", "coordinates", "properties"))
        self.ids = reading.each(spec["ids"], where, reading.text)
        self.listed = len(self.ids)
        rows = [reading.each(row, where, reading.hex_float) for row in reading.items(spec["coordinates"], where)]
        if len(rows) != self.listed or not rows or len({len(row) for row in rows}) != 1:
            raise refuse("needs one row of coordinates for each point", where)
        if len(set(self.ids)) < self.listed:
            raise refuse("lists an id twice", where)
        self.properties = [_property(given, self.listed, where) for given in reading.items(spec["properties"], where)]
        if len({p.name for p in self.properties}) < len(self.properties):
            raise refuse("has a property twice", where)

    @cached_property
    def _labels(self) -> list[str]:
        name = next((p for p in self.properties if p.name == "name"), None)
        if name is None:
            return self.ids
        texts = [p for p in self.properties if p is not name and p.numbers is None]
        twins: dict[str, list[int]] = {}
        for k, entry in enumerate(name.entries):
            twins.setdefault(entry, []).append(k)
        out = list(name.entries)
        for entry, at in twins.items():
            if len(at) > 1:
                telling = next((p for p in texts if len({p.entries[k] for k in at}) == len(at)), None)
                for k in at:
                    out[k] = f"{entry}, {telling.entries[k]}" if telling else f"{entry} ({self.ids[k]})"
        return out

    def label(self, index: int) -> str:
        """The name, or the id."""
        return self._labels[index]

    @cached_property
    def _at(self) -> dict[str, int]:
        by_label = {label: k for k, label in enumerate(self._labels)}
        return by_label | {key: k for k, key in enumerate(self.ids)}

    def place(self, written: str) -> int | None:
        """An id, or a label."""
        return self._at.get(written)


class Series(Attribute):
    """Tuples of entries."""

    def __init__(self, spec: dict[str, Any], where: str) -> None:
        super().__init__(spec, where, ("columns", "entry"))
        self.columns = reading.each(spec["columns"], where, reading.text)
        if not self.columns or len(set(self.columns)) < len(self.columns):
            raise refuse("needs different columns", where)
        entry = attribute(spec["entry"], f"{where} entry")
        if not isinstance(entry, (Integers, Numbers)):
            raise refuse("its entries are neither integers nor numbers", where)
        self.entry = entry
        if len(self.columns) * math.log2(entry.listed) > 26:
            raise refuse("has too many values", where)
        self.listed = entry.listed ** len(self.columns)

    def _entries(self, index: int) -> list[int]:
        out = []
        for _ in self.columns:
            index, digit = divmod(index, self.entry.listed)
            out.append(digit)
        return out[::-1]

    @property
    def clamp(self) -> bool:  # type: ignore[override]
        """Where its entries do."""
        return self.entry.clamp

    def hides(self, name: str) -> tuple[Fraction, Fraction]:
        """What an entry hides, or all of them together."""
        parts = len(self.columns) if name == "total" and "total" not in self.columns else 1
        below, above = self.entry.hides("")
        return below * parts, above * parts

    def places(self, column: str) -> list[int]:
        """The entry of each series in one of its columns."""
        at = self.columns.index(column)
        return [self._entries(index)[at] for index in range(self.listed)]

    def label(self, index: int) -> str:
        """The entries' labels."""
        return ", ".join(self.entry.label(k) for k in self._entries(index))

    def place(self, written: str) -> int | None:
        """Entries with commas, perhaps in brackets."""
        given = [self.entry.place(part.strip()) for part in written.strip("[]()").split(",")]
        index = 0
        for k in given:
            if k is None:
                return None
            index = index * self.entry.listed + k
        return index if len(given) == len(self.columns) else None

    @cached_property
    def properties(self) -> Sequence[Property]:  # type: ignore[override]
        """The total, and each column."""
        numbers = self.entry.numbers
        rows = [[numbers[k] for k in self._entries(index)] for index in range(self.listed)]
        columns = [Property(name, [number_text(row[c]) for row in rows]) for c, name in enumerate(self.columns)]
        total = Property("total", [number_text(sum(row, Fraction(0))) for row in rows])
        return columns if "total" in self.columns else [total, *columns]


_KINDS: dict[str, type[Values | Integers | Numbers | Dates | Points | Series]] = {
    "values": Values,
    "integers": Integers,
    "numbers": Numbers,
    "dates": Dates,
    "points": Points,
    "series": Series,
}


def attribute(spec: Any, where: str) -> Attribute:
    """An attribute from its spec."""
    kind = spec.get("kind") if isinstance(spec, dict) else None
    if not isinstance(kind, str) or kind not in _KINDS:
        raise refuse(f"an attribute of unknown kind {str(kind)[:40]!r}", where)
    made = _KINDS[kind](spec, where)
    if made.listed < 1:
        raise refuse("has no values", where)
    return made


def _two(value: Any, where: str, read: Any) -> tuple[Any, Any]:
    ends = reading.each(value, f"{where} range", read)
    if len(ends) != 2:
        raise refuse("a range has two ends", where)
    return ends[0], ends[1]


def _require_size(listed: int, where: str) -> None:
    if not 1 <= listed <= _MOST_VALUES:
        raise refuse("is empty, or has too many values", where)


def _property(given: Any, listed: int, where: str) -> Property:
    pair = reading.items(given, f"{where} properties")
    if len(pair) != 2:
        raise refuse("a property is a name and its entries", where)
    entries = reading.each(pair[1], f"{where} properties", reading.text)
    if len(entries) != listed:
        raise refuse("a property needs an entry for each value", where)
    return Property(reading.text(pair[0], where), entries)
