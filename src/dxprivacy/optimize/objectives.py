"""Losses: what a plan makes least.  Each says how errors of many rows become one number, and how to compare two.

Rows are measured by their scales over a reference, larger being worse; `weights` say how often each counts.
"""

import math
from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from dxprivacy.exact.arrays import Floats
from dxprivacy.optimize.barrier import gap_of, loss_of


class Objective(ABC):
    """One number for the errors of many rows."""

    name: ClassVar[str]
    power: ClassVar[int | None] = None  # of the sum that the barrier method makes least; 0: of logarithms
    absolute: ClassVar[bool] = False  # whether an error counts by its size, not by its square

    @abstractmethod
    def total(self, scales: Floats, weights: Floats) -> float:
        """The loss of rows with noise."""

    def size(self, variances: Floats, sizes: Floats, moved: Floats) -> Floats:  # noqa: ARG002
        """Per row the scale that errs as much as noise of this variance and mean size, and a shift besides."""
        return np.asarray(np.sqrt((variances + moved**2) / 2), dtype=np.float64)

    def gap(self, loss: float, floor: float, weight: float) -> float:
        """How far a loss is above a lower bound, relatively."""
        return gap_of(loss, floor, weight, 1)

    def unit(self, loss: float, weight: float) -> float:  # noqa: ARG002
        """What differences of losses near this one are measured in."""
        return abs(loss)

    def times(self, loss: float, least: float, weight: float) -> float:  # noqa: ARG002
        """How many times larger the error is than that of the least loss."""
        return loss / least if least else 1.0


class Squared(Objective):
    """The weighted sum of squared errors."""

    name, power = "squared", 2

    def total(self, scales: Floats, weights: Floats) -> float:
        return loss_of(1.0 / scales, weights, 2)

    def times(self, loss: float, least: float, weight: float) -> float:  # noqa: ARG002
        return float((loss / least) ** 0.5) if least else 1.0


class Absolute(Objective):
    """The weighted sum of absolute errors."""

    name, power, absolute = "absolute", 1, True

    def total(self, scales: Floats, weights: Floats) -> float:
        return loss_of(1.0 / scales, weights, 1)

    def size(self, variances: Floats, sizes: Floats, moved: Floats) -> Floats:  # noqa: ARG002
        return sizes + moved


class LargestError(Objective):
    """The largest error, whatever the others are."""

    name = "max"

    def total(self, scales: Floats, weights: Floats) -> float:  # noqa: ARG002
        return float(scales.max(initial=0.0))


class Geometric(Objective):
    """The geometric mean of the errors, as a sum of logarithms."""

    name, power = "geometric", 0

    def total(self, scales: Floats, weights: Floats) -> float:
        return loss_of(1.0 / scales, weights, 0)

    def gap(self, loss: float, floor: float, weight: float) -> float:
        return gap_of(loss, floor, weight, 0)

    def unit(self, loss: float, weight: float) -> float:  # noqa: ARG002
        """Logarithms differ by parts of the weight."""
        return weight

    def times(self, loss: float, least: float, weight: float) -> float:
        return math.exp((loss - least) / weight) if weight else 1.0


SQUARED, ABSOLUTE, LARGEST, GEOMETRIC = Squared(), Absolute(), LargestError(), Geometric()
OBJECTIVES: dict[str, Objective] = {loss.name: loss for loss in (SQUARED, ABSOLUTE, LARGEST, GEOMETRIC)}
