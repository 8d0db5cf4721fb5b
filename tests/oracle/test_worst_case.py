"""The standard-DP reading of costs, kept up to date by components and classes, against all pairs."""

import random

import numpy as np
import pytest

from contracts.random_models import random_metric, random_queries, random_scales
from dxprivacy.ledger.ledger_budget import SoFar, worst_of
from dxprivacy.privacy import largest_loss
from dxprivacy.privacy.costs import LaplaceCost, SelectionCost, SumCost
from dxprivacy.privacy.search.worst_case import WorstCase


def every_pair(loss):
    i, j = np.triu_indices(loss.universe.size, 1)
    return float(loss.pairwise(i.astype(np.int64), j.astype(np.int64)).max(initial=0.0))


def random_cost(rng, universe):
    workload = random_queries(rng, universe).on(universe)
    kind = SelectionCost if rng.random() < 0.2 else LaplaceCost
    return kind(workload, random_scales(rng, workload))


@pytest.mark.parametrize("seed", range(60))
def test_the_largest_loss_of_any_sum_is_that_of_all_pairs(seed):
    rng = random.Random(seed)
    metric = random_metric(rng)
    costs = [random_cost(rng, metric.universe) for _ in range(rng.randint(1, 4))]
    total = SumCost(metric.universe, costs)
    value, pair = largest_loss(total)
    truth = every_pair(total)
    assert truth * (1 - 1e-12) <= value <= truth * (1 + 1e-9)
    if pair is not None:
        assert float(total.exact(*pair)) == pytest.approx(value)


@pytest.mark.parametrize("seed", range(20))
def test_costs_added_one_by_one_are_as_large_as_all_at_once(seed):
    rng = random.Random(1000 + seed)
    metric = random_metric(rng)
    costs = [random_cost(rng, metric.universe) for _ in range(5)]
    so_far = SoFar.nothing(metric.universe)
    for k, cost in enumerate(costs):
        before = so_far.value
        so_far = so_far.plus(cost)
        assert so_far.value == pytest.approx(every_pair(SumCost(metric.universe, costs[: k + 1])), rel=1e-9)
        assert so_far.value >= before * (1 - 1e-12)
    assert worst_of(SumCost(metric.universe, costs)) == so_far.value
    assert so_far.up_to(costs) is so_far
    assert so_far.up_to(costs[:2]).value == pytest.approx(every_pair(SumCost(metric.universe, costs[:2])), rel=1e-9)


def test_where_combinations_are_too_many_it_is_bounded_and_never_below(monkeypatch):
    monkeypatch.setattr("dxprivacy.privacy.search.worst_case.MOST_COMBINATIONS", 2)
    for seed in range(40):
        rng = random.Random(seed)
        metric = random_metric(rng)
        costs = [random_cost(rng, metric.universe) for _ in range(2)]
        total = SumCost(metric.universe, costs)
        assert WorstCase(metric.universe).plus(total.terms).value >= every_pair(total) * (1 - 1e-9)
