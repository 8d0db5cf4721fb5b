"""Open Spark sessions, and frames of tables and files; replace Spark's errors by fixed texts.

Spark's messages quote rows, and are never shown. Every failure is replaced by a fixed text, raised outside of the
`except` block so that the original is not attached to it. Ctrl-C also cancels the job on the cluster.
"""

import contextlib
import os
import re
import shutil
import socket
import subprocess
import threading
import uuid
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit

from dxprivacy.engines.source import notice
from dxprivacy.errors import DataError
from dxprivacy.formats.file_access import SPARK, SPARK_CONNECT, has_secret

# -- Addresses of tables and files of Spark ----------------------------------------------------------------------------
#     spark:catalog.schema.people              a table of the catalog, on the session that is configured here
#     spark:/data/people.parquet               files, on the same session; a directory stands for all files in it
#     sc://host:15002/::catalog.schema.people  the same of a Spark Connect server
#
# No password or token: addresses appear in lists of processes.  Spark takes them from its own configuration.


USUAL_PORT = 15_002
_OPTIONS = {"use_ssl", "user_id", "user_agent", "session_id", "grpc_max_message_size"}


@dataclass(frozen=True)
class SparkAddress:
    """A table or files; `remote` is the server of Spark Connect, if there is one."""

    remote: str
    table: str

    @property
    def name(self) -> str:
        """The name in messages: never with the server's address."""
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
    """Split a text that names a table or files into its parts.

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
            "an address with a token in it is refused: lists of processes and histories show it",
            where="--data",
            details=[f"An address of Spark Connect may have the options {', '.join(sorted(_OPTIONS))}."],
            hints=[("SPARK_REMOTE", "holds the whole address, for spark:catalog.schema.table")],
        )
    if not found.table:
        hints = [("spark:catalog.schema.table", "a table of the catalog"), ("spark:/data/people.parquet", "files")]
        raise DataError("which table?", where="spark", hints=hints)
    return found


def _options(remote: str) -> set[str]:
    """Return the names of the options behind the first semicolon; a user in front of the host counts as option `@`."""
    host, _, options = remote.partition(";")
    named = {part.partition("=")[0].strip() for part in options.split(";") if part.strip()}
    return named | ({"@"} if "@" in host else set())


# -- Settings that must not affect the data: how old days are read, and which files are left out -----------------------
# For files they are set by options of the reader.  For a table or a frame they are only checked: if one entry could
# stop a count, or remove other rows from it, the data is refused.  Settings are public, and no row is read.


# Options of the reader of files, whatever the session's settings.
PINNED = {
    "recursiveFileLookup": "true",
    "datetimeRebaseMode": "CORRECTED",
    "int96RebaseMode": "CORRECTED",
    "ignoreCorruptFiles": "false",
    "ignoreMissingFiles": "false",
}
_ANYWHERE = {"spark.sql.parquet.int96TimestampConversion": "false"}  # there is no option of the reader
_UNPINNED = _ANYWHERE | {
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.avro.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.files.ignoreCorruptFiles": "false",
    "spark.files.ignoreMissingFiles": "false",
}
_CORE = "spark.files."  # known to a session only if they were set
_CLOCKS = "spark.sql.parquet.inferTimestampNTZ.enabled"
_CONVERTED = {
    "spark.sql.hive.convertMetastoreParquet": "true",
    "spark.sql.hive.convertMetastoreOrc": "true",
}
_WHY = "With it, one entry or file could stop a count, take others out of it, or mean another day."


def require_settings(session: Any, name: str) -> None:
    """Refuse a session in which the content of a row could affect how tables are read."""
    _require(session, name, _UNPINNED)


def require_settings_of_files(session: Any, name: str, *, has_instants: bool) -> None:
    """Refuse settings that options of the reader cannot set; without the last one, clock times are read as instants."""
    _require(session, name, _ANYWHERE | ({_CLOCKS: "true"} if has_instants else {}))


def require_own_reader(session: Any, name: str) -> None:
    """Refuse a session that lets Hive read Parquet and ORC: each partition in its own format, text lines among them."""
    _require(session, name, _CONVERTED)


def require_options(name: str, properties: str) -> None:
    """Refuse a table with options of its own, which override the session's settings."""
    for option, wanted in PINNED.items():
        for found in re.findall(rf"\b{option}=([^,\]]*)", properties, re.IGNORECASE):
            if option != "recursiveFileLookup" and found.strip().lower() != wanted.lower():
                hints = [(f"{option} = {wanted}", "in the options of the table, or give its files as spark:/path")]
                raise DataError(f"the table has an option {option}", where=name, details=[_WHY], hints=hints)


def _require(session: Any, name: str, wanted: dict[str, str]) -> None:
    for key, value in wanted.items():
        found = _setting(session, key)
        if found.lower() != value.lower():
            hints = [(f"{key} = {value}", "in the session's configuration")]
            told = found if re.fullmatch(r"\w{1,20}", found) else "not known"
            raise DataError(f"Spark's setting {key} is {told}", where=name, details=[_WHY], hints=hints)


def _setting(session: Any, key: str) -> str:
    if key.startswith(_CORE):
        return str(session.conf.get(key, "false"))
    try:
        return str(session.conf.get(key))
    except Exception as error:
        lost = type(error).__name__ in ("SparkConnectGrpcException", "_InactiveRpcError", "Py4JNetworkError")
        if lost:
            raise
        return ""


# -- A Spark session, and frames of its tables and files ---------------------------------------------------------------


T = TypeVar("T")
OLDEST = 4
_WITHHELD = "Spark's own message is withheld: it may quote a record."
# Formats that store typed rows, each by itself.  For CSV and JSON, the reader guesses types and repairs rows.
_STORED = ("parquet", "orc", "delta", "iceberg", "hive")
_HIVE = "org.apache.hadoop.hive.ql.io."
_HIVE_STORED = (  # each with its reader; in all others, a line break in an entry may split a row
    (f"{_HIVE}parquet.serde.ParquetHiveSerDe", f"{_HIVE}parquet.MapredParquetInputFormat"),
    (f"{_HIVE}orc.OrcSerde", f"{_HIVE}orc.OrcInputFormat"),
)
_DETAILS = "# Detailed Table Information"
_VIEWS = ("VIEW", "TEMPORARY", "METRIC_VIEW", "MATERIALIZED_VIEW")
_LOUD = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
_UNCONNECTED = ("Py4JNetworkError", "SparkConnectGrpcException", "ConnectionRefusedError", "_InactiveRpcError")
_PATIENCE = 10.0  # seconds to wait for a server that does not answer
_TRIES = 5
_SILENT = 2.0  # seconds before a notice about a slow start is shown
_GLOB = re.compile(r"[\\*?\[\]{}]")
_DEEPEST = 10  # causes of causes that are inspected
_NAMES = re.compile(r"`(?:[^`]|``)+`|[^`.]+")


@dataclass(frozen=True)
class Files:
    """A frame of files whose reader has options for all that a session's settings would decide."""

    frame: Any


def quietly(name: str, action: Callable[[], T], session: Any = None) -> T:
    """Run an action, and replace any error message of Spark; if it is interrupted, cancel its job."""
    tag = f"dxprivacy-{uuid.uuid4().hex}"
    refused: BaseException
    try:
        with _silence():
            if session is not None:
                session.addTag(tag)
            return action()
    except DataError:
        raise
    except Exception as error:
        refused = KeyboardInterrupt() if _is_interrupted(error) else _refusal(error, name)
    except BaseException:
        if session is not None:
            with contextlib.suppress(Exception):
                session.interruptTag(tag)
        raise
    finally:
        if session is not None:
            with contextlib.suppress(Exception):
                session.removeTag(tag)
    raise refused


def _is_interrupted(error: BaseException | None) -> bool:
    """Whether Ctrl-C was pressed: pyspark then cancels its jobs, and their error hides the reason."""
    seen = 0
    while error is not None and seen < _DEEPEST:
        if isinstance(error, KeyboardInterrupt):
            return True
        error, seen = error.__cause__ or error.__context__, seen + 1
    return False


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Silence pyspark, which logs errors with all of Spark's messages, and warns about other packages."""
    from pyspark.logger import PySparkLogger

    loud = [PySparkLogger.getLogger(name) for name in _LOUD]
    before = [logger.disabled for logger in loud]
    for logger in loud:
        logger.disabled = True
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="pyspark")
            yield
    finally:
        for logger, disabled in zip(loud, before, strict=True):
            logger.disabled = disabled


def _refusal(error: Exception, name: str) -> DataError:
    """Return our error, chosen by the class and the conditions of Spark's, which are public; its text is not used."""
    found = _conditions(error)
    if found & {"TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND", "PATH_NOT_FOUND"}:
        as_is = [("spark:/data", "means all files below it; a path is not a pattern")] if _GLOB.search(name) else []
        what = f"there is no such {'file' if 'PATH_NOT_FOUND' in found else 'table'}"
        return DataError(what, where=name, hints=as_is)
    if "UNABLE_TO_INFER_SCHEMA" in found:
        why = "Spark leaves out files whose names begin with “_” or “.”, also where one of them is named."
        rename = ("rename it", "if it is one of these")
        return DataError("Spark sees no file there", where=name, details=[why], hints=[rename])
    if "JAVA_GATEWAY_EXITED" in found:
        how = ("spark-submit --version", "starts it, too, and shows why it fails")
        return DataError("Java could not be started", where=name, hints=[how])
    if found & {"SPARK_JOB_CANCELLED", "OPERATION_CANCELED", "OPERATION_CANCELLED"}:
        return DataError("the job was canceled on the cluster", where=name, hints=["try again"])
    if type(error).__name__ in _UNCONNECTED:
        hints = ["is the server there, and can it be reached from here?"]
        return DataError("the connection to Spark failed", where=name, details=[_WITHHELD], hints=hints)
    return DataError("Spark could not answer", where=name, details=[_WITHHELD], hints=["its own log says why"])


def _conditions(error: Exception) -> set[str]:
    """Return Spark's names for what went wrong: of an error, and of all its causes in Java."""
    found = set()
    with contextlib.suppress(Exception):
        found.add(str(error.getCondition()))  # type: ignore[attr-defined]
    with contextlib.suppress(Exception):
        cause: Any = error.java_exception  # type: ignore[attr-defined]
        for _ in range(_DEEPEST):
            with contextlib.suppress(Exception):
                found.add(str(cause.getCondition()))
            cause = cause.getCause()
    return {condition.partition(".")[0] for condition in found}


def package(name: str) -> Any:
    """Return the package pyspark; refuse an unknown version."""
    try:
        import pyspark
    except ImportError:
        hints = [('pip install "dxprivacy[spark]"', "brings pyspark")]
        raise DataError("Spark needs pyspark, which is not installed", where=name, hints=hints) from None
    if int(pyspark.__version__.split(".")[0]) < OLDEST:
        raise DataError(f"pyspark {pyspark.__version__} is too old; {OLDEST} and later are read", where=name)
    return pyspark


def opened(address: SparkAddress, *, rows_are_records: bool) -> Any:
    """Open the frame of an address, on the configured session or on a server of Spark Connect."""
    with _notice_if_slow():
        package(address.name)
        session = quietly(address.name, lambda: _session(address))
    if address.is_path:
        return quietly(address.name, lambda: _files(session, address), session)
    return quietly(address.name, lambda: _table(session, address, rows_are_records), session)


@contextlib.contextmanager
def _notice_if_slow() -> Iterator[None]:
    """Show a notice if the start takes long; this depends on no data."""
    timer = threading.Timer(_SILENT, notice, ["Spark is starting …"])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _session(address: SparkAddress) -> Any:
    from pyspark.sql import SparkSession

    if address.remote:
        _require_answer(address)
        remote = SparkSession.builder.remote(address.remote).getOrCreate()
        _give_up_sooner(remote)
        return remote
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    if not (os.environ.get("SPARK_REMOTE") or os.environ.get("JAVA_HOME") or shutil.which("java")):
        hints = [
            ("apt-get install openjdk-17-jre-headless", "or another Java, 17 or later"),
            ("sc://host/::table", "asks a server"),
        ]
        raise DataError("Spark needs Java, which is not found here", where=address.name, hints=hints)
    if not os.environ.get("SPARK_REMOTE"):
        _start_quietly()
    session = SparkSession.builder.appName("dxprivacy").getOrCreate()
    with contextlib.suppress(Exception):  # of our own session; its log would quote rows on the screen
        session.sparkContext.setLogLevel("OFF")
    return session


def _start_quietly() -> None:
    """Start Java with its output discarded, unless one is running already."""
    from pyspark import SparkContext
    from pyspark.java_gateway import launch_gateway

    if SparkContext._gateway is None:
        streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        SparkContext._ensure_initialized(gateway=launch_gateway(popen_kwargs=streams))


def _require_answer(address: SparkAddress) -> None:
    """Check that the server answers, because pyspark would retry in silence for minutes."""
    try:
        socket.create_connection(address.server, timeout=_PATIENCE).close()
    except OSError:
        hints = [f"is the host right, and the port ({USUAL_PORT} where none is named)?"]
        raise DataError("there is no server at this address", where=address.name, hints=hints) from None


def _give_up_sooner(session: Any) -> None:
    """Retry a lost server for seconds, not for a quarter of an hour."""
    with contextlib.suppress(Exception):
        from pyspark.sql.connect.client.retries import DefaultPolicy

        session.client.set_retry_policies([DefaultPolicy(max_retries=_TRIES)])


def _files(session: Any, address: SparkAddress) -> Any:
    """Read all files below a path; names of directories make no columns, because their types would be guessed."""
    ending = "orc" if address.table.rstrip("/").endswith(".orc") else "parquet"
    if re.search(r"\.(csv|tsv|txt|json|jsonl|ndjson|avro|xml)(\.[a-z0-9]+)?/?$", address.table, re.IGNORECASE):
        hints = [("convert it to Parquet", ""), ("people.csv", "without spark: reads the file here")]
        raise DataError("Spark is used only for files in Parquet and ORC", where=address.name, hints=hints)
    path = _GLOB.sub(r"\\\g<0>", address.table)  # a path is not a pattern
    frame = session.read.options(**PINNED).format(ending).load(path)
    instants = ending == "parquet" and any(field.dataType.typeName() == "timestamp" for field in frame.schema.fields)
    require_settings_of_files(session, address.name, has_instants=instants)
    return Files(frame)


def _table(session: Any, address: SparkAddress, rows_are_records: bool) -> Any:
    parts = _NAMES.findall(address.table)
    if ".".join(parts) != address.table:
        hints = [("spark:catalog.schema.table", "quote odd names like `this one`")]
        raise DataError("the name of the table is not understood", where=address.name, hints=hints)
    if not rows_are_records:
        _require_no_view(session, address)
    told = _details(session, address)
    require_options(address.name, told.get("Storage Properties", ""))
    if not rows_are_records:
        _require_stored(session, address, told)
    return session.table(address.table)


_RECORDS = ("rows_are_records = true", "in the policy, if each of its rows comes from one record, and from it alone")


def _require_no_view(session: Any, address: SparkAddress) -> None:
    found = session.catalog.getTable(address.table)
    if found.isTemporary or found.tableType in _VIEWS:
        what = f"“{address.table}” is a view, not a table"
        why = "A view may compute across rows: then changing one record is more than changing one row."
        raise DataError(what, where=address.name, details=[why], hints=[_RECORDS])


def _details(session: Any, address: SparkAddress) -> dict[str, str]:
    """Return the properties of a table in the catalog, without its columns."""
    told = session.sql(f"DESCRIBE TABLE EXTENDED {address.table}").collect()
    names = [str(row[0]) for row in told]  # columns come first, and may have any name
    details = names.index(_DETAILS) if _DETAILS in names else len(names)
    return {str(row[0]): str(row[1]) for row in reversed(told[details:])}


def _require_stored(session: Any, address: SparkAddress, told: dict[str, str]) -> None:
    """Refuse a format in which one record may be several rows, or in which rows are guessed."""
    provider = told.get("Provider", "").lower()
    if provider not in _STORED:
        what = f"“{address.table}” is a table of {provider or 'an unknown format'}"
        why = f"Only tables that are stored as {', '.join(_STORED)} are known to read every row by itself."
        raise DataError(what, where=address.name, details=[why], hints=[_RECORDS])
    if provider != "hive":
        return
    if (told.get("Serde Library", ""), told.get("InputFormat", "")) not in _HIVE_STORED:
        what = f"“{address.table}” is a table of Hive that is stored neither as Parquet nor as ORC"
        why = "In lines of text, a line break inside an entry makes several rows of one record."
        raise DataError(what, where=address.name, details=[why], hints=[("convert it to Parquet", ""), _RECORDS])
    require_own_reader(session, address.name)
