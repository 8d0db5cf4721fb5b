"""The order of an attribute's values: what groups, edges and ranges of it mean.

Whole numbers and properties are points; numbers in cells have a width, and no edge may cut a cell in two; days are
grouped by the calendar too.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias

from dxprivacy.attributes.text_formats import as_date
from dxprivacy.errors import QuestionError
from dxprivacy.exact.numbers import exact, number_text

End: TypeAlias = Fraction | date | str
"""One end of a range, as it was written."""

_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class Scale(ABC):
    """Where each listed value stands, in order."""

    name: str
    example: str
    starts: tuple[Fraction, ...]

    @abstractmethod
    def read(self, written: End) -> Fraction:
        """Where an edge or an end of a range stands."""

    @abstractmethod
    def label(self, low: Fraction, high: Fraction | None) -> str:
        """The group from `low` up to, but without, `high`."""

    @abstractmethod
    def inside(self, low: End, high: End) -> list[int]:
        """The values within a range, both ends included."""

    @abstractmethod
    def steps(self, width: str) -> tuple[list[int], list[str]]:
        """Groups of equal width: the group of each value, and the groups' labels."""

    def require_end(self, edge: Fraction) -> None:  # noqa: B027 - points cannot be cut
        """Refuse an edge that would cut a value in two."""

    def places(self, edges: Sequence[Fraction]) -> list[int]:
        """Between which edges each value lies; -1 is before the first."""
        for edge in edges:
            self.require_end(edge)
        return [sum(e <= v for e in edges) - 1 for v in self.starts]


@dataclass(frozen=True)
class Singles(Scale):
    """Single numbers."""

    name: str
    starts: tuple[Fraction, ...]
    example: str = "0,18,65"

    def read(self, written: End) -> Fraction:
        """A number."""
        if isinstance(written, date):
            raise QuestionError(f"{self.name} holds numbers, not dates", hints=[f"{self.name}=18..65"])
        return Fraction(exact(written, what=f"an edge of {self.name}"))

    @cached_property
    def _whole(self) -> bool:
        return all(v.denominator == 1 for v in self.starts)

    @cached_property
    def _ends(self) -> tuple[Fraction, Fraction]:
        return min(self.starts), max(self.starts)

    def label(self, low: Fraction, high: Fraction | None) -> str:
        """`0–9` for whole numbers, otherwise `0 to 10`; the last one is open."""
        if high is None:
            return f"{number_text(low)}+"
        if self._whole and low.denominator == high.denominator == 1:
            first, last = max(low, self._ends[0]), min(high - 1, self._ends[1])
            return f"{number_text(first)}–{number_text(last)}" if last > first else number_text(first)
        return f"{number_text(low)} to {number_text(high)}"

    def inside(self, low: End, high: End) -> list[int]:
        """The numbers between the two."""
        first, last = self.read(low), self.read(high)
        return [k for k, v in enumerate(self.starts) if first <= v <= last]

    def _width(self, width: str) -> Fraction:
        size = Fraction(exact(width, what=f"the width of {self.name}"))
        if size <= 0:
            raise QuestionError(f"cannot group {self.name} by steps of {width}")
        return size

    def steps(self, width: str) -> tuple[list[int], list[str]]:
        """From one multiple of the width to the next."""
        return self._by_width(width)

    def _by_width(self, width: str) -> tuple[list[int], list[str]]:
        size = self._width(width)
        keys = [int(v // size) for v in self.starts]
        place = {key: k for k, key in enumerate(sorted(set(keys)))}
        return [place[key] for key in keys], [self.label(key * size, (key + 1) * size) for key in place]


@dataclass(frozen=True)
class Cells(Singles):
    """Half-open cells of one width."""

    step: Fraction = Fraction(1)
    example: str = "0,20000,50000"

    def label(self, low: Fraction, high: Fraction | None) -> str:
        """`0 to 10000`; the last one is open."""
        return f"{number_text(low)}+" if high is None else f"{number_text(low)} to {number_text(high)}"

    def require_end(self, edge: Fraction) -> None:
        """An edge inside a cell would leave open where the cell's records belong."""
        low = self.starts[0]
        if self.cuts(edge):
            below = low + (edge - low) // self.step * self.step
            raise QuestionError(
                f"{number_text(edge)} lies inside a step of {self.name}",
                details=[f"The policy knows {self.name} in steps of {number_text(self.step)} only."],
                hints=[number_text(below), number_text(below + self.step)],
            )

    def cuts(self, edge: Fraction) -> bool:
        """Whether an edge lies inside a cell."""
        low = self.starts[0]
        return low < edge < self.starts[-1] + self.step and (edge - low) % self.step != 0

    def inside(self, low: End, high: End) -> list[int]:
        """The cells between the two."""
        first, last = self.read(low), self.read(high)
        self.require_end(first)
        self.require_end(last)
        return [k for k, v in enumerate(self.starts) if first <= v and v + self.step <= last]

    def steps(self, width: str) -> tuple[list[int], list[str]]:
        """From one multiple of the width to the next; it must not cut cells."""
        size = self._width(width)
        for edge in {(v // size + 1) * size for v in self.starts}:
            self.require_end(edge)
        return super().steps(width)


@dataclass(frozen=True)
class ColumnOfCells(Cells):
    """A column of a series: cells as well, but version 0.1.0 let conditions and groups cut them.

    A cell then counted by its middle.  Stored questions go on meaning that; new ones are refused
    (`grouping.require_honest`).
    """

    middles: tuple[Fraction, ...] = ()

    def strict(self) -> Cells:
        """The same cells, which nothing may cut."""
        return Cells(self.name, self.starts, step=self.step)

    def inside(self, low: End, high: End) -> list[int]:
        """The cells between the two; where an end cuts one, those with their middles between the two."""
        first, last = self.read(low), self.read(high)
        if self.cuts(first) or self.cuts(last):
            return [k for k, v in enumerate(self.middles) if first <= v <= last]
        return super().inside(low, high)

    def steps(self, width: str) -> tuple[list[int], list[str]]:
        """From one multiple of the width to the next, by the cells' middles."""
        return replace(self, starts=self.middles)._by_width(width)

    def places(self, edges: Sequence[Fraction]) -> list[int]:
        """By the cells' middles."""
        return [sum(e <= v for e in edges) - 1 for v in self.middles]


@dataclass(frozen=True)
class Days(Scale):
    """Days, counted from the first one.

    >>> Days("visit", date(2026, 1, 30), 3).steps("month")
    ([0, 0, 1], ['2026-01', '2026-02'])
    """

    name: str
    first: date
    listed: int
    example: str = "2026-01-01,2026-07-01"

    @cached_property
    def starts(self) -> tuple[Fraction, ...]:  # type: ignore[override]
        """0, 1, 2, ..."""
        return tuple(Fraction(k) for k in range(self.listed))

    def read(self, written: End) -> Fraction:
        """A day."""
        day = as_date(written)
        if day is None:
            shown = number_text(written) if isinstance(written, Fraction) else str(written)[:40]
            raise QuestionError(
                f"{self.name} holds dates; {shown!r} is none", hints=[f"{self.name}=2026-01-01..2026-03-31"]
            )
        return Fraction((day - self.first).days)

    def label(self, low: Fraction, high: Fraction | None) -> str:
        """First and last day."""
        if high is None:
            return f"{self._day(low)}+"
        first, last = max(low, Fraction(0)), min(high - 1, Fraction(self.listed - 1))
        return f"{self._day(first)}–{self._day(last)}" if last > first else self._day(first)

    def _day(self, at: Fraction) -> str:
        return (self.first + timedelta(days=int(at))).isoformat()

    def inside(self, low: End, high: End) -> list[int]:
        """The days between the two."""
        first, last = self.read(low), self.read(high)
        return [k for k in range(self.listed) if first <= k <= last]

    def steps(self, width: str) -> tuple[list[int], list[str]]:
        """Calendar weeks, months, quarters, years, days of the week, or so many days from the first one."""
        days = [self.first + timedelta(days=k) for k in range(self.listed)]
        if width in _CALENDAR:
            keys = [_CALENDAR[width](day) for day in days]
            place = {key: k for k, key in enumerate(sorted(set(keys)))}
            return [place[key] for key in keys], [label for _, label in place]
        size = int(width) if re.fullmatch("[0-9]{1,9}", width) else 0
        if size < 1:
            raise QuestionError(
                f"cannot group {self.name} by “{width}”",
                hints=[f"{self.name}/{known}" for known in _CALENDAR] + [f"{self.name}/7"],
            )
        last = (len(days) - 1) // size
        labels = [self.label(Fraction(k * size), Fraction((k + 1) * size)) for k in range(last + 1)]
        return [k // size for k in range(len(days))], labels


def _week(day: date) -> tuple[int, str]:
    year, week, _ = day.isocalendar()
    return year * 100 + week, f"{year}-W{week:02}"


def _quarter(day: date) -> tuple[int, str]:
    quarter = (day.month + 2) // 3
    return day.year * 10 + quarter, f"{day.year}-Q{quarter}"


_CALENDAR: dict[str, Callable[[date], tuple[int, str]]] = {
    "week": _week,
    "month": lambda day: (day.year * 100 + day.month, f"{day.year:04}-{day.month:02}"),
    "quarter": _quarter,
    "year": lambda day: (day.year, f"{day.year:04}"),
    "weekday": lambda day: (day.weekday(), _WEEKDAYS[day.weekday()]),
}
