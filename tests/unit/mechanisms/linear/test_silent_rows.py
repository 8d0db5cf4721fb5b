"""Rows that nothing limits are answered exactly, and every bound knows that they are no number's business."""

import math

import numpy as np
import pytest

import dxprivacy as dx
from dxprivacy.errors import NotCertified
from dxprivacy.exact.arrays import highest, numbers_only
from dxprivacy.privacy import largest_loss, max_ratio
from dxprivacy.privacy.costs import LaplaceCost

ADD_REMOVE = """
title = "Presence"
dataset = "presence"
neighbors = "add-remove"
epsilon_presence = 1
max_records = 1000
[attributes.age]
integers = [0, 59]
epsilon = 1
per = 1
[attributes.zip]
integers = [0, 59]
epsilon = 1
per = 1
"""


@pytest.mark.parametrize("method", ["optimal", "same-scale", "fill", "psa", "equal-split", "auto"])
def test_a_row_of_noughts_gets_no_noise(method):
    plan = dx.plan([[0, 0, 0], [0, 1, 0]], dx.metrics.constant(3, 1), method=method)
    assert not plan.measured.as_asked or plan.scales[0] == 0
    assert plan.errors[0].half_width == 0
    assert plan.errors[1].rmse <= math.sqrt(2) * 1.001


def test_the_gap_is_that_of_the_rows_with_noise():
    plan = dx.plan([[0, 0, 0], [0, 1, 0]], dx.metrics.constant(3, 1), method="optimal")
    assert plan.scales == (0.0, 1.0)
    assert plan.certificate.gap <= 1e-9
    assert plan.certificate.lower_bound <= 1 <= plan.certificate.lower_bound * (1 + 1e-9)


def test_a_row_that_changes_only_where_the_policy_is_public_gets_no_noise():
    far = math.inf
    d = dx.metrics.from_matrix([[0, far, far], [far, 0, 1], [far, 1, 0]])
    for method in ("optimal", "same-scale"):
        assert dx.plan([[1, 0, 0], [0, 1, 0]], d, method=method).scales == (0.0, 1.0)


def test_the_guarantee_of_many_records_beside_a_row_of_noughts_is_not_nothing():
    policy = dx.Policy.parse(ADD_REMOVE)
    asked = [dx.table("age", "zip"), dx.sum_of("age", where={"age": (0, 0)})]
    plan = dx.plan(asked, policy.metric, method="same-scale")
    assert plan.scales[-1] == 0
    worst, _ = largest_loss(plan.cost)
    assert 0.5 < worst < math.inf
    assert plan.worst_epsilon == worst
    assert plan.certificate.ratio > 0


def test_exact_rows_under_a_metric_with_public_pairs_are_bounded_without_a_nan():
    d = dx.metrics.per_element([math.inf] * 3)
    plan = dx.plan([[1, 0, 0], [0, 0, 0]], d)
    assert max_ratio(plan.cost, d).upper == 0


def test_what_is_no_number_passes_no_maximum():
    with pytest.raises(NotCertified, match="not a number"):
        highest(0.0, math.nan)
    with pytest.raises(NotCertified, match="not a number"), numbers_only():
        np.array([math.inf]) * np.array([0.0])


def test_a_loss_that_is_no_number_is_refused():
    workload = dx.matrix([[0, 1, 0]]).on(dx.metrics.constant(3, 1).universe)
    cost = LaplaceCost(workload, [1.0])
    cost.__dict__["_weights"] = np.array([math.nan])
    for bound in (lambda: max_ratio(cost, dx.metrics.constant(3, 1)), lambda: largest_loss(cost)):
        with pytest.raises(NotCertified):
            bound()
