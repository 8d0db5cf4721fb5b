"""Plans whose constraints are searched for along many points, against the same plans with all pairs listed."""

import numpy as np
import pytest

import dxprivacy as dx
from dxprivacy.errors import DxError
from dxprivacy.ledger import ledger_budget
from dxprivacy.mechanisms.linear.planning.planner import make_plan
from dxprivacy.metrics import metric as metrics_base
from dxprivacy.privacy import max_ratio, strictest_pair
from dxprivacy.privacy.costs import LaplaceCost
from dxprivacy.queries.asking import gather


def a_case(seed):
    """Points in the plane, and rows that tell nearly all of them apart."""
    rng = np.random.default_rng(seed)
    n, rows = int(rng.integers(20, 60)), int(rng.integers(2, 12))
    points = rng.random((n, 2)) * 10
    middle = rng.random((rows, 2)) * 10
    kind = seed % 3
    if kind == 0:
        queries = rng.integers(0, 50, (rows, n))
    elif kind == 1:
        queries = np.round(100 * np.exp(-((points - middle[:, None]) ** 2).sum(axis=2) / 20)).astype(int)
    else:
        queries = (np.abs(points - middle[:, None]).max(axis=2) < 3).astype(int)
    return dx.metrics.euclidean(points, epsilon_per_unit=0.5), queries


def both(monkeypatch, work):
    """With trees from two points on, and without any."""
    monkeypatch.setattr(metrics_base, "MANY_POINTS", 2)
    ours = work()
    monkeypatch.setattr(metrics_base, "MANY_POINTS", 10**9)
    return ours, work()


@pytest.mark.parametrize("seed", range(12))
def test_the_least_loss_is_the_same_whether_pairs_are_searched_for_or_listed(monkeypatch, seed):
    def loss():
        metric, queries = a_case(seed)
        plan = make_plan(queries, metric, method="optimal")
        assert plan.certificate.ratio <= plan.budget
        assert plan.certificate.gap <= 1e-6
        return float(np.sum(np.square(plan.scales)))

    ours, theirs = both(monkeypatch, loss)
    assert ours == pytest.approx(theirs, rel=1e-5)


@pytest.mark.parametrize("method", ["same-scale", "optimal", "fill", "psa"])
def test_searched_plans_fit_beside_what_was_spent(monkeypatch, method):
    def scales():
        metric, queries = a_case(1)
        first = make_plan(queries[:1], metric, method="same-scale", budget="50%")
        plan = make_plan(queries[1:], metric, method=method, spent=first.cost)
        total = dx.privacy.costs.SumCost(metric.universe, [first.cost, plan.cost])
        assert max_ratio(total, metric).upper <= 1
        return np.array(plan.scales)

    ours, theirs = both(monkeypatch, scales)
    if method == "same-scale":
        assert ours == pytest.approx(theirs, rel=1e-6)
    elif method == "optimal":
        assert np.square(ours).sum() == pytest.approx(np.square(theirs).sum(), rel=1e-5)


@pytest.mark.parametrize("seed", range(6))
def test_the_closest_places_told_apart_are_those_of_all_pairs(monkeypatch, seed):
    def closest():
        metric, queries = a_case(seed)
        return strictest_pair(gather(queries).on(metric.universe), metric).distance

    ours, theirs = both(monkeypatch, closest)
    assert ours == pytest.approx(theirs, rel=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_the_most_used_places_are_those_of_all_pairs(monkeypatch, seed):
    def used():
        metric, queries = a_case(seed)
        cost = LaplaceCost(gather(queries).on(metric.universe), np.arange(1.0, len(queries) + 1))
        spent = dx.privacy.costs.SumCost(metric.universe, [cost])
        budgets = [u.fraction for u in ledger_budget.most_used(spent, metric, 5)]
        return budgets + [u.fraction for u in ledger_budget.used_by_attribute(spent, metric)[metric.universe.names[0]]]

    ours, theirs = both(monkeypatch, used)
    assert ours == pytest.approx(theirs, rel=1e-12)


def test_what_fits_beside_the_spent_is_the_same_whether_pairs_are_searched_for_or_listed(monkeypatch):
    def hint():
        metric, queries = a_case(1)
        costs = [make_plan(queries[k : k + 2], metric, method="same-scale").cost for k in (0, 1)]
        with pytest.raises(DxError) as error:
            ledger_budget.require_budget([costs[0]], 1, costs[1], 1, metric)
        return [str(h) for h in error.value.hints if "budget" in str(h)]

    ours, theirs = both(monkeypatch, hint)
    assert ours == theirs
