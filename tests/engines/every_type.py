"""Every type that a source can hold, filled with extreme and random entries: what no single row may ever stop.

Columns are made from *physical* values where that is possible: random bits for numbers and points in time, random bytes
for text.  So they hold what careful writers would never write, and what a file can hold all the same.
"""

import random
import struct
import warnings
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from dxprivacy.universe.attributes.attribute import Attribute
from dxprivacy.universe.attributes.binned_numbers import Numbers
from dxprivacy.universe.attributes.dates import Dates
from dxprivacy.universe.attributes.grid import Grid
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.attributes.listed_points import Points
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.attributes.nearest_place import Nearest
from dxprivacy.universe.attributes.ordered_values import Ordered
from dxprivacy.universe.attributes.series_of_numbers import Series
from dxprivacy.universe.attributes.times import Times, Weekdays

ATTRIBUTES: dict[str, Attribute] = {
    "texts": Values(name="texts", column="x", values=("M", "F", "été", "1", "true")),
    "numbers as values": Values(name="numbers as values", column="x", values=("1", "-7", "12345678901234567890123")),
    "points": Points(name="points", column="x", ids=("1", "M"), coordinates=np.zeros((2, 2))),
    "integers": Integers(name="integers", column="x", low=-5, high=5),
    "large integers": Integers(name="large integers", column="x", low=2**40, high=2**40 + 3),
    "integers in text": Integers(name="integers in text", column="x", low=-5, high=5, format="1.234,5"),
    "numbers": Numbers(name="numbers", column="x", low=0, high=1, step=Decimal("0.1")),
    "clamped numbers": Numbers(name="clamped numbers", column="x", low=-1, high=1, step=1, clamp=True),
    "numbers in text": Numbers(
        name="numbers in text", column="x", low=0, high=1, step=Decimal("0.1"), format="1 234.5"
    ),
    "days": Dates(name="days", column="x", first="2026-01-01", last="2026-01-03"),
    "days in a zone": Dates(
        name="days in a zone", column="x", first="1969-12-30", last="1970-01-03", timezone="Europe/Berlin"
    ),
    "days before nanoseconds": Dates(
        name="days before nanoseconds", column="x", first="1600-01-01", last="1600-12-31", timezone="America/New_York"
    ),
    "days after nanoseconds": Dates(
        name="days after nanoseconds", column="x", first="2300-01-01", last="2300-12-31", timezone="America/New_York"
    ),
    "the last days of nanoseconds": Dates(
        name="the last days of nanoseconds", column="x", first="2262-04-01", last="2262-05-01", timezone="Asia/Tokyo"
    ),
    "the first days of nanoseconds": Dates(
        name="the first days of nanoseconds", column="x", first="1677-09-01", last="1677-10-01", timezone="Asia/Tokyo"
    ),
    "the first days of all": Dates(
        name="the first days of all", column="x", first="0001-01-01", last="0001-12-31", timezone="Asia/Tokyo"
    ),
    "the last days of all": Dates(
        name="the last days of all", column="x", first="9999-01-01", last="9999-12-31", timezone="America/New_York"
    ),
    "days as written": Dates(
        name="days as written", column="x", first="2026-01-01", last="2026-01-03", format="%d.%m.%Y"
    ),
    "weeks in a zone": Dates(
        name="weeks in a zone", column="x", first="1969-12-30", last="1970-03-03", timezone="Asia/Tokyo", step="1 week"
    ),
    "all months": Dates(name="all months", column="x", first="0001-01-01", last="9999-12-31", step="500 years"),
    "clamped months": Dates(
        name="clamped months",
        column="x",
        first="2026-01-01",
        last="2026-12-31",
        timezone="America/New_York",
        step="1 month",
        clamp=True,
    ),
    "named in order": Ordered(name="named in order", column="x", values=("M", "F", "1", "été"), places=(0, 1, 4, 9)),
    "weekdays": Weekdays(name="weekdays", column="x", timezone="America/New_York"),
    "hours": Times(name="hours", column="x", timezone="Europe/Berlin"),
    "quarters of hours": Times(name="quarters of hours", column="x", step=900),
    "the nearest": Nearest(
        name="the nearest",
        columns=("x", "x2"),
        ids=("a", "b", "c"),
        coordinates=np.array([[0.0, 0.0], [1.0, 1.0], [-5.0, 100.0]]),
        earth=True,
        reach=Fraction(2000),
    ),
    "a grid": Grid(name="a grid", columns=("x", "x2"), box=(0, -5, 10, 10), cells=(3, 5)),
    "a series": Series(name="a series", columns=("x", "x2"), entry=Integers(name="s", low=0, high=2)),
}

TEXTS = [
    b"", b" ", b"M", b"F", "été".encode(), "e\u0301te\u0301".encode(), b"1", b"1.0", b"-7", b"true", b"NULL", b"nan",
    b"inf", b"-inf", b"infinity", b"1e400", b"-1e400", b"0x1F", b"1_000", b"1.234,5", b"0,5", b"0.1", b".5", b"5.",
    b"\xff", b"\xc3", b"M\xff", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\x80", b"a\0b", b"\0", b"a\nb", b'"', b'""',
    b"2026-01-02", b"2026-02-30", b"2026-01-02T10:00:00Z", b"02.01.2026", b"99999-01-01", b"0000-00-00", b"today",
    b"08:15", b"23:59:60",
    "\u202e\u2066".encode(), "\U0010ffff".encode(), b"9" * 400, b"1" + b"0" * 6_000, b"." + b"0" * 6_000 + b"1",
    b" " * 6_000 + b"1", b"\xff" * 5_000, b"12345678901234567890123", b"M" * 70_000, '٣'.encode(), b"1 234.5",
]  # fmt: skip
WHOLES = [0, 1, -1, 5, -5, 6, 127, -128, 255, 32767, -32768, 2**31 - 1, -(2**31), 2**32 - 1, 2**53, 2**53 + 1, -(2**53)]
WHOLES += [2**63 - 1, -(2**63), -(2**63) + 1, 2**64 - 1, 2**62, -(2**62)]
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.1, 0.30000000000000004, 5e-324, 1e308, -1e308, 2.0**53, 2.0**63, -(2.0**63), 1.5]
FLOATS += [float("nan"), float("inf"), -float("inf"), 2.0**64, 2.0**127, -(2.0**127), 1e19, -1e39]


def texts(rng: random.Random, n: int) -> list[bytes]:
    """Bytes for text: the extremes, then random ones, half of them made of what numbers and dates are made of."""
    out = list(TEXTS)
    while len(out) < n:
        pick = rng.random()
        if pick < 0.3:
            out.append(rng.randbytes(rng.randrange(24)))
        elif pick < 0.6:
            out.append(bytes(rng.choices(b"0123456789+-.,: TZeE\t", k=rng.randrange(14))))
        elif pick < 0.8:
            out.append("".join(map(chr, rng.choices([*range(0x20, 0x250), 0x2028, 0xFFFD, 0x1F600], k=4))).encode())
        else:
            out.append(rng.choice(TEXTS)[:100] + rng.choice(TEXTS)[:100])
    return out[:n]


def bits(rng: random.Random, width: int, n: int) -> bytes:
    """Physical values of so many bytes: the ends, small ones, the extremes of other types, then random bits."""
    out = []
    wanted = [*WHOLES, *(struct.unpack("<q", struct.pack("<d", x))[0] for x in FLOATS)]
    for number in wanted:
        out.append((number % 2 ** (8 * width)).to_bytes(width, "little"))
    for k in range(8 * width):
        out += [(2**k).to_bytes(width, "little"), (2 ** (8 * width) - 2**k).to_bytes(width, "little")]
    while len(out) < n:
        size = rng.randrange(1, 8 * width + 1)
        number = rng.getrandbits(size) * rng.choice([1, -1])
        out.append((number % 2 ** (8 * width)).to_bytes(width, "little"))
    return b"".join(out[:n])


# ---------------------------------------------------------------------------------------------------------- Arrow

_FIXED = {
    "int8": pa.int8(), "int16": pa.int16(), "int32": pa.int32(), "int64": pa.int64(),
    "uint8": pa.uint8(), "uint16": pa.uint16(), "uint32": pa.uint32(), "uint64": pa.uint64(),
    "float16": pa.float16(), "float32": pa.float32(), "float64": pa.float64(),
    "decimal32": pa.decimal32(9, 2), "decimal64": pa.decimal64(18, 0), "decimal128": pa.decimal128(38, 10),
    "decimal128 of few digits": pa.decimal128(4, 1), "decimal128 all decimals": pa.decimal128(38, 38),
    "decimal64 of few digits": pa.decimal64(4, 1), "decimal32 of few digits": pa.decimal32(2, 0),
    "decimal128 negative scale": pa.decimal128(10, -5), "decimal256": pa.decimal256(76, 10),
    "decimal256 of few digits": pa.decimal256(20, 2),
    "date32": pa.date32(), "date64": pa.date64(),
    "time32 s": pa.time32("s"), "time32 ms": pa.time32("ms"),
    "time64 us": pa.time64("us"), "time64 ns": pa.time64("ns"),
    "duration s": pa.duration("s"), "duration ns": pa.duration("ns"), "interval": pa.month_day_nano_interval(),
    "binary of 16": pa.binary(16),
    **{f"timestamp {u}{' ' + z if z else ''}": pa.timestamp(u, z or None)
       for u in ("s", "ms", "us", "ns") for z in ("", "UTC", "America/New_York", "+05:30")},
}  # fmt: skip
_VARIABLE = {
    "string": pa.string(),
    "large string": pa.large_string(),
    "binary": pa.binary(),
    "large binary": pa.large_binary(),
}


def _fixed(declared: pa.DataType, rng: random.Random, n: int) -> pa.Array:
    width = declared.bit_width // 8
    mask = pa.array([rng.random() > 0.1 for _ in range(n)])
    return pa.Array.from_buffers(declared, n, [mask.buffers()[1], pa.py_buffer(bits(rng, width, n))])


def _variable(declared: pa.DataType, rng: random.Random, n: int) -> pa.Array:
    large = declared in (pa.large_string(), pa.large_binary())
    plain = pa.array(
        [None if rng.random() < 0.1 else t for t in texts(rng, n)], pa.large_binary() if large else pa.binary()
    )
    return pa.Array.from_buffers(declared, n, plain.buffers())


def _dictionary(rng: random.Random, n: int, values: pa.Array) -> pa.Array:
    at = [None if rng.random() < 0.1 else k % len(values) for k in range(n)]
    return pa.DictionaryArray.from_arrays(pa.array(at, pa.int32()), values)


def _runs(rng: random.Random, n: int, values: pa.Array) -> pa.Array:
    """Runs of one row and more; those beyond the end are never reached."""
    ends = np.cumsum([rng.choice([1, 1, 1, 2]) for _ in range(n)])[: len(values)]
    children = [pa.array(ends, pa.int32()), values[: len(ends)]]  # by hand: `from_arrays` would check every entry
    return pa.Array.from_buffers(pa.run_end_encoded(pa.int32(), values.type), n, [None], children=children)


def _views(rng: random.Random, n: int) -> pa.Array:
    plain = _variable(pa.string(), rng, n)
    # Casting would check the bytes: a view over them is made by hand.
    strings = [None if not entry.is_valid else entry.as_buffer().to_pybytes() for entry in plain]
    data, view = b"", []
    for entry in strings:
        entry = entry or b""
        if len(entry) <= 12:
            view.append(struct.pack("<i12s", len(entry), entry))
        else:
            view.append(struct.pack("<i4sii", len(entry), entry[:4], 0, len(data)))
            data += entry
    return pa.Array.from_buffers(
        pa.string_view(), n, [plain.buffers()[0], pa.py_buffer(b"".join(view)), pa.py_buffer(data)]
    )


_Make = Callable[[random.Random, int], pa.Array]
PLAIN: dict[str, _Make] = {
    **{name: (lambda rng, n, t=t: _fixed(t, rng, n)) for name, t in _FIXED.items()},
    **{name: (lambda rng, n, t=t: _variable(t, rng, n)) for name, t in _VARIABLE.items()},
    "string view": _views,
    "bool": lambda rng, n: pa.array([rng.choice([True, False, None]) for _ in range(n)]),
    "null": lambda _, n: pa.nulls(n),
    "list": lambda rng, n: pa.array([[rng.randrange(9)] * rng.randrange(3) for _ in range(n)]),
    "struct": lambda rng, n: pa.array([{"a": rng.randrange(9)} for _ in range(n)]),
    "map": lambda rng, n: pa.array([[("a", rng.randrange(9))] for _ in range(n)], pa.map_(pa.string(), pa.int64())),
    "uuid": lambda rng, n: pa.ExtensionArray.from_storage(pa.uuid(), _fixed(pa.binary(16), rng, n)),
    "bool8": lambda rng, n: pa.ExtensionArray.from_storage(pa.bool8(), _fixed(pa.int8(), rng, n)),
    "json": lambda rng, n: pa.ExtensionArray.from_storage(pa.json_(pa.string()), _variable(pa.string(), rng, n)),
    "union": lambda rng, n: pa.UnionArray.from_sparse(
        pa.array([rng.randrange(2) for _ in range(n)], pa.int8()),
        [_fixed(pa.int64(), rng, n), _variable(pa.string(), rng, n)],
    ),
}  # fmt: skip


class Labeled(pa.ExtensionType):  # type: ignore[misc]
    """A type of somebody's own, which says nothing about its entries but where they are."""

    def __init__(self, storage: pa.DataType) -> None:
        super().__init__(storage, "example.labeled")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: pa.DataType, _: bytes) -> "Labeled":
        return cls(storage)


def _encoded(name: str, make: _Make) -> dict[str, _Make]:
    """The same entries behind the ways in which Arrow writes repeated ones, and within one another."""
    return {
        f"dictionary of {name}": lambda rng, n: _dictionary(rng, n, make(rng, n)),
        f"run ends of {name}": lambda rng, n: _runs(rng, n, make(rng, n)),
        f"run ends of dictionary of {name}": lambda rng, n: _runs(rng, n, _dictionary(rng, n, make(rng, n))),
        f"labeled {name}": lambda rng, n: _labeled(make(rng, n)),
    }


def _labeled(values: pa.Array) -> pa.Array:
    return pa.ExtensionArray.from_storage(Labeled(values.type), values)


# Not of unions, at which pyarrow's own datasets end the process.
ENCODED = {n: made for name, make in PLAIN.items() if name != "union" for n, made in _encoded(name, make).items()}
ARROW = PLAIN | ENCODED

# --------------------------------------------------------------------------------------------------------- DuckDB

_DUCK_TEXTS = ["infinity", "-infinity", "epoch", "nan", "1e308", "-1e308", "5e-324", "0.1", "-0", "true", "M", "été"]
_DUCK_TEXTS += ["290309-12-22 00:00:00 (BC)", "294247-01-10 04:00:54.775806", "1677-09-21 00:12:43.145225", "24:00:00"]
_DUCK_TEXTS += ["2262-04-11 23:47:16.854775", "5877642-06-25 (BC)", "5881580-07-10", "0001-01-01", "9999-12-31", ""]
_DUCK_TEXTS += [
    "1969-12-31 23:59:59.999999999",
    "2026-01-02 00:00:00+00",
    "9" * 38,
    "-" + "9" * 38,
    "9" * 300,
    "0" * 99,
]
_DUCK_TEXTS += [str(2**k + d) for k in (63, 64, 127, 128) for d in (-1, 0)] + [str(-(2**k)) for k in (63, 127)]

DUCK_TYPES = [
    "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT",
    "BIGNUM", "FLOAT", "DOUBLE", "DECIMAL(4,1)", "DECIMAL(9,2)", "DECIMAL(18,0)", "DECIMAL(38,10)", "DECIMAL(38,38)",
    "BOOLEAN", "VARCHAR", "DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS",
    "TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ_NS", "TIME", "TIME WITH TIME ZONE", "TIME_NS", "INTERVAL", "BLOB", "BIT",
    "UUID", "JSON", "VARIANT", "GEOMETRY", "ENUM('M','F','1','2026-01-02')", "INTEGER[]", "INTEGER[3]",
    "STRUCT(a INTEGER)", "MAP(VARCHAR, INTEGER)", "UNION(a INTEGER, b VARCHAR)",
]  # fmt: skip


def duck_texts(rng: random.Random, n: int) -> list[str | None]:
    """Texts that casts turn into entries of any type; what a type cannot hold becomes NULL."""
    out: list[str | None] = [None, *_DUCK_TEXTS, *(t.decode("utf-8", "replace").replace("\0", "") for t in TEXTS)]
    out += [str(x) for x in WHOLES] + [repr(x) for x in FLOATS]
    while len(out) < n:
        pick = rng.randrange(5)
        if pick == 0:
            out.append(str(rng.getrandbits(rng.randrange(1, 130)) * rng.choice([1, -1])))
        elif pick == 1:
            out.append(repr(struct.unpack("<d", rng.randbytes(8))[0]))
        elif pick == 2:
            year = rng.choice([rng.randrange(1, 10_000), rng.randrange(1, 290_000), rng.randrange(1670, 2270)])
            era = rng.choice(["", "", " (BC)"])
            clock = f"{rng.randrange(24):02}:{rng.randrange(60):02}:{rng.randrange(60):02}.{rng.randrange(10**9):09}"
            out.append(f"{year:04}-{rng.randrange(1, 13):02}-{rng.randrange(1, 29):02} {clock}{era}")
        elif pick == 3:
            out.append(f"{rng.randrange(10 ** rng.randrange(1, 18))}.{rng.randrange(10**9)}")
        else:
            out.append(rng.choice(texts(rng, 60)).decode("utf-8", "replace").replace("\0", ""))
    return out[:n]


# --------------------------------------------------------------------------------------------------------- pandas


def pandas_columns(rng: random.Random, n: int) -> Iterator[tuple[str, pd.Series]]:
    """Columns of every dtype of pandas' own."""
    word = [None if rng.random() < 0.1 else t.decode("utf-8", "replace") for t in texts(rng, n)]
    odd = [w if w is None else w + rng.choice(["", "\ud800"]) for w in word]
    for kind in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"):
        values = np.frombuffer(bits(rng, np.dtype(kind).itemsize, n), kind)
        yield kind, pd.Series(values)
        missing = np.array([rng.random() < 0.1 for _ in range(n)])
        capital = kind.replace("i", "I", 1) if kind[0] == "i" else "UI" + kind[2:]
        yield capital, pd.Series(pd.arrays.IntegerArray(values.copy(), missing), dtype=capital)
    for kind in ("float16", "float32", "float64"):
        values = np.frombuffer(bits(rng, np.dtype(kind).itemsize, n), kind)
        yield kind, pd.Series(values)
    yield "Float64", pd.Series(pd.arrays.FloatingArray(values.copy(), missing))
    yield "complex", pd.Series(np.frombuffer(bits(rng, 16, n), "complex128"))
    yield "bool", pd.Series([rng.random() < 0.5 for _ in range(n)])
    yield "boolean", pd.Series([rng.choice([True, False, None]) for _ in range(n)], dtype="boolean")
    for unit in ("s", "ms", "us", "ns"):
        values = np.frombuffer(bits(rng, 8, n), f"datetime64[{unit}]")
        yield f"datetime64 {unit}", pd.Series(values)
        yield f"datetime64 {unit} UTC", pd.Series(values).dt.tz_localize("UTC")
        yield f"datetime64 {unit} in Tokyo", pd.Series(values).dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")
        yield f"timedelta {unit}", pd.Series(values.astype("int64").astype(f"timedelta64[{unit}]"))
    yield "object", pd.Series(
        [rng.choice([w, 1, 2.0, True, date(2026, 1, 2), datetime(2026, 1, 2, tzinfo=UTC), b"1", [1]]) for w in odd],
        dtype=object,
    )  # fmt: skip
    yield "string held by python", pd.Series(odd, dtype=pd.StringDtype("python"))
    yield "str held by python", pd.Series(odd, dtype=pd.StringDtype("python", na_value=np.nan))
    for name, na in (("string", pd.NA), ("str", np.nan)):
        held = pa.chunked_array([_variable(pa.large_string(), rng, n)])
        declared = pd.StringDtype("pyarrow", na_value=na)
        yield f"{name} held by pyarrow", pd.Series(pd.arrays.ArrowStringArray(held, dtype=declared))
    several = pd.Index(sorted({w for w in odd if w}), dtype=object)
    codes = [rng.randrange(-1, len(several)) for _ in range(n)]
    yield "category of text", pd.Series(pd.Categorical.from_codes(codes, several))
    yield "category of numbers", pd.Series(pd.Categorical([rng.choice(WHOLES) for _ in range(n)]))
    yield "category of floats", pd.Series(pd.Categorical([rng.choice(FLOATS) for _ in range(n)]))
    yield "category of days", pd.Series(pd.Categorical(pd.Series(values)))
    yield "category of objects", pd.Series(pd.Categorical([(k % 7,) for k in range(n)]))
    yield "period", pd.Series(pd.period_range("1600-01-01", periods=n, freq="D"))
    yield "interval", pd.Series(pd.interval_range(0, n, n))
    yield "sparse", pd.Series(pd.arrays.SparseArray([rng.choice(FLOATS) for _ in range(n)]))


# --------------------------------------------------------------------------------------------------------- polars


def polars_columns(rng: random.Random, n: int) -> Iterator[tuple[str, pl.Series]]:
    """Columns of every type of polars' own; those that come from Arrow are tried there."""
    whole = [rng.getrandbits(rng.randrange(1, 127)) * rng.choice([1, -1]) for _ in range(n)]
    yield "Int128", pl.Series(whole, dtype=pl.Int128)
    words = [None if rng.random() < 0.1 else t.decode("utf-8", "replace") for t in texts(rng, n)]
    yield "String", pl.Series(words)
    yield "Categorical", pl.Series(words, dtype=pl.Categorical)
    yield "Enum", pl.Series([rng.choice(["M", "F", "x"]) for _ in range(n)], dtype=pl.Enum(["M", "F", "x"]))
    yield "Object", pl.Series([rng.choice([1, "M", None, object()]) for _ in range(n)], dtype=pl.Object)
    yield "Decimal", pl.Series([Decimal(w % 10**30).scaleb(-7) for w in whole], dtype=pl.Decimal(38, 7))
    days = pl.Series(np.frombuffer(bits(rng, 4, n), "int32"))
    yield "Date", days.cast(pl.Date)
    times = pl.Series(np.frombuffer(bits(rng, 8, n), "int64"))
    for unit in ("ms", "us", "ns"):
        yield f"Datetime {unit}", times.cast(pl.Datetime(unit))
        yield f"Datetime {unit} in New York", times.cast(pl.Datetime(unit, "America/New_York"))
        yield f"Duration {unit}", times.cast(pl.Duration(unit))
    yield "List", pl.Series([[1], [], None] * (n // 3) + [[2]] * (n % 3))
    yield "Struct", pl.Series([{"a": 1}] * n)
    yield "Null", pl.Series([None] * n)
    yield "Binary", pl.Series(texts(rng, n), dtype=pl.Binary)


def arrow_in_pandas(array: pa.Array) -> pd.Series:
    """The same bytes as a pandas column that Arrow holds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([array])))
