"""CSV files, read line by line: one line is one row, always.

- The first line is the header, which is public; a byte-order mark before it is dropped.
- The delimiter follows from the file's name: tab for `.tsv`, comma otherwise.
- A field may be quoted as in RFC 4180, but a quote that is not closed ends with its line.
- Missing fields are empty, further ones are ignored.

So line breaks inside quotes are not supported: they end the row.  Convert such files to Parquet.
"""

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from dxprivacy.engines.fit import find_columns, find_keys
from dxprivacy.engines.lines import LineFile
from dxprivacy.engines.placing import Entries
from dxprivacy.engines.source import Column, Kind
from dxprivacy.errors import DataError
from dxprivacy.model.universe import Universe

DELIMITERS = {".csv": ",", ".txt": ",", ".tsv": "\t"}
_LONGEST_HEADER = 1 << 20
_QUOTED = re.compile('"((?:[^"]++|"")*+)"?')  # up to its quote, or to the end; possessive, so that time is linear


class CsvFile(LineFile):
    """A CSV file with a header line."""

    def __init__(self, path: Path, ending: str) -> None:
        super().__init__(path)
        self._delimiter = DELIMITERS[ending]
        with self.open() as handle:
            self._columns = self._header(handle)

    def columns(self) -> list[Column]:
        """The header's names; a CSV file knows no types."""
        return [Column(name, Kind.UNTYPED) for name in self._columns]

    def check(self, universe: Universe) -> None:
        """Refuse a header without the policy's columns."""
        self._positions(universe)
        if universe.people is not None:
            find_keys(self.name, self._columns, universe.people)

    def begin(self, handle: BinaryIO) -> None:
        self._header(handle)

    def entries(self, lines: Sequence[str], universe: Universe) -> list[Entries]:
        positions = [position for read in self._positions(universe) for position in read]
        rows = _split(lines, self._delimiter, max(positions) + 1)
        return [[row[position] for row in rows] for position in positions]

    def _positions(self, universe: Universe) -> list[list[int]]:
        # If no column of the policy is there, the first line may be a record: then it must not be shown.
        is_header = any(column in self._columns for attribute in universe.attributes for column in attribute.reads)
        between = "tabs" if self._delimiter == "\t" else "commas"
        hint = "" if is_header else f"the first line must name the columns, with {between} between them"
        return find_columns(self.name, self._columns, universe, list_names=is_header, hint=hint)

    def _header(self, handle: BinaryIO) -> list[str]:
        line = self.first_line(handle, _LONGEST_HEADER)
        if line.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise DataError("is UTF-16, not UTF-8", where=self.name, hints=["save it as UTF-8"])
        text = line.decode("utf-8-sig", errors="replace").removesuffix("\n").removesuffix("\r")
        if not text.strip() or len(line) == _LONGEST_HEADER:
            what = "has a first line of more than a megabyte" if text.strip() else "has no header line"
            raise DataError(what, where=self.name, hints=["the first line must name the columns"])
        return split_quoted(text, self._delimiter)


def split_quoted(line: str, delimiter: str, at_most: int = sys.maxsize) -> list[str]:
    """The first fields of one line that may contain quotes.

    >>> split_quoted('"a,b",c"d,"e ""f"" g",""', ",")
    ['a,b', 'c"d', 'e "f" g', '']
    >>> split_quoted('a,"never closed,b', ",")
    ['a', 'never closed,b']
    """
    fields, at = [], 0
    while True:
        text = ""
        if line.startswith('"', at):
            found = _QUOTED.match(line, at)
            assert found is not None  # it matches wherever a quote stands
            at = found.end()
            text = found[1].replace('""', '"')
        end = line.find(delimiter, at)
        fields.append(text + (line[at:] if end < 0 else line[at:end]))
        if end < 0 or len(fields) == at_most:
            return fields
        at = end + 1


def _split(lines: Sequence[str], delimiter: str, wanted: int) -> list[list[str]]:
    """The fields of each line, at least the wanted number of them."""
    rows = [
        line.split(delimiter, wanted) if '"' not in line else split_quoted(line, delimiter, wanted) for line in lines
    ]
    if min(map(len, rows)) < wanted:
        missing = [""] * wanted
        rows = [row + missing for row in rows]
    return rows
