"""`dxp inspect`: the one command that shows data, and says so."""

import json

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dxprivacy.cli.commands.inspect_command import NOT_PRIVATE
from dxprivacy.engines import open_source
from dxprivacy.universe.attributes.binned_numbers import Numbers
from dxprivacy.universe.attributes.dates import Dates
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.attributes.listed_points import Points
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.attributes.series_of_numbers import Series
from dxprivacy.universe.universe import Universe

ROWS = ["M,3,1", "x,3,1", "x,10,1", " F,,9", "F,4.5,1", "F,nine,Albany", "M,3,2"]


@pytest.fixture
def dirty(town):
    (town / "dirty.csv").write_text("sex,age,home\n" + "".join(row + "\n" for row in ROWS))
    return town


def test_the_screen_says_first_and_last_that_it_is_not_private(dirty, dxp):
    called = dxp("inspect", "policy.toml", "--data", "dirty.csv").fine()
    assert called.lines[0] == called.lines[-2] == NOT_PRIVATE
    assert called.lines[-1] == "Next: dxp check policy.toml"


def test_entries_are_shown_with_their_rows_and_what_was_needed(dirty, dxp):
    lines = [" ".join(line.split()) for line in dxp("inspect", "policy.toml", "--data", "dirty.csv").fine().lines]
    assert "dirty.csv, 7 rows: entries that count as “other”" in lines
    for line in (
        "! sex 3 rows, 2 different entries",
        "needed: one of M, F",
        "2 “x”",
        "1 “ F”",
        "! age 4 rows, 4 different entries",
        "needed: a whole number from 0 to 9",
        "1 “10”",
        "1 “”",
        "! home 2 rows, 2 different entries",
        "needed: one of 1, 2, 3, 4",
        "1 “Albany”",
    ):
        assert line in lines
    clean = dxp("inspect", "policy.toml", "--data", "people.csv").fine()
    assert clean.out.count("every row fits") == 3


def test_machines_get_the_same_with_the_warning(dirty, dxp):
    page = json.loads(dxp("inspect", "policy.toml", "--data", "dirty.csv", "--json").fine().out)
    assert page["warning"] == NOT_PRIVATE
    assert page["rows"] == 7
    sex = page["attributes"][0]
    assert (sex["attribute"], sex["columns"], sex["rows"], sex["distinct"]) == ("sex", ["sex"], 3, 2)
    assert sex["entries"] == [{"entry": ["x"], "rows": 2}, {"entry": [" F"], "rows": 1}]
    assert sum(a["rows"] for a in page["attributes"]) == 9


def test_only_the_most_frequent_entries_are_listed(dirty, dxp):
    (dirty / "many.csv").write_text("sex,age,home\n" + "".join(f"M,bad{k % 50},1\n" for k in range(60)))
    called = dxp("inspect", "policy.toml", "--data", "many.csv").fine()
    assert called.out.count("“bad") == 20
    assert "and 30 more entries" in called.out
    assert "      2  “bad0”" in called.out


def test_nothing_is_written_and_no_ledger_is_asked(dirty, dxp):
    before = sorted(p.name for p in dirty.iterdir())
    dxp("inspect", "policy.toml", "--data", "dirty.csv").fine()
    assert sorted(p.name for p in dirty.iterdir()) == before


def test_several_files_are_looked_at_together(dirty, dxp):
    (dirty / "more.csv").write_text("age,sex,home\n3,x,1\n")
    for arguments in (["dirty.csv", "more.csv"], ["*r*.csv"]):
        data = [word for name in arguments for word in ("--data", name)]
        page = json.loads(dxp("inspect", "policy.toml", *data, "--json").fine().out)
        assert page["rows"] == 8
        assert page["attributes"][0]["entries"][0] == {"entry": ["x"], "rows": 3}


def test_what_is_written_cannot_steer_the_terminal(dirty, dxp):
    (dirty / "dirty.csv").write_text("sex,age,home\n\x1b[2J\x07,1,1\n" + "y" * 5_000 + ",1,1\n")
    out = dxp("inspect", "policy.toml", "--data", "dirty.csv").fine().out
    assert "\x1b" not in out
    assert max(map(len, out.splitlines())) <= 110


def test_a_missing_policy_a_wrong_file_and_a_misfit_are_said_plainly(dirty, dxp):
    assert dxp("inspect", "none.toml", "--data", "dirty.csv").code == 3
    assert dxp("inspect", "policy.toml", "--data", "none.csv").code == 6
    assert dxp("inspect").code == 2
    assert dxp("inspect", "policy.toml").code == 2  # --data is missing
    (dirty / "odd.csv").write_text("sex,home\nM,1\n")
    called = dxp("inspect", "policy.toml", "--data", "odd.csv")
    assert called.code == 6
    assert "no column “age”" in called.err


UNIVERSE = Universe(
    [
        Values(name="sex", values=("M",)),
        Points(name="home", ids=("1",), coordinates=np.zeros((1, 2))),
        Integers(name="age", low=0, high=9),
        Numbers(name="rate", low=0, high=1, step=1),
        Dates(name="visit", first="2026-01-01", last="2026-01-31"),
        Series(name="usage", columns=("jan", "feb"), entry=Integers(name="u", low=0, high=1)),
    ]
)


def sources(folder):
    columns = {
        "sex": ["M", "x", "x"],
        "home": [1, 2, None],
        "age": [3, 10, 10],
        "rate": [0.5, float("inf"), 2.0],
        "visit": pa.array([20454, 2**40, None], pa.int64()).cast(pa.timestamp("s")),
        "jan": [0, 1, 2],
        "feb": [0, 0, None],
    }
    table = pa.table(columns)
    yield table
    yield table.to_pandas().astype({"sex": object, "age": object, "jan": object})
    with duckdb.connect(folder / "d.duckdb") as con:
        con.register("t", table)
        con.execute("CREATE TABLE people AS FROM t")
    yield f"{folder / 'd.duckdb'}::people"


def test_every_engine_shows_the_same_others(tmp_path):
    for data in sources(tmp_path):
        sex, home, age, rate, visit, usage = open_source(data).others(UNIVERSE, 5)
        assert (sex.rows, sex.entries) == (2, ((("x",), 2),))
        assert home.rows == rate.rows == 2
        assert age.entries == ((("10",), 2),)
        assert visit.rows == 3
        assert (("beyond the years 1 to 9999",), 1) in visit.entries
        assert usage.rows == 1
        assert usage.entries[0][0][0] in ("2", "2.0")
        assert "x" not in repr(sex).replace("sex", "")


def test_others_of_objects_are_shown_as_written():
    class Hostile:
        def __str__(self):
            raise ValueError

    frame = pd.DataFrame({"age": pd.Series([1, "x", None, Hostile(), [1], "x"], dtype=object)})
    (age,) = open_source(frame).others(Universe([Integers(name="age", low=0, high=9)]), None)
    assert dict(age.entries) == {("x",): 2, (None,): 2, ("[1]",): 1}
