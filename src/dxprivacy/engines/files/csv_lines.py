"""Read CSV files line by line: one line is one row, unless the policy declares that quoted fields have line breaks.

- The first line is the header, which is public, unless the policy names the columns; a byte-order mark is dropped.
- The delimiter is declared, or follows from the file's name: tab for `.tsv`, comma otherwise.
- A field may be quoted as in RFC 4180, but a quote that is not closed ends with its line.
- Missing fields are empty, extra ones are ignored. If a line was cut, or a quote in it is not closed, its missing
  fields are unreadable instead, and unusable as keys: they may have been there.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np

from dxprivacy.engines.files import csv_header, csv_quoted
from dxprivacy.engines.files.csv_records import split_all, split_quoted
from dxprivacy.engines.files.line_files import CUT, LONGEST_LINE, LineFile
from dxprivacy.engines.fit import find_columns, find_keys
from dxprivacy.engines.placing import Entries, PlacedBlock
from dxprivacy.engines.source import Column, ColumnKind
from dxprivacy.errors import DataError
from dxprivacy.universe.file_format import PLAIN, FileFormat
from dxprivacy.universe.universe import Universe

DELIMITERS = {".csv": ",", ".txt": ",", ".tsv": "\t"}
_LONGEST_HEADER = 1 << 20
_MARK = "\ufeff"
_WORDS = {",": "commas", ";": "semicolons", "\t": "tabs"}


class CsvFile(LineFile):
    """A CSV file; its header, or the policy, names the columns."""

    def __init__(self, path: Path, ending: str, file: FileFormat = PLAIN) -> None:
        super().__init__(path, file.codec)
        self._file = file
        self._delimiter = file.delimiter or DELIMITERS[ending]
        self._first = b""  # the header line: if it does not fit, it may show why
        self._columns = list(file.columns)
        with self.open() as handle:
            self.begin(handle)

    def columns(self) -> list[Column]:
        """Return the header's names; a CSV file has no types."""
        return [Column(name, ColumnKind.UNTYPED) for name in self._columns]

    @property
    def oddities(self) -> list[csv_header.HeaderRemedy]:
        """Possible problems for the curator to check, from the header alone."""
        return csv_header.remedies(self._first, self._delimiter, self._file) if self._file.has_header else []

    def check(self, universe: Universe) -> None:
        """Refuse a header without the policy's columns."""
        self._positions(universe)
        if universe.people is not None:
            find_keys(self.name, self._columns, universe.people)

    def begin(self, handle: BinaryIO) -> None:
        """Read the header, if there is one."""
        if self._file.has_header:
            self._first, self._columns = self._header(handle)

    def rows(self) -> int:
        if not self._file.quoted_line_breaks:
            return super().rows()
        with self.open() as handle:
            self.begin(handle)
            return sum(map(len, self._records(handle)))

    def blocks(self, universe: Universe) -> Iterator[PlacedBlock]:
        if not self._file.quoted_line_breaks:
            yield from super().blocks(universe)
            return
        with self.open() as handle:
            self.begin(handle)
            for records in self._records(handle):
                distinct = Counter(records)
                times = np.fromiter(distinct.values(), dtype=np.int64, count=len(distinct))
                yield PlacedBlock(times, self.entries(list(distinct), universe))

    def _records(self, handle: BinaryIO) -> Iterator[list[str]]:
        return csv_quoted.records(lambda: self.next_bytes(handle), self._delimiter, self.name)

    def entries(self, lines: Sequence[str], universe: Universe) -> list[Entries]:
        positions = [position for read in self._positions(universe) for position in read]
        if not self._file.has_header:  # dropped from every record, not only the first: rows have no order
            lines = [line.removeprefix(_MARK) for line in lines]
        wanted = max(positions) + 1
        rows = split_all(lines, self._delimiter, wanted)
        for k, line in enumerate(lines):
            if len(line) > LONGEST_LINE or ('"' in line and line.count('"') % 2):
                fields = split_quoted(line, self._delimiter, wanted)
                rows[k] = fields + [CUT] * (wanted - len(fields))
        return [[row[position] for row in rows] for position in positions]

    def _positions(self, universe: Universe) -> list[list[int]]:
        wanted = [column for attribute in universe.attributes for column in attribute.reads]
        if not self._file.has_header:
            return find_columns(self.name, self._columns, universe, hints=["columns in [file] names them, in order"])
        # If no column of the policy is there, the first line may be a record: then it must not be shown.
        is_header = any(column in self._columns for column in wanted)
        between = _WORDS.get(self._delimiter, f"“{self._delimiter}”")
        hints = csv_header.hints(self._first, self._delimiter, self._file, wanted)
        declared = "" if self._file.encoding == PLAIN.encoding else f", in {self._file.encoding}"
        usual = [] if is_header else [f"the first line must name the columns, with {between} between them{declared}"]
        return find_columns(self.name, self._columns, universe, list_names=is_header, hints=[*hints, *usual])

    def _header(self, handle: BinaryIO) -> tuple[bytes, list[str]]:
        line = self.first_line(handle, _LONGEST_HEADER)
        while self._file.quoted_line_breaks and line.count(b'"') % 2 and len(line) < _LONGEST_HEADER:
            more = self.first_line(handle, _LONGEST_HEADER - len(line))
            if not more:
                raise csv_quoted.unsound(self.name)
            line += more
        text = line.decode("utf-8-sig", errors="replace").removesuffix("\n").removesuffix("\r")
        csv_header.require_readable(line, text, self._file, self.name)
        if not text.strip() or len(line) == _LONGEST_HEADER:
            what = "has a first line of more than a megabyte" if text.strip() else "has no header line"
            raise DataError(what, where=self.name, hints=["the first line must name the columns"])
        return line, split_quoted(text, self._delimiter)
