"""Where a table of a PostgreSQL server is: an address as libpq writes it, `::`, and the table's name.

    postgresql://anna@db.example.org/survey::public.people
    service=survey::people

No password: addresses stand in lists of processes, in histories of shells and in notebooks.  libpq finds it by itself
(a password file, a service file, the environment).
"""

import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote, urlsplit

from dxprivacy.errors import DataError, Hint
from dxprivacy.files.addresses import POSTGRES

_SECRETS = ("password", "sslpassword", "oauth_client_secret", "scram_client_key", "scram_server_key")
_WORDS = re.compile(r"""\s*([a-z_]+)\s*=\s*('(?:[^'\\]|\\.)*'|[^\s']*)""", re.IGNORECASE)
_ELSEWHERE: list[Hint] = [
    ("~/.pgpass", "host:port:database:user:password, readable by you alone"),
    ("PGPASSFILE, PGSERVICEFILE", "name such files; PGPASSWORD holds a password"),
]


@dataclass(frozen=True)
class Address:
    """A server and a table; its text never shows who connects, and how."""

    server: str
    table: str

    def __repr__(self) -> str:
        return f"Address({self.name!r})"

    @property
    def database(self) -> str:
        """The database, or the service, that is named."""
        if self.server.startswith(POSTGRES):
            return unquote(urlsplit(self.server).path.lstrip("/")) or "postgresql"
        told: dict[str, str] = {key.lower(): value.strip("'") for key, value in _WORDS.findall(self.server)}
        return told.get("dbname") or told.get("service", "postgresql")

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"{self.database}::{self.table}" if self.table else self.database


def address(text: str) -> Address:
    """The server and the table of a text that names them; one with a password in it is refused, and not shown.

    >>> address("postgresql://anna@[::1]:5433/survey?sslmode=require::public.people")
    Address('survey::public.people')
    """
    server, sign, table = text.rpartition("::")
    if not sign or "]" in table:  # colons of an address such as [::1]
        server, table = text, ""
    for scheme in POSTGRES:
        if server.lower().startswith(scheme):
            server = scheme + server[len(scheme) :]
    found = Address(server, table)
    if _has_secret(server):
        raise DataError(
            "an address with a password in it is not taken: lists of processes and histories show it",
            where="--data",
            hints=_ELSEWHERE,
        )
    return found


def _has_secret(server: str) -> bool:
    if not server.startswith(POSTGRES):
        return any(key.lower() in _SECRETS for key, _ in _WORDS.findall(server))
    try:
        parts = urlsplit(server)
        user = parts.netloc.rpartition("@")[0]
        queried = {key.lower() for key, _ in parse_qsl(parts.query, keep_blank_values=True)}
    except ValueError:  # not understood: libpq says so, but not here what is in it
        return "@" in server
    return ":" in user or bool(queried & set(_SECRETS))
