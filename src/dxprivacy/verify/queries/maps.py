"""Densities of places: cells of a map, and how much of every place lies in each (docs/formats.md, section 4)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

from dxprivacy.verify.attributes.located import Grid
from dxprivacy.verify.attributes.points import Points
from dxprivacy.verify.bells import FARTHEST, STEPS, below
from dxprivacy.verify.blocks import Table
from dxprivacy.verify.blurred import Blurred
from dxprivacy.verify.planes import Plane, turned
from dxprivacy.verify.reading import refuse
from dxprivacy.verify.words import number_text

if TYPE_CHECKING:
    from dxprivacy.verify.blurred import Ints

_MOST_CELLS = 20_000
_MOST_FINE = 400_000
_MOST_ENTRIES = 12_000_000
_NAMES = {True: ("latitude", "longitude"), False: ("x", "y")}


def of_regions(attribute: Points | Grid, blur: Fraction, earth: bool, where: str) -> "Map":
    """The finest map of 8, 4 or 2 cells a width that has not too many of them, over all places."""
    everywhere = range(attribute.listed)
    for cells in (8, 4, 2):
        if attribute.listed * (14 * cells + 2) ** 2 > _MOST_ENTRIES and cells > 2:
            continue
        found = Map(attribute, everywhere, blur, blur / cells, earth, where, _MOST_FINE)
        sizes = [max(math.ceil(b / found.step) - math.floor(a / found.step), 1) for a, b in found.box]
        if math.prod(sizes) <= _MOST_FINE:
            return found
    return found


@dataclass(frozen=True)
class Map:
    """Some places of an attribute, the width of their bell and the size of cells."""

    attribute: Points | Grid
    counted: Sequence[int]
    given_width: Fraction | None
    given_every: Fraction | None
    earth: bool
    where: str
    most_cells: int = _MOST_CELLS

    @cached_property
    def plane(self) -> Plane:
        """Where the places lie that count."""
        rows = [self.attribute.coordinates[k] for k in self.counted]
        if not rows or len(rows[0]) != 2:
            raise refuse("is a map of no places", self.where)
        return Plane([(a + 0.0, turned(b) if self.earth else b + 0.0) for a, b in rows], self.earth, self.where)

    @cached_property
    def box(self) -> list[tuple[Fraction, Fraction]]:
        """How far the map reaches along either side."""
        ends = self.plane.ends
        if isinstance(self.attribute, Grid) and len(self.counted) == self.attribute.listed:
            a, b, c, d = self.attribute.box
            turn = (ends[1][0] - b) // 360 * 360 if self.earth else 0
            ends = [(min(a, ends[0][0]), max(c, ends[0][1])), (min(b + turn, ends[1][0]), max(d + turn, ends[1][1]))]
            if self.earth and ends[1][1] - ends[1][0] > 360:
                raise refuse("is a map that goes around the Earth more than once", self.where)
        return [(low * f, high * f) for (low, high), f in zip(ends, self.plane.lengths, strict=True)]

    @cached_property
    def width(self) -> Fraction:
        """As given, or a twentieth of the longer side."""
        longer = max(high - low for low, high in self.box) or Fraction(1)
        if self.given_width is not None and self.given_width > longer:
            raise refuse("is wider than its map", self.where)
        return self.given_width or longer / 20

    @cached_property
    def step(self) -> Fraction:
        """The size of a cell: half the width if nothing is said, doubled until cells are not too many."""
        if self.given_every is not None:
            return self.given_every
        step = self.width / 2
        while math.prod(max(math.ceil(b / step) - math.floor(a / step), 1) for a, b in self.box) > self.most_cells:
            step *= 2
        return step

    @cached_property
    def edges(self) -> list[list[Fraction]]:
        """Along either side."""
        every = self.step
        out, cells = [], 1
        for low, high in self.box:
            first, last = math.floor(low / every), math.ceil(high / every)
            cells *= max(last - first, 1)
            if cells > self.most_cells:
                raise refuse("has too many cells", self.where)
            out.append([k * every for k in range(first, max(last, first + 1) + 1)])
        return out

    def cells(self) -> list[tuple[tuple[str, str], tuple[str, str]]]:
        """What the cells are called, by both coordinates."""
        sides = [self._labels(side) for side in (0, 1)]
        names = _NAMES[self.earth]
        return [((names[0], a), (names[1], b)) for a in sides[0] for b in sides[1]]

    def _labels(self, side: int) -> list[str]:
        edges, f = self.edges[side], self.plane.lengths[side]
        if not self.earth:
            return [f"{number_text(a)} to {number_text(b)}" for a, b in pairwise(edges)]
        step, tens = (edges[1] - edges[0]) / f, 1
        while step * tens < 20:
            tens *= 10
        texts = [number_text(Fraction(round(edge / f * tens), tens)) for edge in edges]
        return [f"{a} to {b}" for a, b in pairwise(texts)]

    def block(self, axis: int, size: int, beside: Table, owners: "Ints | None" = None, groups: int = 0) -> Blurred:
        """All parts, in whole steps; those of one owner together, if cells have owners, and without those of none."""
        import numpy as np

        runs = [self._runs(side) for side in (0, 1)]
        across = len(self.edges[1]) - 1
        cells = (len(self.edges[0]) - 1) * across
        many = np.zeros(size + 1, dtype=np.int64)
        parts: list[Ints] = []
        amounts: list[Ints] = []
        longest, entries = [0, 0], 0
        for value, (first, second) in zip(self.counted, self.plane.rows, strict=True):
            (a, mine), (b, theirs) = runs[0][first], runs[1][second]
            longest = [max(longest[0], len(mine)), max(longest[1], len(theirs))]
            entries += len(mine) * len(theirs)
            if entries > _MOST_ENTRIES:
                raise refuse("has too many parts", self.where)
            amount = (mine[:, None] * theirs[None, :] + STEPS // 2) // STEPS
            part = (a + np.arange(len(mine)))[:, None] * across + (b + np.arange(len(theirs)))[None, :]
            if owners is not None:
                owner = owners[part]
                whole = np.zeros(groups, dtype=np.int64)
                np.add.at(whole, owner[owner >= 0], amount[owner >= 0])
                part, amount = np.arange(groups), whole
            kept = amount > 0
            many[value + 1] = int(kept.sum())
            parts.append(part[kept])
            amounts.append(amount[kept])
        rounding = sum(longest) + 2 + Fraction(longest[0] * longest[1], 2)
        columns = np.cumsum(many), np.concatenate(parts), np.concatenate(amounts)
        shape = (cells if owners is None else groups, size)
        return Blurred(axis, shape, columns, beside, self.plane, self.counted, self.width, rounding)

    def nearest(self) -> "Ints":
        """For each cell the number of the place nearest to its middle, of several the first: in plain float64."""
        import numpy as np

        f, g = self.plane.lengths
        x = np.array([float(self.plane.at(0, row[0]) * f) for row in self.plane.rows])
        y = np.array([float(self.plane.at(1, row[1]) * g) for row in self.plane.rows])
        across = np.array([float((a + b) / 2) for a, b in pairwise(self.edges[1])])
        columns = y[:, None] - across[None, :]
        columns *= columns
        out = []
        for a, b in pairwise(self.edges[0]):
            rise = x - float((a + b) / 2)
            out.append((rise * rise)[:, None] + columns)
            out[-1] = out[-1].argmin(axis=0)
        return np.concatenate(out).astype(np.int64)

    def _runs(self, side: int) -> "dict[float, tuple[int, Ints]]":
        """For every coordinate the first cell in which it has a step, and its steps up to the last such cell."""
        import numpy as np

        edges, f, out = self.edges[side], self.plane.lengths[side], {}
        first, step, far = edges[0], edges[1] - edges[0], FARTHEST * self.width
        for x in {row[side] for row in self.plane.rows}:
            at = self.plane.at(side, x) * f
            # All of the bell lies between these two edges, as far as steps can tell.
            start = min(max(math.floor((at - far - first) / step), 0), len(edges) - 2)
            stop = max(min(math.ceil((at + far - first) / step), len(edges) - 1), start + 1)
            heights = [0, *(below((edge - at) / self.width) for edge in edges[start + 1 : stop]), STEPS]
            steps = [b - a for a, b in pairwise(heights)]
            used = [k for k, s in enumerate(steps) if s]
            out[x] = start + used[0], np.array(steps[used[0] : used[-1] + 1], dtype=np.int64)
        return out
