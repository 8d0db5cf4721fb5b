"""Counts with soft borders along a line of numbers, and densities (docs/formats.md, section 4)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

from dxprivacy.verify import reading
from dxprivacy.verify.attributes.located import Grid
from dxprivacy.verify.attributes.points import Points
from dxprivacy.verify.blocks import Block, Table
from dxprivacy.verify.grouping import Named, resolve
from dxprivacy.verify.orders import CellOrder, DayOrder, PointOrder
from dxprivacy.verify.queries.answers import Asked, Groups, Recipe, Source, Sources
from dxprivacy.verify.queries.base import each_row
from dxprivacy.verify.queries.grouped import ByGroups, Grouped
from dxprivacy.verify.queries.maps import Map, of_regions
from dxprivacy.verify.queries.notes import clamped, left_out, left_out_of
from dxprivacy.verify.queries.worded import Worded
from dxprivacy.verify.reading import refuse
from dxprivacy.verify.soft import Soft
from dxprivacy.verify.universe import Universe
from dxprivacy.verify.words import number_text

STRETCH = Fraction(7, 2)
_MOST_CELLS = 5_000
_MOST_STEPS = 1 << 40


@dataclass(frozen=True)
class Line:
    """Where each listed value lies: cells at their middles."""

    of: Named
    order: PointOrder
    numbers: list[Fraction]

    @property
    def step(self) -> Fraction:
        """Of cells, their size; otherwise 0."""
        return self.order.step if isinstance(self.order, CellOrder) else Fraction(0)

    @property
    def tick(self) -> Fraction:
        """The largest step in which all numbers lie behind the least."""
        least = min(self.numbers)
        return common(x - least for x in self.numbers)

    def below(self, edge: Fraction, length: Fraction, x: Fraction) -> Fraction:
        """How much of a stretch around x lies below an edge."""
        return min(max(edge - x + length / 2, Fraction(0)), length)


def line_of(name: str, universe: Universe, where: str) -> Line:
    """Of an attribute or property with numbers, no series."""
    of = resolve(name, universe, where)
    if of.numbers is None or (of.fact is not None and of.entry is not None):
        raise refuse(f"{name} is no line of numbers", where)
    order = of.order(where, 3)
    if isinstance(order, DayOrder) or not isinstance(order, PointOrder):
        raise refuse(f"{name} is no line of numbers", where)
    step = order.step if isinstance(order, CellOrder) else Fraction(0)
    numbers = [start + step / 2 for start in order.starts]
    if len(set(numbers)) < 2:
        raise refuse(f"{name} has a single value", where)
    return Line(of, order, numbers)


def common(numbers: Any) -> Fraction:
    """The largest fraction of which all are whole multiples."""
    found = [x for x in numbers if x]
    below = math.lcm(*(x.denominator for x in found))
    return Fraction(math.gcd(*(int(x * below) for x in found)), below)


def parted(line: Line, edges: Sequence[Fraction], length: Fraction, where: str) -> tuple[list[list[int]], int]:
    """For each listed value how much of it lies before, between and behind some edges, in whole steps; and all."""
    if not edges:
        return [[1] for _ in line.numbers], 1
    start = min(line.numbers)
    tops = [edge + length / 2 - start for edge in edges]
    tick = common([length, line.tick, *tops])
    if length / tick >= _MOST_STEPS or any(abs(top / tick) >= _MOST_STEPS for top in tops):
        raise refuse("has too fine edges", where)
    out = []
    for x in line.numbers:
        heights = [Fraction(0), *(line.below(edge, length, x) for edge in edges), length]
        out.append([int((b - a) / tick) for a, b in pairwise(heights)])
    return out, int(length / tick)


def beside(found: Grouped, axis: int) -> Table:
    """Groups and conditions of all other attributes."""
    groups = {a: g for a, g in found.groups.items() if a != axis}
    return Table(groups, {a: [1] * len(g) for a, g in groups.items()}, found.sizes)


class Count(ByGroups):
    """`count`, perhaps with soft borders."""

    ask = "count"
    needed = ()
    optional = ("by", "where", "blur", "lengths", *Worded.optional)

    def __init__(self, data: dict[str, Any], universe: Universe, where: str, *, edition: int, units: bool) -> None:
        super().__init__(data, universe, where, edition=edition, units=units)
        self.blur = reading.positive(data["blur"], where) if "blur" in data else None
        self.km = in_km(data, where)
        if self.km and self.blur is None:
            raise refuse("has kilometers of nothing", where)

    def further(self, *, cells: bool = False) -> list[str]:  # noqa: ARG002
        return [] if self.blur is None else [f"blur {number_text(self.blur)}{' km' * self.km}"]

    def bound(self) -> Asked:
        found = self.grouped()
        self.require_unit("")
        notes = [*clamped(self), *left_out(self)]
        if self.blur is not None:
            places = self._places()
            return self._soft(found, self.blur, notes) if places is None else self._regions(found, places, notes)
        block = found.counts()
        return self.asked([block], found.labels, found.named, each_row(block), notes=notes)

    def _places(self) -> Named | None:
        """The one attribute with places that groups and conditions are about, unless a line of numbers is meant."""
        named = [resolve(name, self.universe, self.where) for name in self.touched]
        found = {of.axis: of for of in named if isinstance(of.attribute, Points | Grid) and _flat(of.attribute)}
        if self.km and len(found) != 1:
            raise refuse("has kilometers, and no places", self.where)
        if len(found) != 1 or (not self.km and any(of.numbers is not None for of in named)):
            return None
        return next(iter(found.values()))

    def _regions(self, found: Grouped, of: Named, notes: list[str]) -> Asked:
        """Places are spread over a fine map, whose cells belong to the groups of the nearest places."""
        import numpy as np

        places, axis, size = of.attribute, of.axis, self.universe.shape[of.axis]
        assert isinstance(places, Points | Grid)
        drawn = of_regions(places, self.blur or Fraction(0), self.km or places.earth, self.where)
        groups = np.array(found.groups[axis][: places.listed], dtype=np.int64)
        owners = groups[drawn.nearest()]
        if set(groups.tolist()) - set(owners.tolist()):
            raise refuse("has a group that is too small for its blur", self.where)
        block = drawn.block(axis, size, beside(found, axis), owners, found.sizes[axis])
        wide = f"{number_text(drawn.width)} {'km' if drawn.earth else ''}".rstrip()
        said = (
            f"{self.title or self.words(goals=False)}: every record is spread around its place by a bell of width "
            f"{wide}, and who is near a border counts in part on both sides; intervals are for these counts"
        )
        columns = [dict(zip(*block.column_of(value), strict=True)) for value in range(places.listed)]
        sources = self._soft_sources(found, axis, block, columns)
        return self.asked([block], found.labels, found.named, sources, notes=[said, *notes])

    def _soft_sources(self, found: Grouped, axis: int, block: Block, columns: Sequence[dict[int, int]]) -> Sources:
        """A recipe for each soft group, with the largest part of a record that the blur moves into it or out of it."""
        groups, size = found.groups[axis], found.sizes[axis]
        whole, moved = int(1 / block.unit), [0] * size
        for group, column in zip(groups, columns, strict=False):
            for k in {group, *column} - {-1}:
                moved[k] = max(moved[k], abs(column.get(k, 0) - (whole if k == group else 0)))
        recipes = [Recipe(block.unit, block.bias, blur_bias=most / whole) for most in moved]
        rows = self._rows(found, axis)

        def make(start: int) -> list[Source]:
            return [(recipes[row % size], start + row, None) for row in rows]

        return Sources(recipes, make)

    def _line(self) -> Line:
        """The only one of its attributes and properties with numbers, and the only one of its attribute."""
        named = {(of.axis, of.name): of for of in (resolve(n, self.universe, self.where) for n in self.touched)}
        numbered = [of for of in named.values() if of.numbers is not None]
        if len(numbered) != 1 or sum(axis == numbered[0].axis for axis, _ in named) != 1:
            raise refuse("leaves open what is blurred", self.where)
        key = next(key for key, of in named.items() if of is numbered[0])
        found = ((n, resolve(n, self.universe, self.where)) for n in self.touched)
        name = next(n for n, of in found if (of.axis, of.name) == key)
        return line_of(name, self.universe, self.where)

    def _soft(self, found: Grouped, blur: Fraction, notes: list[str]) -> Asked:
        line = self._line()
        axis, listed = line.of.axis, len(line.numbers)
        if blur > max(line.numbers) - min(line.numbers):
            raise refuse("is blurred over more than its range", self.where)
        owner = dict(zip(line.numbers, found.groups[axis], strict=False))
        places = sorted(owner)
        cuts = [(a, b) for a, b in pairwise(places) if owner[a] != owner[b]]
        owners = [owner[places[0]], *(owner[b] for _, b in cuts)]
        parts, whole = parted(line, [(a + b) / 2 for a, b in cuts], STRETCH * blur, self.where)
        columns: list[dict[int, int]] = []
        for amounts in parts:
            column: dict[int, int] = {}
            for group, amount in zip(owners, amounts, strict=True):
                if group >= 0:
                    column[group] = column.get(group, 0) + amount
            columns.append(column)
        columns += [{group: whole} if group >= 0 else {} for group in found.groups[axis][listed:]]
        around = beside(found, axis)
        block = Soft(axis, found.sizes[axis], columns, around, Fraction(1, whole), Fraction(0))
        wide = f"{number_text(STRETCH / 2 * blur)} {line.of.unit(self.universe)}".rstrip()
        said = (
            f"{self.title or self.words(goals=False)}: who is within {wide} of a border counts in part on both sides; "
            "intervals are for these counts"
        )

        sources = self._soft_sources(found, axis, block, columns)
        return self.asked([block], found.labels, found.named, sources, notes=[said, *notes])

    def _rows(self, found: Grouped, axis: int) -> list[int]:
        """Combinations in the order of the labels; among rows, the blurred groups are numbered fastest."""
        axes = sorted(found.sizes)
        order = [a for a in axes if a != axis] + [axis]
        strides, stride = dict[int, int](), 1
        for a in reversed(order):
            strides[a] = stride
            stride *= found.sizes[a]
        chosen = product(*(range(found.sizes[a]) for a in axes))
        return [sum(strides[a] * g for a, g in zip(axes, groups, strict=True)) for groups in chosen]


def _flat(places: Points | Grid) -> bool:
    return len(places.coordinates[0]) == 2


class Density(ByGroups):
    """`density`."""

    ask = "density"
    optional = ("by", "where", "width", "every", "lengths", *Worded.optional)

    def __init__(self, data: dict[str, Any], universe: Universe, where: str, *, edition: int, units: bool) -> None:
        super().__init__(data, universe, where, edition=edition, units=units)
        self.width, self.every = (
            reading.positive(data[name], where) if name in data else None for name in ("width", "every")
        )
        self.km = in_km(data, where)

    def further(self, *, cells: bool = False) -> list[str]:  # noqa: ARG002
        given = (("width", self.width), ("every", self.every))
        return [f"{name} {number_text(x)}{' km' * self.km}" for name, x in given if x is not None]

    @property
    def touched(self) -> list[str]:
        return [*super().touched, self.of]

    def bound(self) -> Asked:
        self.require_unit("")
        named = resolve(self.of, self.universe, self.where)
        if named.fact is None and isinstance(named.attribute, Points | Grid):
            return self._on_map(named, named.attribute)
        if self.km:
            raise refuse("has kilometers, and no places", self.where)
        found, line = self.grouped(), line_of(self.of, self.universe, self.where)
        of, axis = line.of, line.of.axis
        low, high = min(line.numbers), max(line.numbers)
        width = self.width or (high - low) / 20
        if width > high - low or found.sizes.get(axis, 1) > 1:
            raise refuse("is wider than its range, or by groups of itself", self.where)
        every = self.every or width / 2
        unit = of.unit(self.universe)
        if of.attribute.other:
            self.leave_out_other(found, axis)
        first, last = (low - line.step / 2) / every, (high + line.step / 2) / every
        start, stop = math.floor(first), math.ceil(last) if line.step else math.floor(last) + 1
        if stop - start > _MOST_CELLS:
            raise refuse("has too many cells", self.where)
        edges = [k * every for k in range(start, stop + 1)]
        named_whole = not line.step and all(x.denominator == 1 for x in (*line.numbers, *edges))
        before = Fraction(1, 2) if named_whole else Fraction(0)
        parts, whole = parted(line, [edge - before for edge in edges[1:-1]], STRETCH * width, self.where)
        inside = found.groups.get(axis, [0] * self.universe.shape[axis])
        columns = [dict(enumerate(p)) if g >= 0 else {} for p, g in zip(parts, inside, strict=False)]
        columns += [{}] * (self.universe.shape[axis] - len(parts))
        cells = [line.order.label(a, b) for a, b in pairwise(edges)]
        wide = f"{number_text(STRETCH * width)} {unit}".rstrip()
        beyond = f"; what would lie beyond counts in the first cell ({cells[0]}) and in the last ({cells[-1]})"
        notes = [
            *left_out_of(of, self.called, unit),
            f"{self.called}: every record counts evenly over {wide} around its {of.name}, so that borders are soft; "
            f"intervals are for these counts{beyond if len(cells) > 1 else ''}",
            *clamped(self),
            *left_out(self),
        ]
        block = Soft(axis, len(cells), columns, beside(found, axis), Fraction(1, whole), Fraction(0))
        return self._by_cells(found, block, [((of.name, cell),) for cell in cells], notes)

    def _by_cells(self, found: Grouped, block: Block, cells: Sequence[Groups], notes: list[str]) -> Asked:
        """A count for each cell of each group."""
        recipe = Recipe(block.unit, block.bias)
        together = list(zip(found.labels, found.named, strict=True))
        called = [", ".join(text for _, text in cell) for cell in cells]
        labels = [f"{label}, {cell}" if groups else cell for label, groups in together for cell in called]
        named = [(*groups, *cell) for _, groups in together for cell in cells]

        def make(begin: int) -> list[Source]:
            return [(recipe, begin + row, None) for row in range(block.rows)]

        return self.asked([block], labels, named, Sources([recipe], make), notes=notes)

    def _on_map(self, of: Named, places: Points | Grid) -> Asked:
        found, axis, size = self.grouped(), of.axis, self.universe.shape[of.axis]
        if found.sizes.get(axis, 1) > 1:
            raise refuse("is by groups of itself", self.where)
        if places.other:
            self.leave_out_other(found, axis)
        inside = found.groups.get(axis, [0] * size)
        counted = [k for k in range(places.listed) if inside[k] >= 0]
        drawn = Map(places, counted, self.width, self.every, self.km or places.earth, self.where)
        wide = f"{number_text(drawn.width)} {'km' if drawn.earth else ''}".rstrip()
        notes = [
            *left_out_of(of, self.called, ""),
            f"{self.called}: every record is spread around its place by a bell of width {wide}, so that borders are "
            "soft; intervals are for these counts",
            *clamped(self),
            *left_out(self),
        ]
        return self._by_cells(found, drawn.block(axis, size, beside(found, axis)), drawn.cells(), notes)


def in_km(data: dict[str, Any], where: str) -> bool:
    """Whether lengths are kilometers on the Earth."""
    if data.get("lengths", "km") != "km":
        raise refuse("has lengths of an unknown kind", where)
    return "lengths" in data
