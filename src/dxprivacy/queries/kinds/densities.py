"""Densities: counts along a number line or on a map, where each record is blurred before it is counted."""

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from dxprivacy.errors import QueryError, TooLarge
from dxprivacy.exact.arrays import Ints
from dxprivacy.exact.rounding import number_text
from dxprivacy.queries.grouped import Grouped, Groups
from dxprivacy.queries.grouping import Reference, resolve
from dxprivacy.queries.kinds.maps import Map, in_kilometers, measured_on_earth, require_few_cells, require_few_parts
from dxprivacy.queries.kinds.quantiles import STRETCH, NumberLine, beside, between
from dxprivacy.queries.query import Query, placed
from dxprivacy.universe.answers import Linear
from dxprivacy.universe.attributes.listed_points import Points
from dxprivacy.universe.blocks import Block, Blurred, SoftTable
from dxprivacy.universe.blocks.soft_tables import MOST_ENTRIES
from dxprivacy.universe.ordering.order import OrderedBins, Singles
from dxprivacy.universe.universe import Universe
from dxprivacy.universe.workload import Answer, Workload

MOST_CELLS = 5_000
_USUAL_CELLS = 40  # if no width is given and no plan has selected one yet


@dataclass(frozen=True)
class Density(Query):
    """Counts in the bins of a number line, or in the grid cells of a map; `every` is their width.

    Along a line, a record is spread evenly over 3.5 times `width` around its number.  On a map, it is spread by a
    Gaussian around its place, whose standard deviation is `width`.  `lengths` is "km" for maps of the Earth.
    """

    ask = "density"
    also = ("width", "every", "lengths")

    width: Fraction | None = None
    every: Fraction | None = None
    lengths: str = ""

    def names(self, universe: Universe) -> list[str]:
        return [*super().names(universe), self.of]

    def further_words(self, name: str, universe: Universe | None = None) -> str:
        return in_kilometers(super().further_words(name, universe), self.lengths)

    def settled(self) -> "Density":
        for name, given in (("width", self.width), ("every", self.every)):
            if given is not None and given <= 0:
                hints = [(f"histogram {self.of}", "counts as they are, without width")] if name == "width" else []
                raise QueryError(f"{name} is {number_text(given)}; it must be more than 0", hints=hints)
        return self

    def places(self, universe: Universe) -> Reference | None:
        """Return the places if the density is a map; else None."""
        ref = resolve(self.of, universe)
        return ref if ref.fact is None and isinstance(ref.attribute, Points) else None

    def map(self, universe: Universe, found: Grouped | None = None) -> Map:
        """Return the map of the places that the conditions select."""
        ref, found = resolve(self.of, universe), found or Grouped.of(self, universe)
        assert isinstance(ref.attribute, Points)
        counted = found.groups.get(ref.axis, np.zeros(universe.shape[ref.axis], dtype=np.int64))
        earth = measured_on_earth(ref.attribute, self.lengths)
        with placed(self):
            drawn = Map.of(ref.attribute, counted, self.width, self.every, earth=earth)
            require_few_cells(drawn, beside(found, ref.axis).rows, chosen=self.width is None)
        return drawn

    def line(self, universe: Universe) -> NumberLine:
        """Return the number line; refuse places and values without an order."""
        ref = resolve(self.of, universe)
        if self.lengths:
            what = f"{ref.name} has no places; km, m and miles are lengths between places"
            hints = [("width N", f"without a unit: in that of {ref.name}")]
            raise QueryError(what, where=f"query “{self}”", hints=hints)
        series = ref.fact is not None and ref.entry is not None
        if ref.numbers is None or series or not isinstance(ref.attribute.order(ref.fact), Singles):
            hints = [(f"count by {self.of}", "")]
            raise QueryError(f"{ref.name} has no numbers in an order", where=f"query “{self}”", hints=hints)
        return NumberLine(ref, by_middles=True)

    def remarks(self, universe: Universe) -> list[str]:
        """State which records are left out, and how the counted records are blurred."""
        if (places := self.places(universe)) is not None:
            return [*places.left_out_of(self.called), self._on_map(self.map(universe))]
        line = self.line(universe)
        width = self._width(line)
        wide = f"{number_text(STRETCH * width)} {line.ref.unit}".rstrip()
        cells = self._labels(line, self._edges(line, self.every or width / 2))
        beyond = f"; what would lie beyond counts in the first cell ({cells[0]}) and in the last ({cells[-1]})"
        return [
            *line.ref.left_out_of(self.called),
            f"{self.called}: every record counts evenly over {wide} around its {line.ref.name}, so that borders are "
            f"soft; intervals are for these counts{beyond if len(cells) > 1 else ''}",
        ]

    def _on_map(self, found: Map) -> str:
        width = f"{number_text(found.width)} {found.unit}".rstrip()
        return (
            f"{self.called}: every record is spread around its place by a bell of width {width}, so that borders are "
            "soft; intervals are for these counts"
        )

    def _width(self, line: NumberLine) -> Fraction:
        span = line.ends[1] - line.ends[0]
        if not span:
            raise QueryError(f"{line.ref.name} has a single value", where=f"query “{self}”")
        width = self.width or span / (_USUAL_CELLS // 2)
        if width > span:
            raise QueryError(
                f"a width of {number_text(width)} is wider than the range of {line.ref.name}, {number_text(span)}",
                where=f"query “{self}”",
            )
        return width

    def rows_on(self, universe: Universe) -> Workload:
        """Return a row for each bin or grid cell of each group."""
        found, places = Grouped.of(self, universe), self.places(universe)
        found.require_unit("")
        ref = self.line(universe).ref if places is None else places
        if found.sizes.get(ref.axis, 1) > 1:
            hints = [(f"count by {', '.join(self.by)}", "groups instead of a map")]
            raise QueryError(f"{self.called} by groups of itself", where=f"query “{self}”", hints=hints)
        if ref.attribute.has_other:
            found.leave_out_other(ref)
        block, cells = self._on_line(found) if places is None else self._over_places(found, ref)
        answers = []
        grouped = zip(found.labels, found.places, strict=True)
        for k, (label, groups) in enumerate(grouped):
            for cell, names in enumerate(cells):
                name = ", ".join(called for _, called in names)
                recipe = Linear(k * len(cells) + cell, block.unit)
                called = f"{label}, {name}" if groups else name
                answers.append(Answer(called, 0, recipe, "", self.within, Fraction(1), (*groups, *names)))
        return Workload(universe, (block,), tuple(answers), (str(self),))

    def _on_line(self, found: Grouped) -> tuple[Block, list[Groups]]:
        """Return the block of soft bins along the line, and their names."""
        universe, line = found.universe, self.line(found.universe)
        width, axis = self._width(line), line.ref.axis
        edges = self._edges(line, self.every or width / 2)
        size = universe.shape[axis]
        own = found.groups.get(axis, np.zeros(size, dtype=np.int64))
        parts, whole = _parts(line, edges, width, size)
        block = SoftTable(axis, np.where(own >= 0, parts, 0), beside(found, axis), unit=Fraction(1, whole))
        return block, [((line.ref.name, name),) for name in self._labels(line, edges)]

    def _over_places(self, found: Grouped, ref: Reference) -> tuple[Block, list[Groups]]:
        """Return the block of a map's grid cells, and their names."""
        drawn = self.map(found.universe, found)
        with placed(self):
            require_few_parts(drawn, beside(found, ref.axis).rows)
        matrix = drawn.columns(drawn.spread[0], found.universe.shape[ref.axis])
        block = Blurred(ref.axis, matrix, beside(found, ref.axis), drawn.bell(), drawn.inside)
        first, second = drawn.names
        return block, [((first, a), (second, b)) for a in drawn.labels[0] for b in drawn.labels[1]]

    def _edges(self, line: NumberLine, every: Fraction) -> list[Fraction]:
        """Return whole multiples of `every`, from at or below the least number to above the largest."""
        scale = line.ref.attribute.order(line.ref.fact)
        assert isinstance(scale, Singles)
        step = scale.step if isinstance(scale, OrderedBins) else Fraction(0)
        low, high = line.ends[0] - step / 2, line.ends[1] + step / 2
        first, last = math.floor(low / every), math.ceil(high / every) if step else math.floor(high / every) + 1
        most = max(min(MOST_CELLS, MOST_ENTRIES // len(line.numbers)), 1)
        if last - first > most:
            raise TooLarge(
                f"{last - first:,} cells are more than {most:,}",
                where=f"query “{self}”",
                hints=[(f"every {number_text(every * -(-(last - first) // most))}", "or more")],
            )
        return [k * every for k in range(first, last + 1)]

    def _labels(self, line: NumberLine, edges: list[Fraction]) -> list[str]:
        scale = line.ref.attribute.order(line.ref.fact)
        assert isinstance(scale, Singles)
        return [scale.label(a, b) for a, b in pairwise(edges)]


def _parts(line: NumberLine, edges: list[Fraction], width: Fraction, size: int) -> tuple[Ints, int]:
    """Return how many steps of each value lie in each bin, and how many make a record; ends count in the end bins."""
    scale = line.ref.attribute.order(line.ref.fact)
    # Bins with integer labels, such as 7 or 5–9, contain these integers: their edges lie halfway between integers.
    assert isinstance(scale, Singles)
    by_whole = not isinstance(scale, OrderedBins) and scale.whole and all(edge.denominator == 1 for edge in edges)
    inner = [edge - Fraction(int(by_whole), 2) for edge in edges[1:-1]]
    if not inner:
        return np.ones((1, size), dtype=np.int64), 1
    heights, whole = line.below(inner, STRETCH * width, size)
    return between(heights, whole), whole
