"""The privacy rule of reading, for every kind of attribute in every source: one changed row moves one unit."""

import json
from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from engine_kinds import TYPED, from_arrow, moved
from hypothesis import example
from hypothesis import strategies as st

from contracts.long_forms import drawn, mostly_slow
from dxprivacy.engines import open_source
from dxprivacy.universe.attributes.binned_numbers import Numbers
from dxprivacy.universe.attributes.dates import Dates
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.attributes.listed_points import Points
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.attributes.series_of_numbers import Series
from dxprivacy.universe.universe import Universe

UNIVERSE = Universe(
    [
        Values(name="sex", values=("M", "F")),
        Points(name="home", ids=("1", "2"), coordinates=np.zeros((2, 2))),
        Integers(name="age", low=0, high=3),
        Numbers(name="income", low=0, high=1, step=Decimal("0.1")),
        Numbers(name="rate", low=-1, high=1, step=1, clamp=True),
        Dates(name="visit", first="2026-01-01", last="2026-01-03", timezone="Europe/Berlin"),
        Series(name="usage", columns=("jan", "feb"), entry=Integers(name="usage", low=0, high=1)),
    ]
)
NAMES = ["sex", "home", "age", "income", "rate", "visit", "jan", "feb"]
ROWS = [
    ("M", "1", 0, 0.05, -0.5, "2026-01-01", 0, 1),
    ("F", "2", 3, 0.3, 0.5, "2026-01-02", 1, 1),
    ("F", "1", 2, 1.0, 0.0, "2026-01-03", 0, 0),
    ("M", "2", 1, 0.9, 1.0, "2026-01-02", 1, 0),
]
AT = 1  # the row that changes


def count(data, universe=UNIVERSE):
    source = open_source(data)
    source.check(universe)
    histogram = source.count(universe)
    assert source.rows() == histogram.total
    return histogram.counts


def cell(row, universe=UNIVERSE):
    """The cell of a clean row."""
    record = dict(zip(NAMES, row, strict=True)) | {"usage": list(row[6:])}
    places = [
        a.find(record[a.name]) if a.name == "usage" else int(a.encode([record[a.name]])[0]) for a in universe.attributes
    ]
    return int(np.ravel_multi_index(places, universe.shape))


def reading(column):
    """The attributes that read one column, and another one beside them: small, because there are many tests."""
    others = [a for a in UNIVERSE.attributes if a.name == ("age" if column == "sex" else "sex")]
    return Universe([*others, *(a for a in UNIVERSE.attributes if column in a.reads)])


# What one entry can become: the column, its type, how the clean entries stand in it, the dirt.
NUMBERS = [None, float("nan"), float("inf"), -float("inf"), 1e308, -1e308, 5e-324, 0.1, 0.30000000000000004, -0.0]
TIMES = [None, datetime(2025, 12, 31, 23, 30), datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59), datetime(2026, 1, 3)]
FAR = [2**63 - 1, -(2**63), -(2**63) + 1, 2**60, -(2**60), 2**53]
DIRT = {
    "text": ("sex", pa.string(), str, [None, "", "f", "F ", "été", "a\0b", "a\nb", "x" * 99_999, "NULL"]),
    "whole numbers as points": ("home", pa.int64(), int, [None, 0, -1, 2**63 - 1, -(2**63)]),
    "floats as points": ("home", pa.float64(), float, [None, 1.5, float("nan"), float("inf"), 1e308]),
    "whole numbers": ("age", pa.int64(), int, [None, -1, 4, 2**63 - 1, -(2**63)]),
    "unsigned": ("age", pa.uint64(), int, [None, 4, 2**64 - 1]),
    "floats as whole numbers": ("age", pa.float64(), float, [None, 0.5, float("nan"), 1e308, -float("inf")]),
    "floats": ("income", pa.float64(), float, NUMBERS),
    "clamped floats": ("rate", pa.float64(), float, NUMBERS),
    "clamped whole numbers": ("rate", pa.int64(), int, [None, 5, -5, 2**63 - 1, -(2**63)]),
    "single floats": ("income", pa.float32(), float, [None, float("nan"), float("inf"), 0.7, 3e38]),
    "decimals": ("income", pa.decimal128(38, 10), lambda x: Decimal(str(x)), [None, Decimal("9" * 28), Decimal("-1")]),
    "clamped decimals": ("rate", pa.decimal128(38, 2), lambda x: Decimal(str(x)), [None, Decimal("9" * 36)]),
    "dates": ("visit", pa.date32(), date.fromisoformat, [None, date(1, 1, 1), date(9999, 12, 31), date(2026, 1, 4)]),
    "points in time": ("visit", pa.timestamp("us"), datetime.fromisoformat, TIMES),
    "nanoseconds": ("visit", pa.timestamp("ns"), datetime.fromisoformat, [None, datetime(1677, 9, 22), *TIMES[1:2]]),
    "instants": (
        "visit",
        pa.timestamp("us", "UTC"),
        lambda x: datetime.fromisoformat(x).replace(tzinfo=UTC),
        [t and t.replace(tzinfo=UTC) for t in TIMES],
    ),
    "days as text": ("visit", pa.string(), str, [None, "", "2026-01-02T", "2026-02-31", "3 Jan", "2026-01-03 ", "\0"]),
    "first of a series": ("jan", pa.int64(), int, [None, 2, -1, 2**63 - 1]),
    "floats in a series": ("feb", pa.float64(), float, [None, 0.5, float("nan"), float("inf")]),
}


def table(column=None, of_type=None, clean=None, dirt=None, *, change=False):
    types = {"sex": pa.string(), "home": pa.string(), "age": pa.int64(), "income": pa.float64(), "rate": pa.float64()}
    types |= {"visit": pa.string(), "jan": pa.int64(), "feb": pa.int64()}
    arrays = []
    for k, name in enumerate(NAMES):
        entries = [row[k] for row in ROWS]
        if name == column:
            entries = [clean(int(e) if clean is int else e) for e in entries]
            if change:
                entries[AT] = dirt
        arrays.append(pa.array(entries, of_type if name == column else types[name]))
    return pa.Table.from_arrays(arrays, names=NAMES)


@pytest.mark.parametrize("kind", TYPED)
@pytest.mark.parametrize("sort", mostly_slow(DIRT, slice(0, None, 4)))
def test_any_typed_entry_moves_one_unit_at_most(kind, sort, tmp_path, capfd):
    # The others hand their columns over as these do: the worst of the dirt is enough for them.
    check_typed_entries(kind, sort, tmp_path, capfd, every=kind in ("parquet", "duckdb"))


@pytest.mark.soak
@pytest.mark.parametrize("kind", TYPED)
@pytest.mark.parametrize("sort", DIRT)
def test_all_dirt_in_any_type_moves_one_unit_at_most(kind, sort, tmp_path, capfd):
    check_typed_entries(kind, sort, tmp_path, capfd, every=True)


def check_typed_entries(kind, sort, tmp_path, capfd, *, every):
    column, of_type, clean, dirt = DIRT[sort]
    (tmp_path / "clean").mkdir()
    universe = reading(column)
    before = count(from_arrow(kind, table(column, of_type, clean), tmp_path / "clean"), universe)
    for k, entry in enumerate(dirt if every else dirt[-1:]):
        folder = tmp_path / str(k)
        folder.mkdir()
        after = count(from_arrow(kind, table(column, of_type, clean, entry, change=True), folder), universe)
        move = moved(before, after)
        if sort != "clamped whole numbers":  # whose clean entries are rounded ones
            assert move is None or move[0] == cell(ROWS[AT], universe)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("kind", ["arrow", "polars", "dataset", "duckdb"])
@pytest.mark.parametrize("zone", [None, "UTC"])
@pytest.mark.parametrize("unit", mostly_slow(["us", "s", "ms", "ns"], 1))
def test_points_in_time_beyond_all_years_move_one_unit_at_most(kind, zone, unit, tmp_path):
    if (kind == "polars" and unit == "s") or (kind == "duckdb" and zone and unit != "us"):
        pytest.skip("has no such type")
    found = []
    size = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    clean = [int(datetime.fromisoformat(row[5]).replace(tzinfo=UTC).timestamp()) * size for row in ROWS]
    for k, far in enumerate([clean[AT], *FAR]):
        (tmp_path / str(k)).mkdir()
        stamps = pa.array([*clean[:AT], far, *clean[AT + 1 :]], pa.int64()).cast(pa.timestamp(unit, zone))
        data = table().set_column(5, "visit", stamps)
        if kind == "duckdb" and far in FAR and unit != "ns" and abs(far) > 2**60:
            continue  # the database itself refuses to store it
        found.append(count(from_arrow(kind, data, tmp_path / str(k)), reading("visit")))
    assert len(found) > 1
    for after in found[1:]:
        assert moved(found[0], after) is not None


OBJECTS = [None, "", "x", "1", 1, 1.0, 0.5, True, b"1", [1], {"a": 1}, object(), "\ud800", pd.NA, pd.NaT, 10**400]
OBJECTS += [Decimal("NaN"), Decimal("sNaN"), Decimal("1e999999"), np.float32(1), np.int8(1), 1e308, 1j, float("nan")]
OBJECTS += [date(2026, 1, 2), datetime(2026, 1, 2), datetime.max.replace(tzinfo=UTC), np.datetime64(2**62, "s")]


@pytest.mark.parametrize("name", NAMES)
def test_any_object_in_a_pandas_column_moves_one_unit_at_most(name):
    columns = {n: [row[k] for row in ROWS] for k, n in enumerate(NAMES)}

    def frame():
        return pd.DataFrame({n: pd.Series(entries, dtype=object) for n, entries in columns.items()})

    before = count(frame())
    for entry in OBJECTS:
        columns[name][AT] = entry
        move = moved(before, count(frame()))
        assert move is None or move[0] == cell(ROWS[AT])


def json_file(tmp_path, lines, name="people.jsonl"):
    path = tmp_path / name
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path


def clean_json():
    return [json.dumps(dict(zip(NAMES, row, strict=True))).encode() for row in ROWS]


BAD_JSON = {
    "an empty line": b"",
    "blanks": b"  \t ",
    "no object": b"17",
    "a list": b'[{"sex": "M"}]',
    "a text": b'"sex"',
    "cut off": b'{"sex": "F", "age": 3',
    "two objects": b'{"sex": "F"} {"sex": "M"}',
    "a comma behind": b'{"sex": "F"},',
    "a comment": b'{"sex": "F"} // x',
    "single quotes": b"{'sex': 'F'}",
    "not UTF-8": b'{"sex": "\xff\xfe"}',
    "a NUL": b'{"sex": "F\x00"}',
    "a control sign": b'{"sex": "\x01"}',
    "deeply nested": b'{"sex": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "an open quote": b'{"sex": "F',
    "line separators of Unicode": '{"sex": "F\u2028"}\u2028'.encode(),
    "null": b"null",
    "NaN alone": b"NaN",
}
JSON_ENTRIES = {
    "true": ("sex", b"true"),
    "a number for text": ("sex", b"17"),
    "nested": ("sex", b'{"sex": "F"}'),
    "half a surrogate pair": ("sex", b'"\\ud800"'),
    "a list for a number": ("age", b"[3]"),
    "a truth for a number": ("age", b"true"),
    "a long whole number": ("age", b"9" * 5_000),
    "a long negative one": ("rate", b"-" + b"9" * 5_000),
    "many decimals": ("income", b"0." + b"3" * 5_000),
    "an exponent": ("income", b"1e-1"),
    "a large exponent": ("income", b"1e99999"),
    "NaN": ("income", b"NaN"),
    "minus infinity": ("rate", b"-Infinity"),
    "a null": ("visit", b"null"),
    "a number for a day": ("visit", b"20260102"),
    "a day with a time": ("visit", b'"2026-01-02T10:00Z"'),
    "a fraction in a series": ("jan", b"0.5"),
    "a text in a series": ("feb", b'"1"'),
}


@pytest.mark.parametrize("dirt", [*BAD_JSON, *JSON_ENTRIES])
def test_any_json_line_moves_one_unit_at_most(dirt, tmp_path, capfd):
    before = count(json_file(tmp_path, clean_json()))
    for row in range(len(ROWS)):
        lines = clean_json()
        if dirt in BAD_JSON:
            lines[row] = BAD_JSON[dirt]
        else:
            name, text = JSON_ENTRIES[dirt]
            others = {n: v for n, v in zip(NAMES, ROWS[row], strict=True) if n != name}
            lines[row] = json.dumps(others).encode()[:-1] + b', "' + name.encode() + b'": ' + text + b"}"
        move = moved(before, count(json_file(tmp_path, lines)))
        assert move is None or move[0] == cell(ROWS[row])
        if dirt in BAD_JSON:
            assert move is not None
    assert capfd.readouterr() == ("", "")


def test_a_json_line_that_is_no_object_is_other_everywhere(tmp_path):
    everything = UNIVERSE.size - 1
    for line in BAD_JSON.values():
        assert count(json_file(tmp_path, [line]))[everything] == 1


def test_numbers_and_truths_of_json_lines_go_by_value(tmp_path):
    universe = Universe(
        [Values(name="x", values=("1", "true", "12345678901234567890123")), Integers(name="y", low=0, high=9)]
    )
    lines = [b'{"x": 1, "y": 7.0}', b'{"x": 1.0, "y": "7"}', b'{"x": true, "y": 7e0}', b'{"x": "1", "x": "true"}']
    lines += [b'\xef\xbb\xbf{"x": 12345678901234567890123, "y": -0}\r', b'{"y": true}']
    found = open_source(json_file(tmp_path, lines)).count(universe).counts.reshape(4, 11)
    assert found[0, 7] == 2
    assert found[1, 7] == found[1, 10] == found[2, 0] == found[3, 10] == 1


@drawn(
    line=st.binary(max_size=60).filter(lambda b: b"\n" not in b)
    | st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
    ).map(lambda value: json.dumps(value).encode()),
    row=st.integers(0, len(ROWS) - 1),
    fast=30,
    full=150,
)
@example(line=b'{"age": 3}', row=0)
def test_arbitrary_json_moves_one_unit_at_most(line, row, tmp_path):
    before = count(json_file(tmp_path, clean_json(), name="before.jsonl"))
    lines = clean_json()
    lines[row] = line
    moved(before, count(json_file(tmp_path, lines, name="after.jsonl")))


CSV_DIRT = ["", "x", "1e400", "-1e400", "nan", "inf", "0x1", "1_0", "٣", "1,5", " 0.3 ", "2026-01-02", "2026-02-30"]
CSV_DIRT += ["2026-01-02T10:00:00+99:99", "\0", "9" * 5_000, "." + "0" * 5_000 + "1", '"', "2026-01-02\r", "1e-999"]


@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz", "txt.bz2", "csv.xz"])
@pytest.mark.parametrize("name", NAMES)
def test_any_field_of_a_line_moves_one_unit_at_most(name, ending, tmp_path):
    import bz2
    import gzip
    import lzma

    pack = {"gz": gzip.compress, "z2": bz2.compress, "xz": lzma.compress}.get(ending[-2:], lambda content: content)
    delimiter = "\t" if ending == "tsv" else ","

    def write(rows):
        path = tmp_path / f"people.{ending}"
        path.write_bytes(pack("".join(delimiter.join(map(str, row)) + "\n" for row in [NAMES, *rows]).encode()))
        return path

    before = count(write(ROWS))
    for dirt in CSV_DIRT:
        changed = list(ROWS[AT])
        changed[NAMES.index(name)] = dirt
        move = moved(before, count(write([*ROWS[:AT], changed, *ROWS[AT + 1 :]])))
        assert move is None or move[0] == cell(ROWS[AT])
