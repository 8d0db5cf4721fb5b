"""The process apart: its end is one clear error, it ends with us, and the engine in it can reach nothing else."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from contracts.long_forms import mostly_slow
from dxprivacy.engines import open_source
from dxprivacy.engines.files import apart
from dxprivacy.engines.sql.duckdb.duckdb_database import Database
from dxprivacy.errors import DataError
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.universe import Universe

UNIVERSE = Universe([Values(name="sex", values=("M", "F")), Integers(name="age", low=0, high=3)])
TABLE = pa.table({"sex": ["M", "F", "x"] * 50, "age": [1, 2, 3] * 50})


def alive(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def test_the_end_of_the_process_apart_is_one_error_and_the_next_call_works(tmp_path):
    pq.write_table(TABLE, tmp_path / "people.parquet")
    source = open_source(tmp_path / "people.parquet")
    assert source.count(UNIVERSE).total == 150
    process = apart._current[0]._process
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    with pytest.raises(DataError, match="the process that read it came to an end"):
        source.count(UNIVERSE)
    assert source.count(UNIVERSE).total == 150  # opened again
    assert source.rows() == 150


def test_the_process_apart_ends_with_its_owner_however_that_ends(tmp_path):
    pq.write_table(TABLE, tmp_path / "people.parquet")
    program = (
        "import sys, time\nfrom dxprivacy.engines import open_source\nfrom dxprivacy.engines.files import apart\n"
        "source = open_source(sys.argv[1])\nprint(apart._current[0]._process.pid, flush=True)\ntime.sleep(600)"
    )
    owner = subprocess.Popen([sys.executable, "-c", program, tmp_path / "people.parquet"], stdout=subprocess.PIPE)
    process = int(owner.stdout.readline())
    assert alive(process)
    owner.kill()
    owner.communicate()
    deadline = time.monotonic() + 20
    while alive(process):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_package_in_the_current_folder_is_not_taken_for_ours(tmp_path):
    """The process apart looks where we look: a file that somebody left beside the data is no module."""
    pq.write_table(TABLE, tmp_path / "people.parquet")
    for name in ("numpy.py", "duckdb.py", "dxprivacy.py"):
        (tmp_path / name).write_text("raise SystemExit('taken')\n")
    program = "from dxprivacy.engines import open_source; print(open_source('people.parquet').rows())"
    done = subprocess.run(
        [sys.executable, "-P", "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stdout == "150\n", done.stderr


def damaged(kind, folder):
    """Files that are whole up to some bytes: those are other ones, or missing, or there twice."""
    folder.mkdir(exist_ok=True)
    if kind == "parquet":
        path = folder / "people.parquet"
        pq.write_table(TABLE, path, row_group_size=20)
    elif kind == "feather":
        path = folder / "people.feather"
        pa.feather.write_feather(TABLE, path, compression="lz4")
    else:
        path = folder / "people.duckdb"
        with duckdb.connect(path) as con:
            con.register("t", TABLE)
            con.execute("CREATE TABLE people AS SELECT * FROM t")
    return path, path.read_bytes()


def check_damage(kind, times, tmp_path):
    path, whole = damaged(kind, tmp_path / kind)
    rng = random.Random(kind)
    read, refused = 0, 0
    for _ in range(times):
        content = bytearray(whole)
        for _ in range(rng.choice([1, 1, 3, 20])):
            at = rng.randrange(len(content))
            if kind == "duckdb" and rng.random() < 0.7:
                at = rng.randrange(min(len(content), 20_000))
            content[at] = rng.choice([0, 255, rng.randrange(256), content[at] ^ (1 << rng.randrange(8))])
        if rng.random() < 0.1:
            content = content[: rng.randrange(len(content))]
        path.write_bytes(content)
        # A damaged database can keep the engine busy for ever: then it is ended, as a person would end it.
        patience = threading.Timer(20, lambda: apart._current[0]._process.kill())
        patience.start()
        try:
            source = open_source(f"{path}::people" if kind == "duckdb" else path)
            source.check(UNIVERSE)
            source.rows()
            source.count(UNIVERSE)
            read += 1
        except DataError:
            refused += 1
        finally:
            patience.cancel()
    assert refused
    assert read + refused == times


@pytest.mark.parametrize("kind", mostly_slow(["duckdb", "parquet", "feather"], 1))
def test_damaged_files_are_read_or_refused_and_end_nothing_else(kind, tmp_path):
    check_damage(kind, 40, tmp_path)


@pytest.mark.soak
@pytest.mark.parametrize("kind", ["parquet", "feather", "duckdb"])
def test_many_damaged_files_are_read_or_refused_and_end_nothing_else(kind, tmp_path):
    check_damage(kind, 1500, tmp_path)


def test_the_engine_reaches_no_other_file_and_no_other_setting_once_a_source_is_open(tmp_path):
    pq.write_table(TABLE, tmp_path / "people.parquet")
    pq.write_table(TABLE, tmp_path / "secret.parquet")
    pq.write_table(TABLE, tmp_path / "odd [1]*'.parquet")
    database = Database()
    database.cursor()
    database.lock([tmp_path / "people.parquet"])
    con = database.cursor()
    assert con.execute(f"SELECT count(*) FROM read_parquet('{tmp_path}/people.parquet')").fetchone() == (150,)
    for sql in (
        f"SELECT * FROM read_parquet('{tmp_path}/secret.parquet')",
        f"SELECT * FROM read_text('{tmp_path}/people.csv')",
        f"ATTACH '{tmp_path}/other.duckdb'",
        f"COPY (SELECT 1) TO '{tmp_path}/out.csv'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SET temp_directory = '/tmp'",
        "SET threads = 1",
    ):
        with pytest.raises(duckdb.Error):
            con.execute(sql)
    assert open_source(tmp_path / "odd [1]*'.parquet").count(UNIVERSE).total == 150


def test_generated_columns_of_a_table_are_refused_as_views_are(tmp_path):
    path = tmp_path / "survey.duckdb"
    with duckdb.connect(path) as con:
        con.execute("CREATE TABLE people (sex VARCHAR, age INTEGER, older INTEGER GENERATED ALWAYS AS (age + 1))")
        con.execute("INSERT INTO people VALUES ('M', 1), ('F', 2)")
    source = open_source(f"{path}::people")
    assert source.count(UNIVERSE).total == 2
    with pytest.raises(DataError, match="older is generated"):
        source.check(Universe([Integers(name="older", low=0, high=3)]))


def test_an_engine_that_failed_once_says_so_in_our_words_ever_after(tmp_path):
    """A SET stood outside the guard: the engine's own error came through, and it may quote a record."""
    from dxprivacy.engines.sql.duckdb.duckdb_source import DuckSource
    from dxprivacy.engines.sql.duckdb.duckdb_tables import ParquetTable

    pq.write_table(TABLE, tmp_path / "people.parquet")
    database = Database()
    source = DuckSource(ParquetTable(tmp_path / "people.parquet"), database)
    con = database.cursor()
    con.execute("CREATE TEMP TABLE long AS SELECT '1234567890123456789012345'::BIGNUM AS x")
    with pytest.raises(duckdb.Error):
        con.execute("SELECT TRY_CAST(x AS HUGEINT) FROM long").fetchall()
    for _ in range(2):
        with pytest.raises(DataError, match="cannot be read"):
            source.count(UNIVERSE)


def test_whole_numbers_of_any_length_are_refused_by_their_type(tmp_path):
    """A BIGNUM of 25 digits stopped a count after its cost was reserved."""
    path = tmp_path / "survey.duckdb"
    with duckdb.connect(path) as con:
        con.execute("CREATE TABLE people AS SELECT '1234567890123456789012345'::BIGNUM AS age, 'M' AS sex")
    with pytest.raises(DataError, match="whole numbers of any length"):
        open_source(f"{path}::people").check(UNIVERSE)
