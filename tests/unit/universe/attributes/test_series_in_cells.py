"""A column of a series of numbers is in cells like any other: nothing cuts them, and labels say what is counted."""

import json

import numpy as np
import pytest

import dxprivacy as dx
from dxprivacy.errors import QueryError
from dxprivacy.mechanisms.linear.planning.planner import make_plan
from dxprivacy.queries.asking import gather
from dxprivacy.queries.text.query_grammar import parse
from dxprivacy.universe.attributes.binned_numbers import Numbers
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.attributes.series_of_numbers import Series
from dxprivacy.verify import verify


def series(bin_value="middle", **more):
    entry = Numbers(name="p", low=0, high=10, step=2, bin_value=bin_value, **more)
    return dx.Universe([Series(name="p", columns=("a", "b"), entry=entry, unit="kg")])


PLAIN = dx.Universe([Numbers(name="a", low=0, high=10, step=2)])
CUTS = ["count where p.a=0..3", "count where p.a=1..4", "count by p.a[0,5]", "count by p.a/3", "ranges p.b/5"]
TOTALS = [
    "count where p.total=0..10",
    "count where total=1..2",
    "count by p.total",
    "count by total/4",
    "prefixes total",
]


@pytest.mark.parametrize("text", CUTS)
@pytest.mark.parametrize("bin_value", ["low", "middle", "high"])
def test_what_cuts_a_cell_of_a_series_is_refused(text, bin_value):
    with pytest.raises(QueryError, match="inside a step"):
        gather(text).on(series(bin_value))


@pytest.mark.parametrize("text", TOTALS)
def test_totals_of_numbers_in_cells_cannot_be_told_apart(text):
    with pytest.raises(QueryError, match="known only in bins"):
        gather(text).require_honest(series())


@pytest.mark.parametrize("text", ["mean p.total", "sum p.a by p.b/4", "count where p=other", "mean p.a where p.b=2..6"])
def test_whatever_cuts_nothing_is_answered(text):
    gather(text).require_honest(series())


@pytest.mark.parametrize("bin_value", ["low", "middle", "high"])
@pytest.mark.parametrize(
    ("of_series", "of_plain"),
    [
        ("count where p.a=0..4", "count where a=0..4"),
        ("count where p.a=4..10", "count where a=4..10"),
        ("count where p.a=1", "count where a=1"),
        ("count where p.a=0|9.5", "count where a=0|9.5"),
        ("count by p.a", "count by a"),
        ("count by p.a/4", "count by a/4"),
        ("count by p.a[2,6]", "count by a[2,6]"),
        ("prefixes p.a", "prefixes a"),
    ],
)
def test_a_column_counts_and_is_labeled_as_the_same_numbers_alone(bin_value, of_series, of_plain):
    """The first column changes slowest: each of its cells is five series."""
    ours, alone = (parse(text).on(u) for text, u in ((of_series, series(bin_value)), (of_plain, PLAIN)))
    assert ours.dense()[:, :25].tolist() == np.repeat(alone.dense()[:, :5], 5, axis=1).tolist()
    assert [a.label.replace("p.a ", "a ") for a in ours.answers] == [a.label for a in alone.answers]


def test_the_ends_of_a_series_that_clamps_are_labeled_as_what_they_hold():
    u = dx.Universe([Series(name="p", columns=("a",), entry=Integers(name="p", low=0, high=5, clamp=True))])
    assert parse("count where p.a=5").on(u).answers[0].label == "count where p.a 5 or more"
    assert parse("count where p.a=0..2").on(u).answers[0].label == "count where p.a 2 or less"
    with pytest.raises(QueryError, match="outside the range"):
        gather("count where p.a=7").require_honest(u)


def test_plans_over_columns_of_a_series_are_verified(tmp_path):
    u = series("high", clamp=True)
    d = dx.metrics.attributes(u, {"p": {"epsilon": 1, "per": 2}})
    asked = ["count where p.a=0..4", "count by p.b", "mean p.a where p.b=2..6", "count by p.a/4", "count where p.a=1|9"]
    plan = make_plan(asked, d, n_records=100, method="same-scale")
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(plan.to_dict()))
    assert list(verify(path))
