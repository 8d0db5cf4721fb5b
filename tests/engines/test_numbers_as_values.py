"""Numbers with decimals as values: 17.5 is listed, shown and found as it is written, in every source."""

import math
import random
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from engine_kinds import EVERY, build

from dxprivacy.engines import open_source
from dxprivacy.engines.entries import entry_reader
from dxprivacy.errors import DataError, PolicyError
from dxprivacy.policy import Policy
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.people import People
from dxprivacy.universe.universe import Universe
from engines.servers import postgres

RATES = Values(
    name="rate",
    values=(
        *(Decimal("17.50"), 18, Decimal("-0.25"), Decimal("0.1"), Decimal("0.00001"), "9007199254740993", "n/a"),
        *(Decimal("0.1000000000000000055"), "0.10", "1e-05"),
    ),
)
FLOATS = [
    17.5,
    17.500000000000004,
    18.0,
    -0.25,
    0.1,
    0.1 + 0.2 - 0.2,
    1e-05,
    9007199254740992.0,
    -0.0,
    0.0,
    1e300,
    None,
]
FLOATS += [math.nan, math.inf, -math.inf, 5e-324, 0.5]
SINGLES = [float(np.float32(x)) for x in (17.5, 18.0, -0.25, 0.1, 1e-05, 0.5, 3.4e38)]


def slow_place(value: object, *, single: bool = False) -> int:
    """By the shortest text, of which a listed one must be exactly that."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return RATES.listed
    if isinstance(value, float):
        digits = repr(value) if not single else str(np.float32(value))
        text = format(Decimal(digits).normalize(), "f")
    else:
        text = value if isinstance(value, str) else format(value.normalize(), "f")
    return RATES.values.index(text) if text in RATES.values else RATES.listed


def counted(data: object) -> list[int]:
    return open_source(data).count(Universe([RATES])).counts.tolist()


def spread(places: list[int]) -> list[int]:
    return [places.count(k) for k in range(RATES.size)]


def test_numbers_are_listed_in_their_shortest_text():
    assert RATES.values[:5] == ("17.5", "18", "-0.25", "0.1", "0.00001")
    assert RATES.find(Decimal("17.500")) == 0
    assert RATES.find(17.5) == 0
    head = 'title = "T"\ndataset = "t"\n[attributes.rate]\n'
    policy = head + 'values = [17.5, 18, 1e1]\nepsilon = { "17.5" = 1, 18 = 2, 10 = 1 }'
    assert Policy.parse(policy).universe.attributes[0].values == ("17.5", "18", "10")
    for bad, words in (
        ("[17.5, 17.50]", "'17.5' twice"),
        ("[nan]", "texts, numbers or true/false"),
        ("[inf]", "texts"),
    ):
        with pytest.raises(PolicyError, match=words):
            Policy.parse(policy.replace("[17.5, 18, 1e1]", bad))


@pytest.mark.parametrize("kind", [k for k in EVERY if not k.startswith("csv")])
def test_floats_and_decimals_count_as_their_shortest_text_in_every_source(kind, tmp_path):
    rng = random.Random(kind)
    doubles = [rng.choice(FLOATS) for _ in range(200)]
    data = build(kind, {"rate": (pa.float64(), doubles)}, tmp_path)
    assert counted(data) == spread([slow_place(x) for x in doubles])
    if kind != "jsonl":  # which has no floats of four bytes
        singles = [rng.choice(SINGLES) for _ in range(50)]
        data = build(kind, {"rate": (pa.float32(), singles)}, tmp_path)
        assert counted(data) == spread([slow_place(x, single=True) for x in singles])
        exact = [Decimal(k).scaleb(-5) for k in (1750000, 1800000, -25000, 10000, 1, 10001, 0, -1)] + [None]
        data = build(kind, {"rate": (pa.decimal128(20, 5), exact)}, tmp_path)
        assert counted(data) == spread([slow_place(x) for x in exact])


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "arrow", "parquet", "polars", "pandas", "jsonl"])
def test_text_counts_exactly_as_it_is_written(kind, tmp_path):
    texts = ["17.5", "17.50", "18", "18.0", "0.10", "1e-05", "n/a", "", "0.1000000000000000055", None]
    data = build(kind, {"rate": (pa.string(), texts), "more": (pa.int8(), [1] * len(texts))}, tmp_path)
    assert counted(data) == spread([slow_place(t) for t in texts])


def test_objects_of_any_kind_of_number_count_alike():
    read = entry_reader(RATES.codec)
    for entry in (17.5, np.float64(17.5), np.float32(17.5), np.float16(17.5), Decimal("17.50"), "17.5"):
        assert read(entry) == 0
    assert read(np.float32(0.1)) == read(0.1) == read(Decimal("0.1")) == 3
    assert read(float(np.float32(0.1))) == RATES.listed
    for odd in (Decimal("1e-999999"), Decimal("1e999999"), Decimal("NaN"), Decimal("sNaN"), Decimal("Infinity")):
        assert read(odd) == RATES.listed
    frame = pd.DataFrame({"rate": pd.Series([17.5, Decimal("17.50"), "17.5", 18, None], dtype=object)})
    assert counted(frame) == [3, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1]


def test_numbers_too_large_for_a_type_are_in_no_column_of_it(tmp_path):
    universe = Universe([Values(name="rate", values=("1" + "0" * 60 + ".5", "1" + "0" * 400 + ".5", "0.5"))])
    for declared in (pa.float32(), pa.float64()):
        data = build("arrow", {"rate": (declared, [0.5, 3e38])}, tmp_path)
        assert open_source(data).count(universe).counts.tolist() == [0, 0, 1, 1]


def test_whole_numbers_can_never_hold_decimals(tmp_path):
    only = Universe([Values(name="rate", values=("17.5", "x"))])
    with pytest.raises(DataError, match="is whole numbers, the policy needs text"):
        open_source(build("parquet", {"rate": (pa.int64(), [17])}, tmp_path)).check(only)
    open_source(build("parquet", {"rate": (pa.float64(), [17.5])}, tmp_path)).check(only)


def test_a_version_is_still_told_as_it_is_written():
    text = 'title = "T"\ndataset = "t"\nversion = {}\n[attributes.sex]\nvalues = ["M"]\nepsilon = 1'
    assert [Policy.parse(text.format(v)).version for v in ("1.10", "1.0", "1", '"1.1"')] == ["1.10", "1.0", "1", "1.1"]


LONGEST = "9" * 38
NEAR = Values(name="rate", values=(LONGEST, f"-{LONGEST}", str(int(1e38)), str(int(np.float32(1e38))), "7"))


@pytest.mark.parametrize("kind", ["arrow", "parquet", "postgres", pytest.param("spark", marks=pytest.mark.spark)])
def test_the_longest_whole_numbers_that_count_are_the_same_on_every_engine(kind, tmp_path):
    doubles = [1e38, math.nextafter(1e38, math.inf), -1e38, 1.5e38, 2.0**127, -(2.0**127), 1e39, 7.0]
    data = build(kind, {"rate": (pa.float64(), doubles)}, tmp_path)
    assert open_source(data).count(Universe([NEAR])).counts.tolist() == [0, 0, 1, 0, 1, 6]
    data = build(kind, {"rate": (pa.float32(), [1e38, 1.5e38, 7.0])}, tmp_path)
    assert open_source(data).count(Universe([NEAR])).counts.tolist() == [0, 0, 0, 1, 1, 1]
    exact = [Decimal(LONGEST), Decimal(f"-{LONGEST}"), Decimal(7)]
    data = build(kind, {"rate": (pa.decimal128(38, 0), exact)}, tmp_path)
    assert open_source(data).count(Universe([NEAR])).counts.tolist() == [1, 1, 0, 0, 1, 0]


@pytest.mark.parametrize("native", ["HUGEINT", "UHUGEINT", "DOUBLE", "numeric", "float8"])
def test_whole_numbers_that_are_longer_are_no_keys_on_any_engine(native, tmp_path):
    numbers = [10**38, 10**38 + 1, 2**127 - 1, 7]
    if native.islower():
        given = postgres().table({"k": (native, numbers), "rate": ("int", [7] * len(numbers))})
    else:
        given = f"{tmp_path / 'k.duckdb'}::t"
        with duckdb.connect(tmp_path / "k.duckdb") as con:
            con.execute(
                f"CREATE TABLE t AS SELECT CAST(x AS {native}) AS k, 7 AS rate FROM (SELECT unnest($1) AS x)",
                [[str(number) for number in numbers]],
            )
    whose = Universe([NEAR], people=People(("k",), max_rows=1))
    assert open_source(given).people(whose) == 2  # 7, and the person of all rows without a usable key


@pytest.mark.parametrize("kind", ["arrow", "duckdb", "postgres"])
def test_longer_values_are_refused_for_columns_of_numbers_and_found_in_text(kind, tmp_path):
    long = Universe([Values(name="rate", values=("7", "1" + "0" * 38))])
    for declared, entry in ((pa.float64(), 7.0), (pa.decimal128(38, 0), Decimal(7)), (pa.int64(), 7)):
        source = open_source(build(kind, {"rate": (declared, [entry])}, tmp_path))
        with pytest.raises(DataError, match="the policy needs text, for values of more than 38 digits"):
            source.check(long)
    written = build(kind, {"rate": (pa.string(), ["7", "1" + "0" * 38, "1" + "0" * 39])}, tmp_path)
    assert open_source(written).count(long).counts.tolist() == [1, 1, 1]


@pytest.mark.parametrize("kind", ["arrow", "parquet", "postgres", pytest.param("spark", marks=pytest.mark.spark)])
def test_listed_texts_that_a_column_can_never_hold_stop_nothing(kind, tmp_path):
    """Places go on behind hundreds of words; half of a pair of UTF-16 stands in no table."""
    listed = Universe([Values(name="rate", values=(*(f"w{k}" for k in range(300)), chr(0xD800), "1.5", "2"))])
    for declared in (pa.float64(), pa.decimal128(9, 2), pa.int64(), pa.string()):
        entries = {pa.int64(): [2, 2], pa.string(): ["2", "2"]}.get(declared, [1.5, 2])
        entries = [Decimal(str(x)) for x in entries] if pa.types.is_decimal(declared) else entries
        counts = open_source(build(kind, {"rate": (declared, entries)}, tmp_path)).count(listed).counts
        assert counts[-3:].tolist() == ([1, 1, 0] if 1.5 in entries else [0, 2, 0])
