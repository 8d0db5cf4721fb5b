"""One table in the forms of other programs: the same names, rows and types in each, and none of them needed."""

import subprocess
import sys

import duckdb
import numpy as np
import pandas
import polars
import pyarrow
import pytest

import dxprivacy as dx
from contracts.methods import standard_plan
from dxprivacy.errors import UsageError
from dxprivacy.mechanisms.linear.release_answers import build_release
from dxprivacy.releases.guarantee import LedgerReference
from dxprivacy.tabular import NUMBER, TEXT, Columns, Tabular

POLICY = (
    'title = "T"\ndataset = "t"\n'
    '[attributes.sex]\nvalues = ["M", "F"]\nepsilon = 1\n'
    '[attributes.Sex]\nvalues = ["a|b", "=c"]\nepsilon = 1\n'
    "[attributes.age]\nintegers = [0, 19]\nepsilon = 1\nper = 1\n"
)


@pytest.fixture
def policy():
    return dx.Policy.parse(POLICY)


@pytest.fixture
def plan(policy):
    return standard_plan(["count by sex, Sex", "mean age by sex", "count where sex=F"], policy.metric, n_records=100)


@pytest.fixture
def release(plan):
    noisy = np.arange(plan.workload.rows, dtype=np.int64)
    return build_release(plan, noisy, 100, LedgerReference("ledger.db", 1, "2026-01-01", "x", 1.0))


@pytest.fixture
def chosen(tmp_path):
    (tmp_path / "people.csv").write_text("sex,Sex,age\nM,=c,3\nF,=c,4\nF,=c,5\n")
    with dx.Session(
        dx.Policy.parse(POLICY), tmp_path / "people.csv", ledger=tmp_path / "l.db", new_ledger=True
    ) as session:
        return session.select(session.plan_selection("most common sex"), anyway=True)


@pytest.fixture
def records(policy):
    counts = np.zeros(policy.universe.cells, dtype=np.int64)
    counts[[0, 5]] = (2, 1)
    return dx.Records.counted(policy.universe, counts)


@pytest.fixture(params=["release", "processed", "plan", "chosen"])
def tabular(request):
    if request.param == "processed":
        return dx.post.nonnegative(request.getfixturevalue("release"))
    return request.getfixturevalue(request.param)


def test_every_form_has_the_same_rows_and_columns(tabular):
    rows = tabular.table()
    names, arrow, frame = list(rows[0]), tabular.to_arrow(), tabular.to_polars()
    assert isinstance(arrow, pyarrow.Table)
    assert isinstance(frame, polars.DataFrame)
    assert arrow.to_pylist() == frame.to_dicts() == rows
    assert list(tabular.to_pandas()) == arrow.column_names == frame.columns == names
    assert len(tabular.to_pandas()) == len(rows)


def test_whatever_reads_arrow_reads_a_release_again_and_again(release):
    rows = release.table()
    assert polars.DataFrame(release).to_dicts() == rows
    assert pyarrow.table(release).to_pylist() == rows
    assert pyarrow.RecordBatchReader.from_stream(release).read_all().to_pylist() == rows
    assert pandas.DataFrame.from_arrow(release)["value"].tolist() == [row["value"] for row in rows]
    found = duckdb.sql("select sum(value), count(*) from release").fetchall()
    assert found == [(sum(row["value"] for row in rows), len(rows))]


def test_types_are_declared_and_not_guessed_from_what_was_released(release):
    whole = {"query", "sex", "Sex", "unit", "note", "label"}
    for field in release.to_arrow().schema:
        assert field.type == (pyarrow.string() if field.name in whole else pyarrow.float64()), field
    nothing = Columns.of([("a", TEXT), ("b", NUMBER)], [])
    assert pyarrow.table(_Held(nothing)).schema == pyarrow.schema([("a", pyarrow.string()), ("b", pyarrow.float64())])


def test_names_that_differ_in_capitals_only_stay_two_columns(release):
    assert release.to_arrow().column_names[:3] == ["query", "sex", "Sex"]


class _Held(Tabular):
    def __init__(self, columns):
        self._held = columns

    def _columns(self):
        return self._held


def test_entries_and_names_are_text_whatever_they_hold():
    odd = ['"; DROP TABLE held; --', "a\x00b", "\ud800", "$c0", "é\n\u202e", "", "NULL"]
    table = _Held(Columns.of([('x" , "y', TEXT), ("a\x00", NUMBER)], [(text, None) for text in odd])).to_arrow()
    assert table.column_names == ['x" , "y', "a\ufffd"]
    assert table.column(0).to_pylist() == [*odd[:2], "?", *odd[3:]]
    assert table.column(1).null_count == len(odd)


def test_numbers_that_are_none_or_without_end_come_through():
    table = _Held(Columns.of([("x", NUMBER)], [(float("inf"),), (None,), (2**53,), (-0.5,)]))
    assert table.to_polars()["x"].to_list() == [float("inf"), None, 2.0**53, -0.5]
    assert table.to_pandas()["x"].isna().tolist() == [False, True, False, False]


def test_synthetic_records_have_the_columns_of_the_data_with_their_types(records):
    with pytest.raises(UsageError, match="differ in capitals only"):
        records.to_arrow()
    policy = dx.Policy.parse(POLICY.replace("attributes.Sex", "attributes.kind"))
    table = dx.Records.counted(policy.universe, records.counts)
    expected = [{"sex": "M", "kind": "a|b", "age": 0}] * 2 + [{"sex": "M", "kind": "a|b", "age": 5}]
    assert table.to_arrow().to_pylist() == polars.DataFrame(table).to_dicts() == expected
    assert table.to_arrow().schema.field("age").type == pyarrow.int64()
    assert table.to_pandas().to_dict("records") == expected
    assert duckdb.sql('select count(*) from "table"').fetchall() == [(3,)]


@pytest.mark.parametrize(("name", "form"), [("pandas", "to_pandas"), ("polars", "to_polars"), ("pyarrow", "to_arrow")])
def test_a_package_that_is_missing_is_named_with_the_way_to_get_it(tabular, records, name, form, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)
    for value in (tabular, records):
        with pytest.raises(UsageError, match=f"{name} is not installed") as told:
            getattr(value, form)()
        assert f"pip install {name}" in str(told.value)


def test_polars_and_the_engine_read_a_release_without_pyarrow(release, tmp_path):
    saved = release.save(tmp_path / "release.json")
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from pathlib import Path\nimport polars, duckdb\nfrom dxprivacy.releases import from_json\n"
        f"release = from_json(Path({str(saved)!r}).read_text())\n"
        "print(polars.DataFrame(release).height, duckdb.sql('select count(*) from release').fetchall()[0][0])\n"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.split() == [str(len(release.answers))] * 2
