"""The order of an attribute's values, which defines its groups, edges and ranges.

Integers and properties are points; numbers in bins have a width, and no edge may cut a bin in two.  Days, which can
also be grouped by the calendar, are in `order_of_days`.
"""

import math
import operator
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

import numpy as np

from dxprivacy.errors import QueryError
from dxprivacy.exact.answer_grid import Evenly, ends_of
from dxprivacy.exact.arrays import Ints
from dxprivacy.exact.rounding import exact, number_text
from dxprivacy.universe.reading.text_formats import hours_of
from dxprivacy.wording import digits

# -- One end of a range, as a query writes it: a number, a day, or the name of a value ---------------------------------


@dataclass(frozen=True)
class Name:
    """The name of a value as an end of a range: `rarely` in `rarely..often`.

    It is not a plain text, because two texts in a condition mean either of two values.

    >>> str(Name("rarely"))
    'rarely'
    """

    text: str

    def __str__(self) -> str:
        return self.text


End: TypeAlias = Fraction | date | str | Name
"""One end of a range, as it was written."""


# -- The order of an attribute's values --------------------------------------------------------------------------------


Places: TypeAlias = Sequence[int] | Ints
"""The number of the group of each listed value."""

SIGNS: dict[str, Callable[[Any, Any], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
"""The comparisons of a value with a number or a day."""


class Scale(ABC):
    """The position of each listed value in an order."""

    name: str
    example: str
    starts: Sequence[Fraction]

    @abstractmethod
    def read(self, written: End) -> Fraction:
        """Return the position of an edge, or of an end of a range."""

    def ends(self, low: End, high: End) -> tuple[Fraction, Fraction]:
        """Return the positions of the two ends of a range, both included."""
        return self.read(low), self.read(high)

    grain: ClassVar[Fraction] = Fraction(0)  # the least distance of entries, if they are integers

    @property
    def reach(self) -> tuple[Fraction, Fraction]:
        """The positions of the smallest and the largest valid entry."""
        return ends_of(self.starts)

    @abstractmethod
    def label(self, low: Fraction, high: Fraction | None) -> str:
        """Return the label of the group from `low` to below `high`."""

    @abstractmethod
    def inside(self, low: End, high: End) -> Sequence[int]:
        """Return the values within a range, both ends included."""

    def compared(self, sign: str, end: End) -> Sequence[int]:
        """Return the values on one side of an end; no value may lie on both sides of it."""
        at = self.read(end)
        if isinstance(self.starts, Evenly):
            before = self.starts.below(at)
            if sign in (">", "<=") and before < len(self.starts) and self.starts[before] == at:
                before += 1
            return range(before, len(self.starts)) if sign in (">", ">=") else range(before)
        holds = SIGNS[sign]
        return [k for k, start in enumerate(self.starts) if holds(start, at)]

    @abstractmethod
    def steps(self, width: str) -> tuple[Places, list[str]]:
        """Return groups of equal width: the group of each value, and the labels of the groups."""

    def require_end(self, edge: Fraction) -> None:  # noqa: B027 - points cannot be cut
        """Raise QueryError for an edge that would cut a value in two."""

    def range_words(self, low: End, high: End) -> str | None:  # noqa: ARG002
        """Describe a range by what it counts, if its text is not exact; None if the attribute describes it."""
        return None

    @property
    def bounds(self) -> tuple[Fraction, Fraction] | None:
        """The first edge, and the edge after the last value, for labels of groups; None if there are no numbers."""
        return None

    def places(self, edges: Sequence[Fraction]) -> Places:
        """Return for each value the number of the last edge at or before it; -1 before the first."""
        for edge in edges:
            self.require_end(edge)
        return _between(edges, self.starts)


def _between(edges: Sequence[Fraction], starts: Sequence[Fraction]) -> Places:
    """Return for each number the last of increasing edges that is at most this number; -1 before the first."""
    if isinstance(starts, Evenly):
        reached = np.array([starts.below(edge) for edge in edges], dtype=np.int64)
        return np.asarray(np.searchsorted(reached, np.arange(len(starts)), side="right") - 1, dtype=np.int64)
    return [bisect_right(edges, v) - 1 for v in starts]


@dataclass(frozen=True)
class Singles(Scale):
    """Single numbers."""

    name: str
    starts: Sequence[Fraction]
    example: str = "0,18,65"
    grain: ClassVar[Fraction] = Fraction(1)  # used only if all are integers

    def read(self, written: End) -> Fraction:
        if isinstance(written, date):
            raise QueryError(f"{self.name} holds numbers, not dates", hints=[f"{self.name}=18..65"])
        if isinstance(written, Name):
            what = f"{self.name} holds numbers; {written.text[:40]!r} is not a number"
            raise QueryError(what, hints=[f"{self.name}=18..65"])
        return Fraction(exact(written, what=f"an edge of {self.name}"))

    @cached_property
    def whole(self) -> bool:
        """Whether all are integers, so that groups are labeled by their first and last number."""
        if isinstance(self.starts, Evenly):
            return self.starts.first.denominator == self.starts.step.denominator == 1
        return all(v.denominator == 1 for v in self.starts)

    @cached_property
    def _ends(self) -> tuple[Fraction, Fraction]:
        return ends_of(self.starts)

    @property
    def bounds(self) -> tuple[Fraction, Fraction]:
        return self._ends[0], self._ends[1] + self.whole

    def label(self, low: Fraction, high: Fraction | None) -> str:
        """Return a label: `0–9` for integers, otherwise `0 to 10`; the last group is open."""
        if high is None:
            return f"{number_text(low)}+"
        if self.whole and low.denominator == high.denominator == 1:
            first, last = max(low, self._ends[0]), min(high - 1, self._ends[1])
            return f"{number_text(first)}–{number_text(last)}" if last > first else number_text(first)
        return f"{number_text(low)} to {number_text(high)}"

    def inside(self, low: End, high: End) -> Sequence[int]:
        first, last = self.read(low), self.read(high)
        if isinstance(self.starts, Evenly):
            after = self.starts.below(last)
            return range(self.starts.below(first), after + (after < len(self.starts) and self.starts[after] == last))
        return [k for k, v in enumerate(self.starts) if first <= v <= last]

    def _width(self, width: str) -> Fraction:
        size = Fraction(exact(width, what=f"the width of {self.name}"))
        if size <= 0:
            raise QueryError(f"cannot group {self.name} by steps of {width}")
        return size

    def steps(self, width: str) -> tuple[Places, list[str]]:
        """Return groups from one multiple of the width to the next."""
        return self._by_width(width)

    def _by_width(self, width: str) -> tuple[Places, list[str]]:
        size = self._width(width)
        place, groups = np.unique(_multiples(self.starts, size), return_inverse=True)
        return groups.reshape(-1), [self.label(int(key) * size, (int(key) + 1) * size) for key in place]


def _multiples(starts: Sequence[Fraction], size: Fraction) -> "np.ndarray[tuple[int], np.dtype[Any]]":
    """Return each number divided by a width, rounded down."""
    if isinstance(starts, Evenly):
        common = math.lcm(starts.first.denominator, starts.step.denominator, size.denominator)
        a, b, c = (int(x * common) for x in (starts.first, starts.step, size))
        if max(abs(a), abs(a + b * len(starts)), c) < 1 << 62:
            return (a + b * np.arange(len(starts), dtype=np.int64)) // c
    return np.array([int(v // size) for v in starts], dtype=object)


@dataclass(frozen=True)
class OrderedBins(Singles):
    """Half-open bins of one width."""

    step: Fraction = Fraction(1)
    example: str = "0,20000,50000"
    closed: ClassVar[bool] = True  # the last bin includes its upper end
    grain: ClassVar[Fraction] = Fraction(0)

    @property
    def reach(self) -> tuple[Fraction, Fraction]:
        least, most = ends_of(self.starts)
        return least, most + self.step

    @property
    def bounds(self) -> tuple[Fraction, Fraction]:
        return self.reach

    def label(self, low: Fraction, high: Fraction | None) -> str:
        return f"{number_text(low)}+" if high is None else f"{number_text(low)} to {number_text(high)}"

    def require_end(self, edge: Fraction) -> None:
        """Raise QueryError for an edge inside a bin, on either side of which its records could lie."""
        low = self.starts[0]
        if self.cuts(edge):
            below = low + (edge - low) // self.step * self.step
            raise QueryError(
                f"{self._shown(edge)} lies inside a step of {self.name}",
                details=[f"The policy knows {self.name} in steps of {self.size} only."],
                hints=[self._shown(below), self._shown(below + self.step)],
            )

    @property
    def size(self) -> str:
        """The width of a bin, in words."""
        return number_text(self.step)

    def cuts(self, edge: Fraction) -> bool:
        """Return whether an edge lies inside a bin."""
        low = self.starts[0]
        return low < edge < self.starts[-1] + self.step and (edge - low) % self.step != 0

    def inside(self, low: End, high: End) -> Sequence[int]:
        first, last = self.read(low), self.read(high)
        self.require_end(first)
        self.require_end(last)
        if isinstance(self.starts, Evenly):
            return range(self.starts.below(first), self.starts.below(last - self.step + self.step / 2))
        return [k for k, v in enumerate(self.starts) if first <= v and v + self.step <= last]

    def compared(self, sign: str, end: End) -> Sequence[int]:
        """Compare with the lower end of a bin, which belongs to it: `>=` and `<` are valid, `>` and `<=` cut a bin."""
        at = self.read(end)
        low, high = self.starts[0], self.starts[-1] + self.step
        upwards = sign in (">", ">=")
        if sign in (">", "<="):
            splits = low <= at < high
        else:
            splits = self.cuts(at) or (sign == "<" and at == high and self.closed)
        if splits:
            below = low + (at - low) // self.step * self.step
            near = [x for x in (below, below + self.step) if (low <= x < high if upwards else low < x <= high)]
            whole = [">=" if upwards else "<=" if x == high and self.closed else "<" for x in near]
            raise QueryError(
                f"{self.name}{sign}{self._shown(at)} lies inside a step of {self.name}",
                details=[f"The policy knows {self.name} in steps of {self.size} only, each with its lower end."],
                hints=[f"{self.name}{says}{self._shown(x)}" for says, x in zip(whole, near, strict=True)],
            )
        if upwards:
            return super().compared(">=", at)
        return super().compared("<", at) if at < high else range(len(self.starts))

    def _shown(self, at: Fraction) -> str:
        return number_text(at)

    def steps(self, width: str) -> tuple[Places, list[str]]:
        """Return groups from one multiple of the width to the next, which must not cut bins."""
        size = self._width(width)
        for key in np.unique(_multiples(self.starts, size)):
            self.require_end((int(key) + 1) * size)
        return super().steps(width)


@dataclass(frozen=True)
class SideOfGrid(OrderedBins):
    """The steps of one side of a grid; each contains several grid cells.

    Their ends need not be decimal numbers.  Coordinates are compared with them in float64, so a number that equals an
    end in float64 stands for that end, and is used to write it.

    >>> side = SideOfGrid("home.latitude", [Fraction(k, 3) for k in (0, 0, 1, 1, 2, 2)], step=Fraction(1, 3))
    >>> side.compared(">=", "0.6666666666666666"), side.range_words("0.3333333333333333", Fraction(1))
    ([4, 5], '0.3333333333333333 to 1')
    """

    def read(self, written: End) -> Fraction:
        at, low = super().read(written), self.starts[0]
        end = low + round((at - low) / self.step) * self.step
        return end if float(end) == float(at) else at

    @property
    def size(self) -> str:
        return rough_text(self.step)

    def _shown(self, at: Fraction) -> str:
        return float_text(at)

    def label(self, low: Fraction, high: Fraction | None) -> str:
        return f"{float_text(low)}+" if high is None else f"{float_text(low)} to {float_text(high)}"

    def range_words(self, low: End, high: End) -> str:
        """Describe a half-open range; the end of the box is included."""
        first, last = self.starts[0], self.starts[-1] + self.step
        at, to = (max(min(self.read(end), last), first) for end in (low, high))
        return f"{float_text(at)} to {'' if to == last else 'below '}{float_text(to)}"


def float_text(at: Fraction) -> str:
    """Return a decimal number exactly, and any other with the fewest digits that are equal in float64.

    >>> float_text(Fraction(1, 4)), float_text(Fraction(2, 3))
    ('0.25', '0.6666666666666666')
    """
    text = number_text(at)
    return format(Decimal(repr(float(at))), "f") if "/" in text else text


def rough_text(size: Fraction) -> str:
    """Return a decimal number exactly, and any other with three digits."""
    text = number_text(size)
    return digits(float(size)) if "/" in text else text


@dataclass(frozen=True)
class Clock(OrderedBins):
    """Times of day in half-open bins, in hours since midnight."""

    example: str = "0,6,12,18"
    closed: ClassVar[bool] = False

    def _shown(self, at: Fraction) -> str:
        return clock_text(at)

    def read(self, written: End) -> Fraction:
        hours = hours_of(written)
        return super().read(written) if hours is None else hours

    def label(self, low: Fraction, high: Fraction | None) -> str:
        first, last = self.starts[0], self.starts[-1] + self.step
        if high is None:
            return f"{clock_text(low)}+"
        return f"{clock_text(max(low, first))}–{clock_text(min(high, last))}"

    def require_end(self, edge: Fraction) -> None:
        if self.cuts(edge):
            below = self.starts[0] + (edge - self.starts[0]) // self.step * self.step
            raise QueryError(
                f"{clock_text(edge)} lies inside a step of {self.name}",
                details=[f"The policy knows {self.name} in steps of {number_text(self.step)} hours only."],
                hints=[clock_text(below), clock_text(below + self.step)],
            )


def clock_text(hours: Fraction) -> str:
    """Return the text of a time of day, with seconds only if they are not 0.

    >>> clock_text(Fraction(33, 4)), clock_text(Fraction(24))
    ('08:15', '24:00')
    """
    if (hours * 3600).denominator != 1 or not 0 <= hours <= 24:
        return number_text(hours)
    minutes, seconds = divmod(int(hours * 3600), 60)
    return f"{minutes // 60:02}:{minutes % 60:02}" + (f":{seconds:02}" if seconds else "")
