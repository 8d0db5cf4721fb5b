"""Distributions of the noise in a row, as far as errors and intervals need them."""

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
    """Discrete Laplace noise of a scale, on a grid whose step is `step` of the row's; scale 0 means no noise."""

    scale: float
    step: Fraction = Fraction(1)

    @cached_property
    def variance(self) -> float:
        """The variance of the discrete distribution."""
        return discrete_laplace_distribution.variance(self.scale) * float(self.step) ** 2

    @cached_property
    def mean_absolute(self) -> float:
        """The mean absolute value of the discrete distribution."""
        return discrete_laplace_distribution.mean_absolute(self.scale) * float(self.step)

    def half_width(self, coverage: float = COVERAGE) -> Fraction:
        """The half-width, in whole steps."""
        return (
            self._usual_width
            if coverage == COVERAGE
            else discrete_laplace_distribution.half_width(self.scale, coverage) * self.step
        )

    @cached_property
    def _usual_width(self) -> Fraction:
        """The 95 % half-width, cached because many rows share a distribution."""
        return discrete_laplace_distribution.half_width(self.scale, COVERAGE) * self.step


@dataclass(frozen=True)
class Blend:
    """A weighted sum of independent discrete Laplace noises, of which only the variance is kept.

    A sum of continuous Laplace noises is a normal variable with a random variance. Its mean absolute value is at most
    that of a normal variable. At 95 % and 97.5 %, its tails are at most those of a single Laplace variable of the same
    variance, and at least those of a normal one (tests/oracle/test_blended_noise.py). Discrete noise moves in steps,
    none larger than the largest weight. If `least` is the smallest variance of a noise, that weight is at most
    sqrt(variance / least), and half such a step is added. Noises that are almost always 0 are left out of that: they
    are nonzero with probability at most `rare`, and the coverage is raised by it.
    """

    variance: float
    least: float = math.inf
    rare: float = 0.0

    @property
    def mean_absolute(self) -> float:
        """An upper bound: the value of a normal distribution."""
        return math.sqrt(self.variance * 2 / math.pi)

    def half_width(self, coverage: float = COVERAGE) -> Fraction:
        """The half-width of one Laplace variable, plus half a step."""
        return Fraction(
            -math.log(1 - coverage - self.rare) * math.sqrt(self.variance / 2)
            + math.sqrt(self.variance) / math.sqrt(self.least) / 2
        )


@dataclass(frozen=True)
class Agreeing:
    """A sum of counts with k-norm noise, on the multiples of `step`; one unit of noise changes it by at most `span`.

    The noise of counts is symmetric and log-concave. Among such distributions of one variance, a truncated Laplace
    distribution has the largest tails at 95 % and 97.5 %. Spread evenly over a step, integer noise has a variance
    larger by 1/12. If factors differ, the sum lies in clusters, and half a cluster is added (docs/theorems.md; checked
    against all outcomes in tests/oracle/test_k_norm_errors.py).
    """

    variance: float
    step: int = 1
    span: int = 1

    @property
    def mean_absolute(self) -> float:
        """The value of a normal distribution; on integers, at most the variance."""
        steps = self.variance / self.step**2
        return self.step * min(math.sqrt(steps * 2 / math.pi), steps)

    def half_width(self, coverage: float = COVERAGE) -> Fraction:
        """The half-width in whole steps; 0 if the noise is nonzero too rarely."""
        steps, span = self.variance / self.step**2, self.span / self.step
        if steps <= 1 - coverage:
            return Fraction(0)
        return Fraction(
            self.step * max(math.ceil(self._reach(coverage) * math.sqrt(steps + span**2 / 12) + span / 2 - 1), 1)
        )

    def _reach(self, coverage: float) -> float:
        """The half-width in standard deviations."""
        return -math.log(1 - coverage) / math.sqrt(2) + _CUT_OFF


class Peaked(Agreeing):
    """The same if the noise is only known to be symmetric and unimodal.

    Gauss's inequality: at most 4 / (9 k^2) of such a distribution lie beyond k standard deviations, for k >= 2 /
    sqrt(3).
    """

    def _reach(self, coverage: float) -> float:
        return max(2 / (3 * math.sqrt(1 - coverage)), 2 / math.sqrt(3))


@dataclass(frozen=True)
class Known:
    """Symmetric noise of a count whose distribution is known: `beyond` holds the tail probabilities."""

    variance: float
    beyond: tuple[float, ...] = field(repr=False)  # P(|z| > h) for h = 0, 1, ..., in steps
    step: int = 1

    @property
    def mean_absolute(self) -> float:
        """The sum of all tail probabilities."""
        return self.step * math.fsum(self.beyond)

    def half_width(self, coverage: float = COVERAGE) -> Fraction:
        """The least number of steps with a tail of at most 1 - coverage, by bisection."""
        rest = (1 - coverage) * (1 + 1e-12)
        return Fraction(self.step * bisect_left(self.beyond, -rest, key=lambda chance: -chance))


@dataclass(frozen=True)
class Combined:
    """A mean of counts with k-norm noise within each star (docs/theorems.md); no factor exceeds 1.

    It is as wide as sums of such counts. Its values need not lie on whole steps, so half a step is added.
    """

    variance: float

    @property
    def mean_absolute(self) -> float:
        """The value of a normal distribution."""
        return math.sqrt(self.variance * 2 / math.pi)

    def half_width(self, coverage: float = COVERAGE) -> Fraction:
        """The half-width of a truncated Laplace distribution, plus half a step."""
        reach = -math.log(1 - coverage) / math.sqrt(2) + _CUT_OFF
        return Fraction(reach * math.sqrt(self.variance + 1 / 12) + 0.5)


_CUT_OFF = 0.055  # standard deviations by which a truncated Laplace distribution is wider, at 95 % or more


RARE = 0.001  # of the coverage: reserved for noises that are almost always 0


def least_of(noises: Iterable[float]) -> tuple[float, float]:
    """Return the least variance of noises that blend, and the probability that any noise left out of it is nonzero.

    That probability is 0 if no noise is left out. A noise on integers is nonzero with probability at most its variance.

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
    """Return the distributions of rows that get discrete Laplace noise themselves."""
    known: dict[float, Distribution] = {}
    return tuple(known.setdefault(s, Laplace(s)) for s in scales)
