"""Strategy 3 of the paper, repaired: never NaN, never over the budget, at most as many rounds as rows."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dxprivacy as dx
from contracts.oracle_brute import brute
from contracts.random_models import random_metric, random_queries
from dxprivacy.errors import SeparatesIdentical
from dxprivacy.mechanisms.linear.planning.constraints import fill, of_what_is_left
from dxprivacy.mechanisms.linear.planning.planner import make_plan
from dxprivacy.optimize.pair_constraints import DensePairs


def as_printed(Q, d):
    """The rounds of the paper with the repairs of MATH correction 11, pair by pair and row by row."""
    k, n = Q.shape
    pairs = [(i, j) for i in range(n) for j in range(i)]
    left = {(i, j): d[i, j] for i, j in pairs}
    apart = {(i, j): np.abs(Q[:, i] - Q[:, j]) for i, j in pairs}
    total, rounds = np.zeros(k), 0
    alive = [r for r in range(k) if any(apart[p][r] for p in pairs)]
    while alive:
        rounds += 1
        alone = {r: max(apart[p][r] / left[p] for p in pairs if apart[p][r]) for r in alive}
        budget = {p: sum(apart[p][r] / alone[r] for r in alive) / left[p] if left[p] else 0.0 for p in pairs}
        more = {r: 1 / (alone[r] * max(budget[p] for p in pairs if apart[p][r])) for r in alive}
        for p in pairs:
            left[p] -= sum(more[r] * apart[p][r] for r in alive)
            left[p] = left[p] if left[p] > 1e-12 * d[p] else 0.0
        for r in alive:
            total[r] += more[r]
        alive = [r for r in alive if all(left[p] for p in pairs if apart[p][r])]
    return total, rounds


class Counting:
    """Counts the rounds of the proportions it passes on."""

    def __init__(self, proportions):
        self.proportions, self.rounds = proportions, 0

    def __call__(self, room):
        self.rounds += 1
        return self.proportions(room)


@pytest.mark.parametrize("kind", ["uniform", "binary"])
def test_it_is_the_strategy_of_the_paper_with_its_repairs(kind):
    rng = np.random.default_rng(3)
    for _ in range(15):
        n, k = int(rng.integers(2, 9)), int(rng.integers(1, 7))
        points = rng.uniform(0, 10, (n, 2))
        Q = rng.uniform(0, 1, (k, n)) if kind == "uniform" else rng.integers(0, 2, (k, n)).astype(float)
        d = np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))
        first, second = np.triu_indices(n, 1)
        pairs = DensePairs(np.ascontiguousarray(Q.T), first, second, d[first, second])
        counted = Counting(of_what_is_left(pairs, np.ones(k)))
        limited = np.isfinite(pairs.own()[0])
        w = fill(pairs, counted, np.where(limited, np.inf, 0.0), jointly=False)
        expected, rounds = as_printed(Q, d)
        assert w == pytest.approx(expected, rel=1e-9)
        assert counted.rounds == rounds <= k


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False))
def test_it_never_overspends_on_any_pair_in_fractions(rng):
    metric = random_metric(rng)
    queries = random_queries(rng, metric.universe)
    try:
        plan = make_plan(queries, metric, method="psa", n_records=100)
    except SeparatesIdentical:
        return
    assert all(math.isfinite(s) for s in plan.scales)
    assert brute(plan.cost, metric) == plan.certificate.ratio <= 1


def test_a_row_stops_at_its_target_and_the_others_get_what_it_leaves():
    d = dx.metrics.constant(2, 1)
    rows = [dx.matrix([[1, 0]], within=12), dx.matrix([[0, 1]])]
    plan = make_plan(rows, d, method="psa")
    assert plan.errors[0].half_width == 12
    target = plan.scales[0]
    assert plan.scales[1] == pytest.approx(1 / (1 - 1 / target), rel=1e-6)


def test_filling_from_a_start_that_used_up_a_pair_leaves_who_touches_it_alone():
    lines = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
    first, second = np.triu_indices(3, 1)
    pairs = DensePairs(lines, first, second, np.array([1.0, 3.0, 1.0]))
    start = np.array([1.0, 0.0])  # the first pair is used up; the first row touches it
    for jointly in (True, False):
        w = fill(pairs, of_what_is_left(pairs, np.ones(2)), np.full(2, np.inf), start, jointly=jointly)
        assert w == pytest.approx([1.0, 1.0])
