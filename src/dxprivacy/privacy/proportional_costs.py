"""Proportional costs: L(i, j) <= c d(i, j) for counts of people and maps, added to the costs of other rows."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np

from dxprivacy.errors import NotCertified
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.exact.rounding import Exact
from dxprivacy.metrics import Extreme, Metric
from dxprivacy.metrics.with_other import WithAbsent, present
from dxprivacy.privacy import map_costs, people_costs
from dxprivacy.privacy.costs import LaplaceCost, RowsCost
from dxprivacy.privacy.proportional_loss import PRESENCE, ProportionalLoss
from dxprivacy.universe.blocks import Block, Blurred, PeopleTable
from dxprivacy.universe.loss_terms import LossPart, Terms
from dxprivacy.universe.workload import Workload

# -- Blocks with a proportional cost: their fraction of the policy, worst-case ε and proposed scales -------------------


PEOPLE, MAPS = "people", "maps"


class ProportionalBlock(ABC):
    """A block whose loss is a fraction of the distance, the same for all pairs, instead of a loss per pair."""

    called: str  # its name in the rule of a certificate

    @abstractmethod
    def part(self, scales: Floats, metric: Metric) -> ProportionalLoss:
        """Return the fraction of distances that noise of these scales uses; infinite if no noise is enough."""

    @abstractmethod
    def reading(self, scales: Floats) -> float:
        """Return the worst-case ε: the largest privacy loss by replacing one record, or a whole person."""

    @abstractmethod
    def proposed(self, metric: Metric) -> Floats:
        """Propose scales that use about the whole policy; certification and budget come later."""

    @abstractmethod
    def closest(self, metric: Metric) -> Extreme | None:
        """Return the closest two records that the block separates."""

    @abstractmethod
    def limiting(self, metric: Metric) -> Sequence[Extreme | None]:
        """Return, for each row, the closest two records that it separates."""

    @property
    @abstractmethod
    def changed(self) -> int:
        """The largest total change of all rows by one record, or one person."""


class _People(ProportionalBlock):
    called = PEOPLE

    def __init__(self, block: PeopleTable) -> None:
        self.block = block

    def part(self, scales: Floats, metric: Metric) -> ProportionalLoss:
        return ProportionalLoss(people_costs.part_of_people(self.block, scales, metric))

    def reading(self, scales: Floats) -> float:
        return people_costs.people_reading(self.block, scales)

    def proposed(self, metric: Metric) -> Floats:
        return people_costs.best_scales(self.block, metric)

    def closest(self, metric: Metric) -> Extreme | None:
        return people_costs.closest_groups(self.block, metric)

    def limiting(self, metric: Metric) -> Sequence[Extreme | None]:
        return people_costs.closest_pairs(self.block, metric)

    @property
    def changed(self) -> int:
        return min(people_costs.most_groups(self.block), self.block.rows)


class _Map(ProportionalBlock):
    called = MAPS

    def __init__(self, block: Blurred) -> None:
        self.block = block

    def part(self, scales: Floats, metric: Metric) -> ProportionalLoss:
        """Use the least scale for all rows; planned scales are equal."""
        each, least = map_costs.unit_part(self.block, metric), self._least(scales)
        if not each or least == math.inf:
            return ProportionalLoss()
        if not least:
            return ProportionalLoss(math.inf)
        return ProportionalLoss(each.everywhere / least, {axis: x / least for axis, x in each.along.items()})

    def _least(self, scales: Floats) -> Fraction | float:
        counted = scales[self.block.peak_of_row > 0]
        return Fraction(float(counted.min())) if len(counted) else math.inf

    def reading(self, scales: Floats) -> float:
        least = self._least(scales)
        if least == math.inf or not self.changed:
            return 0.0
        return self.changed / float(least) * (1 + 2.0**-50) if least else math.inf

    def proposed(self, metric: Metric) -> Floats:
        most = float(map_costs.unit_part(self.block, metric).most)
        return np.where(self.block.peak_of_row > 0, most if math.isfinite(most) else 1.0, 0.0)

    def closest(self, metric: Metric) -> Extreme | None:
        return map_costs.closest_places(self.block, metric)

    def limiting(self, metric: Metric) -> Sequence[Extreme | None]:
        return [self.closest(metric)] * self.block.rows

    @property
    def changed(self) -> int:
        block = self.block
        return 0 if block.is_constant else 2 * block.most * block.universe.rows_each


def proportional_block(block: Block) -> ProportionalBlock:
    """Return the accounting of a block with a proportional cost."""
    if isinstance(block, PeopleTable):
        return _People(block)
    if isinstance(block, Blurred):
        return _Map(block)
    raise NotCertified(f"the cost of a {block.kind} block is unknown", hints=["this is a bug: please report it"])


# -- The cost of a workload with such blocks ---------------------------------------------------------------------------


class ProportionalCost(RowsCost):
    """The cost of discrete Laplace noise on a workload in which some blocks have a proportional cost.

    The loss depends on the policy: L(i, j) of the other rows, plus the certified fractions of d(i, j).
    """

    largest = False
    may_have_proportional = True

    def __init__(self, workload: Workload, scales: Sequence[float] | Floats, metric: Metric) -> None:
        super().__init__(workload, scales)
        self.metric = metric
        rows = workload.by_pairs
        self._rows = None if rows is None else LaplaceCost(rows, self.scales[~workload.in_proportional])

    def with_scales(self, scales: Floats) -> "ProportionalCost":
        return ProportionalCost(self.workload, scales, self.metric)

    @property
    def proportional(self) -> frozenset[str]:
        return frozenset(proportional_block(block).called for block, _ in self.workload.proportional)

    @property
    def by_pairs(self) -> LaplaceCost | None:
        return self._rows

    @cached_property
    def proportional_loss(self) -> ProportionalLoss:
        """The fractions of distances that counts of people and maps use."""
        return self._part(self.metric)

    def proportional_loss_under(self, metric: Metric) -> ProportionalLoss:
        return self.proportional_loss if metric.digest == self.metric.digest else self._part(metric)

    def _part(self, metric: Metric) -> ProportionalLoss:
        parts = [
            proportional_block(block).part(self._of(block.rows, start), metric)
            for block, start in self.workload.proportional
        ]
        return sum(parts, ProportionalLoss())

    @cached_property
    def of_proportional(self) -> float:
        return math.fsum(
            proportional_block(b).reading(self._of(b.rows, start)) for b, start in self.workload.proportional
        )

    def _of(self, rows: int, start: int) -> Floats:
        return self.scales[start : start + rows]

    @property
    def error(self) -> float:
        """Relative rounding error: that of the rows, and two roundings for each attribute."""
        return (
            (0.0 if self._rows is None else self._rows.error)
            + self.metric.error
            + 2.0**-50 * (1 + len(self.proportional_loss.along))
        )

    @property
    def parts(self) -> tuple[LossPart, ...]:
        return () if self._rows is None else self._rows.parts

    @property
    def terms(self) -> Terms:
        """The terms of the rows; proportional blocks add a fixed fraction of every distance along an attribute."""
        return () if self._rows is None else self._rows.terms

    @property
    def alternatives(self) -> tuple[Terms, ...]:
        return (self.terms,)

    def pairwise(self, i: Ints, j: Ints) -> Floats:
        own = np.zeros(len(i)) if self._rows is None else self._rows.pairwise(i, j)
        return own + taken(self.proportional_loss, self.metric, i, j)

    def keys(self, i: Ints, j: Ints) -> Ints:
        return self.universe.keys(i, j)

    def exact(self, i: int, j: int) -> Exact:
        own = Fraction(0) if self._rows is None else self._rows.exact(i, j)
        flat = self.proportional_loss
        if i == j:
            return own
        total = own + (flat.everywhere * self.metric.exact(i, j) if flat.everywhere else 0)
        return total + self._along(i, j) if flat.along else total

    def per_person(self, i: int, j: int) -> Exact:
        """Bound the loss between two people: a proportional part never loses more than its worst-case ε."""
        own = Fraction(0) if self._rows is None else self._rows.exact(i, j)
        if i == j or own == math.inf:
            return own
        each, most = self.universe.rows_each, self.of_proportional
        charged = (self.exact(i, j) - own) * each
        return own * each + min(charged, most if most == math.inf else Fraction(most))

    def _along(self, i: int, j: int) -> Exact:
        along, absent = self.proportional_loss.along, self.universe.absent
        once = (
            along.get(PRESENCE, Fraction(0)) * self.metric.radius if isinstance(self.metric, WithAbsent) else math.inf
        )
        if absent in (i, j):
            return once
        total: Exact = Fraction(0)
        for axis, metric in enumerate(present(self.metric).axes or ()):
            stride, size = self.universe.strides[axis], self.universe.shape[axis]
            if along.get(axis):
                total += along[axis] * metric.exact(i // stride % size, j // stride % size)
        return min(total, 2 * once)

    @cached_property
    def identity(self) -> tuple[str, str, bytes]:
        name, digest, scales = super().identity
        return name, f"{digest} {self.metric.digest}", scales


def taken(flat: ProportionalLoss, metric: Metric, i: Ints, j: Ints) -> Floats:
    """Return the proportional part of the loss of many pairs."""
    universe, absent = metric.universe, metric.universe.absent
    total = _times(float(flat.everywhere), metric.pairwise(i, j))
    if not flat.along:
        return total
    there = np.arange(len(i)) if absent is None else np.flatnonzero((i != absent) & (j != absent))
    more = np.zeros(len(i))
    for axis, own in enumerate(present(metric).axes or ()):
        u, v = (universe.along(axis, x[there]) for x in (i, j))
        more[there] += _times(float(flat.along.get(axis, 0)), own.pairwise(u, v))
    if isinstance(metric, WithAbsent):
        once = float(flat.along.get(PRESENCE, 0)) * float(metric.radius)
        more = np.minimum(more, 2 * once)
        more[(i == absent) != (j == absent)] = once
    return total + more


def _times(part: float, distances: Floats) -> Floats:
    # 0 times an infinite distance is 0.
    return np.asarray(part * distances if part else np.zeros(len(distances)), dtype=np.float64)


def laplace_cost(
    workload: Workload, scales: Sequence[float] | Floats, metric: Metric
) -> LaplaceCost | ProportionalCost:
    """Return the cost of discrete Laplace noise of these scales under a policy."""
    return ProportionalCost(workload, scales, metric) if workload.proportional else LaplaceCost(workload, scales)
