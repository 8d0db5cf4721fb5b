"""What the catalogue of a server says of a table: where and what it is, its columns and their types; reads no row."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dxprivacy.engines.postgres.address import Address
from dxprivacy.engines.postgres.connection import begin, begin_locked, users_own
from dxprivacy.engines.source import Column, Kind
from dxprivacy.errors import DataError, did_you_mean

if TYPE_CHECKING:
    from psycopg import Connection

_KINDS = {
    "int2": Kind.WHOLE,
    "int4": Kind.WHOLE,
    "int8": Kind.WHOLE,
    "float4": Kind.FLOAT,
    "float8": Kind.FLOAT,
    "numeric": Kind.DECIMAL,
    "bool": Kind.TRUTH,
    "text": Kind.TEXT,
    "date": Kind.DATE,
    "timestamp": Kind.CLOCK,
    "timestamptz": Kind.INSTANT,
    "time": Kind.TIME,
    "timetz": Kind.TIME,
}
_AS_TEXT = ("varchar", "bpchar", "name")
"""Read as text; of `char(n)` the blanks that fill it up are not part of an entry, as the server itself compares it."""
_WORDS = {
    "interval": "time spans",
    "bytea": "binary data",
    "json": "JSON documents",
    "jsonb": "JSON documents",
    "xml": "XML documents",
    "uuid": "UUIDs",
    "money": "amounts of money, whose text depends on the server's language: store them as numeric",
    "citext": "text without case: store it as text, and let the policy fold_case",
}
_NOT_TABLES = {
    "v": "a view",
    "m": "a materialized view",
    "f": "a foreign table",
}
_FOUND = """
    SELECT c.oid::bigint, n.nspname::text, c.relname::text, c.relkind::text, pg_catalog.row_security_active(c.oid),
        pg_catalog.has_table_privilege(c.oid, 'SELECT'),
        EXISTS (
            WITH RECURSIVE below(oid) AS (
                SELECT inhrelid FROM pg_catalog.pg_inherits WHERE inhparent = c.oid
                UNION SELECT i.inhrelid FROM pg_catalog.pg_inherits i JOIN below ON i.inhparent = below.oid)
            SELECT 1 FROM below JOIN pg_catalog.pg_class part ON part.oid = below.oid WHERE part.relkind = 'f')
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
        AND (n.nspname || '.' || c.relname = $1::text OR n.nspname = $3::text AND c.relname = $4::text
            OR c.relname = $5::text AND n.nspname = (
                SELECT seen.nspname
                FROM pg_catalog.pg_class same JOIN pg_catalog.pg_namespace seen ON seen.oid = same.relnamespace
                WHERE same.relname = $5::text AND seen.nspname = ANY($2::text[])
                ORDER BY array_position($2::text[], seen.nspname::text) LIMIT 1))"""
_LISTED = """
    SELECT CASE WHEN n.nspname = ANY($1::text[]) THEN c.relname::text ELSE n.nspname || '.' || c.relname END
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p') AND n.nspname NOT IN ('pg_catalog', 'information_schema')
        AND n.nspname NOT LIKE 'pg\\_toast%' AND n.nspname NOT LIKE 'pg\\_temp%'
        AND pg_catalog.has_any_column_privilege(c.oid, 'SELECT')
    ORDER BY 1 LIMIT 200"""
# A domain stands for the type that it restricts, however many domains lie between.
_COLUMNS = """
    WITH RECURSIVE told AS (
        SELECT a.attnum, a.attname::text AS name, a.attgenerated::text AS made, a.atttypid AS type,
            pg_catalog.has_column_privilege(a.attrelid, a.attnum, 'SELECT') AS readable
        FROM pg_catalog.pg_attribute a
        WHERE a.attrelid = $1::bigint::pg_catalog.oid AND a.attnum > 0 AND NOT a.attisdropped),
    based(attnum, type) AS (
        SELECT attnum, type FROM told
        UNION ALL SELECT attnum, t.typbasetype FROM based JOIN pg_catalog.pg_type t ON t.oid = based.type
        WHERE t.typtype = 'd')
    SELECT told.name, told.made, told.readable, t.typname::text, t.typtype::text, t.typcategory::text,
        n.nspname::text
    FROM told JOIN based USING (attnum) JOIN pg_catalog.pg_type t ON t.oid = based.type
        JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
    WHERE t.typtype <> 'd' ORDER BY attnum"""


@dataclass(frozen=True)
class ServerColumn:
    """One column, and the SQL of its entries in the type that we read them in."""

    column: Column
    entry: str
    readable: bool


@dataclass(frozen=True)
class ServerTable:
    """One table, as it is in this transaction."""

    rows: str  # its name in SQL
    columns: tuple[ServerColumn, ...]

    @property
    def names(self) -> list[str]:
        """The names of the columns, as written in the catalogue."""
        return [found.column.name for found in self.columns]


def look(con: "Connection[Any]", address: Address, *, rows_are_records: bool) -> ServerTable:
    """The table of an address as it is now, and stays for this transaction, which begins here."""
    own, all_rows = users_own(con), not rows_are_records
    begin(con, own, all_rows=all_rows)
    found = _find(con, address, own.path, rows_are_records=rows_are_records)
    con.execute("COMMIT")
    if found[2]:
        begin_locked(con, own, found[1], address.name, all_rows=all_rows)
    else:  # who may read some columns only may not lock it; then a change at that very moment may be missed
        begin(con, own, all_rows=all_rows)
    again = _find(con, address, own.path, rows_are_records=rows_are_records)
    if found != again:
        raise DataError("the table was replaced just now", where=address.name, hints=["try again"])
    told = con.execute(_COLUMNS, [found[0]]).fetchall()
    columns = tuple(_column(*column, computed=rows_are_records) for column in told)
    if not columns:
        raise DataError("has no columns", where=address.name)
    return ServerTable(found[1], columns)


def _find(
    con: "Connection[Any]", address: Address, path: list[str], *, rows_are_records: bool
) -> tuple[int, str, bool]:
    """A table's number, its name in SQL, and whether all of it may be read.

    Views, foreign tables and what security policies filter only if they are declared.
    """
    dotted = address.table if address.quoted is None else None  # which of its dots ends the schema is not known
    alone = (address.quoted or address.table) if address.schema is None else None
    found = con.execute(_FOUND, [dotted, path, address.schema, address.quoted, alone]).fetchall()
    if not found:
        raise _unknown(con, address, path)
    if len(found) > 1:
        named = [f"{identifier(schema)}.{identifier(table)}" for _, schema, table, *_ in found]
        hints = [(f"'…::{named[0]}'", "names one of them, in quotes of the shell")]
        raise DataError(f"{len(found)} tables have this name: {', '.join(named)}", where=address.name, hints=hints)
    oid, schema, table, kind, filtered, readable, foreign = found[0]
    if not rows_are_records:
        _require_table(address, _NOT_TABLES.get(kind, ""), filtered=filtered, foreign=foreign)
    lockable = bool(readable) and kind in ("r", "p")
    return int(oid), f"{identifier(schema)}.{identifier(table)}", lockable


def _require_table(address: Address, other: str, *, filtered: bool, foreign: bool) -> None:
    """Refuse rows that may be computed from several records, or by somebody else's server."""
    hint = ("rows_are_records = true", "in the policy, if each of its rows comes from one record, and from it alone")
    if other:
        why = "Its server may give other rows each time." if other == "a foreign table" else (
            "A view may compute across rows: then changing one record is more than changing one row."
        )  # fmt: skip
        raise DataError(f"“{address.table}” is {other}, not a table", where=address.name, details=[why], hints=[hint])
    if foreign:
        what = f"a part of “{address.table}” is a foreign table"
        raise DataError(what, where=address.name, details=["Its server may give other rows each time."], hints=[hint])
    if filtered:
        raise DataError(
            f"row-level security hides rows of “{address.table}” from this user",
            where=address.name,
            details=["Which rows are hidden may depend on other rows, and all records are to be counted."],
            hints=[("ALTER ROLE … BYPASSRLS", "lets the user that connects see all rows"), hint],
        )


def _column(
    name: str, made: str, readable: bool, native: str, sort: str, category: str, schema: str, *, computed: bool
) -> ServerColumn:
    """What is computed when it is read may call anything; what was computed when it was written is data like any."""
    base = native if schema == "pg_catalog" else ""
    column = Column(name, None, _words(native, sort, category))
    if made == "v" and not computed:
        column = Column(name, None, "generated: computed when it is read, and not stored")
    elif base in _KINDS:
        column = Column(name, _KINDS[base], native=base)
    elif base in _AS_TEXT or sort == "e":
        column = Column(name, Kind.TEXT, native="text")
    entry = identifier(name)
    if sort == "e" and column.kind is not None:  # as it is written: a cast of its own could do anything
        entry = f'textin(enum_out(CAST({entry} AS {identifier(schema)}.{identifier(native)}))) COLLATE "C"'
    elif column.kind is Kind.TEXT:
        entry = f'CAST({entry} AS pg_catalog.text) COLLATE "C"'
    elif column.kind is not None:
        entry = f"CAST({entry} AS pg_catalog.{column.native})"  # of a domain its base
    return ServerColumn(column, entry, readable)


def _words(native: str, sort: str, category: str) -> str:
    if category == "A":
        return "lists"
    if sort in ("c", "r", "m"):
        return {"c": "nested records"}.get(sort, "ranges")
    return _WORDS.get(native, f"of type {native[:60]}")


def _unknown(con: "Connection[Any]", address: Address, path: list[str]) -> DataError:
    known = [name for (name,) in con.execute(_LISTED, [path]).fetchall()]
    shown = ", ".join(known[:30])
    example = (f"…::{known[0] if known else 'people'}", "an address and its table")
    return DataError(
        f"no table “{address.table}”" if address.table else "which table?",
        where=address.database,
        details=[f"{address.database} has: {shown}" if shown else f"{address.database} has no table that you may read"],
        hints=[*did_you_mean(address.table, known)] or [example],
    )


def identifier(name: str) -> str:
    """A name in SQL."""
    return '"' + name.replace('"', '""') + '"'
