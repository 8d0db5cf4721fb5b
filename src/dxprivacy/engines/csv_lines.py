"""CSV files, read line by line: one line is one row, always.

General CSV readers guess delimiters, quoting and types from the data, and let one stray quote swallow the lines behind
it: one changed row then moves many others.  Here a row is what stands between two line feeds, and nothing in it can
reach another row:

- the first line is the header, which is public; a byte-order mark before it is dropped;
- the delimiter follows from the file's name: tab for `.tsv`, comma otherwise;
- one carriage return before the line feed is dropped; an empty line is a row; nothing after the last line feed is not;
- a field may be quoted as in RFC 4180, but a quote that is not closed ends with its line;
- missing fields are empty, further ones are ignored; bytes that are not UTF-8 become U+FFFD.

So line breaks inside quotes are not supported: they end the row.  Convert such files to Parquet.
"""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from dxprivacy.engines.source import Column, Kind, find_columns, text_reader
from dxprivacy.errors import DataError
from dxprivacy.histogram import Histogram
from dxprivacy.model.arrays import Ints
from dxprivacy.model.universe import Universe

DELIMITERS = {".csv": ",", ".txt": ",", ".tsv": "\t"}
_CHUNK = 8 << 20
_LONGEST_HEADER = 1 << 20


class CsvFile:
    """A CSV file with a header line."""

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self._path = path
        self._delimiter = DELIMITERS[path.suffix.lower()]
        with self._open() as handle:
            self._columns = self._header(handle)

    def columns(self) -> list[Column]:
        """The header's names; a CSV file knows no types."""
        return [Column(name, Kind.UNTYPED) for name in self._columns]

    def check(self, universe: Universe) -> None:
        """Refuse a header without the policy's columns."""
        self._positions(universe)

    def rows(self) -> int:
        """The number of lines below the header."""
        with self._open() as handle:
            self._header(handle)
            breaks, last = 0, b"\n"
            while chunk := self._read(handle):
                breaks += chunk.count(b"\n")
                last = chunk
            return breaks + (not last.endswith(b"\n"))

    def count(self, universe: Universe) -> Histogram:
        """How many lines fall into each cell."""
        positions = self._positions(universe)
        readers = [text_reader(attribute) for attribute in universe.attributes]
        counts = np.zeros(universe.size, dtype=np.int64)
        with self._open() as handle:
            self._header(handle)
            for block in self._blocks(handle):
                lines = _distinct(block)
                rows = _split(lines, self._delimiter, max(positions) + 1)
                cells: Ints = np.zeros(len(rows), dtype=np.int64)
                for position, read, stride in zip(positions, readers, universe.strides, strict=True):
                    texts = [row[position] for row in rows]
                    index = {text: read(text) for text in set(texts)}
                    cells += stride * np.fromiter(map(index.__getitem__, texts), dtype=np.int64, count=len(texts))
                np.add.at(counts, cells, np.fromiter(lines.values(), dtype=np.int64, count=len(lines)))
        return Histogram(universe, counts)

    def distinct(self, column: str, at_most: int) -> set[str] | None:
        """The different fields of one column, not private; None if there are more."""
        position = self._columns.index(column)
        found: set[str] = set()
        with self._open() as handle:
            self._header(handle)
            for block in self._blocks(handle):
                found |= {row[position] for row in _split(_distinct(block), self._delimiter, position + 1)} - {""}
                if len(found) > at_most:
                    return None
        return found

    def _positions(self, universe: Universe) -> list[int]:
        # If no column of the policy is there, the first line may be a record: then it must not be shown.
        is_header = any(attribute.column in self._columns for attribute in universe.attributes)
        between = "tabs" if self._delimiter == "\t" else "commas"
        hint = "" if is_header else f"the first line must name the columns, with {between} between them"
        return find_columns(self.name, self._columns, universe, list_names=is_header, hint=hint)

    def _open(self) -> BinaryIO:
        try:
            return self._path.open("rb")
        except OSError:
            pass
        raise DataError("cannot be opened", where=self.name)

    def _read(self, handle: BinaryIO) -> bytes:
        try:
            return handle.read(_CHUNK)
        except OSError:
            pass
        raise DataError("cannot be read to its end", where=self.name)

    def _header(self, handle: BinaryIO) -> list[str]:
        try:
            line = handle.readline(_LONGEST_HEADER)
        except OSError:
            line = b""
        if line.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise DataError("is UTF-16, not UTF-8", where=self.name, hints=["save it as UTF-8"])
        text = line.decode("utf-8-sig", errors="replace").removesuffix("\n").removesuffix("\r")
        if not text.strip() or len(line) == _LONGEST_HEADER:
            what = "has a first line of more than a megabyte" if text.strip() else "has no header line"
            raise DataError(what, where=self.name, hints=["the first line must name the columns"])
        return split_quoted(text, self._delimiter)

    def _blocks(self, handle: BinaryIO) -> Iterator[str]:
        """Whole lines, some megabytes at a time, without the line feed of the last one."""
        pieces: list[bytes] = []
        while chunk := self._read(handle):
            cut = chunk.rfind(b"\n")
            if cut < 0:
                pieces.append(chunk)
                continue
            pieces.append(chunk[:cut])
            # A line feed is never part of a longer UTF-8 sequence, valid or not: no replacement reaches the next row.
            yield b"".join(pieces).decode("utf-8", errors="replace")
            pieces = [chunk[cut + 1 :]]
        rest = b"".join(pieces)
        if rest:
            yield rest.decode("utf-8", errors="replace")


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
            parts: list[str] = []
            at += 1
            while (close := line.find('"', at)) >= 0 and line.startswith('"', close + 1):
                parts.append(line[at : close + 1])
                at = close + 2
            parts.append(line[at:close] if close >= 0 else line[at:])
            at = close + 1 if close >= 0 else len(line)
            text = "".join(parts)
        end = line.find(delimiter, at)
        fields.append(text + (line[at:] if end < 0 else line[at:end]))
        if end < 0 or len(fields) == at_most:
            return fields
        at = end + 1


def _distinct(block: str) -> "Counter[str]":
    """The lines of a block and how often each stands there; one carriage return before each line feed is dropped."""
    if "\r" in block:
        block = block.replace("\r\n", "\n").removesuffix("\r")
    return Counter(block.split("\n"))


def _split(lines: Iterable[str], delimiter: str, wanted: int) -> list[list[str]]:
    """The fields of each line, at least the wanted number of them."""
    rows = [
        line.split(delimiter, wanted) if '"' not in line else split_quoted(line, delimiter, wanted) for line in lines
    ]
    if min(map(len, rows)) < wanted:
        missing = [""] * wanted
        rows = [row + missing for row in rows]
    return rows
