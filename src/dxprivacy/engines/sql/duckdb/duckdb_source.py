"""Count tables with DuckDB: Parquet files, data frames, its own databases.

One GROUP BY reads the rows. The listed texts are joined afterwards, on the groups (1.5 s; a CASE per value took 31 s).
DuckDB's own messages quote records: every failure is replaced by a fixed text, raised outside the `except` block so
that the original is not attached to it.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from dxprivacy.engines.contribution_bounding import KeptRows, KeyedRows, key_part, people_in_all, required
from dxprivacy.engines.entries import entry_reader
from dxprivacy.engines.fields import Packing
from dxprivacy.engines.fit import check_keys, check_kinds, find_columns, find_keys
from dxprivacy.engines.frames.frame import Wanted
from dxprivacy.engines.placement import Read
from dxprivacy.engines.source import Column, ColumnKind, Entry, Others
from dxprivacy.engines.sql.duckdb.duckdb_database import Database
from dxprivacy.engines.sql.duckdb.duckdb_dialect import DUCKDB
from dxprivacy.engines.sql.duckdb.duckdb_query import DuckCounting, make_places
from dxprivacy.engines.sql.duckdb.duckdb_tables import DuckdbTable
from dxprivacy.engines.sql.people_sql import PERSON, Keeping
from dxprivacy.errors import DataError
from dxprivacy.histogram import Histogram
from dxprivacy.universe.attributes.attribute import Attribute
from dxprivacy.universe.people import People
from dxprivacy.universe.reading.codecs import ListedTexts
from dxprivacy.universe.universe import Universe

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

T = TypeVar("T")
_COUNTING, _KEEPING = DuckCounting(), Keeping(DUCKDB)


class DuckSource:
    """A table that DuckDB counts."""

    has_schema = True

    def __init__(self, table: DuckdbTable, database: Database | None = None) -> None:
        self.name = table.name
        self._table = table
        self._database = database or Database()
        self._known: dict[int, Column] = {}
        self._quietly(table.names)

    def columns(self) -> list[Column]:
        """Return the schema; reads no row."""
        return self._quietly(lambda con: [self._column(con, k) for k in range(len(self._table.names(con)))])

    def check(self, universe: Universe) -> None:
        """Refuse a schema that does not fit; reads no row."""
        self._quietly(lambda con: self._fit(con, universe))

    def rows(self) -> int:
        """Return the number of rows."""
        return self._quietly(self._table.height)

    def count(self, universe: Universe) -> Histogram:
        """Count the rows of each possible record."""
        return self._quietly(lambda con: self._count(con, universe))

    def people(self, universe: Universe) -> int:
        """Return the number of people."""
        return self._quietly(lambda con: self._people(con, required(universe)))

    def keyed(self, universe: Universe) -> KeyedRows:
        """Count the rows by person and possible record."""
        return self._quietly(lambda con: self._keyed(con, universe))

    def kept(self, universe: Universe, axes: Sequence[int], *, by_person: bool = False) -> KeptRows:
        """Count the kept rows by the values of some attributes."""
        return self._quietly(lambda con: self._kept(con, universe, axes, by_person))

    def distinct(self, column: str, max_rows: int) -> set[str] | None:
        """Return the distinct texts of one column (not private); None if there are more than `max_rows`."""
        return self._quietly(lambda con: self._distinct(con, column, max_rows))

    def others(self, universe: Universe, max_rows: int | None) -> list[Others]:
        """List the entries that count as `other`."""
        return self._quietly(lambda con: [self._others(con, a, max_rows) for a in universe.attributes])

    def _column(self, con: "Connection", position: int) -> Column:
        if position not in self._known:
            self._known[position] = self._table.column(con, position)
        return self._known[position]

    def _fit(self, con: "Connection", universe: Universe) -> tuple[list[Wanted], list[list[Read]]]:
        """Return the columns to select as r0, r1, ..., and how each attribute reads them."""
        positions = find_columns(self.name, self._table.names(con), universe)
        columns = [[self._column(con, position) for position in read] for read in positions]
        check_kinds(self.name, universe, columns)
        if universe.people is not None:
            self._keys(con, universe.people)
        wanted: list[Wanted] = []
        reads: list[list[Read]] = []
        for attribute, at, found in zip(universe.attributes, positions, columns, strict=True):
            mine = []
            for position, column, entry in zip(at, found, attribute.entries_read, strict=True):
                mine.append(Read(entry.codec, column, f"r{len(wanted)}"))
                reader = entry_reader(entry.codec) if column.kind is ColumnKind.OBJECT else None
                wanted.append(Wanted(position, reader, by_text=isinstance(entry.codec, ListedTexts)))
            if attribute.surroundings is not None:
                mine[0] = replace(mine[0], beside=mine[1])
            reads.append(mine)
        return wanted, reads

    def _count(self, con: "Connection", universe: Universe) -> Histogram:
        wanted, reads = self._fit(con, universe)
        _make_domains(con, reads)
        self._find_places(con, universe, wanted, reads)
        packing = Packing(universe)
        sql = _COUNTING.cells(self._table.select(con, wanted), packing, reads)
        found = con.execute(sql, self._table.parameters).fetchnumpy()
        numbers = [np.asarray(found[f"c{k}"], dtype=np.int64) for k in range(len(packing.numbers))]
        return packing.histogram(numbers, np.asarray(found["n"], dtype=np.int64))

    def _find_places(
        self, con: "Connection", universe: Universe, wanted: Sequence[Wanted], reads: list[list[Read]]
    ) -> None:
        """Create a table of places for each attribute that is found by coordinates.

        The rows are selected again for each, and once more for counting, because some tables can be read only once.
        """
        for attribute, mine in zip(universe.attributes, reads, strict=True):
            if attribute.surroundings is not None:
                rows = self._table.select(con, wanted)
                make_places(con, attribute.surroundings, rows, mine[0], mine[1], self._table.parameters)

    def _keys(self, con: "Connection", people: People) -> tuple[list[Wanted], list[Column]]:
        """Return the key columns, read as texts."""
        positions = find_keys(self.name, self._table.names(con), people)
        columns = [self._column(con, position) for position in positions]
        check_keys(self.name, columns)
        return [Wanted(position, text=key_part, by_text=True) for position in positions], columns

    def _people(self, con: "Connection", people: People) -> int:
        wanted, columns = self._keys(con, people)
        names = [f"r{k}" for k in range(len(wanted))]
        rows = _KEEPING.with_person(self._table.select(con, wanted), columns, names, people)
        keys, without = con.execute(_KEEPING.people(rows, people), self._table.parameters).fetchall()[0]
        return people_in_all(int(keys), int(without), people)

    def _by_person(self, con: "Connection", universe: Universe, people: People) -> str:
        """Return the SQL that counts all rows by person and possible record."""
        wanted, reads = self._fit(con, universe)
        keys, columns = self._keys(con, people)
        _make_domains(con, reads)
        names = [f"r{len(wanted) + k}" for k in range(len(keys))]
        self._find_places(con, universe, wanted, reads)
        rows = _KEEPING.with_person(self._table.select(con, [*wanted, *keys]), columns, names, people)
        return _COUNTING.cells(rows, Packing(universe), reads, [PERSON])

    def _keyed(self, con: "Connection", universe: Universe) -> KeyedRows:
        packing = Packing(universe)
        groups = self._by_person(con, universe, required(universe))
        found = con.execute(_KEEPING.keyed(groups, packing), self._table.parameters).fetchnumpy()
        digests, person = np.unique(np.asarray(found["digest"], dtype="U64"), return_inverse=True)
        cells = tuple(np.asarray(found[f"c{k}"], dtype=np.int64) for k in range(len(packing.numbers)))
        place = person.reshape(-1).astype(np.int64)
        return KeyedRows(tuple(digests.tolist()), place, cells, np.asarray(found["n"], dtype=np.int64))

    def _kept(self, con: "Connection", universe: Universe, axes: Sequence[int], by_person: bool) -> KeptRows:
        people, asked = required(universe), Packing(universe.onto(axes))
        groups = self._by_person(con, universe, people)
        sql = _KEEPING.kept(groups, people, Packing(universe), asked, axes, by_person)
        found = con.execute(sql, self._table.parameters).fetchnumpy()
        cells = tuple(np.asarray(found[f"c{k}"], dtype=np.int64) for k in range(len(asked.numbers)))
        counts = np.asarray(found["n"], dtype=np.int64)
        return KeptRows(np.asarray(found["number"], dtype=np.int64) if by_person else None, cells, counts)

    def _distinct(self, con: "Connection", column: str, max_rows: int) -> set[str] | None:
        position = self._table.names(con).index(column)
        sql = _COUNTING.distinct(self._table.select(con, [Wanted(position)]), self._column(con, position), max_rows)
        found = {_decoded(text) for (text,) in con.execute(sql, self._table.parameters).fetchall()}
        texts = {text for text in found if text is not None}
        return texts if len(texts) <= max_rows else None

    def _others(self, con: "Connection", attribute: Attribute, max_rows: int | None) -> Others:
        wanted, reads = self._fit(con, Universe([attribute]))
        _make_domains(con, reads)
        self._find_places(con, Universe([attribute]), wanted, reads)
        # Objects were placed before: their texts come from the same columns, selected again without a reader.
        names = [f"r{len(wanted) + k}" if w.reader else "" for k, w in enumerate(wanted)]
        select = self._table.select(con, [*wanted, *(Wanted(w.position) for w in wanted)])
        sql = _COUNTING.others(select, reads[0], names)
        found: Counter[Entry] = Counter()
        for *texts, rows in con.execute(sql, self._table.parameters).fetchall():
            found[tuple(_decoded(text) for text in texts)] += int(rows)
        return Others.of(attribute.name, attribute.reads, found, max_rows)

    def _quietly(self, action: Callable[["Connection"], T]) -> T:
        """Run an action on a new connection; replace other errors, which may quote a record, by a fixed one."""
        import duckdb

        interrupted = False
        try:
            with self._database.cursor() as con:
                con.execute("SET enable_progress_bar = false")  # on by default in notebooks
                return action(con)
        except DataError:
            raise
        except duckdb.InterruptException:
            interrupted = True
        except Exception:
            pass
        except BaseException:
            self._database.distrust()
            raise
        self._database.distrust()
        if interrupted:
            raise KeyboardInterrupt
        raise DataError(
            self._table.failure,
            where=self.name,
            details=["The engine's own message is withheld: it may quote a record."],
        )


def _make_domains(con: "Connection", reads: list[list[Read]]) -> None:
    """Create the tables of listed texts with their positions; as bytes, because stored text need not be UTF-8."""
    for name, key, listed in _COUNTING.domains(reads):
        texts, places = list(listed), list(listed.values())
        most = max(places, default=0)  # not the number of texts: for floats, some are left out
        small = "UTINYINT" if most < 1 << 8 else "USMALLINT" if most < 1 << 16 else "UINTEGER"
        position = f"CAST(unnest($places::UINTEGER[]) AS {small}) AS position"  # a small type is faster to group by
        given = f"SELECT unnest($texts::VARCHAR[]) AS text, {position}"
        domain = f"SELECT {key} AS listed, position FROM ({given})"
        con.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {domain}", {"texts": texts, "places": places})
    for name, texts in _COUNTING.enums(reads):
        listed_texts = "SELECT unnest($texts::VARCHAR[]) AS text, unnest(range(len($texts::VARCHAR[]))) AS place"
        con.execute(f"CREATE OR REPLACE TEMP TABLE texts_of_{name} AS {listed_texts}", {"texts": texts})
        names = f"SELECT text FROM texts_of_{name} ORDER BY place"
        con.execute(f"CREATE OR REPLACE TEMP TYPE {name} AS ENUM ({names})")
        con.execute(f"DROP TABLE texts_of_{name}")


def _decoded(text: bytes | None) -> str | None:
    return None if text is None else text.decode("utf-8", errors="replace")
