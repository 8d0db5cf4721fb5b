"""Medians and quantiles of ordered numbers, by groups and under conditions, from a distribution function of ramps.

Between neighbors a rank jumps by 1, however close they are; over a ramp of some width it changes by little.  Ramps
side by side change by no more than one of them, so that a whole distribution function costs what one row of it costs.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dxprivacy.errors import QuestionError, TooLarge
from dxprivacy.exact.arrays import Ints
from dxprivacy.exact.rounding import number_text
from dxprivacy.queries.grouped import Grouped
from dxprivacy.queries.grouping import resolve
from dxprivacy.queries.kinds.number_lines import Line, beside
from dxprivacy.queries.query import Question, placed
from dxprivacy.queries.text.written_names import quoted
from dxprivacy.universe.answers.quantile_answers import Inverse, Ramps
from dxprivacy.universe.blocks import Block, SoftTable
from dxprivacy.universe.blocks.soft_tables import MOST_ENTRIES
from dxprivacy.universe.universe import Universe
from dxprivacy.universe.workload import Answer, Workload

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
        if not self.at:
            raise QuestionError("which quantile?", hints=[("quantile 0.25, 0.75 of age", "")])
        if len(set(self.at)) < len(self.at):
            raise QuestionError("a quantile is asked for once", hints=[("quantile 0.25, 0.75 of age", "")])
        if self.width is not None and self.width < 0:
            raise QuestionError("a width is not negative", hints=[("width 0", "ranks as they are")])
        return self

    def line(self, universe: Universe) -> Line:
        """The numbers that it is about."""
        ref = resolve(self.of, universe)
        if ref.numbers is None:
            raise QuestionError(
                f"{ref.name} has no numbers in an order",
                where=f"question “{self}”",
                hints=ref.instead_of_numbers or [(f"count by {ref.name}", "how many have each value")],
            )
        return Line(ref)

    def require_groups(self, universe: Universe) -> None:
        """Refuse groups, conditions and targets that cannot be, whatever the width."""
        self._grouped(universe, self.line(universe))

    def _grouped(self, universe: Universe, line: Line) -> Grouped:
        with placed(self):
            found = Grouped.of(self, universe)
        found.require_unit(line.ref.unit)
        if found.sizes.get(line.ref.axis, 1) > 1:
            raise QuestionError(
                f"{self.called} by groups of itself",
                where=f"question “{self}”",
                hints=[(f"count by {', '.join(self.by)}", "how many are in each")],
            )
        return found

    def ramps(self, line: Line) -> Ramps:
        """Ramps of its width, in whole ticks: of one tick where it is 0; of some width where nobody chose one."""
        if not line.tick:
            raise QuestionError(f"{line.ref.name} has a single value", where=f"question “{self}”")
        rise = line.steps / Fraction(_USUAL_RAMPS) if self.width is None else self.width / line.tick
        steps = max(math.ceil(rise), 1)
        if steps > line.steps and self.width is not None:
            span = number_text(line.ends[1] - line.ends[0])
            raise QuestionError(
                f"a width of {number_text(self.width)} is wider than the range of {line.ref.name}, {span}",
                where=f"question “{self}”",
                hints=[("no width", "a plan chooses it")],
            )
        number = -(-line.steps // steps)
        if number > MOST_RAMPS or steps > _MOST_STEPS or number * len(line.numbers) > MOST_ENTRIES:
            most = max(min(MOST_RAMPS, MOST_ENTRIES // len(line.numbers)), 1)
            least = number_text(line.tick * -(-line.steps // most))
            raise TooLarge(
                f"ranks at {number:,} places of {len(line.numbers):,} values are too many",
                where=f"question “{self}”",
                hints=[(f"width {least}", "or more"), ("no width", "a plan chooses it")],
            )
        return Ramps(line.ends[0], steps * line.tick, number, steps, line.ends[1])

    def remarks(self, universe: Universe) -> list[str]:
        """Whom it leaves out, and how far it is smoothed."""
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
        """A row for each ramp of each group, behind them the sizes of the groups where these are private."""
        line = self.line(universe)
        found = self._grouped(universe, line)
        ramps = self.ramps(line)
        if line.ref.attribute.has_other and not line.ref.attribute.complete:
            found.leave_out_other(line.ref)
        private = bool(found.groups) or universe.absent is not None
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
            for share in self.at:
                count = block.rows + k if counted and share != less else None
                recipe = Inverse(k * ramps.number, ramps, share, less, line.ref.hides, count, found.part)
                named = number_text(share)
                called = label.replace(self.called, f"{self.ask} {named} of {self.of}", 1) if several else label
                placed = (*groups, (self.ask, named)) if several else groups
                answers.append(Answer(called, 0, recipe, line.ref.unit, self.within, Fraction(1), placed))
        return Workload(universe, blocks, tuple(answers), (str(self),))


def _heights(line: Line, ramps: Ramps, size: int) -> Ints:
    """How much of each value lies below the end of each ramp, in steps; of `other` as of the least."""
    tops = np.arange(1, ramps.number + 1, dtype=np.int64)[:, None] * ramps.steps
    return np.asarray(np.clip(tops - line.places(size, line.tick), 0, ramps.steps), dtype=np.int64)
