"""Quantiles: where a noisy, smoothed distribution function reaches a fraction of the records.

Row k counts every record whose number lies below the k-th ramp, and a part of those on it, less a fraction of all
records: ramps of one width lie side by side, from the least number to the largest.  So what row k counts lies between
the number of records up to where ramp k starts and the number of those before it ends, and both ends of the interval
follow from single rows: the first that may have reached the level, and the last that may not have passed it.  How far
inside of a ramp an end lies follows from the row of that ramp and the one beyond it, since what lies before and behind
the quantile counts no more than these.  Each end is wrong only if one of three certain rows, the same whatever the
noise, is (docs/theorems.md).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from dxprivacy.exact.arrays import changed
from dxprivacy.universe.answers.linear_answers import WorkedOut
from dxprivacy.universe.answers.recipe import COVERAGE, HALF_THE_RANGE, Distribution, ErrorOf, Interval, Number

_OF_COUNT = 0.98  # that the number of records is within its width, where it is private
_OF_END = 0.97  # two-sided, so that one end is wrong with half of the rest: 2 % + 1.5 % + 1.5 %
_OF_RAMP = 10  # of what an end may be wrong by, the part that each of two rows inside of a ramp gets


class QuantileRamps(NamedTuple):
    """Ramps side by side: where the first starts, how wide each is, how many there are, and how finely they rise."""

    start: Fraction
    width: Fraction
    number: int
    steps: int  # in so many steps each rises, from one listed number to the next
    end: Fraction  # the largest number

    def at(self, place: Fraction) -> Fraction:
        """The number at a place, counted in ramps, within the range."""
        return min(max(self.start + place * self.width, self.start), self.end)


@dataclass(frozen=True, slots=True)
class Inverse(WorkedOut):
    """The quantile `at`, from the rows of ramps that begin with row `first`, each less the level `less` of all
    records.

    `count` is the row of the number of records, None where it is public, or is not needed: where `less` is `at`.
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
        """Only ranks as they are tell the number itself."""
        return self.ramps.steps == 1

    @property
    def assumed(self) -> str:
        return HALF_THE_RANGE

    @property
    def factor(self) -> Fraction:  # type: ignore[override]
        return Fraction(1, self._steps)

    @property
    def _steps(self) -> int:
        """How many steps of a row are one record."""
        return self.ramps.steps * self.less.denominator

    @property
    def _beyond(self) -> Fraction:
        """Which fraction of all records, in steps of a row, a row must reach."""
        return (self.at - self.less) * self._steps

    @property
    def measured_by(self) -> Mapping[int, tuple[int, float]]:
        """A record more or less in the count moves the rank by a part of it, and the one ramp of all that decides."""
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

    def moved(self, rows: int) -> "Inverse":
        return changed(self, first=self.first + rows, count=self._count_moved(rows))

    def hidden(self, records: int | None) -> float:  # noqa: ARG002
        return float(max(self.hides))

    def _per_rank(self, records: int | None) -> float:
        """What one record more or less means, as if numbers lay evenly over half of their range."""
        return self.reach / self._reckoned(records)

    def _blurred(self) -> float:
        """How much wider ramps make an interval, on either side, on average; single steps make it no wider."""
        return float(self.ramps.width) if self.ramps.steps > 1 else 0.0

    @property
    def smoothing(self) -> float:
        """How far smoothing moves the answer: as it does skewed numbers and bells, on average over where ramps lie.

        An eighth of a width for a median, up to a quarter of it far from the middle, where ramps are as wide as a tenth
        of the range; narrower ones do less (docs/known-limitations.md).
        """
        return self._blurred() * (1 + 2 * abs(float(self.at) - 1 / 2)) / 8

    @property
    def _of_row(self) -> float:
        """How often the row that decides about an end stays within its width, two-sided."""
        both = COVERAGE if self.count is None else _OF_END
        return both if self.ramps.steps == 1 else 1 - (1 - both) * (1 - 2 / _OF_RAMP)

    @property
    def _of_inner(self) -> float:
        """The same of each of the two rows that tell where inside of a ramp the end lies."""
        return 1 - (1 - (COVERAGE if self.count is None else _OF_END)) / _OF_RAMP

    def expected(self, distributions: Sequence[Distribution], records: int | None, shift: float) -> ErrorOf:  # noqa: ARG002
        """Errors of ranks, as if numbers lay evenly over half of their range; and what smoothing does."""
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
        """Half of the room to the ramps, half to the number of records."""
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
        """Around the first row that may have reached the level, and the last one that may not have passed it."""
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
        """Where the rising function closest to the rows, straight between the middles of ramps, reaches the level.

        Of ranks that are not smoothed, the first number that does.
        """
        ramps, counted = self.ramps, [Fraction(rows[self.first + k]) for k in range(self.ramps.number)]
        heights = rising(counted)
        size = self._size(rows, records, heights)
        if size <= 0:
            return float(ramps.start + ramps.end) / 2
        bottom, top, wanted = -self.less * size, (1 - self.less) * size, (self.at - self.less) * size
        if ramps.steps == 1:  # ranks as they are: the first number that reaches the level
            reached = next((k for k, height in enumerate(heights) if height >= wanted), ramps.number)
            return float(ramps.at(Fraction(reached)))
        points = [bottom, *(min(max(height, bottom), top) for height in heights), top]
        before = max(k for k, height in enumerate(points) if height < wanted)
        after = min(k for k, height in enumerate(points) if height > wanted)
        # of points the first lies half a ramp before the start
        middle = (_crossing(points, before, wanted) + _crossing(points, after - 1, wanted)) / 2 - Fraction(1, 2)
        return float(ramps.at(middle))

    def _size(self, rows: Sequence[Number], records: float, heights: Sequence[Fraction]) -> Fraction:
        """The number of records in steps of a row: noisy, public, or as large as the rows make it at least."""
        if self.count is not None:
            return Fraction(rows[self.count]) * self._steps
        if not self.less:
            return Fraction(records) * self._steps
        return max(heights[-1] / (1 - self.less), -heights[0] / self.less)

    def guess(self, spread: Sequence[float], records: int | None) -> float:  # noqa: ARG002
        return self.reach

    def vague(self, low: float, high: float) -> bool:
        """Where the interval is the whole range."""
        return low <= float(self.ramps.start) and high >= float(self.ramps.end)


class _Inner:
    """Where inside of a ramp a quantile lies at least and at most, if it lies on that ramp."""

    def __init__(
        self, recipe: Inverse, z: Sequence[Number], distributions: Sequence[Distribution], most: Fraction
    ) -> None:
        self.recipe, self.z, self.distributions = recipe, z, distributions
        steps = recipe._steps
        self.bottom, self.top = -recipe.less * most * steps, (1 - recipe.less) * most * steps  # of any row

    def _row(self, k: int, side: int) -> Fraction:
        """The least (-1) or the most (1) that a row counts; beyond the ramps nobody, or everybody."""
        if not 0 <= k < self.recipe.ramps.number:
            return self.bottom if k < 0 else self.top
        at = self.recipe.first + k
        found = Fraction(self.z[at]) + side * self.distributions[at].half_width(self.recipe._of_inner)
        return min(max(found, self.bottom), self.top)

    def least(self, k: int, wanted: Fraction) -> Fraction:
        """Before it no less is counted than by the ramp before, behind it no less than wanted."""
        ramps = self.recipe.ramps
        mine, before = self._row(k, 1), self._row(k - 1, -1)
        part = (wanted - mine) / (wanted - before) if before <= mine < wanted else Fraction(0)
        return ramps.at(k + max(Fraction(math.ceil(part * ramps.steps), ramps.steps), Fraction(1, ramps.steps)))

    def most(self, k: int, wanted: Fraction) -> Fraction:
        """Before it less is counted than wanted, behind it no more than by the ramp behind."""
        ramps = self.recipe.ramps
        mine, behind = self._row(k, -1), self._row(k + 1, 1)
        part = (behind - mine) / (behind - wanted) if wanted < mine <= behind else Fraction(1)
        return ramps.at(k + Fraction(min(math.floor(part * ramps.steps), ramps.steps - 1), ramps.steps))


def _crossing(points: Sequence[Fraction], k: int, height: Fraction) -> Fraction:
    """Where the line from one point to the next reaches a height."""
    return k + (height - points[k]) / (points[k + 1] - points[k])


def rising(heights: Sequence[Fraction]) -> list[Fraction]:
    """The rising numbers that are closest to some, by least squares: neighbors that fall are averaged.

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
