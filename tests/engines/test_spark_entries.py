"""Every entry that a Spark column can hold counts where Python's reader puts it, or the schema is refused."""

import random

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

from dxprivacy.attributes.values import Values
from dxprivacy.engines import open_source
from dxprivacy.model.universe import Universe
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
