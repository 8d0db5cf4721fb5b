"""The universe: all possible records, and where records may be added and removed, `absent` (docs/formats.md, 2)."""

import math
from collections.abc import Sequence
from typing import Any

from dxprivacy.verify import reading
from dxprivacy.verify.attributes import attribute
from dxprivacy.verify.reading import refuse

ABSENT = "absent"
FILE = "file"
_MOST_RECORDS = (1 << 50) - 1


class Universe:
    """All possible records: `cells` of the product, and behind them perhaps `absent`."""

    def __init__(self, data: Any) -> None:
        given = reading.members(data, "universe", ("digest", "attributes", "units"))
        self.digest = reading.hash_text(given["digest"], "universe digest")
        specs = reading.items(given["attributes"], "universe attributes")
        if reading.digest(specs) != self.digest:
            raise refuse("is not the digest of the attributes", "universe digest")
        self.max_records = _most_records(specs[-1] if specs else None)
        specs = specs if self.max_records is None else specs[:-1]
        if specs and isinstance(specs[-1], dict) and specs[-1].get("kind") == FILE:
            _require_file(specs[-1])
            specs = specs[:-1]
        self.attributes = [attribute(spec, f"attribute {k + 1}") for k, spec in enumerate(specs)]
        self.names = [a.name for a in self.attributes]
        if not specs or len(set(self.names)) < len(specs):
            raise refuse("needs attributes with different names", "universe")
        self.shape = [a.size for a in self.attributes]
        self.cells = math.prod(self.shape)
        self.absent = None if self.max_records is None else self.cells
        self.size = self.cells + (self.absent is not None)
        self.units = self._units(given["units"])

    @property
    def privacy_unit(self) -> str:
        """What one record may do."""
        return "replace" if self.absent is None else "add-remove"

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
    optional = ("delimiter", "encoding", "columns", "quoted_line_breaks")
    told = reading.members(given, FILE, ("kind",), optional)
    columns = reading.each(told.get("columns", ["-"]), f"{FILE} columns", reading.text)
    one = [len(reading.text(told["delimiter"], f"{FILE} delimiter")) == 1] if "delimiter" in told else []
    named = [bool(reading.text(told["encoding"], f"{FILE} encoding"))] if "encoding" in told else []
    flag = [reading.flag(told["quoted_line_breaks"], FILE)] if "quoted_line_breaks" in told else []
    if len(told) < 2 or not columns or len(set(columns)) < len(columns) or not all([*one, *named, *flag]):
        raise refuse("says nothing, or has a column twice", FILE)


def _most_records(last: Any) -> int | None:
    """The declared most, where the list of attributes ends with `absent`."""
    if not isinstance(last, dict) or last.get("kind") != ABSENT:
        return None
    given = reading.members(last, ABSENT, ("kind", "max_records"))
    return reading.whole(given["max_records"], f"{ABSENT} max_records", 1, _MOST_RECORDS)
