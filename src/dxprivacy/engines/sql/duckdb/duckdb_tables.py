"""Tables that DuckDB reads: a Parquet file, a data frame, a table of one of its databases.

Each provides its schema without reading a row, and SQL that selects the wanted columns as r0, r1, ...  Columns are
selected by position, so that names may be anything.
"""

import glob
import hashlib
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from dxprivacy.engines.frames.frame import Frame, Wanted
from dxprivacy.engines.source import Column, ColumnKind
from dxprivacy.engines.sql.duckdb.duckdb_dialect import DUCKDB
from dxprivacy.errors import DataError, did_you_mean
from dxprivacy.formats.file_access import real_path
from dxprivacy.wording import quoted as shell_word

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

_WHOLE = "tinyint smallint integer bigint hugeint utinyint usmallint uinteger ubigint uhugeint"
_KINDS = dict.fromkeys(_WHOLE.split(), ColumnKind.WHOLE) | {
    "float": ColumnKind.FLOAT,
    "double": ColumnKind.FLOAT,
    "decimal": ColumnKind.DECIMAL,
    "boolean": ColumnKind.TRUTH,
    "varchar": ColumnKind.TEXT,
    "enum": ColumnKind.TEXT,
    "null": ColumnKind.NOTHING,
    "date": ColumnKind.DATE,
    "timestamp": ColumnKind.CLOCK,
    "timestamp_s": ColumnKind.CLOCK,
    "timestamp_ms": ColumnKind.CLOCK,
    "timestamp_ns": ColumnKind.CLOCK,
    "timestamp with time zone": ColumnKind.INSTANT,
    "timestamptz_ns": ColumnKind.INSTANT,
    "time": ColumnKind.TIME,
    "time_ns": ColumnKind.TIME,
    "time with time zone": ColumnKind.TIME,
}
_WORDS = {
    "time": "times of day",
    "timestamp": "points in time",
    "interval": "time spans",
    "blob": "binary data",
    "list": "lists",
    "array": "lists",
    "struct": "nested records",
    "map": "nested maps",
    "uuid": "UUIDs",
    "json": "JSON documents",
    # DuckDB's own casts fail on some of them.
    "bignum": "whole numbers of any length, which must be stored as HUGEINT or smaller here",
}


class DuckdbTable(Protocol):
    """A table: its schema, and SQL that selects the wanted columns as r0, r1, ..."""

    name: str
    failure: str
    parameters: dict[str, Any]

    def names(self, con: "Connection") -> list[str]:
        """Return all column names, as written in the schema."""

    def column(self, con: "Connection", position: int) -> Column:
        """Return one column with its kind, from the schema alone."""

    def select(self, con: "Connection", wanted: Sequence[Wanted]) -> str:
        """Write the SELECT of the wanted columns as r0, r1, ..."""

    def height(self, con: "Connection") -> int:
        """Return the number of rows."""


class ParquetTable:
    """One Parquet file; special characters in its name have no meaning."""

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self.failure = "cannot be read: it is not a Parquet file, or it is damaged or cut off"
        # Absolute, so that it is never read as an address.  Escaped, because `*` in a name would match other files.
        self.parameters: dict[str, Any] = {"path": glob.escape(str(path.absolute()))}
        self._names: list[str] = []
        self._milliseconds: set[int] = set()

    def names(self, con: "Connection") -> list[str]:
        """Return the top-level names as stored: DuckDB itself would rename `Age` next to `age`."""
        if not self._names:
            sql = "SELECT name, num_children, concat(converted_type, ' ', logical_type) FROM parquet_schema($path)"
            to_come: list[int] = []  # numbers of children not yet read, from the root down
            for name, children, stored in con.execute(sql, self.parameters).fetchall():
                if len(to_come) == 1:
                    if re.search("TIMESTAMP_MILLIS|MILLIS=MilliSeconds", stored):
                        self._milliseconds.add(len(self._names))
                    self._names.append(str(name))
                if to_come:
                    to_come[-1] -= 1
                if children:
                    to_come.append(int(children))
                while to_come and not to_come[-1]:
                    to_come.pop()
        return self._names

    def column(self, con: "Connection", position: int) -> Column:
        """Return one column of the schema."""
        name = self.names(con)[position]
        if position in self._milliseconds:
            # DuckDB reads them as microseconds, and fails at the first entry that is out of range.
            return Column(name, None, "points in time in milliseconds, which Parquet files must store finer here")
        found = described(con, name, self.select(con, [Wanted(position)]), self.parameters)
        if found.kind is ColumnKind.TIME:  # DuckDB fails at the first entry outside of a day
            return Column(name, None, "times of day, which Parquet files must store as text or points in time here")
        return found

    def select(self, con: "Connection", wanted: Sequence[Wanted]) -> str:
        """Select columns by position, so that no name has to be quoted."""
        import duckdb

        # Text that is not UTF-8 is one bad row, not a bad file.  DuckDB 1 has no option for that.
        odd_text = "" if duckdb.__version__.startswith("1.") else ", utf8_validation = 'replace'"
        rows = f"read_parquet($path, hive_partitioning = false{odd_text})"
        return _by_position(rows, len(self.names(con)), wanted)

    def height(self, con: "Connection") -> int:
        """Return the number of rows, from the file's footer."""
        return _number(con, "SELECT count(*) FROM read_parquet($path, hive_partitioning = false)", self.parameters)


class FrameTable:
    """A data frame in memory."""

    def __init__(self, frame: Frame) -> None:
        self.name = frame.name
        self.failure = "cannot be counted"
        self.parameters: dict[str, Any] = {}
        self._frame = frame

    def names(self, con: "Connection") -> list[str]:  # noqa: ARG002 - a frame knows them without a connection
        """Return the frame's column names."""
        return self._frame.columns

    def column(self, con: "Connection", position: int) -> Column:
        """Return one column, from its type alone; a type unknown to DuckDB has the name that the frame gives it."""
        name = self._frame.columns[position]
        kind, words, inferred = self._frame.declared(position)
        if kind not in (None, ColumnKind.INSTANT):
            return Column(name, kind)
        try:
            con.register("schema_only", self._frame.take([Wanted(position)], rows=False))
            column = described(con, name, "SELECT c0 AS r0 FROM schema_only", {})
        except Exception:
            return Column(name, None, words)
        # Instants are passed without their zone, in UTC: see `frames`.
        return replace(column, kind=kind or column.kind, inferred=inferred)

    def select(self, con: "Connection", wanted: Sequence[Wanted]) -> str:
        """Select columns by position."""
        con.register("data_frame", self._frame.take(wanted, rows=True))
        return f"SELECT {', '.join(f'c{k} AS r{k}' for k in range(len(wanted)))} FROM data_frame"

    def height(self, con: "Connection") -> int:  # noqa: ARG002
        """Return the number of rows."""
        return self._frame.height()


class DatabaseTable:
    """One table of a DuckDB database, opened for reading only.

    Views are refused: a view may compute across rows, and then changing one record may change many rows.
    """

    def __init__(self, path: Path, table: str) -> None:
        self.name = f"{path.name}::{table}" if table else path.name
        self.failure = "cannot be opened: not a DuckDB database of a known version, or another program writes to it"
        self.parameters: dict[str, Any] = {}
        self._path = path
        self._table = table
        # Two tables of one file use the same attached database.
        self._alias = "opened_" + hashlib.sha256(os.fsencode(real_path(path))).hexdigest()[:16]
        self._names: list[str] = []
        self._generated: set[int] = set()
        self._rows = ""

    def names(self, con: "Connection") -> list[str]:
        """Return the names of the columns."""
        if not self._rows:
            at = DUCKDB.quoted(str(self._path.absolute()))
            con.execute(f"ATTACH IF NOT EXISTS {at} AS {self._alias} (TYPE duckdb, READ_ONLY)")
            schema, table = self._find(con)
            sql = """SELECT column_name, is_generated = 'ALWAYS' FROM information_schema.columns
                     WHERE table_catalog = $alias AND table_schema = $schema AND table_name = $table
                     ORDER BY ordinal_position"""
            found = con.execute(sql, {"alias": self._alias, "schema": schema, "table": table}).fetchall()
            self._names = [str(name) for name, _ in found]
            self._generated = {k for k, (_, generated) in enumerate(found) if generated}
            self._rows = f"{self._alias}.{identifier(schema)}.{identifier(table)}"
        return self._names

    def _find(self, con: "Connection") -> tuple[str, str]:
        """Return the schema and the name of the table, which must exist and must not be a view."""
        listing = "SELECT schema_name, {0}_name FROM duckdb_{0}s() WHERE database_name = ? AND NOT internal"
        tables = [(str(s), str(t)) for s, t in con.execute(listing.format("table"), [self._alias]).fetchall()]
        views = [(str(s), str(v)) for s, v in con.execute(listing.format("view"), [self._alias]).fetchall()]
        called = {self._called(*at): at for at in tables}
        if self._table in called:
            return called[self._table]
        if any(self._table == self._called(*at) for at in views):
            raise DataError(
                f"“{self._table}” is a view, not a table",
                where=self._path.name,
                details=["A view may compute across rows: then changing one row is more than changing one row."],
                hints=["store its rows as a table, if each of them comes from one record"],
            )
        shown = ", ".join(sorted(called)[:30])
        example = shell_word(f"{self._path.name}::{sorted(called)[0] if called else 'people'}")
        raise DataError(
            f"no table “{self._table}”" if self._table else "which table?",
            where=self._path.name,
            details=[f"{self._path.name} has: {shown}" if shown else f"{self._path.name} has no tables"],
            hints=[(shell_word(close), why) for close, why in did_you_mean(self._table, called)]
            or [(example, "a file and its table")],
        )

    @staticmethod
    def _called(schema: str, table: str) -> str:
        return table if schema == "main" else f"{schema}.{table}"

    def column(self, con: "Connection", position: int) -> Column:
        """Return one column; a computed one is refused like a view, because its expression may do anything."""
        name = self.names(con)[position]
        if position in self._generated:
            return Column(name, None, "generated: computed when it is read, and not stored")
        return described(con, name, self.select(con, [Wanted(position)]), {})

    def select(self, con: "Connection", wanted: Sequence[Wanted]) -> str:
        """Select columns by position."""
        return _by_position(self._rows, len(self.names(con)), wanted)

    def height(self, con: "Connection") -> int:
        """Return the number of rows."""
        return _number(con, f"SELECT count(*) FROM {self._rows}", {})


def identifier(name: str) -> str:
    """Quote a name for SQL."""
    return '"' + name.replace('"', '""') + '"'


def _by_position(rows: str, columns: int, wanted: Sequence[Wanted]) -> str:
    every = ", ".join(f"c{k}" for k in range(columns))
    chosen = ", ".join(f"c{w.position} AS r{k}" for k, w in enumerate(wanted))
    return f"SELECT {chosen} FROM {rows} AS t({every})"


def described(con: "Connection", name: str, select: str, parameters: dict[str, Any]) -> Column:
    """Return the kind of the one column of a SELECT, which is bound but not run over any row."""
    declared: Any = con.sql(f"{select} LIMIT 0", params=parameters).types[0]
    named = "json" if str(declared) == "JSON" else str(declared.id)  # DuckDB reports JSON as text
    kind = _KINDS.get(named)
    if kind:
        return Column(name, kind, native=str(declared) if kind is ColumnKind.DECIMAL else named.upper())
    simple = named.partition(" ")[0].partition("_")[0]
    return Column(name, None, _WORDS.get(simple, f"of type {simple}"))


def _number(con: "Connection", sql: str, parameters: dict[str, Any]) -> int:
    row = con.execute(sql, parameters).fetchone()
    return int(row[0]) if row else 0
