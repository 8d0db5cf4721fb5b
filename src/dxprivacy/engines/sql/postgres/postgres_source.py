"""Count a table of a PostgreSQL server: one GROUP BY runs on the server, and only its groups are transferred.

Every query has a transaction of its own, so that the schema and the counted rows belong together. A table that was
changed meanwhile is refused or counted as it is now, never half of each. Inside `in_snapshot`, several queries share
one transaction.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from dxprivacy.engines.contribution_bounding import KeptRows, KeyedRows, people_in_all, required
from dxprivacy.engines.fields import Packing
from dxprivacy.engines.nearest_places import BLOCK, Locator
from dxprivacy.engines.placement import Read
from dxprivacy.engines.source import Column, Entry, Others, Source, notice
from dxprivacy.engines.sql.counting_sql import Counting, domain, fitted, key_columns, selected
from dxprivacy.engines.sql.people_sql import PERSON, Keeping
from dxprivacy.engines.sql.postgres.postgres_connection import connected
from dxprivacy.engines.sql.postgres.postgres_dialect import POSTGRES
from dxprivacy.engines.sql.postgres.postgres_failures import GRANT, Address
from dxprivacy.engines.sql.postgres.postgres_tables import ServerColumn, ServerTable, look
from dxprivacy.errors import DataError
from dxprivacy.exact.arrays import Ints
from dxprivacy.histogram import Histogram
from dxprivacy.universe.attributes.attribute import Attribute
from dxprivacy.universe.file_format import PLAIN, FileFormat
from dxprivacy.universe.people import People
from dxprivacy.universe.reading.codecs import Surroundings
from dxprivacy.universe.universe import Universe

if TYPE_CHECKING:
    from psycopg import Connection

T = TypeVar("T")
_COUNTING, _KEEPING = Counting(POSTGRES), Keeping(POSTGRES)
_MOST_JOINS = 32  # planning two hundred takes the server seconds, and five hundred all its memory
_LONGEST_LIST = 1 << 20  # longest list that is looked up without a join, value by value
_MOST_COLUMNS = 1_664  # limit of one SELECT
_AT_ONCE = 1 << 14  # groups that are held as Python numbers at a time


class PostgresSource:
    """A table of a server."""

    has_schema = True

    def __init__(self, address: Address, declared: FileFormat = PLAIN) -> None:
        self.name = address.name
        self._address = address
        self._declared = declared
        self._held: tuple[Connection[Any], ServerTable] | None = None  # a transaction that several queries share
        if by_role := self._asked(lambda found: found.table.by_role):
            role = declared.row_security_role
            notice(f"{self.name}: {by_role}: the records are the rows that role “{role}” sees")

    def columns(self) -> list[Column]:
        """Return the schema; reads no row."""
        return self._asked(lambda found: [known.column for known in found.table.columns])

    def check(self, universe: Universe) -> None:
        """Refuse a schema that does not fit; reads no row."""
        self._asked(lambda found: found.check(universe))

    def rows(self) -> int:
        """Return the number of rows."""
        return self._asked(lambda found: found.rows())

    def count(self, universe: Universe) -> Histogram:
        """Count the rows of each possible record."""
        return self._asked(lambda found: found.count(universe))

    def people(self, universe: Universe) -> int:
        """Return the number of people."""
        return self._asked(lambda found: found.people(required(universe)))

    def keyed(self, universe: Universe) -> KeyedRows:
        """Count the rows by person and possible record."""
        return self._asked(lambda found: found.keyed(universe))

    def kept(self, universe: Universe, axes: Sequence[int], *, by_person: bool = False) -> KeptRows:
        """Count the kept rows by the values of some attributes."""
        return self._asked(lambda found: found.kept(universe, axes, by_person))

    def distinct(self, column: str, max_rows: int) -> set[str] | None:
        """Return the distinct texts of one column (not private); None if there are more than `max_rows`."""
        return self._asked(lambda found: found.distinct(column, max_rows))

    def others(self, universe: Universe, max_rows: int | None) -> list[Others]:
        """List the entries that count as `other`."""
        return self._asked(lambda found: found.all_others(universe, max_rows))

    def in_snapshot(self, action: Callable[[Source], T]) -> T:
        """Run an action whose queries all see one state of the table, and return its result."""

        def hold(con: "Connection[Any]") -> T:
            held = copy(self)
            held._held = con, look(con, self._address, self._declared)
            return action(held)

        return action(self) if self._held else connected(self._address, hold)

    def _asked(self, action: "Callable[[_Look], T]") -> T:
        """Run an action in the shared transaction, or in one of its own, and return its result."""
        if self._held:
            return action(_Look(self._held[0], self.name, self._held[1]))
        return connected(
            self._address, lambda con: action(_Look(con, self.name, look(con, self._address, self._declared)))
        )


class _Look:
    """A table in one transaction, with its queries and their parameters."""

    def __init__(self, con: "Connection[Any]", name: str, table: ServerTable) -> None:
        self.table = table
        self._con, self._name = con, name
        self._given: list[Any] = []
        self._relations: list[str] = []

    def check(self, universe: Universe) -> None:
        wanted, _ = self._fit(universe)
        keys = [] if universe.people is None else self._keys(universe.people)
        self._require_narrow(len(wanted), len(keys), universe)

    def rows(self) -> int:
        if not any(found.readable for found in self.table.columns):
            self._require_readable(self.table.columns)
        return int(self._one(f"SELECT count(*) FROM {self.table.rows}"))

    def count(self, universe: Universe) -> Histogram:
        wanted, reads = self._fit(universe)
        rows = self._select(wanted)
        self._prepare(universe, rows, reads)
        packing = Packing(universe)
        *numbers, counts = self._numbers(_COUNTING.cells(rows, packing, reads), len(packing.numbers) + 1)
        return packing.histogram(numbers, counts)

    def people(self, people: People) -> int:
        keys = self._keys(people)
        names = [f"r{k}" for k in range(len(keys))]
        rows = _KEEPING.with_person(self._select(keys), [k.column for k in keys], names, people)
        ((named, without),) = self._numbers(_KEEPING.people(rows, people), 2).T.tolist()
        return people_in_all(named, without, people)

    def keyed(self, universe: Universe) -> KeyedRows:
        packing = Packing(universe)
        groups = _KEEPING.keyed(self._by_person(universe), packing)
        at: dict[str, int] = {}
        person: list[Ints] = []
        blocks: list[Ints] = []
        for block in self._blocks(groups):
            digests, *columns = zip(*block, strict=True)
            person.append(np.array([at.setdefault(digest, len(at)) for digest in digests], dtype=np.int64))
            blocks.append(np.array(columns, dtype=np.int64))
        found = np.concatenate(blocks, axis=1) if blocks else np.zeros((len(packing.numbers) + 1, 0), dtype=np.int64)
        whose = np.concatenate(person) if person else np.zeros(0, dtype=np.int64)
        return KeyedRows(tuple(at), whose, tuple(found[:-1]), found[-1])

    def kept(self, universe: Universe, axes: Sequence[int], by_person: bool) -> KeptRows:
        people, asked = required(universe), Packing(universe.onto(axes))
        groups = self._by_person(universe)
        sql = _KEEPING.kept(groups, people, Packing(universe), asked, axes, by_person)
        *numbers, counts = self._numbers(sql, by_person + len(asked.numbers) + 1)
        return KeptRows(numbers.pop(0) if by_person else None, tuple(numbers), counts)

    def distinct(self, column: str, max_rows: int) -> set[str] | None:
        found = self.table.columns[self.table.names.index(column)]
        sql = _COUNTING.distinct(self._select([found]), found.column, max_rows)
        texts = {text for block in self._blocks(sql) for (text,) in block if text is not None}
        return texts if len(texts) <= max_rows else None

    def all_others(self, universe: Universe, max_rows: int | None) -> list[Others]:
        return [_Look(self._con, self._name, self.table)._others(a, max_rows) for a in universe.attributes]

    def _others(self, attribute: Attribute, max_rows: int | None) -> Others:
        universe = Universe([attribute])
        wanted, reads = self._fit(universe)
        rows = self._select(wanted)
        self._prepare(universe, rows, reads)
        found: Counter[Entry] = Counter()
        for block in self._blocks(_COUNTING.others(rows, reads[0], [""] * len(reads[0]))):
            for *texts, many in block:
                found[tuple(texts)] += int(many)
        return Others.of(attribute.name, attribute.reads, found, max_rows)

    def _fit(self, universe: Universe) -> tuple[list[ServerColumn], list[list[Read]]]:
        wanted, reads = fitted(self._name, self.table.columns, universe, _MOST_JOINS, _LONGEST_LIST)
        self._require_readable(wanted)
        return wanted, reads

    def _keys(self, people: People) -> list[ServerColumn]:
        keys = key_columns(self._name, self.table.columns, people)
        self._require_readable(keys)
        return keys

    def _require_narrow(self, columns: int, keys: int, universe: Universe) -> None:
        """Refuse a policy that needs more columns than one SELECT has: columns, key, packed numbers, a count."""
        width = columns + (keys + 1 if keys else 0) + len(Packing(universe).numbers) + 1
        if width > _MOST_COLUMNS:
            what = (
                f"the policy reads {columns + keys:,} columns, and the server selects at most {_MOST_COLUMNS:,} at once"
            )
            hints = [
                (
                    "leave attributes out of the policy that no query needs",
                    "a column counts once for each that reads it",
                ),
                ("COPY the table into a file", "which has no such limit"),
            ]
            raise DataError(what, where=f"{self._name} does not fit", hints=hints)

    def _require_readable(self, wanted: Sequence[ServerColumn]) -> None:
        for found in wanted:
            if not found.readable:
                what = f"column {found.column.name} may not be read: permission denied"
                raise DataError(what, where=self._name, hints=[GRANT])

    def _select(self, wanted: Sequence[ServerColumn]) -> str:
        return selected(wanted, self.table.rows)

    def _by_person(self, universe: Universe) -> str:
        """Return the SQL that counts all rows by person and possible record."""
        wanted, reads = self._fit(universe)
        people = required(universe)
        keys = self._keys(people)
        rows = self._select([*wanted, *keys])
        self._prepare(universe, rows, reads)
        names = [f"r{len(wanted) + k}" for k in range(len(keys))]
        rows = _KEEPING.with_person(rows, [found.column for found in keys], names, people)
        return _COUNTING.cells(rows, Packing(universe), reads, [PERSON])

    def _prepare(self, universe: Universe, rows: str, reads: Sequence[Sequence[Read]]) -> None:
        """Add the lookup tables as parameters of the query, because a read-only transaction cannot create tables."""
        for name, key, listed in _COUNTING.domains(reads):
            # Texts that this server cannot store are left out.
            known = {text: place for text, place in listed.items() if "\0" not in text}
            told = ", ".join([self._give(list(known), "text[]"), self._give(list(known.values()), "int[]")])
            given = f'SELECT text COLLATE "C" AS text, position FROM unnest({told}) AS given(text, position)'
            self._relations.append(f"{name}(listed, position) AS (SELECT {key}, position FROM ({given}) AS texts)")
        for attribute, mine in zip(universe.attributes, reads, strict=True):
            if attribute.surroundings is not None:
                self._find_places(attribute.surroundings, rows, mine[0], mine[1])

    def _find_places(self, surroundings: Surroundings, rows: str, first: Read, second: Read) -> None:
        """List the distinct pairs of coordinates, place them here, and return them with their places to the query."""
        locator = Locator(surroundings)
        pairs = f"SELECT * FROM ({_COUNTING.pairs(rows, first, second)}) AS pairs"
        found: list[list[Any]] = [[], [], []]
        for block in self._blocks(f"{pairs} WHERE first IS NOT NULL AND second IS NOT NULL", BLOCK):
            at = np.array(block, dtype=np.float64)
            places = locator.places(at[:, 0], at[:, 1])
            here = places < locator.nowhere
            for column, more in zip(found, (at[here, 0], at[here, 1], places[here]), strict=True):
                column += more.tolist()
        told = [self._give(column, kind) for column, kind in zip(found, ("float8[]", "float8[]", "int[]"), strict=True)]
        known = f"SELECT * FROM unnest({', '.join(told)})"
        self._relations.append(f"{domain(first)}(first, second, position) AS ({known})")

    def _give(self, value: list[Any], kind: str) -> str:
        self._given.append(value)
        return f"${len(self._given)}::{kind}"

    def _whole(self, sql: str) -> str:
        """Return a query with its lookup tables in front."""
        head = f"WITH {', '.join(self._relations)} " if self._relations else ""
        return f"{head}SELECT * FROM ({sql}) AS answer" if head else sql

    def _blocks(self, sql: str, size: int = _AT_ONCE) -> Iterator[list[tuple[Any, ...]]]:
        """Yield the rows of an answer in blocks; not by a cursor of the server, which would count on one core."""
        block: list[tuple[Any, ...]] = []
        with self._con.cursor() as cursor:
            for row in cursor.stream(self._whole(sql), self._given, binary=True):
                block.append(row)
                if len(block) == size:
                    yield block
                    block = []
        if block:
            yield block

    def _numbers(self, sql: str, columns: int) -> Ints:
        """Return the columns of an answer as whole numbers."""
        blocks = [np.array(block, dtype=np.int64) for block in self._blocks(sql)]
        return np.concatenate([*blocks, np.zeros((0, columns), dtype=np.int64)]).T.copy()

    def _one(self, sql: str) -> Any:
        row = self._con.execute(self._whole(sql), self._given).fetchone()
        return row[0] if row else 0
