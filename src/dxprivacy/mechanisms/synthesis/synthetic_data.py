"""A synthetic histogram: what came out, from what, and at what cost.  It holds released numbers only."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dxprivacy.errors import UsageError
from dxprivacy.exact.arrays import Floats
from dxprivacy.mechanisms.synthesis.histogram_answers import Projection
from dxprivacy.privacy.costs import SumCost
from dxprivacy.queries.asked import Stack
from dxprivacy.queries.asking import gather
from dxprivacy.universe.universe import Universe
from dxprivacy.universe.workload import Workload
from dxprivacy.wording import plural, repr_of_half_built


@dataclass(frozen=True)
class Measurement:
    """One noisy answer as it was released: which row, its number on the grid, and the scale of its noise."""

    row: int
    label: str
    noisy: int
    scale: float


@repr_of_half_built
@dataclass(frozen=True, eq=False, kw_only=True)
class Synthetic:
    """A histogram in floats over all possible records, of `records` records where that number is public.

    A direct fit leaves out attributes that no query asks about: `universe` has the others.

    `cost` is what making it spent, pair by pair; everything in here follows from released numbers.

    >>> import dxprivacy as dx
    >>> made = dx.direct([[1, 1, 0, 0], [0, 1, 1, 0]], dx.metrics.constant(4, 1), [100, 200, 300, 400])
    >>> made.method, round(float(made.histogram.sum()))
    ('direct', 1000)
    """

    universe: Universe
    histogram: Floats = field(repr=False)
    questions: Stack = field(repr=False)
    workload: Workload = field(repr=False)
    records: int | None
    method: str
    measurements: tuple[Measurement, ...] = field(repr=False)
    cost: SumCost = field(repr=False)
    words: tuple[str, ...] = ()
    fit: Mapping[str, Any] | None = None  # of a direct fit: misfit and gap per noisy count, steps, converged

    def answers(self, *questions: Any) -> Floats:
        """What the histogram answers, in the questions' units; without arguments to the questions it was made for."""
        workload = gather(*questions).on(self.universe) if questions else self.workload
        return answers_of(workload, Projection(workload).answers(self.histogram), float(self.histogram.sum()))

    def __str__(self) -> str:
        head = f"synthetic histogram by {self.method} over {plural(self.universe.cells, 'possible record')}"
        return "\n".join([head, *self.words])


def answers_of(workload: Workload, rows: Floats, records: float) -> Floats:
    """Answers in their units, from the rows' numbers on the grid.

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
