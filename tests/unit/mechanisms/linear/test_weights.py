"""Weights: a more important query gets less noise; the certificate does not know of them."""

import json
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import strategies as st

import dxprivacy as dx
from contracts.long_forms import drawn
from contracts.methods import OWN
from contracts.random_models import random_metric, random_queries
from dxprivacy.errors import DxError, QueryError, UsageError
from dxprivacy.mechanisms.linear.plan import load_plan
from dxprivacy.policy.query_files import AskFile, read_queries
from dxprivacy.privacy.certificate import certify
from dxprivacy.queries.stored_queries import from_dict
from dxprivacy.queries.text.query_grammar import parse

POLICY = dx.Policy.parse(
    'title = "T"\ndataset = "t"\n'
    '[attributes.sex]\nvalues = ["M", "F"]\nepsilon = 1\n'
    "[attributes.age]\nintegers = [0, 99]\nepsilon = 1\nper = 10\n"
    "[attributes.weight]\nintegers = [0, 9]\nepsilon = 1\nper = 1\n"
)
AGES, TWENTIES = "count by age/10", "count by age/20"  # both have an edge at 20: they share its budget


def errors(plan):
    """The worst error of each query."""
    out = {}
    for answer, error in zip(plan.workload.answers, plan.errors, strict=True):
        out[answer.query] = max(out.get(answer.query, 0.0), error.rmse)
    return [out[k] for k in sorted(out)]


@pytest.mark.parametrize("method", OWN)
def test_a_larger_weight_means_a_smaller_error_for_that_query_and_larger_ones_for_others(method):
    plans = [dx.plan([AGES, parse(TWENTIES).weighted(w)], POLICY.metric, method=method) for w in (1, 2, 8, 1000)]
    first, second = zip(*map(errors, plans), strict=True)
    assert all(after < 0.95 * before for before, after in pairwise(second)), second
    assert all(after > before for before, after in pairwise(first)), first
    for plan in plans:
        assert plan.certificate.ratio <= 1


def test_two_queries_that_share_one_budget_split_it_by_the_cube_root_of_their_weights():
    metric = dx.metrics.constant(2, 1)
    row = [[1.0, 0.0]]
    plan = dx.plan([dx.matrix(row), dx.matrix(row, weight=8)], metric, method="equal-split")
    assert plan.scales == pytest.approx((3.0, 1.5))
    # No other split has a smaller weighted error: 1/w1^2 + 8/w2^2 with w1 + w2 = 1.
    best = min(1 / w**2 + 8 / (1 - w) ** 2 for w in np.linspace(0.01, 0.99, 9801))
    assert plan.scales[0] ** 2 + 8 * plan.scales[1] ** 2 == pytest.approx(best, rel=1e-6)


@drawn(st.randoms(use_true_random=False), st.sampled_from((*OWN, "auto")), fast=4, full=15)
def test_weight_one_and_equal_weights_are_no_weights(rng, method):
    metric = random_metric(rng)
    asked = random_queries(rng, metric.universe)
    try:
        plain = dx.plan(asked, metric, method=method, n_records=100)
    except DxError:
        return
    ones = [_weighted(q, 1) for q in asked.queries]
    assert dx.plan(ones, metric, method=method, n_records=100).to_dict() == plain.to_dict()
    threes = [_weighted(q, 3) for q in asked.queries]
    assert dx.plan(threes, metric, method=method, n_records=100).scales == plain.scales


@drawn(st.randoms(use_true_random=False), st.integers(2, 50), st.sampled_from((*OWN, "auto")), fast=10, full=40)
def test_whatever_the_weights_the_plan_is_certified(rng, weight, method):
    metric = random_metric(rng)
    asked = [_weighted(q, weight**k) for k, q in enumerate(random_queries(rng, metric.universe).queries)]
    try:
        plan = dx.plan(asked, metric, method=method, n_records=100)
    except DxError:
        return
    assert plan.certificate.ratio <= 1
    assert certify(plan.cost, metric).ratio == plan.certificate.ratio


def _weighted(query, weight):
    return replace(query, weight=Fraction(weight))


def test_all_ways_of_giving_a_weight_are_the_same():
    asked = parse("count by sex within 10 weight 2.5")
    assert asked.weight == Fraction(5, 2)
    assert asked == dx.table("sex", within=10, weight=2.5)
    assert asked == from_dict(json.loads(json.dumps(asked.to_dict())))
    assert parse(str(asked)) == asked
    text = '[[query]]\ntext = "count by sex within 10"\nweight = 2.5\n'
    fields = '[[query]]\ncount = true\nby = "sex"\nwithin = 10\nweight = 2.5\n'
    assert [read_queries(AskFile.parse(t)).queries for t in (text, fields)] == [(asked,), (asked,)]
    matrix = dx.matrix([[1, 0]], weight=3)
    assert from_dict(matrix.to_dict()).weight == 3


def test_an_attribute_called_weight_can_still_be_asked_for():
    assert parse("mean weight") == dx.mean_of("weight")
    assert parse("count by weight weight 3") == dx.table("weight", weight=3)
    assert parse("count where weight=3..5 weight 3") == dx.count(weight=(3, 5)).weighted(3)
    assert parse("count weight 2").weight == 2


def test_weights_survive_the_plan_file_and_labels_do_not_show_them():
    plan = dx.plan(["count where sex=F weight 4", "count by age/10"], POLICY.metric)
    again = load_plan(plan.to_dict(), POLICY.metric, dataset="")
    assert (again.request, again.scales) == (plan.request, plan.scales)
    assert plan.workload.answers[0].label == "count where sex=F"
    many = str(dx.plan("count by age weight 4", POLICY.metric))
    assert "weight 4" not in many


@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf"), "heavy", None, True, "", 1e7, 1e-7, [2], "1e400"])
def test_bad_weights_are_refused_in_every_front_end(bad):
    with pytest.raises(UsageError, match="weight"):
        dx.table("sex", weight=bad)
    with pytest.raises(UsageError, match="weight"):
        dx.count().weighted(bad)
    if bad not in ("", None, True) and not isinstance(bad, list):
        with pytest.raises(QueryError, match="weight") as caught:
            parse(f"count by sex weight {bad}")
        assert caught.value.hints
    with pytest.raises(QueryError) as caught:
        from_dict({"ask": "count", "weight": bad if isinstance(bad, str) else str(bad)})
    assert caught.value.hints
    written = {None: "''", True: "true", "": "''", "heavy": "'heavy'", "1e400": "1e400"}
    text = f"[[query]]\ncount = true\nweight = {written.get(bad, bad) if not isinstance(bad, list) else bad}\n"
    with pytest.raises(QueryError) as caught:
        read_queries(AskFile.parse(text))
    assert caught.value.where == "queries:3"


def test_a_weight_without_a_number_or_given_twice_is_refused():
    with pytest.raises(QueryError, match="weight of how much"):
        parse("count weight")
    assert parse("count weight 2 within 10") == parse("count within 10 weight 2")
    with pytest.raises(QueryError, match="is given twice"):
        parse("count weight 2 within 10 weight 3")
    with pytest.raises(QueryError, match="given twice"):
        read_queries(AskFile.parse('[[query]]\ntext = "count weight 2"\nweight = 3\n'))
