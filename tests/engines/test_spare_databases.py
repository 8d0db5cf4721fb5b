"""A database that read only frames is kept for the next one: nothing of the last is in it, and it is sound."""

import gc
import os
import stat
import subprocess
import sys

import duckdb
import pandas as pd
import polars as pl
import pytest

from dxprivacy.engines import open_source
from dxprivacy.engines.sql.duckdb import duckdb_database as duck_database
from dxprivacy.engines.sql.duckdb.duckdb_database import Database
from dxprivacy.errors import DataError
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.universe import Universe

UNIVERSE = Universe([Integers(name="x", low=0, high=2)])


@pytest.fixture
def spares(tmp_path, monkeypatch):
    """None at first, and a place for temporary files that nobody else uses."""
    gc.collect()  # sources of other tests that still wait for their end would be kept here
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    duck_database._spares.clear()
    yield duck_database._spares
    duck_database._spares.clear()


def used(**options):
    """A database as frames use it."""
    database = Database(only_frames=True, **options)
    with database.cursor() as con:
        con.execute("SELECT 1")
    database.lock([])
    return database


def counts(*entries, **options):
    return open_source(pd.DataFrame({"x": entries}), **options).count(UNIVERSE).counts.tolist()


def test_a_database_is_used_again_and_holds_nothing_of_the_frame_before(spares):
    assert counts(0, 1, 1) == [1, 2, 0, 0]
    (kept,) = spares
    tables = "SELECT count(*) FROM duckdb_tables()"
    views = "SELECT count(*) FROM duckdb_views() WHERE NOT internal"
    assert [kept.root.execute(sql).fetchone() for sql in (tables, views)] == [(0,), (0,)]
    assert counts(2, 9) == [0, 0, 1, 1]
    assert spares == [kept]
    with pytest.raises(duckdb.Error):  # it is locked as it was
        kept.root.execute("SET threads = 1")


def test_its_folder_is_there_while_it_is_used_and_no_longer(spares, tmp_path):
    for _ in range(3):
        database = used()
        (folder,) = (tmp_path / "tmp").iterdir()
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert [file.name for file in folder.iterdir()] == ["owner.lock"]
        assert folder.name.startswith("dxprivacy-")
        del database
        assert list((tmp_path / "tmp").iterdir()) == []
    assert [kept.spill.path for kept in spares] == [folder]


def test_two_at_a_time_are_two_and_no_more_than_two_are_kept(spares):
    three = [used() for _ in range(3)]
    assert len({id(database._opened) for database in three}) == 3
    del three
    assert len(spares) == 2
    assert used(spill=False)._opened.spill is None
    assert len(spares) == 2


def test_what_keeps_rows_off_the_disk_never_gets_a_database_that_spills(spares):
    assert counts(1) == [0, 1, 0, 0]
    assert counts(1, spill=False) == [0, 1, 0, 0]
    assert [kept.spill is None for kept in spares] == [False, True]


def test_one_that_opened_files_failed_or_spilled_is_not_kept(spares, tmp_path):
    with Database().cursor():
        pass
    Database(only_frames=True).cursor().close()  # never locked
    database = Database(only_frames=True)
    database.cursor().close()
    database.lock([tmp_path / "people.parquet"])
    database = used(memory="50MB")
    database = used()
    (database._opened.spill.path / "duckdb_temp_1_0_owner").write_bytes(b"")
    del database

    def refuse(_column):
        raise ValueError("Planted")

    broken = pl.LazyFrame({"x": [1]}).with_columns(pl.col("x").map_batches(refuse, return_dtype=pl.Int64))
    with pytest.raises(DataError, match="cannot be counted"):
        open_source(broken).count(UNIVERSE)
    gc.collect()  # the error's frames
    assert spares == []
    assert list((tmp_path / "tmp").iterdir()) == []


def test_one_that_is_no_longer_sound_is_passed_over(spares, tmp_path, monkeypatch):
    assert counts(1) == [0, 1, 0, 0]
    (kept,) = spares
    kept.root.close()
    assert counts(1, 2) == [0, 1, 1, 0]
    assert kept not in spares
    (kept,) = spares
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "elsewhere"))
    assert counts(2) == [0, 0, 1, 0]
    assert kept not in spares
    (kept,) = spares
    kept.spill.path.mkdir()
    (kept.spill.path / "thesis.txt").write_bytes(b"of somebody else")
    assert counts(0) == [1, 0, 0, 0]
    assert kept not in spares
    assert kept.spill.path.exists()
    path = kept.spill.path
    del kept
    assert (path / "thesis.txt").exists()


FORKED = """
import os, pandas
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.engines import open_source
from dxprivacy.engines.sql.duckdb import duckdb_database as duck_database
from dxprivacy.universe.universe import Universe
def count():
    return open_source(pandas.DataFrame({"x": [1]})).count(Universe([Integers(name="x", low=0, high=1)])).total
count()
assert len(duck_database._spares) == 1
child = os.fork()
if not child:
    assert not duck_database._spares
    raise SystemExit(0 if count() == 1 else 1)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) or count() - 1)
"""


def test_a_copy_of_the_process_has_databases_of_its_own_and_nothing_is_left_at_the_end(tmp_path):
    known = os.environ | {"TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", FORKED], env=known, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert list(tmp_path.iterdir()) == []
