"""Walks over trees of points against all pairs, in exact fractions: every embedding, wrapper and shape of rows."""

import math
from fractions import Fraction as F

import numpy as np
import pytest

from contracts.long_forms import mostly_slow, seeds
from contracts.oracle_brute import brute
from dxprivacy.metrics import metric as metrics_base
from dxprivacy.metrics.attribute_sum import AttributeSum
from dxprivacy.metrics.closed_forms import Constant, LineMetric
from dxprivacy.metrics.derived_metrics import Capped, CombinedMetric, Scaled
from dxprivacy.metrics.place_metrics import Euclidean, GreatCircle, Minkowski
from dxprivacy.metrics.with_other import WithAbsent, WithOther
from dxprivacy.privacy import max_ratio
from dxprivacy.privacy.costs import LaplaceCost, SelectionCost, SumCost
from dxprivacy.privacy.search import value_classes
from dxprivacy.trees import second_nearest
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.blocks import AlongAxis, Explicit, Factor, OneHot
from dxprivacy.universe.universe import Universe
from dxprivacy.universe.workload import Workload

SLACK = F(1, 1 << 40)


@pytest.fixture
def small_trees(monkeypatch):
    """Trees from two points on."""
    monkeypatch.setattr(metrics_base, "MANY_POINTS", 2)


def points(rng, n, dimensions):
    """Clusters, duplicates, straight lines, grids, an outlier."""
    kind = rng.integers(7)
    if kind == 0:
        out = rng.random((n, dimensions))
    elif kind == 1:
        out = rng.integers(0, 3, (n, 1)) * 10.0 + rng.random((n, dimensions)) * 1e-6
    elif kind == 2:
        out = rng.integers(0, 4, (n, dimensions)).astype(float)
    elif kind == 3:
        out = rng.random((n, 1)) * rng.integers(1, 4, dimensions)
    elif kind == 4:
        out = rng.random((n, dimensions))
        out[rng.integers(n)] = 1e9
    elif kind == 5:
        out = np.full((n, dimensions), 0.25)
        out[: n // 2] += rng.random((n // 2, dimensions))
    else:
        out = np.arange(n, dtype=float)[:, None] * np.ones(dimensions)
    if rng.random() < 0.3:
        out[rng.integers(n)] = out[rng.integers(n)]
    return np.ascontiguousarray(out[rng.permutation(n)])


def places(rng, n):
    """A metric over n points, wrapped or not; rational numbers with few digits."""
    alone = Universe([Integers(name="place", low=0, high=n - 1, has_other=False)])
    per_unit = F(int(rng.integers(1, 9)), 8)
    kind = rng.integers(5)
    if kind == 0:
        degrees = points(rng, n, 2)
        size = max(np.abs(degrees).max(), 1.0)
        degrees = np.stack([degrees[:, 0] / size * 90, degrees[:, 1] / size * 360], axis=1)
        if rng.random() < 0.3:
            degrees[: n // 3] = np.round(degrees[: n // 3] / 90) * 90
        metric = GreatCircle(alone, degrees, per_unit)
    elif kind == 1:
        metric = Euclidean(alone, points(rng, n, int(rng.integers(1, 5))), per_unit)
    else:
        p = (1, math.inf, 3)[kind - 2]
        metric = Minkowski(alone, points(rng, n, int(rng.integers(1, 5))), per_unit, p)
    for _ in range(rng.integers(3)):
        reach = metric.farthest.distance if metric.farthest else 1.0
        part = F(float(rng.choice([0.01, 0.3, 0.9])) * reach)
        wrap = rng.integers(3)
        metric = (
            Scaled(metric, F(int(rng.integers(1, 9)), 4))
            if wrap == 0
            else Capped(metric, part)
            if wrap == 1
            else CombinedMetric("max", [Constant(alone, part), metric])
        )
    return metric


def with_other(rng, metric):
    """The star around `other`, sometimes so near that it brings everything closer."""
    n = metric.universe.size
    universe = Universe([Integers(name="place", low=0, high=n - 1, has_other=True)])
    reach = metric.farthest.distance if metric.farthest else 1.0
    return WithOther(universe, metric, rng.choice([F(0.2 * reach), F(2 * reach), math.inf]))


def rows_over(rng, universe):
    """A block that depends on the first attribute: dense rows, one row, or a table."""
    n = universe.shape[0]
    kind, high = rng.integers(5), int(rng.choice([2, 100, 10**9]))
    many = int(rng.integers(1, 21))
    if kind == 0 and len(universe.shape) == 1:
        matrix = rng.integers(-high, high, (many, universe.size))
        if universe.absent is not None:
            matrix[:, universe.absent] = 0
        return Explicit(universe, matrix)
    if kind == 1:
        return AlongAxis(universe, 0, rng.integers(-high, high, (many, n)))
    factors = {0: Factor(rng.integers(-1, many, n), rng.integers(-high, high, n))}
    if kind == 2:
        factors = {0: Factor(rng.integers(0, many, n), np.ones(n, dtype=np.int64))}
    sizes = {0: many}
    if len(universe.shape) > 1 and rng.random() < 0.6:
        m = universe.shape[1]
        factors[1] = Factor(rng.integers(-1, 2, m), rng.integers(1, 5, m))
        sizes[1] = 2
    return OneHot(universe, factors, sizes)


def a_loss(rng, universe):
    """One cost or several."""

    def cost():
        workload = Workload(universe, tuple(rows_over(rng, universe) for _ in range(rng.integers(1, 3))), ())
        scales = rng.choice([0.5, 1.0, 3.0, 7.25], workload.rows)
        if rng.random() < 0.03:
            scales[rng.integers(len(scales))] = 0.0
        return (SelectionCost if rng.random() < 0.3 else LaplaceCost)(workload, scales)

    return cost() if rng.random() < 0.7 else SumCost(universe, [cost(), cost()])


def an_instance(rng):
    """A metric whose first attribute are places, and a loss over it."""
    metric = places(rng, int(rng.integers(2, 40)))
    if rng.random() < 0.4:
        metric = with_other(rng, metric)
    if rng.random() < 0.25:
        second = Values(name="sex", values=("a", "b", "c"), has_other=False)
        universe = Universe([*metric.universe.attributes, second])
        other = (
            LineMetric(Universe([second]), range(3), F(1, 3))
            if rng.random() < 0.5
            else Constant(Universe([second]), F(1))
        )
        metric = AttributeSum(universe, [metric, other])
    if rng.random() < 0.15:
        universe = Universe(metric.universe.attributes, max_records=10)
        metric = WithAbsent(universe, metric, F(3, 2))
    return metric, a_loss(rng, metric.universe)


def compare(seed):
    """The bound is right, attained, and (nearly) equal to the largest ratio in fractions."""
    rng = np.random.default_rng(seed)
    metric, loss = an_instance(rng)
    bound, truth = max_ratio(loss, metric), brute(loss, metric)
    if truth == math.inf:
        assert bound.upper == math.inf
        assert metric.exact(*bound.witness) == 0 or loss.exact(*bound.witness) == math.inf
        return
    assert truth <= bound.upper * (1 + metric.slack)
    assert bound.upper <= truth * (1 + SLACK) or "upper bound" in bound.rule
    assert bound.lower <= truth
    if truth and "upper bound" not in bound.rule:
        assert loss.exact(*bound.witness) / metric.exact(*bound.witness) >= truth / (1 + SLACK)


@pytest.mark.parametrize("group", mostly_slow(range(15), [5, 10]))
def test_a_walk_finds_the_largest_ratio_of_all_pairs(small_trees, group):
    for seed in range(group * 20, group * 20 + 20):
        compare(seed)


@pytest.mark.soak
@pytest.mark.parametrize("group", range(150))
def test_a_walk_finds_the_largest_ratio_of_all_pairs_in_three_thousand_cases(small_trees, group):
    for seed in range(10_000 + group * 20, 10_000 + group * 20 + 20):
        compare(seed)


@pytest.mark.parametrize("seed", range(60))
def test_closest_and_farthest_places_by_trees_are_those_of_all_pairs(monkeypatch, seed):
    metric = places(np.random.default_rng(seed), 30)
    plain = places(np.random.default_rng(seed), 30)
    monkeypatch.setattr(metrics_base, "MANY_POINTS", 2)
    assert metric.tree is not None
    near, far, same = metric.closest, metric.farthest, metric.identical
    monkeypatch.setattr(metrics_base, "MANY_POINTS", 10**9)
    for ours, theirs in ((near, plain.closest), (far, plain.farthest)):
        assert (ours is None) == (theirs is None)
        if ours is not None:
            assert ours.distance == pytest.approx(theirs.distance, rel=1e-12)
            assert float(metric.exact(*ours.pair)) == pytest.approx(ours.distance, rel=1e-9)
    assert same == plain.identical
    assert metric.has_infinite == plain.has_infinite


@pytest.mark.parametrize("seed", range(80))
def test_closest_pairs_between_classes_by_trees_are_those_of_all_pairs(monkeypatch, seed):
    rng = np.random.default_rng(seed)
    metric = places(rng, int(rng.integers(20, 60)))
    if rng.random() < 0.5:
        metric = with_other(rng, metric)
    classes = rng.integers(0, rng.integers(2, 5), metric.universe.size)
    classes = np.unique(classes, return_inverse=True)[1]

    def least():
        out = {}
        for u, v in value_classes.closest_between(metric, classes):
            for a, b in zip(u.tolist(), v.tolist(), strict=True):
                code = tuple(sorted((int(classes[a]), int(classes[b]))))
                out[code] = min(out.get(code, math.inf), metric.exact(a, b))
        return out

    monkeypatch.setattr(metrics_base, "MANY_POINTS", 2)
    ours = least()
    metric.__dict__.pop("tree", None)
    getattr(metric, "base", metric).__dict__.pop("tree", None)
    monkeypatch.setattr(metrics_base, "MANY_POINTS", 10**9)
    theirs = least()
    assert ours.keys() == theirs.keys()
    for code, d in theirs.items():
        assert d <= ours[code] <= d * (1 + 2 * metric.slack)


@pytest.mark.parametrize("seed", range(60))
def test_the_second_nearest_place_by_trees_is_that_of_all_pairs(seed):
    rng = np.random.default_rng(seed)
    metric = places(rng, int(rng.integers(3, 30)))
    while not hasattr(metric, "lengths"):
        metric = metric.base if hasattr(metric, "base") else metric.parts[1]
    n = metric.universe.size
    every = np.arange(n)
    d = metric.lengths(np.repeat(every, n), np.tile(every, n)).reshape(n, n)
    d[every, every] = np.inf
    d.sort(axis=1)
    for k, found in enumerate(second_nearest(metric.embedding)):
        assert (found != every).all()
        assert metric.lengths(every, found) == pytest.approx(d[:, k], rel=1e-9, abs=1e-9)


def test_ratios_too_small_for_floats_are_bounded_and_never_taken_for_nothing(small_trees):
    alone = Universe([Integers(name="place", low=0, high=2, has_other=False)])
    metric = Euclidean(alone, np.array([[0.0], [1e140], [3e140]]), F(1))
    loss = LaplaceCost(Workload(alone, (AlongAxis(alone, 0, np.array([[0, 1, 2]])),), ()), [1e200])
    bound, truth = max_ratio(loss, metric), brute(loss, metric)
    assert 0 < truth <= bound.upper


def test_very_many_equal_places_and_one_far_away_are_no_trouble(small_trees):
    n = 200_000
    alone = Universe([Integers(name="place", low=0, high=n, has_other=False)])
    metric = Euclidean(alone, np.append(np.zeros(n), 1e9)[:, None], F(1))
    rows = np.zeros((1, n + 1), dtype=np.int64)
    rows[0, n] = 5
    loss = LaplaceCost(Workload(alone, (AlongAxis(alone, 0, rows),), ()), [1.0])
    assert max_ratio(loss, metric).upper == F(5, 10**9)
    rows[0, 7] = 1
    loss = LaplaceCost(Workload(alone, (AlongAxis(alone, 0, rows),), ()), [1.0])
    bound = max_ratio(loss, metric)
    assert bound.upper == math.inf
    assert 7 in bound.witness


@pytest.mark.parametrize("seed", seeds(3, fast=1))
@pytest.mark.parametrize("crowd", mostly_slow([95, 100, 105], [100]))
def test_a_crowd_closer_than_the_sphere_can_tell_is_never_taken_for_decided(crowd, seed):
    """More pairs came back than are kept, and what was left out was once not said."""
    rng = np.random.default_rng(seed)
    degrees = np.column_stack([rng.uniform(-60, 60, 1_500), rng.uniform(-170, 170, 1_500)])
    degrees[:crowd] = np.column_stack([np.zeros(crowd), np.arange(1, crowd + 1) * 1e-14])
    degrees[crowd - 1] = degrees[crowd // 2] * [1, 1 + 1e-9]  # one pair is far closer than the others
    order = rng.permutation(1_500)
    u = Universe([Integers(name="home", low=0, high=1_499, has_other=False)])
    metric = GreatCircle(u, degrees[order], F(10**20))
    rows = OneHot(u, {0: Factor(np.arange(1_500), np.ones(1_500, dtype=np.int64))}, {0: 1_500})
    loss = LaplaceCost(Workload(u, (rows,), ()), np.ones(1_500))
    i, j = (int(np.flatnonzero(order == k)[0]) for k in (crowd - 1, crowd // 2))
    assert max_ratio(loss, metric).upper >= loss.exact(i, j) / metric.exact(i, j)
