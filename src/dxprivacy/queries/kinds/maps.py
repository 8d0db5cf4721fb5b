"""Maps: a grid over the plane, and the fraction of each place in every grid cell after Gaussian blurring.

A grid cell gets the integral of the Gaussian between its edges, along one side times along the other, in whole steps of
2^-30 of a record (`exact/normal.py`).  Mass beyond the outermost edges counts in the grid cells there, so that every
record counts once.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from dxprivacy.errors import Hint, QueryError, TooLarge
from dxprivacy.exact.arrays import Ints
from dxprivacy.exact.normal import BITS, NEAR, STEPS, all_below
from dxprivacy.exact.rounding import number_text
from dxprivacy.queries.further_fields import KM
from dxprivacy.universe.attributes.grid import COORDINATE_NAMES, Grid
from dxprivacy.universe.attributes.listed_points import Points
from dxprivacy.universe.blocks.bell import MOST_ROWS, Bell
from dxprivacy.universe.plane import Plane

MOST_CELLS = 20_000
MOST_ENTRIES = 12_000_000  # parts of all places together
_USUAL_CELLS = 40  # along the longer side, if no width is given


@dataclass(frozen=True, eq=False)
class Map:
    """The places of an attribute that count, and the grid that they are spread over.

    `inside` has the position of each listed value among the places; -1 where the value does not count.
    """

    attribute: Points
    inside: Ints
    width: Fraction
    every: Fraction
    earth: bool
    most_cells: int = MOST_CELLS

    @classmethod
    def of(
        cls,
        attribute: Points,
        counted: Ints,
        width: Fraction | None,
        every: Fraction | None,
        *,
        earth: bool,
        most_cells: int = MOST_CELLS,
    ) -> "Map":
        """Make a map of the values whose `counted` is not negative; widths default to fractions of the map's size.

        Grid cells are half as wide as the Gaussian; their width is doubled until they are few enough.
        """
        listed = counted[: attribute.listed]
        inside: Ints = np.full(attribute.listed, -1, dtype=np.int64)
        mine = np.flatnonzero(listed >= 0)
        inside[mine] = np.arange(len(mine))
        if attribute.coordinates.shape[1] != 2:
            raise QueryError(f"{attribute.name} does not lie in a plane: its places need two coordinates")
        if not len(mine):
            raise QueryError(f"no place of {attribute.name} is left")
        found = cls(attribute, inside, width or Fraction(1), every or width or Fraction(1), earth)
        low, high = zip(*found.box, strict=True)
        longer = max(b - a for a, b in zip(low, high, strict=True))
        if not longer:
            raise QueryError(
                f"the places of {attribute.name} that count lie at one spot, so there is no map",
                hints=[("count", "how many records there are")],
            )
        wide = width or longer / (_USUAL_CELLS // 2)
        if width is not None and width > longer:
            reach = found.length(rounded(longer))
            raise QueryError(
                f"width {found.length(width)} is wider than the map of {attribute.name}, {reach}",
                hints=[(f"width {found.length(rounded(longer / 10))}", "a tenth of it, or less")],
            )
        if every is not None:
            return cls(attribute, inside, wide, every, earth, most_cells)
        drawn = cls(attribute, inside, wide, wide / 2, earth, most_cells)
        while drawn.cells > most_cells:
            drawn = cls(attribute, inside, wide, 2 * drawn.every, earth, most_cells)
        return drawn

    @cached_property
    def plane(self) -> Plane:
        """The coordinates of the places that count."""
        return Plane.of(self.attribute.coordinates[self.inside >= 0], earth=self.earth)

    @cached_property
    def box(self) -> tuple[tuple[Fraction, Fraction], tuple[Fraction, Fraction]]:
        """The ends of the map along either side, in the unit of lengths; it contains the whole box of a grid."""
        ends = list(self.plane.ends)
        if isinstance(self.attribute, Grid) and (self.inside >= 0).all():
            a, b, c, d = self.attribute.box
            turn = 360 * math.floor((ends[1][0] - b) / 360) if self.earth else 0  # as the map's longitudes
            ends = [(min(a, ends[0][0]), max(c, ends[0][1])), (min(b + turn, ends[1][0]), max(d + turn, ends[1][1]))]
            if self.earth and ends[1][1] - ends[1][0] > 360:
                name = self.attribute.name
                raise QueryError(
                    f"the box of {name} goes so far around the Earth that its map would show places twice",
                    hints=[("box = […]", "in the policy: one that leaves out more degrees of longitude")],
                )
        first, second = ((low * unit, high * unit) for (low, high), unit in zip(ends, self.plane.lengths, strict=True))
        return first, second

    @cached_property
    def _spans(self) -> list[tuple[int, int]]:
        """First and last edge along either side, in multiples of `every`; they enclose the box."""
        ends = [(math.floor(low / self.every), math.ceil(high / self.every)) for low, high in self.box]
        return [(first, max(last, first + 1)) for first, last in ends]

    @property
    def cells(self) -> int:
        """The number of grid cells."""
        return math.prod(last - first for first, last in self._spans)

    @cached_property
    def edges(self) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
        """The edges of the grid cells along either side: whole multiples of `every`."""
        if self.cells > self.most_cells:  # callers check this before, and give a hint
            raise TooLarge(f"{self.cells:,} cells are more than {self.most_cells:,}")
        first, second = (tuple(k * self.every for k in range(a, b + 1)) for a, b in self._spans)
        return first, second

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of grid cells along either side."""
        return len(self.edges[0]) - 1, len(self.edges[1]) - 1

    @cached_property
    def sides(self) -> "tuple[_Side, _Side]":
        """The fraction of each place between the edges, along either side."""
        return _Side.of(self, 0), _Side.of(self, 1)

    @property
    def parts(self) -> int:
        """The number of parts (places times grid cells that they reach) of all places together."""
        return int(self._parts_of_each.sum())

    @property
    def _parts_of_each(self) -> Ints:
        first, second = self.sides
        return np.asarray(first.lengths[first.which] * second.lengths[second.which], dtype=np.int64)

    @property
    def longer(self) -> Fraction:
        """The longer side of its box."""
        return max(high - low for low, high in self.box)

    def length(self, given: Fraction) -> str:
        """Write a length as text, with its unit on the Earth."""
        return f"{number_text(given)} {self.unit}".rstrip()

    @property
    def names(self) -> tuple[str, str]:
        """The names of the two coordinates."""
        return COORDINATE_NAMES[self.earth]

    @property
    def unit(self) -> str:
        """The unit of lengths: km on the Earth."""
        return KM if self.earth else ""

    @cached_property
    def labels(self) -> tuple[list[str], list[str]]:
        """The labels of the grid cells along either side, "from to"; in degrees on the Earth."""
        if not self.earth:
            first, second = ([f"{a} to {b}" for a, b in pairwise(map(number_text, edges))] for edges in self.edges)
            return first, second
        first, second = (
            _degrees([edge / unit for edge in edges], self.every / unit)
            for edges, unit in zip(self.edges, self.plane.lengths, strict=True)
        )
        return first, second

    @cached_property
    def spread(self) -> tuple[Any, Fraction]:
        """A sparse matrix with a column of parts for every place that counts, and a bound of a column's rounding error.

        The bound is in steps (2^-30 of a record).
        """
        from scipy.sparse import csc_array

        sides, many = self.sides, self._parts_of_each
        if int(many.sum()) > MOST_ENTRIES:  # callers check this before, and give a hint
            raise TooLarge(f"{int(many.sum()):,} parts are more than {MOST_ENTRIES:,}")
        starts = np.concatenate([[0], np.cumsum(many)])
        part, amount = np.zeros(int(starts[-1]), dtype=np.int64), np.zeros(int(starts[-1]), dtype=np.int64)
        for k in range(len(many)):
            (a, mine), (b, theirs) = sides[0].column(k), sides[1].column(k)
            here = slice(starts[k], starts[k + 1])
            part[here] = np.add.outer(
                np.arange(a, a + len(mine)) * self.shape[1], np.arange(b, b + len(theirs))
            ).ravel()
            amount[here] = (np.multiply.outer(mine, theirs).ravel() + (STEPS >> 1)) >> BITS
        size = (math.prod(self.shape), len(many))
        n, m = int(sides[0].lengths.max()), int(sides[1].lengths.max())
        return csc_array((amount, part, starts), shape=size), Fraction(n + m + 2) + Fraction(n * m, 2)

    def bell(self) -> Bell:
        """Return how the places are spread."""
        return Bell(self.plane, self.width, self.spread[1])

    def columns(self, matrix: Any, size: int) -> Any:
        """Extend a matrix over places to all values of the attribute; other values, such as `other`, count nowhere."""
        from scipy.sparse import csc_array

        many = np.zeros(size, dtype=np.int64)
        many[: len(self.inside)][self.inside >= 0] = np.diff(matrix.indptr)
        starts = np.concatenate([[0], np.cumsum(many)])
        return csc_array((matrix.data, matrix.indices, starts), shape=(matrix.shape[0], size))


@dataclass(frozen=True, eq=False)
class _Side:
    """The fraction of each place between the edges along one side, as a run of steps for each different coordinate.

    `cells` are the grid cells in which the runs begin.
    """

    which: Ints
    steps: Ints
    cells: Ints
    firsts: Ints
    lengths: Ints

    @classmethod
    def of(cls, found: Map, side: int) -> "_Side":
        """Integrate the Gaussians along one side; only edges within `NEAR` widths of a place matter.

        The distance from a place to the first of these edges is rounded once; further edges follow at whole multiples
        of a step.  So the arguments of `all_below` are off by less than 2^-48, however large the map is.
        """
        numbers, which = found.plane.along(side)
        unit, edges, width = found.plane.lengths[side], found.edges[side], found.width
        step, last = edges[1] - edges[0], len(edges) - 1
        places = [x * unit for x in numbers]
        begins = [min(max(math.ceil((x - NEAR * width - edges[0]) / step), 1), last) for x in places]
        many = min(math.floor(2 * NEAR * width / step) + 2, last)
        first = np.array([float((edges[k] - x) / width) for k, x in zip(begins, places, strict=True)])
        z = first[:, None] + np.arange(many) * float(step / width)
        begin = np.array(begins, dtype=np.int64)
        beyond = begin[:, None] + np.arange(many) >= last
        z[beyond] = math.inf

        def exactly(line: int, place: int) -> Fraction:
            return (edges[begins[line] + place] - places[line]) / width

        heights = all_below(z, exactly)
        steps = np.diff(np.hstack([np.zeros((len(places), 1), dtype=np.int64), heights]), axis=1)
        there = steps > 0
        firsts = there.argmax(axis=1)
        lengths = many - there[:, ::-1].argmax(axis=1) - firsts
        return cls(which, steps, begin - 1, firsts, lengths)

    def column(self, place: int) -> tuple[int, Ints]:
        """Return the grid cell in which the run of a place begins, and the run."""
        at = int(self.which[place])
        first = int(self.firsts[at])
        return int(self.cells[at]) + first, self.steps[at, first : first + int(self.lengths[at])]


def _degrees(edges: Sequence[Fraction], step: Fraction) -> list[str]:
    """Label the intervals between neighboring edges, with enough decimals to distinguish them.

    >>> _degrees([Fraction(0), Fraction(1, 3), Fraction(2, 3)], Fraction(1, 3))
    ['0 to 0.33', '0.33 to 0.67']
    """
    decimals = 0
    while step * 10**decimals < 20:
        decimals += 1
    texts = [number_text(Fraction(round(edge * 10**decimals), 10**decimals)) for edge in edges]
    return [f"{a} to {b}" for a, b in pairwise(texts)]


def rounded(length: Fraction, *, up: bool = False) -> Fraction:
    """Round a positive length down (or up) to two digits.

    >>> str(rounded(Fraction(7319, 10))), str(rounded(Fraction(7319, 10), up=True)), str(rounded(Fraction(1, 3)))
    ('730', '740', '33/100')
    """
    digit = Fraction(10) ** (math.floor(math.log10(length)) - 1)
    return (math.ceil if up else math.floor)(length / digit) * digit


def measured_on_earth(attribute: Points, lengths: str) -> bool:
    """Whether lengths are in kilometers on the Earth, by the query or by the policy's coordinates."""
    return lengths == KM or bool(getattr(attribute, "earth", False))


def in_kilometers(clause: str, lengths: str) -> str:
    """Append the unit to a clause with a length on the Earth."""
    return f"{clause} {KM}" if clause and lengths else clause


# -- Maps that are too large: hints name grid sizes that were tried ----------------------------------------------------
# Memory grows with the grid cells and with the parts (grid cells that a place reaches, summed over places).  Wider grid
# cells mean fewer of both.


_WIDEST = Fraction(16, 100)  # of the longer side: a width that a plan selects is at most this wide
_TRIED = 40


def require_few_cells(drawn: Map, groups: int, *, chosen: bool) -> None:
    """Refuse a map with too many grid cells; `chosen`: a plan will select its width."""
    most = _most_cells(drawn, groups)
    if drawn.cells > most:
        each = f" in each of {groups:,} groups" if most < drawn.most_cells else ""
        raise TooLarge(
            f"{drawn.cells:,} grid cells of {drawn.length(drawn.every)} are more than {most:,}{each}",
            hints=_wider_cells(drawn, groups, chosen=chosen),
        )


def require_few_parts(drawn: Map, groups: int) -> None:
    """Refuse a map whose places have too many parts."""
    if drawn.parts > MOST_ENTRIES:
        raise TooLarge(too_many_parts(drawn), hints=_wider_cells(drawn, groups, chosen=False))


def too_many_parts(drawn: Map) -> str:
    """Return the message about too many parts."""
    places = int((drawn.inside >= 0).sum())
    return (
        f"{places:,} places reach {drawn.parts // places:,} grid cells each: these are {drawn.parts:,} parts, "
        f"more than {MOST_ENTRIES:,}"
    )


def _most_cells(drawn: Map, groups: int) -> int:
    return min(drawn.most_cells, max(MOST_ROWS // groups, 1))


def _wider_cells(drawn: Map, groups: int, *, chosen: bool) -> list[Hint]:
    """Return a hint with a size of grid cells that works, if there is one."""
    width, most = max(drawn.width, drawn.longer * _WIDEST) if chosen else drawn.width, _most_cells(drawn, groups)

    def fits(every: Fraction) -> bool:
        wider = replace(drawn, every=every, width=width)
        return wider.cells <= most and wider.parts <= MOST_ENTRIES

    found = next((every for every in larger(drawn.every, drawn.cells / most, drawn.longer) if fits(every)), None)
    if found is None:
        return [("where …", "fewer places; or coarser ones in the policy, which cost no noise")]
    return [(f"every {drawn.length(found)}", "has few enough")]


def larger(length: Fraction, times: float, most: Fraction) -> Iterator[Fraction]:
    """Yield increasing lengths with two digits, starting at about `sqrt(times)` times the given length.

    At that length a map has `times` fewer grid cells.
    """
    length *= Fraction(math.sqrt(max(times, 1.0)))
    for _ in range(_TRIED):
        if (length := rounded(length, up=True)) > most:
            return
        yield length
        length *= Fraction(11, 10)
