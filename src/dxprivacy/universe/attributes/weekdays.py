"""Days of the week, read from a column of dates or points in time."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from dxprivacy.universe.attributes.attribute import OTHER, Attribute
from dxprivacy.universe.ordering.order_of_days import WEEKDAYS
from dxprivacy.universe.reading import codecs
from dxprivacy.universe.reading.text_formats import date_formats, settled
from dxprivacy.universe.reading.time_zones import require_zone


@dataclass(frozen=True, kw_only=True)
class Weekdays(Attribute):
    """Monday to Sunday, of days from 1800 to 2199.

    >>> weekday = Weekdays(name="weekday", column="visit")
    >>> weekday.label(0), weekday.find("Sunday")
    ('Monday', 6)
    """

    timezone: str = ""
    kind: str = field(init=False, default="weekdays")
    listed = 7
    neighbors = length_unit = "days"
    bad_example = "a day that does not exist"
    needed = "a day from 1800 to 2199"

    def __post_init__(self) -> None:
        if self.timezone:
            require_zone(self.name, self.timezone)
        object.__setattr__(self, "format", settled(self.name, self.format, self.timezone))
        date_formats(self.format, zoned=bool(self.timezone))
        super().__post_init__()

    @cached_property
    def codec(self) -> codecs.DaysOfTheWeek:
        return codecs.DaysOfTheWeek(self.timezone, self.format)

    def label(self, index: int) -> str:
        return WEEKDAYS[index] if index < self.listed else OTHER

    def find(self, value: object) -> int:
        if self.has_other and value == OTHER:
            return self.listed
        if value not in WEEKDAYS:
            raise self._unknown(value, WEEKDAYS)
        return WEEKDAYS.index(str(value))

    def spec(self) -> dict[str, Any]:
        return self._base_spec() | {"timezone": self.timezone}

    @classmethod
    def own_arguments(cls, spec: Mapping[str, Any]) -> dict[str, Any]:
        return {"timezone": spec["timezone"]}
