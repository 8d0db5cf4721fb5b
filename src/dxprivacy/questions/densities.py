"""Densities: how many records lie where along a line of numbers, each spread over a width before it is counted."""

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from dxprivacy.attributes.order import Cells, Singles
from dxprivacy.errors import QuestionError, TooLarge
from dxprivacy.exact.arrays import Ints
from dxprivacy.exact.numbers import number_text
from dxprivacy.model.blocks import SoftTable
from dxprivacy.model.blocks.soft import MOST_ENTRIES
from dxprivacy.model.recipes import Linear
from dxprivacy.model.universe import Universe
from dxprivacy.model.workload import Answer, Workload
from dxprivacy.questions.grouped import Grouped
from dxprivacy.questions.grouping import resolve
from dxprivacy.questions.lines import STRETCH, Line, beside, between
from dxprivacy.questions.question import Question

MOST_CELLS = 5_000
_USUAL_CELLS = 40  # where nobody says how wide they are, and no plan has chosen it yet


@dataclass(frozen=True)
class Density(Question):
    """Counts by cells of a line, `every` so far; a record counts evenly over 3.5 times `width` around its number."""

    ask = "density"
    also = ("width", "every")

    width: Fraction | None = None
    every: Fraction | None = None

    def names(self, universe: Universe) -> list[str]:
        return [*super().names(universe), self.of]

    def settled(self) -> "Density":
        for name, given in (("width", self.width), ("every", self.every)):
            if given is not None and given <= 0:
                hints = [(f"histogram {self.of}", "counts as they are, without width")] if name == "width" else []
                raise QuestionError(f"{name} is {number_text(given)}; it must be more than 0", hints=hints)
        return self

    def line(self, universe: Universe) -> Line:
        """The numbers that it is about."""
        ref = resolve(self.of, universe)
        series = ref.fact is not None and ref.entry is not None
        if ref.numbers is None or series or not isinstance(ref.attribute.order(ref.fact), Singles):
            hints = [(f"count by {self.of}", "")]
            raise QuestionError(f"{ref.name} has no numbers in an order", where=f"question “{self}”", hints=hints)
        return Line(ref, by_middles=True)

    def remarks(self, universe: Universe) -> list[str]:
        """Whom it leaves out, and what is counted."""
        line = self.line(universe)
        wide = f"{number_text(STRETCH * self._width(line))} {line.ref.unit}".rstrip()
        return [
            *line.ref.left_out_of(self.called),
            f"{self.called}: every record counts evenly over {wide} around its {line.ref.name}, so that borders are "
            "soft; intervals are for these counts",
        ]

    def _width(self, line: Line) -> Fraction:
        span = line.ends[1] - line.ends[0]
        if not span:
            raise QuestionError(f"{line.ref.name} has a single value", where=f"question “{self}”")
        width = self.width or span / (_USUAL_CELLS // 2)
        if width > span:
            raise QuestionError(
                f"a width of {number_text(width)} is wider than the range of {line.ref.name}, {number_text(span)}",
                where=f"question “{self}”",
            )
        return width

    def rows_on(self, universe: Universe) -> Workload:
        """A row for each cell of each group."""
        found, line = Grouped.of(self, universe), self.line(universe)
        found.require_unit("")
        if found.sizes.get(line.ref.axis, 1) > 1:
            raise QuestionError(f"{self.called} by groups of itself", where=f"question “{self}”")
        if line.ref.attribute.has_other:
            found.leave_out_other(line.ref)
        width = self._width(line)
        edges = self._edges(line, self.every or width / 2)
        size = universe.shape[line.ref.axis]
        own = found.groups.get(line.ref.axis, np.zeros(size, dtype=np.int64))
        parts, whole = _parts(line, edges, width, size)
        around = beside(found, line.ref.axis)
        block = SoftTable(line.ref.axis, np.where(own >= 0, parts, 0), around, unit=Fraction(1, whole))
        cells = self._labels(line, edges)
        answers = []
        grouped = zip(found.labels, found.places, strict=True)
        for k, (label, groups) in enumerate(grouped):
            for cell, name in enumerate(cells):
                called = f"{label}, {name}" if groups else name
                placed = (*groups, (line.ref.name, name))
                recipe = Linear(k * len(cells) + cell, block.unit)
                answers.append(Answer(called, 0, recipe, "", self.within, Fraction(1), placed))
        return Workload(universe, (block,), tuple(answers), (str(self),))

    def _edges(self, line: Line, every: Fraction) -> list[Fraction]:
        """Whole multiples of a step, from at or below the least number to above the largest."""
        scale = line.ref.attribute.order(line.ref.fact)
        assert isinstance(scale, Singles)
        step = scale.step if isinstance(scale, Cells) else Fraction(0)
        low, high = line.ends[0] - step / 2, line.ends[1] + step / 2
        first, last = math.floor(low / every), math.ceil(high / every) if step else math.floor(high / every) + 1
        most = max(min(MOST_CELLS, MOST_ENTRIES // len(line.numbers)), 1)
        if last - first > most:
            raise TooLarge(
                f"{last - first:,} cells are more than {most:,}",
                where=f"question “{self}”",
                hints=[(f"every {number_text(every * -(-(last - first) // most))}", "or more")],
            )
        return [k * every for k in range(first, last + 1)]

    def _labels(self, line: Line, edges: list[Fraction]) -> list[str]:
        scale = line.ref.attribute.order(line.ref.fact)
        assert isinstance(scale, Singles)
        return [scale.label(a, b) for a, b in pairwise(edges)]


def _parts(line: Line, edges: list[Fraction], width: Fraction, size: int) -> tuple[Ints, int]:
    """How much of each value lies in each cell; what lies beyond the ends belongs to the cells there."""
    scale = line.ref.attribute.order(line.ref.fact)
    before = Fraction(0) if isinstance(scale, Cells) else line.tick / 2  # a whole number lies half a step from its edge
    inner = [edge - before for edge in edges[1:-1]]
    if not inner:
        return np.ones((1, size), dtype=np.int64), 1
    heights, whole = line.below(inner, STRETCH * width, size)
    return between(heights, whole), whole
