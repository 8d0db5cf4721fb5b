"""Released answers about places on a map, and released maps.

An answer is drawn at its place, or at the mean of the places of its group.  The positions are public and stored in the
release with the possible records.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dxprivacy.exact.arrays import Floats
from dxprivacy.output.charts.chart_style import GRAY, INK, PALE, Spec, clean, itself, pointed_at, quantitative, span
from dxprivacy.output.charts.layers import bordered, heading, layer, mark, view
from dxprivacy.output.charts.map_layout import WIDE, plane_of, rounded
from dxprivacy.output.charts.released.answer_panels import AnswerPanel, classes
from dxprivacy.output.charts.shades import SHADES, Ramp
from dxprivacy.output.text.release_text import number
from dxprivacy.releases.geojson import DEGREES, between, is_clear, is_map
from dxprivacy.releases.release import Row
from dxprivacy.universe.attributes.grid import COORDINATE_NAMES

MOST = 5_000  # places
_FEWEST = 3
_NAMED = 8
_PER_CHARACTER, _LINE = 5.7, 14.0
_LARGEST = 420  # of a dot, in square pixels


def map_view(panel: AnswerPanel, places: Mapping[str, Mapping[str, Floats]], *, earth: bool) -> Spec | None:
    """Draw answers at their places, with larger and darker dots for larger answers; None if they have no places."""
    table = panel.table
    if table is None or len(table.columns) != 1 or not _FEWEST <= len(table) <= MOST:
        return None
    known = places.get(table.columns[0], {})
    found = [
        (known[label], label, row) for (label,), row in zip(table.groups, table.answers, strict=True) if label in known
    ]
    if len(found) < len(table) or not found:
        return None
    coordinates = np.array([at for at, _, _ in found])
    if float(np.ptp(coordinates, axis=0).max()) == 0:
        return None
    plane = plane_of(coordinates, earth)
    inside = plane.inside
    rows = [row for _, _, row in found]
    largest = max((abs(row.value) for row in rows if not row.vague), default=0.0) or 1.0
    values: list[Spec] = []
    for k, ((x, y), (_, label, row), shade) in enumerate(zip(rounded(plane.spots), found, classes(rows), strict=True)):
        if inside[k]:
            values.append(_dot(x, y, label, row, shade, largest))
    values.sort(key=lambda v: -v["size"])  # small dots are drawn above large ones
    low, high = plane.low.tolist(), plane.high.tolist()
    spot: Spec = {f: quantitative(f, axis=None, scale=span(low[k], high[k], zero=False)) for k, f in enumerate("xy")}
    size = {"size": quantitative("size", scale=None)}
    dot = mark("circle", stroke=GRAY, strokeWidth=0.7, opacity=0.9)
    named = _apart([v for v in values if v["t"]], low, high, plane.size)
    layers = [
        layer(values, dot, **spot, **size, fill=itself("c"), tooltip=pointed_at("label", "v", "lo", "hi")),
        *bordered(named, {"baseline": "top", "dy": 9, "color": INK, "clip": True}, **spot),
    ]
    away = int((~inside).sum())
    outside = f"; {away:,} lie outside and are not drawn" if away else ""
    title = clean(f"{panel.name} on the map: larger and darker for larger answers{outside}", 100)
    return {**heading(title, 8), **view(*plane.size, layers), "view": {"stroke": PALE}}


def _apart(
    values: Sequence[Spec], low: Sequence[float], high: Sequence[float], size: tuple[float, float]
) -> list[Spec]:
    """Return the first few values whose names do not overlap (greedy)."""
    taken: list[tuple[float, float, float]] = []  # left, right, height
    out = []
    for value in values:
        x, y = ((value[f] - low[k]) / (high[k] - low[k]) * size[k] for k, f in enumerate("xy"))
        half = len(value["t"]) * _PER_CHARACTER / 2
        if all(x + half < a or x - half > b or abs(y - h) > _LINE for a, b, h in taken):
            taken.append((x - half, x + half, y))
            out.append(value)
        if len(out) == _NAMED:
            break
    return out


def _dot(x: float, y: float, label: str, row: Row, shade: int | None, largest: float) -> Spec:
    said = "" if row.vague else f"{clean(label, 24)} {number(row.value, row.low, row.high)}"
    return {
        "x": x,
        "y": y,
        "label": clean(label, 40),
        "v": row.value,
        "lo": row.low,
        "hi": row.high,
        "t": said,
        "c": "white" if shade is None else SHADES[::-1][shade],
        "size": float(f"{max(_LARGEST * (0.0 if row.vague else abs(row.value)) / largest, 14):.4g}"),
    }


# -- A released map: darker grid cells hold more records; uninformative ones are gray ----------------------------------


MAPS = 6  # maps of one query with groups
_TALLEST = 460
_NOISE, _BELOW = "#e4e4e4", -2.0  # the shade of uninformative grid cells, and a number that gets this shade
_SHADES = ("#dbe8f4", "#b9d3e9", "#8fb6da", "#5f98c9", "#2f78b5", "#0b5fa5", "#06325a")
_DENSITY_MAP_NAMED, _DENSITY_MAP_PER_CHARACTER, _DENSITY_MAP_LINE = 6, 6.2, 15.0
_DOTS = 400
_LOOKED_AT = 400  # number of fullest grid cells that are searched for names


@dataclass(frozen=True)
class GridCells:
    """The grid cells of one map: their bounds along both coordinates, and their answers."""

    name: str
    earth: bool
    ends: Floats  # first low, first high, second low, second high
    rows: tuple[Row, ...]

    @cached_property
    def clear(self) -> tuple[bool, ...]:
        """For each grid cell, whether it stands out of the noise of all of them."""
        return tuple(is_clear(row, len(self.rows)) for row in self.rows)

    @property
    def upright(self) -> int:
        """The index of the vertical coordinate: the latitude, or the second coordinate of a plane."""
        return 0 if self.earth else 1

    @property
    def box(self) -> tuple[Floats, Floats]:
        """The lower and the upper corner."""
        first, second = self.ends[:, :2], self.ends[:, 2:]
        low, high = (np.array([f(first), f(second)]) for f in (np.min, np.max))
        return low, high


def maps_of(panel: AnswerPanel) -> list[GridCells]:
    """Return the maps of a panel, one for each group; empty if its answers are not grid cells."""
    table = panel.table
    if table is None or len(table.columns) < 2 or len(table) < 4:
        return []
    if not is_map(table):
        return []
    earth = table.columns[-2:] == DEGREES
    by_group: dict[tuple[str, ...], list[int]] = {}
    for k, groups in enumerate(table.groups):
        by_group.setdefault(groups[:-2], []).append(k)
    known: dict[str, tuple[float, float] | None] = {}
    out = []
    for group, places in by_group.items():
        ends = []
        for k in places:
            sides = [known.setdefault(text, between(text)) for text in table.groups[k][-2:]]
            if sides[0] is None or sides[1] is None:
                return []
            ends.append((*sides[0], *sides[1]))
        name = ", ".join(f"{a} {b}" for a, b in zip(table.columns, group, strict=False))
        out.append(GridCells(name, earth, np.array(ends), tuple(table.answers[k] for k in places)))
    return out


def density_view(cells: GridCells, name: str, places: Mapping[str, Floats]) -> Spec:
    """Draw one map with its key; `places` are the places of the attribute, by name."""
    low, high = cells.box
    up, across = cells.upright, 1 - cells.upright
    if cells.earth:  # a map across the date line continues beyond 180 degrees
        places = {name: np.array([at[0], low[1] + (at[1] - low[1]) % 360]) for name, at in places.items()}
    shrink = math.cos(math.radians(float(low[0] + high[0]) / 2)) if cells.earth else 1.0
    wide, tall = float(high[across] - low[across]) * shrink, float(high[up] - low[up])
    scale = min(WIDE / wide, _TALLEST / tall)
    size = (max(scale * wide, 120.0), max(scale * tall, 80.0))
    ramp = _ramp(cells)
    names = COORDINATE_NAMES[cells.earth]
    axis = {"grid": False, "tickCount": 5, "format": ",~r"}
    beyond = cells.earth and float(high[1]) > 180
    turned = {"labelExpr": "format(datum.value > 180 ? datum.value - 360 : datum.value, ',~r')"} if beyond else {}
    x = quantitative(
        axis={**axis, **turned, "title": names[across]}, scale=span(float(low[across]), float(high[across]), zero=False)
    )
    y = quantitative(axis={**axis, "title": names[up]}, scale=span(float(low[up]), float(high[up]), zero=False))
    values = []
    for ends, row, clear in zip(cells.ends.tolist(), cells.rows, cells.clear, strict=True):
        if row.exact and row.value == 0:
            continue  # no possible record is near
        values.append(
            {
                "x": ends[2 * across],
                "x2": ends[2 * across + 1],
                "y": ends[2 * up],
                "y2": ends[2 * up + 1],
                "c": ramp.shade(row.value if clear else _BELOW),
                "v": number(row.value, row.low, row.high),
                "interval": f"{number(row.low, row.low, row.high)} – {number(row.high, row.low, row.high)}",
            }
        )
    square = {"x": {**x, "field": "x"}, "x2": {"field": "x2"}, "y": {**y, "field": "y"}, "y2": {"field": "y2"}}
    spot: Spec = {"x": {**x, "field": "x"}, "y": {**y, "field": "y"}}
    dots = [{"x": float(at[across]), "y": float(at[up])} for at in places.values()] if len(places) <= _DOTS else []
    named = _named(cells, places, size)
    layers = [
        layer(
            values,
            mark("rect", strokeWidth=0.3),
            **square,
            fill=itself("c"),
            stroke=itself("c"),
            tooltip=pointed_at("v", "interval"),
        ),
        *([layer(dots, mark("circle", size=3, color=GRAY, opacity=0.6, clip=True), **spot)] if dots else []),
        *(bordered(named, {"baseline": "bottom", "dy": -4, "color": INK}, **spot) if named else []),
    ]
    title = clean(", ".join(part for part in (name, cells.name) if part), 100)
    drawn = {**(heading(title, 8) if title else {}), **view(*size, layers), "view": {"stroke": PALE}}
    both = zip(cells.rows, cells.clear, strict=True)
    key = ramp.key([row.value if clear else _BELOW for row, clear in both if not row.exact or row.value])
    return drawn if key is None else {"vconcat": [drawn, key], "spacing": 6}


def _ramp(cells: GridCells) -> Ramp:
    """Return shades for classes that are 1, 2, 5 times a power of ten, up to the largest answer, and one for noise."""
    shown = [row.value for row, clear in zip(cells.rows, cells.clear, strict=True) if clear] or [1.0]
    least, top = min(shown), max(shown)
    ends = (math.floor(math.log10(x)) for x in (least, top))
    steps = [f * 10.0**e for e in range(next(ends), next(ends) + 1) for f in (1, 2, 5) if least < f * 10.0**e < top]
    limits = steps[-(len(_SHADES) - 1) :] or [top]
    texts = [f"{x:,.10g}" for x in limits]
    names = [f"up to {texts[0]}", *(f"to {text}" for text in texts[1:]), "more"]  # a dash would read as a minus
    last = len(_SHADES) - 1
    shades = [_SHADES[round(k * last / (len(names) - 1))] for k in range(len(names))]
    return Ramp((-1.0, *limits), (_NOISE, *shades), ("uninformative", *names), "records in a grid cell")


def _named(cells: GridCells, places: Mapping[str, Floats], size: tuple[float, float]) -> list[Spec]:
    """Return the first listed place around each of the fullest grid cells, as far as names do not overlap."""
    if not places:
        return []
    names, spots = list(places), np.array(list(places.values()))
    low, high = cells.box
    up, across = cells.upright, 1 - cells.upright
    wide = (cells.ends[:, [1, 3]] - cells.ends[:, [0, 2]]).max(axis=0)
    taken: list[tuple[float, float, float]] = []
    out: list[Spec] = []
    order = sorted((k for k, clear in enumerate(cells.clear) if clear), key=lambda k: -cells.rows[k].value)
    for k in order[:_LOOKED_AT]:
        middle = np.array([cells.ends[k, :2].mean(), cells.ends[k, 2:].mean()])
        around = np.flatnonzero((np.abs(spots - middle) <= 1.5 * wide).all(axis=1))
        if not len(around):
            continue
        near = int(around[0])
        if names[near][:1].isdigit() or names[near][:1] == "-":  # points of a grid are named by their coordinates
            continue
        text = clean(names[near], 24)
        x, y = ((float(spots[near, a]) - low[a]) / (high[a] - low[a]) * size[n] for n, a in enumerate((across, up)))
        if not (0 <= x <= size[0] and 0 <= y <= size[1]):
            continue
        half = len(text) * _DENSITY_MAP_PER_CHARACTER / 2
        x = min(max(x, half + 2), size[0] - half - 2)  # keep the whole name on the map, shifted if necessary
        y = y if y + _DENSITY_MAP_LINE + 4 < size[1] else y - _DENSITY_MAP_LINE - 6
        apart = all(x + half + 12 < a or x - half - 12 > b or abs(y - h) > 2 * _DENSITY_MAP_LINE for a, b, h in taken)
        if 2 * half + 4 < size[0] and apart:
            taken.append((x - half - 12, x + half + 12, y))
            at = [low[a] + z / size[n] * (high[a] - low[a]) for n, (a, z) in enumerate(((across, x), (up, y)))]
            out.append({"x": float(at[0]), "y": float(at[1]), "t": text})
        if len(out) == _DENSITY_MAP_NAMED:
            break
    return out
