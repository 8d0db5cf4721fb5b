"""What a baseline is given: linear questions, a budget for each cell, and the metric that it has to keep."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dxprivacy.errors import QuestionError, TooLarge, UsageError
from dxprivacy.exact.arrays import Ints, read_only
from dxprivacy.exact.rounding import Exact, budget, round_up
from dxprivacy.metrics import Metric, per_element
from dxprivacy.queries.asking import gather
from dxprivacy.universe.workload import Workload

_MOST_ENTRIES = 1 << 24  # rows times cells: held at once


@dataclass(frozen=True, eq=False)
class Given:
    """Rows of whole numbers with their units, budgets, and the metric."""

    workload: Workload
    rows: Ints
    budgets: tuple[Exact, ...]
    metric: Metric

    @property
    def units(self) -> tuple[Fraction, ...]:
        """What a step on the grid means, per row."""
        return self.workload.units

    @property
    def top(self) -> Fraction:
        """The largest finite budget."""
        return max(Fraction(e) for e in self.budgets if e != math.inf)

    @property
    def reach(self) -> Fraction:
        """The most that one record counts in all rows together, max_i ||Q_i||_1: the sensitivity of standard DP."""
        units = self.units
        whole = any(unit != units[0] for unit in units)
        if not whole:
            return int(np.abs(self.rows).sum(axis=0).max()) * units[0]
        return max(
            sum((abs(int(a)) * unit for a, unit in zip(column, units, strict=True)), Fraction(0))
            for column in self.rows.T
        )

    def scales(self, c: Fraction) -> tuple[float, ...]:
        """The scale c of the answers on the grid of each row; rounded up."""
        return tuple(round_up(c / unit) for unit in self.units)


def read(questions: Any, budgets: Iterable[Any], metric: Metric | None) -> Given:
    """Everything that can be wrong with it is found here, from public numbers."""
    listed = _budgets(budgets)
    kept = per_element(listed) if metric is None else _metric(metric, len(listed))
    workload = gather(questions).on(kept.universe)
    if workload.rows * kept.universe.size > _MOST_ENTRIES:
        raise TooLarge(f"{workload.rows:,} rows over {kept.universe.size:,} possible records are too many to hold")
    linear = all(a.recipe.single is not None and not a.recipe.is_mean for a in workload.answers)
    if workload.wholes or not linear or len(workload.answers) != workload.rows:
        raise QuestionError(
            "a baseline answers counts and sums of records alone: no means, no shares, no people, no maps",
            hints=["dx.count, dx.table, dx.sum_of, or rows of numbers"],
        )
    rows = read_only(np.asarray(workload.dense(), dtype=np.int64))
    if not rows.any():
        raise QuestionError("no record counts in any row: there is nothing to ask")
    return Given(workload, rows, listed, kept)


def _budgets(budgets: Iterable[Any]) -> tuple[Exact, ...]:
    if isinstance(budgets, (str, bytes)) or not isinstance(budgets, Iterable):
        raise UsageError("budgets are a list, one ε for each possible record", hints=["[0.1, 0.1, 1, 2]"])
    listed = tuple(budget(e) for e in budgets)
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
