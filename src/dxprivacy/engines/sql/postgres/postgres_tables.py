"""Look up a table in a server's catalog: its place, its kind, its columns and their types; reads no row."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dxprivacy.engines.source import Column, ColumnKind
from dxprivacy.engines.sql.postgres.postgres_connection import UsersOwn, begin, begin_locked, users_own
from dxprivacy.engines.sql.postgres.postgres_failures import Address
from dxprivacy.errors import DataError, did_you_mean
from dxprivacy.universe.file_format import FileFormat

if TYPE_CHECKING:
    from psycopg import Connection

_KINDS = {
    "int2": ColumnKind.WHOLE,
    "int4": ColumnKind.WHOLE,
    "int8": ColumnKind.WHOLE,
    "float4": ColumnKind.FLOAT,
    "float8": ColumnKind.FLOAT,
    "numeric": ColumnKind.DECIMAL,
    "bool": ColumnKind.TRUTH,
    "text": ColumnKind.TEXT,
    "date": ColumnKind.DATE,
    "timestamp": ColumnKind.CLOCK,
    "timestamptz": ColumnKind.INSTANT,
    "time": ColumnKind.TIME,
    "timetz": ColumnKind.TIME,
}
_AS_TEXT = ("varchar", "bpchar", "name")
"""Read as text; in `char(n)` the padding blanks are not part of an entry, as in the server's own comparison."""
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
_SECURITY = "row-level security is active"
_INVOKER = "the view has the rights of the role that reads it"
_ASKS = "the view asks who reads it"
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
            SELECT 1 FROM below JOIN pg_catalog.pg_class part ON part.oid = below.oid
            WHERE part.relkind = 'f' OR part.relpersistence = 't'),
        EXISTS (
            SELECT 1 FROM pg_catalog.pg_options_to_table(c.reloptions) AS told
            WHERE told.option_name = 'security_invoker' AND told.option_value::boolean)
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND c.relpersistence <> 't'
        AND (n.nspname || '.' || c.relname = $1::text OR n.nspname = $3::text AND c.relname = $4::text
            OR c.relname = $5::text AND n.nspname = (
                SELECT seen.nspname
                FROM pg_catalog.pg_class same JOIN pg_catalog.pg_namespace seen ON seen.oid = same.relnamespace
                WHERE same.relname = $5::text AND seen.nspname = ANY($2::text[]) AND same.relpersistence <> 't'
                ORDER BY array_position($2::text[], seen.nspname::text) LIMIT 1))"""
# For a view and all views below it: whether one of them refers to the role or its privileges, or calls a function of a
# user that may do so: one that is not declared IMMUTABLE.
_ASKS_FOR_ROLE = r"""
    WITH RECURSIVE below(oid) AS (
        SELECT $1::bigint::pg_catalog.oid
        UNION SELECT d.refobjid FROM below
            JOIN pg_catalog.pg_rewrite w ON w.ev_class = below.oid
            JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass
                AND d.objid = w.oid AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass)
    SELECT bool_or(pg_catalog.pg_get_viewdef(below.oid) ~
        '\m(CURRENT_USER|SESSION_USER|CURRENT_ROLE|USER|current_user|session_user|getpgusername|pg_has_role|has_\w+_privilege|row_security_active|current_setting)\M'
        OR EXISTS (
            SELECT 1 FROM pg_catalog.pg_rewrite w
                JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass
                    AND d.objid = w.oid AND d.refclassid = 'pg_catalog.pg_proc'::pg_catalog.regclass
                JOIN pg_catalog.pg_proc called ON called.oid = d.refobjid
            WHERE w.ev_class = below.oid AND called.provolatile <> 'i'))
    FROM below JOIN pg_catalog.pg_class c ON c.oid = below.oid WHERE c.relkind = 'v'"""
_LISTED = """
    SELECT CASE WHEN n.nspname = ANY($1::text[]) THEN c.relname::text ELSE n.nspname || '.' || c.relname END
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p') AND n.nspname NOT IN ('pg_catalog', 'information_schema')
        AND n.nspname NOT LIKE 'pg\\_toast%' AND n.nspname NOT LIKE 'pg\\_temp%'
        AND pg_catalog.has_any_column_privilege(c.oid, 'SELECT')
    ORDER BY 1 LIMIT 200"""
# A domain is resolved to the type that it restricts, through any number of domains.
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
    """One column, and the SQL of its entries in the type that is read."""

    column: Column
    entry: str
    readable: bool


@dataclass(frozen=True)
class ServerTable:
    """One table, as it is in this transaction."""

    rows: str  # its name in SQL
    columns: tuple[ServerColumn, ...]
    by_role: str  # why the visible rows depend on the connected role; empty if they do not

    @property
    def names(self) -> list[str]:
        """The names of the columns, as written in the catalog."""
        return [found.column.name for found in self.columns]


@dataclass(frozen=True)
class _Found:
    """A relation in the catalog."""

    oid: int
    rows: str  # its name in SQL
    kind: str
    filtered: bool  # row-level security of the relation itself is active for this role
    readable: bool  # as a whole, not only some columns
    foreign: bool  # a partition or child is a foreign table, or a temporary one
    invoker: bool  # a view with the rights of the role that reads it

    @property
    def lockable(self) -> bool:
        return self.readable and self.kind in ("r", "p")


def look(con: "Connection[Any]", address: Address, declared: FileFormat) -> ServerTable:
    """Begin a transaction, and return the table of an address, which stays as it is during the transaction."""
    own, role = users_own(con), declared.row_security_role
    if role and own.role != role:
        raise _other_role(address, role, own.role)
    all_rows = not role
    begin(con, own, all_rows=True)
    found = _find(con, address, own.path)
    if not declared.rows_are_records:
        _require_table(address, _NOT_TABLES.get(found.kind, ""), foreign=found.foreign)
    by_role = _by_role(con, own, found)
    con.execute("COMMIT")
    if by_role and not role:
        raise _depends_on_role(address, by_role, own.role)
    if found.lockable:
        begin_locked(con, own, found.rows, address.name, all_rows=all_rows)
    else:  # a role that may read only some columns cannot lock it; a change at this moment may be missed
        begin(con, own, all_rows=all_rows)
    if found != _find(con, address, own.path):
        raise DataError("the table was replaced just now", where=address.name, hints=["try again"])
    told = con.execute(_COLUMNS, [found.oid]).fetchall()
    columns = tuple(_column(*column, computed=declared.rows_are_records) for column in told)
    if not columns:
        raise DataError("has no columns", where=address.name)
    return ServerTable(found.rows, columns, by_role)


def _find(con: "Connection[Any]", address: Address, path: list[str]) -> _Found:
    """Return the one table, view or foreign table that an address names; temporary ones belong to other sessions."""
    dotted = address.table if address.quoted is None else None  # it is unknown which dot ends the schema
    alone = (address.quoted or address.table) if address.schema is None else None
    found = con.execute(_FOUND, [dotted, path, address.schema, address.quoted, alone]).fetchall()
    if not found:
        raise _unknown(con, address, path)
    if len(found) > 1:
        named = [f"{identifier(schema)}.{identifier(table)}" for _, schema, table, *_ in found]
        hints = [(f"'…::{named[0]}'", "names one of them, in quotes of the shell")]
        raise DataError(f"{len(found)} tables have this name: {', '.join(named)}", where=address.name, hints=hints)
    oid, schema, table, *told = found[0]
    return _Found(int(oid), f"{identifier(schema)}.{identifier(table)}", *told)


def _require_table(address: Address, other: str, *, foreign: bool) -> None:
    """Refuse rows that may be computed from several records, or by another server."""
    hint = ("rows_are_records = true", "in the policy, if each of its rows comes from one record, and from it alone")
    if other:
        why = "Its server may give other rows each time." if other == "a foreign table" else (
            "A view may compute across rows: then changing one record is more than changing one row."
        )  # fmt: skip
        raise DataError(f"“{address.table}” is {other}, not a table", where=address.name, details=[why], hints=[hint])
    if foreign:
        what = f"a part of “{address.table}” is a foreign or a temporary table"
        why = "Another server, or another connection, may have other rows there."
        raise DataError(what, where=address.name, details=[why], hints=[hint])


def _by_role(con: "Connection[Any]", own: UsersOwn, found: _Found) -> str:
    """Return why the rows of a relation depend on the role that reads it; empty if they do not.

    Below a view, the catalog does not show whose row-level security is active. The server knows it when it expands the
    view: with `row_security = off` it refuses a query that would hide rows, and with `on` it does not.
    """
    from psycopg.errors import InsufficientPrivilege

    filtered, expand = found.filtered, f"EXPLAIN SELECT FROM {found.rows}"
    try:
        if found.kind == "v":
            con.execute(expand)
    except InsufficientPrivilege:
        con.execute("ROLLBACK")
        begin(con, own, all_rows=False)
        con.execute(expand)  # fails again if the privilege to read is missing
        filtered = True
    asks = found.kind == "v" and con.execute(_ASKS_FOR_ROLE, [found.oid]).fetchall() == [(True,)]
    return " and ".join([_INVOKER] * found.invoker + [_SECURITY] * filtered + [_ASKS] * asks)


def _depends_on_role(address: Address, why: str, role: str) -> DataError:
    what = f"row-level security hides rows of “{address.table}” from the role “{role}”"
    if _INVOKER in why:
        what = f"“{address.table}” is a view with the rights of the role that reads it (security_invoker)"
    elif _SECURITY not in why:
        asks = "(such as current_user), or calls a function that may do so (one that is not IMMUTABLE)"
        what = f"“{address.table}” is a view that asks for the role that reads it {asks}"
    return DataError(
        what,
        where=address.name,
        details=["Another role may see other rows, and which rows are hidden may depend on other rows."],
        hints=[
            ("ALTER ROLE … BYPASSRLS", "lets the role that connects see all rows of tables"),
            (f'row_security_role = "{role}"', "in the policy, if the records are the rows that this role sees"),
        ],
    )


def _other_role(address: Address, declared: str, role: str) -> DataError:
    return DataError(
        f"the policy counts the rows that role “{declared}” sees, and “{role}” is connected",
        where=address.name,
        details=["Another role may see other rows. Nothing spent, no data read."],
        hints=[(f"postgresql://{declared}@…", "connects as that role; or change row_security_role in the policy")],
    )


def _column(
    name: str, made: str, readable: bool, native: str, sort: str, category: str, schema: str, *, computed: bool
) -> ServerColumn:
    """Describe one column; one that is computed at read time may call anything, one computed at write time is data."""
    base = native if schema == "pg_catalog" else ""
    column = Column(name, None, _words(native, sort, category))
    if made == "v" and not computed:
        column = Column(name, None, "generated: computed when it is read, and not stored")
    elif base in _KINDS:
        column = Column(name, _KINDS[base], native=base)
    elif base in _AS_TEXT or sort == "e":
        column = Column(name, ColumnKind.TEXT, native="text")
    entry = identifier(name)
    if sort == "e" and column.kind is not None:  # by its output function: a user's cast could do anything
        entry = f'textin(enum_out(CAST({entry} AS {identifier(schema)}.{identifier(native)}))) COLLATE "C"'
    elif column.kind is ColumnKind.TEXT:
        entry = f'CAST({entry} AS pg_catalog.text) COLLATE "C"'
    elif column.kind is not None:
        entry = f"CAST({entry} AS pg_catalog.{column.native})"  # for a domain, its base type
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
    """Quote a name for SQL."""
    return '"' + name.replace('"', '""') + '"'
