"""Answers that are one row: counts, sums, and means over all records."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dxprivacy.exact.arrays import changed
from dxprivacy.universe.answers.recipe import COVERAGE, Distribution, ErrorOf, Interval, Number, Recipe

# -- Answers computed from several rows, and those that use the number of their records --------------------------------


class OfSeveral(Recipe):
    """An answer computed from several rows; its error depends on the number of records, as that of a mean does."""

    __slots__ = ()

    @property
    def single(self) -> None:
        return

    @property
    def is_mean(self) -> bool:
        return True


class WorkedOut(OfSeveral):
    """An answer computed with the number of its records, which may be one more row.

    `count` is the row of the number of records, None if that is public or not needed; `fraction` is the assumed
    fraction of all records that it is about.
    """

    __slots__ = ()

    count: int | None
    fraction: Fraction

    @property
    def part(self) -> Fraction:
        return self.fraction

    @property
    def _counted(self) -> tuple[int, ...]:
        """The row of the number of records, if there is one."""
        return () if self.count is None else (self.count,)

    def _count_moved(self, rows: int) -> int | None:
        return None if self.count is None else self.count + rows

    def _assumed_size(self, records: int | None) -> float:
        """Return the number of records that it is assumed to be about, before the data are known."""
        return max(float((records or 0) * self.fraction), 1.0)

    def _sizes(
        self, z: Sequence[Number], distributions: Sequence[Distribution], records: int, coverage: float
    ) -> tuple[Fraction, Fraction]:
        """Return an interval that contains the number of records with probability at least `coverage`."""
        if self.count is None:
            return Fraction(records), Fraction(records)
        size, wide = Fraction(z[self.count]), distributions[self.count].half_width(coverage)
        return size - wide, size + wide


# -- Answers that are one row ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)  # there may be hundreds of thousands
class Linear(Recipe):
    """An answer that is one row times `factor`; for a mean, also divided by the public number of records.

    Answers are clamped to `ends`, if these are given (means).
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
        """Whether it is divided by the number of records."""
        return self.per_record

    @property
    def _counts(self) -> bool:
        """Whether the answer is the row itself."""
        plain = not (self.per_record or self.bias or self.below or self.above)
        return plain and self.factor == 1 and self.ends is None

    def moved(self, rows: int) -> "Linear":
        return changed(self, row=self.row + rows)

    def hidden(self, records: int | None) -> float:
        """Return the binning error: of one record for a mean, of all records for a sum."""
        return float(max(self.below, self.above)) * (1 if self.per_record else records or 0)

    def _per_step(self, records: int | None, shift: float = 0.0) -> tuple[float, float]:
        """Return the value of one grid step in the answer, and a bound on its bias from rounding and shifts."""
        n = records or 0
        bias = float(self.bias) + shift * float(self.factor)
        if self.per_record:
            return float(self.factor) / max(n, 1), bias
        return float(self.factor), bias * n

    def expected(self, distributions: Sequence[Distribution], records: int | None, shift: float) -> ErrorOf:
        """Combine the noise of the row with rounding, shift and binning error."""
        unit, bias = self._per_step(records, shift)
        hidden = self.hidden(records)
        bias += hidden
        distribution = distributions[self.row]
        return ErrorOf(
            math.hypot(math.sqrt(distribution.variance) * unit, bias),
            distribution.mean_absolute * unit + bias,
            float(distribution.half_width()) * unit + bias,
            hidden,
        )

    def steps_within(self, within: float, records: int | None) -> dict[int, tuple[float, float]]:
        unit, bias = self._per_step(records)
        return {self.row: ((within - bias) / unit * (1 + 1e-12), COVERAGE)}

    def interval(
        self, z: Sequence[Number], distributions: Sequence[Distribution], records: int, shift: float
    ) -> Interval:
        """Return an interval around the noisy row that covers noise, rounding, shift and binning error."""
        if not shift and type(z[self.row]) is int and self._counts:  # a fast path in integers, for large tables
            whole, wide = z[self.row], distributions[self.row].half_width()
            if wide.denominator == 1:
                return float(whole), float(whole - wide.numerator), float(whole + wide.numerator)
        times = 1 if self.per_record else records
        bias = (self.bias + Fraction(shift) * self.factor) * times
        divisor = max(records, 1) if self.per_record else 1
        value = self.factor * Fraction(z[self.row]) / divisor
        h = distributions[self.row].half_width() * self.factor / divisor + bias
        low, high = value - h - self.below * times, value + h + self.above * times
        if self.ends is not None:
            value, low, high = (min(max(x, self.ends[0]), self.ends[1]) for x in (value, low, high))
        return float(value), float(low), float(high)

    def value(self, rows: Sequence[float], records: float) -> float:
        return rows[self.row] * float(self.factor) / (max(records, 1e-300) if self.per_record else 1.0)

    def guess(self, spread: Sequence[float], records: int | None) -> float:
        """Return half the range over which all records together can move the answer."""
        number = 1 if self.per_record else math.inf if records is None else records
        return float(spread[self.row]) * float(self.factor) / 2 * number
