"""What a plan counts in place of the rows that were asked for, and how the answers follow from it.

Privacy depends on the counted rows and their scales alone; the way back to the rows that were asked for is
post-processing.  A plan that counts just what was asked has nothing to work out (`AsAsked`).
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
from dxprivacy.mechanisms.linear.estimators.exact_reconstruction import WayBack
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

# -- How wrong each answer will be -------------------------------------------------------------------------------------
# Before anything is spent: from the discrete distribution and the rounding of the grid.


def all_expected(
    workload: Workload,
    distributions: Sequence[Distribution | float],
    records: int | None,
    shifts: Sequence[float] | None = None,
) -> tuple[ErrorOf, ...]:
    """The error of every answer, given the distribution of every row or its scale; what is alike is computed once.

    `shifts` is how far a plan may move the row of one record on purpose, in steps of its grid.
    """
    of_scale = cache(Laplace)  # rows of one scale share the distribution
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
    """A number for each distribution, the same for equal ones: rows mostly share the very object, and distributions are
    slow to hash.
    """
    objects: dict[int, int] = {}
    numbers: dict[Distribution, int] = {}
    return [
        objects[id(distribution)]
        if id(distribution) in objects
        else objects.setdefault(id(distribution), numbers.setdefault(distribution, len(numbers)))
        for distribution in distributions
    ]


def target_scales(answer: Answer, records: int | None) -> dict[int, float]:
    """The largest scale per row that still meets the answer's target; empty if it has none or cannot meet it."""
    if answer.within is None:
        return {}
    hidden, within = answer.recipe.hidden(records), float(answer.within)
    # Where cells alone hide more than was asked for, less noise cannot help: it is then made as small as was asked.
    steps = answer.recipe.steps_within(within - hidden if hidden < within else within, records)
    return {row: scale_for(math.floor(h), each) for row, (h, each) in steps.items() if 0 <= h < 1e15}


# -- What a plan counts in place of the rows that were asked for, and how the answers follow from it -------------------


NoiseCost: TypeAlias = LaplaceCost | ProportionalCost | BlockMaxCost
MOST_RECORDS = 1 << 16  # that rows tell apart, to compare them record by record


class Measured(ABC):
    """Other rows, and the way back.  `asked` are the rows that were asked for."""

    as_asked: ClassVar[bool] = False  # whether what is counted is what was asked for
    how: ClassVar[str]
    note: str  # what a reader of the answers must know

    def __init__(self, asked: Workload, queries: Stack) -> None:
        self.asked, self.queries = asked, queries

    def put(self, asked: Stack) -> Stack:  # noqa: ARG002
        """The queries that are put to the data where these were asked."""
        return self.queries

    @cached_property
    def workload(self) -> Workload:
        """The rows that are counted, with noise."""
        return self.queries.on(self.asked.universe)

    @abstractmethod
    def distributions(self, scales: Sequence[float]) -> tuple[Distribution, ...]:
        """The distribution of the noise in each row that was asked for, in steps of its grid."""

    def distributions_of_file(self, scales: Sequence[float]) -> tuple[Distribution, ...]:
        """The same for the way back that a file carries, where it carries one."""
        return self.distributions(scales)

    @abstractmethod
    def estimate(self, noisy: Ints, scales: Sequence[float], records: int) -> "list[int | float | Fraction]":
        """The rows that were asked for, from the noisy counts and the public number of records."""

    @cached_property
    def shifts(self) -> tuple[float, ...] | None:
        """How far each row that was asked for is moved on purpose, per record, in steps of its grid; None: not."""
        return None

    def cost(self, scales: Sequence[float] | Floats, metric: Metric) -> NoiseCost:
        """What noise of these scales costs, pair by pair: that of independent noise, where nothing else is said."""
        return laplace_cost(self.workload, scales, metric)

    def noises(self, scales: Sequence[float]) -> list[float]:
        """The variance of the noise in each row that is counted; that of independent noise, or not more than it."""
        known = {s: Laplace(s).variance for s in set(scales)}
        return [known[s] for s in scales]

    def drawn(self, scales: Floats, noise: Noise) -> Ints:
        """The noise of the rows that are counted: each its own, where they are not drawn together."""
        return noise.laplace(scales)

    def prepare(self, scales: Sequence[float]) -> None:  # noqa: B027
        """Make whatever drawing needs and public numbers tell, before anything is spent; mostly nothing."""

    def reconstruction(self, scales: Sequence[float]) -> WayBack | None:  # noqa: ARG002
        """The way back in exact numbers, where a file has to carry it and can."""
        return None

    def adopt(self, given: WayBack, scales: Sequence[float]) -> None:  # noqa: ARG002
        """Take the way back from a file."""
        raise NotCertified("a plan that needs no reconstruction carries one")

    def to_dict(self) -> dict[str, Any]:
        """For JSON: enough to make it again."""
        return {"how": self.how, "queries": self.queries.to_dict(), "workload": self.workload.digest}


class AsAsked(Measured):
    """The rows that were asked for themselves: nothing has to be worked out."""

    as_asked = True
    how, note = "", ""

    def __init__(self, asked: Workload) -> None:
        super().__init__(asked, Stack(()))

    def put(self, asked: Stack) -> Stack:
        """As they were asked."""
        return asked

    @property
    def workload(self) -> Workload:
        """As they were asked."""
        return self.asked

    def distributions(self, scales: Sequence[float]) -> tuple[Distribution, ...]:
        """That of the noise that is drawn."""
        return laplace_distributions(scales)

    def estimate(self, noisy: Ints, scales: Sequence[float], records: int) -> "list[int | float | Fraction]":  # noqa: ARG002
        """As they came out."""
        return list(noisy.tolist())

    def to_dict(self) -> dict[str, Any]:
        """Nothing has to be said."""
        return {}


class RowForRow(Measured):
    """Each row is answered by one that differs from it a little, and so can be told with less noise."""

    how = "row for row"
    note = "answers are moved a little on purpose, for less noise: errors and intervals include the most it can be"

    def __init__(self, asked: Workload, queries: Stack) -> None:
        super().__init__(asked, queries)
        if self.workload.rows != asked.rows or any(a.recipe.single is None for a in asked.answers):
            raise QueryError("rows that stand for others are as many as those")

    @cached_property
    def _steps(self) -> tuple[Fraction, ...]:
        """What a step on the counted rows' grid is on that of the rows asked for."""
        return tuple(mine / theirs for mine, theirs in zip(self.workload.units, self.asked.units, strict=True))

    def distributions(self, scales: Sequence[float]) -> tuple[Distribution, ...]:
        return tuple(Laplace(s, step) for s, step in zip(scales, self._steps, strict=True))

    def estimate(self, noisy: Ints, scales: Sequence[float], records: int) -> "list[int | float | Fraction]":  # noqa: ARG002
        return [z * step for z, step in zip(noisy.tolist(), self._steps, strict=True)]

    @cached_property
    def shifts(self) -> tuple[float, ...] | None:
        """The largest difference of two rows, over all cells; exact up to one rounding, upwards."""
        out = [0.0] * self.asked.rows
        for rows, mine, theirs in self.side_by_side():
            for row, p, q in zip(rows, mine, theirs, strict=True):
                pairs = set(zip(p.tolist(), q.tolist(), strict=True))
                most = max(abs(a * self._steps[row] - b) for a, b in pairs)
                near = float(most)
                out[row] = near if Fraction(near) >= most else near * (1 + 2.0**-52)
        return tuple(out)

    def side_by_side(self) -> Iterator[tuple[range, Ints, Ints]]:
        """Counted rows and those that they stand for, on all cells that either tells apart: which rows, and both."""
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
