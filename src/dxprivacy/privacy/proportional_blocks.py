"""Blocks that are accounted as a whole: what they take of a policy, what they tell, and scales to begin with."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from dxprivacy.errors import NotCertified
from dxprivacy.exact.arrays import Floats
from dxprivacy.metrics import Extreme, Metric
from dxprivacy.privacy import map_costs, people_costs
from dxprivacy.privacy.proportional_loss import Flat
from dxprivacy.universe.blocks import Block, Blurred, PeopleTable

PEOPLE, MAPS = "people", "maps"


class Whole(ABC):
    """One block of a kind that no pair of records tells about."""

    called: str  # in the rule of a certificate

    @abstractmethod
    def part(self, scales: Floats, metric: Metric) -> Flat:
        """The part of distances that noise of these scales takes; infinite where no noise is enough."""

    @abstractmethod
    def reading(self, scales: Floats) -> float:
        """The standard-DP reading: the most that replacing one record, or a whole person, can lose."""

    @abstractmethod
    def proposed(self, metric: Metric) -> Floats:
        """Scales that take about the whole policy, to be certified and shared out."""

    @abstractmethod
    def closest(self, metric: Metric) -> Extreme | None:
        """The closest two records that it tells apart."""

    @abstractmethod
    def limiting(self, metric: Metric) -> Sequence[Extreme | None]:
        """For each row the closest two records that limit it."""

    @property
    @abstractmethod
    def changed(self) -> int:
        """By how much one record, or a person, can change all rows together."""


class _People(Whole):
    called = PEOPLE

    def __init__(self, block: PeopleTable) -> None:
        self.block = block

    def part(self, scales: Floats, metric: Metric) -> Flat:
        return Flat(people_costs.part_of_people(self.block, scales, metric))

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


class _Map(Whole):
    called = MAPS

    def __init__(self, block: Blurred) -> None:
        self.block = block

    def part(self, scales: Floats, metric: Metric) -> Flat:
        """By the least of its scales: all are the same where we plan."""
        each, least = map_costs.unit_part(self.block, metric), self._least(scales)
        if not each or least == math.inf:
            return Flat()
        if not least:
            return Flat(math.inf)
        return Flat(each.everywhere / least, {axis: x / least for axis, x in each.along.items()})

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
        return 0 if block.tells_nothing else 2 * block.most * block.universe.rows_each


def whole_of(block: Block) -> Whole:
    """How a block is accounted that no pair tells about."""
    if isinstance(block, PeopleTable):
        return _People(block)
    if isinstance(block, Blurred):
        return _Map(block)
    raise NotCertified(f"nobody knows what a {block.kind} costs as a whole", hints=["this is a bug: please report it"])
