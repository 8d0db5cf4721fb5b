"""What can be refused - schemas and files - and what the refusals say: where, what, what next, and never a record."""

import os
import subprocess
import sys
import traceback
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from engine_kinds import EVERY, KINDS, TYPED, build

from dxprivacy.engines import open_source
from dxprivacy.errors import DataError
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.attributes.listed_points import Points
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.universe import Universe

PLANTED = "Planted-Person-4711"
UNIVERSE = Universe(
    [Values(name="sex", values=("M", "F")), Integers(name="age", low=0, high=9), Values(name="note", values=("x",))]
)


def people(**changed):
    columns = {
        "sex": (pa.string(), ["M", PLANTED, None]),
        "age": (pa.int64(), [3, 4711, None]),
        "note": (pa.string(), [PLANTED, "x", "x"]),
    }
    return columns | changed


def refusal(action):
    """The error of an action, checked for anything that came from the rows."""
    with pytest.raises(DataError) as caught:
        action()
    text = "".join(traceback.format_exception(caught.value)) + str(caught.value.to_dict())
    assert "Planted" not in text
    assert "4711" not in text
    # Not even hidden behind ours, where a logger could find it.
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    return caught.value


@pytest.mark.parametrize("kind", KINDS)
def test_an_unknown_column_is_named_with_a_suggestion(kind, tmp_path, capfd):
    universe = Universe([*UNIVERSE.attributes, Values(name="income", column="notte", values=("1",))])
    source = open_source(build(kind, people(), tmp_path))
    for action in (source.check, source.count):
        error = refusal(lambda action=action: action(universe))
        assert "no column “notte”" in error.what
        assert error.where == (source.name if kind != "pattern" else "a.parquet")
        assert "sex, age, note" in str(error)
        assert ("note", "did you mean this?") in error.hints
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("kind", TYPED)
def test_text_for_whole_numbers_is_refused_from_the_schema(kind, tmp_path):
    text = pa.dictionary(pa.int32(), pa.string()) if kind == "pandas" else pa.string()  # pandas' plain text is untyped
    source = open_source(build(kind, people(age=(text, ["3", "4711", None])), tmp_path))
    error = refusal(lambda: source.check(UNIVERSE))
    name = source.name if kind != "pattern" else "a.parquet"
    assert error.headline == f"{name} does not fit · column age is text, the policy needs whole numbers"
    assert "Only the schema was read. Single bad rows (age 10, NULL) never stop a release" in str(error)


@pytest.mark.parametrize("dtype", ["object", "str"])
def test_what_pandas_infers_as_text_may_be_numbers(dtype):
    frame = pd.DataFrame({"age": pd.Series(["3", " 4.0", "3.5", None], dtype=dtype)})
    counts = open_source(frame).count(Universe([Integers(name="age", low=3, high=4)])).counts
    assert counts.tolist() == [1, 1, 2]
    declared = open_source(frame.astype({"age": "string"}))
    assert "column age is text" in refusal(lambda: declared.check(Universe([Integers(name="age", low=3, high=4)]))).what


UNFIT = {
    "dates": (pa.date32(), [date(2026, 1, 1)]),
    "points in time": (pa.timestamp("us"), [datetime(2026, 1, 1)]),
    "lists": (pa.list_(pa.int64()), [[1]]),
    "nested records": (pa.struct({"a": pa.int64()}), [{"a": 1}]),
    "binary data": (pa.binary(), [b"M"]),
}


@pytest.mark.parametrize("kind", ["parquet", "arrow", "polars"])
@pytest.mark.parametrize("words", UNFIT)
def test_types_without_a_meaning_here_are_named_in_plain_words(kind, words, tmp_path):
    of_type, entries = UNFIT[words]
    universe = Universe([Values(name="sex", values=("M",))])
    source = open_source(build(kind, {"sex": (of_type, entries)}, tmp_path))
    error = refusal(lambda: source.check(universe))
    assert f"column sex is {words}, the policy needs text" in error.what


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (pa.table({"sex": pa.array([np.float16(1)], pa.float16())}), "halffloat"),
        (pa.table({"sex": pa.array([Decimal(1)], pa.decimal256(60, 2))}), "decimal256(60, 2)"),
        (pl.DataFrame({"sex": pl.Series([1], dtype=pl.Int128)}), "Int128"),
        (pd.DataFrame({"sex": pd.Series([1j])}), "complex128"),
        (pd.DataFrame({"sex": pd.period_range("2026", periods=1, freq="M")}), "period[M]"),
        (pd.DataFrame({"sex": [pd.Timestamp("2026-01-01")]}), "points in time"),
    ],
    ids=["half float", "wide decimal", "128 bits", "complex", "period", "timestamp"],
)
def test_types_that_the_engine_cannot_take_are_named_as_the_frame_names_them(data, words):
    error = refusal(lambda: open_source(data).check(Universe([Values(name="sex", values=("1",))])))
    assert words in error.what


@pytest.mark.parametrize("kind", TYPED)
def test_a_column_that_can_hold_none_of_the_values_is_refused(kind, tmp_path):
    for of_type, entries in ((pa.int64(), [4711]), (pa.float64(), [4711.5]), (pa.bool_(), [True])):
        source = open_source(build(kind, people(sex=(of_type, entries * 3)), tmp_path))
        assert "the policy needs text" in refusal(lambda source=source: source.check(UNIVERSE)).what
    assert (
        "whole numbers"
        in refusal(
            lambda: open_source(build(kind, people(age=(pa.bool_(), [True] * 3)), tmp_path)).check(UNIVERSE)
        ).what
    )


@pytest.mark.parametrize("kind", EVERY)
def test_a_universe_without_other_is_refused_before_anything_is_read(kind, tmp_path):
    source = open_source(build(kind, people(), tmp_path))
    for universe in (
        Universe.listed(["M", "F"], name="sex"),
        Universe([Integers(name="age", low=0, high=9, has_other=False)]),
    ):
        assert "has no “other”" in refusal(lambda u=universe: source.check(u)).what
        assert "has no “other”" in refusal(lambda u=universe: source.count(u)).what


@pytest.mark.parametrize("kind", EVERY)
@pytest.mark.parametrize(
    "name", ['we"ird', "it's", "a b", "été 日本", "SELECT", "c1", "r0", "100", "a;b--", "%s $path ?"]
)
def test_columns_may_have_any_name(kind, name, tmp_path):
    columns = {"c0": (pa.int64(), [9]), name: (pa.int64(), [3]), "n": (pa.int64(), [9])}
    universe = Universe(
        [Integers(name="x", column=name, low=3, high=3), Integers(name="y", column="c0", low=9, high=9)]
    )
    assert open_source(build(kind, columns, tmp_path)).count(universe).counts.tolist() == [1, 0, 0, 0]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "duckdb"])  # where names have no case
def test_names_that_differ_in_case_are_different_columns(kind, tmp_path):
    columns = {
        "Age": (pa.int64(), [1]),
        "age": (pa.int64(), [2]),
        "AGE_1": (pa.int64(), [3]),
        "age_1": (pa.int64(), [4]),
    }
    source = open_source(build(kind, columns, tmp_path))
    for column, number in (("Age", 1), ("age", 2), ("AGE_1", 3), ("age_1", 4)):
        universe = Universe([Integers(name="x", column=column, low=number, high=number)])
        assert source.count(universe).counts.tolist() == [1, 0]
    refusal(lambda: source.check(Universe([Integers(name="aGe", low=0, high=9)])))


def test_nested_columns_beside_the_wanted_ones_do_no_harm(tmp_path):
    path = tmp_path / "nested.parquet"
    nested = pa.array([{"sex": "F", "deep": {"age": [9]}}])
    pq.write_table(pa.table({"a": nested, "sex": ["M"], "b": nested, "age": [3], "note": ["x"], "z": nested}), path)
    assert open_source(path).count(UNIVERSE).counts[UNIVERSE.index([{"sex": "M", "age": 3, "note": "x"}])] == 1


def duplicated(kind, tmp_path):
    arrays, names = [pa.array([3]), pa.array([4711]), pa.array(["M"])], ["age", "age", "sex"]
    table = pa.Table.from_arrays(arrays, names=names)
    if kind == "csv":
        path = tmp_path / "people.csv"
        path.write_text("age,age,sex\n3,4711,M\n")
        return path
    if kind == "parquet":
        pq.write_table(table, tmp_path / "people.parquet")
        return tmp_path / "people.parquet"
    return table if kind == "arrow" else pd.DataFrame([[3, 4711, "M"]], columns=names)


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow", "pandas"])
def test_two_columns_of_one_name_are_refused_only_where_that_name_is_wanted(kind, tmp_path):
    source = open_source(duplicated(kind, tmp_path))
    assert source.count(Universe([Values(name="sex", values=("M",))])).counts.tolist() == [1, 0]
    error = refusal(lambda: source.check(Universe([Integers(name="age", low=0, high=9)])))
    assert error.what == "2 columns are named “age”: columns 1 and 2"


def test_a_csv_file_without_header_does_not_show_its_first_record(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text(f"{PLANTED},4711,x\n")
    error = refusal(lambda: open_source(path).check(UNIVERSE))
    assert "the first line must name the columns, with commas between them" in str(error)


@pytest.mark.parametrize(
    ("name", "content", "what"),
    [
        ("people.csv", b"", "is empty"),
        ("people.parquet", b"", "is empty"),
        ("people.csv", b"\n3,4\n", "has no header line"),
        ("people.csv", b"\xef\xbb\xbf\r\n3,4\n", "has no header line"),
        ("people.csv", "sex,age\n".encode("utf-16"), "is UTF-16"),
        ("people.csv", b"x" * (1 << 20), "more than a megabyte"),
        ("people.parquet", b"Planted-Person-4711,4711\n", "not a Parquet file"),
        ("people.parquet", b"PAR1" + b"Planted" * 20 + b"PAR1", "not a Parquet file"),
        ("people.sas7bdat", b"x", "the ending “.sas7bdat” is not known"),
        ("people.json", b"x", "the ending “.json” is not known"),
        ("people.parquet.gz", b"x", "the ending “.parquet.gz” is not known"),
        ("people.csv.gz", b"x", "damaged, cut off, or not compressed"),
        ("people.csv.bz2", b"x", "damaged, cut off, or not compressed"),
        ("people.tsv.xz", b"x", "damaged, cut off, or not compressed"),
        ("people.arrow", b"ARROW1Planted-Person-4711", "not an Arrow file"),
        ("people.feather", b"FEA1Planted-Person-4711", "not an Arrow file"),
        ("people.duckdb", b"Planted-Person-4711" * 5_000, "not a DuckDB database"),
        ("people", b"x", "has no ending"),
    ],
)
def test_files_that_cannot_be_read_are_refused_when_opened(name, content, what, tmp_path, capfd):
    path = tmp_path / name
    path.write_bytes(content)
    error = refusal(lambda: open_source(str(path)))
    assert what in error.what
    assert error.where == name
    assert capfd.readouterr() == ("", "")


def test_a_cut_off_or_damaged_parquet_file_is_refused(tmp_path, capfd):
    path = build("parquet", people(), tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    refusal(lambda: open_source(path))
    path.write_bytes(whole[:4] + b"\xff" * 120 + whole[124:])
    source = open_source(path)
    source.check(UNIVERSE)
    assert "damaged" in refusal(lambda: source.count(UNIVERSE)).what
    assert capfd.readouterr() == ("", "")


def test_missing_files_directories_and_odd_paths_are_refused(tmp_path):
    (tmp_path / "folder.parquet").mkdir()
    (tmp_path / "file").write_text("x")
    expected = {
        tmp_path / "nowhere.parquet": "there is no such file",
        tmp_path / "folder.parquet": "is a directory",
        tmp_path / "file" / "below.csv": "there is no such file",
        "https://example.org/people.parquet": "there is no such file",
        "nul\0.csv": "",
        "": "is a directory",
        "/dev/null": "is not a regular file",
        "nowhere/*.parquet": "no file matches",
        "nowhere.duckdb::people": "there is no such file",
        tmp_path: "is a directory",
    }
    for path, what in expected.items():
        assert what in refusal(lambda path=path: open_source(path)).what


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_without_permission_is_refused(tmp_path):
    for kind in ("csv", "parquet"):
        path = build(kind, people(), tmp_path)
        path.chmod(0)
        assert "permission denied" in refusal(lambda path=path: open_source(path)).what


@pytest.mark.parametrize(("error", "what"), [(PermissionError, "permission denied"), (OSError, "cannot be opened")])
def test_a_file_that_the_system_does_not_open_is_refused(error, what, tmp_path, monkeypatch):
    path = build("parquet", people(), tmp_path)

    def refuse(*_args, **_kwargs):
        raise error(PLANTED)

    monkeypatch.setattr(Path, "open", refuse)
    assert what in refusal(lambda: open_source(path)).what


@pytest.mark.parametrize("data", [None, 3, b"people.csv", [1], {"sex": ["M"]}, pa.RecordBatchReader], ids=str)
def test_what_is_no_data_is_refused(data):
    error = refusal(lambda: open_source(data))
    assert "cannot read data from a" in error.what
    assert ".parquet" in str(error)


@pytest.mark.parametrize("folder", ["plain", "age=7", "year=[2026]*"])
@pytest.mark.parametrize("name", ["a*b.parquet", "a?b.parquet", "a[x]b.parquet", "{a,b}.parquet", "a'b.parquet"])
def test_a_file_name_is_taken_literally(folder, name, tmp_path):
    universe = Universe([Integers(name="age", low=0, high=9)])
    (tmp_path / folder).mkdir()
    for other in ("axb.parquet", "a.parquet", "b.parquet"):
        pq.write_table(pa.table({"age": [7, 7]}), tmp_path / folder / other)
    pq.write_table(pa.table({"age": [3]}), tmp_path / folder / name)
    source = open_source(tmp_path / folder / name)
    assert source.rows() == 1
    assert source.count(universe).counts.tolist() == [0, 0, 0, 1, *[0] * 7]


def test_relative_paths_are_read_from_where_we_are(tmp_path, monkeypatch):
    folder = build("parquet", people(), tmp_path).parent
    monkeypatch.chdir(folder)
    assert open_source("people.parquet").rows() == open_source("*.parquet").rows() == 3
    assert sorted(p.name for p in folder.iterdir()) == ["people.parquet"]


def test_points_are_matched_by_id_and_never_by_name(tmp_path):
    from dxprivacy.universe.attributes.attribute import Property

    fact = Property(name="name", entries=("Hoboken", "York"))
    home = Points(name="home", ids=("h", "y"), coordinates=np.zeros((2, 2)), facts=(fact,))
    for kind in EVERY:
        source = open_source(build(kind, {"home": (pa.string(), ["h", "York", "y", "y"])}, tmp_path))
        assert source.count(Universe([home])).counts.tolist() == [1, 2, 1]


def test_importing_and_counting_csv_loads_no_engine(tmp_path):
    path = build("csv", people(), tmp_path)
    program = (
        "import sys; from dxprivacy.engines import open_source;"
        "from dxprivacy.universe.attributes.listed_values import Values;"
        "from dxprivacy.universe.universe import Universe;"
        f"open_source({str(path)!r}).count(Universe([Values(name='sex', values=('M',))]));"
        "assert not {'duckdb', 'pandas', 'polars', 'pyarrow'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_parquet_is_counted_without_pandas_polars_or_arrow(tmp_path):
    path = build("parquet", people(), tmp_path)
    program = (
        "import sys; sys.modules.update(dict.fromkeys(['pandas', 'polars', 'pyarrow']));"
        "from dxprivacy.engines import open_source; from dxprivacy.universe.attributes.listed_values import Values;"
        "from dxprivacy.universe.universe import Universe;"
        f"assert open_source({str(path)!r}).count(Universe([Values(name='sex', values=('M',))])).total == 3"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
