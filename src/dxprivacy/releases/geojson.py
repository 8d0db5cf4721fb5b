"""Released answers as GeoJSON, with a polygon for each grid cell and a point for each place.

Only places on the Earth are written, because GeoJSON has longitudes and latitudes.  A group of places is a point at the
mean of its places.
"""

import json
import math
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from dxprivacy.errors import DxError, Hint, UsageError
from dxprivacy.exact.arrays import Floats
from dxprivacy.releases.answer_tables import AnswerTable, tables_of
from dxprivacy.releases.release_base import Released
from dxprivacy.universe.attributes.attribute_kinds import attribute_from_spec
from dxprivacy.universe.attributes.listed_points import Points
from dxprivacy.universe.plane import Plane

# -- Answers that are grid cells of a map: their labels, and which of them stand out of the noise ----------------------


DEGREES, PLANE = ("latitude", "longitude"), ("x", "y")


def is_map(table: AnswerTable[Any]) -> bool:
    """Whether answers are grid cells by two coordinates, perhaps within groups."""
    sides = table.columns[-2:]
    return sides in (DEGREES, PLANE) and all(between(text) for text in table.groups[0][-2:])


def is_clear(row: Any, cells: int) -> bool:
    """Whether a grid cell stands out of the noise of `cells` grid cells; by chance, hardly any of them does."""
    return bool(row.value > 0 and row.value >= clear_from(float(row.value - row.low), cells))


def clear_from(half_width: float, cells: int) -> float:
    """Return the count from which a grid cell stands out of the noise of `cells` grid cells.

    `half_width` covers 95 % of the noise in each grid cell.  With probability at most 2.5 %, noise of 95 % half-width h
    exceeds h ln(2 cells / 0.05) / ln 20 in one of them.
    """
    return half_width * math.log(40 * cells) / math.log(20)


def fullest_first(table: AnswerTable[Any]) -> AnswerTable[Any]:
    """Return the same grid cells, largest values first."""
    order = sorted(range(len(table)), key=lambda k: -table.answers[k].value)
    return replace(
        table,
        groups=tuple(table.groups[k] for k in order),
        answers=tuple(table.answers[k] for k in order),
        places=tuple(table.places[k] for k in order),
    )


def clear_cells(table: AnswerTable[Any]) -> int:
    """Return how many of its grid cells stand out of the noise."""
    return sum(is_clear(row, len(table)) for row in table.answers)


def between(text: str) -> tuple[float, float] | None:
    """Read the label of a grid cell, such as `48.1 to 48.2`; None for anything else.

    >>> between("-1.5 to 0.25"), between("1/3 to 2/3"), between("B to C"), between("2 to 1")
    ((-1.5, 0.25), (0.3333333333333333, 0.6666666666666666), None, None)
    """
    first, found, last = text.partition(" to ")
    try:
        low, high = number_of(first), number_of(last)
    except (ValueError, ZeroDivisionError):
        return None
    return (low, high) if found and math.isfinite(low) and math.isfinite(high) and low < high else None


def number_of(text: str) -> float:
    """Read a number of a label, perhaps a fraction."""
    above, found, below = text.partition("/")
    return float(above) / float(below) if found else float(text)


# -- Edges of the bins of densities and of the grid cells of maps, as numeric columns ----------------------------------


_ON_EARTH = ("south", "west", "north", "east")


def edge_columns(tables: Sequence[AnswerTable[Any]], facts: Mapping[str, Any]) -> list[str]:
    """Return the names of the edge columns of all tables."""
    return list(dict.fromkeys(name for table in tables for name in _names(table, facts)))


def edges_of(table: AnswerTable[Any], facts: Mapping[str, Any]) -> Iterator[dict[str, float]]:
    """Yield the numbers in the edge columns for each answer of a table."""
    columns, read = _names(table, facts), cache(_ends)
    for groups in table.groups:
        found = [read(text) for text in groups[-len(columns) // 2 :]] if columns else []
        if len(found) == 2:  # both columns of a map: first both lower ends
            found = [(found[0][0], found[1][0]), (found[0][1], found[1][1])]
        yield dict(zip(columns, (x for ends in found for x in ends), strict=True))


def _names(table: AnswerTable[Any], facts: Mapping[str, Any]) -> tuple[str, ...]:
    if len(table.columns) > 1 and is_map(table):
        sides = table.columns[-2:]
        return _ON_EARTH if sides == DEGREES else tuple(f"{side} {end}" for end in ("from", "to") for side in sides)
    if table.columns and table.columns[-1] in _along(facts) and all(_readable(groups[-1]) for groups in table.groups):
        return f"{table.columns[-1]} from", f"{table.columns[-1]} to"
    return ()


def _along(facts: Mapping[str, Any]) -> set[str]:
    """Return the attributes of the densities of a release, with and without the owner's name."""
    given = facts.get("queries")
    asked = [q for q in (given if isinstance(given, list) else []) if isinstance(q, Mapping)]
    names = [str(q.get("of")) for q in asked if q.get("ask") == "density"]
    return {part for name in names for part in (name, name.rpartition(".")[2])}


def _readable(text: str) -> bool:
    try:
        _ends(text)
    except ValueError:
        return False
    return True


def _ends(text: str) -> tuple[float, float]:
    """Return the two numbers in a label, such as `2.5 to 5` or `5–9`; a single number is returned twice.

    >>> _ends("2.5 to 5"), _ends("5–9"), _ends("-3–-1"), _ends("53")
    ((2.5, 5.0), (5.0, 9.0), (-3.0, -1.0), (53.0, 53.0))
    """
    found = between(text)
    if found is not None:
        return found
    first, _, last = text.partition("–")
    return number_of(first), number_of(last or first)


# -- Coordinates of the places of a release, from the universe in its file ---------------------------------------------


def places_of(facts: Mapping[str, Any]) -> dict[str, dict[str, Floats]]:
    """Return the coordinates of places by column and label: latitude and longitude, or x and y in a plane.

    A group of places has the mean of their coordinates.  On the Earth, longitudes continue beyond 180 degrees if places
    lie on both sides of the date line, so that means lie between them.
    """
    earth = on_earth(facts)
    out: dict[str, dict[str, Floats]] = {}
    universe = facts.get("universe")
    given = universe.get("attributes", ()) if isinstance(universe, Mapping) else ()
    specs = [spec for spec in given if isinstance(spec, Mapping)]
    taken = {str(spec.get("name")) for spec in specs}
    for spec in specs:
        if spec.get("kind") not in ("points", "grid", "nearest"):
            continue
        try:
            points = attribute_from_spec(spec)
        except (DxError, KeyError, TypeError, ValueError):
            continue  # unreadable places are not drawn; dxp verify reports the reason
        if isinstance(points, Points) and points.coordinates.shape[1] == 2:
            where = Plane.of(points.coordinates, earth=True).drawn if earth else points.coordinates
            out[points.name] = {points.label(k): where[k] for k in range(points.listed)}
            for fact in points.properties.values():
                middles = _middles(fact.entries, where)
                out[f"{points.name}.{fact.name}"] = middles
                if fact.name not in taken:  # attributes take precedence over properties
                    out.setdefault(fact.name, middles)
    return out


def _middles(entries: Sequence[str], coordinates: Floats) -> dict[str, Floats]:
    labels, which = np.unique(np.array(entries, dtype=object).astype(str), return_inverse=True)
    sums = np.zeros((len(labels), 2))
    np.add.at(sums, which, coordinates)
    means = sums / np.bincount(which, minlength=len(labels))[:, None]
    return dict(zip(labels.tolist(), means, strict=True))


def on_earth(facts: Mapping[str, Any]) -> bool:
    """Whether the policy's places lie on the Earth: great-circle distances, or a graph without plane distances."""
    policy = facts.get("policy")
    metric = policy.get("metric") if isinstance(policy, Mapping) else None
    kinds = set(_kinds(metric))
    return "great-circle" in kinds or ("graph" in kinds and not kinds & {"euclidean", "minkowski"})


def _kinds(spec: Any) -> Iterator[str]:
    """Yield the kinds of all metrics in a specification; coordinates are skipped."""
    if isinstance(spec, Mapping):
        if isinstance(spec.get("kind"), str):
            yield spec["kind"]
        for key, value in spec.items():
            if key != "coordinates":
                yield from _kinds(value)
    elif isinstance(spec, list):
        for value in spec:
            if isinstance(value, Mapping):
                yield from _kinds(value)


# -- Released answers as GeoJSON ---------------------------------------------------------------------------------------


GENERATOR = "dxprivacy"
_DECIMALS = 9  # of degrees: a tenth of a millimeter, and more than labels have
NOWHERE: "list[Hint | str]" = [
    ("density home width 10 km", "a map"),
    ("count by home", "of places with latitude and longitude"),
]


def lies_somewhere(facts: Mapping[str, Any], columns: Container[str]) -> bool:
    """Whether answers with these columns have a place on the Earth."""
    known = on_earth(facts)
    return known and (all(name in columns for name in DEGREES) or any(name in columns for name in places_of(facts)))


def geojson(release: Released, answers: Sequence[Any]) -> str:
    """Return all answers on the Earth as a collection of features; refuse a release without any."""
    features: list[dict[str, Any]] = []
    if on_earth(release.facts):
        places = places_of(release.facts)
        for table in tables_of(answers):
            features += _features(table, places)
    if not features:
        raise UsageError("no answer of this release lies on the Earth", hints=NOWHERE)
    about = {"type": "FeatureCollection", "generator": GENERATOR, "release": release.name}
    lines = ",\n".join(json.dumps(feature, ensure_ascii=False) for feature in features)
    return f'{json.dumps(about, ensure_ascii=False)[:-1]}, "features": [\n{lines}\n]}}\n'


def _features(table: AnswerTable[Any], places: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return grid cells if the last two columns are degrees, else the places of the first column with places."""
    out = []
    cells = table.columns[-2:] == DEGREES
    at = next((k for k, column in enumerate(table.columns) if column in places), None)
    for groups, row in zip(table.groups, table.answers, strict=True):
        shape: dict[str, Any] | None = None
        if cells:
            sides = [between(text) for text in groups[-2:]]
            if sides[0] is not None and sides[1] is not None:
                shape = _cell(sides[0], sides[1])
        elif at is not None and groups[at] in places[table.columns[at]]:
            latitude, longitude = (float(x) for x in places[table.columns[at]][groups[at]])
            shape = {"type": "Point", "coordinates": [_turned(longitude), latitude]}
        if shape is not None:
            named = dict(zip(table.columns, groups, strict=True)) | {"query": table.query}
            numbers = {"value": row.value, "low": row.low, "high": row.high, "unit": row.unit, "note": row.note}
            out.append({"type": "Feature", "geometry": shape, "properties": named | numbers})
    return out


def _cell(latitudes: tuple[float, float], longitudes: tuple[float, float]) -> dict[str, Any]:
    """Return a polygon; two of them if the grid cell crosses the date line (RFC 7946, 3.1.9)."""
    west, east = longitudes
    turn = 360.0 * math.floor((west + 180) / 360)  # maps across the date line continue beyond 180 degrees
    west, east = round(west - turn, _DECIMALS), round(east - turn, _DECIMALS)
    if east <= 180:
        return {"type": "Polygon", "coordinates": [_ring(latitudes, (west, east))]}
    parts = [(west, 180.0), (-180.0, round(east - 360, _DECIMALS))]
    return {"type": "MultiPolygon", "coordinates": [[_ring(latitudes, part)] for part in parts]}


def _turned(longitude: float) -> float:
    """Return the same longitude between -180 and 180 degrees."""
    if -180 <= longitude <= 180:
        return longitude
    return round((longitude + 180) % 360 - 180, _DECIMALS)


def _ring(latitudes: tuple[float, float], longitudes: tuple[float, float]) -> list[list[float]]:
    """Return the corners of a grid cell counterclockwise, with the first one again at the end."""
    (south, north), (west, east) = latitudes, longitudes
    return [[west, south], [east, south], [east, north], [west, north], [west, south]]
