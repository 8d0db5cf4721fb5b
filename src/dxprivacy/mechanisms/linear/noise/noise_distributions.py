"""The noise in a row: which distribution it follows, as far as errors and intervals need it."""

import math
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from dxprivacy.mechanisms.linear.noise import discrete_laplace_distribution
from dxprivacy.universe.answers import COVERAGE, Distribution


@dataclass(frozen=True)
class Laplace:
    """Discrete Laplace noise of a scale, on a grid whose step is `step` of the row's; scale 0 is no noise."""

    scale: float
    step: Fraction = Fraction(1)

    @cached_property
    def variance(self) -> float:
        """Of the discrete distribution."""
        return discrete_laplace_distribution.variance(self.scale) * float(self.step) ** 2

    @cached_property
    def mean_absolute(self) -> float:
        """Of the discrete distribution."""
        return discrete_laplace_distribution.mean_absolute(self.scale) * float(self.step)

    def half_width(self, coverage: float = COVERAGE) -> Fraction:
        """Whole steps."""
        return (
            self._usual_width
            if coverage == COVERAGE
            else discrete_laplace_distribution.half_width(self.scale, coverage) * self.step
        )

    @cached_property
    def _usual_width(self) -> Fraction:
        """Of 95 %: many rows share a distribution, and all are asked for it."""
        return discrete_laplace_distribution.half_width(self.scale, COVERAGE) * self.step


@dataclass(frozen=True)
class Blend:
    """A weighted sum of independent discrete Laplace noises, of which only the variance is kept.

    Of continuous noises it would be a normal variable with a random variance: its mean size is at most that of a normal
    one, and at 95 % and 97.5 % its tails are at most those of a single Laplace variable of the same variance, at least
    those of a normal one (tests/oracle/test_blended_noise.py).  Discrete noise moves in steps, none larger than the
    largest weight; with `least` the smallest variance of a noise, that weight is at most sqrt(variance / least), and
    half such a step is added.  Noises that are hardly ever there are left out of that: they are not 0 with probability
    `rare` at most, by which the coverage is raised.
    """

    variance: float
    least: float = math.inf
    rare: float = 0.0

    @property
    def mean_absolute(self) -> float:
        """At most."""
        return math.sqrt(self.variance * 2 / math.pi)

    def half_width(self, coverage: float = COVERAGE) -> Fraction:
        """As if it were one Laplace variable, and half a step."""
        return Fraction(
            -math.log(1 - coverage - self.rare) * math.sqrt(self.variance / 2)
            + math.sqrt(self.variance) / math.sqrt(self.least) / 2
        )


@dataclass(frozen=True)
class Agreeing:
    """A sum of counts whose noise agrees, on the whole multiples of `step`; a unit of noise moves it by `span` at most.

    Noise of counts is symmetric and log-concave.  Of all such distributions of one variance, a Laplace distribution
    that is cut off has the largest tails where 95 % and 97.5 % lie; spread evenly over a step, noise on whole numbers
    has a twelfth more variance.  Where factors differ, the sum lies in clumps, and half a clump is added
    (docs/theorems.md; checked against all outcomes in tests/oracle/test_k_norm_errors.py).
    """

    variance: float
    step: int = 1
    span: int = 1

    @property
    def mean_absolute(self) -> float:
        """As of a normal distribution; on whole numbers, at most the variance."""
        steps = self.variance / self.step**2
        return self.step * min(math.sqrt(steps * 2 / math.pi), steps)

    def half_width(self, coverage: float = COVERAGE) -> Fraction:
        """Whole steps; none where the noise is not 0 too rarely to matter."""
        steps, span = self.variance / self.step**2, self.span / self.step
        if steps <= 1 - coverage:
            return Fraction(0)
        return Fraction(
            self.step * max(math.ceil(self._reach(coverage) * math.sqrt(steps + span**2 / 12) + span / 2 - 1), 1)
        )

    def _reach(self, coverage: float) -> float:
        """In standard deviations."""
        return -math.log(1 - coverage) / math.sqrt(2) + _CUT_OFF


class Peaked(Agreeing):
    """The same where all that is known of the noise is that it is symmetric, and the rarer the farther from 0.

    Gauss's inequality: at most 4 / (9 k^2) of such a distribution lie beyond k standard deviations, for k >= 2 /
    sqrt(3).
    """

    def _reach(self, coverage: float) -> float:
        return max(2 / (3 * math.sqrt(1 - coverage)), 2 / math.sqrt(3))


@dataclass(frozen=True)
class Known:
    """Noise of a count whose very distribution is known, as chances of more than each size; symmetric."""

    variance: float
    beyond: tuple[float, ...] = field(repr=False)  # P(|z| > h) for h = 0, 1, ..., in steps
    step: int = 1

    @property
    def mean_absolute(self) -> float:
        """The sum of all these chances."""
        return self.step * math.fsum(self.beyond)

    def half_width(self, coverage: float = COVERAGE) -> Fraction:
        """The least number of steps beyond which no more is left."""
        rest = (1 - coverage) * (1 + 1e-12)
        return Fraction(self.step * bisect_left(self.beyond, -rest, key=lambda chance: -chance))


@dataclass(frozen=True)
class Combined:
    """A mean of counts whose noise agrees within each star (docs/theorems.md): no factor is above 1.

    As wide as sums of such counts; between whole steps anything may happen, so half a step more.
    """

    variance: float

    @property
    def mean_absolute(self) -> float:
        """As of a normal distribution."""
        return math.sqrt(self.variance * 2 / math.pi)

    def half_width(self, coverage: float = COVERAGE) -> Fraction:
        """A Laplace distribution that is cut off, and half a step."""
        reach = -math.log(1 - coverage) / math.sqrt(2) + _CUT_OFF
        return Fraction(reach * math.sqrt(self.variance + 1 / 12) + 0.5)


_CUT_OFF = 0.055  # standard deviations that a Laplace distribution that is cut off reaches farther, at 95 % or more


RARE = 0.001  # of the coverage: what noises that are hardly ever there may take of it


def least_of(noises: Iterable[float]) -> tuple[float, float]:
    """The least variance of noises that blend, and how often others, left out, are not 0; none left out if none is.

    A noise on whole numbers is not 0 with a probability of at most its variance.

    >>> least_of([2.0, 8.0]), least_of([1e-9, 2.0, 0.0])
    ((2.0, 0.0), (2.0, 0.001))
    """
    found = sorted(v for v in noises if v > 0)
    total, kept = 0.0, 0
    while kept < len(found) - 1 and total + found[kept] <= RARE:
        total += found[kept]
        kept += 1
    return (found[kept] if found else 1.0), (RARE if kept else 0.0)


def laplace_distributions(scales: Iterable[float]) -> tuple[Distribution, ...]:
    """The distributions of rows that get discrete Laplace noise themselves."""
    known: dict[float, Distribution] = {}
    return tuple(known.setdefault(s, Laplace(s)) for s in scales)
