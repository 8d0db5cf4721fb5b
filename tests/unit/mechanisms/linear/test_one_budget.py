"""Where all queries share one budget, `auto` no longer ends with one scale for all of them."""

import itertools
import json

import numpy as np
import pytest

import dxprivacy as dx
from contracts.long_forms import mostly_slow, slow
from dxprivacy.mechanisms.linear.planning.planner import make_plan
from dxprivacy.verify import verify_data

NINE = (16, 7, 15, 6, 5, 2, 42, 9, 2)


def universe(sizes):
    values = [tuple(f"v{k}" for k in range(n)) for n in sizes]
    return dx.Universe([dx.Values(name=f"a{a}", values=v, has_other=False) for a, v in enumerate(values)])


def policy(sizes, *, presence=None):
    if presence is None:
        return dx.metrics.constant(universe(sizes), 1)
    return dx.metrics.with_absent(dx.metrics.constant(universe(sizes), 2 * presence), presence, max_records=10**6)


def two_way(sizes):
    return [f"count by a{i}, a{j}" for i, j in itertools.combinations(range(len(sizes)), 2)]


@pytest.mark.parametrize(
    ("presence", "at_most", "before"), mostly_slow([(None, 11_300, 27_632), (0.5, 12_050, 27_632)], 1)
)
def test_four_attributes_are_told_by_the_table_of_all(presence, at_most, before):
    metric = policy((4,) * 4, presence=presence)
    own, best = (dx.plan(two_way((4,) * 4), metric, method=m) for m in ("optimal", "auto"))
    totals = [float((plan.expected_rmse**2).sum()) for plan in (own, best)]
    assert totals[0] == pytest.approx(before, rel=1e-3)
    assert totals[1] <= at_most
    assert best.counted.rows == 4**4
    assert list(verify_data(json.loads(json.dumps(best.to_dict()))))


@pytest.mark.parametrize(("presence", "at_most", "before"), [slow(None, 60.7, 101.8), slow(1, 30.4, 50.9)])
def test_nine_attributes_no_longer_end_with_one_scale(presence, at_most, before):
    metric = policy(NINE, presence=presence)
    simple, best = (dx.plan(two_way(NINE), metric, method=m) for m in ("same-scale", "auto"))
    errors = [float(np.sqrt((plan.expected_rmse**2).mean())) for plan in (simple, best)]
    assert errors[0] == pytest.approx(before, rel=1e-3)
    assert errors[1] <= at_most
    assert len(set(best.scales)) > 10
    assert 1 - 1e-9 < best.certificate.ratio <= 1  # tight, though no pair was looked at of 10^16
    assert list(verify_data(json.loads(json.dumps(best.to_dict()))))


@pytest.mark.parametrize("presence", [None, 1])
def test_what_was_spent_before_is_respected(presence):
    """Both releases together, on every pair, in fractions."""
    metric = policy((4, 3, 2), presence=presence)
    first = make_plan(["count by a0", "count by a1"], metric, budget="50%")
    second = make_plan([*two_way((4, 3, 2)), "count by a0"], metric, budget="50%", spent=first.cost, method="matrix")
    assert not second.measured.as_asked
    for i, j in itertools.combinations(range(metric.universe.size), 2):
        assert first.cost.exact(i, j) + second.cost.exact(i, j) <= metric.exact(i, j)


def test_unconnected_queries_share_the_budget_of_standard_dp():
    metric = policy((4, 3, 5))
    plan = make_plan(["count by a0", "count by a1", "count by a2"], metric, method="matrix")
    assert not plan.measured.as_asked
    pairs = itertools.combinations(range(metric.universe.size), 2)
    assert max(plan.cost.exact(i, j) for i, j in pairs) == plan.certificate.ratio <= 1
