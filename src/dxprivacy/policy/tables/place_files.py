"""Read the files that a policy names: points (an id, coordinates, public properties), edges, and values.

A policy may name any file, by mistake or maliciously, even one with personal data, and messages are shown to people who
may not read it.  So errors name lines, but never quote anything below the header.
"""

import csv
import io
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dxprivacy.errors import Hint, PolicyError, did_you_mean
from dxprivacy.exact.arrays import Floats
from dxprivacy.formats.file_access import read_text
from dxprivacy.policy.tables.table_keys import MOST_LISTED
from dxprivacy.policy.toml_file import UNPRINTABLE
from dxprivacy.universe.attributes.attribute import OTHER, Property

_MOST_EDGES = 10_000_000
MOST_COLUMNS = 1_000
LATITUDE, LONGITUDE = ("latitude", "lat"), ("longitude", "lon", "lng", "long")
"""The names of columns of coordinates, in lower case."""


class PlacesFile(NamedTuple):
    """The content of a points file."""

    ids: tuple[str, ...]
    coordinates: Floats
    geographic: bool
    facts: tuple[Property, ...]


def read_places(path: Path, units: Mapping[str, str], identifier: str = "") -> PlacesFile:
    """Read a CSV of points.

    The id is the column `identifier` or `id`, else the first; coordinates are latitude and longitude, or x, y (z).
    """
    table = _read(path)
    names, geographic = _coordinate_names(table.header, path)
    key = _identifier(table.header, identifier, path)
    _require_ids(table, key)
    bounds = (90.0, 360.0) if geographic else (math.inf,) * len(names)
    coordinates = np.column_stack([_numbers(table, n, most) for n, most in zip(names, bounds, strict=True)])
    facts = _facts(table, (key, *names), units)
    known = [fact.name for fact in facts]
    for name in units:
        if name not in known:
            raise PolicyError(
                f"no property “{name}” to give a unit",
                where=str(path),
                hints=did_you_mean(name, known) or [f"properties: {', '.join(known) or 'none'}"],
            )
    return PlacesFile(tuple(table.column(key)), coordinates, geographic, facts)


class ValuesFile(NamedTuple):
    """The content of a file of values."""

    values: tuple[str, ...]
    facts: tuple[Property, ...]


def read_values(path: Path, units: Mapping[str, str], identifier: str, called: Sequence[str]) -> ValuesFile:
    """Read a CSV of values: a column of them, further columns as public properties.

    The values are in the column `identifier`, else `id`, else the one named like the attribute or its data column, else
    the first.
    """
    table = _read(path, "value", "id,state,population")
    if identifier and identifier not in table.header:
        raise PolicyError(f"no column “{identifier}”", where=f"{path}:1", hints=["id names the column of values"])
    key = identifier or next((name for name in ("id", *called) if name in table.header), table.header[0])
    values = table.column(key)
    seen: dict[str, int] = {}
    for k, value in enumerate(values):
        if value == OTHER:
            raise table.error("“other” is reserved for invalid entries", k, "leave it out, or rename it")
        if not value or UNPRINTABLE.search(value):
            what = "has control characters" if value else "is empty"
            raise table.error(f"a value {what}", k, "leave it out: what is not listed counts as “other”")
        if seen.setdefault(value, k) != k:
            first = table.lines[seen[value]]
            raise table.error(f"a value is listed twice, first in line {first}", k, "leave one of them out")
    facts = _facts(table, (key,), units)
    for name in units:
        if name not in (fact.name for fact in facts):
            raise PolicyError(f"no property “{name}” to give a unit", where=f"{path}:1")
    return ValuesFile(tuple(values), facts)


_FEWER: dict[str, Hint] = {
    "values": ("list fewer of them, or groups", "what is not listed counts as “other”"),
    "integers": ("numbers = [0, 1000000] with step = 1000", "wider steps: each value is a bin of the histogram"),
    "numbers": ("wider steps", "each of them is a bin of the histogram"),
}


def too_many(what: str, kind: str, values: int, most: int) -> PolicyError:
    """Return the error for an attribute with too many values to plan and count."""
    return PolicyError(f"{what} has {values:,} values; an attribute may have {most:,} at most", hints=[_FEWER[kind]])


def _facts(table: "_PlaceTable", without: Sequence[str], units: Mapping[str, str]) -> tuple[Property, ...]:
    """Return the further columns as properties."""
    return tuple(
        Property(name, tuple(table.column(name)), units.get(name, "")) for name in table.header if name not in without
    )


class _PlaceTable(NamedTuple):
    path: Path
    header: list[str]
    rows: list[list[str]]
    lines: list[int]

    def column(self, name: str) -> list[str]:
        position = self.header.index(name)  # there are few columns
        return [row[position].strip() for row in self.rows]

    def error(self, what: str, row: int, hint: str) -> PolicyError:
        return PolicyError(what, where=f"{self.path}:{self.lines[row]}", hints=[hint])


def _read(
    path: Path, row: str = "point", example: str = "id,latitude,longitude", most: int | None = None
) -> _PlaceTable:
    rows, lines = [], []
    most = MOST_LISTED if most is None else most
    try:
        reader = csv.reader(io.StringIO(read_text(path), newline=""), strict=True)
        for fields in reader:
            if fields:  # skip empty lines
                rows.append(fields)
                lines.append(reader.line_num)
            if len(rows) > most + 1:
                break
    except FileNotFoundError:
        raise PolicyError("no such file", where=str(path), hints=["paths are relative to the policy file"]) from None
    except OSError as error:
        hint = f"{row}s are in one CSV file"
        raise PolicyError(f"cannot be read: {error.strerror}", where=str(path), hints=[hint]) from None
    except (UnicodeDecodeError, csv.Error, ValueError):
        raise PolicyError(
            "not a CSV file in UTF-8", where=str(path), hints=["save it as UTF-8, with commas and a header line"]
        ) from None
    if len(rows) > most + 1:
        raise PolicyError(f"more than {most:,} {row}s", where=str(path), hints=["leave out what no query will ask for"])
    if len(rows[0] if rows else ()) > MOST_COLUMNS:
        what = f"{len(rows[0]):,} columns; a file of {row}s may have {MOST_COLUMNS:,}"
        raise PolicyError(what, where=f"{path}:{lines[0]}", hints=["leave out what no query will ask for"])
    if len(rows) < 2:
        what = f"needs a header line and at least one {row}"
        raise PolicyError(what, where=str(path), hints=[(example, "for example")])
    header = [name.strip() for name in rows[0]]
    if len(set(header)) != len(header) or "" in header:
        hint = "rename one of them" if "" not in header else "give every column a name"
        raise PolicyError("column names must be different and not empty", where=f"{path}:{lines[0]}", hints=[hint])
    table = _PlaceTable(path, header, rows[1:], lines[1:])
    for k, fields in enumerate(table.rows):
        if len(fields) != len(header):
            what = f"{len(fields)} fields instead of {len(header)}"
            raise table.error(what, k, "quote fields that contain commas")
    return table


def read_edge_rows(path: Path) -> list[tuple[str, ...]]:
    """Read a CSV of edges: a header, then two nodes per line and, where there is a third column, the length."""
    table = _read(path, "edge", "from,to,length", _MOST_EDGES)
    if len(table.header) not in (2, 3):
        raise PolicyError("needs two columns of nodes, or three with the length", where=f"{path}:1")
    edges = [tuple(field.strip() for field in row) for row in table.rows]
    for number, edge in enumerate(edges):
        if not edge[0] or not edge[1]:
            raise table.error("an edge needs its two nodes", number, "a,b")
        if len(edge) == 3 and not _is_number(edge[2]):
            raise table.error("the length of an edge is a number", number, "a,b,0.5")
    return edges


def _is_number(text: str) -> bool:
    try:
        Decimal(text)
    except InvalidOperation:
        return False
    return True


def _identifier(header: list[str], wanted: str, path: Path) -> str:
    if wanted and wanted not in header:
        raise PolicyError(
            f"no column “{wanted}”",
            where=f"{path}:1",
            details=[f"there are: {', '.join(header)}"],
            hints=did_you_mean(wanted, header),
        )
    return wanted or ("id" if "id" in header else header[0])


def _require_ids(table: _PlaceTable, key: str) -> None:
    """Refuse ids that are empty, repeated or reserved; entries of the data are compared with ids."""
    seen: dict[str, int] = {}
    for k, entry in enumerate(table.column(key)):
        if not entry:
            raise table.error(f"{key} is empty", k, "give every point an id")
        if entry == OTHER:
            raise table.error(f"{key} is “other”, reserved for invalid entries", k, "give the point another id")
        if entry in seen:
            what = f"a point's {key} is listed twice, first in line {seen[entry]}"
            raise table.error(what, k, "leave one of them out")
        seen[entry] = table.lines[k]


def _coordinate_names(header: list[str], path: Path) -> tuple[list[str], bool]:
    lower = {name.lower(): name for name in header}
    latitude = next((lower[n] for n in LATITUDE if n in lower), None)
    longitude = next((lower[n] for n in LONGITUDE if n in lower), None)
    if latitude and longitude:
        return [latitude, longitude], True
    plane = [lower[n] for n in ("x", "y", "z") if n in lower]
    if plane:
        return plane, False
    raise PolicyError(
        "no coordinates in its first line",
        where=f"{path}:1",
        hints=["columns latitude and longitude, or x and y, are needed"],
    )


def _numbers(table: _PlaceTable, name: str, most: float) -> Floats:
    out = np.empty(len(table.rows))
    for k, entry in enumerate(table.column(name)):
        try:
            out[k] = float(entry)
        except ValueError:
            out[k] = math.nan
        if not math.isfinite(out[k]):
            what = f"{name} is {'not a number' if entry else 'empty'}"
            raise table.error(what, k, "leave the point out, or correct it")
        if abs(out[k]) > most:
            what = f"{name} does not lie between -{most:g} and {most:g} degrees"
            raise table.error(what, k, "check that latitude and longitude are not swapped")
    return out
