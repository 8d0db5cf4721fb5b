"""`coordinates = ["lat", "lon"]`: the two columns of numbers by which a row finds its place."""

from typing import Any

from dxprivacy.exact.lengths import KILOMETERS
from dxprivacy.policy.tables.place_files import PlacesFile
from dxprivacy.policy.tables.table_keys import Keys
from dxprivacy.policy.toml_file import UNPRINTABLE

EXAMPLE = 'coordinates = ["lat", "lon"]'
_BY_ID = ("trim", "fold_case", "aliases")


def two_columns(keys: Keys) -> tuple[str, str]:
    """The columns, in the order of the numbers: latitude first, or x."""
    given = keys.table.get("coordinates")
    if (
        not isinstance(given, list)
        or len(given) != 2
        or len({str(column) for column in given}) != 2
        or not all(isinstance(c, str) and c.strip() and not UNPRINTABLE.search(c) for c in given)
    ):
        what = "coordinates names two columns: of latitudes and of longitudes, or of x and y"
        raise keys.error(what, "coordinates", [EXAMPLE])
    if "column" in keys:
        what = "coordinates stand in two columns, which coordinates names; column means nothing here"
        raise keys.error(what, "column", [EXAMPLE])
    return given[0], given[1]


def nearest(keys: Keys, places: PlacesFile) -> dict[str, Any]:
    """What makes places of a list the nearest ones of rows."""
    for key in _BY_ID:
        if key in keys:
            what = f"{key} is about how ids are written; rows that find their place by coordinates tell none"
            raise keys.error(what, key, [("leave it out", ""), (f"leave out {EXAMPLE}", "where a column tells the id")])
    if places.coordinates.shape[1] != 2:
        what = f"places in {places.coordinates.shape[1]} dimensions cannot be found by two columns"
        raise keys.error(what, "coordinates", [("columns x and y alone", "in the points file")])
    reach = None
    if "reach" in keys and places.geographic:
        reach = keys.length(keys["reach"], "reach", KILOMETERS, "50 km")
    elif "reach" in keys:
        reach = keys.number(keys["reach"], "reach", hints=[("reach = 50", "in the unit of the coordinates")])
    return {"columns": two_columns(keys), "earth": places.geographic, "reach": reach}


def require_by_id(keys: Keys) -> None:
    """Where a column tells the id of a place, there are no numbers to be read, and no way to go."""
    for key in ("format", "reach"):
        if key in keys:
            what = f"{key} is for places that are found by coordinates; here a column tells their ids"
            raise keys.error(what, key, [(EXAMPLE, "two columns of numbers"), ("leave it out", "")])
