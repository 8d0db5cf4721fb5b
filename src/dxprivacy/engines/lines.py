"""Files in which a line is a row: one row ends at each line feed, and nothing in it can reach another row.

General readers guess formats from the data, and let one stray quote swallow the lines behind it: one changed row then
moves many others.  Here a row is what stands between two line feeds:

- one carriage return before the line feed is dropped; an empty line is a row; nothing after the last line feed is not;
- bytes that are not UTF-8 become U+FFFD;
- a file may be compressed: its name then ends in .gz, .bz2, .xz or .zst.
"""

import importlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np

from dxprivacy.engines.entries import clean_text, combine, entry_of, entry_reader
from dxprivacy.engines.source import SHOWN_OTHERS, Column, Others
from dxprivacy.errors import DataError
from dxprivacy.histogram import Histogram
from dxprivacy.model.arrays import Ints
from dxprivacy.model.attributes import Attribute
from dxprivacy.model.universe import Universe

COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".xz": "lzma", ".zst": "compression.zstd"}
"""The modules that open compressed files, by the last ending of a name."""

CHUNK = 8 << 20

Lines = Counter[str]
Entries = list[object]


class LineFile(ABC):
    """A file of lines; subclasses say what is before the rows, and how a line is cut into entries."""

    has_schema = True

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self._path = path

    @abstractmethod
    def columns(self) -> list[Column]:
        """The schema; reads no row."""

    @abstractmethod
    def check(self, universe: Universe) -> None:
        """Refuse a schema that does not fit; reads no row."""

    @abstractmethod
    def begin(self, handle: BinaryIO) -> None:
        """Read what stands before the first row."""

    @abstractmethod
    def entries(self, lines: Sequence[str], universe: Universe) -> list[Entries]:
        """The entries of many lines, a list for each column in the order in which the attributes read them.

        They must be hashable, and equal ones must be alike to every reader.
        """

    def rows(self) -> int:
        """The number of lines."""
        with self.open() as handle:
            self.begin(handle)
            breaks, last = 0, b"\n"
            while chunk := self._read(handle):
                breaks += chunk.count(b"\n")
                last = chunk
            return breaks + (not last.endswith(b"\n"))

    def count(self, universe: Universe) -> Histogram:
        """How many lines fall into each cell."""
        counts = np.zeros(universe.size, dtype=np.int64)
        for times, _, indices in self._placed(universe):
            cells: Ints = np.zeros(len(times), dtype=np.int64)
            for index, stride in zip(indices, universe.strides, strict=True):
                cells += stride * index
            np.add.at(counts, cells, times)
        return Histogram(universe, counts)

    def others(self, universe: Universe) -> list[Others]:
        """Which entries count as `other`."""
        found: list[Counter[tuple[object, ...]]] = [Counter() for _ in universe.attributes]
        for times, columns, indices in self._placed(universe):
            for attribute, index, read, counter in zip(universe.attributes, indices, columns, found, strict=True):
                for k in np.flatnonzero(index == attribute.listed).tolist():
                    counter[tuple(entries[k] for entries in read)] += int(times[k])
        return [most_frequent(a, counter) for a, counter in zip(universe.attributes, found, strict=True)]

    def _placed(self, universe: Universe) -> Iterator[tuple[Ints, list[list[Entries]], list[Ints]]]:
        """For some lines at a time: how often each stands there, its entries and its index, attribute by attribute."""
        self.check(universe)
        readers = [entry_reader(entry_of(attribute)) for attribute in universe.attributes]
        with self.open() as handle:
            self.begin(handle)
            for block in self._blocks(handle):
                lines = _distinct(block)
                flat = iter(self.entries(list(lines), universe))
                columns = [[next(flat) for _ in attribute.reads] for attribute in universe.attributes]
                indices: list[Ints] = []
                for attribute, read, reader in zip(universe.attributes, columns, readers, strict=True):
                    places = []
                    for entries in read:
                        known = {entry: reader(entry) for entry in set(entries)}
                        places.append(np.fromiter(map(known.__getitem__, entries), dtype=np.int64, count=len(entries)))
                    indices.append(combine(attribute, places))
                yield np.fromiter(lines.values(), dtype=np.int64, count=len(lines)), columns, indices

    def open(self) -> BinaryIO:
        """The file's bytes, uncompressed."""
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

    def _read(self, handle: BinaryIO) -> bytes:
        try:
            return handle.read(CHUNK)
        except Exception:
            pass
        raise self._unreadable()

    def _unreadable(self) -> DataError:
        packed = self._path.suffix.lower() in COMPRESSIONS
        why = "it is damaged, cut off, or not compressed as its ending says" if packed else ""
        return DataError("cannot be read to its end" + (f": {why}" if why else ""), where=self.name)

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


def most_frequent(attribute: Attribute, found: "Counter[tuple[object, ...]]") -> Others:
    """What counts as `other`, the most frequent entries first."""
    texts: Counter[tuple[str | None, ...]] = Counter()
    for entries, rows in found.items():
        texts[tuple(clean_text(entry) for entry in entries)] += rows
    ordered = sorted(texts.items(), key=lambda item: (-item[1], [text or "" for text in item[0]]))
    return Others(attribute.name, attribute.reads, sum(texts.values()), len(texts), tuple(ordered[:SHOWN_OTHERS]))


def _distinct(block: str) -> Lines:
    """The lines of a block and how often each stands there; one carriage return before each line feed is dropped."""
    if "\r" in block:
        block = block.replace("\r\n", "\n").removesuffix("\r")
    return Counter(block.split("\n"))


def _readable() -> list[str]:
    """The endings of compressed files that this Python can read."""
    import importlib.util

    return [end for end, name in COMPRESSIONS.items() if "." not in name and importlib.util.find_spec(name)]
