"""Parquet files and data frames, counted by DuckDB: the only file that knows it.

One GROUP BY on the raw columns reads the rows.  The domain is joined afterwards, on the groups, of which there are few
(a CASE per value took 31 s where this takes 1.5 s).  DuckDB's own messages quote records: every failure is replaced
by a fixed text, raised outside the `except` block so that the original is not attached to it.
"""

import glob
import shutil
import tempfile
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from dxprivacy.engines.frames import Frame
from dxprivacy.engines.source import WHOLE_NUMBER, Column, Kind, check_kinds, find_columns
from dxprivacy.errors import DataError
from dxprivacy.histogram import Histogram
from dxprivacy.model.attributes import Integers
from dxprivacy.model.reading import listed_texts
from dxprivacy.model.universe import Universe

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

T = TypeVar("T")

_WHOLE = "tinyint smallint integer bigint hugeint utinyint usmallint uinteger ubigint uhugeint bignum"
_KINDS = dict.fromkeys(_WHOLE.split(), Kind.WHOLE) | {
    "float": Kind.FLOAT,
    "double": Kind.FLOAT,
    "decimal": Kind.DECIMAL,
    "boolean": Kind.TRUTH,
    "varchar": Kind.TEXT,
    "enum": Kind.TEXT,
    "null": Kind.NOTHING,
}
_WORDS = {
    "date": "dates",
    "time": "times of day",
    "timestamp": "points in time",
    "interval": "time spans",
    "blob": "binary data",
    "list": "lists",
    "array": "lists",
    "struct": "nested records",
    "map": "nested maps",
    "uuid": "UUIDs",
}


class Table(Protocol):
    """Where the rows are: the schema, and SQL that offers the wanted columns as r0, r1, ..."""

    name: str
    failure: str
    parameters: dict[str, Any]

    def names(self, con: "Connection") -> list[str]:
        """All column names, as written in the schema."""

    def column(self, con: "Connection", position: int) -> Column:
        """One column with its kind, from the schema alone."""

    def select(self, con: "Connection", positions: Sequence[int]) -> str:
        """SELECT of the wanted columns as r0, r1, ..."""

    def height(self, con: "Connection") -> int:
        """The number of rows."""


class DuckSource:
    """A table that DuckDB counts."""

    def __init__(self, table: Table) -> None:
        self.name = table.name
        self._table = table
        self._database = _database(self)  # opened once: that takes as long as counting a million rows
        self._quietly(table.names)

    def columns(self) -> list[Column]:
        """The schema; reads no row."""
        table = self._table
        return self._quietly(lambda con: [table.column(con, k) for k in range(len(table.names(con)))])

    def check(self, universe: Universe) -> None:
        """Refuse a schema that does not fit; reads no row."""
        self._quietly(lambda con: self._fit(con, universe))

    def rows(self) -> int:
        """The number of rows."""
        return self._quietly(self._table.height)

    def count(self, universe: Universe) -> Histogram:
        """How many rows fall into each cell."""
        return self._quietly(lambda con: self._count(con, universe))

    def distinct(self, column: str, at_most: int) -> set[str] | None:
        """The different texts of one column, not private; None if there are more."""
        return self._quietly(lambda con: self._distinct(con, column, at_most))

    def _distinct(self, con: "Connection", column: str, at_most: int) -> set[str] | None:
        position = self._table.names(con).index(column)
        text = _text("r0", self._table.column(con, position).kind)
        sql = (
            f"SELECT DISTINCT CAST({text} AS VARCHAR) FROM ({self._table.select(con, [position])}) LIMIT {at_most + 2}"
        )
        found = {str(row[0]) for row in con.execute(sql, self._table.parameters).fetchall() if row[0] is not None}
        return found if len(found) <= at_most else None

    def _fit(self, con: "Connection", universe: Universe) -> tuple[list[int], list[Column]]:
        positions = find_columns(self.name, self._table.names(con), universe)
        columns = [self._table.column(con, position) for position in positions]
        check_kinds(self.name, universe, columns)
        return positions, columns

    def _count(self, con: "Connection", universe: Universe) -> Histogram:
        positions, columns = self._fit(con, universe)
        terms, keys, joins = [], [], []
        for k, (attribute, column) in enumerate(zip(universe.attributes, columns, strict=True)):
            other, stride = attribute.listed, universe.strides[k]
            whole = _whole(f"r{k}", column.kind)
            if isinstance(attribute, Integers):
                keys.append(f"{whole} AS k{k}")
                inside = f"k{k} BETWEEN {attribute.low} AND {attribute.high}"
                terms.append(f"{stride} * CASE WHEN {inside} THEN k{k} - ({attribute.low}) ELSE {other} END")
                continue
            text = _text(f"r{k}", column.kind)
            # Bytes, not text: the join looks at its least and greatest key, and stops at text that is not UTF-8.
            keys.append(f"encode(CAST({text} AS VARCHAR)) AS k{k}")
            joins.append(f"LEFT JOIN d{k} ON d{k}.listed = k{k}")
            terms.append(f"{stride} * coalesce(d{k}.position, {other})")
            domain = "SELECT encode(unnest($texts::VARCHAR[])) AS listed, unnest(range($size)) AS position"
            texts = list(listed_texts(attribute))
            con.execute(f"CREATE TEMP TABLE d{k} AS {domain}", {"texts": texts, "size": len(texts)})
        raw = ", ".join(f"r{k}" for k in range(len(keys)))
        sql = f"""
            WITH groups AS MATERIALIZED (
                SELECT {raw}, count(*) AS n FROM ({self._table.select(con, positions)}) GROUP BY {raw}
            ), keyed AS (
                SELECT {", ".join(keys)}, n FROM groups
            )
            SELECT CAST({" + ".join(terms)} AS BIGINT) AS cell, CAST(sum(n) AS BIGINT) AS n
            FROM keyed {" ".join(joins)} GROUP BY cell"""
        found = con.execute(sql, self._table.parameters).fetchnumpy()
        counts = np.zeros(universe.size, dtype=np.int64)
        counts[np.asarray(found["cell"], dtype=np.int64)] = np.asarray(found["n"], dtype=np.int64)
        return Histogram(universe, counts)

    def _quietly(self, action: Callable[["Connection"], T]) -> T:
        """Run an action on a connection of its own; errors of others, which may quote a record, are swallowed."""
        import duckdb

        interrupted = False
        with self._database.cursor() as con:  # its own temporary tables; safe beside other threads
            con.execute("SET enable_progress_bar = false")  # on by default in notebooks
            try:
                return action(con)
            except DataError:
                raise
            except duckdb.InterruptException:
                interrupted = True
            except Exception:
                pass
        if interrupted:
            raise KeyboardInterrupt
        raise DataError(
            self._table.failure,
            where=self.name,
            details=["The engine's own message is withheld: it may quote a record."],
        )


def _whole(raw: str, kind: Kind | None) -> str:
    """SQL for the whole number in a raw column, NULL where there is none; a cast alone would round 1.5 to 2."""
    conditions = {
        Kind.WHOLE: "TRUE",
        Kind.FLOAT: f"{raw} = trunc({raw})",
        Kind.DECIMAL: rf"regexp_full_match(CAST({raw} AS VARCHAR), '[^.]*(\.0*)?')",
        Kind.UNTYPED: f"regexp_full_match({raw}, '{WHOLE_NUMBER}')",
    }
    if kind not in conditions:
        return "CAST(NULL AS HUGEINT)"
    number = f"regexp_extract({raw}, '[+-]?[0-9]+')" if kind is Kind.UNTYPED else raw
    return f"CASE WHEN {conditions[kind]} THEN TRY_CAST({number} AS HUGEINT) END"


def _text(raw: str, kind: Kind | None) -> str:
    """SQL for what listed values are compared with: the text itself, or the whole number."""
    return raw if kind in (Kind.TEXT, Kind.UNTYPED, Kind.TRUTH) else _whole(raw, kind)


class ParquetTable:
    """One Parquet file; what its name looks like has no meaning."""

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self.failure = "cannot be read: it is no Parquet file, or it is damaged or cut off"
        # Absolute: never an address.  Escaped: `*` in a name would otherwise match other files.
        self.parameters: dict[str, Any] = {"path": glob.escape(str(path.absolute()))}
        self._names: list[str] = []

    def names(self, con: "Connection") -> list[str]:
        """The top-level names as stored: DuckDB itself would rename `Age` beside `age`."""
        if not self._names:
            tree = con.execute("SELECT name, num_children FROM parquet_schema($path)", self.parameters).fetchall()
            to_come: list[int] = []  # children still to come, from the root down
            for name, children in tree:
                if len(to_come) == 1:
                    self._names.append(str(name))
                if to_come:
                    to_come[-1] -= 1
                if children:
                    to_come.append(int(children))
                while to_come and not to_come[-1]:
                    to_come.pop()
        return self._names

    def column(self, con: "Connection", position: int) -> Column:
        """One column of the schema."""
        return _described(con, self.names(con)[position], self.select(con, [position]), self.parameters)

    def select(self, con: "Connection", positions: Sequence[int]) -> str:
        """Columns by position, so that no name has to be quoted."""
        import duckdb

        # Text that is not UTF-8 is one bad row, not a bad file.  DuckDB 1 cannot be told so.
        odd_text = "" if duckdb.__version__.startswith("1.") else ", utf8_validation = 'replace'"
        every = ", ".join(f"c{k}" for k in range(len(self.names(con))))
        wanted = ", ".join(f"c{p} AS r{k}" for k, p in enumerate(positions))
        return f"SELECT {wanted} FROM read_parquet($path, hive_partitioning = false{odd_text}) AS t({every})"

    def height(self, con: "Connection") -> int:
        """The number of rows, from the file's footer."""
        return _number(con, "SELECT count(*) FROM read_parquet($path, hive_partitioning = false)", self.parameters)


class FrameTable:
    """A data frame in memory."""

    def __init__(self, frame: Frame) -> None:
        self.name = frame.name
        self.failure = "cannot be counted"
        self.parameters: dict[str, Any] = {}
        self._frame = frame

    def names(self, con: "Connection") -> list[str]:  # noqa: ARG002 - a frame knows them without a connection
        """The frame's column names."""
        return self._frame.columns

    def column(self, con: "Connection", position: int) -> Column:
        """One column, from its type and no row; a type that DuckDB cannot take is named as the frame names it."""
        name = self._frame.columns[position]
        kind, words = self._frame.declared(position)
        if kind:
            return Column(name, kind)
        try:
            con.register("schema_only", self._frame.take([position], rows=False))
            return _described(con, name, "SELECT c0 AS r0 FROM schema_only", {})
        except Exception:
            return Column(name, None, words)

    def select(self, con: "Connection", positions: Sequence[int]) -> str:
        """Columns by position."""
        con.register("data_frame", self._frame.take(positions, rows=True))
        return f"SELECT {', '.join(f'c{k} AS r{k}' for k in range(len(positions)))} FROM data_frame"

    def height(self, con: "Connection") -> int:  # noqa: ARG002
        """The number of rows."""
        return self._frame.height()


def _described(con: "Connection", name: str, select: str, parameters: dict[str, Any]) -> Column:
    """The kind of the one column of a SELECT, which is bound but not run over any row."""
    declared: Any = con.sql(f"{select} LIMIT 0", params=parameters).types[0]
    kind = _KINDS.get(declared.id)
    if kind:
        return Column(name, kind)
    simple = declared.id.partition(" ")[0].partition("_")[0]
    return Column(name, None, _WORDS.get(simple, f"of type {simple}"))


def _number(con: "Connection", sql: str, parameters: dict[str, Any]) -> int:
    row = con.execute(sql, parameters).fetchone()
    return int(row[0]) if row else 0


def _database(owner: object) -> "Connection":
    """A database in memory that lives as long as its owner; it fetches nothing, and what it spills is deleted."""
    import duckdb

    spill = tempfile.mkdtemp(prefix="dxprivacy-")
    config: dict[str, Any] = {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "allow_persistent_secrets": "false",
        "python_enable_replacements": "false",
        "pandas_analyze_sample": "0",
        "temp_directory": spill,
    }
    database = duckdb.connect(":memory:", config=config)
    weakref.finalize(owner, _discard, database, spill)
    return database


def _discard(database: "Connection", spill: str) -> None:
    database.close()
    shutil.rmtree(spill, ignore_errors=True)
