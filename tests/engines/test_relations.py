"""DuckDB relations, arrays and wrapped frames: read where their types are declared, refused where they are guessed."""

import subprocess
import sys

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from small_sources import counts, csv
from test_engine_schema import PLANTED, refusal

from dxprivacy.engines import open_source

ROWS = "(values ('M', 0), ('F', 1), ('F', 1), ('x', 9)) as t(sex, age)"
EXPECTED = [[1, 0, 0, 0], [0, 2, 0, 0], [0, 0, 0, 1]]


@pytest.fixture
def con():
    with duckdb.connect() as con:
        con.execute(f"CREATE TABLE people AS FROM {ROWS}")
        con.execute("CREATE VIEW seen AS FROM people")
        yield con


@pytest.mark.parametrize(
    "query",
    [
        "FROM people",
        "FROM seen",
        f"FROM {ROWS}",
        "SELECT age, sex, age AS more FROM people ORDER BY age",
        "WITH p AS MATERIALIZED (FROM people) SELECT * FROM p",
    ],
)
def test_a_relation_over_tables_is_counted(con, query):
    assert counts(con.sql(query)) == EXPECTED
    assert open_source(con.sql(query)).name == "a DuckDB relation"


def test_a_relation_over_parquet_or_arrow_is_counted(con, tmp_path):
    con.execute(f"COPY people TO '{tmp_path / 'people.parquet'}'")
    arrow = con.sql("FROM people").to_arrow_table()
    frame = pl.DataFrame(arrow)
    assert counts(con.sql(f"FROM '{tmp_path / 'people.parquet'}'")) == EXPECTED
    assert counts(con.sql("FROM arrow")) == counts(con.sql("FROM frame")) == EXPECTED
    assert (arrow.num_rows, frame.height) == (4, 4)


def test_a_relation_over_text_is_refused_because_its_types_are_guessed(con, tmp_path):
    path = csv(tmp_path / "people.csv", "M,1")
    (tmp_path / "people.jsonl").write_text('{"sex": "M", "age": 1}\n')
    con.execute(f"CREATE VIEW hidden AS FROM '{path}'")
    for query in (f"FROM '{path}'", "FROM hidden", f"SELECT sex, 1 AS age FROM read_csv('{path}', all_varchar = true)"):
        error = refusal(lambda query=query: open_source(con.sql(query)))
        assert "CSV with types guessed" in error.what
        assert "give the file itself" in str(error)
    joined = con.sql(f"SELECT p.sex, p.age FROM people p JOIN '{path}' c ON c.age = p.age")
    assert "CSV with types guessed" in refusal(lambda: open_source(joined)).what
    lines = con.sql(f"FROM '{tmp_path / 'people.jsonl'}'")
    assert "JSON with types guessed" in refusal(lambda: open_source(lines)).what


def test_one_row_of_text_does_change_what_the_engine_takes_the_others_for(tmp_path):
    path = csv(tmp_path / "people.csv", *(["M,1"] * 30))
    before = duckdb.sql(f"FROM '{path}'").types[1]
    path.write_text(path.read_text() + "M,x\n")
    assert before != duckdb.sql(f"FROM '{path}'").types[1]  # why it is refused


def test_a_relation_over_a_pandas_frame_is_refused_with_the_remedy():
    frame = pd.DataFrame({"sex": pd.Series(["M", 1], dtype=object), "age": [0, 1]})
    relation = duckdb.sql("FROM frame")
    error = refusal(lambda: open_source(relation))
    assert "pandas DataFrame with types guessed" in error.what
    assert "the frame itself" in str(error)
    assert counts(frame)[0][0] == 1


def test_a_relation_that_scans_something_unknown_is_refused(con):
    error = refusal(lambda: open_source(con.sql("FROM glob('*.nothing')")))
    assert "may not be declared" in error.what
    assert "CREATE TABLE" in str(error)


def test_a_relation_that_stops_half_way_is_refused_without_its_message(con):
    relation = con.sql(f"SELECT CASE WHEN age > 5 THEN error('{PLANTED}') ELSE sex END AS sex, age FROM people")
    assert "cannot read the Arrow stream" in refusal(lambda: open_source(relation)).what


def test_a_relation_of_a_closed_connection_is_refused():
    con = duckdb.connect()
    relation = con.sql("SELECT 'M' AS sex, 1 AS age")
    con.close()
    refusal(lambda: open_source(relation))


class Offers:
    """What another library offers: an array, not a stream."""

    def __init__(self, batch):
        self._batch = batch

    def __arrow_c_array__(self, requested_schema=None):
        return self._batch.__arrow_c_array__(requested_schema)


def test_an_object_that_offers_an_array_of_arrow_is_counted():
    batch = pa.record_batch({"sex": ["M", "F", "F", "x"], "age": [0, 1, 1, 9]})
    assert counts(Offers(batch)) == EXPECTED
    error = refusal(lambda: open_source(Offers(pa.array([1, 2]))))
    assert "cannot read the Arrow stream of a Offers" in error.what


class Wrapped:
    """As a frame of narwhals: it offers a stream, whose types it guesses."""

    def __init__(self, native):
        self._native = native

    def to_native(self):
        return self._native

    def __arrow_c_stream__(self, requested_schema=None):
        raise AssertionError("asked for types that are guessed")


Wrapped.__module__, Wrapped.__name__ = "narwhals.dataframe", "DataFrame"


def test_a_frame_of_narwhals_is_read_as_the_frame_inside():
    data = {"sex": ["M", "F", "F", 7], "age": [0, 1, 1, 9]}
    objects = pd.DataFrame({"sex": pd.Series(data["sex"], dtype=object), "age": data["age"]})
    assert counts(Wrapped(objects)) == EXPECTED
    assert counts(Wrapped(pl.DataFrame({**data, "sex": ["M", "F", "F", "7"]}))) == EXPECTED
    assert "inside a frame of narwhals" in refusal(lambda: open_source(Wrapped(object()))).what
    assert "inside a frame of narwhals" in refusal(lambda: open_source(Wrapped(Wrapped(objects)))).what


@pytest.mark.parametrize("make", ["pl.DataFrame({'sex': ['M']})", "pl.LazyFrame({'sex': ['M']})"])
def test_polars_asks_for_pyarrow_where_it_is_missing(make):
    program = (
        "import sys; sys.modules['pyarrow'] = None; import polars as pl; from dxprivacy.engines import open_source\n"
        f"try: open_source({make})\nexcept Exception as error: print(type(error).__name__, error)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "DataError a polars" in done.stdout
    assert "pip install pyarrow" in done.stdout
