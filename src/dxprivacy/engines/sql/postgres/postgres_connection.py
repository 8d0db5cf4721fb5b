"""One look at the server: read-only transactions with settings of their own, and errors that are ours.

What the server says may quote a row (of a generated column, of a function in a view), and is never shown: every failure
is a fixed text, raised outside of the `except` block so that the original is not attached to it.  Ctrl-C cancels the
query on the server, too.
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
_PATIENCE = "10"  # seconds until a server that does not answer is given up, unless the address says how many
_LONGEST = "1h"  # of one statement, unless the server or the user has a limit of its own
_SILENT = "2s"  # of waiting for a lock

# What a query means must not depend on who runs it: names are those of the system, texts of days and numbers are ours.
_SETTINGS = {
    "search_path": "pg_catalog, pg_temp",  # behind, or types of temporary tables would come first
    "TimeZone": "'UTC'",
    "DateStyle": "'ISO, YMD'",
    "extra_float_digits": "'1'",
    "standard_conforming_strings": "'on'",
    "client_min_messages": "'error'",  # warnings could quote rows
}


def connected(address: Address, action: "Callable[[Connection[Any]], T]") -> T:
    """What an action finds on a connection of its own."""
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
    # Nothing is prepared by name: behind a pooler the next transaction may be on another connection.
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
    """What the user, or the server, has set already, and we keep to."""

    role: str  # whose rights and row-level security hold
    path: list[str]  # the schemas in which a name is looked for
    has_end: bool  # whether statements end after some time
    has_patience: bool  # whether somebody else's lock is waited for only so long


def users_own(con: "Connection[Any]") -> UsersOwn:
    """Before any setting is ours."""
    limits = ", ".join(f"pg_catalog.current_setting('{name}')" for name in ("statement_timeout", "lock_timeout"))
    names = "CURRENT_USER::pg_catalog.text, pg_catalog.current_schemas(true)::pg_catalog.text[]"
    row = con.execute(f"SELECT {names}, {limits}").fetchone()
    role, path, end, patience = row or ("", [], "0", "0")
    return UsersOwn(role, list(path), end != "0", patience != "0")


def begin(con: "Connection[Any]", own: UsersOwn, *, all_rows: bool) -> None:
    """A transaction with our settings, which end with it: a pooler hands the connection to others afterwards."""
    con.execute("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
    # Off: a query from which row-level security would hide rows fails instead.
    settings = {**_SETTINGS, "row_security": "off" if all_rows else "on"}
    if not own.has_end:
        settings["statement_timeout"] = f"'{_LONGEST}'"
    for name, value in settings.items():  # by SET, which looks at no state of the tables yet
        con.execute(f"SET LOCAL {name} = {value}")


def begin_locked(con: "Connection[Any]", own: UsersOwn, rows: str, name: str, *, all_rows: bool) -> None:
    """As `begin`, with one state of the table: it is locked against changes of its schema before it is looked at.

    Who waits for somebody else's lock is told so.
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
    notice(f"waiting for {name}: somebody changes the table, and holds a lock on it")
    begin(con, own, all_rows=all_rows)
    con.execute(lock)
