"""Plans: certified, never worse than the paper's simple strategies, honest about their errors."""

import dataclasses
import json
import math
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dxprivacy as dx
from contracts.long_forms import drawn
from contracts.oracle_brute import brute
from contracts.random_models import random_metric, random_queries
from dxprivacy.errors import DxError, NotCertified, QueryError, SeparatesIdentical, UsageError
from dxprivacy.formats.canonical import sealed
from dxprivacy.mechanisms.linear.noise.discrete_laplace_distribution import (
    half_width,
    mean_absolute,
    scale_for,
    variance,
)
from dxprivacy.mechanisms.linear.plan import load_plan
from dxprivacy.mechanisms.linear.planning.constraints import constraints, fill, fixed
from dxprivacy.mechanisms.linear.planning.planner import METHODS, make_plan, prepare
from dxprivacy.mechanisms.linear.planning.problem import Proposal
from dxprivacy.privacy.certificate import certify
from dxprivacy.privacy.costs import LaplaceCost
from dxprivacy.privacy.repair import parse_budget


@drawn(st.randoms(use_true_random=False), fast=8, full=35)
def test_every_plan_keeps_its_share_on_all_pairs_in_fractions(rng):
    metric = random_metric(rng)
    queries = random_queries(rng, metric.universe)
    budget = F(rng.randint(1, 10), 10)
    method = rng.choice(METHODS)
    try:
        plan = make_plan(queries, metric, method=method, budget=budget, n_records=1000)
    except SeparatesIdentical:
        assert metric.identical
        return
    except NotCertified:
        assert method in ("matrix", "k-norm", "biased")  # which do not apply to all queries
        return
    assert brute(plan.cost, metric) == plan.certificate.ratio <= budget
    assert all(math.isfinite(s) and s >= 0 for s in plan.scales)
    assert all(e.half_width >= 0 and math.isfinite(e.rmse) for e in plan.errors)
    str(plan)


@settings(max_examples=40, deadline=None)
@given(st.randoms(use_true_random=False))
def test_filling_is_never_worse_than_the_strategy_whose_proportions_it_takes(rng):
    metric = random_metric(rng, plain=True)
    workload = random_queries(rng, metric.universe).on(metric.universe)
    system = constraints(workload, metric, F(1))
    assert system is not None
    own = system.pairs.own()[0]
    finite = np.isfinite(own)
    if not finite.any():
        return
    caps = np.where(finite, np.inf, 0.0)
    own = np.where(finite, own, 0.0)
    assert (fill(system.pairs, fixed(own), caps) >= own / finite.sum() * (1 - 1e-9)).all()
    ones = np.where(finite, 1.0, 0.0)
    same = 1 / system.pairs.used(ones).max()
    assert (fill(system.pairs, fixed(ones), caps)[finite] >= same * (1 - 1e-9)).all()


def test_a_proposal_that_is_a_little_too_bold_is_repaired_until_it_fits():
    """No tolerance for optimizers: a ten-billionth too little noise is too little."""
    _, task = prepare([[1, 0, 0], [0, 2, 0]], dx.metrics.line(3, "0.3"), budget=F(1, 2))
    sound = make_plan([[1, 0, 0], [0, 2, 0]], dx.metrics.line(3, "0.3"), budget=F(1, 2), method="same-scale")
    for less in (0.0, 1e-12, 1e-10, 1e-3, 0.5):
        found = task.certified("bold", Proposal(tuple(s * (1 - less) for s in sound.scales)))
        assert found.certificate.ratio <= F(1, 2)
        assert certify(LaplaceCost(task.workload, found.scales), task.metric).ratio <= F(1, 2)


def test_uniform_metric_recovers_the_plain_laplace_scale():
    d = dx.metrics.constant(10, "0.5")
    assert make_plan(np.eye(10), d, method="same-scale").scales == (4.0,) * 10
    assert make_plan(np.eye(10)[:1], d).scales == (2.0,)


def test_single_query_is_the_closed_form():
    d = dx.metrics.line(5, "0.3")
    plan = make_plan([[0, 1, 5, 2, 2]], d)
    assert plan.certificate.ratio <= 1
    assert F(plan.scales[0]) >= F(40, 3) > F(math.nextafter(plan.scales[0], 0))


def test_equal_split_gives_every_row_its_part():
    d = dx.metrics.constant(4, 1)
    plan = make_plan([[1, 0, 0, 0], [0, 3, 0, 0]], d, method="equal-split")
    assert plan.scales == pytest.approx((2.0, 6.0))


def test_share_scales_everything():
    d = dx.metrics.constant(4, 1)
    assert make_plan([[1, 0, 0, 0]], d, budget="25%").scales == (4.0,)
    assert [parse_budget(s) for s in ("25%", " 25 %", "1/4", F(1, 4))] == [F(1, 4)] * 4
    for bad in (0, -1, "0%", "101%", "x", None, True, float("nan")):
        with pytest.raises(UsageError):
            parse_budget(bad)


def test_a_share_without_its_sign_gets_a_hint():
    with pytest.raises(UsageError, match="→ 30%"):
        parse_budget("30")


def test_a_target_stops_there_and_leaves_the_rest():
    d = dx.metrics.constant(4, 1)
    plan = make_plan(dx.matrix([[1, 0, 0, 0]], within=30), d)
    assert plan.errors[0].half_width == 30
    assert plan.certificate.ratio < F(1, 5)


def test_a_target_out_of_reach_gets_the_best_there_is():
    d = dx.metrics.constant(4, 1)
    plan = make_plan(dx.matrix([[1, 0, 0, 0]], within=1), d)
    assert plan.scales == (1.0,)


def test_two_plain_baselines():
    d = dx.metrics.line(11, "0.1")
    plan = make_plan([list(range(11))], d)
    (plain,) = plan.baselines.queries
    assert plain.epsilon == pytest.approx(0.1)
    assert plain.scales == pytest.approx((100,))
    assert plan.worst_epsilon == pytest.approx(1.0)
    assert plan.improvement[0] == pytest.approx(10, rel=0.05)


def test_separating_identical_records_names_the_pair_and_the_query():
    d = dx.metrics.euclidean([[0, 0], [0, 0], [1, 1]], epsilon_per_unit=1)
    with pytest.raises(SeparatesIdentical, match="point 0 and point 1 have ε 0"):
        make_plan(dx.table("point"), d)


def test_a_mean_needs_the_public_number_of_records():
    u = dx.Universe([dx.Integers(name="age", low=0, high=9)])
    d = dx.metrics.attributes(u, {"age": 1})
    with pytest.raises(QueryError, match="number of records"):
        make_plan(dx.mean_of("age"), d)


@pytest.mark.parametrize("rows", [-1, 1.5, True, "many"])
def test_an_odd_number_of_records_is_refused(rows):
    with pytest.raises(UsageError):
        make_plan([[1, 0]], dx.metrics.constant(2, 1), n_records=rows)


def test_overflow_is_refused_before_any_data_is_read():
    with pytest.raises(DxError, match="64 bits"):
        make_plan([[2**39 + 1, 1]], dx.metrics.constant(2, 1), n_records=10**9)


def test_noise_beyond_all_answers_is_refused():
    with pytest.raises(NotCertified):
        make_plan([[1, 0]], dx.metrics.constant(2, "1e-17"))


def test_unknown_methods_are_refused():
    with pytest.raises(UsageError, match="no method"):
        make_plan([[1, 0]], dx.metrics.constant(2, 1), method="best")


def test_a_plan_survives_json_and_an_edited_one_is_refused():
    u = dx.Universe([dx.Integers(name="age", low=0, high=9)])
    d = dx.metrics.attributes(u, {"age": {"epsilon": 1, "per": 3}})
    plan = make_plan(["mean age by age/5 within 0.5", "count where age=3..4"], d, n_records=100, budget="50%")
    data = json.loads(json.dumps(plan.to_dict()))
    again = load_plan(data, d)
    assert again.request == plan.request
    assert again.scales == plan.scales
    assert again.certificate == plan.certificate
    data["scales"][0] = (float.fromhex(data["scales"][0]) / 3).hex()
    with pytest.raises(UsageError, match="seal"):
        load_plan(data, d)
    with pytest.raises(NotCertified):
        load_plan(sealed(data), d)


def test_a_plan_of_another_policy_or_another_format_is_refused():
    d, e = dx.metrics.constant(2, 1), dx.metrics.constant(2, 2)
    data = make_plan([[1, 0]], d).to_dict()
    with pytest.raises(UsageError, match="another policy"):
        load_plan(data, e)
    damaged = (sealed(data | {"budget": "7"}), sealed(data | {"scales": ["x"]}))
    for broken in ({}, [], {"format": "dxprivacy-plan/5"}, sealed({"format": "dxprivacy-plan/5"}), *damaged):
        with pytest.raises(UsageError):
            load_plan(broken, d)


def test_replaced_scales_lose_their_certificate():
    plan = make_plan([[1, 0]], dx.metrics.constant(2, 1))
    weaker = dataclasses.replace(plan, scales=(0.5,))
    assert weaker.certificate.ratio == 2
    with pytest.raises(NotCertified):
        dx.laplace(weaker, [1, 2])


def test_planning_is_deterministic():
    d = dx.metrics.euclidean(np.random.default_rng(5).uniform(0, 9, (30, 2)), epsilon_per_unit="0.1")
    Q = np.random.default_rng(6).uniform(0, 1, (5, 30))
    assert make_plan(Q, d).to_dict() == make_plan(Q, d).to_dict()


@pytest.mark.parametrize("s", [0.05, 0.2, 0.5, 1.0, 3.3, 100.0, 1e6])
def test_the_discrete_law_is_summed_right(s):
    p = math.exp(-1 / s)
    z = np.arange(-int(60 * s) - 5, int(60 * s) + 6) if s < 1e4 else None
    if z is not None:
        pmf = (1 - p) / (1 + p) * np.exp(-np.abs(z) / s)
        assert pmf.sum() == pytest.approx(1)
        assert variance(s) == pytest.approx((pmf * z**2).sum(), rel=1e-6)
        assert mean_absolute(s) == pytest.approx((pmf * np.abs(z)).sum(), rel=1e-6)
        h = half_width(s)
        assert pmf[np.abs(z) <= h].sum() >= 0.95
        assert h == 0 or pmf[np.abs(z) <= h - 1].sum() < 0.95
    else:
        assert variance(s) == pytest.approx(2 * s * s, rel=1e-6)
        assert half_width(s) == pytest.approx(s * math.log(20), rel=1e-5)


@pytest.mark.parametrize("h", [0, 1, 2, 10, 997, 10**6])
def test_the_scale_for_a_target_is_the_largest_that_meets_it(h):
    s = scale_for(h)
    assert half_width(s) <= h
    assert half_width(s * (1 + 1e-6)) > h
