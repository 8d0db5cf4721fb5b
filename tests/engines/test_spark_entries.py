"""Every entry that a Spark column can hold counts where Python's reader puts it, or the schema is refused."""

import random
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import test_engine_agreement as agreement
from dirty_entries import (
    CLOCKS,
    DAYS,
    DECIMALS,
    INSTANTS,
    REALS,
    SINGLES,
    WRITTEN,
    fitting,
    occupied,
    require_agreement,
)
from every_type import TEXTS, WHOLES
from test_coordinates import HOME

from dxprivacy.engines import open_source
from dxprivacy.engines.sql.counting_sql import Counting
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.universe import Universe
from engines.engine_kinds import build
from engines.servers import spark, spark_frame
from people import test_kept_rows as kept_rows

pytestmark = pytest.mark.spark

COLUMNS = {
    "text": (pa.string(), WRITTEN, 17),
    "smallint": (pa.int16(), [w for w in WHOLES if abs(w) < 2**15], 8),
    "bigint": (pa.int64(), [w for w in WHOLES if -(2**63) <= w < 2**63], 8),
    "decimal": (pa.decimal128(38, 10), DECIMALS, 8),
    "double": (pa.float64(), REALS, 8),
    "float": (pa.float32(), [np.float32(x) for x in SINGLES], 8),
    "boolean": (pa.bool_(), [True, False], 1),
    "date": (pa.date32(), DAYS, 11),
    "clock": (pa.timestamp("us"), CLOCKS, 13),
    "instant": (pa.timestamp("us", "UTC"), INSTANTS, 13),
}


def on_spark(kind, entries):
    column = pa.array(entries, COLUMNS[kind][0])
    return open_source(spark_frame(pa.table({"x": column, "x2": column})))


@pytest.fixture(params=["ANSI, New York", "older, Kolkata"])
def mode(request):
    """Settings of a session, which must not matter."""
    session = spark()
    ansi, zone = {"ANSI, New York": ("true", "America/New_York"), "older, Kolkata": ("false", "Asia/Kolkata")}[
        request.param
    ]
    session.conf.set("spark.sql.ansi.enabled", ansi)
    session.conf.set("spark.sql.session.timeZone", zone)
    session.conf.set("spark.sql.parser.escapedStringLiterals", "true" if ansi == "false" else "false")
    yield
    session.conf.set("spark.sql.ansi.enabled", "true")
    session.conf.set("spark.sql.session.timeZone", "America/New_York")
    session.conf.set("spark.sql.parser.escapedStringLiterals", "false")


@pytest.mark.parametrize("kind", COLUMNS)
def test_every_entry_counts_where_the_reader_of_python_puts_it(kind, mode):
    _, entries, fit = COLUMNS[kind]
    entries = [*entries, None, None]
    require_agreement(on_spark(kind, entries), entries, fit)


def test_text_that_is_not_unicode_is_other_wherever_it_is_read(tmp_path):
    """Bytes of all kinds, in a Parquet file that two engines read."""
    column = pa.Array.from_buffers(pa.string(), len(TEXTS), pa.array(TEXTS, pa.binary()).buffers())  # unchecked
    pq.write_table(pa.table({"x": column, "x2": column}), tmp_path / "people.parquet")
    here = open_source(tmp_path / "people.parquet")
    there = open_source(f"spark:{tmp_path}/people.parquet")
    spark()
    attributes = fitting(there)
    assert [a.name for a in attributes] == [a.name for a in fitting(here)]
    universe = Universe(attributes)
    assert occupied(there.count(universe)) == occupied(here.count(universe))


@pytest.mark.parametrize("name", ["text and whole numbers", "numbers as values", "dates", "series"])
def test_random_tables_agree_with_the_slow_reference(name, tmp_path):
    agreement.test_every_source_agrees_with_the_slow_reference("spark", name, tmp_path)


@pytest.mark.soak
@pytest.mark.parametrize("name", agreement.UNIVERSES)
def test_all_random_tables_agree_with_the_slow_reference(name, tmp_path):
    agreement.test_every_source_agrees_with_the_slow_reference("spark", name, tmp_path)


@pytest.mark.parametrize("no_key", ["one", "own"])
def test_the_same_rows_of_people_are_kept(no_key, tmp_path):
    policy, rows = kept_rows.policy_of(no_key=no_key), kept_rows.invented(1)
    want, total = kept_rows.by_hand(rows, 3, no_key)
    source = open_source(build("spark", kept_rows.table(rows), tmp_path))
    source.check(policy.universe)
    assert kept_rows.found(source, policy) == total
    assert source.people(policy.universe) == len(want) + (no_key == "one" and "" not in want)
    kept_rows.test_people_are_told_from_one_another_where_that_is_asked("spark", no_key, tmp_path)


def test_texts_that_a_collation_calls_equal_are_told_apart():
    frame = spark().createDataFrame([("M",), ("m",), ("M ",), ("M",)], "x string collate UTF8_LCASE_RTRIM")
    counts = open_source(frame).count(Universe([Values(name="x", values=("M", "m"))])).counts
    assert counts.tolist() == [2, 1, 1]


@pytest.mark.parametrize("kind", ["text", "double", "instant"])
def test_one_changed_row_moves_one_unit_at_most(kind):
    rng, entries = random.Random(kind), COLUMNS[kind][1]
    before = [rng.choice(entries) for _ in range(20)]
    one, other = on_spark(kind, before), on_spark(kind, [rng.choice(entries), *before[1:]])
    universe = Universe(fitting(one))
    change = occupied(one.count(universe))
    change.subtract(occupied(other.count(universe)))
    assert sorted(n for n in change.values() if n) in ([], [-1, 1])


def test_others_and_distinct_texts_are_told_to_the_curator(tmp_path):
    source = on_spark("text", ["M", "F", "F", "?", "?", "x", None])
    (others,) = source.others(Universe([Values(name="x", values=("M", "F"))]), 10)
    assert (others.rows, others.distinct) == (4, 3)
    assert dict(others.entries) == {("?",): 2, ("x",): 1, (None,): 1}
    assert source.distinct("x", 10) == {"M", "F", "?", "x"}
    assert source.distinct("x", 2) is None


def test_words_that_are_reserved_may_not_be_names_and_matter_nowhere(tmp_path):
    session = spark()
    session.conf.set("spark.sql.ansi.enforceReservedKeywords", "true")
    try:
        (tmp_path / "kept").mkdir()
        kept_rows.test_people_are_told_from_one_another_where_that_is_asked("spark", "one", tmp_path / "kept")
        test_others_and_distinct_texts_are_told_to_the_curator(tmp_path)
        test_random_tables_agree_with_the_slow_reference("text and whole numbers", tmp_path)
        columns = {
            "lat": (pa.float64(), [52.5, 0.0]),
            "lon": (pa.float64(), [13.4, 0.0]),
            "x": (pa.string(), ["M", ""]),
        }
        found = open_source(build("spark", columns, tmp_path)).count(Universe([HOME]))
        assert found.counts.sum() == 2
    finally:
        session.conf.unset("spark.sql.ansi.enforceReservedKeywords")


def test_many_lists_are_written_into_the_query_and_mean_the_same(tmp_path, monkeypatch):
    """A join for each took a second, and more than a hundred of them failed."""
    asked, cells = [], Counting.cells
    monkeypatch.setattr(Counting, "cells", lambda *given: asked.append(cells(*given)) or asked[-1])
    tenths = [None if x is None else Decimal(x) for x in ("0.1", "1.5", "17", None, "0.00001", "3")]
    entries = {
        "t": (pa.string(), ["M", "é", "m", None, "'", "x"]),
        "f": (pa.float64(), [0.1, 1.5, 17.0, float("nan"), 1e-5, None]),
        "s": (pa.float32(), [0.1, 1.5, 17.0, None, 1e-5, 3.0]),
        "d": (pa.decimal128(20, 5), tenths),
        "i": (pa.int32(), [17, 18, None, 0, 1, 2]),
        "b": (pa.bool_(), [True, False, None, True, True, False]),
    }
    listed = ("M", "é", "'", "0.1", "1.5", "17", "0.00001", "true", chr(0xD800))
    short = [Values(name=f"{c}{k}", column=c, values=listed[k % 2 :]) for k in range(3) for c in entries]
    universe = Universe([Values(name="long", column="t", values=("é", *map(str, range(300)))), *short])
    there, here = (open_source(build(kind, entries, tmp_path)).count(universe) for kind in ("spark", "arrow"))
    assert occupied(there) == occupied(here)
    assert asked[0].count("LEFT JOIN") == 8
    assert "{domain_r0}" in asked[0]  # the longest one
