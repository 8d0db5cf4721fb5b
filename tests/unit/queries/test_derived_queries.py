"""Shares, ratios, spreads, quantiles, densities and soft borders: their words, files, rows, and what is refused."""

import json
from fractions import Fraction as F

import numpy as np
import pandas as pd
import pytest

import dxprivacy as dx
from dxprivacy.errors import DxError, QueryError, TooLarge
from dxprivacy.policy.query_files import AskFile, read_queries
from dxprivacy.queries.stored_queries import from_dict
from dxprivacy.queries.text.query_grammar import parse
from dxprivacy.verify import verify_data

UNIVERSE = dx.Universe(
    [
        dx.Values(name="sex", values=("F", "M")),
        dx.Integers(name="age", low=0, high=99),
        dx.Numbers(name="income", low=0, high=100, step=5),
        dx.Integers(name="rooms", low=1, high=6, has_other=False),
        dx.Integers(name="one", low=7, high=7, has_other=False),
    ]
)
POLICY = dx.metrics.attributes(UNIVERSE, dict.fromkeys(UNIVERSE.names, 1))
LINE = {"epsilon": "0.1", "per": 1}
GRADED = dx.metrics.attributes(UNIVERSE, {"sex": 1, "rooms": 1, "one": 1, "age": LINE, "income": LINE})

SAID = {
    "proportion by sex where age=30..60": dx.proportion_of(age=(30, 60), by="sex"),
    "proportion where sex=F among age=18..65 within 1/20": dx.proportion_of(
        sex="F", among={"age": (18, 65)}, within=F(1, 20)
    ),
    "ratio of sum income to count by sex": dx.ratio_of("income", by="sex"),
    "ratio of sum income to sum rooms": dx.ratio_of("income", "rooms"),
    "variance age by sex": dx.variance_of("age", by="sex"),
    "sd income where sex=F": dx.sd_of("income", where={"sex": "F"}),
    "covariance age, income": dx.covariance_of("age", "income"),
    "correlation age, income by sex weight 2": dx.correlation_of("age", "income", by="sex", weight=2),
    "median age by sex": dx.median_of("age", by="sex"),
    "median age width 0": dx.median_of("age", width=0),
    "quantile 0.25, 0.75 of income where sex=F width 10": dx.quantile_of(
        "income", "0.25", "0.75", where={"sex": "F"}, width=10
    ),
    "density income width 10 every 5": dx.density_of("income", width=10, every=5),
    "count by sex, age/10 blur 2": dx.table("sex", "age/10", blur=2),
}


@pytest.mark.parametrize("words", SAID)
def test_words_python_and_json_say_the_same(words):
    query = parse(words.replace("1/20", "0.05"))
    assert query == SAID[words]
    assert parse(str(query)) == query
    assert from_dict(query.to_dict()) == query
    assert len(query.on(UNIVERSE).answers) >= 1


def test_other_words_and_orders():
    assert parse("histogram income/10") == parse("count by income/10")
    assert parse("cumulative age/10") == parse("prefixes age/10")
    assert parse("proportion where age=30..60 by sex") == parse("proportion by sex where age=30..60")
    assert parse("count by sex by rooms") == parse("count by sex, rooms")
    assert parse("quantile 0.5 of age") == parse("median age") == parse("median of age")
    assert parse("covariance of age and income") == parse("covariance age, income")
    assert parse("count by age/10 blur 0") == parse("count by age/10")
    with pytest.raises(QueryError, match="is given twice"):
        parse("count where sex=F where age=3")


def test_a_file_of_queries_has_a_field_for_everything():
    text = """
        [[query]]
        proportion = true
        by = "sex"
        where = { age = "30..60" }
        among = { rooms = 1 }
        [[query]]
        ratio = "income"
        to = "rooms"
        [[query]]
        median = "age"
        width = 5
        [[query]]
        quantile = "age"
        at = [0.25, 0.75]
        [[query]]
        correlation = "age"
        beside = "income"
        [[query]]
        density = "income"
        width = 10
        every = 5
        [[query]]
        count = true
        by = "age/10"
        blur = 2
    """
    asked = read_queries(AskFile.parse(text), UNIVERSE).queries
    assert [str(q) for q in asked] == [
        "proportion by sex where age=30..60 among rooms=1",
        "ratio of sum income to sum rooms",
        "median age width 5",
        "quantile 0.25, 0.75 of age",
        "correlation age, income",
        "density income width 10 every 5",
        "count by age/10 blur 2",
    ]
    with pytest.raises(QueryError, match="width is 'wide'; a number is needed"):
        read_queries(AskFile.parse('[[query]]\nmedian = "age"\nwidth = "wide"'))


REFUSED = {
    "proportion by sex": "of the records that are what",
    "quantile 0 of age": "between 0 and 1",
    "quantile 1.5 of age": "between 0 and 1",
    "quantile 0.5, 0.5 of age": "given twice",
    "quantile 0.123456789 of age": "at the finest",
    "quantile x of age": "no number|a number",
    "median sex": "no numbers in an order",
    "median one": "single value",
    "median age width -1": "must not be negative",
    "median age width 200": "wider than the range",
    "median age by age/10": "by groups of itself",
    "median age where age=other": "valid entries",
    "variance sex": "no numbers",
    "covariance age": "and what",
    "correlation age, sex": "no numbers",
    "ratio of sum rooms to sum income": "may be 0",
    "ratio of sum rooms to sex": "to what",
    "ratio of rooms": "a ratio is of a sum",
    "density sex": "no numbers in an order",
    "density income width 0": "more than 0",
    "density income width 1000": "wider than the range",
    "density income width 1 every 0.0000001": "cells are more than",
    "density age by age/10": "by groups of itself",
    "count by sex blur 2": "blur needs groups of ordered numbers",
    "count by age/10 where income=0..50 blur 2": "blur is along one attribute",
    "count by age/10 blur 2000": "wider than the range",
    "count by age/10 blur -1": "must not be negative",
    "count by age/10 width 3": "takes no “width”",
    "mean age blur 3": "takes no “blur”",
    "sum age among sex=F": "takes no “among”",
    "mode age": "not a query",
    "max age": "not a query",
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_has_no_meaning_is_refused(words):
    with pytest.raises(DxError, match=REFUSED[words]):
        parse(words).on(UNIVERSE)


def test_a_grid_of_a_billion_cells_is_refused_at_once():
    with pytest.raises(TooLarge, match="cells are more than"):
        parse("density income width 1 every 0.0000001").on(UNIVERSE)
    wide = dx.Universe([dx.Integers(name="x", low=0, high=3_000_000)])
    with pytest.raises(TooLarge, match="ranks at 3,000,000 places of"):
        parse("median x width 0").on(wide)


def test_the_correlation_of_a_constant_says_nothing():
    counts = np.zeros(UNIVERSE.size, dtype=np.int64)
    counts[UNIVERSE.index([{"sex": "F", "age": 40, "income": 12, "rooms": 3, "one": 7}])[0]] = 500
    plan = dx.plan("correlation age, income", GRADED, n_records=500)
    (row,) = plan.by_hand(counts).answers
    assert (row.low, row.high) == (-1.0, 1.0)
    assert row.vague
    nobody = plan.by_hand(np.zeros_like(counts)).answers[0]
    assert nobody.vague


def test_soft_borders_add_up_and_are_what_they_say():
    """Everybody counts once in all; far from a border wholly, on it by halves."""
    rows = parse("count by age/50 blur 2").on(UNIVERSE)
    unit = rows.units[0]
    ages = [{"sex": "F", "age": a, "income": 1, "rooms": 1, "one": 7} for a in range(100)]
    columns = rows.columns(UNIVERSE.index(ages))
    assert (columns.sum(axis=0) * unit == 1).all()
    young = [F(int(x)) * unit for x in columns[0]]
    assert young[:46] == [1] * 46
    assert young[54:] == [0] * 46
    # spread evenly over seven years: of somebody aged 49, four of them lie before 49.5
    assert young[49] == F(4, 7)
    assert young[50] == F(3, 7)
    missing = rows.columns(UNIVERSE.index([{"sex": "F", "age": "?", "income": 1, "rooms": 1, "one": 7}]))
    assert not missing.any()


def test_a_density_changes_by_no_more_than_its_width_allows():
    """In all cells together by at most 2 |i - j| / (3.5 width) of a record, on every grid."""
    for every in ("1", "2.5", "5", "40"):
        rows = parse(f"density income width 10 every {every}").on(UNIVERSE)
        cells = UNIVERSE.index([{"sex": "F", "age": 1, "income": 5 * k, "rooms": 1, "one": 7} for k in range(20)])
        columns = rows.columns(cells).astype(object) * rows.units[0]
        for i in range(20):
            for j in range(i):
                assert sum(abs(columns[:, i] - columns[:, j])) <= F(2 * 5 * (i - j), 35)


def middle_of(label):
    """Of a cell of numbers: 7 and 5–9 hold whole ones, 5 to 5.5 all between its ends."""
    first, _, last = label.replace(" to ", "–").partition("–")
    return (F(first) + F(last or first)) / 2


@pytest.mark.parametrize(
    "asked",
    [
        "density age width 1",
        "density age width 3",
        "density age width 2 every 1",
        "density age width 4 every 5",
        "density age width 2 every 0.25",
        "density income width 10 every 5",
    ],
)
def test_a_density_lies_around_the_numbers_that_records_have(asked):
    """All records at 50 lie around 50, whether cells are called by whole numbers or by fractions of them."""
    rows = parse(asked).on(UNIVERSE)
    income = "income" in asked
    shape = [attribute.size for attribute in UNIVERSE.attributes]
    record = [0] * len(shape)
    record[2 if income else 1] = 10 if income else 50
    cell = int(np.ravel_multi_index(record, shape))
    parts = [F(int(x)) * answer.recipe.factor for x, answer in zip(rows.dense()[:, cell], rows.answers, strict=True)]
    center = sum(part * middle_of(answer.label) for part, answer in zip(parts, rows.answers, strict=True))
    assert sum(parts) == 1
    assert abs(center - (F(105, 2) if income else 50)) < F(1, 20)  # coarse cells have their middles elsewhere


def test_plans_and_files_say_what_the_ends_of_a_density_hold(tmp_path):
    people = pd.DataFrame({"age": [0, 50, 99] * 40})
    universe = dx.Universe([dx.Integers(name="age", low=0, high=99)])
    policy = dx.Policy.parse('title="t"\ndataset="t"\n[attributes.age]\nintegers=[0,99]\nepsilon=1\nper=10\n')
    assert policy.universe == universe
    with dx.Session(policy, people, ledger=tmp_path / "ledger.db", new_ledger=True) as session:
        plan = session.plan("density age width 5 every 5", budget="50%")
        release = session.release(plan)
    said = "what would lie beyond counts in the first cell (0–4) and in the last (95–99)"
    assert said in " ".join(str(plan).split())
    notes = json.loads(release.to_json())["notes"]
    assert any(said in note for note in notes)
    assert list(verify_data(json.loads(release.to_json())))


def test_a_plan_chooses_widths_from_public_numbers_and_says_so():
    few, many = (dx.plan(["median age", "density income"], GRADED, n_records=n) for n in (100, 100_000))
    widths = [[query.width for query in plan.queries.queries] for plan in (few, many)]
    assert all(a > b > 0 for a, b in zip(*widths, strict=True))
    assert "ranks are smoothed over" in str(few)
    assert "counts evenly over" in " ".join(str(few).split())
    assert dx.plan("median age", GRADED, n_records=100).queries == dx.plan("median age", GRADED, n_records=100).queries


def test_soft_borders_have_far_less_noise_where_neighbors_are_well_protected():
    asked = ("count where age=18..65", "count where age=18..65 blur 5")
    hard, soft = (dx.plan(query, GRADED, n_records=1000).errors[0].half_width for query in asked)
    assert soft < hard / 10


def test_a_median_may_be_planned_or_chosen():
    assert str(dx.plan_selection(dx.median_of("age"), POLICY).pick) == "median age"
    with pytest.raises(QueryError, match="a single value of all records"):
        dx.plan_selection(dx.median_of("age", by="sex"), POLICY)
