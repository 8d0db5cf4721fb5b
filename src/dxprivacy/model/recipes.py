"""Recipes: how an answer is made of rows, what noise in the rows does to it, and what of it can be said beforehand."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, Self, TypeAlias

from dxprivacy.exact.values import changed

COVERAGE = 0.95
EACH = 1 - (1 - COVERAGE) / 2  # two parts of an answer, each covered so, are covered together

Number: TypeAlias = int | float | Fraction
Interval: TypeAlias = tuple[float, float, float]
"""A value, and the ends of its interval."""


class Law(Protocol):
    """Noise with mean 0, in steps of a row's grid."""

    @property
    def variance(self) -> float:
        """The mean square."""

    @property
    def mean_absolute(self) -> float:
        """The mean size."""

    def half_width(self, coverage: float = COVERAGE) -> Fraction:
        """What the noise stays within, so often at least."""


@dataclass(frozen=True)
class ErrorOf:
    """Expected error of one answer, in its own unit: root mean square, mean absolute, 95 % half-width.

    All of them hold what cells can hide of the entries that are counted by them, which is `hidden` at most.
    """

    rmse: float
    typical: float
    half_width: float
    hidden: float = 0.0

    @property
    def noise_half_width(self) -> float:
        """The part that a plan can do something about."""
        return self.half_width - self.hidden

    def good_enough(self, within: Fraction) -> bool:
        """Whether a target is met; where cells alone hide more, whether the noise is as small as was asked."""
        width = self.half_width if self.hidden < within else self.noise_half_width
        return width <= float(within) * (1 + 1e-9)


class Recipe(ABC):
    """How an answer is made of rows.

    Rows were rounded to a grid, by at most `bias` of the answer for one record; each record's number may lie `below` or
    `above` what was counted for it by so much, where it was counted as a cell.
    """

    __slots__ = ()

    factor: Fraction
    bias: Fraction
    below: Fraction
    above: Fraction

    @property
    @abstractmethod
    def rows(self) -> tuple[int, ...]:
        """The rows it is made of."""

    @property
    @abstractmethod
    def single(self) -> int | None:
        """The row that it is, times a factor; None where it is made of several."""

    @property
    @abstractmethod
    def is_mean(self) -> bool:
        """Whether it depends on how many records there are, not on their sum alone."""

    @property
    def part(self) -> Fraction | None:
        """The part of all records that it is about, where that had to be assumed."""
        return None

    @abstractmethod
    def moved(self, rows: int) -> Self:
        """The same, so many rows further down."""

    @abstractmethod
    def hidden(self, records: int | None) -> float:
        """The most that cells hide of the answer."""

    @abstractmethod
    def expected(self, laws: Sequence[Law], records: int | None, shift: float) -> ErrorOf:
        """The error before anything is spent; `shift` is how far a row is moved on purpose per record, in steps."""

    @abstractmethod
    def steps_within(self, within: float, records: int | None) -> dict[int, tuple[float, float]]:
        """Per row the steps that noise may take, and how often at least, so that the answer is right within so much."""

    @abstractmethod
    def interval(self, z: Sequence[Number], laws: Sequence[Law], records: int, shift: float) -> Interval:
        """The released value and its 95 % interval, from noisy rows alone: post-processing."""

    @abstractmethod
    def value(self, rows: Sequence[float], records: float) -> float:
        """The answer of rows in floats."""

    @abstractmethod
    def guess(self, spread: Sequence[float], records: int | None) -> float:
        """The most by which the middle of what is possible can err, the rows' entries differing by `spread` at most."""

    def vague(self, low: float, high: float) -> bool:  # noqa: ARG002
        """Whether an interval says nothing that was not known before."""
        return False


@dataclass(frozen=True, slots=True)  # there may be hundreds of thousands
class Linear(Recipe):
    """An answer that is one row times `factor`, for a mean also divided by the public number of records.

    A mean lies within its `ends`.
    """

    row: int
    factor: Fraction
    bias: Fraction = Fraction(0)
    per_record: bool = False
    below: Fraction = Fraction(0)
    above: Fraction = Fraction(0)
    ends: tuple[Fraction, Fraction] | None = None

    @property
    def rows(self) -> tuple[int, ...]:
        return (self.row,)

    @property
    def single(self) -> int:
        return self.row

    @property
    def is_mean(self) -> bool:
        """Where it is divided by the number of records."""
        return self.per_record

    @property
    def _counts(self) -> bool:
        """Whether the answer is just the row."""
        plain = not (self.per_record or self.bias or self.below or self.above)
        return plain and self.factor == 1 and self.ends is None

    def moved(self, rows: int) -> "Linear":
        return changed(self, row=self.row + rows)

    def hidden(self, records: int | None) -> float:
        """Of a sum for every record, of a mean for one."""
        return float(max(self.below, self.above)) * (1 if self.per_record else records or 0)

    def _per_step(self, records: int | None, shift: float = 0.0) -> tuple[float, float]:
        """What one step on the grid means in the answer, and the most that rounding and shifts can have moved it."""
        n = records or 0
        bias = float(self.bias) + shift * float(self.factor)
        if self.per_record:
            return float(self.factor) / max(n, 1), bias
        return float(self.factor), bias * n

    def expected(self, laws: Sequence[Law], records: int | None, shift: float) -> ErrorOf:
        """Noise of the row, and whatever moves it besides."""
        unit, bias = self._per_step(records, shift)
        hidden = self.hidden(records)
        bias += hidden
        law = laws[self.row]
        return ErrorOf(
            math.hypot(math.sqrt(law.variance) * unit, bias),
            law.mean_absolute * unit + bias,
            float(law.half_width()) * unit + bias,
            hidden,
        )

    def steps_within(self, within: float, records: int | None) -> dict[int, tuple[float, float]]:
        unit, bias = self._per_step(records)
        return {self.row: ((within - bias) / unit * (1 + 1e-12), COVERAGE)}

    def interval(self, z: Sequence[Number], laws: Sequence[Law], records: int, shift: float) -> Interval:
        """Around the noisy row, as far as noise, rounding, shift and cells go."""
        if not shift and type(z[self.row]) is int and self._counts:  # the same in whole numbers: tables have many
            whole, wide = z[self.row], laws[self.row].half_width()
            if wide.denominator == 1:
                return float(whole), float(whole - wide.numerator), float(whole + wide.numerator)
        times = 1 if self.per_record else records
        bias = (self.bias + Fraction(shift) * self.factor) * times
        divisor = max(records, 1) if self.per_record else 1
        value = self.factor * Fraction(z[self.row]) / divisor
        h = laws[self.row].half_width() * self.factor / divisor + bias
        low, high = value - h - self.below * times, value + h + self.above * times
        if self.ends is not None:
            value, low, high = (min(max(x, self.ends[0]), self.ends[1]) for x in (value, low, high))
        return float(value), float(low), float(high)

    def value(self, rows: Sequence[float], records: float) -> float:
        return rows[self.row] * float(self.factor) / (max(records, 1e-300) if self.per_record else 1.0)

    def guess(self, spread: Sequence[float], records: int | None) -> float:
        """Half of what all records together can make of it."""
        number = 1 if self.per_record else math.inf if records is None else records
        return float(spread[self.row]) * float(self.factor) / 2 * number


@dataclass(frozen=True, slots=True)
class Ratio(Recipe):
    """A mean over a group whose size is private: centre + factor * row[top] / row[bottom], within [low, high].

    `part` is the part of all records that is in the group, as far as anybody can tell beforehand: as if every group,
    and every value of a condition, were equally frequent.
    """

    top: int
    bottom: int
    factor: Fraction
    centre: Fraction
    low: Fraction
    high: Fraction
    bias: Fraction = Fraction(0)
    below: Fraction = Fraction(0)
    above: Fraction = Fraction(0)
    part: Fraction = Fraction(1)

    @property
    def rows(self) -> tuple[int, ...]:
        return self.top, self.bottom

    @property
    def single(self) -> None:
        return

    @property
    def is_mean(self) -> bool:
        return True

    @property
    def reach(self) -> float:
        """Half of its range."""
        return float(self.high - self.low) / 2

    def size(self, records: int | None) -> float:
        """How many records it is reckoned for."""
        return max(float((records or 0) * self.part), 1.0)

    def moved(self, rows: int) -> "Ratio":
        return changed(self, top=self.top + rows, bottom=self.bottom + rows)

    def hidden(self, records: int | None) -> float:  # noqa: ARG002
        return float(max(self.below, self.above))

    def expected(self, laws: Sequence[Law], records: int | None, shift: float) -> ErrorOf:  # noqa: ARG002
        """As if all groups were equally large: sizes are private."""
        size, reach = self.size(records), self.reach
        top, bottom, unit = laws[self.top], laws[self.bottom], float(self.factor)
        hidden = self.hidden(records)
        bias = float(self.bias) + hidden
        return ErrorOf(
            math.sqrt(top.variance * unit**2 + bottom.variance * reach**2) / size + bias,
            (top.mean_absolute * unit + bottom.mean_absolute * reach) / size + bias,
            (float(top.half_width(EACH)) * unit + float(bottom.half_width(EACH)) * reach) / size + bias,
            hidden,
        )

    def steps_within(self, within: float, records: int | None) -> dict[int, tuple[float, float]]:
        """Half of the error to the sum, half to the count, each covered at 97.5 %."""
        room = (within - float(self.bias)) * self.size(records) / 2
        steps = {self.top: room / float(self.factor), self.bottom: room / self.reach if self.reach else math.inf}
        return {row: (each, EACH) for row, each in steps.items()}

    def interval(self, z: Sequence[Number], laws: Sequence[Law], records: int, shift: float) -> Interval:  # noqa: ARG002
        """Between the corners of what sum and count may be."""
        h1, h2 = laws[self.top].half_width(EACH), laws[self.bottom].half_width(EACH)
        top, size = Fraction(z[self.top]), Fraction(z[self.bottom])
        ends = self._ends(top, h1, size, h2)
        value = self.centre + self.factor * top / size if size > 0 else self.centre
        return float(min(max(value, self.low), self.high)), *ends

    def _ends(self, top: Fraction, h1: Fraction, bottom: Fraction, h2: Fraction) -> tuple[float, float]:
        """Both parts lie in their intervals with 97.5 %, so together with 95 %; what may be empty says nothing."""
        if bottom - h2 < 1:
            return float(self.low), float(self.high)
        corners = [self.centre + self.factor * t / b for t in (top - h1, top + h1) for b in (bottom - h2, bottom + h2)]
        low = max(min(corners) - self.bias - self.below, self.low)
        high = min(max(corners) + self.bias + self.above, self.high)
        return float(min(low, self.high)), float(max(high, self.low))

    def value(self, rows: Sequence[float], records: float) -> float:  # noqa: ARG002
        """Within its range; its centre where nobody is in the group."""
        bottom = rows[self.bottom]
        value = float(self.centre) + (float(self.factor) * rows[self.top] / bottom if bottom > 0 else 0.0)
        return min(max(value, float(self.low)), float(self.high))

    def guess(self, spread: Sequence[float], records: int | None) -> float:  # noqa: ARG002
        return self.reach

    def vague(self, low: float, high: float) -> bool:
        """Where the interval is the whole range: too few records to say anything."""
        return low <= float(self.low) and high >= float(self.high)
