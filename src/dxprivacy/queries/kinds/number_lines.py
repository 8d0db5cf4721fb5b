"""The numbers of an attribute or property on their line, and counts that are soft along it.

A record at x counts below an edge e by the part of a stretch of some length around it that lies there: all of it where
it is far below, nothing where it is far above, and in between as much as lies on that side.  So what lies between two
edges changes by little if x does, and the parts of all cells of a line add up to one record.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

import numpy as np

from dxprivacy.errors import QuestionError, TooLarge
from dxprivacy.exact.arrays import Ints
from dxprivacy.exact.evenly import Evenly, ends_of
from dxprivacy.exact.rounding import common_tick
from dxprivacy.queries.grouped import Grouped
from dxprivacy.queries.grouping import Reference
from dxprivacy.universe.blocks import OneHot
from dxprivacy.universe.ordering.order import Cells

STRETCH = Fraction(7, 2)
"""Widths over which a record is spread evenly: that has the same standard deviation as a bell of one width, nearly."""
_MOST_STEPS = 1 << 40


@dataclass(frozen=True)
class Line:
    """The numbers of an attribute or property, in their order, and the finest steps in which they differ."""

    ref: Reference
    by_middles: bool = False  # of cells, whatever they count as in sums

    @cached_property
    def numbers(self) -> Sequence[Fraction]:
        """Where each listed value lies."""
        scale = self.ref.attribute.order(self.ref.fact) if self.by_middles else None
        if not isinstance(scale, Cells):
            return self.ref.numbers or ()
        starts, half = scale.starts, scale.step / 2
        if isinstance(starts, Evenly):
            return Evenly(starts.first + half, starts.step, len(starts))
        return [start + half for start in starts]

    @cached_property
    def ends(self) -> tuple[Fraction, Fraction]:
        """The least and the largest."""
        return ends_of(self.numbers)

    @cached_property
    def tick(self) -> Fraction:
        """All numbers are whole multiples of it away from the least; 0 where there is one number only."""
        numbers, least = self.numbers, self.ends[0]
        if isinstance(numbers, Evenly):
            return numbers.step if len(numbers) > 1 else Fraction(0)
        apart = [x - least for x in numbers if x != least]
        return common_tick(apart) if apart else Fraction(0)

    @cached_property
    def gap(self) -> Fraction:
        """How far the two closest numbers are apart."""
        if isinstance(self.numbers, Evenly):
            return self.tick
        return min((b - a for a, b in pairwise(sorted(set(self.numbers)))), default=Fraction(0))

    @property
    def steps(self) -> int:
        """How many ticks lie between the ends."""
        return int((self.ends[1] - self.ends[0]) / self.tick) if self.tick else 0

    def places(self, size: int, tick: Fraction) -> Ints:
        """How many ticks of any kind each value lies behind the least; `other` where it counts in means, or below."""
        numbers, (least, most) = self.numbers, self.ends
        declared = min(max(self.ref.attribute.other_in_sums(numbers), least), most)
        places: Ints = np.full(size, (declared - least) // tick, dtype=np.int64)
        if isinstance(numbers, Evenly):
            places[: len(numbers)] = np.arange(len(numbers)) * int(numbers.step / tick)
        else:
            places[: len(numbers)] = [int((x - least) / tick) for x in numbers]
        return places

    def below(self, edges: Sequence[Fraction], length: Fraction, size: int) -> tuple[Ints, int]:
        """How much of each value lies below each edge, if it is spread evenly over a length; and how much is all."""
        start, half = self.ends[0], length / 2
        tops = [edge + half - start for edge in edges]
        tick = common_tick([length, *([self.tick] if self.tick else []), *tops])
        whole = int(length / tick)
        if whole >= _MOST_STEPS or any(abs(top / tick) >= _MOST_STEPS for top in tops):
            raise TooLarge("edges and widths differ from one another by too little to be counted in whole steps")
        ends: Ints = np.array([int(top / tick) for top in tops], dtype=np.int64)[:, None]
        heights: Ints = np.clip(ends - self.places(size, tick), 0, whole)
        return heights, whole


def between(heights: Ints, whole: int) -> Ints:
    """What lies between neighboring edges, and beyond the first and the last: it adds up to all."""
    first, last = np.zeros_like(heights[:1]), np.full_like(heights[:1], whole)
    if not len(heights):
        raise QuestionError("a line without any edge")
    return np.asarray(np.diff(np.vstack([first, heights, last]), axis=0), dtype=np.int64)


def beside(found: Grouped, axis: int) -> OneHot:
    """The groups and conditions of all other attributes."""
    groups = {a: g for a, g in found.groups.items() if a != axis}
    sizes = {a: n for a, n in found.sizes.items() if a != axis}
    return replace(found, groups=groups, sizes=sizes).block()
