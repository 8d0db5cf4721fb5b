"""Days of the week."""

from typing import Any

from dxprivacy.verify import days, reading
from dxprivacy.verify.attributes.base import Attribute


class Weekdays(Attribute):
    """Monday to Sunday."""

    listed = 7
    several_formats = True

    def __init__(self, spec: dict[str, Any], where: str) -> None:
        super().__init__(spec, where, ("timezone",))
        days.reader(self.formats, reading.text(spec["timezone"], f"{where} timezone"), where)

    def label(self, index: int) -> str:
        return days.WEEKDAYS[index]

    def place(self, written: str) -> int | None:
        return days.WEEKDAYS.index(written) if written in days.WEEKDAYS else None
