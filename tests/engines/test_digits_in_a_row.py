"""Formats whose digits follow one another are read in one way only, and the same by every engine."""

import itertools

import pyarrow as pa
import pytest

from dxprivacy.engines import open_source
from dxprivacy.errors import DataError, PolicyError
from dxprivacy.universe.attributes.dates import Dates
from dxprivacy.universe.attributes.times import Times
from dxprivacy.universe.reading.text_formats import DateFormat, TimeFormat
from dxprivacy.universe.universe import Universe
from dxprivacy.verify.days import reader
from engines.engine_kinds import from_arrow

CLOCKS = ["%H%M", "%H%M%S", "%H%d%M", "%H%f", "%Y%m%d%H%M", "1%H2%M", "%M%H"]
DAYS = ["%d%m%Y", "%Y%m%d", "%m%d%Y", "%Y%m%d%H%M%S", "%d%m%Y%f"]
TEXTS = sorted(
    {"".join(t) for n in (2, 3, 4) for t in itertools.product("0125", repeat=n)}
    | {"20260111", "2026111", "202611", "3012026", "312026", "31120261", "202601112", "202601110215", "20260111021559"}
    | {"103215", "10215", "1112026123", "311220261"}
)


@pytest.mark.parametrize("kind", ["duckdb", "parquet", "postgres", pytest.param("spark", marks=pytest.mark.spark)])
@pytest.mark.parametrize("written", CLOCKS)
def test_times_mean_the_same_everywhere(written, kind, tmp_path):
    attribute = Times(name="x", low=0, high=86_400, step=60, format=written)
    check(attribute, kind, tmp_path)


@pytest.mark.parametrize("kind", ["duckdb", "parquet", "postgres", pytest.param("spark", marks=pytest.mark.spark)])
@pytest.mark.parametrize("written", DAYS)
def test_days_mean_the_same_everywhere(written, kind, tmp_path):
    attribute = Dates(name="x", first="2026-01-01", last="2026-12-31", format=written)
    check(attribute, kind, tmp_path)
    said, read = reader([written], "", ""), DateFormat.of(written).read
    assert [said(text) for text in TEXTS] == [read(text) for text in TEXTS]


def check(attribute, kind, folder):
    universe = Universe([attribute])
    table = pa.table({"x": pa.array(TEXTS, pa.string())})
    found = open_source(from_arrow(kind, table, folder)).count(universe).counts.tolist()
    assert found == open_source(from_arrow("pandas", table, folder)).count(universe).counts.tolist()
    assert sum(found[:-1]) > 0  # some of them are read


def test_of_digits_in_a_row_the_first_piece_alone_may_be_short():
    assert [TimeFormat.of("%H%M").read(x) for x in ("517", "0517", "215", "15", "5")] == [
        19020,
        19020,
        8100,
        None,
        None,
    ]
    assert str(DateFormat.of("%d%m%Y").read("3012026")) == "2026-01-03"
    assert DateFormat.of("%Y%m%d").read("2026111") is None
    assert DateFormat.of("%d.%m.%Y").read("3.1.2026") is not None  # something stands between
    with pytest.raises(PolicyError, match="%f twice"):
        TimeFormat.of("%H%f%f")


@pytest.mark.parametrize(
    "given",
    [
        ["postgresql://h/db::people", "postgresql://h/db::public.people"],
        ["postgresql://h/db::people", "people.parquet"],
        ["spark:/d/q.parquet", "/d/q.parquet"],
        [["service=s::people"], "service=s::other"],
    ],
)
def test_a_table_of_a_server_is_given_alone(given):
    with pytest.raises(DataError, match="is given alone"):
        open_source(given)


@pytest.mark.parametrize(
    "given",
    [
        "sslmode=require password=hunter2 host=h::t",
        "application_name=x password=hunter2 host=h::t",
        "PGPASSWORD=hunter2 host=h",
        "user=anna password=hunter2",
        "jdbc:postgresql://anna:hunter2@h/db",
        "postgresql+psycopg://anna:hunter2@h/db::t",
        "redshift://anna:hunter2@h/db",
        "postgresql//anna:hunter2@h/db",
    ],
)
def test_a_password_is_not_shown_whatever_stands_around_it(given):
    with pytest.raises(DataError) as refused:
        open_source(given)
    assert "hunter2" not in str(refused.value)
    assert "anna" not in str(refused.value)
