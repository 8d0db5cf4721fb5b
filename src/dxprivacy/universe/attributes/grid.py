"""A grid over a declared box: two columns of coordinates, by which each row falls into a grid cell.

All grid cells have the same height and width, in degrees or in the unit of a plane, and their edges are exact
fractions.  The two coordinates of a row are read like `numbers` in bins, one along each side of the box.  The point
that stands for a grid cell is its middle, rounded to so few decimals that it differs by at most a fortieth of the
cell; labels, properties and distances all use this rounded point.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from dxprivacy.errors import PolicyError, QueryError
from dxprivacy.exact.arrays import Floats
from dxprivacy.exact.rounding import exact, number_text, written_fraction
from dxprivacy.universe.attributes.attribute import OTHER, Property
from dxprivacy.universe.attributes.binned_numbers import Numbers
from dxprivacy.universe.attributes.listed_points import Points
from dxprivacy.universe.ordering.order import Scale, SideOfGrid, rough_text
from dxprivacy.universe.reading.codecs import NumbersInBins

MOST_CELLS = 250_000
"""The largest number of grid cells: plans compare pairs of their middles."""
HALF, ROUNDED = Fraction(1, 2), Fraction(1, 40)
"""The distance from the middle of a grid cell to its edge, and the largest rounding of the middle, in steps."""
COORDINATE_NAMES = {True: ("latitude", "longitude"), False: ("x", "y")}
"""The names of the two coordinates in queries: on the Earth, and in a plane."""


def middle_text(middle: Fraction, step: Fraction) -> str:
    """Round a middle to the fewest decimals that keep it within a fortieth of the step.

    >>> middle_text(Fraction(481370, 10000) + Fraction(1, 3000), Fraction(449, 10000)), middle_text(Fraction(5, 2), 5)
    ('48.137', '2.5')
    """
    decimals = 0
    while step * 10**decimals < 20:
        decimals += 1
    return number_text(Fraction(round(middle * 10**decimals), 10**decimals))


@dataclass(frozen=True, kw_only=True)
class Grid(Points):
    """The grid cells of a box [a, b, c, d], from a to c in the first column and from b to d in the second.

    >>> home = Grid(name="home", columns=("lat", "lon"), box=(47, 10, 49, 13), cells=(4, 3), earth=True)
    >>> home.listed, home.label(0), home.find("48.9, 12.99"), home.properties["latitude"].entries[:4]
    (12, '47.25, 10.5', 11, ('47.25', '47.25', '47.25', '47.75'))
    """

    ids: tuple[str, ...] = field(init=False, default=())
    coordinates: Floats = field(init=False, repr=False, compare=False, default_factory=lambda: np.zeros((0, 2)))
    columns: tuple[str, str]
    box: tuple[Fraction, Fraction, Fraction, Fraction]
    cells: tuple[int, int]
    earth: bool = False
    kind: str = field(init=False, default="grid")
    bad_example = "a place outside the box"
    counts_more = True  # two coordinates mean the grid cell in which they lie

    def __post_init__(self) -> None:
        columns, box, cells = tuple(self.columns), tuple(Fraction(exact(x)) for x in self.box), tuple(self.cells)
        if len(columns) != 2 or len(set(columns)) != 2 or not all(isinstance(c, str) and c.strip() for c in columns):
            raise PolicyError(f"{self.name} needs two columns of coordinates", hints=['coordinates = ["lat", "lon"]'])
        if len(box) != 4 or len(cells) != 2 or not all(type(n) is int and n > 0 for n in cells):
            raise PolicyError(f"{self.name} needs a box of four numbers, and how many cells its sides have")
        if math.prod(cells) > MOST_CELLS:
            raise too_many_cells(self.name, math.prod(cells))
        if self.earth and (max(abs(box[0]), abs(box[2])) > 90 or max(abs(box[1]), abs(box[3])) > 360):
            raise PolicyError(f"{self.name}: the box is none of latitudes and longitudes")
        if self.facts or self.spelling:
            raise PolicyError(f"{self.name}: cells of a grid have no properties and no spellings of their own")
        for key, value in (("columns", columns), ("box", box), ("cells", cells)):
            object.__setattr__(self, key, value)
        self._require_cut()
        texts = self._texts
        object.__setattr__(self, "ids", tuple(f"{a}, {b}" for a in texts[0] for b in texts[1]))
        first, second = (np.array([float(Fraction(text)) for text in side]) for side in texts)
        middles = np.stack([np.repeat(first, cells[1]), np.tile(second, cells[0])], axis=1)
        object.__setattr__(self, "coordinates", middles)
        super().__post_init__()

    def _require_cut(self) -> None:
        """Raise PolicyError unless the edges of all steps are exact, as fractions and in float64."""
        try:
            _ = self.entries_read
        except PolicyError:
            raise PolicyError(
                f"{self.name}: its box cannot be cut into {self.cells[0]:,} times {self.cells[1]:,} cells exactly",
                hints=["round the box to a few decimals", "its first corner is the lesser one on both sides"],
            ) from None

    @cached_property
    def entries_read(self) -> tuple[Numbers, Numbers]:
        """The two sides of the box, as numbers in bins."""
        sides = ((self.box[0], self.box[2]), (self.box[1], self.box[3]))
        made = [
            Numbers(name=column, low=low, high=high, step=(high - low) / n, format=self.format)
            for column, (low, high), n in zip(self.columns, sides, self.cells, strict=True)
        ]
        return made[0], made[1]

    @cached_property
    def _texts(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The rounded middles along each side, as text."""
        first, second = (
            tuple(middle_text(side.start(k) + side.step / 2, side.step) for k in range(side.listed))
            for side in self.entries_read
        )
        return first, second

    @property
    def listed(self) -> int:
        return math.prod(self.cells)

    @property
    def reads(self) -> tuple[str, ...]:
        return self.columns

    @property
    def codec(self) -> NumbersInBins:  # type: ignore[override]
        """The codec of the first column; the second has its own."""
        return self.entries_read[0].codec

    @property
    def located(self) -> object:
        return self.columns, self.box, self.cells, self.format

    def find(self, value: object) -> int:
        """Return the grid cell of two coordinates separated by a comma; labels have this form."""
        if self.has_other and value == OTHER:
            return self.listed
        given = str(value).split(",")
        if len(given) != 2:
            raise self._unknown(value)
        index = 0
        for side, text in zip(self.entries_read, given, strict=True):
            try:
                place = side.find(text.strip())
            except QueryError:
                place = side.listed
            if place == side.listed:
                raise self._unknown(value)
            index = index * side.listed + place
        return index

    @cached_property
    def properties(self) -> Mapping[str, Property]:
        first, second = self._texts
        names = COORDINATE_NAMES[self.earth]
        return {
            names[0]: Property(names[0], tuple(text for text in first for _ in second)),
            names[1]: Property(names[1], second * len(first)),
        }

    def _side(self, fact: Property) -> int:
        """Return the side of the box to which a property belongs."""
        return COORDINATE_NAMES[self.earth].index(fact.name)

    def order(self, fact: Property | None = None) -> Scale | None:
        """Return the order of a side; as for numbers in bins, no edge may cut a step."""
        if fact is None:
            return super().order(fact)
        which, (rows, columns) = self._side(fact), self.cells
        side = self.entries_read[which]
        places = [k for k in range(rows) for _ in range(columns)] if which == 0 else list(range(columns)) * rows
        starts = [side.start(k) for k in range(side.listed)]
        return SideOfGrid(f"{self.name}.{fact.name}", [starts[k] for k in places], step=side.step)

    def hides(self, fact: Property | None = None) -> tuple[Fraction, Fraction]:
        """Return the distance from the rounded middle (at most a fortieth of a step off) to the ends of the step."""
        if fact is None:
            return super().hides(fact)
        most = self.entries_read[self._side(fact)].step * (HALF + ROUNDED)
        return most, most

    def counts_as_in_sums(self, fact: Property | None = None) -> str:
        if fact is None:
            return ""
        return f"the middle of its step of {rough_text(self.entries_read[self._side(fact)].step)}"

    @property
    def declared(self) -> Sequence[Property]:
        return ()

    @property
    def needed(self) -> str:
        a, b, c, d = map(number_text, self.box)
        return f"{self.columns[0]} from {a} to {c} and {self.columns[1]} from {b} to {d}{self._written}"

    def spec(self) -> dict[str, Any]:
        return self._base_spec() | {
            "columns": list(self.columns),
            "box": [str(x) for x in self.box],
            "cells": list(self.cells),
            "earth": self.earth,
        }

    @classmethod
    def own_arguments(cls, spec: Mapping[str, Any]) -> dict[str, Any]:
        if not isinstance(spec["earth"], bool):
            raise TypeError("earth is true or false")
        return {
            "columns": tuple(spec["columns"]),
            "box": tuple(written_fraction(x) for x in spec["box"]),
            "cells": tuple(spec["cells"]),
            "earth": spec["earth"],
        }


def too_many_cells(name: str, cells: int) -> PolicyError:
    """Return the error for a grid with too many cells."""
    return PolicyError(
        f"{name}: a grid of {cells:,} cells is more than the {MOST_CELLS:,} we can hold",
        hints=[('grid = "20 km"', "wider cells, for example"), ("box = […]", "or a smaller box")],
    )
