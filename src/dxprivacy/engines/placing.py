"""Counting in Python: rows as entries, each placed by its own reader.

Sources that Python reads (lines, sheets) offer their rows as blocks of columns; everything else is here.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dxprivacy.attributes.base import Attribute
from dxprivacy.attributes.values import Values
from dxprivacy.engines.entries import clean_text, combine, entry_reader
from dxprivacy.engines.packing import Packing, merged
from dxprivacy.engines.source import Column, Others
from dxprivacy.exact.arrays import Ints
from dxprivacy.histogram import Histogram
from dxprivacy.model.universe import Universe

Entries = list[object]


@dataclass(frozen=True)
class Block:
    """Some rows: how often each of them stands there, and the entries of each wanted column.

    Entries are hashable, and equal ones are alike to every reader (True is not 1).
    """

    times: Ints
    columns: list[Entries]


class PlacedSource(ABC):
    """A source whose rows are placed entry by entry."""

    name: str
    has_schema = True

    @abstractmethod
    def columns(self) -> list[Column]:
        """The schema; reads no row."""

    @abstractmethod
    def check(self, universe: Universe) -> None:
        """Refuse a schema that does not fit; reads no row."""

    @abstractmethod
    def rows(self) -> int:
        """The number of rows."""

    @abstractmethod
    def blocks(self, universe: Universe) -> Iterator[Block]:
        """All rows, some at a time; a column for each one that the attributes read, in that order."""

    def count(self, universe: Universe) -> Histogram:
        """How many rows fall into each cell."""
        packing = Packing(universe)
        numbers: list[Ints] = [np.zeros(0, dtype=np.int64) for _ in packing.numbers]
        counts: Ints = np.zeros(0, dtype=np.int64)
        for block, indices in self._placed(universe):
            more = zip(numbers, packing.pack(indices), strict=True)
            numbers, counts = merged([np.concatenate(both) for both in more], np.concatenate([counts, block.times]))
        return packing.histogram(numbers, counts)

    def distinct(self, column: str, at_most: int) -> set[str] | None:
        """The different texts of one column, not private; None if there are more."""
        found: set[str] = set()
        for block in self.blocks(Universe([Values(name=column or "column", column=column, values=("",))])):
            texts = {clean_text(entry) for entry in set(block.columns[0])}
            found |= {text for text in texts if text}
            if len(found) > at_most:
                return None
        return found

    def others(self, universe: Universe, at_most: int | None) -> list[Others]:
        """Which entries count as `other`."""
        found: list[Counter[tuple[object, ...]]] = [Counter() for _ in universe.attributes]
        for block, indices in self._placed(universe):
            for attribute, index, read, counter in zip(
                universe.attributes, indices, _by_attribute(universe, block.columns), found, strict=True
            ):
                for k in np.flatnonzero(index == attribute.listed).tolist():
                    counter[tuple(entries[k] for entries in read)] += int(block.times[k])
        return [_listed(a, counter, at_most) for a, counter in zip(universe.attributes, found, strict=True)]

    def _placed(self, universe: Universe) -> Iterator[tuple[Block, list[Ints]]]:
        """Each block with the index of its rows, attribute by attribute."""
        self.check(universe)
        readers = [entry_reader(attribute.codec) for attribute in universe.attributes]
        for block in self.blocks(universe):
            indices: list[Ints] = []
            for attribute, reader, read in zip(
                universe.attributes, readers, _by_attribute(universe, block.columns), strict=True
            ):
                places = []
                for entries in read:
                    known = {entry: reader(entry) for entry in set(entries)}
                    places.append(np.fromiter(map(known.__getitem__, entries), dtype=np.int64, count=len(entries)))
                indices.append(combine(attribute, places))
            yield block, indices


def _by_attribute(universe: Universe, columns: list[Entries]) -> list[list[Entries]]:
    flat = iter(columns)
    return [[next(flat) for _ in attribute.reads] for attribute in universe.attributes]


def _listed(attribute: Attribute, found: "Counter[tuple[object, ...]]", at_most: int | None) -> Others:
    texts: Counter[tuple[str | None, ...]] = Counter()
    for entries, rows in found.items():
        texts[tuple(clean_text(entry) for entry in entries)] += rows
    return Others.of(attribute.name, attribute.reads, texts, at_most)
