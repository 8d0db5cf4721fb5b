"""Read files in which a line is a row: a row ends at each line feed, and nothing in it can affect another row.

General readers guess formats from the data, and a stray quote can swallow the lines behind it: one changed row then
moves many others. Here a row is the text between two line feeds:

- one carriage return before the line feed is dropped; an empty line is a row; an empty rest behind the last line feed
  is not;
- bytes that are not UTF-8, or not of the encoding that the policy declares, become U+FFFD;
- only the first million characters of a line are read; entries behind them are `other`, and take no memory;
- a file may be compressed: its name then ends in .gz, .bz2, .xz or .zst.
"""

import importlib
import importlib.util
import json
import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from dxprivacy.engines.entries import UNREADABLE
from dxprivacy.engines.files.parquet import recoded
from dxprivacy.engines.fit import require_countable
from dxprivacy.engines.placing import Entries, PlacedBlock, PlacedSource
from dxprivacy.engines.source import Column
from dxprivacy.errors import DataError
from dxprivacy.universe.universe import Universe

COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".xz": "lzma", ".zst": "compression.zstd"}
"""The modules that open compressed files, by the last ending of a name."""

CHUNK = 8 << 20
LONGEST_LINE = 1 << 20
"""Maximum characters of a line.  A longer line is cut there and ends in a mark, so that no cut entry looks complete."""

CUT = "\ufffd"


class LineFile(PlacedSource):
    """A file of lines; subclasses define what precedes the rows, and how a line is split into entries."""

    def __init__(self, path: Path, codec: str = "utf-8") -> None:
        self.name = path.name
        self._path = path
        self._codec = codec

    @abstractmethod
    def begin(self, handle: BinaryIO) -> None:
        """Read what precedes the first row."""

    @abstractmethod
    def entries(self, lines: Sequence[str], universe: Universe) -> list[Entries]:
        """Return the entries of many lines, a list for each column in the order in which the attributes read them."""

    def rows(self) -> int:
        with self.open() as handle:
            self.begin(handle)
            breaks, last = 0, b"\n"
            while chunk := self.next_bytes(handle):
                breaks += chunk.count(b"\n")
                last = chunk
            return breaks + (not last.endswith(b"\n"))

    def blocks(self, universe: Universe) -> Iterator[PlacedBlock]:
        """Yield the distinct lines of some megabytes at a time."""
        with self.open() as handle:
            self.begin(handle)
            for text in self._texts(handle):
                lines = _distinct(text)
                times = np.fromiter(lines.values(), dtype=np.int64, count=len(lines))
                yield PlacedBlock(times, self.entries(list(lines), universe))

    def open(self) -> BinaryIO:
        """Open the file's bytes, uncompressed and in UTF-8."""
        handle = self._unpacked()
        return handle if self._codec == "utf-8" else recoded(handle, self._codec)

    def _unpacked(self) -> BinaryIO:
        packed = COMPRESSIONS.get(self._path.suffix.lower())
        hints: list[str] = []
        try:
            if packed is None:
                return self._path.open("rb")
            handle: BinaryIO = importlib.import_module(packed).open(self._path, "rb")
            return handle
        except ImportError:
            hints = [f"unpack it first; this Python reads {', '.join(_readable())}"]
        except OSError:
            pass
        what = "cannot be unpacked: this Python has no reader for it" if hints else "cannot be opened"
        raise DataError(what, where=self.name, hints=hints)

    def first_line(self, handle: BinaryIO, max_rows: int) -> bytes:
        """Return the bytes up to the first line feed."""
        try:
            return handle.readline(max_rows)
        except Exception:  # damaged archives raise errors of many classes
            pass
        raise self._unreadable()

    def peek(self, handle: BinaryIO) -> bytes:
        """Return some of the next bytes without consuming them."""
        try:
            found: bytes = handle.peek(16)  # type: ignore[attr-defined]  # all readers of ours have it
            return found
        except Exception:
            pass
        raise self._unreadable()

    def next_bytes(self, handle: BinaryIO) -> bytes:
        """Return the next megabytes."""
        try:
            return handle.read(CHUNK)
        except Exception:
            pass
        raise self._unreadable()

    def _unreadable(self) -> DataError:
        packed = self._path.suffix.lower() in COMPRESSIONS
        why = "it is damaged, cut off, or not compressed as its ending says" if packed else ""
        return DataError("cannot be read to its end" + (f": {why}" if why else ""), where=self.name)

    def _texts(self, handle: BinaryIO) -> Iterator[str]:
        """Yield whole lines, some megabytes at a time, without the line feed of the last one."""
        pieces: list[bytes] = []
        room = 4 * LONGEST_LINE + 1  # no character has more than four bytes
        while chunk := self.next_bytes(handle):
            cut = chunk.rfind(b"\n")
            if cut < 0:
                pieces.append(chunk[:room])
                room -= len(pieces[-1])
                continue
            first = chunk.find(b"\n")
            pieces += [chunk[: min(first, room)], chunk[first:cut]]
            # A line feed is never part of a longer UTF-8 sequence, valid or not: no replacement reaches the next row.
            yield b"".join(pieces).decode("utf-8", errors="replace")
            pieces = [chunk[cut + 1 :]]
            room = max(0, 4 * LONGEST_LINE + 1 - len(pieces[0]))
        rest = b"".join(pieces)
        if rest:
            yield rest.decode("utf-8", errors="replace")


def _distinct(block: str) -> "Counter[str]":
    """Count the distinct lines of a block; one carriage return before each line feed is dropped."""
    if "\r" in block:
        block = block.replace("\r\n", "\n").removesuffix("\r")
    lines = Counter(block.split("\n"))
    if len(block) > LONGEST_LINE:
        for line in [line for line in lines if len(line) > LONGEST_LINE]:
            lines[line[:LONGEST_LINE] + CUT] += lines.pop(line)
    return lines


def _readable() -> list[str]:
    """The endings of compressed files that this Python can read."""
    return [end for end, name in COMPRESSIONS.items() if "." not in name and importlib.util.find_spec(name)]


# -- JSON lines (`.jsonl`, `.ndjson`): one line is one row, always; a row is a JSON object -----------------------------
# - An empty line, or `null`, is a row whose every entry is missing.  If a line is cut or holds anything else that is
# not a JSON object, every entry is unreadable: as a key, such an entry is present but unusable. - A missing name or
# `null` is a missing entry; a list, an object or an infinite number is an unreadable one. - Numbers go by their value
# (1 and 1.0 are the whole number 1), true and false are the texts `true` and `false`. - If a key occurs twice, the last
# one counts.
#
# The keys are known only from rows, which must not be read for a schema.  So there is no schema, every column of the
# policy may be there, and a column that the policy misspells makes every record `other`.


ENDINGS = (".jsonl", ".ndjson")
_LONGEST_WHOLE = 400  # digits; beyond, a float64 is infinite


class JsonLines(LineFile):
    """A file of JSON objects, one in each line."""

    has_schema = False

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with self.open():  # checks that it can be opened; all its lines are rows
            pass

    def columns(self) -> list[Column]:
        raise DataError(
            "JSON lines name their columns in every row, and no row may be read for that",
            where=self.name,
            hints=["convert it to Parquet or CSV, or write the policy by hand"],
        )

    def check(self, universe: Universe) -> None:
        """Check the universe alone; there is no schema that could misfit."""
        require_countable(self.name, universe)

    def begin(self, handle: BinaryIO) -> None:
        """Do nothing: the first line is a row."""

    def entries(self, lines: Sequence[str], universe: Universe) -> list[Entries]:
        """Return the values of the keys that the attributes read."""
        names = [column for attribute in universe.attributes for column in attribute.reads]
        rows = [read_object(line) for line in lines]
        return [[UNREADABLE if row is None else _entry(row.get(name)) for row in rows] for name in names]


def read_object(line: str) -> dict[str, Any] | None:
    """Return the object in a line, an empty one for an empty line or `null`, and None for anything else.  Never raises.

    >>> read_object('{"age": 17, "age": 18.0}'), read_object(""), read_object('{"age": 17'), read_object("[1]")
    ({'age': 18.0}, {}, None, None)
    """
    text = line.removeprefix("\ufeff")
    if not text.strip():
        return {}
    try:
        value = json.loads(text, parse_int=_whole, parse_constant=_constant)
    except (ValueError, RecursionError):
        return None
    if value is None:
        return {}
    return value if isinstance(value, dict) else None


def _constant(name: str) -> object:
    return None if name == "NaN" else UNREADABLE  # NaN is missing, as everywhere


def _whole(digits: str) -> int | float:
    return int(digits) if len(digits) < _LONGEST_WHOLE else float(digits)  # int() refuses thousands of digits


def _entry(value: Any) -> object:
    """Return an entry that can be looked up: True must not equal 1, and lists cannot be keys."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and not math.isfinite(value):
        return UNREADABLE
    return value if value is None or isinstance(value, (str, int, float)) else UNREADABLE
