"""Tuples of numbers: several columns of the data."""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

from dxprivacy.verify import reading
from dxprivacy.verify.attributes.base import Attribute, Cells, Property
from dxprivacy.verify.attributes.integers import Integers
from dxprivacy.verify.attributes.numbers import Numbers
from dxprivacy.verify.attributes.ranged import Ranged
from dxprivacy.verify.reading import refuse
from dxprivacy.verify.words import number_text

_ENTRIES: dict[str, type[Integers | Numbers]] = {"integers": Integers, "numbers": Numbers}


class Series(Attribute):
    """Tuples of entries."""

    def __init__(self, spec: dict[str, Any], where: str) -> None:
        super().__init__(spec, where, ("columns", "entry"))
        self.columns = reading.each(spec["columns"], where, reading.text)
        if not self.columns or len(set(self.columns)) < len(self.columns):
            raise refuse("needs different columns", where)
        entry = spec["entry"]
        kind = entry.get("kind") if isinstance(entry, dict) else None
        if not isinstance(kind, str) or kind not in _ENTRIES:
            raise refuse("its entries are neither integers nor numbers", where)
        self.entry = _ENTRIES[kind](entry, f"{where} entry")
        if len(self.columns) * math.log2(self.entry.listed) > 26:
            raise refuse("has too many values", where)
        self.listed = self.entry.listed ** len(self.columns)

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

    @property
    def cells(self) -> Cells | None:
        """Those of its entries."""
        return self.entry.cells

    def together(self, name: str) -> int:
        """All, for the total."""
        return len(self.columns) if name == "total" else 1

    def entry_of(self, column: str) -> Ranged | None:
        """An entry; the total stands in no column."""
        return self.entry if column in self.columns else None

    def hides(self, name: str) -> tuple[Fraction, Fraction]:
        """What an entry hides, or all of them together."""
        parts = 1 if "total" in self.columns else self.together(name)
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
