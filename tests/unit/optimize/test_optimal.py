"""The least noise: never above any other strategy, with a bound that nobody can beat, in exact arithmetic."""

import math
import random
import zlib
from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_array

import dxprivacy as dx
from contracts.random_models import random_metric, random_queries
from dxprivacy.errors import DxError, SeparatesIdentical, UsageError
from dxprivacy.mechanisms.linear.planning.planner import make_plan
from dxprivacy.optimize import barrier
from dxprivacy.optimize.barrier import lower_bound, objective_of, optimize
from dxprivacy.optimize.pair_constraints import SparsePairs


def instance(rng, n, k, kind):
    points = rng.uniform(0, 100, (n, 2))
    if kind == "binary":
        Q = rng.integers(0, 2, (k, n)).astype(float)
    elif kind == "smooth":
        Q = np.cos(points @ rng.normal(0, 0.05, (2, k)) + rng.uniform(0, 6, k)).T
    else:
        Q = rng.uniform(0, 1, (k, n))
    return Q, dx.metrics.euclidean(points, epsilon_per_unit=0.01)


def measured(plan, loss):
    s = np.array(plan.scales)[np.array(plan.scales) > 0]
    return {"squared": (s**2).sum(), "absolute": s.sum(), "max": s.max(initial=0), "geometric": np.log(s).sum()}[loss]


@pytest.mark.parametrize("loss", ["squared", "absolute", "max", "geometric"])
@pytest.mark.parametrize("kind", ["uniform", "binary", "smooth"])
def test_no_strategy_beats_it_and_its_gap_is_small(kind, loss):
    rng = np.random.default_rng(zlib.crc32(f"{kind} {loss}".encode()))
    for n, k in ((2, 1), (7, 8), (30, 5), (50, 10), (60, 40)):
        Q, d = instance(rng, n, k, kind)
        best = make_plan(Q, d, method="optimal", objective=loss)
        assert best.certificate.ratio <= 1
        if loss != "max" and best.certificate.gap is not None:
            assert best.certificate.gap <= 1e-6
        for method in ("equal-split", "same-scale", "fill"):
            other = measured(make_plan(Q, d, method=method), loss)
            mine = measured(best, loss)
            assert mine <= other + 1e-9 * max(abs(other), 1)


def test_random_models_of_all_kinds_are_solved_or_refused_by_our_error():
    rng = random.Random(4)
    done = 0
    while done < 60:
        metric = random_metric(rng, places=True, plain=True)
        queries = random_queries(rng, metric.universe)
        loss = rng.choice(["squared", "absolute", "geometric", "max"])
        try:
            plan = make_plan(queries, metric, n_records=100, method="optimal", objective=loss)
        except SeparatesIdentical:
            continue
        done += 1
        assert plan.certificate.ratio <= 1
        assert all(math.isfinite(s) for s in plan.scales)
        assert plan.certificate.gap is None or plan.certificate.gap <= 1e-6


def test_the_lower_bound_is_below_every_feasible_point():
    rng = np.random.default_rng(1)
    from scipy.sparse import csr_array

    rows = rng.uniform(0, 1, (40, 6))
    pairs = SparsePairs(csr_array(rows), np.ones(40))
    a = rng.uniform(0.1, 3, 6)
    for p in (0, 1, 2):
        found = optimize(pairs, a, p, np.full(6, np.inf))
        assert (pairs.used(found.w) <= 1 + 1e-12).all()
        for _ in range(200):
            w = rng.uniform(0, 1, 6) ** 2 + 1e-9
            w /= pairs.used(w).max()
            assert objective_of(w, a, p) >= found.lower_bound - 1e-9 * abs(found.lower_bound)
            assert lower_bound(rows, rng.uniform(0, 1, 40), a, p) <= found.loss + 1e-9 * abs(found.loss)


def test_one_query_is_the_closed_form():
    d = dx.metrics.line(5, "0.5")
    plan = make_plan([[0, 1, 3, 3, 4]], d, method="optimal")
    assert plan.scales[0] == pytest.approx(4, rel=1e-9)
    assert dx.sensitivity([[0, 1, 3, 3, 4]], d).upper == Fraction(4)


def test_a_target_is_an_upper_bound_on_precision_and_what_is_left_stays():
    u = dx.Universe([dx.Values(name="sex", values=("M", "F")), dx.Integers(name="age", low=0, high=9)])
    d = dx.metrics.attributes(u, {"sex": 1, "age": {"epsilon": 1, "per": 1}})
    plan = make_plan([dx.table("sex", within=40), dx.table("age")], d, method="optimal")
    assert plan.errors[0].half_width <= 40
    assert plan.certificate.ratio <= 1


def test_duplicated_and_wildly_scaled_rows_are_solved():
    rng = np.random.default_rng(3)
    Q, d = instance(rng, 20, 6, "uniform")
    Q = np.vstack([Q, Q, Q * 1e6, Q[:1] * 0 + 1, Q[:2] * 1e-6])
    plan = make_plan(Q, d, method="optimal")
    assert plan.certificate.gap <= 1e-6
    assert plan.scales[18] == 0  # constant over the universe: exact


def test_no_variable_runs_away_where_scales_differ_by_ten_digits():
    """Once pairs were dropped until nothing limited some rows: their precision grew beyond all bounds."""
    rng = random.Random(26)
    metric = random_metric(rng, places=True, plain=True)
    plan = make_plan(random_queries(rng, metric.universe), metric, method="optimal", n_records=500)
    noisy = [s for s in plan.scales if s]
    assert max(noisy) > 1e10 * min(noisy)
    assert plan.certificate.gap <= 1e-8


@pytest.mark.parametrize(
    ("method", "loss"), [("optimal", "l3"), ("fill", "absolute"), ("psa", "geometric"), ("optimal", None)]
)
def test_losses_that_nobody_knows_are_refused(method, loss):
    with pytest.raises(UsageError, match="no objective"):
        make_plan([[1, 0]], dx.metrics.constant(2, 1), method=method, objective=loss)


def test_what_separates_identical_records_is_refused_with_its_pair():
    d = dx.metrics.from_matrix([[0, 0, 1], [0, 0, 1], [1, 1, 0]])
    with pytest.raises(DxError, match="identical"):
        make_plan([[1, 0, 0]], d, method="optimal")


@pytest.mark.parametrize("power", [0, 1, 2])
@pytest.mark.parametrize("seed", range(12))
def test_the_short_way_and_the_one_that_always_arrives_agree(seed, power, monkeypatch):
    rng = np.random.default_rng(seed)
    variables, pairs = int(rng.integers(2, 40)), int(rng.integers(40, 200))
    loads = csr_array(rng.uniform(0, 1, (pairs, variables)) * (rng.uniform(size=(pairs, variables)) < 0.3) + 1e-6)
    problem = SparsePairs(loads, rng.uniform(0.1, 10, pairs))
    a, caps = rng.uniform(0.1, 3, variables), np.where(rng.uniform(size=variables) < 0.2, 0.3, np.inf)
    short = optimize(problem, a, power, caps)
    monkeypatch.setattr(barrier, "_PRIMAL_DUAL", 0)
    long = optimize(problem, a, power, caps)
    assert short.gap <= 1e-8
    assert long.gap <= 1e-8
    assert short.loss == pytest.approx(long.loss, rel=1e-7, abs=1e-7)
