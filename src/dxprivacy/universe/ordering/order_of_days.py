"""The order of days, which can also be grouped by the calendar."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from dxprivacy.errors import QueryError
from dxprivacy.exact.arrays import Ints
from dxprivacy.exact.rounding import number_text
from dxprivacy.universe.ordering.order import End, Name, Places, Scale
from dxprivacy.universe.reading.calendar import DAY, Periods, days_named, month_number

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True)
class OrderOfDays(Scale):
    """Days, or periods at their first day, with positions in days from the first day of the range.

    >>> OrderOfDays("visit", Periods(date(2026, 1, 30), date(2026, 2, 1))).steps("month")
    ([0, 0, 1], ['2026-01', '2026-02'])
    >>> from dxprivacy.universe.reading.calendar import Step
    >>> OrderOfDays("birth", Periods(date(1926, 1, 1), date(2026, 12, 31), Step(months=1))).steps("decade")[1][:2]
    ['1920s', '1930s']
    """

    name: str
    periods: Periods
    example: str = "2026-01-01,2026-07-01"
    grain: ClassVar[Fraction] = Fraction(1)

    @property
    def reach(self) -> tuple[Fraction, Fraction]:
        return Fraction(0), self._from_first(self.periods.last)

    @cached_property
    def starts(self) -> tuple[Fraction, ...]:  # type: ignore[override]
        return tuple(Fraction(k) for k in self._starts.tolist())

    @cached_property
    def _starts(self) -> Ints:
        first, step = self.periods.first, self.periods.step
        if step.days:
            return np.arange(self.periods.listed, dtype=np.int64) * step.days
        months = np.arange(self.periods.listed, dtype=np.int64) * step.months + month_number(first) - 12 * 1970
        days = months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
        return np.asarray(days - days[0], dtype=np.int64)

    def read(self, written: End) -> Fraction:
        return self._from_first(self._span(written)[0])

    def ends(self, low: End, high: End) -> tuple[Fraction, Fraction]:
        """Return the positions of the first day of `low` and of the last day of `high`."""
        return self._from_first(self._span(low)[0]), self._from_first(self._span(high)[1])

    def _from_first(self, day: date) -> Fraction:
        return Fraction((day - self.periods.first).days)

    def _span(self, written: End) -> tuple[date, date]:
        """Return the first and the last day of a day, month or year."""
        year = isinstance(written, Fraction) and written.denominator == 1 and 1000 <= written <= 9999
        found = days_named(str(written) if year or isinstance(written, Name) else written)
        if found is None:
            shown = number_text(written) if isinstance(written, Fraction) else str(written)[:40]
            raise QueryError(
                f"{self.name} holds dates; {shown!r} is not a date", hints=[f"{self.name}=2026-01-01..2026-03-31"]
            )
        return found

    @property
    def bounds(self) -> tuple[Fraction, Fraction]:
        return Fraction(0), Fraction((self.periods.last - self.periods.first).days + 1)

    def label(self, low: Fraction, high: Fraction | None) -> str:
        if high is None:
            return f"{self._named(self._day(low))}+"
        first = max(self._day(low), self.periods.first)
        last = min(self._day(high - 1), self.periods.last)
        if last < first:  # an empty group
            return first.isoformat()
        return self.periods.words(self.periods.place(first), self.periods.place(last))

    def _day(self, at: Fraction) -> date:
        return self.periods.first + timedelta(days=int(at))

    def _named(self, day: date) -> str:
        """Return the label of the period that starts on a day: a day, a month or a year."""
        months = self.periods.step.months
        if not months or day.day != 1:
            return day.isoformat()
        return f"{day:%Y}".zfill(4) if months % 12 == 0 and day.month == 1 else day.isoformat()[:7]

    def require_end(self, edge: Fraction) -> None:
        """Raise QueryError for an edge inside a period, on either side of which its records could lie."""
        day, periods = self._day(edge), self.periods
        place = periods.place(day)
        if place < periods.listed and periods.start(place) != day:
            after = [periods.start(place + 1)] if place + 1 < periods.listed else []
            raise self._cut(day, [periods.start(place), *after])

    def _cut(self, day: date, near: Sequence[date]) -> QueryError:
        return QueryError(
            f"{day} lies inside a step of {self.name}",
            details=[f"The policy knows {self.name} in steps of {self.periods.step} only."],
            hints=[day.isoformat() for day in near],
        )

    def places(self, edges: Sequence[Fraction]) -> Places:
        for edge in edges:
            self.require_end(edge)
        reached = np.array([int(edge) for edge in edges], dtype=np.int64)
        return np.asarray(np.searchsorted(reached, self._starts, side="right") - 1, dtype=np.int64)

    def inside(self, low: End, high: End) -> Sequence[int]:
        first, last = self._span(low)[0], self._span(high)[1]
        periods = self.periods
        cut = periods.cut(first, last)
        if cut is not None:
            at = periods.place(cut)
            raise self._cut(cut, [periods.start(at), periods.end(at)])
        return periods.touched(first, last)

    def compared(self, sign: str, end: End) -> Sequence[int]:
        """Compare with a day, month or year: before its first day, or after its last one."""
        first, last = (day.toordinal() for day in self._span(end))
        periods = self.periods
        if sign in (">", ">="):
            start = first if sign == ">=" else last + 1
            return [] if start > periods.last.toordinal() else self.inside(date.fromordinal(start), periods.last)
        stop = last if sign == "<=" else first - 1
        return [] if stop < periods.first.toordinal() else self.inside(periods.first, date.fromordinal(stop))

    def steps(self, width: str) -> tuple[Places, list[str]]:
        """Return groups by the calendar (`week`, …, `decade`, `weekday`), or of a number of consecutive periods."""
        listed, periods = self.periods.listed, self.periods
        if width in CALENDAR:
            return self._by_calendar(width)
        size = int(width) if re.fullmatch("[0-9]{1,9}", width) else 0
        if size < 1:
            raise QueryError(
                f"cannot group {self.name} by “{width}”",
                hints=[f"{self.name}/{known}" for known in CALENDAR] + [f"{self.name}/7"],
            )
        labels = [periods.words(k, min(k + size, listed) - 1) for k in range(0, listed, size)]
        return np.arange(listed, dtype=np.int64) // size, labels

    def _by_calendar(self, width: str) -> tuple[Places, list[str]]:
        """Return groups by the calendar; raise QueryError if a period of several days does not lie in one group."""
        key, periods = CALENDAR[width], self.periods
        keys = [key(periods.start(k)) for k in range(periods.listed)]
        if periods.step != DAY:
            whole = width != "weekday" and all(found == key(periods.end(k)) for k, found in enumerate(keys))
            if not whole:
                raise QueryError(
                    f"cannot group {self.name} by “{width}”: it is known in steps of {periods.step} only",
                    hints=[f"{self.name}/2"],
                )
        place = {found: k for k, found in enumerate(sorted(set(keys)))}
        return [place[found] for found in keys], [label for _, label in place]


def _week(day: date) -> tuple[int, str]:
    year, week, _ = day.isocalendar()
    return year * 100 + week, f"{year}-W{week:02}"


def _quarter(day: date) -> tuple[int, str]:
    quarter = (day.month + 2) // 3
    return day.year * 10 + quarter, f"{day.year}-Q{quarter}"


CALENDAR: dict[str, Callable[[date], tuple[int, str]]] = {
    "week": _week,
    "month": lambda day: (day.year * 100 + day.month, f"{day.year:04}-{day.month:02}"),
    "quarter": _quarter,
    "year": lambda day: (day.year, f"{day.year:04}"),
    "decade": lambda day: (day.year // 10, f"{day.year // 10 * 10:04}s"),
    "weekday": lambda day: (day.weekday(), WEEKDAYS[day.weekday()]),
}
