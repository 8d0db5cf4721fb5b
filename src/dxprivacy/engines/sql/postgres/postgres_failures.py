"""Parse addresses of PostgreSQL, and map errors to fixed texts: by error code, or by how a connection failed.

The server's own messages may quote a record (for example, of a function in a view), and are never shown.
"""

import re
from dataclasses import dataclass
from typing import Any

from dxprivacy.errors import DataError, Hint
from dxprivacy.formats.file_access import has_secret
from dxprivacy.wording import quoted as shell_word
from dxprivacy.wording import repr_of_half_built

# -- Where a table of a PostgreSQL server is: an address as libpq writes it, `::`, and the table's name ----------------
#     postgresql://anna@db.example.org/survey::public.people
#     service=survey::people
#     host=db.example.org dbname=survey user=anna::people
#     service=survey::"a.b".people             names in double quotes, if one contains a dot
#
# No password: addresses appear in lists of processes, in histories of shells and in notebooks.  libpq finds it by
# itself (a password file, a service file, the environment).


_SECRETS = {"password", "sslpassword", "oauth_client_secret", "scram_client_key", "scram_server_key"}
_LONGEST_NAME = 200
_PART = r'(?:"(?:[^"]|"")+"|[^".:]+)'
_QUOTED = re.compile(rf'(?P<server>.*?)::(?=.*")(?P<table>(?:(?P<schema>{_PART})\.)?(?P<name>{_PART}))', re.DOTALL)
_ELSEWHERE: list[Hint] = [
    ("~/.pgpass", "host:port:database:user:password, readable by you alone"),
    ("PGPASSFILE, PGSERVICEFILE", "name such files; PGPASSWORD holds a password"),
]


@repr_of_half_built
@dataclass(frozen=True)
class Address:
    """A server and a table; its repr never shows the user or how to connect."""

    server: str
    table: str
    database: str  # or the name of the service
    schema: str | None = None  # if the names are quoted
    quoted: str | None = None  # the table's own name, if it is quoted

    def __repr__(self) -> str:
        return f"Address({self.name!r})"

    @property
    def name(self) -> str:
        """The name in messages."""
        return f"{self.database}::{self.table}" if self.table else self.database


def address(text: str) -> Address:
    """Split an address into server and table; refuse one with a password in it, without showing it.

    libpq parses the server part, because no other parser reads an unusual address in exactly its way.
    """
    text = text.strip()
    schema, name = None, None
    if found := _QUOTED.fullmatch(text):
        server, table = found["server"], found["table"]
        schema, name = found["schema"] and _unquoted(found["schema"]), _unquoted(found["name"])
    else:
        server, sign, table = text.rpartition("::")
        if not sign or set(table) & set("]@/"):  # colons of an address such as [::1]
            server, table = text, ""
    if has_secret(text):
        raise _with_password()
    told = _read(server)
    if _SECRETS & {key for key, value in told.items() if value}:
        raise _with_password()
    if "\0" in table or len(table) > _LONGEST_NAME:
        raise DataError("there is no table with this name", where="--data")
    return Address(server, table, str(told.get("dbname") or told.get("service") or "postgresql"), schema, name)


def _unquoted(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name


def _with_password() -> DataError:
    what = "an address with a password in it is refused: lists of processes and histories show it"
    return DataError(what, where="--data", hints=_ELSEWHERE)


def _read(server: str) -> dict[str, Any]:
    """Parse the server part of an address with libpq."""
    try:
        from psycopg import Error
        from psycopg.conninfo import conninfo_to_dict
    except ImportError:
        hints = [('pip install "dxprivacy[postgres]"', "brings psycopg")]
        raise DataError("PostgreSQL needs psycopg, which is not installed", where="--data", hints=hints) from None
    try:
        return dict(conninfo_to_dict(server))
    except (Error, ValueError):
        hints = [("postgresql://user@host:5432/database::schema.table", "an example")]
        raise DataError("the address is not written as PostgreSQL wants it", where="--data", hints=hints) from None


# -- Errors of a server, as fixed texts --------------------------------------------------------------------------------


WITHHELD = "The server's own message is withheld: it may quote a record."
GRANT: Hint = (
    "GRANT USAGE ON SCHEMA … TO …; GRANT SELECT ON TABLE … TO …;",
    "for the user that connects (docs/data.md)",
)
_PASSWORD: Hint = ("~/.pgpass", "holds the password; PGUSER or the address the user")
_BACK: Hint = ("try again when it is back", "")


@dataclass(frozen=True)
class Failure:
    """One way to fail: the beginnings of its error codes, or words of a message that came without a code."""

    known_by: tuple[str, ...]
    what: str
    hint: Hint


_BY_CODE = [
    Failure(("42501",), "may not be read: permission denied", GRANT),
    Failure(("42P01",), "the table is gone", ("it was dropped or renamed meanwhile", "")),
    Failure(("42703",), "a column is gone", ("it was dropped or renamed meanwhile", "")),
    Failure(
        ("57014",),
        "the query was canceled on the server, or took longer than its statement_timeout",
        ("PGOPTIONS='-c statement_timeout=3h'", "allows more"),
    ),
    Failure(("55P03",), "another session has locked the table", ("try again", "")),
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
    """Return our error for an error of psycopg."""
    state, text = error.sqlstate or "", str(error)
    for failure in _BY_CODE:
        if state.startswith(failure.known_by):
            return DataError(failure.what, where=address.name, details=[WITHHELD], hints=[failure.hint])
    if state:
        return DataError("the server could not answer", where=address.name, details=[WITHHELD])
    for failure in _BY_WORDS:
        if any(words in text for words in failure.known_by):
            return DataError(failure.what, where=address.name, hints=[failure.hint])
    hint = (f"psql {shell_word(address.server)}", "connects in the same way, and shows why it fails")
    return DataError("there is no connection to the server", where=address.name, hints=[hint])
