"""Tables of databases: read by their name, left as they were."""

import subprocess
import sys

import duckdb
import numpy as np
from small_sources import counts
from test_engine_schema import refusal

from dxprivacy.engines import open_source


def database(path, *statements):
    with duckdb.connect(path) as con:
        for statement in statements:
            con.execute(statement)
    return path


PEOPLE = "CREATE TABLE people AS SELECT 'M' AS sex, 1 AS age UNION ALL SELECT 'F', 2"


def test_a_table_of_a_database_is_read_by_its_name(tmp_path):
    odd = (
        'CREATE SCHEMA "w.x"; CREATE TABLE "w.x"."it\'s ""so""" AS FROM people; CREATE TABLE empty (sex TEXT, age INT)'
    )
    path = database(tmp_path / "survey.duckdb", PEOPLE, odd)
    want = [[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]]
    assert counts(f"{path}::people") == want
    assert counts(f'{path}::w.x.it\'s "so"') == want
    assert counts(f"{path}::empty") == np.zeros((3, 4)).tolist()
    assert counts([f"{path}::people", f"{path}::empty"]) == want
    for other in ("people", "main.people", "People"):
        assert "is given twice" in refusal(lambda o=other: open_source([f"{path}::people", f"{path}::{o}"])).what
    path.rename(tmp_path / "survey.db")
    assert counts(f"{tmp_path / 'survey.db'}::people") == want


def test_a_database_is_left_as_it_was(tmp_path):
    path = database(tmp_path / "survey.duckdb", PEOPLE)
    before = path.read_bytes()
    path.chmod(0o444)
    counts(f"{path}::people")
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["survey.duckdb"]


def test_views_are_refused_because_they_may_compute_across_rows(tmp_path):
    path = database(
        tmp_path / "survey.duckdb", PEOPLE, "CREATE VIEW summary AS SELECT max(sex) AS sex, 1 AS age FROM people"
    )
    error = refusal(lambda: open_source(f"{path}::summary"))
    assert error.headline == "survey.duckdb · “summary” is a view, not a table"


def test_an_unknown_or_missing_table_is_answered_with_those_there_are(tmp_path):
    path = database(tmp_path / "survey.duckdb", PEOPLE)
    error = refusal(lambda: open_source(f"{path}::peple"))
    assert error.headline == "survey.duckdb · no table “peple”"
    assert ("people", "did you mean this?") in error.hints
    missing = refusal(lambda: open_source(path))
    assert missing.what == "which table?"
    assert ("survey.duckdb::people", "a file and its table") in missing.hints
    assert "has no tables" in str(refusal(lambda: open_source(database(tmp_path / "empty.duckdb"))))


def test_a_database_in_use_or_of_another_kind_is_refused(tmp_path):
    import sqlite3

    with sqlite3.connect(tmp_path / "other.db") as con:
        con.execute("CREATE TABLE people (sex)")
    con.close()
    assert "not a DuckDB database" in refusal(lambda: open_source(f"{tmp_path / 'other.db'}::people")).what
    path = database(tmp_path / "survey.duckdb", PEOPLE)
    writer = subprocess.Popen(
        [sys.executable, "-c", f"import duckdb; c = duckdb.connect({str(path)!r}); print(1, flush=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert writer.stdout is not None
        writer.stdout.readline()
        assert "another program writes" in refusal(lambda: open_source(f"{path}::people")).what
    finally:
        writer.communicate(b"\n")
