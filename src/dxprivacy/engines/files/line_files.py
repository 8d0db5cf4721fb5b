"""Files in which a line is a row: one row ends at each line feed, and nothing in it can reach another row.

General readers guess formats from the data, and let one stray quote swallow the lines behind it: one changed row then
moves many others.  Here a row is what stands between two line feeds:

- one carriage return before the line feed is dropped; an empty line is a row; nothing after the last line feed is not;
- bytes that are not UTF-8, or of the encoding that the policy declares, become U+FFFD;
- of a line its first million characters are looked at: what it says behind them is `other`, and takes no memory;
- a file may be compressed: its name then ends in .gz, .bz2, .xz or .zst.
"""

import importlib
import importlib.util
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np

from dxprivacy.engines.files.recoded import recoded
from dxprivacy.engines.placing import Block, Entries, PlacedSource
from dxprivacy.errors import DataError
from dxprivacy.universe.universe import Universe

COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".xz": "lzma", ".zst": "compression.zstd"}
"""The modules that open compressed files, by the last ending of a name."""

CHUNK = 8 << 20
LONGEST_LINE = 1 << 20
"""Characters.  A longer line is cut there, and ends in a mark, so that what was cut is not taken for whole."""

CUT = "\ufffd"


class LineFile(PlacedSource):
    """A file of lines; subclasses say what is before the rows, and how a line is cut into entries."""

    def __init__(self, path: Path, codec: str = "utf-8") -> None:
        self.name = path.name
        self._path = path
        self._codec = codec

    @abstractmethod
    def begin(self, handle: BinaryIO) -> None:
        """Read what stands before the first row."""

    @abstractmethod
    def entries(self, lines: Sequence[str], universe: Universe) -> list[Entries]:
        """The entries of many lines, a list for each column in the order in which the attributes read them."""

    def rows(self) -> int:
        with self.open() as handle:
            self.begin(handle)
            breaks, last = 0, b"\n"
            while chunk := self.next_bytes(handle):
                breaks += chunk.count(b"\n")
                last = chunk
            return breaks + (not last.endswith(b"\n"))

    def blocks(self, universe: Universe) -> Iterator[Block]:
        """The distinct lines of some megabytes at a time."""
        with self.open() as handle:
            self.begin(handle)
            for text in self._texts(handle):
                lines = _distinct(text)
                times = np.fromiter(lines.values(), dtype=np.int64, count=len(lines))
                yield Block(times, self.entries(list(lines), universe))

    def open(self) -> BinaryIO:
        """The file's bytes, uncompressed and in UTF-8."""
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

    def first_line(self, handle: BinaryIO, at_most: int) -> bytes:
        """The bytes up to the first line feed."""
        try:
            return handle.readline(at_most)
        except Exception:  # damaged archives raise errors of many classes
            pass
        raise self._unreadable()

    def peek(self, handle: BinaryIO) -> bytes:
        """Some of the next bytes, which are still to be read."""
        try:
            found: bytes = handle.peek(16)  # type: ignore[attr-defined]  # all readers of ours have it
            return found
        except Exception:
            pass
        raise self._unreadable()

    def next_bytes(self, handle: BinaryIO) -> bytes:
        """The next megabytes."""
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
        """Whole lines, some megabytes at a time, without the line feed of the last one."""
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
    """The lines of a block and how often each stands there; one carriage return before each line feed is dropped."""
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
