"""Numbers in cells, dates and series: every engine places every entry as the attribute itself does."""

import math
import random
import struct
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from contracts.long_forms import mostly_slow
from dxprivacy.engines import open_source
from dxprivacy.engines.entries import entry_reader
from dxprivacy.engines.placing import offsets
from dxprivacy.errors import DataError
from dxprivacy.universe.attributes.binned_numbers import Numbers
from dxprivacy.universe.attributes.dates import Dates
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.attributes.series_of_numbers import Series
from dxprivacy.universe.reading.text_formats import DateFormat, NumberFormat
from dxprivacy.universe.universe import Universe


def places(attribute, data):
    """The index of every row: each row comes with its number, so that a histogram tells where it went."""
    source, out = open_source(data), []
    for start in range(0, len(data), 512):
        height = min(512, len(data) - start)
        universe = Universe([Integers(name="row", low=start, high=start + height - 1), attribute])
        counts = source.count(universe).counts.reshape(-1, attribute.size)
        assert (counts[:-1].sum(axis=1) == 1).all()
        assert counts.sum() == len(data)
        out += counts[:-1].argmax(axis=1).tolist()
    return out


def index_of(attribute, day):
    """Where a day belongs, or None."""
    inside = day is not None and attribute.first <= day <= attribute.last
    return (day - attribute.first).days if inside else attribute.listed


def arrow(of_type, entries):
    return pa.table({"row": range(len(entries)), "x": pa.array(entries, type=of_type)})


AWKWARD = [
    ("0", "1", "0.1"),
    ("-0.7", "6.3", "0.7"),
    ("-10", "10", "2.5"),
    ("0", "200000", "1000"),
    ("-1e9", "-999999900", "0.1"),
    ("123456789.01", "123456790.01", "0.01"),
    ("1e-6", "2e-6", "1e-8"),
    ("-3.3", "0", "0.3"),
    ("0", "1e15", "1e13"),
    ("-1.1", "1.1", "0.011"),
    ("99999999999.3", "100000000000", "0.7"),
]


@pytest.mark.parametrize("clamp", [False, True])
@pytest.mark.parametrize(("low", "high", "step"), AWKWARD)
def test_numbers_at_and_beside_every_edge_fall_as_the_attribute_says(low, high, step, clamp):
    attribute = Numbers(name="x", low=Decimal(low), high=Decimal(high), step=Decimal(step), clamp=clamp)
    rng = random.Random(f"{low} {high}")
    around = [f(edge) for edge in attribute.edges for f in (float, _below, _above)]
    drawn = [rng.uniform(attribute.edges[0], attribute.edges[-1]) for _ in range(500)]
    odd = [math.inf, -math.inf, math.nan, None, 1e308, -1e308, 0.0, -0.0, 5e-324]
    entries = [*around, *drawn, *odd]
    want = [attribute.listed if x is None or math.isnan(x) else attribute.place(x) for x in entries]
    assert places(attribute, arrow(pa.float64(), entries)) == want
    assert [entry_reader(attribute.codec)(x) for x in entries] == want
    texts = [None if x is None else repr(x) for x in entries]
    assert places(attribute, pd.DataFrame({"row": range(len(texts)), "x": pd.Series(texts, dtype="str")})) == want


def _below(x):
    return math.nextafter(x, -math.inf)


def _above(x):
    return math.nextafter(x, math.inf)


INCOME = Numbers(name="x", low=0, high=3000, step=1000)


@pytest.mark.parametrize("of_type", [pa.int8(), pa.uint64(), pa.int64(), pa.float32(), pa.decimal128(30, 3)], ids=str)
def test_numbers_are_read_from_every_type_of_number(of_type):
    entries = [0, 5, 100, None, 127]
    entries += [] if of_type == pa.int8() else [999, 1000, 2999, 3000, 3001, 2**24]
    entries = [Decimal(x) if x is not None and pa.types.is_decimal(of_type) else x for x in entries]
    want = [INCOME.listed if x is None else INCOME.place(float(x)) for x in entries]
    assert places(INCOME, arrow(of_type, entries)) == want


def test_a_decimal_is_rounded_once_to_the_nearest_float():
    attribute = Numbers(name="x", low=0, high=1, step=Decimal("0.1"))
    rng = random.Random(5)
    entries = [Decimal(k) / 10 for k in range(11)]
    entries += [e + Decimal(s) * Decimal(10) ** -k for e in entries for s in (1, -1) for k in (9, 16, 17, 18, 24)]
    entries += [Decimal(rng.randrange(10**24)) / 10**24 for _ in range(300)]
    table = arrow(pa.decimal128(38, 30), entries)
    assert places(attribute, table) == [attribute.place(float(x)) for x in entries]


def random_number_text(rng):
    alphabet = rng.choice(["0123456789", "0123456789.,", "0123456789., '+-eE\t", "12.3,\u00a0\u202f\n٣ "])
    text = "".join(rng.choice(alphabet) for _ in range(rng.randrange(9)))
    if rng.random() < 0.6:
        number = rng.choice([rng.randrange(5000), rng.uniform(-10, 4000), rng.randrange(-50, 50) / 10])
        text = f"{number:,}" if rng.random() < 0.5 else str(number)
        if rng.random() < 0.5:
            text = text.translate(str.maketrans(",.", rng.choice([".,", "',", "\u00a0,", "\u202f.", " ."])))
        text = rng.choice(["", " ", "\t", "+", "\n"]) + text + rng.choice(["", " ", "e3", "\n", "%"])
    return text


@pytest.mark.parametrize(
    "written", ["", "1234.5", "1234,5", "1.234,5", "1,234.5", "1'234.5", "1 234,5", "1\u00a0234,5"]
)
def test_texts_of_numbers_are_read_alike_by_python_and_by_sql(written):
    rng = random.Random(written)
    texts = [random_number_text(rng) for _ in range(3_000)]
    frame = pd.DataFrame({"row": range(len(texts)), "x": pd.Series(texts, dtype="str")})
    plain = NumberFormat.of(written)
    for attribute in (
        Numbers(name="x", low=-10, high=4000, step=10, format=written),
        Integers(name="x", low=-10, high=4000, format=written),
    ):
        found = places(attribute, frame)
        assert found == [entry_reader(attribute.codec)(text) for text in texts]
        assert sum(k < attribute.listed for k in found) > 100
    numbers = [plain.plain(text) for text in texts]
    attribute = Numbers(name="x", low=-10, high=4000, step=10, format=written)
    want = [attribute.listed if n is None else attribute.place(float(n)) for n in numbers]
    assert places(attribute, frame) == want


def test_whole_numbers_follow_the_declared_marks():
    read = entry_reader(Integers(name="x", low=-5000, high=5000, format="1.234,5").codec)
    entries = ["1.234", "1.234,0", "1.234,5", "-1.234", "12.34", "1234", " 1.234,\t", "1e3", 1.234, 1234, 1234.0]
    assert [k - 5000 if k <= 10000 else None for k in map(read, entries)] == [
        *(1234, 1234, None, -1234, None, 1234, 1234, None),
        *(None, 1234, 1234),  # numbers are numbers: marks are for text
    ]


@pytest.mark.parametrize("attribute", [Integers(name="x", low=0, high=9), Numbers(name="x", low=0, high=9, step=1)])
def test_declared_text_is_a_number_only_where_the_policy_says_how_it_is_written(attribute):
    table = arrow(pa.string(), ["3", "4,0", None])
    with pytest.raises(DataError) as caught:
        open_source(table).check(Universe([attribute]))
    needs = "whole numbers" if isinstance(attribute, Integers) else "numbers"
    assert f"column x is text, the policy needs {needs}" in str(caught.value)
    assert 'format = "1234.5"' in str(caught.value)
    declared = type(attribute)(**{k: getattr(attribute, k) for k in _own(attribute)}, format="1234,5")
    assert places(declared, table) == [3, 4, declared.listed]


def _own(attribute):
    return ("name", "low", "high") if isinstance(attribute, Integers) else ("name", "low", "high", "step")


VISIT = Dates(name="x", first="2026-01-01", last="2026-12-31")


def random_date_text(rng):
    y, m, d = rng.choice(["2026", "2025", "26", "0000", "9999"]), rng.randrange(14), rng.randrange(33)
    pad = rng.choice(["{}", "{:02}"])
    parts = [y, pad.format(m), pad.format(d)]
    rng.shuffle(parts) if rng.random() < 0.3 else None
    text = rng.choice("-./ ").join(parts) if rng.random() < 0.9 else "".join(parts)
    time = ["", "T10:00", " 10:00:59.123456789", "T10:00:00+02:00", " 23:59Z", "T1:00", "T10", "T10:00 ", " 7:8", "\n"]
    return rng.choice(["", " ", "\t"]) + text + rng.choice(time)


@pytest.mark.parametrize("written", ["", "%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%Y%m%d", "%d.%m.%Y %H:%M", "(%d) %m|%Y"])
def test_texts_of_dates_are_read_alike_by_python_and_by_sql(written):
    rng = random.Random(written)
    attribute = Dates(name="x", first="2025-01-01", last="2026-12-31", format=written)
    sample = (written or "%Y-%m-%d").replace("%H", "10").replace("%M", "59")
    good = [(date(2025, 1, 1) + timedelta(days=rng.randrange(-9, 740))).strftime(sample) for _ in range(300)]
    texts = [*good, *(random_date_text(rng) for _ in range(3_000)), "2026-02-29", "2025-02-29", "２０２６-01-01"]
    days = [DateFormat.of(written).read(text) for text in texts]
    want = [index_of(attribute, day) for day in days]
    frame = pd.DataFrame({"row": range(len(texts)), "x": pd.Series(texts, dtype="str")})
    assert places(attribute, frame) == want
    assert places(attribute, arrow(pa.string(), texts)) == want  # declared as text: dates are often stored so
    assert [entry_reader(attribute.codec)(text) for text in texts] == want
    assert sum(k < attribute.listed for k in want) > 250


MOMENTS = [
    datetime(2026, 1, 1),
    datetime(2025, 12, 31, 23, 59, 59, 999999),
    datetime(2026, 12, 31, 23, 59, 59, 999999),
    datetime(2027, 1, 1),
    datetime(1969, 12, 31, 23, 59, 59, 999999),
    datetime(2026, 7, 1, 12),
    datetime(1, 1, 1),
    datetime(9999, 12, 31, 23, 59, 59),
    None,
]
FAR = [2**63 - 1, -(2**63) + 1, -(2**63), 2**60, -(2**60), 2**55, 0, 1, -1]


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"], ids=str)
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("kind", ["arrow", "polars", "pandas", "parquet"])
def test_points_in_time_of_every_unit_count_as_their_day(kind, unit, zone, tmp_path):
    attribute = Dates(name="x", first="1969-12-30", last="2026-12-31")
    numbers = [*FAR, *(_stamp(m, unit) for m in MOMENTS if m and (unit != "ns" or 1700 < m.year < 2200)), None]
    if kind == "polars" and unit == "s":
        pytest.skip("polars has no seconds")
    if kind == "parquet" and unit in ("s", "ms"):
        pytest.skip("refused: see the test of milliseconds")
    column = pa.array(numbers, pa.int64()).cast(pa.timestamp(unit, zone))
    table = pa.table({"row": range(len(numbers)), "x": column})
    if kind == "polars":
        table = pl.from_arrow(table)
    elif kind == "pandas":
        with np.errstate(all="ignore"):
            series = pd.Series(np.array([-(2**63) if n is None else n for n in numbers]).view(f"M8[{unit}]"))
        series = series if zone is None else series.dt.tz_localize("UTC").dt.tz_convert(zone)
        table = pd.DataFrame({"row": range(len(numbers)), "x": series})
    elif kind == "parquet":
        pq.write_table(table, tmp_path / "x.parquet")
    size = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit] * 86_400
    days = [None if n is None else n // size - (attribute.first - date(1970, 1, 1)).days for n in numbers]
    want = [d if d is not None and 0 <= d < attribute.listed else attribute.listed for d in days]
    if kind == "parquet":
        universe = Universe([Integers(name="row", low=0, high=len(numbers) - 1), attribute])
        counts = open_source(tmp_path / "x.parquet").count(universe).counts.reshape(-1, attribute.size)
        assert counts[:-1].argmax(axis=1).tolist() == want
    else:
        assert places(attribute, table) == want


def _stamp(moment, unit):
    size = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    passed = moment - datetime(1970, 1, 1)
    return (passed.days * 86_400 + passed.seconds) * size + passed.microseconds * size // 10**6


def test_milliseconds_in_parquet_are_refused_from_the_schema(tmp_path):
    """The engine stops at a single entry that does not fit into microseconds: one row would stop a release."""
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"x": pa.array([2**60], pa.int64()).cast(pa.timestamp("ms"))}), path)
    with pytest.raises(DataError) as caught:
        open_source(path).check(Universe([VISIT]))
    assert "column x is points in time in milliseconds" in str(caught.value)


@pytest.mark.parametrize(
    ("nanoseconds", "day"),
    [(2**63 - 1, 2**31 - 1), (-(2**63), -(2**31)), (0, 2**31 - 1), (2**63 - 1, 2_461_046), (0, 0)],
)
def test_old_96_bit_times_of_parquet_move_one_unit_at_most(nanoseconds, day, tmp_path):
    path, moment = tmp_path / "x.parquet", datetime(2026, 1, 5, 3, 4, 5)
    old = {"use_deprecated_int96_timestamps": True, "compression": "none", "use_dictionary": False}
    pq.write_table(arrow(pa.timestamp("ns"), [moment, datetime(2026, 1, 6)]), path, write_statistics=False, **old)
    stored = struct.pack("<qi", 11_045 * 10**9, 2_461_046)  # nanoseconds of the day, day of the Julian calendar
    assert path.read_bytes().count(stored) == 1
    assert open_source(path).count(Universe([VISIT])).counts[[4, 5]].tolist() == [1, 1]
    path.write_bytes(path.read_bytes().replace(stored, struct.pack("<qi", nanoseconds, day)))
    assert open_source(path).count(Universe([VISIT])).counts[[5, VISIT.listed]].tolist() == [1, 1]


@pytest.mark.parametrize("of_type", [pa.timestamp("ms", "UTC"), pa.timestamp("us"), pa.timestamp("s")], ids=str)
def test_pandas_columns_of_arrow_times_are_read(of_type):
    numbers = pa.array([_stamp(datetime(2026, 1, 5), of_type.unit), 2**60, None], pa.int64())
    series = pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([numbers.cast(of_type)])))
    assert places(VISIT, pd.DataFrame({"row": range(3), "x": series})) == [4, VISIT.listed, VISIT.listed]


@pytest.mark.parametrize("of_type", [pa.date32(), pa.date64()], ids=str)
def test_dates_of_every_type_count_as_themselves(of_type):
    entries = [date(2026, 1, 1), date(2026, 12, 31), date(2025, 12, 31), date(1, 1, 1), date(9999, 12, 31), None]
    other = VISIT.listed
    assert places(VISIT, arrow(of_type, entries)) == [0, 364, other, other, other, other]
    number = pa.int32() if of_type == pa.date32() else pa.int64()
    extreme = pa.array([2**31 - 1, -(2**31), 2**31 - 2], number).view(of_type)
    assert places(VISIT, pa.table({"row": range(3), "x": extreme})) == [other] * 3
    assert places(VISIT, pl.from_arrow(arrow(of_type, entries))) == [0, 364, other, other, other, other]


ZONES = ["", "UTC", "Europe/Berlin", "America/St_Johns", "Asia/Kathmandu", "Pacific/Apia", "Africa/Casablanca"]
ZONES += ["America/New_York", "Australia/Lord_Howe", "Africa/Monrovia", "Etc/GMT+12", "Pacific/Kiritimati"]


@pytest.mark.parametrize(
    "zone",
    [
        *mostly_slow(ZONES[:6], ["", "UTC", "Asia/Kathmandu"]),
        *(pytest.param(z, marks=pytest.mark.soak) for z in ZONES[6:]),
    ],
)
def test_instants_count_as_their_day_in_the_zone_of_the_policy(zone):
    rng = random.Random(zone)
    for first, last in (("2025-06-01", "2026-06-30"), ("1880-01-01", "1990-12-31"), ("2011-12-25", "2012-01-05")):
        attribute = Dates(name="x", first=first, last=last, timezone=zone)
        table = offsets(attribute.codec)
        seconds = [start + shift for start, _ in table for shift in (-1, 0, 1, -43_200, 43_200)]
        days = [attribute.first + timedelta(days=rng.randrange(-3, attribute.listed + 3)) for _ in range(300)]
        midnight = [datetime.combine(day, datetime.min.time(), ZoneInfo(zone or "UTC")).timestamp() for day in days]
        seconds += [int(m) + rng.choice([-1, 0, 1, rng.randrange(86_400)]) for m in midnight]
        instants = [datetime.fromtimestamp(0, UTC) + timedelta(seconds=s) for s in seconds]
        local = [instant.astimezone(ZoneInfo(zone or "UTC")).date() for instant in instants]
        want = [index_of(attribute, day) for day in local]
        assert places(attribute, arrow(pa.timestamp("us", "Asia/Tokyo"), instants)) == want
        assert places(attribute, arrow(pa.timestamp("ns", "UTC"), instants)) == want
        objects = pd.Series([i.astimezone(timezone(timedelta(hours=5))) for i in instants], dtype=object)
        assert places(attribute, pd.DataFrame({"row": range(len(instants)), "x": objects})) == want


def test_wall_clock_times_are_taken_as_written_whatever_the_zone():
    late = datetime(2026, 1, 1, 23, 59)
    for zone in ZONES:
        attribute = Dates(name="x", first="2026-01-01", last="2026-01-03", timezone=zone)
        assert places(attribute, arrow(pa.timestamp("us"), [late])) == [0]
        assert entry_reader(attribute.codec)(late) == entry_reader(attribute.codec)("2026-01-01T23:59") == 0


def test_objects_of_dates_are_read_one_by_one():
    objects = [
        date(2026, 1, 2),
        datetime(2026, 1, 2, 23),
        pd.Timestamp("2026-01-02"),
        pd.Timestamp("2026-01-02T23:30-05:00"),
        np.datetime64("2026-01-02T05"),
        "2026-01-02",
        *(pd.NaT, None, 20260102, 5.0, True, "2 Jan", np.datetime64("NaT"), np.datetime64(2**62, "s")),
        datetime.max.replace(tzinfo=timezone(timedelta(hours=-12))),
        datetime.min.replace(tzinfo=timezone(timedelta(hours=12))),
    ]
    frame = pd.DataFrame({"row": range(len(objects)), "x": pd.Series(objects, dtype=object)})
    assert places(VISIT, frame) == [1, 1, 1, 2, 1, 1, *[VISIT.listed] * 10]


USAGE = Series(name="usage", columns=("jan", "feb", "mar"), entry=Integers(name="usage", low=0, high=3))
LEVEL = Series(name="level", columns=("a", "b"), entry=Numbers(name="level", low=-1, high=1, step=Decimal("0.5")))


def series_frames(columns):
    table = pa.table({"row": range(len(next(iter(columns.values())))), **columns})
    as_objects = pd.DataFrame({name: pd.Series(entries, dtype=object) for name, entries in columns.items()})
    return [table, pl.from_arrow(table), as_objects.assign(row=range(len(table)))]


def test_a_series_is_its_columns_in_mixed_radix_and_other_as_a_whole():
    rng = random.Random(7)
    jan, feb, mar = ([rng.choice([0, 1, 2, 3, 4, -1, None]) for _ in range(400)] for _ in range(3))
    want = [
        USAGE.find([a, b, c]) if all(x is not None and 0 <= x <= 3 for x in (a, b, c)) else USAGE.listed
        for a, b, c in zip(jan, feb, mar, strict=True)
    ]
    assert USAGE.listed in want
    assert len(set(want)) > 30
    for data in series_frames({"jan": jan, "feb": feb, "mar": mar}):
        assert places(USAGE, data) == want


def test_a_series_of_numbers_goes_by_the_cells_of_its_entries():
    rng = random.Random(8)
    a, b = ([rng.choice([-1.0, -0.5, 0.3, 1.0, 1.01, math.nan, None]) for _ in range(200)] for _ in range(2))
    place = entry_reader(LEVEL.codec)
    want = [
        place(x) * 4 + place(y) if place(x) < 4 and place(y) < 4 else LEVEL.listed for x, y in zip(a, b, strict=True)
    ]
    for data in series_frames({"a": a, "b": b}):
        assert places(LEVEL, data) == want


@pytest.mark.parametrize(
    ("attribute", "of_type", "words"),
    [
        (VISIT, pa.int64(), "column x is whole numbers, the policy needs dates"),
        (VISIT, pa.bool_(), "column x is true or false, the policy needs dates"),
        (VISIT, pa.list_(pa.date32()), "column x is lists, the policy needs dates"),
        (INCOME, pa.date32(), "column x is dates, the policy needs numbers"),
        (INCOME, pa.timestamp("us", "UTC"), "column x is points in time with a zone, the policy needs numbers"),
        (INCOME, pa.bool_(), "column x is true or false, the policy needs numbers"),
        (INCOME, pa.string(), "column x is text, the policy needs numbers"),
        (
            Series(name="s", columns=("row", "x"), entry=INCOME),
            pa.string(),
            "column x is text, the policy needs numbers",
        ),
        (Series(name="s", columns=("row", "y"), entry=INCOME), pa.string(), "no column “y”"),
        (Integers(name="x", low=0, high=1), pa.date32(), "column x is dates, the policy needs whole numbers"),
    ],
)
def test_columns_that_cannot_hold_what_is_needed_are_refused(attribute, of_type, words):
    with pytest.raises(DataError) as caught:
        open_source(arrow(of_type, [])).check(Universe([attribute]))
    assert words in str(caught.value)


@pytest.mark.parametrize("attribute", [VISIT, INCOME, Integers(name="x", low=0, high=1)])
def test_an_empty_column_is_other(attribute):
    assert places(attribute, arrow(pa.null(), [None, None])) == [attribute.listed] * 2


@pytest.mark.parametrize("attribute", [VISIT, Integers(name="x", low=0, high=9, format="1234.5")])
def test_text_that_is_not_utf8_is_other(attribute):
    data, bounds = b"3\xff2026-01-01\xc3", np.array([0, 2, 13], dtype=np.int32)
    text = pa.Array.from_buffers(pa.string(), 2, [None, pa.py_buffer(bounds.tobytes()), pa.py_buffer(data)])
    assert places(attribute, pa.table({"row": [0, 1], "x": text})) == [attribute.listed] * 2
