"""Variances, standard deviations, covariances and correlations of private numbers.

All are computed from sums of x, y, x², y² and x y over the records that have both; x and y are measured from the
middles of their ranges, which changes none of the answers.  Given the noise, each sum and the number m of records lies
in an interval.  A covariance is a / m - b / m², with a the sum of products and b the product of two sums; its extremes
are at the ends of these intervals, or where its derivative by m vanishes.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, NamedTuple, TypeAlias

from dxprivacy.exact.arrays import changed
from dxprivacy.universe.answers.linear_answers import WorkedOut
from dxprivacy.universe.answers.recipe import COVERAGE, HALF_THE_RANGE, Distribution, ErrorOf, Interval, Number

Kind: TypeAlias = Literal["variance", "sd", "covariance", "correlation"]
Ends: TypeAlias = tuple[Fraction, Fraction]
_ZERO, _ONE = Fraction(0), Fraction(1)


class Total(NamedTuple):
    """A row of sums: its number, the value of a step, the rounding error per record, and the largest number."""

    row: int
    unit: Fraction
    bias: Fraction
    most: Fraction
    signed: bool = True  # whether a record's number may lie on either side of 0

    def moved(self, rows: int) -> "Total":
        return self._replace(row=self.row + rows)


@dataclass(frozen=True, slots=True)
class Spread(WorkedOut):
    """A variance, standard deviation, covariance or correlation of the numbers of x and y.

    `product` is the sum of x y (x² for a variance); `squares` are the sums of x² and y², if needed.  `hides` bounds
    the effect of binning on the standard deviation of x and of y.  `count` is the row of the number of records, None
    if that is public.
    """

    kind: Kind
    product: Total
    sums: tuple[Total, ...]
    squares: tuple[Total, ...]
    hides: tuple[Fraction, Fraction]
    count: int | None = None
    fraction: Fraction = _ONE

    @property
    def noun(self) -> str:
        return {"variance": "variances", "sd": "standard deviations"}.get(self.kind, f"{self.kind}s")

    @property
    def assumed(self) -> str:
        return HALF_THE_RANGE if self.kind in ("sd", "correlation") else ""

    @property
    def totals(self) -> tuple[Total, ...]:
        return self.product, *self.sums, *self.squares

    @property
    def rows(self) -> tuple[int, ...]:
        return (*(total.row for total in self.totals), *self._counted)

    @property
    def factor(self) -> Fraction:  # type: ignore[override]
        return self.product.unit

    @property
    def bias(self) -> Fraction:  # type: ignore[override]
        return self.product.bias

    @property
    def below(self) -> Fraction:  # type: ignore[override]
        return max(self.hides)

    above = below

    def moved(self, rows: int) -> "Spread":
        return changed(
            self,
            product=self.product.moved(rows),
            sums=tuple(total.moved(rows) for total in self.sums),
            squares=tuple(total.moved(rows) for total in self.squares),
            count=self._count_moved(rows),
        )

    @property
    def _reaches(self) -> tuple[Fraction, Fraction]:
        """Half the range of x, and of y."""
        return self.sums[0].most, self.sums[-1].most

    @property
    def ends(self) -> tuple[float, float]:
        """The smallest and the largest possible answer."""
        (rx, ry), (hx, hy) = self._reaches, self.hides
        if self.kind == "correlation":
            return -1.0, 1.0
        most = float((rx + hx) * (ry + hy))
        if self.kind == "covariance":
            return -most, most
        return 0.0, float(rx + hx) if self.kind == "sd" else most

    def hidden(self, records: int | None) -> float:  # noqa: ARG002
        """Return the largest binning error, where necessary as if numbers lay evenly over half of their ranges."""
        (rx, ry), (hx, hy) = self._reaches, self.hides
        if self.kind == "sd":
            return float(hx)
        most = float(rx * hy + ry * hx + hx * hy)
        return most * self._steepness

    @property
    def _steepness(self) -> float:
        """The derivative of the answer by the (co)variance, as if numbers lay evenly over half of their ranges."""
        rx, ry = map(float, self._reaches)
        if self.kind in ("variance", "covariance"):
            return 1.0
        if not rx or not ry:
            return 0.0
        return math.sqrt(3) / rx if self.kind == "sd" else 12 / (rx * ry)

    def _pull(self, records: int | None) -> list[tuple[int, float]]:
        """Return for each row the largest effect of one step on the answer, to first order."""
        size = self._assumed_size(records)
        rx, ry = map(float, self._reaches)
        product, steep = rx * ry, self._steepness
        out = [(self.product.row, float(self.product.unit))]
        if len(self.sums) == 1:  # the square of an average: twice
            out.append((self.sums[0].row, 2 * rx * float(self.sums[0].unit)))
        else:
            out += [(t.row, other * float(t.unit)) for t, other in zip(self.sums, (ry, rx), strict=True)]
        for total, mine, other in zip(self.squares, (rx, ry), (ry, rx), strict=False):
            out.append((total.row, float(total.unit) * (other / mine if mine else 0.0) / 2))
        if self.count is not None:
            out.append((self.count, product))
        return [(row, pull * steep / size) for row, pull in out]

    def expected(self, distributions: Sequence[Distribution], records: int | None, shift: float) -> ErrorOf:  # noqa: ARG002
        """Return the expected error to first order, for means at the ends of their ranges."""
        pulls, hidden, reach = self._pull(records), self.hidden(records), self.ends[1] - self.ends[0]
        bias = sum(float(t.bias) for t in self.totals) * self._steepness + hidden
        each = self._each(distributions)
        squared = math.sqrt(sum(distributions[row].variance * pull**2 for row, pull in pulls))
        typical = sum(distributions[row].mean_absolute * pull for row, pull in pulls)
        wide = sum(float(distributions[row].half_width(each)) * pull for row, pull in pulls)
        return ErrorOf(min(squared, reach) + bias, min(typical, reach) + bias, min(wide, reach) + bias, hidden)

    def _each(self, distributions: Sequence[Distribution]) -> float:
        """Return the coverage needed for each noisy row, so that all are covered jointly with 95 % (union bound)."""
        noisy = sum(distributions[row].variance > 0 for row in self.rows)
        return 1 - (1 - COVERAGE) / max(noisy, 1)

    def steps_within(self, within: float, records: int | None) -> dict[int, tuple[float, float]]:
        """Split the allowed error equally among the rows."""
        pulls, each = self._pull(records), 1 - (1 - COVERAGE) / len(self.rows)
        return {row: (within / len(pulls) / pull if pull else math.inf, each) for row, pull in pulls}

    def interval(
        self,
        z: Sequence[Number],
        distributions: Sequence[Distribution],
        records: int,
        shift: float,  # noqa: ARG002
    ) -> Interval:
        each = self._each(distributions)
        sizes = self._sizes(z, distributions, records, each)
        value = self.value(z, records)
        if sizes[0] < 1:
            return value, *self.ends
        between = [self._sum(total, z, distributions[total.row].half_width(each), sizes[1]) for total in self.totals]
        low, high = self._put_together(between, sizes)
        return value, max(min(low, value), self.ends[0]), min(max(high, value), self.ends[1])

    def _sum(self, total: Total, z: Sequence[Number], wide: Fraction, most: Fraction) -> Ends:
        """Return the interval of a sum over at most `most` records."""
        row = Fraction(z[total.row])
        floor = -total.most if total.signed else _ZERO
        low, high = (total.unit * x + sign * total.bias * most for x, sign in ((row - wide, -1), (row + wide, 1)))
        return max(low, floor * most), min(high, total.most * most)

    def _put_together(self, between: list[Ends], sizes: Ends) -> tuple[float, float]:
        (rx, ry), (hx, hy) = self._reaches, self.hides
        product, sums = between[0], between[1 : 1 + len(self.sums)]
        if self.kind in ("variance", "sd"):
            low, high = _deviations(product, sums[0], sizes, float(hx))
            return (low, high) if self.kind == "sd" else (low * low, high * high)
        hidden = rx * hy + ry * hx + hx * hy
        ends = _covariances(product, [a * b for a in sums[0] for b in sums[1]], sizes)
        low, high = float(ends[0] - hidden), float(ends[1] + hidden)
        if self.kind == "covariance":
            return low, high
        squares = between[1 + len(self.sums) :]
        spread = [_deviations(s, m, sizes, float(h)) for s, m, h in zip(squares, sums, (hx, hy), strict=True)]
        least, most = spread[0][0] * spread[1][0], spread[0][1] * spread[1][1]
        if not least > 0:
            return -1.0, 1.0
        return low / (least if low < 0 else most), high / (most if high < 0 else least)

    def value(self, rows: Sequence[Number], records: float) -> float:
        size = float(records if self.count is None else rows[self.count])
        if not size > 0:
            return 0.0
        product, *others = (float(rows[total.row]) * float(total.unit) / size for total in self.totals)
        sums, squares = others[: len(self.sums)], others[len(self.sums) :]
        found = product - sums[0] * sums[-1]
        if self.kind == "sd":
            found = math.sqrt(max(found, 0.0))
        if self.kind == "correlation":
            spread = [s - m * m for s, m in zip(squares, sums, strict=True)]
            found = found / math.sqrt(spread[0] * spread[1]) if min(spread) > 0 else 0.0
        return min(max(found, self.ends[0]), self.ends[1])

    def guess(self, spread: Sequence[float], records: int | None) -> float:  # noqa: ARG002
        return (self.ends[1] - self.ends[0]) / 2

    def vague(self, low: float, high: float) -> bool:
        """Return whether the interval is the whole range."""
        return low <= self.ends[0] and high >= self.ends[1]


def _deviations(square: Ends, total: Ends, sizes: Ends, hides: float) -> tuple[float, float]:
    """Return the interval of a standard deviation, given those of the sum of squares and of the sum."""
    least = _ZERO if total[0] <= 0 <= total[1] else min(total[0] ** 2, total[1] ** 2)
    low, high = _covariances(square, [least, max(total[0] ** 2, total[1] ** 2)], sizes)
    return max(math.sqrt(float(max(low, _ZERO))) - hides, 0.0), math.sqrt(float(max(high, _ZERO))) + hides


def _covariances(product: Ends, pairs: Sequence[Fraction], sizes: Ends) -> Ends:
    """Return the interval of a / m - b / m², given the intervals of a and m and the candidates for b."""
    low, high = (_over(a, b, sizes) for a, b in ((product[0], max(pairs)), (product[1], min(pairs))))
    return min(low), max(high)


def _over(a: Fraction, b: Fraction, sizes: Ends) -> list[Fraction]:
    """Return a / m - b / m² at the ends of m, and at its stationary point if that lies between them."""
    turn = [2 * b / a] if a and sizes[0] < 2 * b / a < sizes[1] else []
    return [a / m - b / m**2 for m in (*sizes, *turn)]
