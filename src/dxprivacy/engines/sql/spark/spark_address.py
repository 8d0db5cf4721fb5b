"""Where Spark finds a table, as a text.

    spark:catalog.schema.people              a table of the catalog, on the session that is configured here
    spark:/data/people.parquet               files, on the same session; a directory stands for all files in it
    sc://host:15002/::catalog.schema.people  the same of a Spark Connect server

No password or token: addresses stand in lists of processes.  Spark takes them from its own configuration.
"""

from dataclasses import dataclass
from urllib.parse import urlsplit

from dxprivacy.errors import DataError
from dxprivacy.formats.table_addresses import SPARK, SPARK_CONNECT, has_secret

USUAL_PORT = 15_002
_OPTIONS = {"use_ssl", "user_id", "user_agent", "session_id", "grpc_max_message_size"}


@dataclass(frozen=True)
class SparkAddress:
    """A table or files; `remote` is the server of Spark Connect, if there is one."""

    remote: str
    table: str

    @property
    def name(self) -> str:
        """What messages call it: never with the server's address."""
        return f"{SPARK}{self.table}"

    @property
    def server(self) -> tuple[str, int]:
        """The host and the port of Spark Connect."""
        try:
            parts = urlsplit(self.remote.partition(";")[0])
            found = str(parts.hostname or ""), parts.port or USUAL_PORT
        except ValueError:
            hints = [("sc://host:15002/::catalog.schema.table", "an example")]
            raise DataError("the address is not written as Spark wants it", where=self.name, hints=hints) from None
        return found

    @property
    def is_path(self) -> bool:
        """Whether files are meant: a table's name has no slash."""
        return "/" in self.table


def address(text: str) -> SparkAddress:
    """The parts of a text that names a table or files.

    >>> address("sc://host:15002/;use_ssl=true::survey.people")
    SparkAddress(remote='sc://host:15002/;use_ssl=true', table='survey.people')
    """
    text = text.strip()
    if text.startswith(SPARK):
        found = SparkAddress("", text.removeprefix(SPARK))
    else:
        server, sign, table = text.rpartition("::")
        found = SparkAddress(server, table) if sign and "]" not in table else SparkAddress(text, "")
    if has_secret(text) or SPARK_CONNECT in found.table or not _options(found.remote) <= _OPTIONS:
        raise DataError(
            "an address with a token in it is not taken: lists of processes and histories show it",
            where="--data",
            details=[f"Of Spark Connect, an address may have the options {', '.join(sorted(_OPTIONS))}."],
            hints=[("SPARK_REMOTE", "holds the whole address, for spark:catalog.schema.table")],
        )
    if not found.table:
        hints = [("spark:catalog.schema.table", "a table of the catalog"), ("spark:/data/people.parquet", "files")]
        raise DataError("which table?", where="spark", hints=hints)
    return found


def _options(remote: str) -> set[str]:
    """The names of what stands behind the first semicolon; of a user in front of the host, a name that is none."""
    host, _, options = remote.partition(";")
    named = {part.partition("=")[0].strip() for part in options.split(";") if part.strip()}
    return named | ({"@"} if "@" in host else set())
