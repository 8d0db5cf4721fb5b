"""Quantiles under standard DP: the exponential mechanism selects one number, and its score is the rank.

Between two records' numbers the rank changes by one per record; beyond all numbers it is constant. As in our own error
estimates before a release, numbers are assumed to lie evenly over half of their range. Then a number at distance t
below or above the quantile is selected with probability proportional to exp(-ε m(t) / 2), where m(t) is the number of
records in between. That is a two-sided distribution: each side falls up to the last record and is constant beyond.
"""

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from dxprivacy.exact.rounding import Exact
from dxprivacy.metrics import Metric
from dxprivacy.metrics.closed_forms import Constant
from dxprivacy.metrics.with_other import WithAbsent
from dxprivacy.privacy import max_ratio
from dxprivacy.privacy.costs import LaplaceCost
from dxprivacy.universe.answers import COVERAGE, ErrorOf, QuantileRecipe
from dxprivacy.universe.universe import Universe
from dxprivacy.universe.workload import Workload

# -- Standard DP: one epsilon for all pairs, and the sensitivities of queries -----------------------------------------


def standard_metric(universe: Universe, epsilon: Exact) -> Metric:
    """One epsilon for every two records; if records may be absent, also for adding or removing one.

    If people have several rows, epsilon is that of a whole person, and a row gets its part.

    >>> standard_metric(Universe.listed("abc"), Fraction(1, 2)).exact(0, 2)
    Fraction(1, 2)
    """
    if universe.absent is None:
        return Constant(universe, epsilon)
    each = epsilon / universe.rows_each
    return WithAbsent(universe, Constant(universe.present, each), each)


def standard_sensitivities(workload: Workload) -> tuple[float, ...]:
    """Each block's l1 sensitivity: the largest change by replacing a record, or by adding or removing one."""
    plain = standard_metric(workload.universe, Fraction(1))
    out = []
    for block in workload.blocks:
        alone = Workload(workload.universe, (block,), ())
        out.append(float(max_ratio(LaplaceCost(alone, np.ones(block.rows)), plain).upper))
    return tuple(out)


# -- Quantiles under standard DP ---------------------------------------------------------------------------------------


_HALVINGS = 60
_FLAT = 1e-2


class _QuantileSide(NamedTuple):
    """One side of the distribution: exponential decay over the stretch with records, constant over the
    stretch without.
    """

    rate: float
    falling: float
    level: float

    @property
    def bottom(self) -> float:
        return math.exp(-self.rate * self.falling)

    def moment(self, power: int) -> float:
        """The integral of t^power (power 0, 1 or 2) over the side."""
        next_power, x = power + 1, self.rate * self.falling
        if x < _FLAT:  # almost constant: the formula below would cancel
            falls = self.falling**next_power * (1 / next_power - x / (next_power + 1))
        else:
            left = self.bottom * sum(x**k / math.factorial(k) for k in range(next_power))
            falls = math.factorial(power) / self.rate**next_power * (1 - left)
        end = self.falling + self.level
        return falls + self.bottom * (end**next_power - self.falling**next_power) / next_power

    def beyond(self, t: float) -> float:
        """The mass farther away than t."""
        if t >= self.falling:
            return self.bottom * max(self.falling + self.level - t, 0.0)
        return (math.exp(-self.rate * t) - self.bottom) / self.rate + self.bottom * self.level


def chosen_quantile(recipe: QuantileRecipe, epsilon: float, records: int | None, *, grouped: bool) -> ErrorOf:
    """The error of a quantile selected under standard DP, with this epsilon for the quantile alone.

    If answers are grouped, a record that moves between groups changes the scores of two selections, each by at most the
    larger of q and 1 - q. The half-width is found by bisection.

    >>> from fractions import Fraction as F
    >>> from dxprivacy.universe.answers import QuantileRamps
    >>> ramps = QuantileRamps(F(0), F(10), 10, 10, F(100))
    >>> recipe = QuantileRecipe(0, ramps, F(1, 2), F(0), (F(0), F(0)))
    >>> found = chosen_quantile(recipe, 0.1, 1000, grouped=False)
    >>> round(found.typical, 2), round(found.half_width, 2)
    (1.0, 3.0)
    """
    level, reach, hidden = float(recipe.at), recipe.reach, recipe.hidden(records)
    if grouped:
        epsilon /= 2 * max(level, 1 - level)
    rate = epsilon / 2 * max(float((records or 0) * recipe.fraction), 1.0) / reach
    sides = [_QuantileSide(rate, part * reach, reach / 2) for part in (level, 1 - level)]
    whole, first, second = (sum(side.moment(power) for side in sides) for power in range(3))
    low, high = 0.0, 2 * reach
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        enough = sum(side.beyond(middle) for side in sides) <= (1 - COVERAGE) * whole
        low, high = (low, middle) if enough else (middle, high)
    return ErrorOf(math.sqrt(second / whole) + hidden, first / whole + hidden, high + hidden, hidden)
