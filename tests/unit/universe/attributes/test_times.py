"""Times of day and days of the week: places, labels, groups, conditions, versions, and rings."""

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dxprivacy as dx
from dxprivacy.engines.entries import entry_reader
from dxprivacy.engines.fields import texts_of
from dxprivacy.errors import PolicyError, QueryError
from dxprivacy.queries.asking import gather
from dxprivacy.queries.grouping import group, selected, told
from dxprivacy.universe.attribute_matching import relate
from dxprivacy.universe.attributes.attribute_kinds import attribute_from_spec
from dxprivacy.universe.attributes.times import Times, Weekdays
from dxprivacy.universe.reading.text_formats import TimeFormat, hours_of
from dxprivacy.universe.universe import Universe

HOUR = Times(name="hour")
QUARTERS = Times(name="hour", step=900, timezone="Europe/Berlin")
DAY = Weekdays(name="weekday", column="visit", timezone="Asia/Tokyo")


@given(st.times())
def test_every_time_lies_in_one_step(clock):
    at = 3600 * clock.hour + 60 * clock.minute + clock.second
    for made in (HOUR, QUARTERS, Times(name="hour", step=1)):
        k = entry_reader(made.codec)(clock)
        assert made.low + k * made.step <= at < made.low + (k + 1) * made.step
        assert made.find(made.label(k)) == k


@pytest.mark.parametrize(
    ("value", "place"),
    [
        *((8, 8), (8.0, 8), (Decimal("8.0"), 8), (np.int8(8), 8), (23, 23), (24, 24), (-1, 24), (8.5, 24), (True, 24)),
        *(("8", 8), ("08", 8), ("8.0", 8), ("08:59:59.999", 8), ("2026-02-30T08:00", 8), ("", 24), (None, 24)),
        *(("24:00", 24), ("8h", 24), ("8:5", 24), ("٨", 24), (float("nan"), 24), (10**400, 24)),
        *((datetime(2026, 1, 1, 8, 59), 8), (datetime(2026, 1, 1, 8, tzinfo=UTC), 8), (time(8), 8)),
        *((date(2026, 1, 1), 0), (datetime(1799, 12, 31, 8), 24), (datetime(2200, 1, 1), 24)),
        *((np.datetime64("2026-01-01T08:00:00.5"), 8), (np.datetime64("1960-01-01T08:00:00"), 8)),
        *((np.datetime64("NaT"), 24), (timedelta(hours=8), 24), (b"8", 24)),
    ],
)
def test_entries_of_every_type_are_read_as_hours(value, place):
    assert entry_reader(HOUR.codec)(value) == place


def test_a_number_is_an_hour_only_where_steps_are_whole_hours():
    read = entry_reader(QUARTERS.codec)
    assert [read(x) for x in (8, "8", "08:15", "8:15")] == [96, 96, 33, 33]
    shifts = entry_reader(Times(name="h", low=6 * 3600, high=22 * 3600, step=8 * 3600).codec)
    assert [shifts(x) for x in (5, 6, 13, 14, 21, 22)] == [2, 0, 0, 1, 1, 2]


def test_instants_are_read_in_the_zone():
    read, day = entry_reader(QUARTERS.codec), entry_reader(DAY.codec)
    assert read(datetime(2026, 7, 1, 8, tzinfo=UTC)) == 4 * 10
    assert read(datetime(2026, 1, 1, 8, tzinfo=UTC)) == 4 * 9
    assert day(datetime(2026, 1, 4, 14, 59, tzinfo=UTC)) == 6
    assert day(datetime(2026, 1, 4, 15, tzinfo=UTC)) == 0


@pytest.mark.parametrize(
    ("value", "place"),
    [
        *(("2026-01-05", 0), ("2026-01-04T23:59", 6), (date(2024, 2, 29), 3), (date(1800, 1, 1), 2)),
        *((date(2199, 12, 31), 1), (date(1799, 12, 31), 7), (date(2200, 1, 1), 7), ("Monday", 7), (1, 7), (None, 7)),
        *(("2026-02-30", 7), ("", 7), (float("nan"), 7)),
    ],
)
def test_days_of_the_week_are_those_of_the_calendar(value, place):
    assert entry_reader(DAY.codec)(value) == place


def test_labels_and_names():
    assert [HOUR.label(k) for k in (0, 23, 24)] == ["00:00–01:00", "23:00–24:00", "other"]
    assert [QUARTERS.label(k) for k in (0, 95)] == ["00:00–00:15", "23:45–24:00"]
    assert Times(name="h", step=90).label(1) == "00:01:30–00:03"
    assert [DAY.label(k) for k in (0, 6, 7)] == ["Monday", "Sunday", "other"]
    assert [HOUR.find(x) for x in ("8", "08:30", 8, "8.5", "other")] == [8, 8, 8, 8, 24]
    for wrong in ("24", "24:00", "x", "-1", "08:00–10:00", ""):
        with pytest.raises(QueryError, match="has no value"):
            HOUR.find(wrong)
    with pytest.raises(QueryError, match="has no value 'Mnday'") as caught:
        DAY.find("Mnday")
    assert "Monday" in str(caught.value.hints)


@pytest.mark.parametrize(
    ("spec", "labels"),
    [
        ("hour/6", ["00:00–06:00", "06:00–12:00", "12:00–18:00", "18:00–24:00"]),
        ("hour[6,12,18]", ["06:00–12:00", "12:00–18:00", "18:00+"]),
        ("hour[06:00,22:00]", ["06:00–22:00", "22:00+"]),
        ("hour/7", ["00:00–07:00", "07:00–14:00", "14:00–21:00", "21:00–24:00"]),
    ],
)
def test_groups_of_hours(spec, labels):
    assert list(group(spec, Universe([HOUR])).labels) == labels


@pytest.mark.parametrize("spec", ["hour/0.5", "hour[6.5]", "hour[06:30]", "hour/x", "hour[12,6]"])
def test_groups_that_cut_a_step_are_refused(spec):
    with pytest.raises((QueryError, dx.errors.UsageError)):
        group(spec, Universe([HOUR]))


@pytest.mark.parametrize(
    ("text", "found", "words"),
    [
        ("count where hour=8..17", range(8, 17), "hour 08:00–17:00"),
        ("count where hour=08:00..17:00", range(8, 17), "hour 08:00–17:00"),
        ("count where hour=08:30", [8], "hour 08:00–09:00"),
        ("count where hour=8|9|other", [8, 9, 24], "hour 08:00–09:00 or 09:00–10:00 or other"),
        ("count where hour=22:00..24:00", [22, 23], "hour 22:00–24:00"),
    ],
)
def test_conditions_on_hours(text, found, words):
    ((name, wanted),) = gather(text).queries[0].where
    universe = Universe([HOUR])
    assert selected(name, wanted, universe)[1].nonzero()[0].tolist() == list(found)
    assert told(name, wanted, universe) == words


def test_a_condition_that_cuts_an_hour_is_refused():
    ((name, wanted),) = gather("count where hour=08:30..17:00").queries[0].where
    with pytest.raises(QueryError, match="08:30 lies inside a step of hour"):
        selected(name, wanted, Universe([HOUR]))


@pytest.mark.parametrize(
    "given",
    [
        *({"low": 3600, "high": 3600}, {"low": -1}, {"high": 86_401}, {"step": 0}, {"step": 7 * 3600}, {"step": 1.5}),
        *({"timezone": "Mars/Olympus"}, {"format": "%M"}, {"format": "%H %H"}, {"format": "%I:%M"}),
    ],
)
def test_times_that_are_none_are_refused(given):
    with pytest.raises(PolicyError):
        Times(name="hour", **given)


def test_specs_come_back():
    for made in (HOUR, QUARTERS, DAY, Weekdays(name="w", format="%d.%m.%Y"), Times(name="h", format="%H.%M", step=60)):
        assert attribute_from_spec(made.spec()) == made
    with pytest.raises(PolicyError, match="damaged"):
        attribute_from_spec(HOUR.spec() | {"step": 7 * 3600})


def test_what_is_written_is_read_back():
    for made in (HOUR, QUARTERS, DAY, Times(name="h", format="%d.%m.%Y %H.%M", step=60), Times(name="h", step=1)):
        read = entry_reader(made.codec)
        places = [*range(0, made.listed, max(made.listed // 50, 1)), made.listed]
        assert [read(text) for text in texts_of(made, places)] == places


def test_versions_are_followed_by_every_second():
    found = relate(HOUR, Times(name="hour", low=6 * 3600, high=22 * 3600, step=4 * 3600))
    pairs = set(zip(found.old.tolist(), found.new.tolist(), strict=True))
    assert {(0, 4), (6, 0), (9, 0), (10, 1), (21, 3), (22, 4), (24, 4)} <= pairs
    assert len(pairs) == 25
    same = relate(DAY, DAY)
    assert same.old.tolist() == same.new.tolist() == list(range(8))
    for old, new in ((HOUR, QUARTERS), (DAY, Weekdays(name="weekday", column="visit")), (HOUR, DAY)):
        with pytest.raises(PolicyError):
            relate(old, new)
    with pytest.raises(PolicyError, match="other steps"):  # 8 was an hour, and is no time of day now
        relate(HOUR, Times(name="hour", step=900))


def test_pictures_start_at_full_hours():
    assert QUARTERS.coarse(24)[:2] == [0, 4]
    assert HOUR.coarse(4) == [0, 6, 12, 18]
    assert HOUR.stretch(0, 5) == "00:00–06:00"


def test_formats_of_times():
    assert TimeFormat.of("%Hh%M").read("8h5") == 8 * 3600 + 300
    assert TimeFormat.of("%H%M%S").read("081530") == 8 * 3600 + 930
    assert hours_of("23:59:59") == Fraction(86_399, 3600)
    assert hours_of("24:00:01") is None
