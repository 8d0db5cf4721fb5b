"""Quantiles: the place where a noisy, smoothed distribution function reaches a fraction of the records.

Ramps of one width lie side by side, from the smallest number to the largest.  Row k counts every record whose number
lies below the k-th ramp, and a part of each record on it, minus a fraction of all records.  So row k lies between the
number of records up to the start of ramp k and the number of records before its end.  Therefore both ends of the
interval follow from single rows: the first row that may have reached the level, and the last that may not have passed
it.  The position of an end inside a ramp follows from the row of that ramp and the next row beyond it, which bound the
records before and behind the quantile.  Each end is wrong only if one of three fixed rows, which do not depend on the
noise, is outside its interval (docs/theorems.md).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from dxprivacy.exact.arrays import changed
from dxprivacy.universe.answers.linear_answers import WorkedOut
from dxprivacy.universe.answers.recipe import COVERAGE, HALF_THE_RANGE, Distribution, ErrorOf, Interval, Number

_OF_COUNT = 0.98  # coverage of the number of records, if it is private
_OF_END = 0.97  # two-sided coverage for the ends; one end errs with half the rest: 2 % + 1.5 % + 1.5 % in all
_OF_RAMP = 10  # each of the two rows that place an end inside a ramp gets 1/10 of that end's failure probability


class QuantileRamps(NamedTuple):
    """Adjacent ramps: the start of the first, their width, their number, and the number of steps in which they rise."""

    start: Fraction
    width: Fraction
    number: int
    steps: int  # the steps of a ramp, each from one listed number to the next
    end: Fraction  # the largest number

    def at(self, place: Fraction) -> Fraction:
        """Return the number at a place, counted in ramps, clamped to the range."""
        return min(max(self.start + place * self.width, self.start), self.end)


@dataclass(frozen=True, slots=True)
class QuantileRecipe(WorkedOut):
    """The quantile `at`, from the rows of ramps starting with row `first`, each minus `less` times all records.

    `count` is the row of the number of records, None if that is public, or not needed because `less` equals `at`.
    """

    first: int
    ramps: QuantileRamps
    at: Fraction
    less: Fraction
    hides: tuple[Fraction, Fraction]
    count: int | None = None
    fraction: Fraction = Fraction(1)

    @property
    def rows(self) -> tuple[int, ...]:
        return (*range(self.first, self.first + self.ramps.number), *self._counted)

    @property
    def noun(self) -> str:
        return "quantiles"

    @property
    def which(self) -> object:
        return self.at

    @property
    def may_be_exact(self) -> bool:
        """Only unsmoothed ranks determine the exact quantile."""
        return self.ramps.steps == 1

    @property
    def assumed(self) -> str:
        return HALF_THE_RANGE

    @property
    def factor(self) -> Fraction:  # type: ignore[override]
        return Fraction(1, self._steps)

    @property
    def _steps(self) -> int:
        """The number of grid steps that one record adds to a row."""
        return self.ramps.steps * self.less.denominator

    @property
    def _beyond(self) -> Fraction:
        """The level that a row must reach: a fraction of all records, in steps of a row."""
        return (self.at - self.less) * self._steps

    @property
    def measured_by(self) -> Mapping[int, tuple[int, float]]:
        """The row of the count: an error in it moves the wanted rank by a fraction, and affects only one ramp."""
        if self.count is None or not self._beyond:
            return {}
        return {self.count: (self.first, 1 / (abs(float(self._beyond)) * math.sqrt(self.ramps.number)))}

    @property
    def bias(self) -> Fraction:  # type: ignore[override]
        return Fraction(0)

    @property
    def below(self) -> Fraction:  # type: ignore[override]
        return self.hides[0]

    @property
    def above(self) -> Fraction:  # type: ignore[override]
        return self.hides[1]

    @property
    def reach(self) -> float:
        """Half of the range."""
        return float(self.ramps.end - self.ramps.start) / 2

    def moved(self, rows: int) -> "QuantileRecipe":
        return changed(self, first=self.first + rows, count=self._count_moved(rows))

    def hidden(self, records: int | None) -> float:  # noqa: ARG002
        return float(max(self.hides))

    def _per_rank(self, records: int | None) -> float:
        """Return the effect of one record on the quantile, as if numbers lay evenly over half of their range."""
        return self.reach / self._assumed_size(records)

    def _blurred(self) -> float:
        """Return the average widening of an interval by ramps on either side; single-step ramps do not widen it."""
        return float(self.ramps.width) if self.ramps.steps > 1 else 0.0

    @property
    def smoothing(self) -> float:
        """The bias of the answer from smoothing: measured on skewed and bell-shaped data, averaged over ramp positions.

        For ramps as wide as a tenth of the range, it is an eighth of a width for a median, up to a quarter far from
        the middle; narrower ramps have less bias (docs/known-limitations.md).
        """
        return self._blurred() * (1 + 2 * abs(float(self.at) - 1 / 2)) / 8

    @property
    def _of_row(self) -> float:
        """The two-sided coverage for the row that decides an end of the interval."""
        both = COVERAGE if self.count is None else _OF_END
        return both if self.ramps.steps == 1 else 1 - (1 - both) * (1 - 2 / _OF_RAMP)

    @property
    def _of_inner(self) -> float:
        """The two-sided coverage for each of the two rows that place an end inside a ramp."""
        return 1 - (1 - (COVERAGE if self.count is None else _OF_END)) / _OF_RAMP

    def expected(self, distributions: Sequence[Distribution], records: int | None, shift: float) -> ErrorOf:  # noqa: ARG002
        """Translate errors of ranks, as if numbers lay evenly over half of their range, and add the smoothing bias."""
        unit, slope, hidden = 1 / self._steps, self._per_rank(records), self.hidden(records)
        distribution = distributions[self.first + self.ramps.number // 2]
        squared, typical = distribution.variance * unit**2, distribution.mean_absolute * unit
        wide = float(distribution.half_width(self._of_row)) * unit
        if self.count is not None:
            other, times = distributions[self.count], abs(float(self.at - self.less))
            squared += other.variance * times**2
            typical += other.mean_absolute * times
            wide += float(other.half_width(_OF_COUNT)) * times
        moved = self.smoothing
        found = (math.hypot(math.sqrt(squared) * slope, moved), typical * slope + moved, wide * slope + self._blurred())
        rmse, mean, half = (min(x, 2 * self.reach) + hidden for x in found)
        return ErrorOf(rmse, mean, half, hidden)

    def steps_within(self, within: float, records: int | None) -> dict[int, tuple[float, float]]:
        """Split the allowed error: half for the ramps, half for the number of records."""
        slope = self._per_rank(records)
        room = (within - self._blurred()) / slope if slope else math.inf
        if self.count is None:
            return dict.fromkeys(self.rows, (room * self._steps, self._of_row))
        found = dict.fromkeys(self.rows, (room / 2 * self._steps, self._of_row))
        return found | {self.count: (room / 2 / abs(float(self.at - self.less)), _OF_COUNT)}

    def interval(
        self,
        z: Sequence[Number],
        distributions: Sequence[Distribution],
        records: int,
        shift: float,  # noqa: ARG002
    ) -> Interval:
        """Return the interval from the first row that may have reached the level to the last that may not have."""
        ramps = self.ramps
        whole = float(ramps.start - self.hides[0]), float(ramps.end + self.hides[1])
        sizes = self._sizes(z, distributions, records, _OF_COUNT)
        value = min(max(self.value(z, records), whole[0]), whole[1])
        if sizes[0] < 1:
            return value, *whole
        wanted = sorted(self._beyond * size for size in sizes)
        low, high = ramps.number, -1
        for k in range(ramps.number):
            row, wide = Fraction(z[self.first + k]), distributions[self.first + k].half_width(self._of_row)
            if low == ramps.number and row + wide >= wanted[0]:
                low = k
            if row - wide < wanted[1]:
                high = k
        inner = _Inner(self, z, distributions, sizes[1])
        ends = inner.least(low - 1, wanted[0]) - self.hides[0], inner.most(high + 1, wanted[1]) + self.hides[1]
        return value, min(max(float(ends[0]), whole[0]), value), max(min(float(ends[1]), whole[1]), value)

    def value(self, rows: Sequence[Number], records: float) -> float:
        """Return the point where the level is reached by the isotonic regression of the rows.

        Between the middles of ramps, the fitted function is linear.

        For unsmoothed ranks it is the first number that reaches the level.
        """
        ramps, counted = self.ramps, [Fraction(rows[self.first + k]) for k in range(self.ramps.number)]
        heights = rising(counted)
        size = self._size(rows, records, heights)
        if size <= 0:
            return float(ramps.start + ramps.end) / 2
        bottom, top, wanted = -self.less * size, (1 - self.less) * size, (self.at - self.less) * size
        if ramps.steps == 1:  # unsmoothed ranks: the first number that reaches the level
            reached = next((k for k, height in enumerate(heights) if height >= wanted), ramps.number)
            return float(ramps.at(Fraction(reached)))
        points = [bottom, *(min(max(height, bottom), top) for height in heights), top]
        before = max(k for k, height in enumerate(points) if height < wanted)
        after = min(k for k, height in enumerate(points) if height > wanted)
        # the first point lies half a ramp before the start
        middle = (_crossing(points, before, wanted) + _crossing(points, after - 1, wanted)) / 2 - Fraction(1, 2)
        return float(ramps.at(middle))

    def _size(self, rows: Sequence[Number], records: float, heights: Sequence[Fraction]) -> Fraction:
        """Return the number of records in steps of a row: noisy, public, or the least that the rows allow."""
        if self.count is not None:
            return Fraction(rows[self.count]) * self._steps
        if not self.less:
            return Fraction(records) * self._steps
        return max(heights[-1] / (1 - self.less), -heights[0] / self.less)

    def guess(self, spread: Sequence[float], records: int | None) -> float:  # noqa: ARG002
        return self.reach

    def vague(self, low: float, high: float) -> bool:
        """Return whether the interval is the whole range."""
        return low <= float(self.ramps.start) and high >= float(self.ramps.end)


class _Inner:
    """Bounds on the position of a quantile inside a ramp, if it lies on that ramp."""

    def __init__(
        self, recipe: QuantileRecipe, z: Sequence[Number], distributions: Sequence[Distribution], most: Fraction
    ) -> None:
        self.recipe, self.z, self.distributions = recipe, z, distributions
        steps = recipe._steps
        self.bottom, self.top = -recipe.less * most * steps, (1 - recipe.less) * most * steps  # of any row

    def _row(self, k: int, side: int) -> Fraction:
        """Return the lower (-1) or upper (1) bound on a row; beyond the ramps, no records or all of them count."""
        if not 0 <= k < self.recipe.ramps.number:
            return self.bottom if k < 0 else self.top
        at = self.recipe.first + k
        found = Fraction(self.z[at]) + side * self.distributions[at].half_width(self.recipe._of_inner)
        return min(max(found, self.bottom), self.top)

    def least(self, k: int, wanted: Fraction) -> Fraction:
        """Return the smallest possible quantile on ramp k: before it, counts are at least those of ramp k - 1.

        Behind it, they are at least `wanted`.
        """
        ramps = self.recipe.ramps
        mine, before = self._row(k, 1), self._row(k - 1, -1)
        part = (wanted - mine) / (wanted - before) if before <= mine < wanted else Fraction(0)
        return ramps.at(k + max(Fraction(math.ceil(part * ramps.steps), ramps.steps), Fraction(1, ramps.steps)))

    def most(self, k: int, wanted: Fraction) -> Fraction:
        """Return the largest possible quantile on ramp k: before it, counts are below `wanted`.

        Behind it, they are at most those of ramp k + 1.
        """
        ramps = self.recipe.ramps
        mine, behind = self._row(k, -1), self._row(k + 1, 1)
        part = (behind - mine) / (behind - wanted) if wanted < mine <= behind else Fraction(1)
        return ramps.at(k + Fraction(min(math.floor(part * ramps.steps), ramps.steps - 1), ramps.steps))


def _crossing(points: Sequence[Fraction], k: int, height: Fraction) -> Fraction:
    """Return where the line from point k to the next one reaches a height."""
    return k + (height - points[k]) / (points[k + 1] - points[k])


def rising(heights: Sequence[Fraction]) -> list[Fraction]:
    """Return the isotonic least-squares fit to `heights`, by pooling adjacent violators.

    >>> [str(x) for x in rising([Fraction(x) for x in (1, 3, 2, 2, 5)])]
    ['1', '7/3', '7/3', '7/3', '5']
    """
    pools: list[tuple[Fraction, int]] = []
    for height in heights:
        pools.append((height, 1))
        while len(pools) > 1 and pools[-2][0] * pools[-1][1] >= pools[-1][0] * pools[-2][1]:
            (total, many), (more, others) = pools[-2:]
            pools[-2:] = [(total + more, many + others)]
    return [total / many for total, many in pools for _ in range(many)]
