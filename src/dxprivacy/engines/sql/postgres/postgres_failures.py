"""What can go wrong with a server, in our words: by the code of an error, or by how a connection failed.

The server's own words may quote a record (of a function in a view, say), and are never shown.
"""

from dataclasses import dataclass
from typing import Any

from dxprivacy.engines.sql.postgres.postgres_address import Address
from dxprivacy.errors import DataError, Hint
from dxprivacy.wording import quoted as shell_word

WITHHELD = "The server's own message is withheld: it may quote a record."
GRANT: Hint = (
    "GRANT USAGE ON SCHEMA … TO …; GRANT SELECT ON TABLE … TO …;",
    "for the user that connects (docs/data.md)",
)
_PASSWORD: Hint = ("~/.pgpass", "holds the password; PGUSER or the address the user")
_BACK: Hint = ("try again when it is back", "")


@dataclass(frozen=True)
class Failure:
    """One way to fail: what codes begin with, or some words of a message that came without a code."""

    known_by: tuple[str, ...]
    what: str
    hint: Hint


_BY_CODE = [
    Failure(("42501",), "may not be read: permission denied", GRANT),
    Failure(("42P01",), "the table is gone", ("somebody dropped or renamed it meanwhile", "")),
    Failure(("42703",), "a column is gone", ("somebody dropped or renamed it meanwhile", "")),
    Failure(
        ("57014",),
        "the query was canceled on the server, or took longer than its statement_timeout",
        ("PGOPTIONS='-c statement_timeout=3h'", "allows more"),
    ),
    Failure(("55P03",), "the table is locked by somebody else", ("try again", "")),
    Failure(
        ("25P03", "25P04"),
        "the server ended the transaction: it may not take that long, or not wait that long",
        ("ALTER ROLE … SET idle_in_transaction_session_timeout = 0", "and transaction_timeout = 0, for this user"),
    ),
    Failure(("57P",), "the server shut down, or ended the connection", _BACK),
    Failure(
        ("08P01",),
        "a pooler in front of the server does not allow transactions",
        ("pool_mode = transaction", "or session, in its settings"),
    ),
    Failure(("08",), "the connection to the server was lost", _BACK),
    Failure(("53",), "the server has too little memory, disk space or connections left", ("try again later", "")),
    Failure(("28",), "the server does not let this user in", _PASSWORD),
    Failure(("3D",), "there is no such database", ("postgresql://host/DATABASE::table", "names one")),
]
_BY_WORDS = [
    Failure(
        ("unsupported startup parameter",),
        "a pooler in front of the server does not take options",
        ("ALTER ROLE … SET statement_timeout = '3h'", "instead of PGOPTIONS, or of options in the address"),
    ),
    Failure(
        ("password authentication failed", "no password supplied", "authentication failed"),
        "the server does not let this user in: wrong or missing password",
        _PASSWORD,
    ),
    Failure(
        ("no pg_hba.conf entry",),
        "the server does not let this user in from here",
        ("its administrator decides, in pg_hba.conf", ""),
    ),
    Failure(
        ('database "',),
        "there is no such database, or it cannot be entered",
        ("postgresql://host/DATABASE::table", "names one"),
    ),
    Failure(
        ("definition of service", "service file"),
        "there is no such service",
        ("PGSERVICEFILE", "names the file that has it"),
    ),
    Failure(
        ("timeout expired", "timed out"),
        "the server does not answer",
        ("is the host right, and can it be reached from here?", ""),
    ),
    Failure(
        (
            "Connection refused",
            "could not translate host",
            "resolve host",
            "No such file",
            "Network is unreachable",
            "No route to host",
            "Name or service",
        ),
        "there is no server at this address",
        ("is the host right, and the port (5432 where none is named)?", ""),
    ),
    Failure(
        ("starting up", "shutting down"), "the server is just starting or stopping", ("try again in a moment", "")
    ),
    Failure(
        ("invalid URI", "invalid connection option", 'missing "="', "invalid port", "invalid integer", "unterminated"),
        "the address is not written as PostgreSQL wants it",
        ("postgresql://user@host:5432/database::schema.table", "an example"),
    ),
    Failure(
        ("SSL",), "the secure connection failed", ("sslmode and sslrootcert in the address say how it is made", "")
    ),
    Failure(
        ("server closed the connection", "terminating connection", "connection is lost", "connection is closed",
         "consuming input failed", "lost synchronization"),
        "the connection to the server was lost",
        _BACK,
    ),
]  # fmt: skip


def refusal(error: Any, address: Address) -> DataError:
    """Our error for one of psycopg's."""
    state, text = error.sqlstate or "", str(error)
    for failure in _BY_CODE:
        if state.startswith(failure.known_by):
            return DataError(failure.what, where=address.name, details=[WITHHELD], hints=[failure.hint])
    if state:
        return DataError("the server could not answer", where=address.name, details=[WITHHELD])
    for failure in _BY_WORDS:
        if any(words in text for words in failure.known_by):
            return DataError(failure.what, where=address.name, hints=[failure.hint])
    hint = (f"psql {shell_word(address.server)}", "connects in the same way, and says why not")
    return DataError("there is no connection to the server", where=address.name, hints=[hint])
