"""Dates: days from a first to a last one; points in time count as their day."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from functools import cached_property
from typing import Any

from dxprivacy.attributes import codecs, order
from dxprivacy.attributes.base import OTHER, Attribute, Property
from dxprivacy.attributes.neighbours import calendar_starts, days_words
from dxprivacy.attributes.text_formats import DateFormat, as_date
from dxprivacy.errors import PolicyError


@dataclass(frozen=True, kw_only=True)
class Dates(Attribute):
    """Days from `first` to `last`, both included; a point in time counts as its day.

    `timezone` says in which zone a column of instants is read; wall-clock times are taken as they are written.

    >>> visit = Dates(name="visit", first="2026-01-01", last="2026-12-31")
    >>> visit.listed, visit.encode(["2026-01-03", "2025-12-31", "3 Jan"]).tolist()
    (365, [2, 365, 365])
    """

    first: date
    last: date
    timezone: str = ""
    kind: str = field(init=False, default="dates")
    unit_step = Fraction(1)
    neighbours = length_unit = "days"
    bad_example = "a day outside"

    def __post_init__(self) -> None:
        for key in ("first", "last"):
            day = as_date(getattr(self, key))
            if day is None:
                raise PolicyError(
                    f"{self.name}: {str(getattr(self, key))[:40]!r} is no date",
                    hints=['dates = ["2026-01-01", "2026-12-31"]'],
                )
            object.__setattr__(self, key, day)
        if self.last < self.first:
            raise PolicyError(f"{self.name} runs from {self.first} to {self.last}, which is empty")
        if self.timezone:
            _require_zone(self.name, self.timezone)
        DateFormat.of(self.format)
        super().__post_init__()

    @cached_property
    def codec(self) -> codecs.Days:
        """As a day."""
        return codecs.Days(self.first, self.last, self.timezone, self.format)

    @property
    def listed(self) -> int:
        """How many days there are."""
        return (self.last - self.first).days + 1

    def day(self, index: int) -> date:
        """The day at an index."""
        return self.codec.day(index)

    def label(self, index: int) -> str:
        """The day, as 2026-01-31."""
        return self.day(index).isoformat() if index < self.listed else OTHER

    def find(self, value: object) -> int:
        """The index of a day."""
        if self.has_other and value == OTHER:
            return self.listed
        day = as_date(value) or DateFormat.of(self.format).read(str(value))
        if day is None or not self.first <= day <= self.last:
            raise self._unknown(value)
        return (day - self.first).days

    def spec(self) -> dict[str, Any]:
        """First and last day."""
        return self._base_spec() | {
            "range": [self.first.isoformat(), self.last.isoformat()],
            "timezone": self.timezone,
        }

    @classmethod
    def own_arguments(cls, spec: Mapping[str, Any]) -> dict[str, Any]:
        """First and last day."""
        first, last = spec["range"]
        return {"first": first, "last": last, "timezone": spec["timezone"]}

    def order(self, fact: Property | None = None) -> order.Scale | None:
        """By the calendar."""
        return order.Days(self.name, self.first, self.listed) if fact is None else super().order(fact)

    @property
    def needed(self) -> str:
        """A day, and which."""
        return f"a day from {self.first} to {self.last}{self._written}"

    def coarse(self, most: int) -> list[int]:
        """By months, quarters or years."""
        return calendar_starts([self.day(k) for k in range(self.listed)], most) or super().coarse(most)

    def stretch(self, first: int, last: int) -> str:
        """`2026-01`, `2026 Q1`, `2026`."""
        return "" if first == last else days_words(self.day(first), self.day(last))


def _require_zone(name: str, zone: str) -> None:
    import zoneinfo

    try:
        zoneinfo.ZoneInfo(zone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        known = sorted(zoneinfo.available_timezones())
        close = [z for z in known if z.lower().endswith(zone.lower())][:3]
        raise PolicyError(
            f"{name}: no time zone “{zone[:40]}”", hints=close or ['timezone = "Europe/Berlin"']
        ) from None
