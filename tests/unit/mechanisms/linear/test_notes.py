"""What a plan says besides its numbers is true of each query."""

import json
from fractions import Fraction

import numpy as np
import pytest

import dxprivacy as dx
from dxprivacy.mechanisms.linear.planning.plan_notes import notes
from dxprivacy.mechanisms.linear.planning.planner import make_plan
from dxprivacy.universe.attributes.attribute import Property
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.universe import Universe
from dxprivacy.verify import verify_data

U = Universe(
    [
        Integers(name="hour", low=0, high=23),
        Integers(name="month", low=1, high=12),
        Values(name="sex", values=("M", "F")),
    ]
)
D = dx.metrics.attributes(U, {"hour": {"epsilon": 1, "per": 4}, "month": {"epsilon": 1, "per": 3}, "sex": 1})


def said(*queries, rows=12_000):
    return notes(make_plan(list(queries), D, n_records=rows, method="same-scale"))


def test_a_mean_under_a_condition_is_reckoned_for_as_many_records_as_the_same_group():
    """It is the same number: how many records are in it is private either way."""
    plan = make_plan(["mean hour where month=1", "mean hour by month"], D, n_records=12_000, method="same-scale")
    alone, grouped = plan.errors[0], plan.errors[1]
    assert alone.half_width == pytest.approx(grouped.half_width)
    assert "means by group or condition: errors are for groups of 1,000 records, whose sizes are private" in " ".join(
        notes(plan)
    )


def test_a_condition_on_several_values_is_reckoned_for_their_part():
    one, six = (make_plan(f"mean hour where month={m}", D, n_records=12_000).errors[0] for m in ("1", "1..6"))
    assert one.half_width > 3 * six.half_width


def test_groups_that_a_condition_leaves_empty_are_no_groups():
    """Two states of three lie in the north, with four of six towns: a third of all people in each."""
    facts = {"state": "AABBCC", "side": "NNNNSS", "height": "123456"}
    town = Values(name="town", values=tuple("abcdef"), facts=tuple(Property(k, tuple(v)) for k, v in facts.items()))
    metric = dx.metrics.attributes(Universe([town, Values(name="sex", values=("M", "F"))]), {"town": 1, "sex": 1})
    asked = ["mean town.height by town.state where town.side=N", "mean town.height by town.state, sex where sex=F"]
    plan = make_plan(asked, metric, n_records=12_000, method="same-scale")
    assert [a.recipe.part for a in plan.workload.answers] == [Fraction(1, 3)] * 3 + [Fraction(1, 6)] * 6
    assert "certificate" in [found.name for found in verify_data(json.loads(json.dumps(plan.to_dict())))]
    months = make_plan("mean hour by month where month=1..6", D, n_records=12_000).workload.answers
    assert {a.recipe.part for a in months} == {Fraction(1, 12)}


def test_groups_of_different_sizes_are_each_named():
    text = " ".join(said("mean hour by month", "mean hour by sex", "mean hour where month=2", "mean hour"))
    assert "means: errors are for 12,000 records" in text
    assert "1,000 (mean hour by month and mean hour where month=2), 6,000 (mean hour by sex)" in text


def test_a_target_for_a_condition_is_not_called_reached_for_the_sake_of_everybody_else():
    few = make_plan("mean hour where month=1 within 0.1", D, n_records=12_000)
    all_ = make_plan("mean hour within 0.1", D, n_records=12_000)
    assert few.errors[0].half_width > 0.1
    assert all_.errors[0].half_width <= 0.1 * (1 + 1e-9)


def test_whom_no_group_holds_is_counted_attribute_by_attribute():
    text = " ".join(said("count by sex, month/3"))
    assert "records whose sex or month is missing or invalid are in no group" in text
    assert "to count them: count where sex=other, count where month=other" in text


def test_rounding_is_not_called_included_where_nobody_said_how_many_records_there_are():
    Q = np.array([[1e9 + 0.1, 1e9, 1e9 + 0.2]])
    unknown, known = (dx.plan(Q, dx.metrics.constant(3, 1), n_records=n) for n in (None, 100))
    assert "errors do not include it" in " ".join(notes(unknown))
    assert "errors include it" in " ".join(notes(known))
    assert known.errors[0].half_width >= 25
