"""Metrics built from others, graphs, thresholds and series; and the corrections to the paper that concern them."""

import itertools
import math
import random
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dxprivacy as dx
from contracts.check_metric import check_metric
from contracts.long_forms import seeds
from contracts.oracle_brute import brute
from contracts.random_models import derived_metric, random_metric, random_queries, random_scales
from dxprivacy import metrics
from dxprivacy.errors import DxError, MetricError
from dxprivacy.mechanisms.linear.planning.planner import make_plan
from dxprivacy.privacy import max_ratio, sensitivity
from dxprivacy.privacy.costs import LaplaceCost
from dxprivacy.universe.universe import Universe


def thirty_metrics(rng):
    """Thirty metrics of all kinds and combinations, small enough for all triples in fractions."""
    found = 0
    while found < 30:
        draw = random_metric if rng.random() < 0.4 else derived_metric
        metric = draw(rng, places=rng.random() < 0.3)
        if metric.universe.size <= 30:
            found += 1
            yield metric


@pytest.mark.parametrize("seed", seeds(10, fast=3))
def test_three_hundred_random_metrics_are_metrics_and_max_ratio_by_rule_equals_all_pairs_in_fractions(seed):
    rng = random.Random(seed)
    for metric in thirty_metrics(rng):
        assert metrics.check_metric(metric)
        workload = random_queries(rng, metric.universe).on(metric.universe)
        loss = LaplaceCost(workload, random_scales(rng, workload))
        assert max_ratio(loss, metric).upper == brute(loss, metric)


def test_the_three_hundred_are_of_all_kinds():
    """Sums, maxima, caps, restrictions, series, graphs, places, tables, `other` and `absent`: none is forgotten."""
    kinds = set()
    for seed in range(10):
        for metric in thirty_metrics(random.Random(seed)):
            waiting = [metric.spec()]
            while waiting:
                item = waiting.pop()
                if isinstance(item, dict):
                    kinds |= {item["kind"]} if isinstance(item.get("kind"), str) else set()
                    waiting += item.values()
                elif isinstance(item, list):
                    waiting += [x for x in item if isinstance(x, (dict, list))]
    known = {"attribute-max", "attribute-sum", "capped", "constant", "euclidean", "graph", "great-circle", "line"}
    known |= {"matrix", "minkowski", "restricted", "scaled", "combined", "with-absent", "with-other"}
    assert known <= kinds


@settings(max_examples=50, deadline=None)
@given(st.randoms(use_true_random=False))
def test_every_derived_metric_is_a_metric_spanned_by_its_generators(rng):
    metric = derived_metric(rng, places=True)
    if metric.universe.size <= 30:
        check_metric(metric)


def test_the_printed_blowfish_threshold_is_no_metric_and_its_closure_is():
    """Correction 9: points at 0, T, 2T; printed, the outer two are public, but the way over the middle is 2."""
    printed = [[0, 1, math.inf], [1, 0, 1], [math.inf, 1, 0]]
    assert printed[0][2] > printed[0][1] + printed[1][2]
    assert metrics.blowfish([[0.0], [5.0], [10.0]], 1, threshold=5).exact(0, 2) == 2
    assert metrics.from_matrix(printed).exact(0, 2) == 2


@pytest.mark.parametrize("seed", range(50))
def test_plans_under_closed_blowfish_equal_plans_on_the_bare_threshold_edges(seed):
    rng = np.random.default_rng(seed)
    points = rng.uniform(0, 20, (12, 2)).round(3)
    reach = F(int(rng.integers(2, 10)))
    closed = metrics.blowfish(points, "0.7", threshold=reach)
    Q = rng.integers(0, 5, (2, 12)).astype(float)
    inside = ((points[:, None] - points) ** 2).sum(-1) <= float(reach) ** 2
    bare = max(
        (F(int(np.abs(Q[:, i] - Q[:, j]).sum())) / F(7, 10) for i in range(12) for j in range(i) if inside[i, j]),
        default=F(0),
    )
    assert sensitivity(Q, closed).upper == bare
    if bare:
        assert make_plan(Q, closed, method="same-scale").certificate.ratio <= 1


def test_the_smooth_threshold_is_a_metric_that_agrees_up_to_the_threshold():
    d = metrics.smooth([[0.0, 0], [1, 0], [30, 40]], 2, threshold=5)
    assert (d.exact(0, 1), d.exact(0, 2)) == (2, 20)
    check_metric(d)


def test_the_sum_of_two_metrics_needs_all_pairs_not_the_union_of_generators():
    """Two lines on six records: some pair is shorter than every way along neighbors of either."""
    u = Universe.listed("abcdef")
    one, two = metrics.LineMetric(u, range(6), F(1)), metrics.LineMetric(u, [0, 4, 1, 5, 2, 3], F(1))
    both = metrics.summed(one, two)
    check_metric(both)
    way = [[F(0) if i == j else math.inf for j in range(6)] for i in range(6)]
    for part in (one, two):
        for i, j in part.generators():
            for a, b in zip(i.tolist(), j.tolist(), strict=True):
                way[a][b] = way[b][a] = both.exact(a, b)
    for k, i, j in itertools.product(range(6), repeat=3):
        way[i][j] = min(way[i][j], way[i][k] + way[k][j])
    assert any(way[i][j] > both.exact(i, j) for i in range(6) for j in range(6))


def test_a_restriction_may_have_no_pair_that_differs_in_one_attribute():
    u = Universe([dx.Integers(name=n, low=0, high=1, has_other=False) for n in "ab"])
    d = metrics.attributes(u, {"a": 1, "b": 1})
    corners = metrics.restricted(d, [0, 3])
    assert corners.exact(0, 1) == 2
    assert sensitivity([[1, 0]], corners).upper == F(1, 2)


def test_kings_moves_are_enough_on_a_grid_of_a_million_cells():
    d = metrics.series_linf([100, 100, 100], "0.5")
    row = np.add.outer(np.add.outer(np.arange(100), np.arange(100)), np.arange(100)).ravel() % 7
    bound = sensitivity(row.astype(float), d)
    assert bound.rule == "generators"
    assert bound.upper == 12


def test_graphs_come_from_edge_lists_and_networkx_like_objects():
    class Fake:
        nodes = ("a", "b", "c")

        def edges(self, data):
            return [("a", "b", {"weight": "0.5"}), ("b", "c", {})]

        def is_directed(self):
            return False

    assert metrics.graph(Fake(), epsilon=2).exact(0, 2) == F(5, 2)
    assert metrics.graph([("a", "b"), ("c", "d")]).exact(0, 2) == math.inf
    assert metrics.graph([("a", "b", 3), ("b", "a", 1)]).exact(0, 1) == 1


@pytest.mark.parametrize(
    "edges", [[], [("a", "a")], [("a", "b", -1)], [("a", "b", float("nan"))], [("a",)], 5, [("a", "b", "x")], [1, 2]]
)
def test_bad_edges_are_refused(edges):
    with pytest.raises(DxError):
        metrics.graph(edges)


@pytest.mark.parametrize(
    "call",
    [
        lambda: metrics.dates("2026-01-02", "2026-01-01", 1, per_days=1),
        lambda: metrics.dates("yesterday", "2026-01-01", 1, per_days=1),
        lambda: metrics.dates("2026-01-01", "2026-02-01", 1, per_days=0),
        lambda: metrics.capped(metrics.line(3, 1), 0),
        lambda: metrics.scaled(metrics.line(3, 1), -1),
        lambda: metrics.restricted(metrics.line(3, 1), []),
        lambda: metrics.restricted(metrics.line(3, 1), [0, 0]),
        lambda: metrics.restricted(metrics.line(3, 1), [7]),
        lambda: metrics.summed(metrics.line(3, 1), metrics.line(4, 1)),
        lambda: metrics.summed(),
        lambda: metrics.minkowski([[0], [1]], 0.5, epsilon_per_unit=1),
        lambda: metrics.blowfish([[0], [1]], 1, threshold=0),
        lambda: metrics.smooth([[0], [1]], "inf", threshold=1),
        lambda: metrics.per_element([]),
    ],
)
def test_combinations_without_meaning_are_refused(call):
    with pytest.raises(DxError):
        call()


def test_dates_cost_epsilon_for_every_so_many_days():
    d = metrics.dates("2026-01-01", "2026-12-31", "0.5", per_days=7)
    assert d.universe.size == 365
    assert d.exact(0, 364) == 26
    assert d.universe.record(31) == {"date": "2026-02-01"}


def test_a_graph_that_is_not_connected_has_public_differences():
    d = metrics.graph([("a", "b"), ("c", "d")])
    assert d.has_infinite
    plan = make_plan([[1, 1, 0, 0]], d)
    assert plan.scales == (0.0,)


def test_the_larger_instead_of_the_smaller_budget_protects_the_wrong_value():
    """Discussion: with max in place of min the query N would get noise 1/eps_1 only."""
    smaller = metrics.per_value({"Y": "0.1", "N": 2})
    larger = metrics.constant(smaller.universe, 2)
    assert sensitivity([[0, 1]], smaller).upper == 10
    assert sensitivity([[0, 1]], larger).upper == F(1, 2)


def test_metric_errors_are_policy_errors():
    with pytest.raises(MetricError):
        metrics.graph([("a", "a")])
