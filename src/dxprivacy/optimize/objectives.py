"""Error objectives, which a plan minimizes: each combines the errors of many rows into one number.

Rows are measured by their scales relative to a reference (larger is worse); `weights` are the weights of rows.
"""

import math
from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from dxprivacy.exact.arrays import Floats
from dxprivacy.optimize.barrier import gap_of, objective_of


class Objective(ABC):
    """An error objective: one number for the errors of many rows."""

    name: ClassVar[str]
    power: ClassVar[int | None] = None  # p of the sum that the barrier method minimizes; 0: a sum of logarithms
    absolute: ClassVar[bool] = False  # whether an error counts by its absolute value, not by its square

    @abstractmethod
    def total(self, scales: Floats, weights: Floats) -> float:
        """Return the objective for rows with these noise scales."""

    def size(self, variances: Floats, sizes: Floats, moved: Floats) -> Floats:  # noqa: ARG002
        """Return for each row the Laplace scale with the same error as noise of this variance or size plus a shift."""
        return np.asarray(np.sqrt((variances + moved**2) / 2), dtype=np.float64)

    def gap(self, loss: float, floor: float, weight: float) -> float:
        """Return the relative gap of an objective value to a lower bound."""
        return gap_of(loss, floor, weight, 1)

    def unit(self, loss: float, weight: float) -> float:  # noqa: ARG002
        """Return the unit for differences of objective values near this one."""
        return abs(loss)

    def times(self, loss: float, least: float, weight: float) -> float:  # noqa: ARG002
        """Return the ratio of the errors at two objective values."""
        return loss / least if least else 1.0


class Squared(Objective):
    """The weighted sum of squared errors."""

    name, power = "squared", 2

    def total(self, scales: Floats, weights: Floats) -> float:
        return objective_of(1.0 / scales, weights, 2)

    def times(self, loss: float, least: float, weight: float) -> float:  # noqa: ARG002
        return float((loss / least) ** 0.5) if least else 1.0


class Absolute(Objective):
    """The weighted sum of absolute errors."""

    name, power, absolute = "absolute", 1, True

    def total(self, scales: Floats, weights: Floats) -> float:
        return objective_of(1.0 / scales, weights, 1)

    def size(self, variances: Floats, sizes: Floats, moved: Floats) -> Floats:  # noqa: ARG002
        return sizes + moved


class LargestError(Objective):
    """The largest error."""

    name = "max"

    def total(self, scales: Floats, weights: Floats) -> float:  # noqa: ARG002
        return float(scales.max(initial=0.0))


class Geometric(Objective):
    """The geometric mean of the errors, as a sum of logarithms."""

    name, power = "geometric", 0

    def total(self, scales: Floats, weights: Floats) -> float:
        return objective_of(1.0 / scales, weights, 0)

    def gap(self, loss: float, floor: float, weight: float) -> float:
        return gap_of(loss, floor, weight, 0)

    def unit(self, loss: float, weight: float) -> float:  # noqa: ARG002
        """Return the total weight, because this objective is a weighted sum of logarithms."""
        return weight

    def times(self, loss: float, least: float, weight: float) -> float:
        return math.exp((loss - least) / weight) if weight else 1.0


SQUARED, ABSOLUTE, LARGEST, GEOMETRIC = Squared(), Absolute(), LargestError(), Geometric()
OBJECTIVES: dict[str, Objective] = {loss.name: loss for loss in (SQUARED, ABSOLUTE, LARGEST, GEOMETRIC)}
