"""Every source gives the histogram that a slow, plain reading of the rows gives."""

import random
from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from engine_kinds import EVERY, build, expected

from dxprivacy.engines import open_source
from dxprivacy.universe.attributes.binned_numbers import Numbers
from dxprivacy.universe.attributes.dates import Dates
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.attributes.listed_points import Points
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.attributes.series_of_numbers import Series
from dxprivacy.universe.universe import Universe

SEX = Values(name="sex", values=("M", "F", "", 'été, "x"'))
AGE = Integers(name="age", low=-3, high=12)
HOME = Points(name="home", column="small", ids=("1", "2", "30"), coordinates=np.zeros((3, 2)))
NATIVE = Values(name="native", values=("true", "false"))
CODES = ("1", "2", "-7")

TEXTS = ["M", "F", "m", " M", "M ", "", 'été, "x"', "été", "other", "nan", "None", "a,b", "日本", None]
WHOLE = [-4, -3, -1, 0, 1, 2, 7, 12, 13, 30, 2**53 + 1, 2**63 - 1, -(2**63), None]
FLOATS = [
    -3.0,
    -0.0,
    1.0,
    2.0,
    -7.0,
    2.5,
    12.0,
    12.000001,
    13.0,
    1e300,
    float("nan"),
    float("inf"),
    -float("inf"),
    None,
]
EXACT = [Decimal("-3"), Decimal("1.00"), Decimal("2.50"), Decimal("12"), Decimal("-7"), Decimal("99999.99"), None]
DAYS = [date(2026, 1, 1), date(2026, 1, 31), date(2026, 2, 1), date(2025, 12, 31), date(1969, 12, 31), None]
DAYS += [date(1, 1, 1), date(9999, 12, 31)]


def random_columns(rng: random.Random, rows: int) -> dict:
    def draw(pool: list) -> list:
        return [rng.choice(pool) for _ in range(rows)]

    return {
        "ignored": (pa.string(), [f"secret {k}" for k in range(rows)]),
        "sex": (pa.string(), draw(TEXTS)),
        "age": (pa.int64(), draw(WHOLE)),
        "small": (pa.uint8(), draw([0, 1, 2, 12, 13, 255, None])),
        "score": (pa.float64(), draw(FLOATS)),
        "single": (pa.float32(), draw([0.0, 1.0, 2.5, 12.0, None])),
        "price": (pa.decimal128(7, 2), draw(EXACT)),
        "native": (pa.bool_(), draw([True, False, None])),
        "level": (pa.dictionary(pa.int8(), pa.string()), draw(["M", "F", "x", None])),
        "visit": (pa.date32(), draw(DAYS)),
        "start": (pa.timestamp("us"), draw([d and datetime(d.year, d.month, d.day, 23, 59, 59) for d in DAYS])),
        "sent": (pa.timestamp("us", "UTC"), draw([d and datetime(d.year, d.month, d.day, tzinfo=UTC) for d in DAYS])),
    }


UNIVERSES = {
    "text and whole numbers": Universe([SEX, AGE, HOME]),
    "floats and decimals": Universe(
        [
            Integers(name="score", low=-3, high=12),
            Values(name="code", column="score", values=CODES),
            Integers(name="price", low=-3, high=12),
        ]
    ),
    "numbers as values": Universe(
        [
            Values(name="age", values=CODES),
            Values(name="price", values=CODES),
            Integers(name="single", low=0, high=12),
        ]
    ),
    "truth and categories": Universe([NATIVE, Values(name="level", values=("F", "M"))]),
    "one attribute": Universe([AGE]),
    "numbers in cells": Universe(
        [
            Numbers(name="score", low=-7, high=Decimal("12.5"), step=Decimal("0.5")),
            Numbers(name="price", low=-3, high=12, step=3),
            Numbers(name="age", low=-4, high=12, step=8),
        ]
    ),
    "clamped whole numbers": Universe(
        [
            Integers(name="age", low=0, high=5, clamp=True),
            Integers(name="score", low=-2, high=2, clamp=True),
            Integers(name="price", low=0, high=3, clamp=True),
            Integers(name="small", low=2, high=9, clamp=True),
        ]
    ),
    "dates": Universe([Dates(name=name, first="2026-01-01", last="2026-01-31") for name in ("visit", "start", "sent")]),
    "series": Universe(
        [
            Series(name="both", columns=("age", "small"), entry=Integers(name="both", low=0, high=12)),
            Series(name="rates", columns=("score", "single", "price"), entry=Numbers(name="r", low=0, high=12, step=4)),
        ]
    ),
}


@pytest.mark.parametrize("kind", EVERY)
@pytest.mark.parametrize("name", UNIVERSES)
def test_every_source_agrees_with_the_slow_reference(kind, name, tmp_path):
    rng = random.Random(f"{kind} {name}")
    universe = UNIVERSES[name]
    for rows in (0, 1, 300):
        columns = random_columns(rng, rows)
        source = open_source(build(kind, columns, tmp_path))
        source.check(universe)
        histogram = source.count(universe)
        assert histogram.counts.tolist() == expected(universe, kind, columns).tolist()
        assert source.rows() == histogram.total == rows


@pytest.mark.parametrize("kind", EVERY)
def test_a_universe_of_a_million_cells_is_counted(kind, tmp_path):
    universe = Universe(
        [
            Integers(name="age", low=0, high=1199),
            Points(name="home", ids=tuple(map(str, range(999))), coordinates=np.zeros((999, 2))),
        ]
    )
    rng = random.Random(kind)
    columns = {
        "age": (pa.int32(), [rng.randrange(-5, 1300) for _ in range(2_000)]),
        "home": (pa.int16(), [rng.randrange(1_100) for _ in range(2_000)]),
    }
    histogram = open_source(build(kind, columns, tmp_path)).count(universe)
    assert universe.size > 1_000_000
    assert (histogram.counts == expected(universe, kind, columns)).all()


@pytest.mark.parametrize("kind", EVERY)
def test_two_attributes_may_read_one_column(kind, tmp_path):
    universe = Universe([Integers(name="age", low=0, high=9), Values(name="decade", column="age", values=("1", "2"))])
    columns = {"age": (pa.int64(), [1, 2, 2, 30])}
    histogram = open_source(build(kind, columns, tmp_path)).count(universe)
    assert histogram.counts.tolist() == expected(universe, kind, columns).tolist()


class Hostile:
    """An entry that does not even have a text."""

    def __str__(self) -> str:
        raise ValueError("planted")

    __repr__ = __str__


def test_pandas_columns_of_any_objects_are_read_entry_by_entry():
    objects = [1, None, "2", 3.0, {"a": 1}, float("nan"), True, b"M", 10**5000, Decimal("4.00"), Decimal("4.5")]
    objects += [
        Hostile(),
        "\ud800",
        "M\0",
        pd.NA,
        pd.NaT,
        [1, 2],
        np.int8(5),
        np.float32(6),
        " +7.0 ",
        Decimal("1e999999"),
    ]
    frame = pd.DataFrame({"x": pd.Series(objects, dtype=object)})
    as_numbers = open_source(frame).count(Universe([Integers(name="x", low=0, high=9)])).counts
    assert as_numbers.tolist() == [0, 1, 1, 1, 1, 1, 1, 1, 0, 0, len(objects) - 7]
    as_values = (
        open_source(frame).count(Universe([Values(name="x", values=("1", "3", "4", "true", "nan", "None"))])).counts
    )
    assert as_values.tolist() == [1, 1, 1, 1, 0, 0, len(objects) - 4]


@pytest.mark.parametrize(
    "dtype",
    ["object", "str", "string", "category", "string[python]", pd.ArrowDtype(pa.string())],
    ids=str,
)
def test_text_of_every_pandas_type_is_matched_exactly(dtype):
    entries = ["M", "F", None, "f", "M", "F "]
    histogram = open_source(pd.DataFrame({"sex": pd.Series(entries, dtype=dtype)})).count(
        Universe([Values(name="sex", values=("M", "F"))])
    )
    assert histogram.counts.tolist() == [2, 1, 3]


@pytest.mark.parametrize("dtype", ["Int64", "UInt8", "int16", "Float64", "float32", pd.ArrowDtype(pa.int64())], ids=str)
def test_numbers_of_every_pandas_type_are_counted(dtype):
    frame = pd.DataFrame({"age": pd.Series([0, 1, 1, 200], dtype=dtype)})
    histogram = open_source(frame).count(Universe([Integers(name="age", low=0, high=2)]))
    assert histogram.counts.tolist() == [1, 2, 0, 1]


def test_a_pandas_index_has_no_influence():
    frame = pd.DataFrame({"age": [0, 1, 1]}, index=[7, 7, 0])
    assert open_source(frame).count(Universe([Integers(name="age", low=0, high=2)])).counts.tolist() == [1, 2, 0, 0]


def test_polars_categories_enums_and_empty_columns_are_read():
    frame = pl.DataFrame(
        {
            "cat": pl.Series(["M", None, "x"], dtype=pl.Categorical),
            "enum": pl.Series(["M", "F", None], dtype=pl.Enum(["F", "M"])),
            "nothing": [None, None, None],
        }
    )
    universe = Universe([Values(name=name, values=("M",)) for name in frame.columns])
    counts = open_source(frame).count(universe).counts.reshape(2, 2, 2)
    assert counts[0, 0, 1] == counts[1, 1, 1] - 1 == 1


def test_arrow_text_that_is_not_utf8_is_other():
    data = b"M\xff\xfeF\xc3"
    offsets = np.array([0, 1, 3, 5], dtype=np.int32)
    text = pa.Array.from_buffers(pa.string(), 3, [None, pa.py_buffer(offsets.tobytes()), pa.py_buffer(data)])
    histogram = open_source(pa.table({"sex": text})).count(Universe([Values(name="sex", values=("M", "F"))]))
    assert histogram.counts.tolist() == [1, 0, 2]
