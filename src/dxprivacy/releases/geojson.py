"""Released answers for maps that others draw: GeoJSON, with a polygon for each cell and a point for each place.

Only places on the Earth have one: its coordinates are longitudes and latitudes.  Groups of places have the middle of
those that they hold.
"""

import json
import math
from collections.abc import Container, Mapping, Sequence
from typing import Any

from dxprivacy.errors import Hint, UsageError
from dxprivacy.releases.answer_tables import AnswerTable, tables_of
from dxprivacy.releases.map_cells import DEGREES, between
from dxprivacy.releases.place_coordinates import on_earth, places_of
from dxprivacy.releases.release_base import Released

GENERATOR = "dxprivacy"
_DECIMALS = 9  # of degrees: a tenth of a millimeter, and more than labels have
NOWHERE: "list[Hint | str]" = [
    ("density home width 10 km", "a map"),
    ("count by home", "of places with latitude and longitude"),
]


def lies_somewhere(facts: Mapping[str, Any], columns: Container[str]) -> bool:
    """Whether answers that are grouped by such columns have a place on the Earth."""
    known = on_earth(facts)
    return known and (all(name in columns for name in DEGREES) or any(name in columns for name in places_of(facts)))


def geojson(release: Released, answers: Sequence[Any]) -> str:
    """All answers that lie somewhere, as a collection of features; refuses a release without any."""
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
    """Cells where the last two columns are degrees, otherwise the places of the first column that has any."""
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
            told = dict(zip(table.columns, groups, strict=True)) | {"question": table.question}
            numbers = {"value": row.value, "low": row.low, "high": row.high, "unit": row.unit, "note": row.note}
            out.append({"type": "Feature", "geometry": shape, "properties": told | numbers})
    return out


def _cell(latitudes: tuple[float, float], longitudes: tuple[float, float]) -> dict[str, Any]:
    """A polygon; on either side of the date line one, where a cell crosses it (RFC 7946, 3.1.9)."""
    west, east = longitudes
    turn = 360.0 * math.floor((west + 180) / 360)  # maps across the date line go on beyond 180 degrees
    west, east = round(west - turn, _DECIMALS), round(east - turn, _DECIMALS)
    if east <= 180:
        return {"type": "Polygon", "coordinates": [_ring(latitudes, (west, east))]}
    parts = [(west, 180.0), (-180.0, round(east - 360, _DECIMALS))]
    return {"type": "MultiPolygon", "coordinates": [[_ring(latitudes, part)] for part in parts]}


def _turned(longitude: float) -> float:
    """The same between -180 and 180 degrees."""
    if -180 <= longitude <= 180:
        return longitude
    return round((longitude + 180) % 360 - 180, _DECIMALS)


def _ring(latitudes: tuple[float, float], longitudes: tuple[float, float]) -> list[list[float]]:
    """The corners of a cell, against the clock, the first one again at the end."""
    (south, north), (west, east) = latitudes, longitudes
    return [[west, south], [east, south], [east, north], [west, north], [west, south]]
