"""Codecs: the ways of reading an entry of a data column, each implemented by every engine.

A kind of attribute selects a codec with its parameters (`Attribute.codec`).  The *place* of an entry is the index of
its value; an entry without a place is `other`.  The set of codecs is closed, so that engines can be complete: a new
kind of attribute uses an existing codec and works in all engines; a new codec needs a class here and a case in each
engine.
"""

import math
from bisect import bisect_right
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, TypeAlias

from dxprivacy.exact.arrays import Floats
from dxprivacy.universe.reading.calendar import DAY, Periods, Step
from dxprivacy.universe.reading.spelling import EXACT, Spelling
from dxprivacy.universe.reading.text_formats import Written


@dataclass(frozen=True)
class ListedTexts:
    """Texts of a list, exact or up to `spelling`; a number stands for its shortest text (1.0 is `1`)."""

    texts: tuple[str, ...]
    spelling: Spelling = EXACT
    how: ClassVar[str] = "by its exact text"

    @property
    def listed(self) -> int:
        """How many places there are."""
        return len(self.texts)

    @cached_property
    def places(self) -> dict[str, int]:
        """The place of every text that is looked up: listed texts and their aliases, trimmed and case-folded."""
        return self.spelling.places("it", self.texts)


@dataclass(frozen=True)
class WholeNumbers:
    """Integers from `low` to `high`; with `clamp`, those outside count as the nearest end."""

    low: int
    high: int
    clamp: bool = False
    format: Written = ""
    how: ClassVar[str] = "as a whole number"

    @property
    def listed(self) -> int:
        """How many places there are."""
        return self.high - self.low + 1


@dataclass(frozen=True)
class NumbersInBins:
    """Numbers, rounded to float64 and compared with the edges of half-open bins, rounded in the same way.

    The upper end belongs to the last bin; with `clamp`, numbers outside count as the nearest end.
    """

    low: Fraction
    high: Fraction
    step: Fraction
    clamp: bool = False
    format: Written = ""
    how: ClassVar[str] = "as a number"

    @cached_property
    def listed(self) -> int:
        """How many places there are."""
        return int((self.high - self.low) / self.step)

    def start(self, index: int) -> Fraction:
        """Return the lower end of a bin."""
        return self.low + index * self.step

    @cached_property
    def grid(self) -> tuple[int, int, int]:
        """Integers (a, b, c): bin k starts at (a + k b) / c, in float64 one correctly rounded division."""
        common = math.lcm(self.low.denominator, self.step.denominator)
        return int(self.low * common), int(self.step * common), common

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the range as float64 numbers."""
        start, width, common = self.grid
        return start / common, (start + self.listed * width) / common

    @cached_property
    def edges(self) -> tuple[float, ...]:
        """The bin edges as float64 numbers, one more than there are bins."""
        start, width, common = self.grid
        return tuple((start + k * width) / common for k in range(self.listed + 1))

    def place(self, number: float) -> int:
        """Return the bin of a number; `listed` if it is in none."""
        if not math.isfinite(number):
            return self.listed
        if self.clamp:
            number = min(max(number, self.edges[0]), self.edges[-1])
        if not self.edges[0] <= number <= self.edges[-1]:
            return self.listed
        return min(bisect_right(self.edges, number) - 1, self.listed - 1)

    def place_exactly(self, number: Fraction) -> int:
        """Return the bin of a number without rounding to float64 (rounding preserves order, so results agree)."""
        if self.clamp:
            number = min(max(number, self.low), self.high)
        if not self.low <= number <= self.high:
            return self.listed
        return min(int((number - self.low) // self.step), self.listed - 1)


@dataclass(frozen=True)
class Days:
    """Days from `first` to `last`, in calendar periods.

    A point in time counts as its day, an instant as its day in the time zone.  With `clamp`, days outside count as the
    nearest end.
    """

    first: date
    last: date
    timezone: str = ""
    format: Written = ""
    step: Step = DAY
    clamp: bool = False
    how: ClassVar[str] = "as a date"

    @cached_property
    def periods(self) -> Periods:
        """The periods into which the days are grouped."""
        return Periods(self.first, self.last, self.step)

    @property
    def listed(self) -> int:
        """How many places there are."""
        return self.periods.listed

    def day(self, index: int) -> date:
        """Return the first day at an index."""
        return self.periods.start(index)

    @property
    def known(self) -> tuple[date, date]:
        """The first and last valid day: those of the range; with `clamp`, all days that exist in every time zone."""
        if not self.clamp:
            return self.first, self.last
        return min(self.first, date(1, 1, 3)), max(self.last, date(9999, 12, 29))

    def place(self, day: date) -> int:
        """Return the place of a day; `listed` if it has none."""
        if self.clamp and self.known[0] <= day <= self.known[1]:
            day = min(max(day, self.first), self.last)
        return self.periods.place(day)


KNOWN_DAYS = (date(1800, 1, 1), date(2199, 12, 31))
"""The days whose weekdays and times of day are read; beyond them, engines would need too many time zone rules."""


@dataclass(frozen=True)
class DaysOfTheWeek:
    """Days of the week, Monday to Sunday, of days and points in time of known years; instants in the time zone."""

    timezone: str = ""
    format: Written = ""
    listed: ClassVar[int] = 7
    how: ClassVar[str] = "as a day of the week"

    @cached_property
    def days(self) -> Days:
        """The codec of the days themselves."""
        return Days(*KNOWN_DAYS, self.timezone, self.format)


@dataclass(frozen=True)
class TimesOfDay:
    """Times of day from `low` to below `high`, in half-open bins, all in seconds since midnight.

    A point in time of a known year counts by its clock time, an instant by the clock time in the time zone.  If all
    bins consist of whole hours, an integer is an hour.
    """

    low: int
    high: int
    step: int
    timezone: str = ""
    format: Written = ""
    how: ClassVar[str] = "as a time of day"

    @property
    def listed(self) -> int:
        """How many places there are."""
        return (self.high - self.low) // self.step

    @property
    def whole_hours(self) -> bool:
        """Whether the number of an hour determines the bin."""
        return self.low % 3600 == 0 and self.step % 3600 == 0

    @cached_property
    def days(self) -> Days:
        """The codec of the days on which points in time are valid."""
        return Days(*KNOWN_DAYS, self.timezone)

    def place(self, seconds: int) -> int:
        """Return the place of a time; `listed` if it has none."""
        return (seconds - self.low) // self.step if self.low <= seconds < self.high else self.listed


NOWHERE = 0x7FF8 << 48
"""The bits of NaN, which stand for an entry that is not a number."""


@dataclass(frozen=True, eq=False)
class Surroundings:
    """The places among which a row's coordinates select the nearest, on the Earth or in a plane.

    Places farther away than `reach` (in kilometers on the Earth) do not count.
    """

    coordinates: Floats
    earth: bool
    reach: Fraction | None


@dataclass(frozen=True)
class Coordinate:
    """One of the two coordinates that select the nearest place; `along` are the coordinates of the places.

    A single coordinate has no place.  It is read as the 64 bits of its float64, or as `NOWHERE` if it is not a number
    or larger than `most` in size.
    """

    along: tuple[float, ...]
    most: float
    format: Written = ""
    how: ClassVar[str] = "as a coordinate"

    @property
    def listed(self) -> int:
        """How many places there are."""
        return len(self.along)


Codec: TypeAlias = ListedTexts | WholeNumbers | NumbersInBins | Days | DaysOfTheWeek | TimesOfDay | Coordinate
