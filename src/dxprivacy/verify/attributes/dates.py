"""Days."""

import datetime
from typing import Any

from dxprivacy.verify import days, reading
from dxprivacy.verify.attributes.base import Attribute, require_size, two
from dxprivacy.verify.orders import DayOrder
from dxprivacy.verify.reading import refuse


class Dates(Attribute):
    """Days."""

    def __init__(self, spec: dict[str, Any], where: str) -> None:
        super().__init__(spec, where, ("range", "timezone"))
        reading.text(spec["timezone"], f"{where} timezone")
        ends = two(spec["range"], where, reading.text)
        first, last = (days.day(end) for end in ends)
        if first is None or last is None:
            raise refuse("its range is not two days", where)
        self.first = first
        self.listed = (last - first).days + 1
        require_size(self.listed, where)
        self._read = days.reader(spec.get("format", ""), where)

    def label(self, index: int) -> str:
        return self.day(index).isoformat()

    def day(self, index: int) -> datetime.date:
        """The day itself."""
        return self.first + datetime.timedelta(days=index)

    def place(self, written: str) -> int | None:
        """A day as 2026-01-31, or as the data writes it."""
        found = days.day(written) or self._read(written)
        index = -1 if found is None else (found - self.first).days
        return index if 0 <= index < self.listed else None

    def order(self, where: str) -> DayOrder:
        return DayOrder(where, self.first, self.listed)
