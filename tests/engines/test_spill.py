"""Rows that do not fit into memory: in a private folder, which is removed, also after a kill."""

import os
import signal
import stat
import subprocess
import sys
import threading
import time

import duckdb
import pandas as pd
import pytest

from dxprivacy.engines import open_source, spill
from dxprivacy.engines.files import apart
from dxprivacy.engines.sql.duckdb.duckdb_database import Database
from dxprivacy.engines.sql.duckdb.duckdb_source import DuckSource
from dxprivacy.engines.sql.duckdb.duckdb_tables import ParquetTable
from dxprivacy.errors import DataError
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.universe import Universe

CELLS = 1 << 22
COUNT = f"""
import sys
from pathlib import Path
from dxprivacy.engines.sql.duckdb.duckdb_source import DuckSource
from dxprivacy.engines.sql.duckdb.duckdb_database import Database
from dxprivacy.engines.sql.duckdb.duckdb_tables import ParquetTable
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.universe import Universe
source = DuckSource(ParquetTable(Path(sys.argv[1])), Database(memory="50MB"))
while True:
    source.count(Universe([Integers(name="x", low=0, high={CELLS - 1})]))
"""
SWEEP = "import pandas; from dxprivacy.engines import open_source; open_source(pandas.DataFrame({'x': [1]})).rows()"


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """As many different cells as rows, more than fit into the memory that the tests allow."""
    path = tmp_path_factory.mktemp("spill") / "many.parquet"
    with duckdb.connect() as con:
        con.execute(f"COPY (SELECT i AS x FROM range({CELLS}) AS r(i)) TO '{path}'")
    return path


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A place for temporary files that nobody else uses."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    yield folder
    monkeypatch.undo()


def _held_still(child, here):
    """What a count has spilled, looked at while it stands still: its files come and go, and its folder is renamed."""
    child.send_signal(signal.SIGSTOP)
    seen = os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
    assert seen is not None
    assert seen.si_code == os.CLD_STOPPED
    return [f for f in here.rglob("duckdb_temp*") if f.stat().st_size]


def test_what_a_killed_count_leaves_is_private_and_swept_at_the_next_start(many, here):
    child = subprocess.Popen([sys.executable, "-c", COUNT, many])
    try:
        deadline = time.monotonic() + 60
        while not (files := _held_still(child, here)):
            assert time.monotonic() < deadline
            child.send_signal(signal.SIGCONT)
            time.sleep(0.005)
        [folder] = here.iterdir()
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert files
        spill.sweep()
        assert folder.exists()  # its owner lives
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
    assert list(folder.rglob("duckdb_temp*"))  # raw rows, left behind
    subprocess.run([sys.executable, "-c", SWEEP], check=True)
    assert list(here.iterdir()) == []


# Not made small: the rows must not fit into memory.
def test_nothing_is_left_where_a_count_ends_by_itself(many, here):
    source = DuckSource(ParquetTable(many), Database(memory="50MB"))
    assert source.count(Universe([Integers(name="x", low=0, high=CELLS - 1)])).total == CELLS
    assert list(here.iterdir())
    del source
    assert list(here.iterdir()) == []


def test_without_a_spill_no_row_reaches_the_disk_and_too_little_memory_is_one_error(many, here):
    source = DuckSource(ParquetTable(many), Database(spill=False, memory="50MB"))
    with pytest.raises(DataError):
        source.count(Universe([Integers(name="x", low=0, high=CELLS - 1)]))
    assert source.count(Universe([Integers(name="x", low=0, high=9)])).total == CELLS
    assert open_source(pd.DataFrame({"x": [1]}), spill=False).rows() == 1
    assert list(here.iterdir()) == []


def test_the_sweep_touches_nothing_that_is_not_ours_dead_and_old(here):
    def folder(name, mode=0o700, files=("owner.lock", "duckdb_temp_storage-0.tmp"), age=200_000.0):
        (here / name).mkdir()
        for file in files:
            (here / name / file).write_bytes(b"rows")
        (here / name).chmod(mode)
        os.utime(here / name, (time.time() - age,) * 2)
        return here / name

    gone = [
        folder("dxprivacy-dead"),
        folder("dxprivacy-young", age=0.0),
        folder("dxprivacy-unlocked", files=("duckdb_temp_storage-0.tmp",)),
        folder("dxprivacy.new-dead", files=("owner.lock",)),
    ]
    kept = [
        folder("dxprivacy-open", mode=0o755),
        folder("dxprivacy-mine", files=("owner.lock", "thesis.txt")),
        folder("dxprivacy.new-starting", files=("owner.lock",), age=100.0),
        folder("dxprivacy-starting", files=(), age=100.0),
        folder("else"),
        folder("dxprivacy-a-b"),
    ]
    target = folder("target")
    (here / "dxprivacy-link").symlink_to(target)
    linked = folder("dxprivacy-linked", files=())
    (linked / "owner.lock").symlink_to(target / "owner.lock")
    os.utime(linked, (time.time() - 200_000,) * 2)
    live = spill.Spill()
    os.utime(live.path, (time.time() - 200_000,) * 2)
    spill.sweep()
    assert not [f for f in gone if f.exists()]
    assert all(f.exists() for f in [*kept, target, live.path, linked])
    assert sorted(f.name for f in target.iterdir()) == ["duckdb_temp_storage-0.tmp", "owner.lock"]
    live.remove()
    assert not live.path.exists()


# Not made small: the rows must not fit into memory.
def test_what_is_interrupted_leaves_no_rows(many, here, monkeypatch):
    """Ctrl-C ended the process apart before it could remove what it had spilled."""
    for old in apart._current:
        old.stop()  # it has another place for temporary files
    source = open_source(many)
    source.check(Universe([Integers(name="x", low=0, high=1)]))
    assert len(list(here.iterdir())) == 1
    reader = apart._current[0]
    exchange = reader._exchange

    def interrupted(query):
        threading.Timer(0.05, signal.raise_signal, [signal.SIGINT]).start()
        exchange(query)
        time.sleep(10)

    monkeypatch.setattr(reader, "_exchange", interrupted)
    with pytest.raises(KeyboardInterrupt):
        source.count(Universe([Integers(name="x", low=0, high=CELLS - 1)]))
    assert list(here.iterdir()) == []
    assert reader._process.poll() is not None


def test_a_process_apart_that_does_not_listen_is_ended_by_force(many, here, monkeypatch):
    for old in apart._current:
        old.stop()
    monkeypatch.setattr(apart, "_PATIENCE", 0.3)
    open_source(many).rows()
    reader = apart._current[0]
    os.kill(reader._process.pid, signal.SIGSTOP)
    os.waitpid(reader._process.pid, os.WUNTRACED)  # until it has stopped: before, it might still see its pipe close
    reader.stop()
    assert reader._process.wait(timeout=20) == -signal.SIGKILL


IMPATIENT = """
import signal, sys
from dxprivacy.engines import open_source
from dxprivacy.engines.files import apart
open_source(sys.argv[1]).rows()
def wait(timeout):
    signal.raise_signal(signal.SIGINT)
apart._current[0]._process.wait = wait
"""


def test_ctrl_c_at_the_very_end_shows_no_traceback(many):
    done = subprocess.run([sys.executable, "-c", IMPATIENT, many], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
