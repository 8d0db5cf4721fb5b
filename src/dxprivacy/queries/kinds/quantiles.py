"""Medians and quantiles of ordered numbers, by groups and under conditions, from a distribution function of ramps.

Replacing a number by a close one can change a rank by 1; a rank that is smoothed by a ramp changes by little.
Replacing x by y changes row k by the part of [x, y] on ramp k, divided by the width.  Ramps do not overlap, so all rows
together change by at most |x - y| / width, as one row can.  A change of group changes all rows of both groups, and
often determines the noise.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

import numpy as np

from dxprivacy.errors import QueryError, TooLarge
from dxprivacy.exact.answer_grid import Evenly, ends_of
from dxprivacy.exact.arrays import Ints
from dxprivacy.exact.rounding import common_tick, number_text
from dxprivacy.queries.grouped import Grouped
from dxprivacy.queries.grouping import Reference, resolve
from dxprivacy.queries.query import Query, placed
from dxprivacy.queries.text.written_names import quoted
from dxprivacy.universe.answers.quantile_answers import QuantileRamps, QuantileRecipe
from dxprivacy.universe.blocks import Block, OneHot, SoftTable
from dxprivacy.universe.blocks.soft_tables import MOST_ENTRIES
from dxprivacy.universe.ordering.order import OrderedBins
from dxprivacy.universe.universe import Universe
from dxprivacy.universe.workload import Answer, Workload

# -- The number line of an attribute or property, and counts with soft borders along it --------------------------------
# A record at x is spread evenly over an interval around x.  Below an edge e, the fraction of this interval below e
# counts: 1 if x is far below e, 0 if it is far above.  So the count between two edges changes by little if x does, and
# the fractions of a record in all bins of a line add up to 1.


STRETCH = Fraction(7, 2)
"""A record is spread evenly over this many widths; the standard deviation is nearly that of a Gaussian of one width."""
_MOST_STEPS = 1 << 40


@dataclass(frozen=True)
class NumberLine:
    """The numbers of an attribute or property, and the step of the finest grid that holds them."""

    ref: Reference
    by_middles: bool = False  # bins lie at their middles, whatever number they count as in sums

    @cached_property
    def numbers(self) -> Sequence[Fraction]:
        """The number of each listed value."""
        scale = self.ref.attribute.order(self.ref.fact) if self.by_middles else None
        if not isinstance(scale, OrderedBins):
            return self.ref.numbers or ()
        starts, half = scale.starts, scale.step / 2
        if isinstance(starts, Evenly):
            return Evenly(starts.first + half, starts.step, len(starts))
        return [start + half for start in starts]

    @cached_property
    def ends(self) -> tuple[Fraction, Fraction]:
        """The least and the largest number."""
        return ends_of(self.numbers)

    @cached_property
    def tick(self) -> Fraction:
        """The step whose whole multiples, added to the least number, give all numbers; 0 for a single number."""
        numbers, least = self.numbers, self.ends[0]
        if isinstance(numbers, Evenly):
            return numbers.step if len(numbers) > 1 else Fraction(0)
        apart = [x - least for x in numbers if x != least]
        return common_tick(apart) if apart else Fraction(0)

    @cached_property
    def gap(self) -> Fraction:
        """The smallest distance of two different numbers; 0 for a single number."""
        if isinstance(self.numbers, Evenly):
            return self.tick
        return min((b - a for a, b in pairwise(sorted(set(self.numbers)))), default=Fraction(0))

    @property
    def steps(self) -> int:
        """The number of ticks between the ends."""
        return int((self.ends[1] - self.ends[0]) / self.tick) if self.tick else 0

    def places(self, size: int, tick: Fraction) -> Ints:
        """Return each value's distance from the least number, in ticks of the given size, rounded down.

        `other` lies at the number that it counts as in means, clamped to the ends.
        """
        numbers, (least, most) = self.numbers, self.ends
        declared = min(max(self.ref.attribute.other_in_sums(numbers), least), most)
        places: Ints = np.full(size, (declared - least) // tick, dtype=np.int64)
        if isinstance(numbers, Evenly):
            places[: len(numbers)] = np.arange(len(numbers)) * int(numbers.step / tick)
        else:
            places[: len(numbers)] = [int((x - least) / tick) for x in numbers]
        return places

    def below(self, edges: Sequence[Fraction], length: Fraction, size: int) -> tuple[Ints, int]:
        """Spread each value evenly over `length`; return its steps below each edge, and the number of all steps."""
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
    """Return the steps between neighboring edges, and beyond the first and the last; they add up to `whole`."""
    first, last = np.zeros_like(heights[:1]), np.full_like(heights[:1], whole)
    if not len(heights):
        raise QueryError("a line without any edge")
    return np.asarray(np.diff(np.vstack([first, heights, last]), axis=0), dtype=np.int64)


def beside(found: Grouped, axis: int) -> OneHot:
    """Return a table of the groups and conditions of all other attributes."""
    groups = {a: g for a, g in found.groups.items() if a != axis}
    sizes = {a: n for a, n in found.sizes.items() if a != axis}
    return replace(found, groups=groups, sizes=sizes).block()


# -- Quantiles ---------------------------------------------------------------------------------------------------------


MEDIAN = Fraction(1, 2)
MOST_RAMPS = 2_000
_USUAL_RAMPS = 64  # if no width is given and no plan has selected one yet
_FINEST = 10_000  # largest denominator of a quantile
_MOST_RAMP_STEPS = 1 << 30


@dataclass(frozen=True)
class Quantiles(Query):
    """The numbers up to which given fractions of the records lie.

    Ranks are smoothed over `width`; a plan selects it if it is not given.
    """

    ask = "quantile"
    also = ("at", "width")

    at: tuple[Fraction, ...] = (MEDIAN,)
    width: Fraction | None = None

    @property
    def measure(self) -> str:
        return "quantile"

    @property
    def called(self) -> str:
        return f"{self._which} {self.of}"

    @property
    def _which(self) -> str:
        if self.at == (MEDIAN,):
            return "median"
        return f"{self.ask} " + ", ".join(map(number_text, self.at)) + " of"

    def about(self) -> str:
        return f"{self._which} {quoted(self.of)}"

    def of_numbers(self) -> str:
        return self.of

    def names(self, universe: Universe) -> list[str]:
        return [*super().names(universe), self.of]

    def settled(self) -> "Quantiles":
        for level in self.at:
            if not 0 < level < 1:
                raise QueryError(
                    f"a quantile lies between 0 and 1; {number_text(level)} does not",
                    hints=[("quantile 0.9 of …", "nine tenths below it")],
                )
            if level.denominator > _FINEST:
                raise QueryError(f"quantiles are given in steps of 1/{_FINEST:,} at the finest")
        if not self.at:
            raise QueryError("which quantile?", hints=[("quantile 0.25, 0.75 of age", "")])
        if len(set(self.at)) < len(self.at):
            raise QueryError("a quantile is given twice", hints=[("quantile 0.25, 0.75 of age", "")])
        if self.width is not None and self.width < 0:
            raise QueryError("a width must not be negative", hints=[("width 0", "ranks as they are")])
        return self

    def line(self, universe: Universe) -> NumberLine:
        """Return the number line; refuse attributes without ordered numbers."""
        ref = resolve(self.of, universe)
        if ref.numbers is None:
            raise QueryError(
                f"{ref.name} has no numbers in an order",
                where=f"query “{self}”",
                hints=ref.instead_of_numbers or [(f"count by {ref.name}", "how many have each value")],
            )
        return NumberLine(ref)

    def require_groups(self, universe: Universe) -> None:
        """Refuse groups, conditions and targets that are invalid for any width."""
        self._grouped(universe, self.line(universe))

    def _grouped(self, universe: Universe, line: NumberLine) -> Grouped:
        with placed(self):
            found = Grouped.of(self, universe)
        found.require_unit(line.ref.unit)
        if found.sizes.get(line.ref.axis, 1) > 1:
            raise QueryError(
                f"{self.called} by groups of itself",
                where=f"query “{self}”",
                hints=[(f"count by {', '.join(self.by)}", "how many are in each")],
            )
        return found

    def ramps(self, line: NumberLine) -> QuantileRamps:
        """Return ramps of the query's width, in whole ticks: one tick if it is 0, a usual width if it is not given."""
        if not line.tick:
            raise QueryError(f"{line.ref.name} has a single value", where=f"query “{self}”")
        rise = line.steps / Fraction(_USUAL_RAMPS) if self.width is None else self.width / line.tick
        steps = max(math.ceil(rise), 1)
        if steps > line.steps and self.width is not None:
            span = number_text(line.ends[1] - line.ends[0])
            raise QueryError(
                f"a width of {number_text(self.width)} is wider than the range of {line.ref.name}, {span}",
                where=f"query “{self}”",
                hints=[("no width", "a plan chooses it")],
            )
        number = -(-line.steps // steps)
        if number > MOST_RAMPS or steps > _MOST_RAMP_STEPS or number * len(line.numbers) > MOST_ENTRIES:
            most = max(min(MOST_RAMPS, MOST_ENTRIES // len(line.numbers)), 1)
            least = number_text(line.tick * -(-line.steps // most))
            raise TooLarge(
                f"ranks at {number:,} places of {len(line.numbers):,} values are too many",
                where=f"query “{self}”",
                hints=[(f"width {least}", "or more"), ("no width", "a plan chooses it")],
            )
        return QuantileRamps(line.ends[0], steps * line.tick, number, steps, line.ends[1])

    def remarks(self, universe: Universe) -> list[str]:
        """State which records are left out, and over which width ranks are smoothed."""
        line = self.line(universe)
        ramps = self.ramps(line)
        said = line.ref.left_out_of(self.called)
        if ramps.steps == 1:
            return said
        width = f"{number_text(ramps.width)} {line.ref.unit}".rstrip()
        return [
            *said,
            f"{self.called}: ranks are smoothed over {width}, so an answer may be off by half of that; the interval "
            "holds for the number itself",
        ]

    def rows_on(self, universe: Universe) -> Workload:
        """Return a row for each ramp of each group, followed by the sizes of the groups where these are private."""
        line = self.line(universe)
        found = self._grouped(universe, line)
        ramps = self.ramps(line)
        if line.ref.attribute.has_other and not line.ref.attribute.complete:
            found.leave_out_other(line.ref)
        private = bool(found.groups) or universe.absent is not None
        # Rows are centered at the middle level t: a record that enters or leaves a group then changes a row by at most
        # max(t, 1 - t), not by 1.
        less = self.at[len(self.at) // 2] if private else Fraction(0)
        own = found.groups.get(line.ref.axis, np.zeros(universe.shape[line.ref.axis], dtype=np.int64))
        heights = _heights(line, ramps, len(own)) * less.denominator - ramps.steps * less.numerator
        block = SoftTable(
            line.ref.axis,
            np.where(own >= 0, heights, 0),
            beside(found, line.ref.axis),
            unit=Fraction(1, ramps.steps * less.denominator),
        )
        counted = private and self.at != (less,)
        blocks: tuple[Block, ...] = (block, found.block()) if counted else (block,)
        answers, several = [], len(self.at) > 1
        for k, (label, groups) in enumerate(zip(found.labels, found.places, strict=True)):
            for level in self.at:
                count = block.rows + k if counted and level != less else None
                recipe = QuantileRecipe(k * ramps.number, ramps, level, less, line.ref.hides, count, found.part)
                named = number_text(level)
                called = label.replace(self.called, f"{self.ask} {named} of {self.of}", 1) if several else label
                placed = (*groups, (self.ask, named)) if several else groups
                answers.append(Answer(called, 0, recipe, line.ref.unit, self.within, Fraction(1), placed))
        return Workload(universe, blocks, tuple(answers), (str(self),))


def _heights(line: NumberLine, ramps: QuantileRamps, size: int) -> Ints:
    """Return how many steps of each value lie below the end of each ramp; `other` is placed by `NumberLine.places`."""
    tops = np.arange(1, ramps.number + 1, dtype=np.int64)[:, None] * ramps.steps
    return np.asarray(np.clip(tops - line.places(size, line.tick), 0, ramps.steps), dtype=np.int64)
