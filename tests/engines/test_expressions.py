"""Expressions mean what they say: a third reader, which knows nothing else, places entries as all others do."""

import bisect
import math
import re
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import duckdb
import pyarrow as pa
import pytest
from hypothesis import strategies as st

import dxprivacy as dx
from contracts.long_forms import drawn, mostly_slow
from dxprivacy.engines import expressions as ex
from dxprivacy.engines import placement
from dxprivacy.engines.entries import clean_text, entry_reader
from dxprivacy.engines.open_source import open_source
from dxprivacy.engines.source import Column, ColumnKind
from dxprivacy.engines.sql.duckdb.duckdb_dialect import DUCKDB
from dxprivacy.universe.attributes.times import Times, Weekdays
from dxprivacy.universe.reading.spelling import Spelling
from dxprivacy.universe.universe import Universe

EPOCH = date(1970, 1, 1)
SIGNS = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": lambda a, b: a / b}


def evaluated(node, given):
    """What an expression is worth; None is nothing, and an operation on nothing is nothing."""
    if isinstance(node, ex.When):
        return evaluated(node.value, given) if holds(node.condition, given) else None
    match node:
        case ex.Input() | ex.Sound():
            return given
        case ex.Nothing():
            return None
        case ex.WholeLiteral(number):
            return number
        case ex.Real(number):
            return float(number)
        case ex.Day(day):
            return day
        case ex.OneIf(condition):
            return int(holds(condition, given))
        case ex.Arithmetic(left, sign, right):
            a, b = evaluated(left, given), evaluated(right, given)
            if a is None or b is None:
                return None
            if isinstance(a, date):
                return (a - b).days if sign == "-" else a + timedelta(days=b)
            return SIGNS[sign](a, b)
        case ex.Otherwise(value, other):
            found = evaluated(value, given)
            return evaluated(other, given) if found is None else found
        case ex.Clamped(number, low, high):
            return max(evaluated(low, given), min(evaluated(high, given), evaluated(number, given)))
    inner = evaluated(next(iter(vars(node).values())), given)  # the one operand of all others
    return None if inner is None else applied(node, inner)


def applied(node, inner):
    match node:
        case ex.AsText():
            return f"{inner:f}"
        case ex.AsBytes():
            return (clean_text(inner) or "").encode()
        case ex.OwnText():
            return clean_text(inner)
        case ex.Stripped(_, marks):
            return inner.strip(marks)
        case ex.Folded(_, old, new):
            return "".join(new[old.index(x)] if x in old else x for x in inner)
        case ex.Replaced(_, old, new):
            return inner.replace(old, new)
        case ex.FirstGroup(_, pattern):
            found = re.fullmatch(pattern, inner, re.ASCII)
            return found[1] if found else None
        case ex.ToWhole(_, wide):
            if isinstance(inner, str) and not re.fullmatch("[+-]?[0-9]{1,4000}", inner):
                return None
            if isinstance(inner, float) and not math.isfinite(inner):
                return None
            return int(inner) if abs(int(inner)) < (10**38 if wide else 1 << 63) else None
        case ex.ToReal():
            number = float(inner)
            return None if isinstance(inner, str) and math.isinf(number) else number
        case ex.WrittenDay(_, pattern, year, month, day):
            found = re.fullmatch(pattern, inner, re.ASCII)
            try:
                return date(*(int(found[k]) for k in (year, month, day))) if found else None
            except ValueError:
                return None
        case ex.Microseconds() if isinstance(inner, time):
            return 10**6 * (3600 * inner.hour + 60 * inner.minute + inner.second) + inner.microsecond
        case ex.Microseconds():
            clock = inner.astimezone(UTC).replace(tzinfo=None) if inner.tzinfo else inner
            return (clock - datetime(1970, 1, 1)) // timedelta(microseconds=1)
        case ex.OffsetAt(_, table):
            seconds = inner.timestamp()
            return 10**6 * next((o for at, o in reversed(table) if seconds >= at), table[0][1])
        case ex.OffsetAtSecond(_, table):
            return next((offset for at, offset in reversed(table) if inner >= at), table[0][1])
        case ex.DayOf():
            return EPOCH + timedelta(days=inner // 86_400_000_000)
        case ex.WrittenTime(_, pattern, hour, minute, second):
            found = re.fullmatch(pattern, inner, re.ASCII)
            sizes = ((hour, 3600), (minute, 60), (second, 1))
            return sum(size * int(found[k] or 0) for k, size in sizes if k) if found else None
        case ex.SecondOfDay():
            return inner // 10**6 % 86_400
        case ex.Remainder(_, by):
            assert inner >= 0
            return inner % by
        case ex.MonthOf():
            return 12 * inner.year + inner.month - 1
        case ex.Floor():
            return float(math.floor(inner))
        case ex.Quotient(_, by):
            assert inner >= 0
            return inner // by
        case ex.Unless(_, excluded):
            return None if inner == excluded else inner
    raise AssertionError(node)


def holds(condition, given):
    match condition:
        case ex.Both(first, second):
            return holds(first, given) and holds(second, given)
        case ex.InDays(_, first, last):
            clock = given if given is None or given.tzinfo is None else given.astimezone(UTC)
            return clock is not None and first <= clock.date() <= last
        case ex.ComparedEntry(left, sign, right):
            a, b = evaluated(left, given), evaluated(right, given)
            return a == b if sign == "=" else a >= b if sign == ">=" else a < b
    inner = evaluated(next(iter(vars(condition).values())), given)
    if inner is None:
        return False
    match condition:
        case ex.NoLonger(_, most):
            return len(inner.encode("utf-8", errors="replace")) <= most
        case ex.Matches(_, pattern):
            return re.fullmatch(pattern, inner, re.ASCII) is not None
        case ex.IsUnicode():
            return not re.search("[\ud800-\udfff]", inner)
        case ex.IsFinite():
            return math.isfinite(inner)
        case ex.IsWhole():
            return math.isinf(inner) or (not math.isnan(inner) and inner == math.trunc(inner))
        case ex.Between(_, low, high):
            return evaluated(low, given) <= inner <= evaluated(high, given)
    raise AssertionError(condition)


def placed(codec, column, entry):
    """The place of an entry, by the three steps alone."""
    value = entry
    for step in (placement.parsed, placement.inside, placement.place):
        value = None if value is None else evaluated(step(codec, column), value)
    if isinstance(value, bytes):
        value = {text.encode(): k for text, k in codec.places.items()}.get(value)
    return codec.listed if value is None else value


YEAR = {"first": "2026-01-01", "last": "2026-12-31"}
ATTRIBUTES = {
    "sex": dx.Values(name="c", values=("M", "F", "1", "-20", "été", "true")),
    "spelt": dx.Values(
        name="c",
        values=("M", "été", "1"),
        spelling=Spelling(trim=True, fold_case=True, aliases=(("M", "x"), ("été", "true"), ("1", ""), ("1", "17"))),
    ),
    "rates": dx.Values(name="c", values=(Decimal("0.3"), "-1.9", "1", "-20", "0.300", "1e-05", "true")),
    "age": dx.Integers(name="c", low=-3, high=120),
    "clamped": dx.Integers(name="c", low=0, high=9, clamp=True, format="1.234,5"),
    "tenths": dx.Numbers(name="c", low="-0.7", high="1.1", step="0.1"),
    "income": dx.Numbers(name="c", low=0, high=3000, step=1000, clamp=True, format="1.234,5"),
    "visit": dx.Dates(name="c", **YEAR, timezone="America/New_York"),
    "written": dx.Dates(name="c", **YEAR, format="%d.%m.%Y"),
    "weeks": dx.Dates(name="c", **YEAR, timezone="Asia/Tokyo", step="1 week"),
    "months": dx.Dates(name="c", first="2025-12-01", last="2026-12-15", timezone="America/New_York", step="1 month"),
    "years": dx.Dates(name="c", first="2026-01-01", last="2026-12-31", step="2 years", format="%d.%m.%Y"),
    "clamped months": dx.Dates(name="c", first="2026-02-01", last="2026-11-30", step="3 months", clamp=True),
    "weekday": Weekdays(name="c", timezone="Europe/Berlin"),
    "written weekday": Weekdays(name="c", format="%d.%m.%Y"),
    "hour": Times(name="c", timezone="Asia/Kolkata"),
    "quarters": Times(name="c", low=6 * 3600, high=22 * 3600, step=900, timezone="America/New_York"),
    "shifts": Times(name="c", low=6 * 3600, high=22 * 3600, step=8 * 3600, format="%d.%m.%Y %H.%M"),
    "seconds": Times(name="c", step=1, format="%H%M%S"),
    "with an offset": dx.Dates(name="c", **YEAR, timezone="America/New_York", format="%d.%m.%Y %H:%M%z"),
    "several": dx.Dates(name="c", **YEAR, timezone="Asia/Tokyo", format=("%d.%m.%Y", "iso", "%d.%m.%Y %H:%M%z")),
    "clamped days": dx.Dates(name="c", **YEAR, timezone="Pacific/Auckland", clamp=True),
}
NUMBERS = st.sampled_from(
    ["", " 17 ", "+17.0", "17.5", "1e1", ".5", "1.234", "1.234,5", "-0,0", "9" * 30, "1e999", "0.3", "٣", "NaN", "1_0"]
)
DAYS = st.sampled_from(
    """2026-01-31|2026-02-30| 2026-12-31T23:59Z|31.12.2026|1.2.2026|2025-12-31|x|2026-12-31T23:59-05:00|2027-01-01
2027-01-01T04:59:59 Z|0001-01-01T00:00+01|2026-01-31T23:60Z|31.1.2026 23:30Z|31.1.2026 23:30-0500|1.1.2027 3:30+0100
""".strip()
    .replace("\n", "|")
    .split("|")
)
TIMES = st.sampled_from(
    [
        "08:15",
        "8:15",
        "23:59:59.999",
        "24:00",
        "00:00",
        " 2026-01-31T10:00:01Z ",
        "10:60",
        "8",
        "08",
        "8.0",
        "8.5",
        "24",
        "3.1.2026 8.15",
        "03.01.2026 23.5",
        "081530",
        "815",
        "2026-01-31",
        "10:00+02",
        "10:00:60",
        "T10:00",
        "-8",
    ]
)
TEXT = st.one_of(
    TIMES, st.sampled_from(["M", "F", "1", "été", "true", "m", "M ", "\u00a0ÉTÉ"]), NUMBERS, DAYS, st.text(max_size=6)
)
FLOATS = st.one_of(
    st.floats(), st.floats(-2, 2), st.integers(-30, 30).map(lambda k: k / 10), st.integers(-4, 4000).map(float)
)
MOMENTS = st.one_of(
    st.datetimes(datetime(2025, 11, 20), datetime(2027, 1, 10)),
    st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)),
    st.datetimes(datetime(1790, 1, 1), datetime(2210, 1, 1)),
    st.sampled_from([datetime(1800, 1, 1), datetime(1799, 12, 31, 23), datetime(2199, 12, 31, 23, 59, 59, 999999)]),
    st.sampled_from([datetime(1, 1, 2, 12), datetime(1, 1, 3), datetime(9999, 12, 29, 23), datetime(9999, 12, 30)]),
)
COLUMNS = {
    ColumnKind.TEXT: ("VARCHAR", TEXT),
    ColumnKind.WHOLE: ("BIGINT", st.one_of(st.integers(-30, 130), st.integers(-(1 << 63), (1 << 63) - 1))),
    ColumnKind.FLOAT: ("DOUBLE", FLOATS),
    ColumnKind.DECIMAL: ("DECIMAL(18,3)", st.integers(-(10**18) + 1, 10**18 - 1).map(lambda k: Decimal(k).scaleb(-3))),
    ColumnKind.TRUTH: ("BOOLEAN", st.booleans()),
    ColumnKind.DATE: ("DATE", st.one_of(st.dates(date(2025, 11, 20), date(2027, 1, 10)), st.dates())),
    ColumnKind.CLOCK: ("TIMESTAMP", MOMENTS),
    ColumnKind.TIME: ("TIME", st.times()),
    ColumnKind.INSTANT: ("TIMESTAMP WITH TIME ZONE", MOMENTS.map(lambda t: t.replace(tzinfo=ZoneInfo("Asia/Tokyo")))),
}
FITTING = [
    *(
        (name, kind)
        for name in ("sex", "spelt", "rates")
        for kind in (ColumnKind.TEXT, ColumnKind.WHOLE, ColumnKind.FLOAT, ColumnKind.DECIMAL, ColumnKind.TRUTH)
    ),
    *((name, kind) for name in ("age", "tenths") for kind in (ColumnKind.WHOLE, ColumnKind.FLOAT, ColumnKind.DECIMAL)),
    *(
        (name, kind)
        for name in ("clamped", "income")
        for kind in (ColumnKind.TEXT, ColumnKind.WHOLE, ColumnKind.FLOAT, ColumnKind.DECIMAL)
    ),
    *(("visit", kind) for kind in (ColumnKind.TEXT, ColumnKind.DATE, ColumnKind.CLOCK, ColumnKind.INSTANT)),
    *((name, ColumnKind.TEXT) for name in ("written", "with an offset", "several", "weeks", "months", "clamped days")),
    *(
        (name, kind)
        for name in ("weekday", "written weekday")
        for kind in (ColumnKind.DATE, ColumnKind.CLOCK, ColumnKind.INSTANT)
    ),
    *((name, ColumnKind.TEXT) for name in ("weekday", "written weekday")),
    *(
        (name, kind)
        for name in ("hour", "quarters", "shifts", "seconds")
        for kind in (ColumnKind.TEXT, ColumnKind.TIME, ColumnKind.CLOCK, ColumnKind.INSTANT)
    ),
    *((name, kind) for name in ("hour", "shifts") for kind in (ColumnKind.WHOLE, ColumnKind.FLOAT, ColumnKind.DECIMAL)),
    *(
        (name, kind)
        for name in ("weeks", "months", "years", "clamped months", "clamped days")
        for kind in (ColumnKind.TEXT, ColumnKind.DATE, ColumnKind.CLOCK, ColumnKind.INSTANT)
    ),
]


@pytest.mark.parametrize(("name", "kind"), FITTING)
@drawn(data=st.data(), fast=15, full=60)
def test_expressions_place_an_entry_where_the_reader_of_python_does(name, kind, data):
    codec, (native, entries) = ATTRIBUTES[name].codec, COLUMNS[kind]
    entry = data.draw(entries)
    assert placed(codec, Column("c", kind, "", native), entry) == entry_reader(codec)(entry)


@pytest.mark.parametrize(("name", "kind"), mostly_slow(FITTING, slice(0, None, 4)))
@drawn(data=st.data(), fast=3, full=10)
def test_the_sql_of_duckdb_places_entries_where_the_expressions_do(name, kind, data):
    attribute, (native, entries) = ATTRIBUTES[name], COLUMNS[kind]
    column = data.draw(st.lists(st.one_of(st.none(), entries), min_size=1, max_size=20))
    types = {
        ColumnKind.DECIMAL: pa.decimal128(18, 3),
        ColumnKind.INSTANT: pa.timestamp("us", "UTC"),
        ColumnKind.TEXT: pa.string(),
    }
    table = pa.table({"c": pa.array(column, types.get(kind))} if kind in types else {"c": column})
    if table.schema.field("c").type == pa.null():
        return
    counts = open_source(table).count(Universe([attribute])).counts
    want = [placed(attribute.codec, Column("c", kind, "", native), entry) for entry in column]
    assert counts.tolist() == [want.count(k) for k in range(attribute.size)]


@pytest.mark.parametrize("first", [1, 1600, 1677, 1950, 2300])
@pytest.mark.parametrize("last", [1670, 1960, 2262, 2400])
def test_an_offset_at_a_nanosecond_is_that_of_its_microsecond(first, last):
    """Also of tables that begin before, or end after, all times that nanoseconds can tell."""
    second = 10**9
    starts = [(date(year, 3, 5) - EPOCH).days * 86_400 for year in range(first, max(last, first) + 1, 13)]
    table = tuple((start, 3600 + k) for k, start in enumerate(starts))
    at = [second * start + d for start in starts for d in (-1000, -999, -1, 0, 1, 999, 1000)]
    at = [0, -1, 1, 2**63 - 2, 2 - 2**63, *(moment for moment in at if abs(moment) < 2**63 - 1)]
    asked = f"SELECT {DUCKDB.sql(ex.OffsetAt(ex.Input('TIMESTAMP_NS'), table), 'x')} FROM rows"
    with duckdb.connect() as con:
        con.execute("CREATE TABLE rows AS SELECT make_timestamp_ns(unnest($at::BIGINT[])) AS x", {"at": at})
        found = [offset for (offset,) in con.execute(asked).fetchall()]
    assert found == [table[max(bisect.bisect_right(starts, m // 1000 // 10**6) - 1, 0)][1] * 10**6 for m in at]


def test_a_dialect_refuses_an_expression_that_it_does_not_know():
    class Guess:
        pass

    with pytest.raises(AssertionError):
        DUCKDB.sql(Guess(), "v0")
    with pytest.raises(AssertionError):
        DUCKDB.sql(ex.When(Guess(), ex.Input()), "v0")


def test_expressions_are_values_in_no_engines_words():
    """What a dialect is told has only its own type in it, and that is what the schema said."""
    for name, kind in FITTING:
        column = Column("c", kind, "", "OPAQUE")
        for step in (placement.parsed, placement.inside, placement.place):
            made = step(ATTRIBUTES[name].codec, column)
            assert made == step(ATTRIBUTES[name].codec, column)
            assert not re.search(r"CAST|regexp|strlen|DOUBLE|HUGEINT|VARCHAR|SELECT", repr(made))
