"""Dates in steps of the calendar: every day has one place, and words, groups and conditions mean whole periods."""

from datetime import date, timedelta
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dxprivacy as dx
from dxprivacy.errors import DxError, PolicyError, QueryError
from dxprivacy.queries.asking import gather
from dxprivacy.queries.grouping import group, selected, told
from dxprivacy.universe.attribute_matching import relate
from dxprivacy.universe.attributes.attribute_kinds import attribute_from_spec
from dxprivacy.universe.attributes.dates import Dates
from dxprivacy.universe.reading.calendar import DAY, Periods, Step, days_named
from dxprivacy.universe.universe import Universe

BIRTH = Dates(name="birth", first="1926-01-01", last="2026-12-31", step="1 month")


def dates(step, first="1926-01-01", last="2026-12-31", **more):
    return Dates(name="birth", first=first, last=last, step=step, **more)


@pytest.mark.parametrize(
    ("written", "days", "months", "shown"),
    [
        ("1 day", 1, 0, "1 day"),
        ("7 days", 7, 0, "1 week"),
        ("2 weeks", 14, 0, "2 weeks"),
        ("10 days", 10, 0, "10 days"),
        ("1 month", 0, 1, "1 month"),
        ("3 months", 0, 3, "3 months"),
        ("1 quarter", 0, 3, "3 months"),
        ("12months", 0, 12, "1 year"),
        (" 10 years ", 0, 120, "10 years"),
    ],
)
def test_a_step_is_so_many_days_or_months(written, days, months, shown):
    assert Step.of(written) == Step(days, months)
    assert str(Step.of(written)) == shown


@pytest.mark.parametrize(
    "written", ["", "month", "0 months", "1.5 months", "-1 day", "1 hour", "1 Month", "٣ days", "1e3 days", "9" * 9]
)
def test_what_is_no_step_is_refused_with_examples(written):
    with pytest.raises(PolicyError, match="a whole number of days, weeks, months or years") as caught:
        Step.of(written)
    assert ('step = "1 month"', "") in caught.value.hints or 'step = "1 month"' in str(caught.value)


@settings(max_examples=200, deadline=None)
@given(
    st.dates(),
    st.integers(0, 40_000),
    st.one_of(st.builds(Step, days=st.integers(1, 1000)), st.builds(Step, months=st.integers(1, 1500))),
    st.data(),
)
def test_every_day_of_the_range_lies_in_exactly_one_period(first, length, step, data):
    first = first.replace(day=1) if step.months else first
    last = first + timedelta(days=min(length, (date.max - first).days))
    periods = Periods(first, last, step)
    day = data.draw(st.dates(first, last))
    k = periods.place(day)
    assert 0 <= k < periods.listed
    assert periods.start(k) <= day <= periods.end(k)
    assert periods.start(0) == first
    assert periods.end(periods.listed - 1) == last
    if k + 1 < periods.listed:
        assert periods.start(k + 1) == periods.end(k) + timedelta(days=1)
    found = periods.find(periods.label(k))
    assert found == range(k, k + 1)
    assert periods.find(periods.words(0, k)) == range(k + 1)


@pytest.mark.parametrize(
    ("step", "listed", "first", "last"),
    [
        ("1 day", 36_890, "1926-01-01", "2026-12-31"),
        ("1 week", 5_270, "1926-01-01", "2026-12-25"),
        ("1 month", 1_212, "1926-01", "2026-12"),
        ("3 months", 404, "1926-01–1926-03", "2026-10–2026-12"),
        ("1 year", 101, "1926", "2026"),
        ("10 years", 11, "1926–1935", "2026"),
    ],
)
def test_labels_say_which_period_it_is(step, listed, first, last):
    made = dates(step)
    assert (made.listed, made.label(0), made.label(listed - 1), made.label(listed)) == (listed, first, last, "other")
    assert made.encode(["1925-12-31", "1926-01-01", "2026-12-31", "2027-01-01"]).tolist() == [
        *(listed, 0),
        *(listed - 1, listed),
    ]


def test_a_year_may_begin_in_any_month_and_is_then_told_by_its_months():
    fiscal = dates("1 year", "2020-04-01", "2026-03-31")
    assert [fiscal.label(k) for k in (0, 5)] == ["2020-04–2021-03", "2025-04–2026-03"]
    assert fiscal.find("2021-03-31") == 0
    assert fiscal.find("2021-04-01") == 1


def test_leap_days_and_the_ends_of_time_have_their_places():
    assert BIRTH.find("2000-02-29") == BIRTH.find("2000-02-01")
    everything = dates("1 year", "0001-01-01", "9999-12-31")
    assert everything.listed == 9999
    assert [everything.label(k) for k in (0, 9998)] == ["0001", "9999"]
    assert everything.find("9999-12-31") == 9998
    assert dates("5000 years", "0001-01-01", "9999-12-31").label(1) == "5001–9999"
    assert dates("1 week", "9999-12-20", "9999-12-31").label(1) == "9999-12-27"


def test_a_step_larger_than_the_range_is_one_value():
    one = dates("100 years", "2026-01-01", "2026-12-31")
    assert (one.listed, one.label(0), one.find("2026-05-05")) == (1, "2026", 0)


def test_months_begin_on_the_first():
    with pytest.raises(PolicyError, match="not every month has such a day") as caught:
        dates("1 month", "2026-01-31", "2026-12-31")
    assert '"2026-01-01"' in str(caught.value.hints)
    assert dates("1 week", "2026-01-31", "2026-12-31").label(1) == "2026-02-07"


def test_a_range_that_runs_backwards_is_refused():
    with pytest.raises(PolicyError, match="which is empty"):
        dates("1 month", "2026-12-01", "2026-01-01")


def test_specs_of_days_are_what_they_were_and_those_of_periods_come_back():
    plain = Dates(name="visit", first="2026-01-01", last="2026-12-31")
    assert not {"step", "outside"} & plain.spec().keys()
    assert dates("1 day").spec() == Dates(name="birth", first="1926-01-01", last="2026-12-31").spec()
    for made in (BIRTH, dates("2 weeks", clamp=True), dates("10 years", timezone="UTC")):
        assert attribute_from_spec(made.spec()) == made
    for damaged in ({"days": 1}, {"months": 0}, {"months": 1, "days": 1}, {}, {"hours": 1}, "1 month", {"months": 1.0}):
        with pytest.raises(PolicyError, match="damaged"):
            attribute_from_spec(BIRTH.spec() | {"step": damaged})


def test_names_of_several_periods_mean_all_of_them():
    universe = Universe([BIRTH])
    year = BIRTH.find("2000-01")

    def found(*wanted):
        return selected("birth", wanted, universe)[1].nonzero()[0].tolist()

    assert found("2000") == list(range(year, year + 12))
    assert found("2000-05") == found("2000-05-17") == [year + 4]
    assert found("2000–2001") == list(range(year, year + 24))
    assert told("birth", ("2000",), universe) == "birth 2000"
    assert told("birth", ("2000-05-17", "2000-06", "other"), universe) == "birth 2000-05–2000-06 or other"
    with pytest.raises(QueryError, match="has no value '2099'"):
        found("2099")
    with pytest.raises(QueryError, match="has no value '1999–2000'"):
        dates("3 months", "1999-02-01").find_all("1999–2000")
    plain = Universe([Dates(name="visit", first="2026-01-01", last="2026-12-31")])
    assert selected("visit", ("2026-02",), plain)[1].sum() == 28


def asked(text, attribute=BIRTH):
    return dx.plan(text, dx.metrics.Constant(Universe([attribute]), 1), n_records=1000).workload


@pytest.mark.parametrize(
    ("text", "months"),
    [
        ("count where birth=2000-01..2009-12", 120),
        ("count where birth=2000..2009", 120),
        ("count where birth=2000-01..2009", 120),
        ("count where birth=2000-01-01..2009-12-31", 120),
        ("count where birth=2000", 12),
        ("count where birth=2000-02", 1),
        ("count where birth=1900..1926-01", 1),
    ],
)
def test_conditions_count_whole_periods(text, months):
    ((name, wanted),) = gather(text).queries[0].where
    assert selected(name, wanted, Universe([BIRTH]))[1].sum() == months


@pytest.mark.parametrize("text", ["count where birth=2000-01-15..2009-12", "count where birth=2000-01..2009-12-30"])
def test_a_condition_that_cuts_a_period_is_refused(text):
    with pytest.raises(QueryError, match="lies inside a step of birth"):
        asked(text)


@pytest.mark.parametrize(
    ("spec", "labels"),
    [
        ("birth/12", ["1926", "1927"]),
        ("birth/120", ["1926–1935", "1936–1945"]),
        ("birth/year", ["1926", "1927"]),
        ("birth/quarter", ["1926-Q1", "1926-Q2"]),
        ("birth/decade", ["1920s", "1930s"]),
        ("birth/month", ["1926-01", "1926-02"]),
        ("birth[1926,1950,2000-07]", ["1926–1949", "1950-01–2000-06"]),
        ("birth[1926-01-01,1950-01-01]", ["1926–1949", "1950–2026"]),
    ],
)
def test_groups_are_told_by_the_calendar(spec, labels):
    found = group(spec, Universe([BIRTH]))
    assert list(found.labels[:2]) == labels
    assert found.groups[-1] == -1
    assert set(found.groups[:-1].tolist()) == set(range(len(found.labels)))


@pytest.mark.parametrize(
    "spec", ["birth/week", "birth/weekday", "birth[1926-01-02]", "birth/0", "birth/1.5", "birth/x"]
)
def test_groups_that_would_cut_periods_are_refused(spec):
    with pytest.raises(QueryError):
        group(spec, Universe([BIRTH]))
    with pytest.raises(QueryError):  # a step of eight days begins and ends with the same day of the week
        group("birth/weekday", Universe([dates("8 days")]))


def test_distances_count_in_steps():
    d = dx.metrics.attributes(Universe([BIRTH]), {"birth": {"epsilon": 1, "per": 12}})
    assert d.exact(0, 12) == 1
    assert d.exact(0, 1) == Fraction(1, 12)
    assert (BIRTH.unit_step, BIRTH.length_unit, BIRTH.neighbors) == (1, "months", "months")
    assert dates("10 years").neighbors == "steps of 10 years"


def test_days_outside_count_as_the_nearest_end_where_the_policy_says_so():
    made = dates("1 year", clamp=True)
    assert [made.codec.place(date(y, 6, 1)) for y in (1, 1900, 1926, 2026, 9999)] == [0, 0, 0, 100, 100]
    assert [made.value_words(k) for k in (0, 5, 100, 101)] == ["1926 or earlier", "1931", "2026 or later", "other"]
    assert made.range_words(Fraction(0), Fraction(10**5)) == "any day"
    assert made.beyond("1900-01-01")
    with pytest.raises(QueryError):
        made.find("1900-01-01")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (dates("1 month"), dates("1 year")),
        (dates("1 year"), dates("1 month")),
        (dates("1 week"), dates("1 month")),
        (dates("1 day", "2026-01-01"), dates("1 month", "2025-06-01")),
        (dates("1 month", clamp=True), dates("1 month")),
        (dates("1 day"), dates("1 day", clamp=True)),
    ],
)
def test_two_versions_are_related_by_every_day(old, new):
    found = relate(old, new)
    want = set()
    for number in range(date(1925, 1, 1).toordinal(), date(2028, 1, 1).toordinal()):
        want.add(tuple(a.codec.place(date.fromordinal(number)) for a in (old, new)))
    assert set(zip(found.old.tolist(), found.new.tolist(), strict=True)) == want | {(old.listed, new.listed)}


def test_what_only_one_version_of_days_has_is_told_as_ranges():
    old, new = dates("1 day", "1926-01-01", "2000-12-31"), dates("1 day", "1930-01-01", "2001-01-01")
    shared = old.shared_with(new)
    assert (shared.removed, shared.added) == (("1926-01-01..1929-12-31",), ("2001-01-01",))
    assert [old.label(k) for k in shared.here[:2]] == [new.label(k) for k in shared.there[:2]]


@pytest.mark.parametrize(
    ("written", "last"), [("2024-02", "2024-02-29"), ("1900-02", "1900-02-28"), ("9999", "9999-12-31")]
)
def test_months_and_years_end_where_the_calendar_says(written, last):
    assert days_named(written)[1] == date.fromisoformat(last)


@pytest.mark.parametrize("written", ["0000", "2024-13", "2024-00", "24", "", "2024-2", "٢٠٢٤", 2024, None])
def test_what_is_no_day_month_or_year_is_none(written):
    assert days_named(written) is None


def test_a_single_day_is_the_usual_step():
    assert Dates(name="visit", first="2026-01-01", last="2026-01-02").step is DAY
    with pytest.raises(DxError):
        Step(days=1, months=1)
