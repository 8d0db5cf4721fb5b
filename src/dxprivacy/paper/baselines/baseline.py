"""The base class of the baselines: queries with one noise scale, a certificate, and an error that includes bias.

A baseline counts the fraction f_i of a record of value i: always (stretching), or on average (sampling).  So an answer
has the bias sum_i q_i (f_i - 1) x_i.  Its error consists of bias, noise, and the variance of sampling.  Over data sets
x of n records, the mean squared error is convex in x (the square of a linear function plus a linear function): its
maximum is attained by n equal records.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from dxprivacy.errors import NotCertified, QueryError, TooLarge, UsageError
from dxprivacy.exact.answer_grid import require_room
from dxprivacy.exact.arrays import Floats, Ints, read_only
from dxprivacy.exact.rounding import Exact, is_whole, parse_epsilon, round_up
from dxprivacy.histogram import Histogram
from dxprivacy.mechanisms.linear.noise.discrete_laplace_distribution import variance
from dxprivacy.mechanisms.sampling.system_noise import Noise, SystemNoise
from dxprivacy.metrics import Metric, PseudoMetric, per_element
from dxprivacy.privacy import max_ratio
from dxprivacy.privacy.certificate import Certificate, separates
from dxprivacy.queries.asking import gather
from dxprivacy.universe.workload import Workload
from dxprivacy.wording import repr_of_half_built

# -- Inputs of a baseline: linear queries, a budget for each possible record, and the metric to keep -------------------


_MOST_ENTRIES = 1 << 24  # queries times possible records: held at once


@dataclass(frozen=True, eq=False)
class Given:
    """Queries as rows of integers with their units, budgets, and the metric."""

    workload: Workload
    rows: Ints
    budgets: tuple[Exact, ...]
    metric: Metric

    @property
    def units(self) -> tuple[Fraction, ...]:
        """The unit of each row's integers."""
        return self.workload.units

    @property
    def top(self) -> Fraction:
        """The largest finite budget."""
        return max(Fraction(e) for e in self.budgets if e != math.inf)

    @property
    def reach(self) -> Fraction:
        """The largest total of one record over all rows, max_i ||Q_i||_1: the sensitivity of standard DP."""
        units = self.units
        mixed = any(unit != units[0] for unit in units)
        if not mixed:
            return int(np.abs(self.rows).sum(axis=0).max()) * units[0]
        return max(
            sum((abs(int(a)) * unit for a, unit in zip(column, units, strict=True)), Fraction(0))
            for column in self.rows.T
        )

    def scales(self, c: Fraction) -> tuple[float, ...]:
        """Return the scale c in the unit of each row; rounded up."""
        return tuple(round_up(c / unit) for unit in self.units)


def read(queries: Any, budgets: Iterable[Any], metric: Metric | None) -> Given:
    """Parse and validate the inputs; raises errors that depend on public numbers only."""
    listed = _budgets(budgets)
    kept = per_element(listed) if metric is None else _metric(metric, len(listed))
    workload = gather(queries).on(kept.universe)
    if workload.rows * kept.universe.size > _MOST_ENTRIES:
        raise TooLarge(f"{workload.rows:,} rows over {kept.universe.size:,} possible records are too many to hold")
    linear = all(a.recipe.single is not None and not a.recipe.is_mean for a in workload.answers)
    if workload.proportional or not linear or len(workload.answers) != workload.rows:
        raise QueryError(
            "baselines answer counts and sums of records only: no means, no proportions, no people, no maps",
            hints=["dx.count, dx.table, dx.sum_of, or rows of numbers"],
        )
    rows = read_only(np.asarray(workload.dense(), dtype=np.int64))
    if not rows.any():
        raise QueryError("all queries are zero")
    return Given(workload, rows, listed, kept)


def _budgets(budgets: Iterable[Any]) -> tuple[Exact, ...]:
    if isinstance(budgets, (str, bytes)) or not isinstance(budgets, Iterable):
        raise UsageError("budgets are a list, one ε for each possible record", hints=["[0.1, 0.1, 1, 2]"])
    listed = tuple(parse_epsilon(e) for e in budgets)
    if not any(0 < e < math.inf for e in listed):
        raise UsageError("at least one budget is above 0 and finite", hints=["[0.1, 0.1, 1, 2]"])
    return listed


def _metric(metric: object, cells: int) -> Metric:
    if not isinstance(metric, Metric):
        raise UsageError(f"a metric is needed, not {type(metric).__name__}", hints=["dx.metrics.per_element(budgets)"])
    universe = metric.universe
    if universe.absent is not None:
        raise UsageError(
            "baselines are for data sets whose number of records is public",
            hints=["a metric without `absent`, and without people of several rows"],
        )
    if universe.size != cells:
        raise UsageError(f"{cells:,} budgets for {universe.size:,} possible records; each has one")
    return metric


# -- The base class ----------------------------------------------------------------------------------------------------


LARGEST_SCALE = 2.0**52


@repr_of_half_built
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Baseline(ABC):
    """A mechanism to compare with: certified noise, and its error with the bias.

    `scale` is the noise scale of every answer in the queries' units, `printed` the scale of the authors' formula, and
    `parts` are the exact fractions f_i that are counted of each possible record.

    >>> import dxprivacy as dx
    >>> found = dx.baselines.stretching([[1, 1, 1]], ["0.1", 1, 1])
    >>> isinstance(found, dx.baselines.Baseline), found.certificate.ratio <= 1
    (True, True)
    """

    given: Given = field(repr=False)
    budget: Fraction
    scale: Fraction
    printed: Fraction
    parts: tuple[Fraction, ...]

    @property
    def metric(self) -> Metric:
        """The metric that the mechanism keeps."""
        return self.given.metric

    @property
    @abstractmethod
    def cost(self) -> PseudoMetric:
        """An upper bound on the privacy loss of a release, for each pair."""

    @property
    @abstractmethod
    def scales(self) -> tuple[float, ...]:
        """The noise scale of every row, in steps of its noise grid."""

    @property
    @abstractmethod
    def units(self) -> tuple[Fraction, ...]:
        """The step of each row's noise grid."""

    @property
    @abstractmethod
    def varies(self) -> Floats:
        """The variance of the counted fraction, for each possible record."""

    @abstractmethod
    def noisy_rows(self, histogram: Histogram, noise: Noise) -> Ints:
        """Return the noisy integers of a release, after checking the certificate."""

    @cached_property
    def certificate(self) -> Certificate:
        """The proof that these scales keep the metric; always computed from the scales themselves."""
        bound = max_ratio(self.cost, self.metric)
        return Certificate(bound.upper, bound.witness, bound.rule, self.metric.digest)

    def release(self, counts: Any, *, noise: Noise | None = None) -> Floats:
        """Return noisy answers in the queries' units, from one count per possible record; each call spends again."""
        histogram = counts if isinstance(counts, Histogram) else Histogram.of(self.metric.universe, counts)
        if histogram.universe != self.metric.universe:
            raise UsageError("the histogram is over other records than the metric")
        rows = self.noisy_rows(histogram, noise or SystemNoise())
        return np.array([float(z * unit) for z, unit in zip(rows.tolist(), self.units, strict=True)])

    def bias(self, reference: Any) -> Floats:
        """Return the expected answers minus the true ones, for a public guess `reference` of the data."""
        return np.asarray(self._asked @ (self._supposed(reference) * (self._parts - 1)))

    def variance(self, reference: Any) -> Floats:
        """Return the variance of each answer, from noise and sampling, for a public guess `reference` of the data."""
        return np.asarray(self._asked**2 @ (self._supposed(reference) * self.varies)) + self._noise

    def rmse(self, reference: Any) -> Floats:
        """Return the root mean squared error of each answer, bias included, for a public guess of the data."""
        rounding = float(self._supposed(reference).sum()) * self._rounding
        return np.asarray(np.sqrt((np.abs(self.bias(reference)) + rounding) ** 2 + self.variance(reference)))

    def worst_rmse(self, records: int) -> Floats:
        """Return the largest root mean squared error of each answer over all data sets with this many records."""
        if not is_whole(records) or records < 0:
            raise UsageError("the number of records is a whole number", hints=["worst_rmse(10_000)"])
        moved = np.abs(self._asked * (self._parts - 1)) + self._rounding[:, None]
        squares = (records * moved) ** 2 + records * self._asked**2 * self.varies
        return np.asarray(np.sqrt(squares.max(axis=1) + self._noise))

    @cached_property
    def _asked(self) -> Floats:
        units = np.array([float(unit) for unit in self.given.units])
        return np.asarray(self.given.rows * units[:, None], dtype=np.float64)

    @cached_property
    def _parts(self) -> Floats:
        return np.array([float(part) for part in self.parts])

    @cached_property
    def _noise(self) -> Floats:
        pairs = zip(self.scales, self.units, strict=True)
        return np.array([variance(s) * float(unit) ** 2 for s, unit in pairs])

    @cached_property
    def _rounding(self) -> Floats:
        """The largest rounding error of a record's number on the grid, per row."""
        blocks = self.given.workload.blocks
        return np.array([float(block.bias) for block in blocks for _ in range(block.rows)])

    def _supposed(self, reference: Any) -> Floats:
        return Histogram.of(self.metric.universe, reference).counts.astype(np.float64)

    def _require_room(self, histogram: Histogram, largest: int) -> None:
        require_room(largest, histogram.public_records, where="release")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.scales)} rows over {self.metric.universe.size:,} cells)"


def least_scale(printed: Fraction, budget: Fraction, used: Callable[[Fraction], Exact], *, steps: int = 50) -> Fraction:
    """Return the least scale that uses at most the budget, to one part in 10^12 (bisection).

    `used` must decrease in the scale.  The result is at most the printed scale whenever that is enough, and equal to it
    if no smaller scale was found.
    """
    if used(printed) == 0:
        return printed
    low, high = printed, printed
    for _ in range(200):
        if used(high) <= budget:
            break
        low, high = high, 2 * high
    else:
        raise NotCertified("no scale could be certified", hints=["the metric is too strict for this"])
    if low == high:
        for _ in range(30):  # noise below 2^-30 of the printed scale is negligible
            low = low / 2
            if used(low) > budget:
                break
            high = low
    for _ in range(steps):
        if high - low <= high / 10**12:
            break
        middle = Fraction(float((low + high) / 2))
        low, high = (low, middle) if used(middle) <= budget else (middle, high)
    return high


def used_by(cost: PseudoMetric, given: Given) -> Exact:
    """Return the largest ratio of a cost to the metric; raise SeparatesIdentical if it is infinite."""
    bound = max_ratio(cost, given.metric)
    if bound.upper == math.inf:
        raise separates(given.workload, given.metric, bound.witness)
    return bound.upper
