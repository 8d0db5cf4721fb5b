"""Numbers in cells, dates and series: how entries are placed, grouped and selected."""

import math
from datetime import date
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dxprivacy as dx
from dxprivacy.errors import PolicyError, QueryError, UsageError
from dxprivacy.queries.stored_queries import from_dict
from dxprivacy.queries.text.query_grammar import parse
from dxprivacy.universe.attributes.binned_numbers import Numbers
from dxprivacy.universe.attributes.dates import Dates
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.attributes.series_of_numbers import Series
from dxprivacy.universe.reading.text_formats import DateFormat, NumberFormat
from dxprivacy.universe.universe import Universe

INCOME = Numbers(name="income", low=0, high=10_000, step=1000, unit="€")
VISIT = Dates(name="visit", first="2026-01-30", last="2026-04-02")
USAGE = Series(name="usage", columns=("jan", "feb"), entry=Integers(name="usage", low=0, high=3))
UNIVERSE = Universe([INCOME, VISIT, USAGE])


def labels(text):
    return [answer.label for answer in parse(text).on(UNIVERSE).answers]


@given(
    low=st.integers(-50, 50),
    cells=st.integers(1, 30),
    step=st.sampled_from(["0.1", "0.7", "1", "2.5", "1000", "0.001"]),
    clamp=st.booleans(),
)
def test_every_edge_and_its_float_neighbors_are_placed_as_decimals_would_be(low, cells, step, clamp):
    width = Fraction(step)
    attribute = Numbers(name="x", low=low * width, high=(low + cells) * width, step=width, clamp=clamp)
    for k in range(cells + 1):
        edge = float((low + k) * width)
        inside = min(k, cells - 1)
        assert attribute.place(edge) == inside
        assert attribute.place(math.nextafter(edge, math.inf)) == (inside if k < cells or clamp else cells)
        assert attribute.place(math.nextafter(edge, -math.inf)) == (k - 1 if k else 0 if clamp else cells)
    assert attribute.place(math.inf) == attribute.place(math.nan) == cells


def test_a_decimal_text_and_its_float_share_a_cell():
    tenths = Numbers(name="x", low=0, high=1, step="0.1")
    assert [tenths.find(f"0.{k}") for k in range(10)] == list(range(10))
    assert tenths.encode([0.3, "0.3", 0.7, "0.7", 1, "x", None]).tolist() == [3, 3, 7, 7, 9, 10, 10]


@pytest.mark.parametrize(
    ("bad", "what"),
    [
        ({"low": 1, "high": 0, "step": 1}, "empty"),
        ({"low": 0, "high": 10, "step": 3}, "cannot be cut"),
        ({"low": 0, "high": 10, "step": 0}, "cannot be cut"),
        ({"low": 0, "high": 10, "step": -1}, "cannot be cut"),
        ({"low": 0, "high": math.inf, "step": 1}, "finite"),
        ({"low": 0, "high": math.nan, "step": 1}, "finite"),
        ({"low": 0, "high": 1e17, "step": 1e16}, "more values than we can hold"),
        ({"low": 0, "high": 1, "step": "1e-9"}, "more values than we can hold"),
        ({"low": "a", "high": 1, "step": 1}, "a number is needed"),
    ],
)
def test_cells_that_make_no_sense_are_refused(bad, what):
    with pytest.raises(PolicyError, match=what):
        Numbers(name="x", **bad)


def test_sums_of_cells_use_their_middle_and_the_plan_says_how_much_that_can_move():
    workload = dx.sum_of("income").on(Universe([INCOME]))
    assert (workload.dense() * workload.units[0]).tolist() == [[500 + 1000 * k for k in range(10)] + [0]]
    metric = dx.metrics.attributes(Universe([INCOME]), {"income": {"epsilon": 1, "per": 1000}})
    plan = dx.plan([dx.mean_of("income")], metric, n_records=1000)
    text = " ".join(str(plan).split())
    assert "income counts as the middle of its step of 1000 €: errors and intervals include the most" in text
    assert "500 € of a mean, that much per record of a sum" in text
    assert "records whose income is missing or invalid are left out of means of income" in text


def test_the_distance_of_cells_is_that_of_their_middles():
    metric = dx.metrics.attributes(Universe([INCOME]), {"income": {"epsilon": 1, "per": 10_000}})
    assert metric.exact(0, 1) == Fraction(1, 10)
    assert metric.exact(0, 9) == Fraction(9, 10)
    assert metric.exact(0, 10) == Fraction(9, 20)  # `other` is half the reach away


def test_groups_of_cells_follow_their_edges():
    assert labels("count by income/5000") == ["0 to 5000", "5000 to 10000"]
    assert labels("count by income[0,2000,7000]") == ["0 to 2000", "2000 to 7000", "7000 to 10000"]
    assert labels("ranges income/5000") == ["0 to 5000", "0 to 10000", "5000 to 10000"]
    chosen = parse("count where income=2000..4000").on(UNIVERSE).dense()[0].reshape(UNIVERSE.shape)[:, 0, 0]
    assert chosen.nonzero()[0].tolist() == [2, 3]


@pytest.mark.parametrize(
    "asked", ["by income/1500", "by income[0,500]", "where income=0..1500", "where income=1..2000"]
)
def test_an_edge_that_cuts_a_cell_is_refused_with_the_next_ones(asked):
    with pytest.raises(QueryError, match="lies inside a step of income") as error:
        parse(f"count {asked}").on(UNIVERSE)
    assert error.value.hints


def test_a_cell_is_found_by_any_number_inside_it():
    chosen = parse("count where income=1999.5").on(UNIVERSE).dense()[0].reshape(UNIVERSE.shape)[:, 0, 0]
    assert chosen.nonzero()[0].tolist() == [1]


def test_days_are_grouped_by_the_calendar():
    assert labels("count by visit/month") == ["2026-01", "2026-02", "2026-03", "2026-04"]
    assert labels("count by visit/quarter") == ["2026-Q1", "2026-Q2"]
    assert labels("count by visit/year") == ["2026"]
    assert labels("count by visit/week")[:2] == ["2026-W05", "2026-W06"]
    assert labels("count by visit/weekday")[0] == "Monday"
    assert labels("count by visit/30") == ["2026-01-30–2026-02-28", "2026-03-01–2026-03-30", "2026-03-31–2026-04-02"]
    assert labels("count by visit[2026-02-01,2026-03-01]") == ["2026-02-01–2026-02-28", "2026-03-01–2026-04-02"]
    assert labels("prefixes visit/month") == ["2026-01", "2026-01–2026-02", "2026-01–2026-03", "2026-01–2026-04"]


def test_a_range_of_days_includes_both_ends_and_survives_words_and_json():
    query = dx.count(visit=(date(2026, 2, 1), "2026-02-03"))
    assert str(query) == "count where visit=2026-02-01..2026-02-03"
    assert parse(query.words()) == query == from_dict(query.to_dict())
    chosen = query.on(UNIVERSE).dense()[0].reshape(UNIVERSE.shape)[0, :, 0]
    assert [VISIT.label(k) for k in chosen.nonzero()[0]] == ["2026-02-01", "2026-02-02", "2026-02-03"]


@pytest.mark.parametrize(
    ("asked", "what"),
    [
        ("count where visit=3..5", "visit holds dates"),
        ("count by visit/fortnight", "cannot group visit by"),
        ("count by visit/0", "cannot group visit by"),
        ("count by visit[1,2]", "visit holds dates"),
        ("count where income=2026-01-01..2026-02-01", "income holds numbers"),
        ("count where visit=2026-01-01", "visit has no value"),
        ("count by visit[2030-01-01]", "no possible record is in any group"),
        ("mean visit", "visit has no numbers"),
        ("count where usage=1", "usage has no value"),
    ],
)
def test_what_makes_no_sense_on_ordered_values_is_said(asked, what):
    with pytest.raises(QueryError, match=what):
        parse(asked).on(UNIVERSE)


def test_an_empty_range_of_days_is_refused():
    with pytest.raises(UsageError, match="empty"):
        dx.count(visit=("2026-02-03", "2026-02-01"))


def test_a_series_is_asked_by_its_columns_and_their_total():
    assert labels("count by usage.jan") == ["0", "1", "2", "3"]
    workload = dx.sum_of("usage.total").on(Universe([USAGE]))
    assert workload.dense()[0].tolist() == [a + b for a in range(4) for b in range(4)] + [0]
    assert USAGE.encode([[1, 2], "1, 2", "1", "1, 9", None]).tolist() == [6, 6, 16, 16, 16]


def test_the_distance_of_series_is_the_largest_difference_over_time():
    metric = dx.metrics.attributes(Universe([USAGE]), {"usage": {"epsilon": 1, "per": 2}})
    for i in range(16):
        for j in range(16):
            most = max(abs(a - b) for a, b in zip(USAGE.entries(i), USAGE.entries(j), strict=True))
            assert metric.exact(i, j) == Fraction(most, 2)


@pytest.mark.parametrize(
    ("sample", "text", "plain"),
    [
        ("", "1234.5", "1234.5"),
        ("", " +1e3 ", "+1e3"),
        ("", "1,5", None),
        ("", "٣", None),
        ("1.234,5", "1.234.567,5", "1234567.5"),
        ("1.234,5", "1234,5", "1234.5"),
        ("1.234,5", "12.34,5", None),
        ("1.234,5", "1e3", None),
        ("1,234", "12,000.25", "12000.25"),
        ("1 234,5", "1 234,5", "1234.5"),
        ("1'234.5", "1'234.5", "1234.5"),
        ("1234,5", ",5", ".5"),
        ("1234,5", "", None),
    ],
)
def test_a_declared_number_format_is_strict(sample, text, plain):
    assert NumberFormat.of(sample).plain(text) == plain


@pytest.mark.parametrize(
    ("written", "text", "day"),
    [
        ("", "2026-01-31", date(2026, 1, 31)),
        ("", "2026-01-31T23:59:59.5+02:00", date(2026, 1, 31)),
        ("", "2026-1-31", None),
        ("", "2026-02-30", None),
        ("", "20260131", None),
        ("%d.%m.%Y", "1.2.2026", date(2026, 2, 1)),
        ("%d.%m.%Y", "01.02.26", None),
        ("%m/%d/%Y %H:%M", "2/1/2026 9:05", date(2026, 2, 1)),
        ("%Y%m%d", "20260201", date(2026, 2, 1)),
        ("%d.%m.%Y", "0.1.2026", None),
        ("%d.%m.%Y", "1.1.0000", None),
    ],
)
def test_a_declared_date_format_is_strict(written, text, day):
    assert DateFormat.of(written).read(text) == day


@pytest.mark.parametrize("sample", ["1234.5.6", "x", "1,234,5", "12345", "1.234.5"])
def test_a_number_format_that_cannot_be_told_apart_is_refused(sample):
    with pytest.raises(PolicyError, match="write the number"):
        NumberFormat.of(sample)


@pytest.mark.parametrize("width", ["1_0", "７", "0", "-1", "+7", "x", "1e1"])
def test_days_are_grouped_by_plain_whole_numbers(width):
    with pytest.raises(QueryError):
        parse(f"count by visit/{width}").on(UNIVERSE)


def test_the_spec_of_a_series_without_other_names_every_axis():
    alone = Series(name="usage", columns=("jan", "feb"), entry=Integers(name="usage", low=0, high=3), has_other=False)
    spec = dx.metrics.attributes(Universe([alone]), {"usage": {"epsilon": 1, "per": 1}}).spec()
    while "axes" not in spec or spec["kind"] == "attribute-sum":
        spec = spec["axes"][0] if "axes" in spec else spec["base"]
    assert (spec["kind"], spec["shape"], len(spec["axes"])) == ("attribute-max", [4, 4], 2)


@pytest.mark.parametrize(
    ("attribute", "query", "expected"),
    [
        (Integers(name="a", low=0, high=8), "count by a[0,3]", ["0–2", "3–8"]),
        (Integers(name="a", low=0, high=8), "count by a[-5,3,99]", ["0–2", "3–8"]),
        (Integers(name="a", low=0, high=8), "prefixes a[0,3]", ["0–2", "0–8"]),
        (Integers(name="a", low=0, high=8, clamp=True), "count by a[0,3]", ["0–2", "3+"]),
        (Integers(name="a", low=0, high=8, has_other=False), "count by a[0,3]", ["0–2", "3+"]),
        (Numbers(name="a", low=0, high=10, step="0.5"), "count by a[-2,3,12]", ["0 to 3", "3 to 10"]),
        (Numbers(name="a", low=0, high=10, step="0.5", clamp=True), "count by a[0,3]", ["0 to 3", "3+"]),
    ],
)
def test_groups_end_where_entries_become_other(attribute, query, expected):
    assert [a.label for a in parse(query).on(Universe([attribute])).answers] == expected
