"""Hard cases for the optimizer: singular systems, odd rows, distances at both ends, no time, other methods' losses."""

import json
import math
from fractions import Fraction as F
from pathlib import Path

import numpy as np
import pytest

import dxprivacy as dx
from contracts.methods import OWN
from contracts.plan_instances import OBJECTIVES, overspent
from dxprivacy.errors import SeparatesIdentical, UsageError
from dxprivacy.mechanisms.linear.planning.limiting_pairs import limits
from dxprivacy.mechanisms.linear.planning.methods import WORTH_IT
from dxprivacy.mechanisms.linear.planning.planner import chosen, make_plan, prepare
from dxprivacy.output.text.plan_text import plan_lines

SINGULAR = json.loads((Path(__file__).parent / "singular.json").read_text())


def points(n, seed=0):
    return dx.metrics.euclidean(np.random.default_rng(seed).uniform(0, 100, (n, 2)), epsilon_per_unit="0.01")


@pytest.mark.parametrize("loss", OBJECTIVES)
def test_a_system_that_was_singular_for_an_earlier_solver_is_solved(loss):
    Q = np.array([[int(x) for x in row] for row in SINGULAR["rows"]], dtype=float)
    d = dx.metrics.euclidean(np.array(SINGULAR["points"]), epsilon_per_unit=1)
    plan = make_plan(Q, d, method="optimal", objective=loss)
    assert plan.certificate.gap <= 1e-6
    assert overspent(plan.workload, plan.scales, d) == []


@pytest.mark.parametrize("loss", OBJECTIVES)
@pytest.mark.parametrize("factor", [1.0, 1e3, 1e9])
def test_constant_duplicated_and_wildly_scaled_rows_are_solved_and_constants_are_exact(factor, loss):
    rng = np.random.default_rng(5)
    Q = rng.uniform(0, 1, (4, 20))
    rows = [dx.matrix(Q), dx.matrix(Q * factor), dx.matrix(Q[:2] / factor), dx.matrix(np.ones((1, 20)))]
    d = points(20)
    plan = make_plan(rows, d, method="optimal", objective=loss)
    assert plan.certificate.gap <= 1e-6
    assert plan.scales[-1] == 0
    assert overspent(plan.workload, plan.scales, d) == []


def test_distances_at_both_ends_are_planned_together():
    apart = np.array([[0, 1e-6, 1, np.inf], [1e-6, 0, 1, np.inf], [1, 1, 0, np.inf], [np.inf] * 3 + [0]])
    d = dx.metrics.from_matrix(apart)
    for method in (*OWN, "auto"):
        plan = make_plan([[1, 1, 0, 3], [0, 2, 2, 7], [5, 5, 5, 0]], d, method=method)
        assert plan.scales[2] == 0  # only what is public tells the last record from the others
        assert overspent(plan.workload, plan.scales, d) == []


@pytest.mark.parametrize("method", [*OWN, "auto", "matrix"])
def test_a_distance_of_zero_that_a_row_separates_names_pair_and_query(method):
    d = dx.metrics.euclidean([[0, 0], [0, 0], [1, 1], [3, 1]], epsilon_per_unit=1)
    rows = [dx.matrix([[1, 1, 0, 5]]), dx.matrix([[1, 1, 0, 2], [2, 1, 1, 0]])]
    with pytest.raises(SeparatesIdentical, match="point 0 and point 1 have ε 0") as caught:
        make_plan(rows, d, method=method)
    assert "query" in caught.value.where


def test_one_row_is_the_closed_form_whatever_the_loss():
    d = points(30)
    row = [list(range(30))]
    closed = dx.sensitivity(row, d).upper
    for loss in OBJECTIVES:
        for method in ("auto", "optimal"):
            plan = make_plan(row, d, method=method, objective=loss)
            assert F(plan.scales[0]) >= closed > F(math.nextafter(plan.scales[0], 0))
            assert plan.certificate.gap <= 1e-12


def test_the_largest_error_is_least_for_strategy_two():
    Q, d = np.random.default_rng(1).uniform(0, 1, (6, 25)), points(25)
    largest, same = make_plan(Q, d, method="optimal", objective="max"), make_plan(Q, d, method="same-scale")
    assert max(largest.scales) == pytest.approx(max(same.scales), rel=1e-9)
    assert largest.certificate.gap <= 1e-9


@pytest.mark.parametrize("loss", OBJECTIVES)
def test_auto_takes_the_best_of_all_that_apply_and_says_how_close_it_is(loss):
    Q, d = np.random.default_rng(2).integers(0, 2, (8, 30)), points(30)
    _, task = prepare(Q, d, objective=loss)
    auto = chosen(task, "auto")
    others = [chosen(task, method) for method in (*OWN, *(["matrix"] if loss == "squared" else []))]
    for other in others:
        assert not task.better(task.merit(other), task.merit(auto), by=WORTH_IT), other.method
        if auto.measured.as_asked and other.measured.as_asked:
            assert not task.better(task.merit(other), task.merit(auto)), other.method
    assert not auto.measured.as_asked or auto.certificate.gap <= 1e-6


def test_auto_with_targets_never_misses_more_of_them_than_another_method():
    Q, d = np.random.default_rng(3).integers(0, 2, (8, 30)).astype(float), points(30)
    asked = [dx.matrix(Q[:5], within=150), dx.matrix(Q[5:])]
    _, task = prepare(asked, d)
    misses = {method: task.merit(chosen(task, method))[0] for method in (*OWN, "auto", "matrix")}
    assert misses["auto"] == min(misses.values())
    assert misses["same-scale"] > 0


def test_no_time_at_all_still_gives_a_certified_plan():
    Q, d = np.random.default_rng(4).uniform(0, 1, (12, 40)), points(40)
    for method in (*OWN, "auto", "matrix"):
        plan = make_plan(Q, d, method=method, seconds=1e-9)
        assert plan.certificate.ratio <= 1
        assert overspent(plan.counted, plan.scales, d) == []
    hurried = make_plan(Q, d, seconds=1e-9)
    assert hurried.method == "same-scale"
    assert hurried.certificate.gap is None
    assert "stopped looking for less noise after 1e-09 s" in str(hurried)


def test_with_time_enough_the_clock_changes_nothing():
    Q, d = np.random.default_rng(4).uniform(0, 1, (12, 40)), points(40)
    assert make_plan(Q, d, seconds=500).to_dict() == make_plan(Q, d).to_dict()


def test_progress_is_told_a_gap_that_closes():
    told = []
    Q, d = np.random.default_rng(4).uniform(0, 1, (12, 40)), points(40)
    plan = make_plan(Q, d, method="optimal", progress=told.append)
    assert told
    assert told[-1] == pytest.approx(plan.certificate.gap, abs=1e-9)
    assert min(told) <= 1e-6


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), "soon", True])
def test_times_that_make_no_sense_are_refused(seconds):
    with pytest.raises(UsageError, match="seconds"):
        make_plan([[1, 0]], dx.metrics.constant(2, 1), seconds=seconds)


def test_the_page_says_how_close_the_plan_is_where_that_is_known():
    Q, d = np.random.default_rng(2).uniform(0, 1, (8, 30)), points(30)
    close = "within 0.01 % of the best Laplace plan for these rows"
    assert close in " ".join(str(make_plan(Q, d, method="optimal")).split())
    assert close not in " ".join(str(make_plan(Q, d, method="psa")).split())
    assert "best Laplace plan" not in str(make_plan([[1, 1, 1]], dx.metrics.constant(3, 1)))  # exact: no noise at all


def test_every_answer_of_an_optimal_plan_is_explained_by_a_pair_that_is_used_up_and_told_of_the_others():
    Q, d = np.random.default_rng(2).integers(0, 2, (8, 30)).astype(float), points(30)
    plan = make_plan(Q, d, method="optimal")
    found = limits(plan)
    assert all(limit.used == pytest.approx(1, rel=1e-6) for limit in found)
    used = {}
    for i in range(30):
        for j in range(i):
            if float(plan.cost.exact(j, i)) >= (1 - 1e-6) * float(d.exact(j, i)):
                used[j, i] = Q[:, i] != Q[:, j]
    for row, limit in enumerate(found):
        assert limit.pair in used or limit.pair[::-1] in used
        assert limit.also == sum(bool(rows[row]) for rows in used.values()) - 1
    row = max(range(8), key=lambda k: found[k].also)
    assert found[row].also > 1
    text = " ".join(" ".join(plan_lines(plan, why=f"row {row + 1}")).split())
    assert f"{found[row].also} other pairs are as tight for it." in text


def test_rows_that_share_a_scale_claim_no_bound_on_those_that_would_not():
    names = [dx.Values(name=n, values=tuple(map(str, range(40)))) for n in "abc"]
    d = dx.metrics.attributes(dx.Universe(names), dict.fromkeys("abc", 1))
    asked = [dx.table("a", "b"), dx.table("b", "c"), dx.table("a", "c")]
    plan = make_plan(asked, d)
    assert plan.certificate.ratio <= 1
    _, task = prepare(asked, d)
    assert (plan.certificate.gap is None) == (not task.system.by_row)
