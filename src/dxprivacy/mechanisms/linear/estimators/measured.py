"""What a plan counts in place of the rows that were asked for, and how the answers follow from it.

Privacy depends on the counted rows and their scales alone; the way back to the rows that were asked for is
post-processing.  A plan that counts just what was asked has nothing to work out (`AsAsked`).
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, TypeAlias

from dxprivacy.errors import NotCertified, QuestionError
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.mechanisms.linear.estimators.exact_reconstruction import WayBack
from dxprivacy.mechanisms.linear.noise.noise_laws import Laplace, laplace_laws
from dxprivacy.mechanisms.linear.strategies.separated_records import cells_told_apart, moves, representatives
from dxprivacy.mechanisms.sampling.system_noise import Noise
from dxprivacy.metrics import Metric
from dxprivacy.privacy.costs import LaplaceCost, TogetherCost
from dxprivacy.privacy.proportional_costs import WholesCost, laplace_cost
from dxprivacy.queries.asked import Stack
from dxprivacy.universe.answers import Law
from dxprivacy.universe.workload import Workload

NoiseCost: TypeAlias = LaplaceCost | WholesCost | TogetherCost
MOST_RECORDS = 1 << 16  # that rows tell apart, to compare them record by record


class Measured(ABC):
    """Other rows, and the way back.  `asked` are the rows that were asked for."""

    as_asked: ClassVar[bool] = False  # whether what is counted is what was asked for
    how: ClassVar[str]
    note: str  # what a reader of the answers must know

    def __init__(self, asked: Workload, questions: Stack) -> None:
        self.asked, self.questions = asked, questions

    def put(self, asked: Stack) -> Stack:  # noqa: ARG002
        """The questions that are put to the data where these were asked."""
        return self.questions

    @cached_property
    def workload(self) -> Workload:
        """The rows that are counted, with noise."""
        return self.questions.on(self.asked.universe)

    @abstractmethod
    def laws(self, scales: Sequence[float]) -> tuple[Law, ...]:
        """The law of the noise in each row that was asked for, in steps of its grid."""

    def laws_of_file(self, scales: Sequence[float]) -> tuple[Law, ...]:
        """The same for the way back that a file carries, where it carries one."""
        return self.laws(scales)

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
        return {"how": self.how, "questions": self.questions.to_dict(), "workload": self.workload.digest}


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

    def laws(self, scales: Sequence[float]) -> tuple[Law, ...]:
        """That of the noise that is drawn."""
        return laplace_laws(scales)

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

    def __init__(self, asked: Workload, questions: Stack) -> None:
        super().__init__(asked, questions)
        if self.workload.rows != asked.rows or any(a.recipe.single is None for a in asked.answers):
            raise QuestionError("rows that stand for others are as many as those")

    @cached_property
    def _steps(self) -> tuple[Fraction, ...]:
        """What a step on the counted rows' grid is on that of the rows asked for."""
        return tuple(mine / theirs for mine, theirs in zip(self.workload.units, self.asked.units, strict=True))

    def laws(self, scales: Sequence[float]) -> tuple[Law, ...]:
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
            if cells_told_apart([p, q], axes) > MOST_RECORDS:
                raise NotCertified("too many possible records for a biased plan", hints=['method="optimal"'])
            cells = representatives([p, q], axes)
            of = (start - w.offsets[int(w.block_of[start])] for w in (mine, theirs))
            found = [b.columns(cells)[at : at + stop - start] for b, at in zip((p, q), of, strict=True)]
            yield range(start, stop), found[0], found[1]
