"""The privacy rule of reading: whatever one row becomes, one unit of the histogram moves, and n stays."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from engine_kinds import moved
from hypothesis import example
from hypothesis import strategies as st

from contracts.long_forms import drawn
from dxprivacy.engines import open_source
from dxprivacy.engines.files import line_files
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.universe import Universe

UNIVERSE = Universe([Values(name="sex", values=("M", "F", "a,b", 'say "x"')), Integers(name="age", low=0, high=20)])
ROWS = [(b"M", 3), (b"F", 20), (b"M", 0), (b"F", 7), (b"F", 7), (b"M", 11), (b"F", 12)]

# Each line stands in for one row: file order is id, sex, age, note.
LINES = {
    "another clean row": (b"9,F,17,x", ("F", "17")),
    "empty line": (b"", None),
    "carriage return only": (b"\r", None),
    "two carriage returns": (b"9,F,17\r\r", ("F", "other")),
    "lone carriage return inside": (b"9,F\r9,M,3,x", ("other", "other")),
    "missing fields": (b"9,F", ("F", "other")),
    "one field": (b"9", None),
    "extra fields": (b"9,F,17,x,y,z,,,", ("F", "17")),
    "NULL by name": (b"9,NULL,NULL,x", None),
    "NaN": (b"9,M,NaN,x", ("M", "other")),
    "infinity": (b"9,M,inf,x", ("M", "other")),
    "text for a number": (b"9,M,seventeen,x", ("M", "other")),
    "fraction": (b"9,M,17.5,x", ("M", "other")),
    "whole with point": (b"9,M,17.000,x", ("M", "17")),
    "exponent": (b"9,M,1e1,x", ("M", "other")),
    "underscore": (b"9,M,1_7,x", ("M", "other")),
    "hexadecimal": (b"9,M,0x11,x", ("M", "other")),
    "out of range": (b"9,M,21,x", ("M", "other")),
    "negative": (b"9,M,-1,x", ("M", "other")),
    "minus zero": (b"9,M,-0,x", ("M", "0")),
    "plus and zeros": (b"9,M,+0017,x", ("M", "17")),
    "huge integer": (b"9,M," + b"9" * 5_000 + b",x", ("M", "other")),
    "many zeros": (b"9,M," + b"0" * 5_000 + b"5,x", ("M", "5")),
    "odd date": (b"31/02/2026,2026-02-31,13/13/13,x", None),
    "ISO date": (b"2026-01-01,2026-01-01,2026-01-01,x", None),
    "balanced quotes": (b'9,"F","17","x"', ("F", "17")),
    "quoted delimiter": (b'9,"a,b",17,x', ("a,b", "17")),
    "doubled quotes": (b'9,"say ""x""",17,x', ('say "x"', "17")),
    "unbalanced quote": (b'9,"F,17,x', ("other", "other")),
    "quote opened at the end": (b'9,F,17,"', ("F", "17")),
    "quote opened at the start": (b'"', None),
    "quote inside a field": (b'9,F"F,17,x', ("other", "17")),
    "text after a closed quote": (b'9,"F"F,17,x', ("other", "17")),
    "odd number of quotes": (b'"""""""', None),
    "backslash quote": (rb"9,\"F\",17,x", ("other", "17")),
    "attempted line break in text": (rb"9,F\n9,M,3,x", ("other", "other")),
    "other delimiters": (b"9;F;17;x\t9|F|17", None),
    "comment sign": (b"# 9,F,17,x", ("F", "17")),
    "NUL": (b"9,F\x00,17\x00,x\x00", None),
    "invalid UTF-8": (b"9,\xff\xfeF,17\xc3,x", None),
    "cut UTF-8 before the line feed": (b"9,F,17,\xe6\x97", ("F", "17")),
    "byte-order mark": (b"\xef\xbb\xbf9,F,17,x", ("F", "17")),
    "unicode": ("9,été,日本,x".encode(), None),
    "unicode digits": ("9,F,١٧,x".encode(), ("F", "other")),
    "line separators of Unicode": ("9,F\u2028F,17\u0085,x\x0b\x0c\x1c".encode(), None),
    "another case": (b"9,f,17,x", ("other", "17")),
    "blanks": (b"9, F , 17\t,x", ("other", "17")),
    "the word other": (b"9,other,other,x", None),
    "very long line": (b"9,F,17," + b"x" * 300_000, ("F", "17")),
    "very long quoted line": (b'9,F,17,"' + b'"' * 300_000, ("F", "17")),
    "header again": (b"id,sex,age,note", None),
    "end of file sign": (b"\x1a", None),
}


def csv_file(tmp_path, lines, *, end=b"\n", name="people.csv"):
    path = tmp_path / name
    path.write_bytes(b"id,sex,age,note" + end + b"".join(line + end for line in lines))
    return path


def count(data):
    source = open_source(data)
    source.check(UNIVERSE)
    histogram = source.count(UNIVERSE)
    assert source.rows() == histogram.total
    return histogram.counts


def clean_lines():
    return [b"%d,%s,%d,x" % (k, sex, age) for k, (sex, age) in enumerate(ROWS)]


def cell(labels):
    sex, age = labels
    return int(UNIVERSE.index([{"sex": sex.decode() if isinstance(sex, bytes) else sex, "age": age}])[0])


@pytest.mark.parametrize(
    ("end", "chunk"), [(b"\n", 64), (b"\r\n", 8 << 20)], ids=["LF, many chunks", "CRLF, one chunk"]
)
@pytest.mark.parametrize("dirt", LINES)
def test_any_csv_line_moves_one_unit_at_most(dirt, chunk, end, tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(line_files, "CHUNK", chunk)
    line, labels = LINES[dirt]
    before = count(csv_file(tmp_path, clean_lines(), end=end))
    for row in (0, 3, len(ROWS) - 1):
        lines = clean_lines()
        lines[row] = line
        after = count(csv_file(tmp_path, lines, end=end))
        old, new = cell(ROWS[row]), cell(labels or ("other", "other"))
        assert moved(before, after) == (None if old == new else (old, new))
    assert capfd.readouterr() == ("", "")


@drawn(
    line=st.binary(max_size=60).filter(lambda b: b"\n" not in b), row=st.integers(0, len(ROWS) - 1), fast=40, full=200
)
@example(line=b'",",', row=0)
@example(line=b",,,\r", row=6)
def test_arbitrary_bytes_in_a_csv_line_move_one_unit_at_most(line, row, tmp_path):
    before = count(csv_file(tmp_path, clean_lines(), name="before.csv"))
    lines = clean_lines()
    lines[row] = line
    moved(before, count(csv_file(tmp_path, lines, name="after.csv")))


def test_the_last_csv_line_needs_no_line_feed(tmp_path):
    path = csv_file(tmp_path, clean_lines())
    before = count(path)
    path.write_bytes(path.read_bytes().removesuffix(b"\n"))
    assert count(path).tolist() == before.tolist()


def test_tabs_separate_the_fields_of_a_tsv_file(tmp_path):
    path = tmp_path / "people.tsv"
    path.write_bytes(b"age\tsex\n3\ta,b\n")
    assert count(path)[cell(("a,b", "3"))] == 1


def test_a_byte_order_mark_and_quotes_in_the_header_are_read(tmp_path):
    path = tmp_path / "people.CSV"
    path.write_bytes(b'\xef\xbb\xbf"sex","age"\r\nM,3\r\n')
    assert count(path)[cell(("M", "3"))] == 1


# What one typed row can become, beside the column it stands in.
TYPED = {
    "text": (
        pa.string(),
        [None, "", "f", " F", "F ", "été", "a\0b", "a\nb", '"', "NULL", "x" * 100_000, "F\u2028", "a,b"],
    ),
    "large text": (pa.large_string(), [None, "日本", "F"]),
    "dictionary": (pa.dictionary(pa.int32(), pa.string()), [None, "f", "new category"]),
}
NUMBERS = {
    "int64": (pa.int64(), [None, -1, 21, 2**63 - 1, -(2**63), 5]),
    "uint64": (pa.uint64(), [None, 21, 2**64 - 1, 5]),
    "int8": (pa.int8(), [None, -128, 127]),
    "float64": (
        pa.float64(),
        [None, float("nan"), float("inf"), -float("inf"), 17.5, 1e308, -0.0, 5e-324, 20.000000001],
    ),
    "float32": (pa.float32(), [None, float("nan"), 0.5, 3e38]),
    "decimal": (
        pa.decimal128(38, 5),
        [None, Decimal("17.5"), Decimal("9" * 33), Decimal("-0.00001"), Decimal("5.00000")],
    ),
    "fraction only": (pa.decimal128(4, 4), [None, Decimal("0.5")]),
}
FRAMES = {"parquet": None, "arrow": lambda t: t, "polars": pl.from_arrow, "pandas": pa.Table.to_pandas}


def typed_rows(kind, sexes, ages, tmp_path, sex_type=None, age_type=None):
    table = pa.table(
        {"age": pa.array(ages, type=age_type or pa.int64()), "sex": pa.array(sexes, type=sex_type or pa.string())}
    )
    if kind == "parquet":
        path = tmp_path / "people.parquet"
        pq.write_table(table, path, row_group_size=3)
        return count(path)
    return count(FRAMES[kind](table))


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("declared", [*TYPED, *NUMBERS])
def test_any_typed_entry_moves_one_unit_at_most(kind, declared, tmp_path, capfd):
    is_text = declared in TYPED
    of_type, dirt = (TYPED if is_text else NUMBERS)[declared]
    sexes, ages = [sex.decode() for sex, _ in ROWS], [age for _, age in ROWS]
    if declared == "fraction only":
        ages = [0] * len(ages)
    types = {"sex_type": of_type} if is_text else {"age_type": of_type}
    before = typed_rows(kind, sexes, ages, tmp_path, **types)
    for entry in dirt:
        dirty_sexes, dirty_ages = list(sexes), list(ages)
        (dirty_sexes if is_text else dirty_ages)[3] = entry
        move = moved(before, typed_rows(kind, dirty_sexes, dirty_ages, tmp_path, **types))
        assert move is None or move[0] == cell((sexes[3], ages[3]))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("bad", [b"\xff\xfe", b"F\xc3", b"\x00", b"M\xed\xa0\x80"])
def test_parquet_text_that_is_not_utf8_is_one_bad_row(bad, tmp_path):
    texts = [sex for sex, _ in ROWS]
    path = tmp_path / "people.parquet"
    found = []
    for entries in (texts, [*texts[:3], bad, *texts[4:]]):
        offsets = np.cumsum([0, *map(len, entries)]).astype(np.int32)
        buffers = [None, pa.py_buffer(offsets.tobytes()), pa.py_buffer(b"".join(entries))]
        sex = pa.Array.from_buffers(pa.string(), len(entries), buffers)
        pq.write_table(pa.table({"sex": sex, "age": [age for _, age in ROWS]}), path)
        found.append(count(path))
    assert moved(*found) == (cell(("F", "7")), cell(("other", "7")))


@pytest.mark.parametrize(
    "entry", [None, "17", 17.5, 17.0, {"a": 1}, [1], b"17", True, "x", object(), "\ud800", pd.NA, 10**40]
)
def test_any_object_in_a_pandas_column_moves_one_unit_at_most(entry):
    sexes, ages = [sex.decode() for sex, _ in ROWS], [age for _, age in ROWS]

    def frame(sex, age):
        columns = {"sex": [*sexes[:3], sex, *sexes[4:]], "age": [*ages[:3], age, *ages[4:]]}
        return pd.DataFrame({name: pd.Series(entries, dtype=object) for name, entries in columns.items()})

    before = count(frame("F", 7))
    move = moved(before, count(frame(entry, entry)))
    assert move == (cell(("F", "7")), cell(("other", "17" if str(entry) in ("17", "17.0") else "other")))


@drawn(
    sex=st.none() | st.text(max_size=8), age=st.none() | st.floats() | st.integers(-5, 25).map(float), fast=3, full=15
)
def test_arbitrary_entries_of_a_parquet_row_move_one_unit_at_most(sex, age, tmp_path):
    sexes, ages = [s.decode() for s, _ in ROWS], [a for _, a in ROWS]
    before = typed_rows("parquet", sexes, ages, tmp_path, age_type=pa.float64())
    after = typed_rows("parquet", [sex, *sexes[1:]], [age, *ages[1:]], tmp_path, age_type=pa.float64())
    moved(before, after)
