"""A Spark session, and frames of its tables and files; errors are ours.

What Spark says quotes rows, and is never shown: every failure is a fixed text, raised outside of the `except` block so
that the original is not attached to it.  Ctrl-C cancels the job on the cluster, too.
"""

import contextlib
import os
import re
import shutil
import socket
import uuid
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from dxprivacy.engines.spark.address import USUAL_PORT, SparkAddress
from dxprivacy.errors import DataError

T = TypeVar("T")
OLDEST = 4
_WITHHELD = "Spark's own message is withheld: it may quote a record."
# What stores typed rows, each by itself.  Of CSV and JSON, types and rows are guessed or repaired by the reader.
_STORED = ("parquet", "orc", "delta", "iceberg", "hive")
_DETAILS = "# Detailed Table Information"
_VIEWS = ("VIEW", "TEMPORARY", "METRIC_VIEW", "MATERIALIZED_VIEW")
_LOUD = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
_UNCONNECTED = ("Py4JNetworkError", "SparkConnectGrpcException", "ConnectionRefusedError", "_InactiveRpcError")
_PATIENCE = 10.0  # seconds until a server that does not answer is given up
_TRIES = 5
_DEEPEST = 10  # causes of causes that are looked at
_NAMES = re.compile(r"`(?:[^`]|``)+`|[^`.]+")


def quietly(name: str, action: Callable[[], T], session: Any = None) -> T:
    """What an action finds; whatever Spark says when it fails is replaced.  Interrupted, its job is cancelled."""
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
    """Whether somebody pressed Ctrl-C: pyspark cancels its jobs then, and their end hides why."""
    seen = 0
    while error is not None and seen < _DEEPEST:
        if isinstance(error, KeyboardInterrupt):
            return True
        error, seen = error.__cause__ or error.__context__, seen + 1
    return False


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """pyspark logs what goes wrong on the screen, with all that Spark says of it."""
    from pyspark.logger import PySparkLogger

    loud = [PySparkLogger.getLogger(name) for name in _LOUD]
    before = [logger.disabled for logger in loud]
    for logger in loud:
        logger.disabled = True
    try:
        yield
    finally:
        for logger, disabled in zip(loud, before, strict=True):
            logger.disabled = disabled


def _refusal(error: Exception, name: str) -> DataError:
    """By the class of an error, which is public; its text is not looked at."""
    found = _conditions(error)
    if found & {"TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND", "PATH_NOT_FOUND"}:
        return DataError(f"there is no such {'file' if 'PATH_NOT_FOUND' in found else 'table'}", where=name)
    if found & {"SPARK_JOB_CANCELLED", "OPERATION_CANCELED", "OPERATION_CANCELLED"}:
        return DataError("the job was cancelled on the cluster", where=name, hints=["try again"])
    if type(error).__name__ in _UNCONNECTED:
        hints = ["is the server there, and can it be reached from here?"]
        return DataError("the connection to Spark failed", where=name, details=[_WITHHELD], hints=hints)
    return DataError("Spark could not answer", where=name, details=[_WITHHELD], hints=["its own log says why"])


def _conditions(error: Exception) -> set[str]:
    """Spark's names for what went wrong: of an error, and of all that caused it on the other side."""
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
    """pyspark, of a version that we know."""
    try:
        import pyspark
    except ImportError:
        hints = [('pip install "dxprivacy[spark]"', "brings pyspark")]
        raise DataError("Spark needs pyspark, which is not installed", where=name, hints=hints) from None
    if int(pyspark.__version__.split(".")[0]) < OLDEST:
        raise DataError(f"pyspark {pyspark.__version__} is too old; {OLDEST} and later are read", where=name)
    return pyspark


def opened(address: SparkAddress, *, rows_are_records: bool) -> Any:
    """The frame of an address, on the session that is configured, or on a server of Spark Connect."""
    package(address.name)
    session = quietly(address.name, lambda: _session(address))
    if address.is_path:
        return quietly(address.name, lambda: _files(session, address), session)
    return quietly(address.name, lambda: _table(session, address, rows_are_records), session)


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
    session = SparkSession.builder.appName("dxprivacy").getOrCreate()
    with contextlib.suppress(Exception):  # of our own session; its log would quote rows on the screen
        session.sparkContext.setLogLevel("OFF")
    return session


def _require_answer(address: SparkAddress) -> None:
    """pyspark would go on trying for minutes, in silence."""
    try:
        socket.create_connection(address.server, timeout=_PATIENCE).close()
    except OSError:
        hints = [f"is the host right, and the port ({USUAL_PORT} where none is named)?"]
        raise DataError("there is no server at this address", where=address.name, hints=hints) from None


def _give_up_sooner(session: Any) -> None:
    """A server that goes away is tried again for seconds, not for a quarter of an hour."""
    with contextlib.suppress(Exception):
        from pyspark.sql.connect.client.retries import DefaultPolicy

        session.client.set_retry_policies([DefaultPolicy(max_retries=_TRIES)])


def _files(session: Any, address: SparkAddress) -> Any:
    """All files below a path, and no columns made of the names of directories, whose types would be guessed."""
    ending = "orc" if address.table.rstrip("/").endswith(".orc") else "parquet"
    if re.search(r"\.(csv|tsv|txt|json|jsonl|ndjson|avro|xml)(\.[a-z0-9]+)?/?$", address.table, re.IGNORECASE):
        hints = [("convert it to Parquet", ""), ("people.csv", "without spark: reads the file here")]
        raise DataError("of files, Spark is asked for Parquet and ORC only", where=address.name, hints=hints)
    return session.read.option("recursiveFileLookup", "true").format(ending).load(address.table)


def _table(session: Any, address: SparkAddress, rows_are_records: bool) -> Any:
    parts = _NAMES.findall(address.table)
    if ".".join(parts) != address.table:
        hints = [("spark:catalog.schema.table", "quote odd names like `this one`")]
        raise DataError("the name of the table is not understood", where=address.name, hints=hints)
    if not rows_are_records:
        _require_table(session, address)
    return session.table(address.table)


def _require_table(session: Any, address: SparkAddress) -> None:
    """Refuse what may compute its rows from several records, or guess them."""
    hint = ("rows_are_records = true", "in the policy, if each of its rows comes from one record, and from it alone")
    found = session.catalog.getTable(address.table)
    if found.isTemporary or found.tableType in _VIEWS:
        why = "A view may compute across rows: then changing one record is more than changing one row."
        raise DataError(f"“{address.table}” is a view, not a table", where=address.name, details=[why], hints=[hint])
    told = session.sql(f"DESCRIBE TABLE EXTENDED {address.table}").collect()
    names = [str(row[0]) for row in told]  # columns first, which may be called anything
    details = names.index(_DETAILS) if _DETAILS in names else len(names)
    provider = next((str(row[1]).lower() for row in told[details:] if row[0] == "Provider"), "")
    if provider not in _STORED:
        what = f"“{address.table}” is a table of {provider or 'an unknown format'}"
        why = f"Of tables that are stored as {', '.join(_STORED)}, every row is read by itself."
        raise DataError(what, where=address.name, details=[why], hints=[hint])
