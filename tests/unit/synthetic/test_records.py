"""Records written and read back: the same policy finds the same histogram, for every kind and both formats."""

import csv
from fractions import Fraction

import numpy as np
import pytest

from dxprivacy.engines import open_source
from dxprivacy.errors import PolicyError, UsageError
from dxprivacy.synthetic.synthesis_report import Report
from dxprivacy.synthetic.synthetic_records import Records, require_savable
from dxprivacy.universe.attributes.binned_numbers import Numbers
from dxprivacy.universe.attributes.dates import Dates
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.attributes.listed_points import Points
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.attributes.series_of_numbers import Series
from dxprivacy.universe.universe import Universe

ODD = (
    "",
    " a",
    "b,c",
    'd"e',
    '"',
    "ü – 東京",
    "tab\there",
    "NULL",
    "nan",
    "'",
    "other?",
    "c\rd",
    "e\r",
    "\ufeffx",
    "\u2028",
)
KINDS = {
    "values": Values(name="sex", column="Sex of person", values=("M", "F")),
    "odd texts": Values(name="odd", values=ODD),
    "true and false": Values(name="native", values=("true", "false")),
    "whole texts": Values(name="wave", values=("1", "-2", "0", "999999999999999999")),
    "codes": Values(name="code", values=("007", "7", "1.5")),
    "integers": Integers(name="age", low=-3, high=12),
    "written integers": Integers(name="age", low=-3, high=1200, format="1.234,5"),
    "numbers": Numbers(name="income", column="inc,eur", low=0, high=1, step="0.1"),
    "thirds": Numbers(name="budget", low=Fraction(-1, 3), high=Fraction(1), step=Fraction(1, 3)),
    "written numbers": Numbers(name="income", low=-1000, high=2000, step="0.5", format="1.234,5"),
    "clamped numbers": Numbers(name="income", low=0, high=3000, step=1000, clamp=True),
    "tiny steps": Numbers(name="x", low=1_000_000, high="1000000.000001", step="0.0000001"),
    "dates": Dates(name="visit", first="2026-01-01", last="2026-12-31"),
    "old dates": Dates(name="visit", first="0001-01-01", last="0001-02-03"),
    "last dates": Dates(name="visit", first="9999-12-01", last="9999-12-31", timezone="Europe/Berlin"),
    "written dates": Dates(name="visit", first="2026-01-28", last="2026-03-02", format="%d.%m.%Y at %H:%M:%S.%f"),
    "points": Points(name="home", ids=("10", "2", "Arlington, VA"), coordinates=[[0, 0], [0, 1], [1, 1]]),
    "a point called other": Points(name="home", ids=("other", ""), coordinates=[[0, 0], [0, 1]]),
    "series": Series(name="usage", columns=("jan", "feb"), entry=Integers(name="usage", low=-1, high=2)),
    "series of numbers": Series(name="u", columns=("a", "b", "c"), entry=Numbers(name="u", low=0, high=3, step=1)),
}


def random_counts(universe, seed=0):
    return np.random.default_rng(seed).integers(0, 4, universe.cells)


def read_back(path, universe):
    return open_source(path).count(universe).counts


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".parquet"])
@pytest.mark.parametrize("kind", KINDS)
def test_records_of_every_kind_are_read_back_as_they_were(kind, ending, tmp_path):
    universe = Universe([KINDS[kind]])
    counts = random_counts(universe)
    path = Records.counted(universe, counts).save(tmp_path / f"synthetic{ending}")
    assert (read_back(path, universe) == counts).all()
    assert open_source(path).rows() == counts.sum()


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_records_of_several_attributes_are_read_back_as_they_were(ending, tmp_path):
    kinds = ("numbers", "points", "series", "true and false", "odd texts")
    universe = Universe([KINDS[kind] for kind in kinds])
    counts = random_counts(universe)
    path = Records.counted(universe, counts).save(tmp_path / f"synthetic{ending}")
    assert (read_back(path, universe) == counts).all()


def test_columns_are_named_as_in_the_data_and_typed(tmp_path):
    import duckdb

    kinds = ("values", "whole texts", "true and false", "integers", "numbers", "dates", "series")
    universe = Universe([KINDS[kind] for kind in kinds])
    counts = np.zeros(universe.cells, dtype=np.int64)
    counts[:3] = 1
    path = Records.counted(universe, counts).save(tmp_path / "synthetic.parquet")
    found = duckdb.sql(f"DESCRIBE SELECT * FROM '{path}'").fetchall()
    assert {name: kind for name, kind, *_ in found} == {
        "Sex of person": "VARCHAR",
        "wave": "BIGINT",
        "native": "BOOLEAN",
        "age": "BIGINT",
        "inc,eur": "DOUBLE",
        "visit": "DATE",
        "jan": "BIGINT",
        "feb": "BIGINT",
    }


def test_other_readers_see_as_many_csv_records(tmp_path):
    universe = Universe([KINDS["values"]])
    path = Records.counted(universe, np.array([1, 2, 3])).save(tmp_path / "synthetic.csv")
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert rows == [["Sex of person"], ["M"], ["F"], ["F"], [""], [""], [""]]


def test_many_records_of_one_cell_are_all_written(tmp_path):
    universe = Universe([KINDS["values"]])
    counts = np.array([40_000, 0, 4096])
    for ending in (".csv", ".parquet"):
        path = Records.counted(universe, counts).save(tmp_path / f"many{ending}")
        assert (read_back(path, universe) == counts).all()


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_no_records_make_a_file_with_a_header(ending, tmp_path):
    universe = Universe([KINDS["values"], KINDS["integers"]])
    path = Records.counted(universe, np.zeros(universe.cells, dtype=np.int64)).save(tmp_path / f"none{ending}")
    assert read_back(path, universe).sum() == 0


def test_absent_people_have_no_records():
    universe = Universe([KINDS["values"]], max_records=100)
    records = Records.of(universe, [1.0, 2.0, 0.0, 55.0], 3)
    assert records.counts.tolist() == [1, 2, 0]
    assert "2" not in repr(records).replace("3 in 3 cells", "")


def test_an_existing_file_is_replaced_only_if_asked_for(tmp_path):
    universe = Universe([KINDS["values"]])
    records = Records.counted(universe, np.array([1, 0, 0]))
    path = tmp_path / "people.csv"
    path.write_text("precious")
    with pytest.raises(UsageError, match="is there already"):
        records.save(path)
    with pytest.raises(UsageError, match="no file of synthetic records that dxp wrote"):
        records.save(path, overwrite=True)
    assert path.read_text() == "precious"
    assert [p.name for p in tmp_path.iterdir()] == ["people.csv"]


def test_records_are_replaced_if_the_report_beside_them_knows_them(tmp_path):
    universe = Universe([KINDS["values"]])
    path = Records.counted(universe, np.array([1, 0, 0])).save(tmp_path / "people.csv")
    report = Report((), 1, {})
    report.save(tmp_path / "people-report.json", records=path)
    more = Records.counted(universe, np.array([2, 0, 0]))
    with pytest.raises(UsageError, match="is there already"):
        more.save(path)
    more.save(path, overwrite=True)
    assert path.read_text() == "Sex of person\nM\nM\n"
    with pytest.raises(UsageError, match="no file of synthetic records"):
        more.save(path, overwrite=True)  # the report knows the other file
    report.save(tmp_path / "people-report.json", records=path)
    path.write_text("Sex of person\nF\n")  # somebody's data under our name
    with pytest.raises(UsageError, match="no file of synthetic records"):
        more.save(path, overwrite=True)
    assert path.read_text() == "Sex of person\nF\n"


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("synthetic.xlsx", "ends in"),
        ("synthetic", "ends in"),
        ("no/folder.csv", "no such folder"),
        ("x\0.csv", "name"),
        (f"{'x' * 300}.csv", "too long"),
    ],
)
def test_names_that_cannot_be_written_are_refused(name, word, tmp_path):
    with pytest.raises(UsageError, match=word):
        require_savable(Universe([KINDS["values"]]), tmp_path / name)


def test_texts_that_csv_cannot_hold_are_refused_before_anything_is_written(tmp_path):
    universe = Universe([Values(name="a", values=("x\ny",))])
    records = Records.counted(universe, np.array([2, 1]))
    with pytest.raises(UsageError, match="CSV"):
        records.save(tmp_path / "a.csv")
    path = records.save(tmp_path / "a.parquet")
    assert read_back(path, universe).tolist() == [2, 1]
    with pytest.raises(UsageError, match="Unicode"):
        require_savable(Universe([Values(name="a", values=("\ud800",))]), tmp_path / "a.parquet")
    assert [p.name for p in tmp_path.iterdir()] == ["a.parquet"]


def test_names_that_differ_in_capitals_only_are_written_as_csv(tmp_path):
    universe = Universe([Values(name="a", values=("x",)), Values(name="A", values=("y",))])
    with pytest.raises(UsageError, match="capitals"):
        require_savable(universe, tmp_path / "a.parquet")
    path = Records.counted(universe, np.array([1, 2, 3, 4])).save(tmp_path / "a.csv")
    assert read_back(path, universe).tolist() == [1, 2, 3, 4]


def test_two_attributes_of_one_column_are_refused(tmp_path):
    universe = Universe([Integers(name="age", low=0, high=9), Values(name="old", column="age", values=("9",))])
    with pytest.raises(PolicyError, match="age is read by age and old"):
        require_savable(universe, tmp_path / "a.csv")


def test_a_failure_while_writing_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    import dxprivacy.synthetic.synthetic_records as module

    def broken(*_):
        raise OSError(28, "No space left on device")

    records = Records.counted(Universe([KINDS["values"]]), np.array([1, 0, 0]))
    path = records.save(tmp_path / "a.csv")
    old = path.read_text()
    Report((), 1, {}).save(tmp_path / "a-report.json", records=path)
    monkeypatch.setattr(module, "write_csv", broken)
    with pytest.raises(UsageError, match="No space left"):
        records.save(path, overwrite=True)
    assert path.read_text() == old
    assert {p.name for p in tmp_path.iterdir()} == {"a.csv", "a-report.json"}
