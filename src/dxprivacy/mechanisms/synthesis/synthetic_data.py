"""Synthetic histograms with their origin and cost. They hold released numbers only."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from dxprivacy.errors import UsageError
from dxprivacy.exact.arrays import Floats
from dxprivacy.mechanisms.linear.noise.noise_distributions import laplace_distributions
from dxprivacy.mechanisms.synthesis.histogram_answers import Projection
from dxprivacy.privacy.costs import SumCost
from dxprivacy.queries.asked import Stack
from dxprivacy.queries.asking import gather
from dxprivacy.releases.release import Release, Row
from dxprivacy.universe.universe import Universe
from dxprivacy.universe.workload import Workload
from dxprivacy.wording import plural, repr_of_half_built


@dataclass(frozen=True)
class Measurement:
    """One released noisy answer: its row, its number on the grid, and the scale of its noise."""

    row: int
    label: str
    noisy: int
    scale: float


@repr_of_half_built
@dataclass(frozen=True, eq=False, kw_only=True)
class Synthetic:
    """A float histogram over all possible records, of `records` records if that number is public.

    A direct fit leaves out attributes that no query asks about: `universe` has only the others. `cost` is what making
    it spent, pair by pair; everything here follows from released numbers.

    >>> import dxprivacy as dx
    >>> made = dx.direct([[1, 1, 0, 0], [0, 1, 1, 0]], dx.metrics.constant(4, 1), [100, 200, 300, 400])
    >>> made.method, round(float(made.histogram.sum()))
    ('direct', 1000)
    """

    universe: Universe
    histogram: Floats = field(repr=False)
    queries: Stack = field(repr=False)
    workload: Workload = field(repr=False)
    records: int | None
    method: str
    measurements: tuple[Measurement, ...] = field(repr=False)
    cost: SumCost = field(repr=False)
    words: tuple[str, ...] = ()
    fit: Mapping[str, Any] | None = None  # of a direct fit: misfit and gap per noisy count, steps, converged

    def answers(self, *queries: Any) -> Floats:
        """Return the histogram's answers in the queries' units; by default to the queries that it was made for."""
        workload = gather(*queries).on(self.universe) if queries else self.workload
        return answers_of(workload, Projection(workload).answers(self.histogram), float(self.histogram.sum()))

    def __str__(self) -> str:
        head = f"synthetic histogram by {self.method} over {plural(self.universe.cells, 'possible record')}"
        return "\n".join([head, *self.words])


def answers_of(workload: Workload, rows: Floats, records: float) -> Floats:
    """Return answers in their units, from the rows' numbers on the grid.

    >>> from dxprivacy.universe.attributes.integers import Integers
    >>> u = Universe([Integers(name="age", low=1, high=3, has_other=False)])
    >>> asked = gather("mean age", "sum age").on(u)
    >>> answers_of(asked, Projection(asked).answers(np.array([2.0, 0.0, 2.0])), 4.0).tolist()
    [2.0, 8.0]
    """
    if len(rows) != workload.rows:
        raise UsageError(f"{len(rows)} numbers for {workload.rows} rows")
    numbers = rows.tolist()
    return np.array([answer.recipe.value(numbers, records) for answer in workload.answers])


# -- The common outcome of all methods: a histogram, and the released part of each answer ------------------------------


@dataclass(frozen=True, eq=False)
class Made:
    """A synthetic histogram, the released row of each answer if there is one, and further facts for a report."""

    synthetic: Synthetic
    released: Sequence[Row | None] = field(repr=False)
    facts: Mapping[str, Any] = field(default_factory=dict, repr=False)
    release: Release | None = field(default=None, repr=False)  # of a direct fit


# -- Measurements of single rows as released answers with intervals, to compare synthetic answers with -----------------


def measured_rows(workload: Workload, measurements: Sequence[Measurement], records: int) -> list[Row | None]:
    """Return each answer's released value and interval; None if one of its rows was never measured.

    A row that was measured several times has the mean of its measurements and the interval of one, which is wide
    enough.

    >>> from dxprivacy.queries.asking import count
    >>> from dxprivacy.universe.universe import Universe
    >>> asked = count().on(Universe.listed("ab"))
    >>> [row] = measured_rows(asked, [Measurement(0, "count", 40, 2.0), Measurement(0, "count", 42, 2.0)], 100)
    >>> row.value, row.low, row.high, measured_rows(asked, [], 100)
    (41.0, 35.0, 47.0, [None])
    """
    found: dict[int, list[Measurement]] = {}
    for m in measurements:
        found.setdefault(m.row, []).append(m)
    values: list[int | float | Fraction] = [0] * workload.rows
    scales = [0.0] * workload.rows
    for row, of in found.items():
        values[row], scales[row] = Fraction(sum(m.noisy for m in of), len(of)), max(m.scale for m in of)
    distributions = laplace_distributions(scales)
    out: list[Row | None] = []
    for answer in workload.answers:
        if not all(row in found for row in answer.rows):
            out.append(None)
            continue
        value, low, high = answer.recipe.interval(values, distributions, records, 0.0)
        title, vague = workload.titles[answer.query], answer.recipe.vague(low, high)
        exact = all(scales[row] == 0 for row in answer.rows)
        out.append(Row(answer.label, title, value, low, high, answer.unit, exact, vague, answer.groups))
    return out


def bounded_rows(workload: Workload, answers: Floats, bounds: Floats) -> list[Row | None]:
    """Return answers with error bounds, which hold together 95 % of the time, as released answers with intervals."""
    out: list[Row | None] = []
    for answer, value, bound in zip(workload.answers, answers.tolist(), bounds.tolist(), strict=True):
        title, ends = workload.titles[answer.query], (value - bound, value + bound)
        out.append(Row(answer.label, title, value, *ends, answer.unit, bound == 0, False, answer.groups))
    return out
