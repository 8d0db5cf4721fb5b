"""Recipes: how an answer is made of rows, what noise in the rows does to it, and what of it can be said beforehand."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, Self, TypeAlias

COVERAGE = 0.95
EACH = 1 - (1 - COVERAGE) / 2  # two parts of an answer, each covered so, are covered together

HALF_THE_RANGE = ", as if numbers lay evenly over half of their range"
Number: TypeAlias = int | float | Fraction
Interval: TypeAlias = tuple[float, float, float]
"""A value, and the ends of its interval."""


class Distribution(Protocol):
    """Noise with mean 0, in steps of a row's grid."""

    @property
    def variance(self) -> float:
        """The mean square."""

    @property
    def mean_absolute(self) -> float:
        """The mean size."""

    def half_width(self, coverage: float = COVERAGE) -> Fraction:
        """What the noise stays within, so often at least."""


@dataclass(frozen=True)
class ErrorOf:
    """Expected error of one answer, in its own unit: root mean square, mean absolute, 95 % half-width.

    All of them hold what cells can hide of the entries that are counted by them, which is `hidden` at most.
    """

    rmse: float
    typical: float
    half_width: float
    hidden: float = 0.0

    @property
    def noise_half_width(self) -> float:
        """The part that a plan can do something about."""
        return self.half_width - self.hidden

    def good_enough(self, within: Fraction) -> bool:
        """Whether a target is met; where cells alone hide more, whether the noise is as small as was asked."""
        width = self.half_width if self.hidden < within else self.noise_half_width
        return width <= float(within) * (1 + 1e-9)


class Recipe(ABC):
    """How an answer is made of rows.

    Rows were rounded to a grid, by at most `bias` of the answer for one record; each record's number may lie `below` or
    `above` what was counted for it by so much, where it was counted as a cell.
    """

    __slots__ = ()

    factor: Fraction
    bias: Fraction
    below: Fraction
    above: Fraction

    @property
    @abstractmethod
    def rows(self) -> tuple[int, ...]:
        """The rows it is made of."""

    @property
    @abstractmethod
    def single(self) -> int | None:
        """The row that it is, times a factor; None where it is made of several."""

    @property
    @abstractmethod
    def is_mean(self) -> bool:
        """Whether it depends on how many records there are, not on their sum alone."""

    @property
    def noun(self) -> str:
        """What such answers are called, where their errors depend on how many records there are."""
        return "means"

    @property
    def which(self) -> object:
        """What tells recipes of one query apart besides their rows; nothing, mostly."""
        return None

    @property
    def may_be_exact(self) -> bool:
        """Whether its value is the true one where rows have no noise."""
        return True

    @property
    def assumed(self) -> str:
        """What else their errors are estimated for, before anything is known of the data."""
        return ""

    @property
    def smoothing(self) -> float:
        """How far an answer is moved on purpose, so that less noise is needed: what errors hold of that."""
        return 0.0

    @property
    def measured_by(self) -> Mapping[int, tuple[int, float]]:
        """Rows whose noise counts as that of another row does, and how many times its steps: none, mostly."""
        return {}

    @property
    def part(self) -> Fraction | None:
        """The part of all records that it is about, where that had to be assumed."""
        return None

    @abstractmethod
    def moved(self, rows: int) -> Self:
        """The same, so many rows further down."""

    @abstractmethod
    def hidden(self, records: int | None) -> float:
        """The most that cells hide of the answer."""

    @abstractmethod
    def expected(self, distributions: Sequence[Distribution], records: int | None, shift: float) -> ErrorOf:
        """The error before anything is spent; `shift` is how far a row is moved on purpose per record, in steps."""

    @abstractmethod
    def steps_within(self, within: float, records: int | None) -> dict[int, tuple[float, float]]:
        """Per row the steps that noise may take, and how often at least, so that the answer is right within so much."""

    @abstractmethod
    def interval(
        self, z: Sequence[Number], distributions: Sequence[Distribution], records: int, shift: float
    ) -> Interval:
        """The released value and its 95 % interval, from noisy rows alone: post-processing."""

    @abstractmethod
    def value(self, rows: Sequence[float], records: float) -> float:
        """The answer of rows, in floats."""

    @abstractmethod
    def guess(self, spread: Sequence[float], records: int | None) -> float:
        """The most by which the middle of what is possible can err, the rows' entries differing by `spread` at most."""

    def vague(self, low: float, high: float) -> bool:  # noqa: ARG002
        """Whether an interval says nothing that was not known before."""
        return False
