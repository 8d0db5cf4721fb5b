"""Connect to a server: read-only transactions with fixed settings, and errors with fixed texts.

The server's messages may quote a row (of a generated column, of a function in a view), and are never shown. Every
failure is replaced by a fixed text, raised outside of the `except` block so that the original is not attached to it.
Ctrl-C also cancels the query on the server.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from dxprivacy.engines.source import notice
from dxprivacy.engines.sql.postgres.postgres_failures import WITHHELD, Address, refusal
from dxprivacy.errors import DataError, DxError

if TYPE_CHECKING:
    from psycopg import Connection

T = TypeVar("T")
OLDEST = 16
_PATIENCE = "10"  # seconds to wait for a server that does not answer, unless the address sets them
_LONGEST = "1h"  # limit of one statement, unless the server or the user has set one
_SILENT = "2s"  # time to wait for a lock before a notice is shown

# The meaning of a query must not depend on who runs it: names are those of the system, and the texts of days and
# numbers have a fixed form.
_SETTINGS = {
    "search_path": "pg_catalog, pg_temp",  # pg_temp last, or its types would be found first
    "TimeZone": "'UTC'",
    "DateStyle": "'ISO, YMD'",
    "extra_float_digits": "'1'",
    "standard_conforming_strings": "'on'",
    "client_min_messages": "'error'",  # warnings could quote rows
}


def connected(address: Address, action: "Callable[[Connection[Any]], T]") -> T:
    """Run an action on a new connection, and return its result."""
    import psycopg

    refused: DataError
    try:
        with _open(address) as con:
            _require_known(con, address)
            return action(con)
    except DxError:
        raise
    except psycopg.Error as error:
        refused = refusal(error, address)
    except Exception:
        refused = DataError("the server's answer is not understood", where=address.name, details=[WITHHELD])
    raise refused


def _open(address: Address) -> "Connection[Any]":
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    told = conninfo_to_dict(address.server)
    usual = {"connect_timeout": _PATIENCE, "fallback_application_name": "dxprivacy"}
    options: dict[str, Any] = {key: value for key, value in usual.items() if key not in told}
    options["client_encoding"] = "UTF8"
    # No statement is prepared by name: behind a pooler the next transaction may be on another connection.
    return psycopg.connect(
        address.server, autocommit=True, prepare_threshold=None, **options, cursor_factory=psycopg.RawCursor
    )


def _require_known(con: "Connection[Any]", address: Address) -> None:
    if con.info.server_version < OLDEST * 10_000:
        what = f"the server is PostgreSQL {con.info.server_version // 10_000}; {OLDEST} and later are read"
        raise DataError(what, where=address.name)
    encoding = con.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        what = f"the database stores text as {encoding}; databases in UTF8 are read"
        raise DataError(what, where=address.name, hints=["copy the table into a database in UTF8"])


@dataclass(frozen=True)
class UsersOwn:
    """Settings of the user or the server that are kept."""

    role: str  # the role whose privileges and row-level security apply
    path: list[str]  # the schemas that are searched for a name
    has_end: bool  # whether statements have a time limit
    has_patience: bool  # whether waiting for a lock has a time limit


def users_own(con: "Connection[Any]") -> UsersOwn:
    """Read these settings, before any is changed."""
    limits = ", ".join(f"pg_catalog.current_setting('{name}')" for name in ("statement_timeout", "lock_timeout"))
    names = "CURRENT_USER::pg_catalog.text, pg_catalog.current_schemas(true)::pg_catalog.text[]"
    row = con.execute(f"SELECT {names}, {limits}").fetchone()
    role, path, end, patience = row or ("", [], "0", "0")
    return UsersOwn(role, list(path), end != "0", patience != "0")


def begin(con: "Connection[Any]", own: UsersOwn, *, all_rows: bool) -> None:
    """Begin a transaction with our settings, which end with it: a pooler passes the connection on afterwards."""
    con.execute("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
    # Off: a query from which row-level security would hide rows fails instead.
    settings = {**_SETTINGS, "row_security": "off" if all_rows else "on"}
    if not own.has_end:
        settings["statement_timeout"] = f"'{_LONGEST}'"
    for name, value in settings.items():  # by SET, which does not take a snapshot yet
        con.execute(f"SET LOCAL {name} = {value}")


def begin_locked(con: "Connection[Any]", own: UsersOwn, rows: str, name: str, *, all_rows: bool) -> None:
    """Begin a transaction as `begin` does, and lock the table against schema changes before the snapshot is taken.

    A notice is shown while another session's lock is in the way.
    """
    from psycopg.errors import LockNotAvailable

    lock = f"LOCK TABLE {rows} IN ACCESS SHARE MODE"
    begin(con, own, all_rows=all_rows)
    if own.has_patience:
        con.execute(lock)
        return
    con.execute(f"SET LOCAL lock_timeout = '{_SILENT}'")
    try:
        con.execute(lock)
    except LockNotAvailable:
        con.execute("ROLLBACK")
    else:
        con.execute("SET LOCAL lock_timeout = 0")
        return
    notice(f"waiting for {name}: another session is changing the table, and holds a lock on it")
    begin(con, own, all_rows=all_rows)
    con.execute(lock)
