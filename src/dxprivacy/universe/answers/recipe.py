"""Recipes: how an answer is computed from rows, its expected error, and its confidence interval."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, Self, TypeAlias

COVERAGE = 0.95
EACH = 1 - (1 - COVERAGE) / 2  # coverage of each of two parts, so that both are covered jointly (union bound)

HALF_THE_RANGE = ", as if numbers lay evenly over half of their range"
Number: TypeAlias = int | float | Fraction
Interval: TypeAlias = tuple[float, float, float]
"""A value, and the ends of its interval."""


class Distribution(Protocol):
    """A noise distribution with mean 0, in steps of a row's grid."""

    @property
    def variance(self) -> float:
        """The variance."""

    @property
    def mean_absolute(self) -> float:
        """The mean absolute value."""

    def half_width(self, coverage: float = COVERAGE) -> Fraction:
        """Return a half-width within which the noise stays with probability at least `coverage`."""


@dataclass(frozen=True)
class ErrorOf:
    """Expected error of one answer, in its own unit: root mean square error, mean absolute error, 95 % half-width.

    All three include the binning error, which is at most `hidden`.
    """

    rmse: float
    typical: float
    half_width: float
    hidden: float = 0.0

    @property
    def noise_half_width(self) -> float:
        """The part of the half-width that a plan can reduce: without binning error."""
        return self.half_width - self.hidden

    def good_enough(self, within: Fraction) -> bool:
        """Return whether a target is met; if binning error alone exceeds it, only the noise is compared."""
        width = self.half_width if self.hidden < within else self.noise_half_width
        return width <= float(within) * (1 + 1e-9)


class Recipe(ABC):
    """How an answer is computed from rows.

    Rounding the rows to a grid changed the answer by at most `bias` per record.  If numbers are counted as bins, a
    record's number may lie up to `below` or `above` the value that was counted for it.
    """

    __slots__ = ()

    factor: Fraction
    bias: Fraction
    below: Fraction
    above: Fraction

    @property
    @abstractmethod
    def rows(self) -> tuple[int, ...]:
        """The rows from which it is computed."""

    @property
    @abstractmethod
    def single(self) -> int | None:
        """The row of which it is a multiple; None if it is computed from several rows."""

    @property
    @abstractmethod
    def is_mean(self) -> bool:
        """Whether it depends on the number of records, and not on sums alone."""

    @property
    def noun(self) -> str:
        """The plural noun for such answers, used if their errors depend on the number of records."""
        return "means"

    @property
    def which(self) -> object:
        """What distinguishes recipes of one query with the same rows; None for most."""
        return None

    @property
    def may_be_exact(self) -> bool:
        """Whether its value is the true one if the rows have no noise."""
        return True

    @property
    def assumed(self) -> str:
        """A further assumption under which errors are estimated before the data are known, in words."""
        return ""

    @property
    def smoothing(self) -> float:
        """The deliberate bias of an answer from smoothing, which reduces noise; errors include it."""
        return 0.0

    @property
    def measured_by(self) -> Mapping[int, tuple[int, float]]:
        """Rows whose noise acts like that of another row, with this row and the factor; empty for most."""
        return {}

    @property
    def part(self) -> Fraction | None:
        """The fraction of all records that it is about, if that had to be assumed."""
        return None

    @abstractmethod
    def moved(self, rows: int) -> Self:
        """Return the same recipe with all row numbers shifted by `rows`."""

    @abstractmethod
    def hidden(self, records: int | None) -> float:
        """Return the largest binning error of the answer."""

    @abstractmethod
    def expected(self, distributions: Sequence[Distribution], records: int | None, shift: float) -> ErrorOf:
        """Return the expected error; `shift` is the deliberate shift of a row per record, in grid steps."""

    @abstractmethod
    def steps_within(self, within: float, records: int | None) -> dict[int, tuple[float, float]]:
        """Return for each row a half-width of noise in steps and its coverage, so that the answer errs by at most
        `within`.
        """

    @abstractmethod
    def interval(
        self, z: Sequence[Number], distributions: Sequence[Distribution], records: int, shift: float
    ) -> Interval:
        """Return the released value and its 95 % interval, from noisy rows alone (post-processing)."""

    @abstractmethod
    def value(self, rows: Sequence[float], records: float) -> float:
        """Return the answer computed from rows, in floats."""

    @abstractmethod
    def guess(self, spread: Sequence[float], records: int | None) -> float:
        """Return the largest error of guessing the middle of the possible range, if row entries differ by `spread`."""

    def vague(self, low: float, high: float) -> bool:  # noqa: ARG002
        """Return whether an interval is the whole range of possible answers."""
        return False
