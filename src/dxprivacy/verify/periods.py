"""Periods of the calendar: days taken together to steps of days or months (docs/formats.md, section 2)."""

import re
from bisect import bisect_right
from calendar import monthrange
from datetime import date, timedelta
from typing import Any

from dxprivacy.verify import days, reading
from dxprivacy.verify.reading import refuse


class Periods:
    """From a first day to a last one; every period by its first day."""

    def __init__(self, first: date, last: date, step: Any, where: str) -> None:
        given = reading.members(step, f"{where} step", (), ("days", "months"))
        if len(given) != 1:
            raise refuse("a step has days or months", where)
        ((self.unit, size),) = given.items()
        self.size = reading.whole(size, f"{where} step", 1)
        if self.unit == "months" and first.day != 1:
            raise refuse("months that do not begin with one", where)
        self.first, self.last = first, last
        self.starts = [first]
        while (ahead := self._after(self.starts[-1])) is not None and ahead <= last:
            self.starts.append(ahead)

    def _after(self, day: date) -> date | None:
        """Where the next period starts, if there is such a day."""
        if self.unit == "days":
            left = (date.max - day).days
            return day + timedelta(days=self.size) if self.size <= left else None
        months = day.month - 1 + self.size
        year = day.year + months // 12
        return date(year, months % 12 + 1, 1) if year <= 9999 else None

    @property
    def single(self) -> bool:
        """Whether every day is its own."""
        return self.unit == "days" and self.size == 1

    def end(self, index: int) -> date:
        """The last day of a period."""
        return self.starts[index + 1] - timedelta(days=1) if index + 1 < len(self.starts) else self.last

    def place(self, day: date) -> int | None:
        """The period of a day."""
        return bisect_right(self.starts, day) - 1 if self.first <= day <= self.last else None

    def held(self, low: date, high: date) -> tuple[list[int], bool]:
        """The periods that hold some of these days, and whether they hold no others of the range."""
        if high < self.first or low > self.last or low > high:
            return [], False
        found = list(range(max(bisect_right(self.starts, low) - 1, 0), bisect_right(self.starts, high)))
        return found, bool(found) and self.starts[found[0]] >= low and self.end(found[-1]) <= high

    def named(self, written: str) -> list[int] | None:
        """The periods that a text names: one that holds it, or those that it is made up of."""
        low, dash, high = written.partition("–")
        spans = span(low), span(high if dash else low)
        if spans[0] is None or spans[1] is None:
            return None
        found, whole = self.held(spans[0][0], spans[1][1])
        return found if len(found) == 1 or (found and whole) else None

    def label(self, index: int) -> str:
        """A day for steps of days, else a month or a year, or from one to another."""
        return self.starts[index].isoformat() if self.unit == "days" else self.words(index, index)

    def words(self, first: int, last: int) -> str:
        """From one period to another, both included."""
        low = self.starts[first]
        if self.unit == "days":
            return _joined(low.isoformat(), self.end(last).isoformat())
        month = 12 * self.starts[last].year + self.starts[last].month - 1 + self.size - 1
        year, month = divmod(month, 12)
        if low.month == 1 and month == 11:
            return _joined(f"{low.year:04}", f"{min(year, self.last.year):04}")
        year, month = min((year, month), (self.last.year, self.last.month - 1))
        return _joined(f"{low.year:04}-{low.month:02}", f"{year:04}-{month + 1:02}")

    def begin(self, day: date) -> str:
        """What a group from this day on is called."""
        if self.unit == "days" or day.day > 1:
            return day.isoformat()
        return f"{day.year:04}" if self.size % 12 == 0 and day.month == 1 else f"{day.year:04}-{day.month:02}"


def span(written: str) -> tuple[date, date] | None:
    """The first and the last day of a day, a month or a year.

    >>> span("2024-02")[1], span("0000")
    (datetime.date(2024, 2, 29), None)
    """
    if day := days.day(written):
        return day, day
    match = re.fullmatch("([0-9]{4})(?:-(0[1-9]|1[0-2]))?", written)
    if match is None or match[1] == "0000":
        return None
    year, month = int(match[1]), int(match[2] or 12)
    return date(year, int(match[2] or 1), 1), date(year, month, monthrange(year, month)[1])


def _joined(a: str, b: str) -> str:
    return a if a == b else f"{a}–{b}"
