"""Where a table of a PostgreSQL server is: an address as libpq writes it, `::`, and the table's name.

    postgresql://anna@db.example.org/survey::public.people
    service=survey::people
    host=db.example.org dbname=survey user=anna::people
    service=survey::"a.b".people             names in double quotes, where a dot would not tell which is which

No password: addresses stand in lists of processes, in histories of shells and in notebooks.  libpq finds it by itself
(a password file, a service file, the environment).
"""

import re
from dataclasses import dataclass
from typing import Any

from dxprivacy.errors import DataError, Hint
from dxprivacy.formats.table_addresses import has_secret
from dxprivacy.wording import repr_of_half_built

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
    """A server and a table; its text never shows who connects, and how."""

    server: str
    table: str
    database: str  # or the service, that is named
    schema: str | None = None  # where the names are quoted
    quoted: str | None = None  # the table's own name, then

    def __repr__(self) -> str:
        return f"Address({self.name!r})"

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"{self.database}::{self.table}" if self.table else self.database


def address(text: str) -> Address:
    """The server and the table of a text that names them; one with a password in it is refused, and not shown.

    What stands where is libpq's to say: nobody else reads an odd address in just its way.
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
        raise DataError("no table is called that", where="--data")
    return Address(server, table, str(told.get("dbname") or told.get("service") or "postgresql"), schema, name)


def _unquoted(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name


def _with_password() -> DataError:
    what = "an address with a password in it is not taken: lists of processes and histories show it"
    return DataError(what, where="--data", hints=_ELSEWHERE)


def _read(server: str) -> dict[str, Any]:
    """As libpq reads it."""
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
