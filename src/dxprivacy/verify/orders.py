"""Where listed values stand in order: what edges, steps and ranges of them mean (docs/formats.md, section 4)."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

from dxprivacy.verify import days
from dxprivacy.verify.periods import Periods, span
from dxprivacy.verify.reading import decimal, refuse
from dxprivacy.verify.words import clock, clock_text, float_text, number_text

End = Fraction | date | str
Condition = list[str] | tuple[End, End]
"""Any of these values, or from one end to the other; texts are ends only where values are texts in an order."""


class Order(ABC):
    """Where listed values stand: the start of each, in order of the values."""

    starts: Sequence[Fraction]

    def __init__(self, where: str) -> None:
        self.where = where

    @abstractmethod
    def read(self, written: str | End) -> Fraction:
        """Where an edge or an end stands."""

    @abstractmethod
    def label(self, low: Fraction, high: Fraction | None) -> str:
        """The group from low to below high, or without end."""

    @abstractmethod
    def steps(self, width: str) -> tuple[list[int], list[str]]:
        """Groups of one width: that of each value, and their labels."""

    def inside(self, low: End, high: End) -> list[int]:
        """The values from one end to the other."""
        first, last = self.read(low), self.read(high)
        return [k for k, x in enumerate(self.starts) if first <= x <= last]

    def extents(self) -> Iterable[tuple[Fraction, Fraction, bool]]:
        """From where to where each value goes, and whether it holds its upper end."""
        return ((x, x, True) for x in self.starts)

    def compared_with(self, sign: str, end: End) -> Fraction:  # noqa: ARG002
        """Where the end of a comparison stands."""
        return self.read(end)

    def bounds(self) -> tuple[Fraction, Fraction]:
        """The first edge, and the one after the last value."""
        low, high, _ = zip(*self.extents(), strict=True)
        return min(low), max(high)

    def between(self, written: str, *, limited: bool) -> tuple[list[int], list[str]]:
        """Groups from edge to edge, the last one open unless entries are limited: of each value, and their labels."""
        edges = [self.read(part.strip()) for part in written.split(",") if part.strip()]
        if not edges or any(a >= b for a, b in pairwise(edges)):
            raise refuse(f"groups by the edges {written[:40]!r}", self.where)
        keys = [sum(edge <= x for edge in edges) - 1 for x in self.starts]
        if not limited:
            return keys, [self.label(a, b) for a, b in zip(edges, [*edges[1:], None], strict=True)]
        low, high = self.bounds()
        return keys, [self.label(max(a, low), min(b, high)) for a, b in zip(edges, [*edges[1:], high], strict=True)]


class PointOrder(Order):
    """Single numbers."""

    def __init__(self, where: str, numbers: Sequence[Fraction]) -> None:
        super().__init__(where)
        self.starts = numbers
        self._all_whole = all(x.denominator == 1 for x in numbers)
        self._least, self._most = min(numbers, default=Fraction(0)), max(numbers, default=Fraction(0))

    def read(self, written: str | End) -> Fraction:
        found = decimal(written) if isinstance(written, str) else written
        if not isinstance(found, Fraction):
            raise refuse(f"{str(written)[:40]!r} is no number", self.where)
        return found

    def bounds(self) -> tuple[Fraction, Fraction]:
        return self._least, self._most + self._all_whole

    def label(self, low: Fraction, high: Fraction | None) -> str:
        """Whole numbers from first to last, others from edge to edge."""
        if high is not None and self._all_whole and low.denominator == high.denominator == 1:
            first, last = max(low, self._least), min(high - 1, self._most)
            return f"{number_text(first)}–{number_text(last)}" if last > first else number_text(first)
        return _span(low, high)

    def steps(self, width: str) -> tuple[list[int], list[str]]:
        size = decimal(width)
        if size is None or size <= 0:
            raise refuse(f"groups by steps of {width[:40]!r}", self.where)
        cuts = [x // size for x in self.starts]
        place = {cut: k for k, cut in enumerate(sorted(set(cuts)))}
        for cut in place:
            self.require_end((cut + 1) * size)
        return [place[cut] for cut in cuts], [self.label(cut * size, (cut + 1) * size) for cut in place]

    def require_end(self, edge: Fraction) -> None:
        """Points cannot be cut in two."""


def _span(low: Fraction, high: Fraction | None) -> str:
    return f"{number_text(low)}+" if high is None else f"{number_text(low)} to {number_text(high)}"


class CellOrder(PointOrder):
    """Half-open cells, but for the end of the last; nothing may cut one in two."""

    last_is_closed = True

    def __init__(self, where: str, name: str, low: Fraction, high: Fraction, step: Fraction) -> None:
        super().__init__(where, [low + k * step for k in range(int((high - low) / step))])
        self.name, self.low, self.high, self.step = name, low, high, step

    def read(self, written: str | End) -> Fraction:
        edge = super().read(written)
        self.require_end(edge)
        return edge

    def require_end(self, edge: Fraction) -> None:
        if self.low < edge < self.high and (edge - self.low) % self.step:
            raise refuse(f"{number_text(edge)} lies inside a cell of {self.name}", self.where)

    def bounds(self) -> tuple[Fraction, Fraction]:
        return self.low, self.high

    def label(self, low: Fraction, high: Fraction | None) -> str:
        return _span(low, high)

    def inside(self, low: End, high: End) -> list[int]:
        first, last = self.read(low), self.read(high)
        return [k for k, x in enumerate(self.starts) if first <= x and x + self.step <= last]

    def extents(self) -> Iterable[tuple[Fraction, Fraction, bool]]:
        return ((x, x + self.step, self.last_is_closed and x + self.step == self.high) for x in self.starts)


class SideOrder(CellOrder):
    """The steps of one side of a grid; each cell of the grid lies in one of them."""

    def __init__(self, name: str, side: tuple[Fraction, Fraction, int], places: Sequence[int], where: str) -> None:
        low, high, steps = side
        super().__init__(where, name, low, high, (high - low) / steps)
        self.starts = [low + k * self.step for k in places]

    def read(self, written: str | End) -> Fraction:
        """A number that is the same as an end in float64 means that end."""
        at = PointOrder.read(self, written)
        near = self.low + round((at - self.low) / self.step) * self.step
        if float(near) == float(at):
            return near
        self.require_end(at)
        return at

    def label(self, low: Fraction, high: Fraction | None) -> str:
        return f"{float_text(low)}+" if high is None else f"{float_text(low)} to {float_text(high)}"

    def told(self, low: End, high: End) -> str:
        """From one end to below another, or to the end of the box."""
        first, last = (min(max(self.read(x), self.low), self.high) for x in (low, high))
        return f"{float_text(first)} to {'' if last == self.high else 'below '}{float_text(last)}"


class ClockOrder(CellOrder):
    """Times of day in cells, in hours."""

    last_is_closed = False

    def read(self, written: str | End) -> Fraction:
        hours = clock(written) if isinstance(written, str) else None
        return super().read(written if hours is None else hours)

    def label(self, low: Fraction, high: Fraction | None) -> str:
        if high is None:
            return f"{clock_text(low)}+"
        return f"{clock_text(max(low, self.low))}–{clock_text(min(high, self.high))}"


class ColumnOrder(PointOrder):
    """A column of a series in cells, by their middles; no condition may cut a cell."""

    def __init__(self, where: str, middles: Sequence[Fraction], step: Fraction) -> None:
        super().__init__(where, middles)
        self.step = step

    def extents(self) -> Iterable[tuple[Fraction, Fraction, bool]]:
        half = self.step / 2
        return ((x - half, x + half, x == self._most) for x in self.starts)

    def inside(self, low: End, high: End) -> list[int]:
        for end in (self.read(low), self.read(high)):
            if any(start < end < stop for start, stop, _ in self.extents()):
                raise refuse(f"{end} lies inside a cell", self.where)
        return super().inside(low, high)

    def bounds(self) -> tuple[Fraction, Fraction]:
        return Order.bounds(self)

    def label(self, low: Fraction, high: Fraction | None) -> str:
        return _span(low, high)


class RankOrder(Order):
    """Texts in an order, at 0, 1, 2, …."""

    def __init__(self, where: str, values: Sequence[str]) -> None:
        super().__init__(where)
        self.values = values
        self.starts = [Fraction(k) for k in range(len(values))]

    def read(self, written: str | End) -> Fraction:
        """A text; a number is the text that it is written as, or the only one that is this number."""
        text = number_text(written) if isinstance(written, Fraction) else str(written)
        found = [k for k, value in enumerate(self.values) if value == text]
        if not found and isinstance(written, Fraction):
            found = [k for k, value in enumerate(self.values) if decimal(value) == written]
        if len(found) != 1:
            raise refuse(f"{text[:40]!r} is none of the values in order", self.where)
        return self.starts[found[0]]

    def inside(self, low: End, high: End) -> list[int]:
        """From either of the two to the other."""
        ends = self.read(low), self.read(high)
        return list(range(int(min(ends)), int(max(ends)) + 1))

    def named(self, ranks: Sequence[int]) -> tuple[str, str]:
        """The names of the first and the last of some values."""
        return self.values[min(ranks)], self.values[max(ranks)]

    def label(self, low: Fraction, high: Fraction | None) -> str:
        return between(*self.named([int(low), len(self.values) - 1 if high is None else int(high) - 1]))

    def steps(self, width: str) -> tuple[list[int], list[str]]:
        """So many at a time."""
        size = int(width) if re.fullmatch("[0-9]{1,9}", width) else 0
        if not size:
            raise refuse(f"groups values in order by {width[:40]!r}", self.where)
        keys = [k // size for k in range(len(self.values))]
        last = len(self.values) - 1
        return keys, [between(self.values[a], self.values[min(a + size - 1, last)]) for a in range(0, last + 1, size)]


def between(first: str, last: str) -> str:
    """From one name to another."""
    return first if first == last else f"{first} to {last}"


class DayOrder(Order):
    """Periods of days, by their first day, counted from the first one."""

    def __init__(self, where: str, periods: Periods) -> None:
        super().__init__(where)
        self.periods = periods

    @cached_property
    def starts(self) -> Sequence[Fraction]:  # type: ignore[override]
        """One period after the other."""
        return [self._at(day) for day in self.periods.starts]

    def _at(self, day: date) -> Fraction:
        return Fraction((day - self.periods.first).days)

    def _days(self, written: str | End) -> tuple[date, date]:
        """The first and the last day of a day, a month or a year."""
        if isinstance(written, date):
            return written, written
        is_year = isinstance(written, Fraction) and written.denominator == 1 and 1000 <= written <= 9999
        found = span(str(written)) if is_year or isinstance(written, str) else None
        if found is None:
            raise refuse(f"{str(written)[:40]!r} is no day", self.where)
        return found

    def span(self, low: End, high: End) -> tuple[date, date]:
        """From the first day of one end to the last day of the other."""
        return self._days(low)[0], self._days(high)[1]

    def read(self, written: str | End) -> Fraction:
        """An edge: a period must start there, or it must lie outside of all."""
        day, _ = self._days(written)
        at = self.periods.place(day)
        if at is not None and self.periods.starts[at] != day:
            raise refuse(f"{day} lies inside a step of days", self.where)
        return self._at(day)

    def inside(self, low: End, high: End) -> list[int]:
        found, whole = self.periods.held(*self.span(low, high))
        if found and not whole:
            raise refuse("a condition cuts a step of days", self.where)
        return found

    def extents(self) -> Iterable[tuple[Fraction, Fraction, bool]]:
        return ((x, self._at(self.periods.end(k)), True) for k, x in enumerate(self.starts))

    def bounds(self) -> tuple[Fraction, Fraction]:
        low, high = super().bounds()
        return low, high + 1

    def compared_with(self, sign: str, end: End) -> Fraction:
        """Of a year its first day, or its last one."""
        first, last = self._days(end)
        return self._at(last if sign in (">", "<=") else first)

    def label(self, low: Fraction, high: Fraction | None) -> str:
        first, last = (self.periods.first + timedelta(days=int(at)) for at in (low, low if high is None else high - 1))
        if high is None:
            return f"{self.periods.begin(first)}+"
        held, _ = self.periods.held(first, last)
        return self.periods.words(held[0], held[-1]) if held else ""

    def steps(self, width: str) -> tuple[list[int], list[str]]:
        """By the calendar, or so many periods."""
        listed = len(self.periods.starts)
        if width in days.CALENDAR:
            groups = [days.calendar(width, day) for day in self.periods.starts]
            ends = [days.calendar(width, self.periods.end(k)) for k in range(listed)]
            if not self.periods.single and (groups != ends or width == "weekday"):
                raise refuse(f"groups steps of days by {width}", self.where)
            place = {key: k for k, key in enumerate(sorted(set(groups)))}
            return [place[key] for key in groups], [label for _, label in place]
        size = int(width) if re.fullmatch("[0-9]{1,9}", width) else 0
        if not size:
            raise refuse(f"groups days by {width[:40]!r}", self.where)
        labels = [self.periods.words(a, min(a + size, listed) - 1) for a in range(0, listed, size)]
        return [k // size for k in range(listed)], labels
