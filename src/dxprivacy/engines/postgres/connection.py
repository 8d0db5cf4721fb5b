"""One look at the server: a connection with settings of its own, a read-only transaction, and errors that are ours.

What the server says may quote a row (of a generated column, of a function in a view), and is never shown: every failure
is a fixed text, raised outside of the `except` block so that the original is not attached to it.  Ctrl-C cancels the
query on the server, too.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from dxprivacy.engines.postgres.address import Address
from dxprivacy.engines.postgres.failures import WITHHELD, refusal
from dxprivacy.errors import DataError

if TYPE_CHECKING:
    from psycopg import Connection

T = TypeVar("T")
OLDEST = 16
_PATIENCE = "10"  # seconds until a server that does not answer is given up, unless the address says how many
_LONGEST = "1h"  # of one statement, unless the server or the user has a limit of its own

# What a query means must not depend on who runs it: names are those of the system, texts of days and numbers are ours.
_SETTINGS = {
    "search_path": "pg_catalog",
    "TimeZone": "UTC",
    "DateStyle": "ISO, YMD",
    "extra_float_digits": "1",
    "standard_conforming_strings": "on",
    "client_min_messages": "error",  # warnings could quote rows
}


def connected(address: Address, action: "Callable[[Connection[Any]], T]") -> T:
    """What an action finds on a connection of its own, with our settings."""
    import psycopg

    refused: DataError
    try:
        with _open(address) as con:
            _require_known(con, address)
            return action(con)
    except DataError:
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
    return psycopg.connect(address.server, autocommit=True, **options, cursor_factory=psycopg.RawCursor)


def _require_known(con: "Connection[Any]", address: Address) -> None:
    if con.info.server_version < OLDEST * 10_000:
        what = f"the server is PostgreSQL {con.info.server_version // 10_000}; {OLDEST} and later are read"
        raise DataError(what, where=address.name)
    encoding = con.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        what = f"the database stores text as {encoding}; databases in UTF8 are read"
        raise DataError(what, where=address.name, hints=["copy the table into a database in UTF8"])


def settled(con: "Connection[Any]", *, all_rows: bool) -> list[str]:
    """Our settings, from now on; and the schemas in which the user's own settings look for a name."""
    row = con.execute("SELECT pg_catalog.current_schemas(true)::pg_catalog.text[]").fetchone()
    # What would hide rows from this user stops the query instead.
    for name, value in (_SETTINGS | ({"row_security": "off"} if all_rows else {})).items():
        con.execute("SELECT pg_catalog.set_config($1, $2, false)", [name, value])
    con.execute(
        "SELECT set_config('statement_timeout', $1, false) WHERE current_setting('statement_timeout') = '0'", [_LONGEST]
    )
    return list(row[0]) if row else []


def begin(con: "Connection[Any]", rows: str, *, lockable: bool) -> None:
    """One state of the table, from here on: it is locked against changes of its schema before anything is looked at.

    Who may read some columns only may not lock it; then a change at that very moment may be missed.
    """
    con.execute("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
    if lockable:
        con.execute(f"LOCK TABLE {rows} IN ACCESS SHARE MODE")
