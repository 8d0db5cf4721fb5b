"""JSON lines (`.jsonl`, `.ndjson`): one line is one row, always; a row is a JSON object.

- A line that is not a JSON object is a row whose every entry is missing.
- A missing name or `null` is a missing entry; a list, an object or an infinite number is an unreadable one.
- Numbers go by their value (1 and 1.0 are the whole number 1), true and false are the texts `true` and `false`.
- Of a key that stands twice, the last one counts.

Which keys there are is known only from rows, which are not ours to look at: so there is no schema, every column of the
policy may be there, and a column that the policy misspells makes everybody `other`.
"""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

from dxprivacy.engines.entries import UNREADABLE
from dxprivacy.engines.files.line_files import LineFile
from dxprivacy.engines.fit import require_countable
from dxprivacy.engines.placing import Entries
from dxprivacy.engines.source import Column
from dxprivacy.errors import DataError
from dxprivacy.universe.universe import Universe

ENDINGS = (".jsonl", ".ndjson")
_LONGEST_WHOLE = 400  # digits; beyond, a float64 is infinite


class JsonLines(LineFile):
    """A file of JSON objects, one in each line."""

    has_schema = False

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with self.open():  # that it can be opened; its lines are rows
            pass

    def columns(self) -> list[Column]:
        raise DataError(
            "JSON lines name their columns in every row, and no row may be read for that",
            where=self.name,
            hints=["convert it to Parquet or CSV, or write the policy by hand"],
        )

    def check(self, universe: Universe) -> None:
        """There is no schema that could misfit."""
        require_countable(self.name, universe)

    def begin(self, handle: BinaryIO) -> None:
        """The first line is a row."""

    def entries(self, lines: Sequence[str], universe: Universe) -> list[Entries]:
        """The values of the keys that the attributes read."""
        names = [column for attribute in universe.attributes for column in attribute.reads]
        rows = [read_object(line) for line in lines]
        return [[_entry(row.get(name)) for row in rows] for name in names]


def read_object(line: str) -> dict[str, Any]:
    """The object in a line; an empty one where there is none.  Never raises.

    >>> read_object('{"age": 17, "age": 18.0}'), read_object('{"age": 17'), read_object("[1]")
    ({'age': 18.0}, {}, {})
    """
    try:
        value = json.loads(line.removeprefix("\ufeff"), parse_int=_whole, parse_constant=_constant)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _constant(name: str) -> object:
    return None if name == "NaN" else UNREADABLE  # NaN is missing, as everywhere


def _whole(digits: str) -> int | float:
    return int(digits) if len(digits) < _LONGEST_WHOLE else float(digits)  # int() refuses thousands of digits


def _entry(value: Any) -> object:
    """An entry that can be looked up: True must not be taken for 1, and lists have no place in a table."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and not math.isfinite(value):
        return UNREADABLE
    return value if value is None or isinstance(value, (str, int, float)) else UNREADABLE
