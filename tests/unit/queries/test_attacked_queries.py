"""What an attacker found in queries of several rows, before anybody had them in a release."""

import json
import math

import numpy as np
import pytest

import dxprivacy as dx
from dxprivacy.errors import QueryError, TooLarge
from dxprivacy.verify import verify_data

UNIVERSE = dx.Universe(
    [
        dx.Values(name="sex", values=("F", "M")),
        dx.Integers(name="age", low=0, high=99),
        dx.Numbers(name="inc", low=10, high=110, step=5),
    ]
)
LINE = {"epsilon": "0.1", "per": 1}
POLICY = dx.metrics.attributes(UNIVERSE, {"sex": 1, "age": LINE, "inc": {"epsilon": "0.1", "per": 5}})


def verified(plan):
    return [check.name for check in verify_data(json.loads(json.dumps(plan.to_dict())))][-1] == "worst case"


def test_quantiles_of_one_query_have_errors_of_their_own():
    plan = dx.plan("quantile 0.25, 0.5, 0.9 of age by sex", POLICY, n_records=3000)
    by_share = [error.rmse for error in plan.errors[:3]]
    assert by_share[1] < by_share[0] < by_share[2]  # the middle one needs no count, and 0.9 leans on it most
    assert verified(plan)


# Not made small: what once stopped it is this plan.
def test_a_candidate_that_cannot_be_worked_out_does_not_stop_a_plan():
    assert verified(dx.plan(["proportion where sex=F", "correlation age, inc", "median age"], POLICY, n_records=300))


@pytest.mark.parametrize(
    ("asked", "truth"),
    [
        ("count where a=other blur 1", 100),
        ("count where not a=3 blur 1", 110 + 2 / 7),
        ("count where a=other or a>=4 blur 1", 110 + 2 / 7),
        ("count by a[0,4] blur 1", 5 / 7),
        ("median a width 0", 5),
        ("quantile 0.95 of a width 0", 9),
    ],
)
def test_what_is_missing_counts_whole_where_it_is_wanted_and_ranks_are_of_valid_numbers(asked, truth):
    universe = dx.Universe([dx.Integers(name="a", low=0, high=10)])
    counts = np.zeros(universe.size, dtype=np.int64)
    counts[5], counts[9], counts[11] = 10, 1, 100
    plan = dx.plan(asked, dx.metrics.attributes(universe, {"a": math.inf}), n_records=111)
    row = plan.by_hand(counts).answers[0]
    assert (row.value, row.low, row.high) == pytest.approx((truth, truth, truth))
    assert row.exact
    assert verified(plan)


@pytest.mark.parametrize(
    ("asked", "truth"), [("median a width 0", 7), ("variance a", 0.96), ("sd a", math.sqrt(0.96)), ("mean a", 7.8)]
)
def test_where_a_column_is_complete_what_is_invalid_counts_as_declared(asked, truth):
    universe = dx.Universe([dx.Integers(name="a", low=0, high=10, complete=True, other_value=7)])
    counts = np.zeros(universe.size, dtype=np.int64)
    counts[9], counts[11] = 4, 6
    plan = dx.plan(asked, dx.metrics.attributes(universe, {"a": math.inf}), n_records=10)
    assert plan.by_hand(counts).answers[0].value == pytest.approx(truth)
    assert verified(plan)


def test_smoothed_quantiles_are_never_called_exact():
    universe = dx.Universe([dx.Integers(name="a", low=0, high=10, has_other=False)])
    public = dx.metrics.attributes(universe, {"a": math.inf})
    counts = np.arange(11)
    smooth, plain = (dx.plan(f"median a width {w}", public, n_records=55).by_hand(counts).answers[0] for w in (4, 0))
    assert not smooth.exact
    assert plain.exact
    assert plain.value == np.quantile(np.repeat(np.arange(11), counts), 0.5, method="inverted_cdf")


def test_a_sum_over_itself_is_verified():
    universe = dx.Universe([dx.Integers(name="a", low=1, high=6), dx.Values(name="sex", values=("F", "M"))])
    policy = dx.metrics.attributes(universe, {"a": LINE, "sex": 1})
    assert verified(dx.plan("ratio of sum a to sum a by sex", policy, n_records=50))


def test_a_chosen_width_leaves_something_to_be_said():
    """Two ramps over the whole range would have an interval of all of it, whatever the noise."""
    plan = dx.plan("median age by sex", POLICY, n_records=1200, budget="10%")
    assert plan.queries.queries[0].width <= 20
    assert plan.errors[0].half_width < 50


@pytest.mark.slow  # fewer values fit
def test_many_values_take_no_more_memory_than_there_is():
    wide = dx.Universe([dx.Integers(name="x", low=0, high=99_999)])
    policy = dx.metrics.attributes(wide, {"x": {"epsilon": "0.1", "per": 100}})
    assert dx.plan("median x", policy, n_records=100_000).queries.queries[0].width >= 1_000
    for asked in ("median x width 50", "density x width 40 every 20", "count by x blur 5"):
        with pytest.raises(TooLarge):
            dx.plan(asked, policy, n_records=100_000)


@pytest.mark.parametrize("asked", ["median age", "density age width 10", "count by age/10 blur 2"])
def test_synthetic_records_do_not_follow_soft_counts_and_say_so_at_once(asked):
    with pytest.raises(QueryError, match="not from quantiles, densities or soft borders"):
        dx.plan_synthesis(asked, POLICY, n_records=100)
