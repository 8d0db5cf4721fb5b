"""Dates: the days of a range, or periods of them; points in time count as their day."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from dxprivacy.errors import PolicyError
from dxprivacy.universe.attributes.attribute import OTHER, Attribute, Property, Shared
from dxprivacy.universe.ordering import order, order_of_days
from dxprivacy.universe.ordering.order_of_names import calendar_starts, days_words
from dxprivacy.universe.reading import codecs
from dxprivacy.universe.reading.calendar import DAY, Periods, Step, require_zone, zone_of
from dxprivacy.universe.reading.text_formats import as_date, date_formats, settled


@dataclass(frozen=True, kw_only=True)
class Dates(Attribute):
    """Days from `first` to `last`, both included; a point in time counts as its day.

    `step` groups days into weeks, months or years, from the first day on.  Instants (typed ones, and text with an
    offset) are converted to the zone `timezone`; wall-clock times are read as written.

    >>> visit = Dates(name="visit", first="2026-01-01", last="2026-12-31")
    >>> visit.listed, visit.encode(["2026-01-03", "2025-12-31", "3 Jan"]).tolist()
    (365, [2, 365, 365])
    >>> birth = Dates(name="birth", first="1926-01-01", last="2026-12-31", step="1 month")
    >>> birth.listed, birth.label(0), birth.find("2000-02-29") == birth.find("2000-02")
    (1212, '1926-01', True)
    """

    first: date
    last: date
    timezone: str = ""
    step: Step = DAY
    clamp: bool = False
    kind: str = field(init=False, default="dates")
    bad_example = "a day outside"

    def __post_init__(self) -> None:
        for key in ("first", "last"):
            day = as_date(getattr(self, key))
            if day is None:
                raise PolicyError(
                    f"{self.name}: {str(getattr(self, key))[:40]!r} is not a date",
                    hints=['dates = ["2026-01-01", "2026-12-31"]'],
                )
            object.__setattr__(self, key, day)
        if self.last < self.first:
            raise PolicyError(
                f"{self.name} runs from {self.first} to {self.last}, which is empty",
                hints=[f'dates = ["{self.last}", "{self.first}"]'],
            )
        if isinstance(self.step, str):
            object.__setattr__(self, "step", Step.of(self.step))
        if self.step.months and self.first.day != 1:
            raise PolicyError(
                f"{self.name} is cut into months, and begins on {self.first}: not every month has such a day",
                hints=[f'dates = ["{self.first.replace(day=1)}", "{self.last}"]'],
            )
        if self.timezone:
            require_zone(self.name, self.timezone)
        object.__setattr__(self, "format", settled(self.name, self.format, self.timezone))
        date_formats(self.format, zoned=bool(self.timezone))
        super().__post_init__()

    @cached_property
    def codec(self) -> codecs.Days:
        return codecs.Days(self.first, self.last, self.timezone, self.format, self.step, self.clamp)

    @property
    def listed(self) -> int:
        return self.codec.listed

    @property
    def unit_step(self) -> Fraction:
        return Fraction(self.step.size)

    @property
    def length_unit(self) -> str:
        return self.step.unit

    @property
    def neighbors(self) -> str:
        return self.step.plural

    @property
    def _periods(self) -> Periods:
        return self.codec.periods

    def day(self, index: int) -> date:
        """Return the first day at an index."""
        return self.codec.day(index)

    def label(self, index: int) -> str:
        return self._periods.label(index) if index < self.listed else OTHER

    def find(self, value: object) -> int:
        found = self.find_all(value)
        if len(found) != 1:
            raise self._unknown(value)
        return found[0]

    def find_all(self, value: object) -> Sequence[int]:
        """Return the period of a day, or all periods of a month, a year or a decade."""
        if self.has_other and value == OTHER:
            return [self.listed]
        found = None if isinstance(value, date) else self._periods.find(str(value))
        if found is None:
            day = as_date(value) or self._written_day(str(value))
            place = self.listed if day is None else self._periods.place(day)
            found = range(place, place + 1)
        if found[0] == self.listed:
            raise self._unknown(value)
        return found

    def _written_day(self, text: str) -> date | None:
        """Return the day of an entry of the data, or None."""
        for written in date_formats(self.format, zoned=bool(self.timezone)):
            found = written.read(text)
            if isinstance(found, datetime):
                return found.astimezone(zone_of(self.timezone)).date()
            if found is not None:
                return found
        return None

    @property
    def clamps(self) -> bool:
        return self.clamp

    def beyond(self, value: object) -> bool:
        """Return whether a value is a day outside a clamped range."""
        day = as_date(value) or self._written_day(str(value))
        return self.clamp and day is not None and not self.first <= day <= self.last

    @property
    def limits(self) -> tuple[str, str]:
        return self.first.isoformat(), self.last.isoformat()

    @property
    def counts_more(self) -> bool:
        """True for periods (a day means its period) and for clamped ranges (the ends include all days beyond)."""
        return self.clamp or self.step != DAY

    @property
    def coarser(self) -> str:
        return f"{self.name}/year"

    def range_words(self, low: Fraction, high: Fraction) -> str:
        """Describe the days from `low` to `high`, both counted from the first day of the attribute."""
        start = self.first.toordinal()
        ends = (date.fromordinal(max(min(start + int(x), self.last.toordinal()), start)) for x in (low, high))
        first, last = (self._periods.place(day) for day in ends)
        return self._words(first, last)

    def value_words(self, index: int) -> str:
        return self._words(index, index) if index < self.listed else OTHER

    def values_words(self, indices: Sequence[int]) -> str:
        """Describe periods, consecutive ones as a range."""
        runs: list[list[int]] = []
        for k in indices:
            if runs and k == runs[-1][1] + 1 and k < self.listed:
                runs[-1][1] = k
            else:
                runs.append([k, k])
        return " or ".join(self._words(a, b) if a < self.listed else OTHER for a, b in runs)

    def _words(self, first: int, last: int) -> str:
        """Describe a range of periods; a clamped end is open (`or later`, `or earlier`)."""
        if self.clamp and last == self.listed - 1:
            return f"{self.label(first)} or later" if first else "any day"
        if self.clamp and not first:
            words = self._periods.words(last, last)
            return f"{words.rpartition('–')[2]} or earlier"
        return self._periods.words(first, last)

    def shared_with(self, other: Attribute) -> Shared:
        """Compare two ranges of days by their ends; days of one version alone are returned as ranges."""
        if not isinstance(other, Dates) or self.step != DAY or other.step != DAY:
            return super().shared_with(other)
        low, high = max(self.first, other.first), min(self.last, other.last)
        both = np.arange(low.toordinal(), max(high.toordinal(), low.toordinal() - 1) + 1, dtype=np.int64)
        here, there = (both - a.first.toordinal() for a in (self, other))
        return Shared(here, there, self._without(other), other._without(self))

    def _without(self, other: "Dates") -> tuple[str, ...]:
        a, b, c, d = (day.toordinal() for day in (self.first, self.last, other.first, other.last))
        ends = [(a, min(b, c - 1)), (max(a, d + 1), b)]
        days = [tuple(date.fromordinal(x).isoformat() for x in pair) for pair in ends if pair[0] <= pair[1]]
        return tuple(dict.fromkeys(x if x == y else f"{x}..{y}" for x, y in days))

    def spec(self) -> dict[str, Any]:
        return self._base_spec() | {
            "range": [self.first.isoformat(), self.last.isoformat()],
            "timezone": self.timezone,
            **({} if self.step == DAY else {"step": {self.step.unit: self.step.size}}),
            **({"outside": "clamp"} if self.clamp else {}),
        }

    @classmethod
    def own_arguments(cls, spec: Mapping[str, Any]) -> dict[str, Any]:
        first, last = spec["range"]
        step = {"step": Step(**spec["step"])} if "step" in spec else {}
        return {
            "first": first,
            "last": last,
            "timezone": spec["timezone"],
            "clamp": spec.get("outside") == "clamp",
            **step,
        }

    def order(self, fact: Property | None = None) -> order.Scale | None:
        return order_of_days.OrderOfDays(self.name, self._periods) if fact is None else super().order(fact)

    @property
    def needed(self) -> str:
        return f"a day{'' if self.clamp else f' from {self.first} to {self.last}'}{self._written}"

    def coarse(self, most: int) -> list[int]:
        return calendar_starts([self.day(k) for k in range(self.listed)], most) or super().coarse(most)

    def stretch(self, first: int, last: int) -> str:
        return "" if first == last else days_words(self.day(first), self._periods.end(last))
