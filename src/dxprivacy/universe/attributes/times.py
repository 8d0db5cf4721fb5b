"""Days of the week, and times of day in half-open steps such as hours; points in time count by their clock time."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

from dxprivacy.errors import PolicyError, UsageError
from dxprivacy.exact.answer_grid import Evenly
from dxprivacy.exact.rounding import exact, is_whole
from dxprivacy.universe.attributes.attribute import OTHER, Attribute, Property
from dxprivacy.universe.ordering.order import Clock, Scale, clock_text
from dxprivacy.universe.ordering.order_of_days import WEEKDAYS
from dxprivacy.universe.reading import codecs
from dxprivacy.universe.reading.calendar import require_zone
from dxprivacy.universe.reading.text_formats import date_formats, hours_of, settled, time_formats

# -- Days of the week, read from a column of dates or points in time ---------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Weekdays(Attribute):
    """Days of the week, Monday to Sunday, for days from 1800 to 2199.

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


# -- Times of day, in half-open steps such as hours --------------------------------------------------------------------


DAY = 86_400  # seconds


@dataclass(frozen=True, kw_only=True)
class Times(Attribute):
    """Times of day from `low` to below `high`, in half-open bins of width `step`, all in seconds since midnight.

    >>> hour = Times(name="hour", low=0, high=86400, step=3600)
    >>> hour.listed, hour.label(8), hour.find("08:59:59"), hour.find("8")
    (24, '08:00–09:00', 8, 8)
    """

    low: int = 0
    high: int = DAY
    step: int = 3600
    timezone: str = ""
    kind: str = field(init=False, default="times")
    length_unit = "hours"
    bad_example = "a time of day that does not exist"
    counts_more = True  # a range is half open, and a single time means the step that it lies in

    def __post_init__(self) -> None:
        if not all(is_whole(x) for x in (self.low, self.high, self.step)) or not 0 <= self.low < self.high <= DAY:
            raise PolicyError(
                f"{self.name} needs two times of a day, the first before the last", hints=["hours = [0, 24]"]
            )
        if self.step < 1 or (self.high - self.low) % self.step:
            raise PolicyError(
                f"{self.name} from {clock_text(Fraction(self.low, 3600))} to {clock_text(Fraction(self.high, 3600))} "
                f"cannot be cut into steps of {step_words(self.step)}",
                hints=["the range must be a whole number of steps", 'step = "1 hour"'],
            )
        if self.timezone:
            require_zone(self.name, self.timezone)
        object.__setattr__(self, "format", settled(self.name, self.format, self.timezone))
        time_formats(self.format, zoned=bool(self.timezone))
        super().__post_init__()

    @cached_property
    def codec(self) -> codecs.TimesOfDay:
        return codecs.TimesOfDay(self.low, self.high, self.step, self.timezone, self.format)

    @property
    def listed(self) -> int:
        return (self.high - self.low) // self.step

    def start(self, index: int) -> Fraction:
        """Return the start of a bin, in hours."""
        return Fraction(self.low + index * self.step, 3600)

    def label(self, index: int) -> str:
        if index >= self.listed:
            return OTHER
        return f"{clock_text(self.start(index))}–{clock_text(self.start(index + 1))}"

    def find(self, value: object) -> int:
        """Return the bin of a time, or of a number of hours."""
        if self.has_other and value == OTHER:
            return self.listed
        text = str(value)
        hours = hours_of(text.partition("–")[0])
        if hours is None:
            try:
                hours = Fraction(exact(text))
            except UsageError:
                raise self._unknown(value) from None
        index = (hours * 3600 - self.low) // self.step
        if not 0 <= index < self.listed or ("–" in text and text != self.label(int(index))):
            raise self._unknown(value)
        return int(index)

    @property
    def unit_step(self) -> Fraction:
        return Fraction(self.step, 3600)

    @property
    def neighbors(self) -> str:
        return "hours" if self.step == 3600 else f"steps of {step_words(self.step)}"

    def order(self, fact: Property | None = None) -> Scale | None:
        if fact is not None:
            return super().order(fact)
        return Clock(self.name, Evenly(self.start(0), self.unit_step, self.listed), step=self.unit_step)

    @property
    def limits(self) -> tuple[str, str] | None:
        if (self.low, self.high) == (0, DAY):
            return None
        return clock_text(self.start(0)), clock_text(self.start(self.listed))

    def range_words(self, low: Fraction, high: Fraction) -> str:
        ends = (self.start(0), self.start(self.listed))
        return "–".join(clock_text(min(max(x, ends[0]), ends[1])) for x in (low, high))

    def spec(self) -> dict[str, Any]:
        return self._base_spec() | {"range": [self.low, self.high], "step": self.step, "timezone": self.timezone}

    @classmethod
    def own_arguments(cls, spec: Mapping[str, Any]) -> dict[str, Any]:
        low, high = spec["range"]
        return {"low": low, "high": high, "step": spec["step"], "timezone": spec["timezone"]}

    @property
    def needed(self) -> str:
        ends = (clock_text(Fraction(x, 3600)) for x in (self.low, self.high))
        return f"a time of day from {' to below '.join(ends)}{self._written}"

    def coarse(self, most: int) -> list[int]:
        """Return groups that start at full hours."""
        for hours in (1, 2, 3, 4, 6, 12):
            starts = [k for k in range(self.listed) if not k or self.start(k) % hours == 0]
            if len(starts) <= most:
                return starts
        return super().coarse(most)

    def stretch(self, first: int, last: int) -> str:
        return f"{clock_text(self.start(first))}–{clock_text(self.start(last + 1))}"


def step_words(seconds: int) -> str:
    """Return a duration in its largest unit.

    >>> step_words(900), step_words(3600), step_words(90)
    ('15 minutes', '1 hour', '90 seconds')
    """
    for size, unit in ((3600, "hour"), (60, "minute"), (1, "second")):
        if seconds % size == 0:
            count = seconds // size
            return f"{count} {unit}{'' if count == 1 else 's'}"
    raise AssertionError(seconds)
