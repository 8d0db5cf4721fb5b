"""The measured rows of a plan, and the estimator of the workload from them.

Privacy depends on the measured rows and their scales alone; the estimator is post-processing. A plan that measures the
workload itself needs no estimation (`AsAsked`).
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache, cached_property
from itertools import pairwise
from typing import Any, ClassVar, TypeAlias

from dxprivacy.errors import NotCertified, QueryError
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.mechanisms.linear.estimators.exact_reconstruction import ExactEstimator
from dxprivacy.mechanisms.linear.noise.discrete_laplace_distribution import scale_for
from dxprivacy.mechanisms.linear.noise.noise_distributions import Laplace, laplace_distributions
from dxprivacy.mechanisms.linear.strategies.separated_records import count_representatives, moves, representatives
from dxprivacy.mechanisms.sampling.system_noise import Noise
from dxprivacy.metrics import Metric
from dxprivacy.privacy.costs import BlockMaxCost, LaplaceCost
from dxprivacy.privacy.proportional_costs import ProportionalCost, laplace_cost
from dxprivacy.queries.asked import Stack
from dxprivacy.universe.answers import Distribution, ErrorOf
from dxprivacy.universe.workload import Answer, Workload

# -- Expected error of each answer -------------------------------------------------------------------------------------
# Known before anything is spent, from the discrete distribution and the rounding of the grid.


def all_expected(
    workload: Workload,
    distributions: Sequence[Distribution | float],
    records: int | None,
    shifts: Sequence[float] | None = None,
) -> tuple[ErrorOf, ...]:
    """Return the expected error of every answer, given the noise distribution or scale of every row.

    Equal answers are computed once. `shifts` is the largest bias of each row per record, in steps of its grid.
    """
    of_scale = cache(Laplace)  # rows of equal scale share one object
    given = tuple(of_scale(x) if isinstance(x, (int, float)) else x for x in distributions)
    distribution_of, block_of = _numbered(given), workload.block_of.tolist()
    known: dict[tuple[object, ...], ErrorOf] = {}
    out = []
    for answer in workload.answers:
        rows = answer.recipe.rows
        shift = shifts[rows[0]] if shifts is not None else 0.0
        key = (answer.query, answer.recipe.which, shift, *[(block_of[r], distribution_of[r]) for r in rows])
        if key not in known:
            known[key] = answer.recipe.expected(given, records, shift)
        out.append(known[key])
    return tuple(out)


def _numbered(distributions: Sequence[Distribution]) -> list[int]:
    """Number the distributions, equal ones alike; identity is tested first, because they are slow to hash."""
    objects: dict[int, int] = {}
    numbers: dict[Distribution, int] = {}
    return [
        objects[id(distribution)]
        if id(distribution) in objects
        else objects.setdefault(id(distribution), numbers.setdefault(distribution, len(numbers)))
        for distribution in distributions
    ]


def target_scales(answer: Answer, records: int | None) -> dict[int, float]:
    """Return the largest scale per row that still meets the answer's target; empty if there is none or it cannot be
    met.
    """
    if answer.within is None:
        return {}
    hidden, within = answer.recipe.hidden(records), float(answer.within)
    # If binning error alone exceeds the target, less noise cannot help; noise is then limited to the target itself.
    steps = answer.recipe.steps_within(within - hidden if hidden < within else within, records)
    return {row: scale_for(math.floor(h), each) for row, (h, each) in steps.items() if 0 <= h < 1e15}


# -- Measured rows and their estimators --------------------------------------------------------------------------------


NoiseCost: TypeAlias = LaplaceCost | ProportionalCost | BlockMaxCost
MOST_RECORDS = 1 << 16  # largest number of separated records for which rows are compared record by record


class Measured(ABC):
    """Measured rows and their estimator; `asked` is the workload."""

    as_asked: ClassVar[bool] = False  # whether the measured rows are the workload's own
    how: ClassVar[str]
    note: str  # a note for readers of the answers

    def __init__(self, asked: Workload, queries: Stack) -> None:
        self.asked, self.queries = asked, queries

    def measured_queries(self, asked: Stack) -> Stack:  # noqa: ARG002
        """The measured queries, given the workload's queries."""
        return self.queries

    @cached_property
    def workload(self) -> Workload:
        """The measured rows, which get noise."""
        return self.queries.on(self.asked.universe)

    @abstractmethod
    def distributions(self, scales: Sequence[float]) -> tuple[Distribution, ...]:
        """The noise distribution of each workload row, in steps of its grid."""

    def distributions_of_file(self, scales: Sequence[float]) -> tuple[Distribution, ...]:
        """The same under the estimator that a file carries, if it carries one."""
        return self.distributions(scales)

    @abstractmethod
    def estimate(self, noisy: Ints, scales: Sequence[float], records: int) -> "list[int | float | Fraction]":
        """Estimate the workload rows from the noisy measurements and the public number of records."""

    @cached_property
    def shifts(self) -> tuple[float, ...] | None:
        """The largest bias of each workload row per record, in steps of its grid; None if there is none."""
        return None

    def cost(self, scales: Sequence[float] | Floats, metric: Metric) -> NoiseCost:
        """The cost of noise of these scales, pair by pair; by default that of independent Laplace noise."""
        return laplace_cost(self.workload, scales, metric)

    def noises(self, scales: Sequence[float]) -> list[float]:
        """The noise variance of each measured row: that of independent noise, which is an upper bound for
        k-norm noise.
        """
        known = {s: Laplace(s).variance for s in set(scales)}
        return [known[s] for s in scales]

    def drawn(self, scales: Floats, noise: Noise) -> Ints:
        """Draw the noise of the measured rows; by default independently."""
        return noise.laplace(scales)

    def prepare(self, scales: Sequence[float]) -> None:  # noqa: B027
        """Build what the sampler needs from public numbers, before anything is spent; by default nothing."""

    def reconstruction(self, scales: Sequence[float]) -> ExactEstimator | None:  # noqa: ARG002
        """The estimator in exact numbers, if a file has to carry it and can."""
        return None

    def adopt(self, given: ExactEstimator, scales: Sequence[float]) -> None:  # noqa: ARG002
        """Use the estimator of a file."""
        raise NotCertified("a plan that needs no reconstruction carries one")

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form, from which the measurement can be rebuilt."""
        return {"how": self.how, "queries": self.queries.to_dict(), "workload": self.workload.digest}


class AsAsked(Measured):
    """The workload's own rows: nothing has to be estimated."""

    as_asked = True
    how, note = "", ""

    def __init__(self, asked: Workload) -> None:
        super().__init__(asked, Stack(()))

    def measured_queries(self, asked: Stack) -> Stack:
        """The workload's queries."""
        return asked

    @property
    def workload(self) -> Workload:
        """The workload's rows."""
        return self.asked

    def distributions(self, scales: Sequence[float]) -> tuple[Distribution, ...]:
        """The distributions of the drawn noise."""
        return laplace_distributions(scales)

    def estimate(self, noisy: Ints, scales: Sequence[float], records: int) -> "list[int | float | Fraction]":  # noqa: ARG002
        """The noisy rows, unchanged."""
        return list(noisy.tolist())

    def to_dict(self) -> dict[str, Any]:
        """Empty: the workload determines everything."""
        return {}


class RowForRow(Measured):
    """Each workload row is answered by a slightly different row, which needs less noise."""

    how = "row for row"
    note = "answers are moved a little on purpose, for less noise: errors and intervals include the most it can be"

    def __init__(self, asked: Workload, queries: Stack) -> None:
        super().__init__(asked, queries)
        if self.workload.rows != asked.rows or any(a.recipe.single is None for a in asked.answers):
            raise QueryError("a biased plan needs one measured row for each row of the workload")

    @cached_property
    def _steps(self) -> tuple[Fraction, ...]:
        """The grid step of each measured row in steps of the workload row's grid."""
        return tuple(mine / theirs for mine, theirs in zip(self.workload.units, self.asked.units, strict=True))

    def distributions(self, scales: Sequence[float]) -> tuple[Distribution, ...]:
        return tuple(Laplace(s, step) for s, step in zip(scales, self._steps, strict=True))

    def estimate(self, noisy: Ints, scales: Sequence[float], records: int) -> "list[int | float | Fraction]":  # noqa: ARG002
        return [z * step for z, step in zip(noisy.tolist(), self._steps, strict=True)]

    @cached_property
    def shifts(self) -> tuple[float, ...] | None:
        """The largest difference of the two rows over all records; exact up to one rounding, upwards."""
        out = [0.0] * self.asked.rows
        for rows, mine, theirs in self.side_by_side():
            for row, p, q in zip(rows, mine, theirs, strict=True):
                pairs = set(zip(p.tolist(), q.tolist(), strict=True))
                most = max(abs(a * self._steps[row] - b) for a, b in pairs)
                near = float(most)
                out[row] = near if Fraction(near) >= most else near * (1 + 2.0**-52)
        return tuple(out)

    def side_by_side(self) -> Iterator[tuple[range, Ints, Ints]]:
        """Yield row numbers, measured rows and workload rows over all records that either separates."""
        mine, theirs = self.workload, self.asked
        ends = sorted({*mine.offsets, *theirs.offsets, theirs.rows})
        for start, stop in pairwise(ends):
            p, q = (w.blocks[int(w.block_of[start])] for w in (mine, theirs))
            axes = sorted(moves(p) | moves(q))
            if count_representatives([p, q], axes) > MOST_RECORDS:
                raise NotCertified("too many possible records for a biased plan", hints=['method="optimal"'])
            cells = representatives([p, q], axes)
            of = (start - w.offsets[int(w.block_of[start])] for w in (mine, theirs))
            found = [b.columns(cells)[at : at + stop - start] for b, at in zip((p, q), of, strict=True)]
            yield range(start, stop), found[0], found[1]
