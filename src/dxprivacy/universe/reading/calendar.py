"""Calendar periods: steps of several days or months, and the periods into which they divide a range of days.

Periods follow one another from the first day on, so every day of the range lies in exactly one.  The end of the range
may cut the last one short.  Months and years have no fixed length in days: periods of months are counted in months and
never compared with days.
"""

import re
from dataclasses import dataclass
from datetime import UTC, date, timedelta, tzinfo
from functools import cached_property

from dxprivacy.errors import PolicyError
from dxprivacy.universe.reading.text_formats import as_date

# -- Time zones by their names in Python's `zoneinfo` ------------------------------------------------------------------


def zone_of(timezone: str) -> tzinfo:
    """Return the zone in which instants are read; UTC if none is declared."""
    if not timezone:
        return UTC
    from zoneinfo import ZoneInfo

    return ZoneInfo(timezone)


def require_zone(name: str, zone: str) -> None:
    """Raise PolicyError if a time zone is not known."""
    import zoneinfo

    try:
        zoneinfo.ZoneInfo(zone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        known = sorted(zoneinfo.available_timezones())
        close = [z for z in known if z.lower().endswith(zone.lower())][:3]
        raise PolicyError(
            f"{name}: no time zone “{zone[:40]}”", hints=close or ['timezone = "Europe/Berlin"']
        ) from None


# -- Steps and periods -------------------------------------------------------------------------------------------------


_UNITS = {"day": (1, 0), "week": (7, 0), "month": (0, 1), "quarter": (0, 3), "year": (0, 12), "decade": (0, 120)}
_MOST = 10**6  # larger steps would give a single period: there are fewer months in the years 1 to 9999
_LAST_MONTH = 9999 * 12 + 11


@dataclass(frozen=True)
class Step:
    """A length of a number of days, or a number of months."""

    days: int = 0
    months: int = 0

    @classmethod
    def of(cls, written: str) -> "Step":
        """Parse a step such as "1 month", "2 weeks" or "10 years".

        >>> Step.of("1 year"), Step.of("2 weeks")
        (Step(days=0, months=12), Step(days=14, months=0))
        """
        match = re.fullmatch(r"\s*([0-9]{1,6})\s*([a-z]+?)s?\s*", written)
        if match is None or match[2] not in _UNITS or not int(match[1]):
            raise PolicyError(
                f"step is {written[:40]!r}; a whole number of days, weeks, months or years is needed",
                hints=['step = "1 month"', 'step = "2 weeks"', 'step = "10 years"'],
            )
        days, months = _UNITS[match[2]]
        return cls(int(match[1]) * days, int(match[1]) * months)

    def __post_init__(self) -> None:
        whole = all(type(x) is int and 0 <= x <= 120 * _MOST for x in (self.days, self.months))
        if not whole or (self.days > 0) == (self.months > 0):
            raise PolicyError("a step has days or months, at least one of them", hints=['step = "1 month"'])

    @property
    def size(self) -> int:
        """The number of days or months."""
        return self.days or self.months

    @property
    def unit(self) -> str:
        """The unit in which it is counted: `days` or `months`."""
        return "months" if self.months else "days"

    @property
    def plural(self) -> str:
        """The plural noun for steps of this length."""
        for size, word in ((12, "years"), (1, "months")) if self.months else ((7, "weeks"), (1, "days")):
            if self.size == size:
                return word
        return f"steps of {self}"

    def __str__(self) -> str:
        for unit, (days, months) in reversed(_UNITS.items()):
            if unit not in ("quarter", "decade") and (size := days or months) and bool(months) == bool(self.months):
                count, rest = divmod(self.size, size)
                if not rest:
                    return f"{count} {unit}{'' if count == 1 else 's'}"
        return f"{self.size} {self.unit}"


DAY = Step(days=1)
"""A single day."""


@dataclass(frozen=True)
class Periods:
    """The periods of one length from a first day to a last one; the last period ends with the last day.

    >>> birth = Periods(date(1926, 1, 1), date(2026, 12, 31), Step(months=12))
    >>> birth.listed, birth.label(74), birth.place(date(2000, 2, 29))
    (101, '2000', 74)
    """

    first: date
    last: date
    step: Step = DAY

    @cached_property
    def listed(self) -> int:
        """The number of periods."""
        return self._count(self.last) + 1

    def _count(self, day: date) -> int:
        if self.step.days:
            return (day.toordinal() - self.first.toordinal()) // self.step.days
        return (month_number(day) - month_number(self.first)) // self.step.months

    def start(self, index: int) -> date:
        """Return the first day of a period."""
        if self.step.days:
            return self.first + timedelta(days=int(index) * self.step.days)
        return first_of_month(month_number(self.first) + int(index) * self.step.months)

    def end(self, index: int) -> date:
        """Return the last day of a period."""
        return self.last if index >= self.listed - 1 else self.start(index + 1) - timedelta(days=1)

    def place(self, day: date) -> int:
        """Return the period of a day; `listed` if it is outside the range."""
        return self._count(day) if self.first <= day <= self.last else self.listed

    def touched(self, first: date, last: date) -> range:
        """Return the periods that contain some of these days."""
        first, last = max(first, self.first), min(last, self.last)
        return range(self._count(first), self._count(last) + 1) if first <= last else range(0)

    def cut(self, first: date, last: date) -> date | None:
        """Return an end of a range of days that cuts a period in two; None if neither does."""
        found = self.touched(first, last)
        if not found:
            return None
        if self.start(found[0]) < first:
            return first
        return last if self.end(found[-1]) > last else None

    def label(self, index: int) -> str:
        """Return the label of a period: its first day, or the name of a month or year."""
        return self.start(index).isoformat() if self.step.days else self.words(index, index)

    def words(self, first: int, last: int) -> str:
        """Return the label of the periods from one to another, both included."""
        if self.step.days:
            return _from_to(self.start(first).isoformat(), self.end(last).isoformat())
        a = month_number(self.start(first))
        b = month_number(self.first) + (last + 1) * self.step.months - 1
        if a % 12 == 0 and b % 12 == 11:  # whole years; the last one may be cut short
            return _from_to(f"{a // 12:04}", f"{min(b // 12, self.last.year):04}")
        return _from_to(*(f"{m // 12:04}-{m % 12 + 1:02}" for m in (a, min(b, month_number(self.last)))))

    def find(self, written: str) -> range | None:
        """Return the periods that a text names: a day, a month, a year, or from one to another; else None."""
        parts = written.split("–")
        spans = [days_named(part) for part in parts]
        if len(parts) > 2 or spans[0] is None or spans[-1] is None:
            return None
        first, last = spans[0][0], spans[-1][1]
        found = self.touched(first, last)
        return found if len(found) == 1 or (found and self.cut(first, last) is None) else None


def month_number(day: date) -> int:
    """Return the number of months since the year 0."""
    return 12 * day.year + day.month - 1


def first_of_month(number: int) -> date:
    """Return the first day of a month, given by its number."""
    return date(number // 12, number % 12 + 1, 1)


def days_named(written: object) -> tuple[date, date] | None:
    """Return the first and the last day of a day, month or year given as text; None for anything else.

    >>> days_named("2024-02")[1].isoformat(), days_named("2026")[0].isoformat(), days_named("Feb")
    ('2024-02-29', '2026-01-01', None)
    """
    day = as_date(written)
    if day is not None:
        return day, day
    match = re.fullmatch("([0-9]{4})(?:-([0-9]{2}))?", written) if isinstance(written, str) else None
    if match is None or match[1] == "0000" or not 1 <= int(match[2] or 1) <= 12:
        return None
    first = date(int(match[1]), int(match[2] or 1), 1)
    after = month_number(first) + (1 if match[2] else 12)
    return first, date.max if after > _LAST_MONTH else first_of_month(after) - timedelta(days=1)


def _from_to(first: str, last: str) -> str:
    return first if first == last else f"{first}–{last}"
