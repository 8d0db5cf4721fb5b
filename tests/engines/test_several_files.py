"""Several files as one table: each record in it once, all of the same columns."""

import os

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
from small_sources import UNIVERSE, counts, csv
from test_engine_schema import PLANTED, refusal

from dxprivacy.engines import open_source


def test_several_files_are_counted_as_one_table(tmp_path):
    a, b = csv(tmp_path / "a.csv", "M,1", "F,2"), csv(tmp_path / "b.csv", "1,M", "0,x", header="age,sex")
    want = [[0, 2, 0, 0], [0, 0, 1, 0], [1, 0, 0, 0]]
    assert (
        counts([a, str(b)]) == counts((b, a)) == counts(str(tmp_path / "*.csv")) == counts(tmp_path / "*.csv") == want
    )
    (tmp_path / "deep" / "er").mkdir(parents=True)
    pq.write_table(pa.table({"age": [2], "sex": ["F"]}), tmp_path / "deep" / "er" / "c.parquet")
    assert counts([a, tmp_path / "deep" / "er" / "c.parquet"])[1][2] == 2
    assert counts(str(tmp_path / "**" / "*.parquet"))[1][2] == 1
    assert counts([pl.DataFrame({"sex": ["M"], "age": [1]}), a])[0][1] == 2


def test_several_files_name_themselves_and_what_they_hold(tmp_path):
    csv(tmp_path / "a.csv", "M,1")
    assert open_source(str(tmp_path / "*.csv")).name == "a.csv"
    csv(tmp_path / "b.csv", "M,1")
    source = open_source(str(tmp_path / "*.csv"))
    assert source.name == f"{tmp_path}/*.csv (2 files)"
    assert [column.name for column in source.columns()] == ["sex", "age"]


def test_a_file_given_twice_is_refused_under_any_name(tmp_path):
    """Otherwise one record would be two rows, and the guarantee half."""
    a, b = csv(tmp_path / "a.csv", "M,1"), csv(tmp_path / "b.csv", "M,1")
    (tmp_path / "link.csv").symlink_to(a)
    os.link(b, tmp_path / "hard.csv")
    frame = pd.DataFrame({"sex": ["M"], "age": [1]})
    for twice in ([a, a], [a, str(a)], [a, tmp_path / "link.csv"], [b, tmp_path / "hard.csv"], [frame, frame]):
        assert refusal(lambda twice=twice: open_source(twice)).what == "is given twice"
    assert "is given twice" in refusal(lambda: open_source(str(tmp_path / "*.csv"))).what
    for twice in ([str(tmp_path / "a*.csv"), a], [[a], [a]], [str(tmp_path / "a.*"), str(tmp_path / "[a].csv")]):
        assert refusal(lambda twice=twice: open_source(twice)).what == "is given twice"


def test_files_of_different_columns_are_refused_without_naming_one(tmp_path):
    """A file without header has a record in its first line."""
    a = csv(tmp_path / "a.csv", "M,1")
    for header in (f"{PLANTED},4711", "sex", "sex,age,age", "SEX,age"):
        b = csv(tmp_path / "b.csv", "F,2", header=header)
        error = refusal(lambda b=b: open_source([a, b]))
        assert error.headline == "b.csv · has other columns than a.csv"


def test_each_of_several_files_must_fit(tmp_path):
    pq.write_table(pa.table({"sex": ["M"], "age": [1]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"sex": ["M"], "age": ["1"]}), tmp_path / "b.parquet")
    source = open_source(str(tmp_path / "*.parquet"))
    for action in (source.check, source.count):
        assert "b.parquet does not fit" in refusal(lambda action=action: action(UNIVERSE)).headline


def test_empty_lists_and_odd_members_are_refused(tmp_path):
    a = csv(tmp_path / "a.csv", "M,1")
    assert "empty" in refusal(lambda: open_source([])).what
    assert "no such file" in refusal(lambda: open_source([a, tmp_path / "b.csv"])).what
    assert "cannot read data from a int" in refusal(lambda: open_source([a, 3])).what
    (tmp_path / "folder.csv").mkdir()
    assert "is a directory" in refusal(lambda: open_source(str(tmp_path / "*.csv"))).what


def test_a_directory_is_refused_with_the_pattern_that_names_its_files(tmp_path):
    assert str(tmp_path / "*.parquet") in str(refusal(lambda: open_source(tmp_path)))


def test_many_files_share_one_database(tmp_path):
    for k in range(40):
        pq.write_table(pa.table({"sex": ["M"], "age": [k % 3]}), tmp_path / f"{k}.parquet")
    assert counts(str(tmp_path / "*.parquet"))[0] == [14, 13, 13, 0]
