"""Text with an offset is an instant: with a time zone its day and time are those of the zone, on every engine alike."""

import itertools
import random
import re
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

import dxprivacy as dx
from dxprivacy.engines import open_source
from dxprivacy.engines.entries import entry_reader
from dxprivacy.engines.fields import texts_of
from dxprivacy.errors import PolicyError
from dxprivacy.universe.attributes.attribute_kinds import attribute_from_spec
from dxprivacy.universe.attributes.dates import Dates
from dxprivacy.universe.attributes.times import Times, Weekdays
from dxprivacy.universe.universe import Universe
from dxprivacy.verify.attributes import attribute as read_attribute
from engines.engine_kinds import from_arrow

ENGINES = ["csv", "duckdb", "parquet", "postgres"]
ZONES = ["America/New_York", "Europe/Berlin", "Asia/Kolkata", "Pacific/Auckland", "UTC"]
ISO = re.compile(
    r"[ \t]*(\d{4}-\d{2}-\d{2})"
    r"(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,]\d{1,9})?)?[ ]?([Zz]|[+-]\d{2}(?::?\d{2})?)?)?[ \t]*",
    re.ASCII,
)
CLOCK = re.compile(r"[ \t]*(?:\d{4}-\d{2}-\d{2}[T ])?(\d{1,2})(?::(\d{2})(?::(\d{2})(?:[.,]\d+)?)?)?[ \t]*", re.ASCII)
ODD = [
    "2026-01-31T23:30:00Z", "2026-02-01T04:59:59.999Z", "2026-02-01T05:00:00z", "2026-01-31 23:30 -05:00",
    "2026-01-31T23:30+1400", "2026-01-31T00:30-12", "2026-01-31", "2026-01-31T23:30", " 2026-01-31T23:30:00Z\t",
    "2026-01-31T24:00Z", "2026-01-31T23:60Z", "2026-01-31T23:30:60Z", "2026-01-31T23:30+24:00",
    "2026-01-31T23:30+05:60",
    "2026-01-31T23:30+5", "2026-01-31Z", "2026-02-30T10:00Z", "2026-02-30", "2026-01-31T99:99", "2026-1-31T10:00Z",
    "2026-03-08T06:59:59Z", "2026-03-08T07:00:00Z", "2026-11-01T05:59:59Z", "2026-11-01T06:00:00Z",
    "2026-03-29T00:59:59Z", "2026-03-29T01:00:00Z", "2025-12-31T23:59:59Z", "2027-01-01T00:00:00-05:00",
    "2026-12-31T23:59:59-23:59", "2026-01-01T00:00:00+23:59", "0001-01-01T00:00Z", "0001-01-02T23:59Z",
    "0001-01-03T00:00Z", "9999-12-29T23:59:59Z", "9999-12-30T00:00Z", "9999-12-31T23:59-12:00", "0000-12-31T23:00Z",
    "0001-01-01", "9999-12-31", "1799-12-31T23:59:59Z", "1800-01-01T00:00Z", "2199-12-31T23:59:59Z",
    "2200-01-01T00:00Z", "1883-11-18T16:59:57Z", "08:15", "08:15Z", "8", "", "x", "٢026-01-31T10:00Z",
]  # fmt: skip


def some_texts(rng, n):
    """Instants and clock times near the ends of 2026 and near changes of clocks."""
    around = [datetime(2026, m, d) for m, d in ((1, 1), (3, 8), (3, 29), (4, 5), (9, 27), (10, 25), (11, 1), (12, 31))]
    out = []
    for _ in range(n):
        at = rng.choice(around) + timedelta(seconds=rng.randrange(-200_000, 200_000))
        offset = rng.choice(["Z", "", "+02:00", "-0930", "+14", "-12:00", " +05:45"])
        out.append(at.isoformat(rng.choice("T "), rng.choice(["minutes", "seconds"])) + offset)
    return out


TEXTS = [*ODD, *some_texts(random.Random(7), 150)]


def moment(text, zone):
    """What an ISO text names: an aware moment in a zone, a clock time without a zone, or a day; else None."""
    found = ISO.fullmatch(text)
    if found is None:
        return None
    day, hour, minute, second, offset = found.groups()
    try:
        if offset is None:
            return date.fromisoformat(day)
        sign, digits = (offset[0], offset[1:].replace(":", "").ljust(4, "0")) if offset not in "Zz" else ("+", "0000")
        at = datetime.fromisoformat(f"{day}T{hour}:{minute}:{second or '00'}{sign}{digits[:2]}:{digits[2:]}")
        if int(digits[2:]) > 59 or not date(1, 1, 3) <= at.astimezone(UTC).date() <= date(9999, 12, 29):
            return None
        return at.astimezone(ZoneInfo(zone))
    except (ValueError, OverflowError):
        return None


def day_of(text, zone):
    at = moment(text, zone)
    return at.date() if isinstance(at, datetime) else at


def counts(attribute, kind, texts, folder):
    table = pa.table({"x": pa.array(texts, pa.string())})
    here = folder / f"{kind}-{len(list(folder.iterdir()))}"
    here.mkdir()
    if kind == "csv":
        (here / "data.csv").write_text("x\n" + "".join(f'"{text}"\n' for text in texts), encoding="utf-8")
    source = here / "data.csv" if kind == "csv" else from_arrow(kind, table, here)
    return open_source(source).count(Universe([attribute])).counts.tolist()


def tallied(places, size):
    return [places.count(k) for k in range(size)]


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("kind", ["pandas", *ENGINES])
def test_an_instant_in_text_counts_as_its_day_in_the_zone(kind, zone, tmp_path):
    attribute = Dates(name="x", first="2026-01-01", last="2026-12-31", timezone=zone)
    days = [day_of(text, zone) for text in TEXTS]
    places = [(day - attribute.first).days if day and day.year == 2026 else attribute.listed for day in days]
    assert sum(place < attribute.listed for place in places) > 100
    assert counts(attribute, kind, TEXTS, tmp_path) == tallied(places, attribute.size)
    assert attribute.encode(TEXTS).tolist() == places


@pytest.mark.parametrize("kind", ["pandas", *ENGINES])
def test_without_a_zone_a_day_is_taken_as_it_is_written(kind, tmp_path):
    attribute = Dates(name="x", first="2026-01-01", last="2026-12-31")
    assert counts(attribute, kind, ["2026-01-31T23:30:00-05:00"], tmp_path)[30] == 1


@pytest.mark.parametrize("first", ["2026-02-01", "0001-01-01"])
@pytest.mark.parametrize("step", ["1 day", "1 week", "3 months"])
@pytest.mark.parametrize("kind", ENGINES)
def test_clamped_days_and_periods_agree_with_python(kind, step, first, tmp_path):
    last = "2026-11-30" if first > "0002" else "0001-03-31"
    attribute = Dates(name="x", first=first, last=last, timezone="Pacific/Auckland", step=step, clamp=True)
    read = entry_reader(attribute.codec)
    places = [read(text) for text in TEXTS]
    assert attribute.listed in places
    assert counts(attribute, kind, TEXTS, tmp_path) == tallied(places, attribute.size)


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Kolkata"])
@pytest.mark.parametrize("kind", ["pandas", *ENGINES])
def test_weekdays_and_hours_of_instants_in_text_are_those_of_the_zone(kind, zone, tmp_path):
    weekdays = Weekdays(name="x", timezone=zone)
    days = [day_of(text, zone) for text in TEXTS]
    known = [day.weekday() if day and 1800 <= day.year <= 2199 else 7 for day in days]
    assert counts(weekdays, kind, TEXTS, tmp_path) == tallied(known, 8)
    hours = Times(name="x", timezone=zone)
    found = []
    for text in TEXTS:
        at = moment(text, zone)
        clock = re.fullmatch(
            r"[ \t]*(?:\d{4}-\d{2}-\d{2}[T ])?(\d{1,2})(?::(\d{2})(?::(\d{2})(?:[.,]\d+)?)?)?[ \t]*", text, re.A
        )
        if isinstance(at, datetime) and 1800 <= at.astimezone(UTC).year <= 2199:
            found.append(at.hour)
        elif clock and int(clock[1]) < 24 and int(clock[2] or 0) < 60 and int(clock[3] or 0) < 60:
            found.append(int(clock[1]))
        else:
            found.append(24)
    assert counts(hours, kind, TEXTS, tmp_path) == tallied(found, 25)


GERMAN = [f"{text[8:10]}.{text[5:7]}.{text[:4]} {text[11:]}" for text in TEXTS if len(text) > 16]
LISTS = [
    ("%d.%m.%Y", "iso"),
    ("iso", "%d.%m.%Y %H:%M%z", "%d.%m.%Y"),
    ("%d/%m/%Y", "%m/%d/%Y"),
    ("%d.%m.%Y %H:%M:%S %z", "%d.%m.%Y %H:%M:%S%z", "%d.%m.%Y %H:%M"),
]
MIXED = [*TEXTS, *GERMAN, "31.1.2026", "01/02/2026", "1/31/2026", "31/01/2026", "13/13/2026", "31.01.2026 23:30Z"]


@pytest.mark.parametrize("written", LISTS)
@pytest.mark.parametrize("zone", ["", "America/New_York"])
@pytest.mark.parametrize("kind", ENGINES)
def test_of_several_formats_the_first_that_reads_an_entry_counts(kind, zone, written, tmp_path):
    if zone and not any("%z" in each or each == "iso" for each in written):
        pytest.skip("refused")
    attribute = Dates(name="x", first="2026-01-01", last="2026-12-31", timezone=zone, format=list(written))
    alone = [
        entry_reader(
            Dates(name="x", first="2026-01-01", last="2026-12-31", timezone=zone if z else "", format=each).codec
        )
        for each in written
        for z in ["%z" in each or each == "iso"]
    ]
    places = [next((p for read in alone if (p := read(text)) < attribute.listed), attribute.listed) for text in MIXED]
    assert sum(place < attribute.listed for place in places) > 2
    assert counts(attribute, kind, MIXED, tmp_path) == tallied(places, attribute.size)


@pytest.mark.spark
def test_spark_agrees_with_python(tmp_path):
    """Few attributes: each takes a job of its own."""
    year = {"name": "x", "first": "2026-01-01", "last": "2026-12-31"}
    source = open_source(from_arrow("spark", pa.table({"x": pa.array(MIXED, pa.string())}), tmp_path))
    for attribute in (
        Dates(**year, timezone="America/New_York"),
        Dates(**year, timezone="Pacific/Auckland", step="3 months", clamp=True),
        Dates(**year, timezone="Asia/Kolkata", format=LISTS[1]),
        Dates(**year, format=LISTS[2]),
        Weekdays(name="x", timezone="America/New_York"),
        Times(name="x", timezone="Asia/Kolkata", step=1800),
    ):
        read = entry_reader(attribute.codec)
        wanted = tallied([read(text) for text in MIXED], attribute.size)
        assert source.count(Universe([attribute])).counts.tolist() == wanted


def test_a_format_with_an_offset_is_converted():
    attribute = Dates(
        name="x", first="2026-01-01", last="2026-12-31", timezone="America/New_York", format="%d.%m.%Y %H:%M%z"
    )
    read = entry_reader(attribute.codec)
    texts = ["01.02.2026 03:30Z", "1.2.2026 5:30+0000", "01.02.2026 04:30+01:00", "01.02.2026 03:30", "01.02.2026"]
    assert [attribute.label(read(text)) for text in texts] == [
        "2026-01-31",
        "2026-02-01",
        "2026-01-31",
        "other",
        "other",
    ]


@pytest.mark.parametrize("kind", [Dates, Weekdays, Times])
def test_a_zone_that_no_text_can_use_is_refused_with_what_to_write(kind):
    ends = {"first": "2026-01-01", "last": "2026-12-31"} if kind is Dates else {}
    written = "%d.%m.%Y %H:%M"
    with pytest.raises(PolicyError, match="timezone has no effect on text") as refused:
        kind(name="x", timezone="Europe/Berlin", format=written, **ends)
    assert any("%z" in hint[0] for hint in refused.value.hints)
    kind(name="x", timezone="Europe/Berlin", format=f"{written}%z", **ends)
    with pytest.raises(PolicyError, match="needs %Y"):
        kind(name="x", timezone="Europe/Berlin", format="%d.%m.%Y %H%z", **ends)


@pytest.mark.parametrize("bad", [[], ["iso"], ["iso", "iso"], ["iso", ""], ["iso", 3], ["iso", "%d.%m"]])
def test_a_list_of_formats_has_two_or_more_different_ones(bad):
    with pytest.raises(PolicyError):
        Dates(name="x", first="2026-01-01", last="2026-12-31", format=bad)
    with pytest.raises(PolicyError, match="one format"):
        dx.Integers(name="x", low=0, high=9, format=("1.234,5", "1,234.5"))


def test_a_list_of_formats_is_part_of_policy_digest_and_spec():
    text = """title = "T"
dataset = "t"
[attributes.visit]
dates = ["2026-01-01", "2026-12-31"]
format = {}
epsilon = 1
per = "7 days"
"""
    one, two, three = (
        dx.Policy.parse(text.format(x)) for x in ('["iso", "%d.%m.%Y"]', '["%d.%m.%Y", "iso"]', '"%d.%m.%Y"')
    )
    (visit,) = one.universe.attributes
    assert visit.format == ("iso", "%d.%m.%Y")
    assert visit.spec()["format"] == ["iso", "%d.%m.%Y"]
    assert attribute_from_spec(visit.spec()) == visit
    assert len({policy.universe.digest for policy in (one, two, three)}) == 3
    with pytest.raises(PolicyError, match="format"):
        dx.Policy.parse(text.format('["iso", 3]'))
    with pytest.raises(PolicyError, match="format"):
        dx.Policy.parse(text.format("[]"))


@pytest.mark.parametrize("zone", ["", "Asia/Kolkata"])
@pytest.mark.parametrize("written", ["", "%d.%m.%Y %H:%M%z", ("%d.%m.%Y %H:%M:%S%z", "iso"), ("iso", "%d.%m.%Y")])
def test_the_verifier_reads_days_in_conditions_as_the_data_writes_them(zone, written):
    attribute = Dates(name="x", first="2026-01-01", last="2026-12-31", timezone=zone, format=written)
    theirs = read_attribute(attribute.spec(), "universe")
    for text in MIXED:
        ours = attribute.encode([text])[0]
        assert theirs.place(text) == (None if ours == attribute.listed else ours), text


@pytest.mark.parametrize("zone", ["", "America/New_York", "Asia/Kolkata"])
@pytest.mark.parametrize("written", ["%d.%m.%Y %H:%M%z", "%Y-%m-%dT%H:%M:%S%z", ("%d.%m.%Y %H:%M%z", "iso")])
def test_written_records_are_read_back(zone, written):
    for attribute in (
        Dates(name="x", first="2026-01-01", last="2026-12-31", timezone=zone, format=written),
        Weekdays(name="x", timezone=zone, format=written),
        Times(name="x", timezone=zone, format=written, step=1800),
    ):
        places = list(range(attribute.listed))
        read = entry_reader(attribute.codec)
        assert [read(text) for text in texts_of(attribute, places)] == places


def test_every_offset_table_is_the_zone_of_python(tmp_path):
    """All hours of a year, in a zone with two changes."""
    start = datetime(2025, 12, 30, tzinfo=UTC)
    texts = [(start + timedelta(minutes=30 * k)).isoformat() for k in range(48 * 368)]
    attribute = Dates(name="x", first="2026-01-01", last="2026-12-31", timezone="America/St_Johns")
    found = counts(attribute, "duckdb", texts, tmp_path)
    days = itertools.groupby(day_of(text, "America/St_Johns") for text in texts)
    wanted = {day: sum(1 for _ in each) for day, each in days}
    assert found[:-1] == [wanted.get(attribute.first + timedelta(days=k), 0) for k in range(365)]
