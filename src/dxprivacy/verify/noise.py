"""Errors, values and intervals from scales and noisy rows (docs/formats.md, section 7)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import Protocol

from dxprivacy.verify.queries import Answer, Recipe

COVERAGE = Fraction(95, 100)
EACH = Fraction(975, 1000)  # two parts of an answer, each covered so, are covered together
_TIE = Decimal("2e-9")  # so close to a whole number, either side of it may be stated


def _silent(s: float) -> bool:
    return s == 0 or 1 / s > 700


def variance(s: float) -> float:
    """2p/(1-p)², p = exp(-1/s).

    >>> round(variance(0.2), 4)
    0.0137
    """
    if _silent(s):
        return 0.0
    half = math.sinh(0.5 / s)  # 2p/(1-p)² = 1 / (2 sinh²(1/2s))
    return 0.5 / (half * half)


def mean_absolute(s: float) -> float:
    """2p/(1-p²) = 1 / sinh(1/s)."""
    return 0.0 if _silent(s) else 1 / math.sinh(1 / s)


@lru_cache(maxsize=10_000)
def widths(s: float, coverage: Fraction) -> list[int]:
    """The least whole h with 2p^(h+1)/(1+p) <= 1 - coverage; two right between them.

    >>> widths(3.3, COVERAGE)
    [10]
    """
    if _silent(s):
        return [0]
    with localcontext(Context(prec=50)):  # h + 1 >= s ln(2 / ((1 + p) (1 - coverage)))
        scale, rest = Decimal(s), 1 - coverage
        bound = scale * (2 * rest.denominator / ((1 + (-1 / scale).exp()) * rest.numerator)).ln() - 1
        return sorted({max(0, math.ceil(bound - _TIE)), max(0, math.ceil(bound + _TIE))})


class Distribution(Protocol):
    """The noise of a row, in steps of its grid."""

    @property
    def variance(self) -> float:
        """The mean square."""

    @property
    def mean_absolute(self) -> float:
        """The mean size."""

    def widths(self, coverage: Fraction) -> list[Fraction]:
        """The half-widths that may be stated."""


@dataclass(frozen=True)
class Laplace:
    """Discrete Laplace noise, on a grid whose step is `step` of the row's."""

    scale: float
    step: Fraction = Fraction(1)

    @property
    def variance(self) -> float:
        """Of the discrete distribution."""
        return variance(self.scale) * float(self.step) ** 2

    @property
    def mean_absolute(self) -> float:
        """Of the discrete distribution."""
        return mean_absolute(self.scale) * float(self.step)

    def widths(self, coverage: Fraction) -> list[Fraction]:
        """Whole steps."""
        return [h * self.step for h in widths(self.scale, coverage)]


@dataclass(frozen=True)
class Blend:
    """A weighted sum of Laplace noises, told by its variance: as wide as one Laplace variable and half a step."""

    variance: float
    least: float  # the smallest variance of a noise that is there often enough
    rare: float = 0.0  # the probability of the others

    @property
    def mean_absolute(self) -> float:
        """At most."""
        return math.sqrt(2 * self.variance / math.pi)

    def widths(self, coverage: Fraction) -> list[Fraction]:
        """ln(1 / (1 - coverage - rare)) sqrt(variance / 2) + sqrt(variance / least) / 2."""
        step = math.sqrt(self.variance) / math.sqrt(self.least) / 2
        return [Fraction(-math.log(1 - float(coverage) - self.rare) * math.sqrt(self.variance / 2) + step)]


@dataclass(frozen=True)
class Agreeing:
    """A sum of counts whose noise agrees, told by its variance: whole steps, as of a Laplace distribution that is cut
    off.
    """

    variance: float
    step: int
    span: int  # the largest difference of two factors

    @property
    def mean_absolute(self) -> float:
        """As of a normal distribution, and not more than the variance in steps."""
        steps = self.variance / self.step**2
        return self.step * min(math.sqrt(2 * steps / math.pi), steps)

    def widths(self, coverage: Fraction) -> list[Fraction]:
        """What the variance and one a little off either way say: a step is a large difference."""
        return [Fraction(self.step * h) for h in sorted({self._steps(coverage, t) for t in (1.0, 1 - 1e-7, 1 + 1e-7)})]

    def _steps(self, coverage: Fraction, times: float) -> int:
        steps, rest = times * self.variance / self.step**2, 1 - float(coverage)
        if steps <= rest:
            return 0
        span = self.span / self.step
        return max(math.ceil(self._reach(rest) * math.sqrt(steps + span**2 / 12) + span / 2 - 1), 1)

    def _reach(self, rest: float) -> float:
        return -math.log(rest) / math.sqrt(2) + 0.055


class Peaked(Agreeing):
    """The same for noise of which it is only known that it falls on both sides of 0: as Gauss's inequality says."""

    def _reach(self, rest: float) -> float:
        return max(2 / 3 / math.sqrt(rest), math.sqrt(4 / 3))


class Known:
    """Noise of a count whose distribution is known: `distribution` from -M to M, in steps."""

    def __init__(self, variance: float, distribution: Sequence[float], step: int) -> None:
        self.variance, self.step = variance, step
        half = [float(x) for x in distribution][: len(distribution) // 2]
        self._beyond = [2 * x for x in reversed(list(accumulate(half)))] + [0.0]

    @property
    def mean_absolute(self) -> float:
        """The sum of the chances of more than each size."""
        return self.step * math.fsum(self._beyond)

    def widths(self, coverage: Fraction) -> list[Fraction]:
        """The least step beyond which no more is left; of two where floats do not tell."""
        rest = float(1 - coverage)
        ends = [rest * (1 - 1e-8), rest * (1 + 1e-8)]
        return sorted({Fraction(self.step * next(h for h, p in enumerate(self._beyond) if p <= x)) for x in ends})


@dataclass(frozen=True)
class Combined:
    """A mean of counts whose noise agrees, told by its variance: a Laplace distribution that is cut off, and half a
    step.
    """

    variance: float

    @property
    def mean_absolute(self) -> float:
        """As of a normal distribution."""
        return math.sqrt(2 * self.variance / math.pi)

    def widths(self, coverage: Fraction) -> list[Fraction]:
        """(ln(1 / (1 - coverage)) / sqrt 2 + 0.055) sqrt(variance + 1/12) + 1/2."""
        reach = -math.log(1 - float(coverage)) / math.sqrt(2) + 0.055
        return [Fraction(reach * math.sqrt(self.variance + 1 / 12) + 0.5)]


def expected(
    answer: Answer, distributions: Sequence[Distribution], records: int, shift: float
) -> tuple[float, float, list[float]]:
    """Root mean square and mean absolute error; and the 95 % half-widths that may be stated."""
    r = answer.recipe
    if r.worked_out is not None:
        return r.worked_out.expected([distributions[row] for row in answer.rows], records)
    hidden = float(max(r.below, r.above))
    u, b = float(r.unit), float(r.bias)
    if answer.count is not None:
        b += hidden
        one, two = distributions[answer.row], distributions[answer.count]
        m = max(float(records * r.part * r.each), 1.0)
        reach = float(r.high - r.low) / (1 if r.center == r.low else 2)
        return (
            math.sqrt(one.variance * u * u + two.variance * reach * reach) / m + b,
            (one.mean_absolute * u + two.mean_absolute * reach) / m + b,
            [(float(h1) * u + float(h2) * reach) / m + b for h1 in one.widths(EACH) for h2 in two.widths(EACH)],
        )
    b += shift * u
    if r.over_all:
        u /= max(records, 1)
    else:
        b, hidden = b * records, hidden * records
    b += hidden
    distribution = distributions[answer.row]
    spread = math.sqrt(distribution.variance) * u
    return (
        math.hypot(spread, b),
        distribution.mean_absolute * u + b,
        [float(h) * u + b for h in distribution.widths(COVERAGE)],
    )


def released(
    answer: Answer,
    distributions: Sequence[Distribution],
    rows: Sequence[int | float | Fraction],
    records: int,
    shift: float,
) -> list[tuple[float, float, float, bool]]:
    """Value, both ends of its interval, and whether it says nothing; several where floats cannot tell the width."""
    r = answer.recipe
    if r.worked_out is not None:
        return r.worked_out.released([rows[k] for k in answer.rows], [distributions[k] for k in answer.rows], records)
    if answer.count is None:
        factor, ends = spans(r, distributions[answer.row], records, shift)
        value = factor * Fraction(rows[answer.row])
        found = [(value, value - down, value + up) for down, up in ends]
        if r.ended:
            found = [(_inside(r, a), _inside(r, b), _inside(r, c)) for a, b, c in found]
        return [(float(a), float(b), float(c), False) for a, b, c in found]
    out = []
    for h1 in distributions[answer.row].widths(EACH):
        for h2 in distributions[answer.count].widths(EACH):
            value, low, high = _mean(answer, Fraction(rows[answer.row]), h1, Fraction(rows[answer.count]), h2)
            vague = float(low) <= float(r.low) and float(high) >= float(r.high)
            out.append((float(value), float(low), float(high), vague))
    return out


def spans(
    r: Recipe, distribution: Distribution, records: int, shift: float
) -> tuple[Fraction, list[tuple[Fraction, Fraction]]]:
    """Of an answer that is one row times a factor: the factor, and how far its interval reaches down and up."""
    divisor, times = (max(records, 1), 1) if r.over_all else (1, records)
    bias = (r.bias + Fraction(shift) * r.unit) * times
    widths = [r.unit * h / divisor + bias for h in distribution.widths(COVERAGE)]
    return r.unit / divisor, [(w + r.below * times, w + r.above * times) for w in widths]


def _inside(r: Recipe, x: Fraction) -> Fraction:
    return min(max(x, r.low), r.high)


def moved(answer: Answer, records: int) -> float:
    """How far a step of its rows moves an answer, at most; of a mean, where it says anything."""
    r = answer.recipe
    if r.worked_out is not None:
        return r.worked_out.moved()
    if r.ratio:
        return float(r.unit + r.high - r.low)
    return float(r.unit) / (max(records, 1) if r.over_all else 1)


def _mean(
    answer: Answer, top: Fraction, h1: Fraction, count: Fraction, h2: Fraction
) -> tuple[Fraction, Fraction, Fraction]:
    r = answer.recipe
    value = r.center + r.unit * top / count if count > 0 else r.center
    value = min(max(value, r.low), r.high)
    if count - h2 < 1:
        return value, r.low, r.high
    corners = [r.center + r.unit * t / c for t in (top - h1, top + h1) for c in (count - h2, count + h2)]
    low, high = min(corners) - r.bias - r.below, max(corners) + r.bias + r.above
    return value, min(max(low, r.low), r.high), max(min(high, r.high), r.low)
