"""Ratios of two rows: means and proportions of groups whose sizes are private."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dxprivacy.exact.arrays import changed
from dxprivacy.universe.answers.linear_answers import OfSeveral
from dxprivacy.universe.answers.recipe import EACH, Distribution, ErrorOf, Interval, Number


@dataclass(frozen=True, slots=True)
class Ratio(OfSeveral):
    """A mean over a group whose size is private: center + factor * row[top] / row[bottom], within [low, high].

    Proportions and other ratios have the same form.

    `part` is the assumed fraction of all records in the group: as if every group, and every value of a condition, were
    equally frequent.
    """

    top: int
    bottom: int
    factor: Fraction
    center: Fraction
    low: Fraction
    high: Fraction
    bias: Fraction = Fraction(0)
    below: Fraction = Fraction(0)
    above: Fraction = Fraction(0)
    part: Fraction = Fraction(1)
    called: str = "means"
    each: Fraction = Fraction(1)  # the assumed amount that a record adds to the bottom row

    @property
    def noun(self) -> str:
        return self.called

    @property
    def rows(self) -> tuple[int, ...]:
        return self.top, self.bottom

    @property
    def reach(self) -> float:
        """Half of its range; all of it if it is measured from the lower end."""
        return float(self.high - self.low) / (1 if self.center == self.low else 2)

    def size(self, records: int | None) -> float:
        """Return the assumed value of the bottom row, usually the number of records that it counts."""
        return max(float((records or 0) * self.part * self.each), 1.0)

    def moved(self, rows: int) -> "Ratio":
        return changed(self, top=self.top + rows, bottom=self.bottom + rows)

    def hidden(self, records: int | None) -> float:  # noqa: ARG002
        return float(max(self.below, self.above))

    def expected(self, distributions: Sequence[Distribution], records: int | None, shift: float) -> ErrorOf:  # noqa: ARG002
        """Return the expected error as if all groups were equally large, because their sizes are private."""
        size, reach = self.size(records), self.reach
        top, bottom, unit = distributions[self.top], distributions[self.bottom], float(self.factor)
        hidden = self.hidden(records)
        bias = float(self.bias) + hidden
        return ErrorOf(
            math.sqrt(top.variance * unit**2 + bottom.variance * reach**2) / size + bias,
            (top.mean_absolute * unit + bottom.mean_absolute * reach) / size + bias,
            (float(top.half_width(EACH)) * unit + float(bottom.half_width(EACH)) * reach) / size + bias,
            hidden,
        )

    def steps_within(self, within: float, records: int | None) -> dict[int, tuple[float, float]]:
        """Split the allowed error: half for the sum, half for the count, each with coverage 97.5 %."""
        room = (within - float(self.bias)) * self.size(records) / 2
        steps = {self.top: room / float(self.factor), self.bottom: room / self.reach if self.reach else math.inf}
        return {row: (each, EACH) for row, each in steps.items()}

    def interval(
        self,
        z: Sequence[Number],
        distributions: Sequence[Distribution],
        records: int,  # noqa: ARG002
        shift: float,  # noqa: ARG002
    ) -> Interval:
        """Return the extreme ratios over the intervals of sum and count."""
        h1, h2 = distributions[self.top].half_width(EACH), distributions[self.bottom].half_width(EACH)
        top, size = Fraction(z[self.top]), Fraction(z[self.bottom])
        ends = self._ends(top, h1, size, h2)
        value = self.center + self.factor * top / size if size > 0 else self.center
        return float(min(max(value, self.low), self.high)), *ends

    def _ends(self, top: Fraction, h1: Fraction, bottom: Fraction, h2: Fraction) -> tuple[float, float]:
        """Return the ends of the interval: each part is covered with 97.5 %, so both with 95 %.

        If the group may be empty, the interval is the whole range.
        """
        if bottom - h2 < 1:
            return float(self.low), float(self.high)
        corners = [self.center + self.factor * t / b for t in (top - h1, top + h1) for b in (bottom - h2, bottom + h2)]
        low = max(min(corners) - self.bias - self.below, self.low)
        high = min(max(corners) + self.bias + self.above, self.high)
        return float(min(low, self.high)), float(max(high, self.low))

    def value(self, rows: Sequence[float], records: float) -> float:  # noqa: ARG002
        """Return the ratio, clamped to its range; the center if the group is empty."""
        bottom = rows[self.bottom]
        value = float(self.center) + (float(self.factor) * rows[self.top] / bottom if bottom > 0 else 0.0)
        return min(max(value, float(self.low)), float(self.high))

    def guess(self, spread: Sequence[float], records: int | None) -> float:  # noqa: ARG002
        return self.reach

    def vague(self, low: float, high: float) -> bool:
        """Return whether the interval is the whole range, because there are too few records."""
        return low <= float(self.low) and high >= float(self.high)
