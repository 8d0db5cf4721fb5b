"""Count in Python: a reader maps each entry of a row to its index.

Sources that Python reads (lines, sheets) provide their rows as blocks of columns; everything else is here.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache

import numpy as np

from dxprivacy.engines.contribution_bounding import (
    MISSING_KEY,
    UNUSABLE,
    KeptRows,
    KeyedRows,
    digest_of_key,
    key_of,
    key_part,
    people_in_all,
    required,
)
from dxprivacy.engines.entries import clean_text, combine, entry_reader
from dxprivacy.engines.fields import Packing, merged
from dxprivacy.engines.source import Column, Others
from dxprivacy.exact.arrays import Ints
from dxprivacy.histogram import Histogram
from dxprivacy.universe.attributes.attribute import Attribute
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.people import People
from dxprivacy.universe.reading.calendar import zone_of
from dxprivacy.universe.reading.codecs import Days
from dxprivacy.universe.universe import Universe

# -- The offsets of a time zone as a short table, so that SQL and Python agree on the day of an instant ----------------
# Databases bring their own time-zone data, which differs from Python's (in 111 of 599 zones, before 1970 or after
# 2030). Here Python's `zoneinfo` is the only one: SQL gets the moments at which the offset changes, and adds constants.


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST = int((datetime(1800, 1, 1, tzinfo=UTC) - _EPOCH).total_seconds())  # before, every zone has one offset
_LAST = int((datetime(9999, 12, 29, tzinfo=UTC) - _EPOCH).total_seconds())
_STEP = 86_400  # no zone has ever changed its offset twice within a day


def offsets(days: Days) -> tuple[tuple[int, int], ...]:
    """Return the offsets of local time from UTC as sorted pairs (from, offset) in seconds.

    They hold for all instants within two days of the attribute's range; the first pair also holds before it.

    >>> from datetime import date
    >>> offsets(Days(date(2026, 6, 1), date(2026, 12, 31), "Europe/Berlin"))
    ((1780099200, 7200), (1792890000, 3600))
    """
    first = int((datetime.combine(days.first, datetime.min.time(), UTC) - _EPOCH).total_seconds()) - 2 * 86_400
    last = int((datetime.combine(days.last, datetime.min.time(), UTC) - _EPOCH).total_seconds()) + 3 * 86_400
    if not days.timezone:
        return ((max(first, _FIRST), 0),)
    return _between(zone_of(days.timezone), max(first, _FIRST), min(last, _LAST))


@lru_cache(maxsize=64)
def _between(zone: tzinfo, first: int, last: int) -> tuple[tuple[int, int], ...]:
    at, offset = first, _offset(zone, first)
    out = [(at, offset)]
    while at < last:
        ahead = min(at + _STEP, last)
        if _offset(zone, ahead) == offset:
            at = ahead
            continue
        same, changed = at, ahead
        while changed - same > 1:
            middle = (same + changed) // 2
            if _offset(zone, middle) == offset:
                same = middle
            else:
                changed = middle
        at, offset = changed, _offset(zone, changed)
        out.append((at, offset))
    return tuple(out)


def _offset(zone: tzinfo, seconds: int) -> int:
    local = (_EPOCH + timedelta(seconds=seconds)).astimezone(zone)
    return int((local.utcoffset() or timedelta(0)).total_seconds())


# -- Counting in Python ------------------------------------------------------------------------------------------------


Entries = list[object]
_MERGED = 16  # blocks at a time


@dataclass(frozen=True)
class PlacedBlock:
    """A block of rows: how often each row occurs, and the entries of each wanted column.

    Entries are hashable, and every reader treats equal entries alike (True is not 1).
    """

    times: Ints
    columns: list[Entries]


class PlacedSource(ABC):
    """A source whose rows are mapped entry by entry."""

    name: str
    has_schema = True

    @abstractmethod
    def columns(self) -> list[Column]:
        """Return the schema; reads no row."""

    @abstractmethod
    def check(self, universe: Universe) -> None:
        """Refuse a schema that does not fit; reads no row."""

    @abstractmethod
    def rows(self) -> int:
        """Return the number of rows."""

    @abstractmethod
    def blocks(self, universe: Universe) -> Iterator[PlacedBlock]:
        """Yield all rows in blocks; a block has one column for each column that the attributes read, in that order."""

    def count(self, universe: Universe) -> Histogram:
        """Count the rows of each possible record."""
        packing = Packing(universe)
        numbers: list[Ints] = [np.zeros(0, dtype=np.int64) for _ in packing.numbers]
        counts: Ints = np.zeros(0, dtype=np.int64)
        for block, indices in self._placed(universe):
            more = zip(numbers, packing.pack(indices), strict=True)
            numbers, counts = merged([np.concatenate(both) for both in more], np.concatenate([counts, block.times]))
        return packing.histogram(numbers, counts)

    def people(self, universe: Universe) -> int:
        """Return the number of people."""
        self.check(universe)
        found: dict[str, int] = {}
        people = required(universe)
        columns = Universe([_as_text(column) for column in people.key])
        for block in self.blocks(columns):
            for key, times in zip(_keys(block.columns, people), block.times.tolist(), strict=True):
                found[key] = found.get(key, 0) + times
        without_key = found.pop(MISSING_KEY, 0)
        found.pop(UNUSABLE, 0)
        return people_in_all(len(found), without_key, people)

    def keyed(self, universe: Universe) -> KeyedRows:
        """Count the rows by person and possible record."""
        packing, people = Packing(universe), required(universe)
        self.check(universe)
        places = _Places(universe)
        columns = Universe([*universe.attributes, *(_as_text(column) for column in people.key)])
        read = sum(len(attribute.reads) for attribute in universe.attributes)
        parts = []
        for block in self.blocks(columns):
            keys, which = distinct_places(_keys(block.columns[read:], people))
            packed = packing.pack(places.of(block.columns[:read]))
            parts.append(KeyedRows(tuple(map(digest_of_key, keys)), which, tuple(packed), block.times))
            if len(parts) == _MERGED:
                parts = [KeyedRows.merged(parts, packing)]
        return KeyedRows.merged(parts, packing)

    def kept(self, universe: Universe, axes: Sequence[int], *, by_person: bool = False) -> KeptRows:  # noqa: ARG002
        """Count the kept rows by the values of some attributes."""
        return self.keyed(universe).kept(required(universe)).onto(universe, axes)

    def distinct(self, column: str, max_rows: int) -> set[str] | None:
        """Return the distinct texts of one column (not private); None if there are more than `max_rows`."""
        found: set[str] = set()
        for block in self.blocks(Universe([_as_text(column)])):
            texts = {clean_text(entry) for entry in set(block.columns[0])}
            found |= {text for text in texts if text}
            if len(found) > max_rows:
                return None
        return found

    def others(self, universe: Universe, max_rows: int | None) -> list[Others]:
        """List the entries that count as `other`."""
        found: list[Counter[tuple[object, ...]]] = [Counter() for _ in universe.attributes]
        for block, indices in self._placed(universe):
            for attribute, index, read, counter in zip(
                universe.attributes, indices, _by_attribute(universe, block.columns), found, strict=True
            ):
                for k in np.flatnonzero(index == attribute.listed).tolist():
                    counter[tuple(entries[k] for entries in read)] += int(block.times[k])
        return [_listed(a, counter, max_rows) for a, counter in zip(universe.attributes, found, strict=True)]

    def _placed(self, universe: Universe) -> Iterator[tuple[PlacedBlock, list[Ints]]]:
        """Yield each block with the indices of its rows, attribute by attribute."""
        self.check(universe)
        places = _Places(universe)
        for block in self.blocks(universe):
            yield block, places.of(block.columns)


class _Places:
    """The mapping of rows to indices, attribute by attribute."""

    def __init__(self, universe: Universe) -> None:
        self._universe = universe
        self._readers = [
            [entry_reader(entry.codec) for entry in attribute.entries_read] for attribute in universe.attributes
        ]

    def of(self, columns: list[Entries]) -> list[Ints]:
        """Return the indices of rows from the entries of each column that the attributes read, in that order."""
        indices: list[Ints] = []
        by_attribute = zip(
            self._universe.attributes, self._readers, _by_attribute(self._universe, columns), strict=True
        )
        for attribute, readers, read in by_attribute:
            places = []
            for reader, entries in zip(readers, read, strict=True):
                known = {entry: reader(entry) for entry in set(entries)}
                places.append(np.fromiter(map(known.__getitem__, entries), dtype=np.int64, count=len(entries)))
            indices.append(combine(attribute, places))
        return indices


def _as_text(column: str) -> Values:
    """Return an attribute that reads a column, to get the raw entries."""
    return Values(name=f"text of {column}", column=column, values=("",))


def _keys(columns: list[Entries], people: People) -> list[str]:
    """Return the key of each row; equal entries are read once."""
    rows = list(zip(*map(_key_parts, columns), strict=True))
    known = {row: key_of(row, people) for row in set(rows)}
    return [known[row] for row in rows]


def _key_parts(entries: Entries) -> list[str]:
    # By type, too: 2**53 and 2.0**53 are equal, but only the first is a key.
    typed = list(zip(map(type, entries), entries, strict=True))
    known = {each: key_part(each[1]) for each in set(typed)}
    return [known[each] for each in typed]


def distinct_places(texts: Sequence[str]) -> tuple[list[str], Ints]:
    """Return the distinct texts, and the position of each text among them."""
    at: dict[str, int] = {}
    places = [at.setdefault(text, len(at)) for text in texts]
    return list(at), np.array(places, dtype=np.int64)


def _by_attribute(universe: Universe, columns: list[Entries]) -> list[list[Entries]]:
    flat = iter(columns)
    return [[next(flat) for _ in attribute.reads] for attribute in universe.attributes]


def _listed(attribute: Attribute, found: "Counter[tuple[object, ...]]", max_rows: int | None) -> Others:
    texts: Counter[tuple[str | None, ...]] = Counter()
    for entries, rows in found.items():
        texts[tuple(clean_text(entry) for entry in entries)] += rows
    return Others.of(attribute.name, attribute.reads, texts, max_rows)
