"""Answers that are one row: counts, sums, and means over all records."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dxprivacy.exact.frozen_values import changed
from dxprivacy.universe.answers.recipe import COVERAGE, ErrorOf, Interval, Law, Number, Recipe


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
