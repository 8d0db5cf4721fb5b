"""Files of points: an id, coordinates, and further columns that are public properties."""

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dxprivacy.errors import PolicyError
from dxprivacy.model.arrays import Floats
from dxprivacy.model.attributes import Property

_LATITUDE, _LONGITUDE = ("latitude", "lat"), ("longitude", "lon", "lng", "long")


class PlacesFile(NamedTuple):
    """What a points file holds."""

    ids: tuple[str, ...]
    coordinates: Floats
    geographic: bool
    facts: tuple[Property, ...]


def read_places(path: Path, units: Mapping[str, str], identifier: str = "") -> PlacesFile:
    """Read a CSV of points.

    The id is the column named `id` (or as told), else the first; coordinates are latitude and longitude, or x, y (z).
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.reader(file, strict=True))
    except FileNotFoundError:
        raise PolicyError("no such file", where=str(path), hints=["paths are relative to the policy file"]) from None
    except (UnicodeDecodeError, csv.Error):
        raise PolicyError("not a CSV file in UTF-8", where=str(path)) from None
    except OSError as error:
        raise PolicyError(f"cannot be read: {error.strerror}", where=str(path)) from None
    if len(rows) < 2:
        raise PolicyError("needs a header line and at least one point", where=str(path))
    header = [name.strip() for name in rows[0]]
    if len(set(header)) != len(header) or "" in header:
        raise PolicyError("column names must be different and not empty", where=f"{path}:1")
    for number, row in enumerate(rows[1:], 2):
        if len(row) != len(header):
            raise PolicyError(f"{len(row)} fields instead of {len(header)}", where=f"{path}:{number}")
    columns = {name: [row[k].strip() for row in rows[1:]] for k, name in enumerate(header)}
    key = _identifier(header, identifier, path)
    names, geographic = _coordinate_names(header, path)
    coordinates = np.column_stack([_numbers(columns[name], name, path) for name in names])
    facts = tuple(
        Property(name, tuple(entries), units.get(name, ""))
        for name, entries in columns.items()
        if name != key and name not in names
    )
    unknown = [name for name in units if name not in {fact.name for fact in facts}]
    if unknown:
        raise PolicyError(f"no property “{unknown[0]}” to give a unit", where=str(path))
    return PlacesFile(tuple(columns[key]), coordinates, geographic, facts)


def _identifier(header: list[str], wanted: str, path: Path) -> str:
    if wanted and wanted not in header:
        raise PolicyError(f"no column “{wanted}”", where=f"{path}:1", details=[f"there are: {', '.join(header)}"])
    return wanted or ("id" if "id" in header else header[0])


def _coordinate_names(header: list[str], path: Path) -> tuple[list[str], bool]:
    lower = {name.lower(): name for name in header}
    latitude = next((lower[n] for n in _LATITUDE if n in lower), None)
    longitude = next((lower[n] for n in _LONGITUDE if n in lower), None)
    if latitude and longitude:
        return [latitude, longitude], True
    plane = [lower[n] for n in ("x", "y", "z") if n in lower]
    if plane:
        return plane, False
    raise PolicyError(
        "no coordinates", where=f"{path}:1", details=["columns latitude and longitude, or x and y, are needed"]
    )


def _numbers(entries: list[str], name: str, path: Path) -> Floats:
    out = np.empty(len(entries))
    for k, entry in enumerate(entries):
        try:
            out[k] = float(entry)
        except ValueError:
            raise PolicyError(f"{name} is {entry[:40]!r}, a number is needed", where=f"{path}:{k + 2}") from None
    return out
