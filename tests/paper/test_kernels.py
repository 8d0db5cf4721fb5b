"""The fast forms that figures are measured with are the product's own numbers."""

import numpy as np
import pytest

import dxprivacy as dx
from dxprivacy.mechanisms.linear.planning.standard_quantiles import standard_sensitivities
from dxprivacy.paper.experiment import SIZE, Settings
from dxprivacy.paper.kernels import Reach, improvement, own_scales, quantiles
from dxprivacy.paper.metric_families import FAMILIES, family_metric
from dxprivacy.paper.range_strategies import POLICIES, asked_total, measure, pairs_within
from dxprivacy.paper.strategies_by_k import METHODS, certified_scales, random_matrix
from dxprivacy.paper.thresholds import KINDS, THRESHOLDS, threshold_metric

SETTINGS = Settings(universes=3, seed=11, quick=True)


def agrees(queries, metric):
    fast = own_scales(queries, Reach.of(metric))
    exact = [float(dx.sensitivity(query[None, :], metric).upper) for query in queries]
    np.testing.assert_allclose(fast, exact, rtol=1e-6)


@pytest.mark.parametrize("family", FAMILIES)
def test_scales_of_many_queries_are_their_sensitivities(family):
    rng = np.random.default_rng(5)
    metric = family_metric(family, SETTINGS.points(1), rng)
    queries = np.vstack([rng.uniform(0, 1, (3, SIZE)), rng.integers(0, 2, (2, SIZE)), np.ones((1, SIZE))])
    agrees(queries, metric)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reach", THRESHOLDS)
def test_scales_under_thresholds_are_sensitivities_under_the_closed_metric(kind, reach):
    agrees(SETTINGS.uniform_queries(0)[:2], threshold_metric(kind, SETTINGS.points(0), reach))


def test_the_improvement_factor_is_that_of_a_plan():
    metric = dx.metrics.euclidean(SETTINGS.points(2), epsilon_per_unit=1)
    queries = SETTINGS.uniform_queries(2)[:4]
    factors = improvement(queries, Reach.of(metric), metric.closest.distance)
    for query, factor in zip(queries, factors, strict=True):
        plan = dx.plan(query[None, :], metric)
        (plain,) = plan.baselines.queries[0].scales
        assert factor == pytest.approx(plain / plan.scales[0], rel=1e-6)


def test_a_query_that_nothing_limits_gains_infinitely_and_quantiles_bear_it():
    far = Reach.of(dx.metrics.blowfish([[0.0], [9.0]], 1, threshold=1))
    assert len(far.distances) == 0
    factors = improvement(np.array([[0.0, 1.0]]), far, 1.0)
    assert np.isinf(factors).all()
    assert quantiles(np.array([1.0, 2.0, np.inf, np.inf]), (0.0, 0.25, 0.5, 1.0)) == [1.0, 1.0, 2.0, np.inf]


@pytest.mark.parametrize("kind", ["uniform", "binary"])
@pytest.mark.parametrize("rows", [1, 4])
def test_measured_scales_are_those_of_plans(kind, rows):
    metric = dx.metrics.euclidean(SETTINGS.points(0), epsilon_per_unit=1)
    Q = random_matrix(SETTINGS, 0, kind, rows)
    found = certified_scales(Q, metric)
    for method in METHODS:
        plan = dx.plan(Q, metric, method=method, objective="geometric" if method == "optimal" else "squared")
        assert tuple(found.by_method[method]) == plan.scales
        plain = standard_sensitivities(plan.workload)[0] / metric.closest.distance
        factors = plain / np.array(plan.scales)
        assert found.factor(method) == pytest.approx(float(np.exp(np.log(factors).mean())), rel=1e-12)
        assert plan.certificate.ratio <= 1


def all_ranges(n):
    cells = np.arange(n)
    return np.array([(cells >= a) & (cells <= b) for a in range(n) for b in range(a, n)], dtype=float)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("n", [2, 8, 16])
def test_totals_of_ranges_are_those_of_plans(policy, n):
    epsilon = "0.001"  # so much noise that the steps of the grid do not show
    reach = POLICIES[policy]
    cells = np.arange(float(n))[:, None]
    metric = dx.metrics.blowfish(cells, epsilon, threshold=reach or n)
    per = 1e-6
    asked = dx.plan(all_ranges(n), metric, method="same-scale")
    assert per * (asked.expected_rmse**2).sum() == pytest.approx(asked_total(n, *pairs_within(n, reach)), rel=1e-4)
    measured = measure(SETTINGS, (policy, n))
    counted = dx.plan(all_ranges(n), metric, method="matrix")
    assert per * (counted.expected_rmse**2).sum() <= measured.ours * (1 + 1e-3)
    assert measured.limit <= measured.ours * (1 + 1e-9)
    if policy == "line":
        assert measured.ours == pytest.approx(2 * n * (n - 1), rel=1e-6)  # prefix counts
