"""`grid = "5 km"` over a declared box: cells that are made up without a list, and without the data."""

import math
from fractions import Fraction

from dxprivacy.errors import Hint
from dxprivacy.exact.lengths import KILOMETERS
from dxprivacy.metrics import Metric
from dxprivacy.policy.tables.found_by_coordinates import two_columns
from dxprivacy.policy.tables.listed_kinds import distances_between
from dxprivacy.policy.tables.table_keys import LENGTHS, Keys
from dxprivacy.universe.attributes.attribute import Attribute
from dxprivacy.universe.attributes.grid import MOST_CELLS, Grid, too_many_cells

_DEGREE = Fraction("111.1951")  # kilometers on the sphere of our distances, rounded up
_EARTH = ("box = [47.2, 5.8, 55.1, 15.1]", "south, west, north, east, in degrees")
_PLANE = ("box = [0, 0, 1000, 500]", "the least x and y, then the largest")


def grid(keys: Keys) -> tuple[Attribute, Metric]:
    """Cells that are no higher and no wider than told: of a length on the Earth, or a number in a plane."""
    columns = two_columns(keys)
    earth = isinstance(keys["grid"], str)
    if earth:
        size = keys.length(keys["grid"], "grid", KILOMETERS, "5 km")
    else:
        hints: list[Hint | str] = [('grid = "5 km"', "for latitudes and longitudes"), ("grid = 5", "for x and y")]
        size = keys.number(keys["grid"], "grid", hints=hints)
    box = _box(keys, earth)
    high, wide = box[2] - box[0], box[3] - box[1]
    if earth:
        high, wide = high * _DEGREE, wide * _DEGREE * _widest(box[0], box[2])
    cells = math.ceil(high / size), math.ceil(wide / size)
    if math.prod(cells) > MOST_CELLS:
        error = too_many_cells(keys.name, math.prod(cells))
        raise keys.error(error.what, "grid", error.hints)
    attribute = Grid(columns=columns, box=box, cells=cells, earth=earth, **keys.common())
    return attribute, distances_between(keys, attribute, earth=earth)


def _box(keys: Keys, earth: bool) -> tuple[Fraction, Fraction, Fraction, Fraction]:
    """Two opposite corners."""
    example = _EARTH if earth else _PLANE
    given = keys.table.get("box")
    if not isinstance(given, list) or len(given) != 4:
        what = f"{keys.name}: a grid needs a box: rows outside of it count as “other”"
        raise keys.error(what, "box" if "box" in keys else "grid", [example])
    a, b, c, d = (keys.number(x, "box", "a side of the box", (-LENGTHS[1], LENGTHS[1]), [example]) for x in given)
    if earth and (max(abs(a), abs(c)) > 90 or max(abs(b), abs(d)) > 360):
        raise keys.error("latitudes lie between -90 and 90, longitudes between -360 and 360", "box", [example])
    if not a < c or not b < d:
        hints: list[Hint | str] = [example]
        if earth and b > d:
            hints.append((f"east = {d + 360}", "across the date line, if the data counts longitudes so"))
        raise keys.error("the box is empty: its first corner is the lesser one on both sides", "box", hints)
    if earth and d - b > 360:
        raise keys.error("the box goes more than once around the Earth", "box", [example])
    return a, b, c, d


def _widest(south: Fraction, north: Fraction) -> Fraction:
    """The largest cosine of a latitude in the box, rounded up: there a degree of longitude is longest."""
    if south <= 0 <= north:
        return Fraction(1)
    nearest = min(abs(south), abs(north))
    return min(Fraction(1), Fraction(math.ceil(math.cos(math.radians(nearest)) * 10**9 + 1), 10**9))
