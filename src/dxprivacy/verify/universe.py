"""The universe: all possible records, and where records may be missing, `absent` (docs/formats.md, 2)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dxprivacy.verify import reading
from dxprivacy.verify.attributes import attribute
from dxprivacy.verify.reading import refuse

ABSENT = "absent"
FILE = "file"
PEOPLE = "people"
_MOST_RECORDS = (1 << 50) - 1
_MOST_ROWS_EACH = 100_000
_KEPT = "md5-1"


@dataclass(frozen=True)
class People:
    """People with several rows: how many of each count, and how many people there can be where that is private."""

    max_rows: int
    max_people: int | None
    attributes: tuple[str, ...] = ()  # that stand in a table of people

    @property
    def max_records(self) -> int | None:
        """How many rows can be kept of all that there can be."""
        return None if self.max_people is None else self.max_people * self.max_rows


class Universe:
    """All possible records: `cells` of the product, and behind them perhaps `absent`."""

    def __init__(self, data: Any) -> None:
        given = reading.members(data, "universe", ("digest", "attributes", "units"))
        self.digest = reading.hash_text(given["digest"], "universe digest")
        specs = reading.items(given["attributes"], "universe attributes")
        if reading.digest(specs) != self.digest:
            raise refuse("is not the digest of the attributes", "universe digest")
        last = specs[-1] if specs else None
        self.people = _people(last)
        self.max_records = _most_records(last) if self.people is None else self.people.max_records
        may_be_missing = self.people is not None or self.max_records is not None
        specs = specs[:-1] if may_be_missing else specs
        if specs and isinstance(specs[-1], dict) and specs[-1].get("kind") == FILE:
            _require_file(specs[-1])
            specs = specs[:-1]
        self.attributes = [attribute(spec, f"attribute {k + 1}") for k, spec in enumerate(specs)]
        self.names = [a.name for a in self.attributes]
        if not specs or len(set(self.names)) < len(specs):
            raise refuse("needs attributes with different names", "universe")
        if self.people is not None and self.people.attributes and not set(self.people.attributes) < set(self.names):
            raise refuse("tells attributes that are not there, or all", f"{PEOPLE} table")
        self.shape = [a.size for a in self.attributes]
        self.cells = math.prod(self.shape)
        self.absent = self.cells if may_be_missing else None
        self.size = self.cells + (self.absent is not None)
        self.units = self._units(given["units"])

    @property
    def neighbors(self) -> str:
        """What one record, or one person, may do."""
        if self.people is not None:
            return "people-replace" if self.people.max_people is None else "people-add-remove"
        return "replace" if self.absent is None else "add-remove"

    @property
    def rows_each(self) -> int:
        """How many rows of one person count."""
        return 1 if self.people is None else self.people.max_rows

    def _units(self, data: Any) -> dict[str, str]:
        if not isinstance(data, dict):
            raise refuse("not an object", "universe units")
        known = set[str]().union(*(a.in_units for a in self.attributes))
        for name, unit in data.items():
            if name not in known or not reading.text(unit, "universe units"):
                raise refuse(f"a unit for {name[:40]!r}", "universe units")
        return dict(data)

    def values(self, cell: int) -> list[int]:
        """The value of each attribute in a cell."""
        out = []
        for size in reversed(self.shape):
            cell, value = divmod(cell, size)
            out.append(value)
        return out[::-1]

    def cell(self, values: Sequence[int]) -> int:
        """The cell of a record."""
        out = 0
        for value, size in zip(values, self.shape, strict=True):
            out = out * size + value
        return out

    def tell(self, i: int, j: int) -> str:
        """Two records in words, by what differs."""
        if self.absent in (i, j):
            return " – ".join(ABSENT if cell == self.absent else self._whole(cell) for cell in (i, j))
        sides: list[list[str]] = [[], []]
        for a, u, v in zip(self.attributes, self.values(i), self.values(j), strict=True):
            if u != v:
                name = f"{a.name} " if len(self.attributes) > 1 else ""
                sides[0].append(f"{name}{a.show(u)}")
                sides[1].append(f"{name}{a.show(v)}")
        return " – ".join(", ".join(side) for side in sides)

    def _whole(self, cell: int) -> str:
        values = zip(self.attributes, self.values(cell), strict=True)
        return ", ".join(f"{a.name} {a.show(v)}" for a, v in values)


def _require_file(given: dict[str, Any]) -> None:
    """How the data's lines are written: nothing in a file of ours depends on it, but the digest covers it."""
    optional = ("delimiter", "encoding", "columns", "quoted_line_breaks", "rows_are_records", "row_security_role")
    told = reading.members(given, FILE, ("kind",), optional)
    columns = reading.each(told.get("columns", ["-"]), f"{FILE} columns", reading.text)
    one = [len(reading.text(told["delimiter"], f"{FILE} delimiter")) == 1] if "delimiter" in told else []
    named = [bool(reading.text(told[key], f"{FILE} {key}")) for key in ("encoding", "row_security_role") if key in told]
    flag = [reading.flag(told[key], FILE) for key in ("quoted_line_breaks", "rows_are_records") if key in told]
    if len(told) < 2 or not columns or len(set(columns)) < len(columns) or not all([*one, *named, *flag]):
        raise refuse("says nothing, or has a column twice", FILE)


def _most_records(last: Any) -> int | None:
    """The declared most, where the list of attributes ends with `absent`."""
    if not isinstance(last, dict) or last.get("kind") != ABSENT:
        return None
    given = reading.members(last, ABSENT, ("kind", "max_records"))
    return reading.whole(given["max_records"], f"{ABSENT} max_records", 1, _MOST_RECORDS)


def _people(last: Any) -> People | None:
    """Whose rows they are, where the list of attributes ends with `people`."""
    if not isinstance(last, dict) or last.get("kind") != PEOPLE:
        return None
    given = reading.members(last, PEOPLE, ("kind", "key", "max_rows", "no_key", "kept", "max_people"), ("table",))
    key = reading.each(given["key"], f"{PEOPLE} key", reading.text)
    if not key or len(set(key)) < len(key):
        raise refuse("needs different columns", f"{PEOPLE} key")
    if given["no_key"] not in ("one", "own"):
        raise refuse("is neither one nor own", f"{PEOPLE} no_key")
    if given["kept"] != _KEPT:
        raise refuse("is a rule that this version does not know", f"{PEOPLE} kept")
    max_rows = reading.whole(given["max_rows"], f"{PEOPLE} max_rows", 1, _MOST_ROWS_EACH)
    most = given["max_people"]
    if most is not None:
        most = reading.whole(most, f"{PEOPLE} max_people", 1, (_MOST_RECORDS + 1) // _MOST_ROWS_EACH)
    return People(max_rows, most, _table(given["table"], len(key)) if "table" in given else ())


def _table(data: Any, columns: int) -> tuple[str, ...]:
    """The attributes of a table of people."""
    where = f"{PEOPLE} table"
    given = reading.members(data, where, ("key", "attributes"))
    key = reading.each(given["key"], where, reading.text)
    attributes = reading.each(given["attributes"], where, reading.text)
    if len(key) != columns or not attributes or len(set(attributes)) < len(attributes):
        raise refuse("is damaged", where)
    return tuple(attributes)
