"""Medians and quantiles of ordered numbers, by groups and under conditions, from a distribution function of ramps.

Between neighbours a rank jumps by 1, however close they are; over a ramp of some width it changes by little.  Ramps
side by side change by no more than one of them, so that a whole distribution function costs what one row of it costs.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from dxprivacy.errors import QuestionError, TooLarge
from dxprivacy.exact.arrays import Ints
from dxprivacy.exact.evenly import Evenly, ends_of
from dxprivacy.exact.numbers import common_tick, number_text
from dxprivacy.model.blocks import Block, OneHot, SoftTable
from dxprivacy.model.recipes.inverse import Inverse, Ramps
from dxprivacy.model.universe import Universe
from dxprivacy.model.workload import Answer, Workload
from dxprivacy.questions.grouped import Grouped
from dxprivacy.questions.grouping import Reference, resolve
from dxprivacy.questions.question import Question
from dxprivacy.questions.written import quoted

MEDIAN = Fraction(1, 2)
MOST_RAMPS = 2_000
_USUAL_RAMPS = 64  # where nobody says how wide they are, and no plan has chosen it yet
_FINEST = 10_000  # of quantiles
_MOST_STEPS = 1 << 30


@dataclass(frozen=True)
class Quantiles(Question):
    """The numbers up to which shares of the records lie; ranks are smoothed over `width`, chosen by a plan."""

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
        for share in self.at:
            if not 0 < share < 1:
                raise QuestionError(
                    f"a quantile lies between 0 and 1; {number_text(share)} does not",
                    hints=[("quantile 0.9 of …", "nine tenths below it")],
                )
            if share.denominator > _FINEST:
                raise QuestionError(f"quantiles are given in steps of 1/{_FINEST:,} at the finest")
        if not self.at or len(set(self.at)) < len(self.at):
            raise QuestionError("a quantile is asked for once", hints=[("quantile 0.25, 0.75 of age", "")])
        if self.width is not None and self.width < 0:
            raise QuestionError("a width is not negative", hints=[("width 0", "ranks as they are")])
        return self

    def line(self, universe: Universe) -> "Line":
        """The numbers that it is about."""
        ref = resolve(self.of, universe)
        if ref.numbers is None:
            raise QuestionError(
                f"{ref.name} has no numbers in an order",
                where=f"question “{self}”",
                hints=ref.instead_of_numbers or [("count by …", "")],
            )
        return Line(ref)

    def rows_on(self, universe: Universe) -> Workload:
        """A row for each ramp of each group, behind them the sizes of the groups where these are private."""
        found = Grouped.of(self, universe)
        line = self.line(universe)
        found.require_unit(line.ref.unit)
        ramps = line.ramps(self.width, self)
        if line.ref.attribute.has_other and not line.ref.attribute.complete:
            found.leave_out_other(line.ref)
        if found.sizes.get(line.ref.axis, 1) > 1:
            raise QuestionError(f"{self.called} by groups of itself", where=f"question “{self}”")
        private = bool(found.groups) or universe.absent is not None
        less = self.at[len(self.at) // 2] if private else Fraction(0)
        own = found.groups.get(line.ref.axis, np.zeros(universe.shape[line.ref.axis], dtype=np.int64))
        heights = line.heights(ramps, universe) * less.denominator - ramps.steps * less.numerator
        block = SoftTable(
            line.ref.axis,
            np.where(own >= 0, heights, 0),
            _beside(found, line.ref.axis),
            unit=Fraction(1, ramps.steps * less.denominator),
        )
        counted = private and self.at != (less,)
        blocks: tuple[Block, ...] = (block, found.block()) if counted else (block,)
        answers, several = [], len(self.at) > 1
        for k, (label, groups) in enumerate(zip(found.labels, found.places, strict=True)):
            for share in self.at:
                count = block.rows + k if counted and share != less else None
                recipe = Inverse(k * ramps.number, ramps, share, less, line.ref.hides, count, found.part)
                named = number_text(share)
                called = label.replace(self.called, f"{self.ask} {named} of {self.of}", 1) if several else label
                placed = (*groups, (self.ask, named)) if several else groups
                answers.append(Answer(called, 0, recipe, line.ref.unit, self.within, Fraction(1), placed))
        return Workload(universe, blocks, tuple(answers), (str(self),))


def _beside(found: Grouped, axis: int) -> OneHot:
    """The groups and conditions of all other attributes."""
    groups = {a: g for a, g in found.groups.items() if a != axis}
    sizes = {a: n for a, n in found.sizes.items() if a != axis}
    return replace(found, groups=groups, sizes=sizes).block()


@dataclass(frozen=True)
class Line:
    """The numbers of an attribute or property, in their order, and the finest steps in which they differ."""

    ref: Reference

    @cached_property
    def ends(self) -> tuple[Fraction, Fraction]:
        return ends_of(self.ref.numbers or ())

    @cached_property
    def tick(self) -> Fraction:
        """All numbers are whole multiples of it away from the least; 0 where there is one number only."""
        numbers, least = self.ref.numbers or (), self.ends[0]
        if isinstance(numbers, Evenly):
            return numbers.step if len(numbers) > 1 else Fraction(0)
        apart = [x - least for x in numbers if x != least]
        return common_tick(apart) if apart else Fraction(0)

    @property
    def steps(self) -> int:
        """How many ticks lie between the ends."""
        return int((self.ends[1] - self.ends[0]) / self.tick) if self.tick else 0

    def ramps(self, width: Fraction | None, asked: Question) -> Ramps:
        """Ramps of a width, in whole ticks: of one tick where it is 0; some width where nobody chose one."""
        if not self.tick:
            raise QuestionError(f"{self.ref.name} has a single value", where=f"question “{asked}”")
        rise = self.steps / Fraction(_USUAL_RAMPS) if width is None else width / self.tick
        steps = max(math.ceil(rise), 1)
        if steps > self.steps and width is not None:
            span = number_text(self.ends[1] - self.ends[0])
            raise QuestionError(
                f"a width of {number_text(width)} is wider than the range of {self.ref.name}, {span}",
                where=f"question “{asked}”",
            )
        number = -(-self.steps // steps)
        if number > MOST_RAMPS or steps > _MOST_STEPS:
            least = number_text(self.tick * -(-self.steps // MOST_RAMPS))
            raise TooLarge(
                f"ranks at {number:,} places are more than {MOST_RAMPS:,}",
                where=f"question “{asked}”",
                hints=[(f"width {least}", "or more"), ("no width", "a plan chooses it")],
            )
        return Ramps(self.ends[0], steps * self.tick, number, steps, self.ends[1])

    def heights(self, ramps: Ramps, universe: Universe) -> Ints:
        """How much of each value lies below the end of each ramp, in steps; of `other` as of the least."""
        numbers, least = self.ref.numbers or (), self.ends[0]
        places: Ints = np.zeros(universe.shape[self.ref.axis], dtype=np.int64)
        if isinstance(numbers, Evenly):
            places[: len(numbers)] = np.arange(len(numbers))
        else:
            places[: len(numbers)] = [int((x - least) / self.tick) for x in numbers]
        tops = np.arange(1, ramps.number + 1, dtype=np.int64)[:, None] * ramps.steps
        heights: Ints = np.clip(tops - places, 0, ramps.steps)
        return heights
