"""Join a table of rows with a table of people: attributes of a person are stored once and apply to all their rows.

Both are joined by the digest of the key. A person without an entry in the table of people, or with several, has `other`
for its attributes. Which rows are kept depends on the rows alone. So the data of a person are their rows and their
entry.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from dxprivacy.engines.contribution_bounding import NO_KEY, NOT_A_KEY, KeptRows, KeyedRows, required
from dxprivacy.engines.fields import Packing
from dxprivacy.engines.source import Column, Others, Source, in_snapshot
from dxprivacy.errors import DataError
from dxprivacy.exact.arrays import Ints
from dxprivacy.histogram import Histogram
from dxprivacy.universe.people import OWN, People, PersonTable
from dxprivacy.universe.universe import Universe

T = TypeVar("T")


def key_columns(source: Source, people: People) -> list[Column]:
    """Return the key columns of the rows and of the table of people; unknown for lines without a schema."""
    keys = [column for column in source.columns() if column.name in people.key] if source.has_schema else []
    if isinstance(source, BesidePeople) and people.table is not None:
        keys += [column for column in source.people_columns() if column.name in people.table.key]
    return keys


class BesidePeople:
    """Rows, joined with a table of people."""

    def __init__(self, rows: Source, people: Source) -> None:
        self._rows, self._people = rows, people
        self.name, self.has_schema = rows.name, rows.has_schema

    def in_snapshot(self, action: Callable[[Source], T]) -> T:
        """Run an action on one state of each table and return its result."""
        return in_snapshot(
            self._rows,
            lambda rows: in_snapshot(self._people, lambda people: action(BesidePeople(rows, people))),
        )

    def columns(self) -> list[Column]:
        """Return the columns of the rows."""
        return self._rows.columns()

    def people_columns(self) -> list[Column]:
        """Return the columns of the table of people."""
        return self._people.columns()

    def check(self, universe: Universe) -> None:
        """Refuse schemas that do not fit; reads no row."""
        parts = _Parts(universe)
        self._rows.check(parts.of_rows)
        try:
            self._people.check(parts.of_people)
        except DataError as error:
            # `[file]` applies to the rows only, so hints about it would not help
            if not any("[file]" in part for hint in error.hints for part in hint):
                raise
            hints = [("save it with commas, in UTF-8", "or as Parquet: [file] applies to the rows only")]
            raise DataError(f"{error.what} (table of people)", where=error.where, hints=hints) from None

    def rows(self) -> int:
        """Return the number of rows."""
        return self._rows.rows()

    def count(self, universe: Universe) -> Histogram:  # noqa: ARG002
        """Refuse to count: a table of people needs [people] in the policy."""
        raise DataError("a table of people needs [people] in the policy", where=self.name)

    def people(self, universe: Universe) -> int:
        """Return the number of people with rows; refuse an unreadable table of people as early as unreadable rows."""
        parts = _Parts(universe)
        self._people.people(parts.of_people)
        return self._rows.people(parts.of_rows)

    def keyed(self, universe: Universe) -> KeyedRows:  # noqa: ARG002
        """Refuse: one table of people applies to all rows, so it cannot be merged with another."""
        raise DataError("several tables of people cannot be counted together", where=self.name)

    def kept(self, universe: Universe, axes: Sequence[int], *, by_person: bool = False) -> KeptRows:  # noqa: ARG002
        """Count the kept rows by the values of some attributes, including those of their people."""
        parts = _Parts(universe)
        keyed, entries = self.both_keyed(universe)
        kept = keyed.kept(required(parts.of_rows))
        assert kept.person is not None
        values = {parts.rows[k]: v for k, v in Packing(parts.of_rows).columns(kept.numbers).items()}
        values |= parts.known(keyed.digests, entries, kept.person)
        packed = Packing(universe.onto(axes)).pack([values[axis] for axis in axes])
        return KeptRows(kept.person, tuple(packed), kept.counts)

    def both_keyed(self, universe: Universe) -> tuple[KeyedRows, KeyedRows]:
        """Return the rows and the entries of the table of people, each by person."""
        parts = _Parts(universe)
        return self._rows.keyed(parts.of_rows), self._people.keyed(parts.of_people)

    def distinct(self, column: str, max_rows: int) -> set[str] | None:
        """Return the distinct texts of a column of the rows."""
        return self._rows.distinct(column, max_rows)

    def others(self, universe: Universe, max_rows: int | None) -> list[Others]:
        """List the entries that count as `other`, in either table."""
        parts = _Parts(universe)
        mine = dict(zip(parts.rows, self._rows.others(Universe(parts.of_rows.attributes), max_rows), strict=True))
        theirs = self._people.others(Universe(parts.of_people.attributes), max_rows)
        found = mine | dict(zip(parts.people, theirs, strict=True))
        return [found[axis] for axis in range(len(universe.attributes))]


class _Parts:
    """The attributes of the rows and those of people, each as a universe, with their positions in the full universe."""

    def __init__(self, universe: Universe) -> None:
        people = required(universe)
        assert people.table is not None
        names = people.table.attributes
        self.people = [k for k, a in enumerate(universe.attributes) if a.name in names]
        self.rows = [k for k in range(len(universe.attributes)) if k not in self.people]
        self.of_rows = Universe([universe.attributes[k] for k in self.rows], people=people.of_rows())
        self.of_people = Universe(
            [universe.attributes[k] for k in self.people], people=People(people.table.key, people.max_rows)
        )

    def known(self, digests: Sequence[str], table: KeyedRows, person: Ints) -> dict[int, Ints]:
        """Return the values of each kept row's person: `other` unless the person has exactly one entry."""
        entries = np.zeros(len(table.digests), dtype=np.int64)
        np.add.at(entries, table.person, table.counts)
        once = {table.digests[p]: k for k, p in enumerate(table.person.tolist()) if entries[p] == 1}
        once.pop(NO_KEY, None)  # a row without a key does not match an entry without a key
        place = np.array([*(once.get(digest, -1) for digest in digests), -1], dtype=np.int64)[person]
        columns = Packing(self.of_people).columns(table.numbers)
        out = {}
        for k, axis in enumerate(self.people):
            unknown = self.of_people.attributes[k].listed  # the place of `other`
            out[axis] = np.append(columns[k], unknown)[place]
        return out


def table_of(universe: Universe) -> PersonTable | None:
    """Return the table of people that a policy names, or None."""
    return None if universe.people is None else universe.people.table


# -- Statistics of keys, for the curator only: do keys and tables fit? -------------------------------------------------


_MOST_KEYS = 1_000_000  # more keys are not compared by spelling


@dataclass(frozen=True)
class WhoseRows:
    """The number of people with rows, and possible problems with their keys; not private."""

    people: int
    without_key: int  # rows
    unusable: int  # rows whose key is present but unusable
    beyond: int  # people with more than `max_rows` rows
    left_out: int  # their rows that are not kept
    alike: int  # keys that differ from another one only by blanks or case
    unknown: int = 0  # people without an entry in the table of people
    twice: int = 0  # people with several entries there
    rows_of_other: int = 0  # rows of both groups

    def to_dict(self) -> dict[str, int]:
        """Return a dictionary for JSON."""
        return dict(vars(self))


def whose_rows(source: Source, universe: Universe) -> WhoseRows | None:
    """Count people and possible problems with their keys; None if the policy has no people."""
    if universe.people is None:
        return None
    # Rows without a key count as separate people, whatever the policy says, so that missing and unusable keys are both
    # reported.
    rules = replace(required(universe), no_key=OWN)
    universe = Universe(universe.attributes, people=rules, file=universe.file)
    if not isinstance(source, BesidePeople):
        rows = source.keyed(universe)
        return _key_statistics(rows, rules, _alike(source, rules.key))
    rows, entries = source.both_keyed(universe)
    found = _key_statistics(rows, rules, _alike(source, rules.key))
    times = dict(zip(entries.digests, _rows_of(entries).tolist(), strict=True))
    mine = zip(rows.digests, _rows_of(rows).tolist(), strict=True)
    known = [(digest, many) for digest, many in mine if digest not in (NO_KEY, NOT_A_KEY)]
    unknown = [many for digest, many in known if not times.get(digest)]
    twice = [many for digest, many in known if times.get(digest, 0) > 1]
    return WhoseRows(
        **{**vars(found), "unknown": len(unknown), "twice": len(twice), "rows_of_other": sum(unknown + twice)}
    )


def _key_statistics(rows: KeyedRows, rules: People, alike: int) -> WhoseRows:
    own = dict(zip(rows.digests, _rows_of(rows).tolist(), strict=True))
    without, unusable = own.pop(NO_KEY, 0), own.pop(NOT_A_KEY, 0)
    beyond = [many - rules.max_rows for many in own.values() if many > rules.max_rows]
    return WhoseRows(len(own), without, unusable, len(beyond), sum(beyond), alike)


def _rows_of(keyed: KeyedRows) -> Ints:
    """Return the number of rows of each person."""
    out: Ints = np.zeros(len(keyed.digests), dtype=np.int64)
    np.add.at(out, keyed.person, keyed.counts)
    return out


def _alike(source: Source, key: tuple[str, ...]) -> int:
    """Count the keys that equal another one up to blanks and case; only for keys of one column."""
    texts = source.distinct(key[0], _MOST_KEYS) if len(key) == 1 else None
    if texts is None:
        return 0
    written = Counter("".join(text.split()).casefold() for text in texts)
    return sum(many for many in written.values() if many > 1)
