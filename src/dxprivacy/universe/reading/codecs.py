"""How an entry of a data column is read: the few ways that every engine knows.

A kind of attribute names one of them (`Attribute.codec`), with its numbers; where an entry is *placed* is the index of
its value, and what has no place is `other`.  The set is closed, so that an engine can be complete: a new kind chooses a
way that is here, and is read by all engines at once; a new way is a new class here and a new line in each engine.
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
    """The text must be listed, as written or as `spelling` says; numbers stand for their shortest text (1.0 is `1`)."""

    texts: tuple[str, ...]
    spelling: Spelling = EXACT
    how: ClassVar[str] = "by its exact text"

    @property
    def listed(self) -> int:
        """How many places there are."""
        return len(self.texts)

    @cached_property
    def places(self) -> dict[str, int]:
        """The place of every text that is looked up: the listed ones and their aliases, trimmed and folded."""
        return self.spelling.places("it", self.texts)


@dataclass(frozen=True)
class WholeNumbers:
    """Whole numbers from `low` to `high`; with `clamp` those outside count as the nearest end."""

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
    """Numbers, rounded to float64 and compared with the ends of half-open cells, rounded likewise.

    The upper end belongs to the last cell; with `clamp` numbers outside count as the nearest end.
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
        """Where a cell starts."""
        return self.low + index * self.step

    @cached_property
    def grid(self) -> tuple[int, int, int]:
        """Whole numbers (a, b, c): cell k starts at (a + k b) / c, in float64 one correctly rounded division."""
        common = math.lcm(self.low.denominator, self.step.denominator)
        return int(self.low * common), int(self.step * common), common

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the range as float64 numbers."""
        start, width, common = self.grid
        return start / common, (start + self.listed * width) / common

    @cached_property
    def edges(self) -> tuple[float, ...]:
        """The ends of the cells as float64 numbers, one more than there are cells."""
        start, width, common = self.grid
        return tuple((start + k * width) / common for k in range(self.listed + 1))

    def place(self, number: float) -> int:
        """The cell of a number; `listed` where it has none."""
        if not math.isfinite(number):
            return self.listed
        if self.clamp:
            number = min(max(number, self.edges[0]), self.edges[-1])
        if not self.edges[0] <= number <= self.edges[-1]:
            return self.listed
        return min(bisect_right(self.edges, number) - 1, self.listed - 1)

    def place_exactly(self, number: Fraction) -> int:
        """The same without rounding to float64, which keeps the order of numbers."""
        if self.clamp:
            number = min(max(number, self.low), self.high)
        if not self.low <= number <= self.high:
            return self.listed
        return min(int((number - self.low) // self.step), self.listed - 1)


@dataclass(frozen=True)
class Days:
    """Days from `first` to `last`, in periods of the calendar; a point in time counts as its day, an instant as its day
    in the time zone; with `clamp` days outside count as the nearest end.
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
        """What the days are taken together to."""
        return Periods(self.first, self.last, self.step)

    @property
    def listed(self) -> int:
        """How many places there are."""
        return self.periods.listed

    def day(self, index: int) -> date:
        """The first day at an index."""
        return self.periods.start(index)

    @property
    def known(self) -> tuple[date, date]:
        """Which days count: those of the range, or with `clamp` all whose instants have a day in every time zone."""
        if not self.clamp:
            return self.first, self.last
        return min(self.first, date(1, 1, 3)), max(self.last, date(9999, 12, 29))

    def place(self, day: date) -> int:
        """The place of a day; `listed` where it has none."""
        if self.clamp and self.known[0] <= day <= self.known[1]:
            day = min(max(day, self.first), self.last)
        return self.periods.place(day)


KNOWN_DAYS = (date(1800, 1, 1), date(2199, 12, 31))
"""Whose weekdays and times of day are read: time zones have so many rules that engines could not be told all."""


@dataclass(frozen=True)
class DaysOfTheWeek:
    """Monday to Sunday, of days and points in time of known years; an instant's as in the time zone."""

    timezone: str = ""
    format: Written = ""
    listed: ClassVar[int] = 7
    how: ClassVar[str] = "as a day of the week"

    @cached_property
    def days(self) -> Days:
        """How the days themselves are read."""
        return Days(*KNOWN_DAYS, self.timezone, self.format)


@dataclass(frozen=True)
class TimesOfDay:
    """Times of day from `low` to below `high`, in half-open cells, all in seconds since midnight.

    A point in time of a known year counts as what the clock shows, an instant as what it shows in the time zone.  Where
    cells are made of whole hours, a whole number is an hour.
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
        """Whether an hour by its number tells the cell."""
        return self.low % 3600 == 0 and self.step % 3600 == 0

    @cached_property
    def days(self) -> Days:
        """In which days points in time count."""
        return Days(*KNOWN_DAYS, self.timezone)

    def place(self, seconds: int) -> int:
        """The place of a time; `listed` where it has none."""
        return (seconds - self.low) // self.step if self.low <= seconds < self.high else self.listed


NOWHERE = 0x7FF8 << 48
"""What stands for no number among the bits of numbers: those of NaN."""


@dataclass(frozen=True, eq=False)
class Surroundings:
    """What decides which place a row's coordinates find: the places, on the Earth or in a plane, and how far away they
    may be (in kilometers on the Earth).
    """

    coordinates: Floats
    earth: bool
    reach: Fraction | None


@dataclass(frozen=True)
class Coordinate:
    """One of two numbers that together find the nearest of some places; `along` are the numbers of these places.

    A number alone has no place: what is read are the 64 bits of its float64, or `NOWHERE`; no larger in size than
    `most`.
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
