"""Every fast path of max_ratio against all pairs, in exact fractions."""

import itertools
import math
import random
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dxprivacy as dx
from contracts.long_forms import drawn
from contracts.oracle_brute import brute
from contracts.random_models import random_metric, random_queries, random_scales
from dxprivacy import metrics
from dxprivacy.errors import MetricError
from dxprivacy.privacy import max_ratio, sensitivity
from dxprivacy.privacy.costs import LaplaceCost, SelectionCost, SumCost
from dxprivacy.privacy.search import generating_pairs, value_classes
from dxprivacy.queries.asking import count, gather, matrix, mean_of, sum_of, table
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.blocks import Factor, OneHot, block
from dxprivacy.universe.universe import Universe
from dxprivacy.universe.workload import Workload


@drawn(st.randoms(use_true_random=False), fast=40, full=150)
def test_max_ratio_equals_all_pairs_in_fractions(rng):
    metric = random_metric(rng)
    workload = random_queries(rng, metric.universe).on(metric.universe)
    scales = random_scales(rng, workload)
    if rng.random() < 0.1:
        scales[rng.randrange(len(scales))] = 0.0
    loss = LaplaceCost(workload, scales)
    bound = max_ratio(loss, metric)
    assert bound.upper == brute(loss, metric)
    assert bound.lower == bound.upper
    if bound.witness is not None and bound.upper not in (0, math.inf):
        assert loss.exact(*bound.witness) / metric.exact(*bound.witness) == bound.upper


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False))
def test_max_ratio_with_irrational_distances_is_an_upper_bound_within_two_to_the_minus_fifty(rng):
    metric = random_metric(rng, places=True)
    workload = random_queries(rng, metric.universe).on(metric.universe)
    loss = LaplaceCost(workload, random_scales(rng, workload))
    bound = max_ratio(loss, metric)
    truth = brute(loss, metric)
    assert bound.upper == truth
    assert bound.lower <= bound.upper
    assert bound.exact


@settings(max_examples=40, deadline=None)
@given(st.randoms(use_true_random=False))
def test_sums_of_costs_are_compared_like_single_ones(rng):
    metric = random_metric(rng)
    costs = []
    for _ in range(rng.randint(1, 3)):
        workload = random_queries(rng, metric.universe).on(metric.universe)
        costs.append(LaplaceCost(workload, random_scales(rng, workload)))
    total = SumCost(metric.universe, costs)
    assert max_ratio(total, metric).upper == brute(total, metric)


@settings(max_examples=30, deadline=None)
@given(st.randoms(use_true_random=False))
def test_exact_losses_are_those_of_the_dense_rows_one_by_one_and_together(rng):
    metric = random_metric(rng)
    universe, size = metric.universe, metric.universe.size
    workload = random_queries(rng, universe).on(universe)
    Q, scales = workload.dense(), random_scales(rng, workload)
    if rng.random() < 0.3:
        scales[rng.randrange(len(scales))] = 0.0
    costs = [LaplaceCost(workload, scales), SelectionCost(workload, scales)]
    pairs = [(rng.randrange(size), rng.randrange(size)) for _ in range(12)]
    i, j = np.array(pairs).T
    for cost, joined in zip(costs, (sum, max), strict=True):
        expected = []
        for a, b in pairs:
            apart = [(abs(int(x) - int(y)), s) for x, y, s in zip(Q[:, a], Q[:, b], scales, strict=True) if x != y]
            expected.append(joined((F(x) / F(s) if s else math.inf for x, s in apart), **EMPTY[joined]))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(block, "ENTRIES_AT_ONCE", rng.choice([1, 5 * workload.rows, 1 << 22]))
            assert cost.exacts(i, j) == expected
            twice = SumCost(universe, [cost, cost])
            assert twice.exacts(i, j) == [2 * x for x in expected]
        assert [cost.exact(a, b) for a, b in pairs] == expected


EMPTY = {sum: {"start": F(0)}, max: {"default": F(0)}}


@settings(max_examples=40, deadline=None)
@given(st.randoms(use_true_random=False))
def test_too_many_contexts_give_a_sound_upper_bound_that_says_so(rng):
    """The same instances, forced onto the loose rules: never below the truth, and labeled."""
    metric = random_metric(rng, axes=3)
    workload = random_queries(rng, metric.universe).on(metric.universe)
    loss = LaplaceCost(workload, random_scales(rng, workload))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(generating_pairs, "MAX_PAIRS", 0)
        patch.setattr(generating_pairs, "_CONSTANT_COLUMNS", 0)
        bound = max_ratio(loss, metric)
    truth = brute(loss, metric)
    assert bound.upper >= truth >= bound.lower
    if bound.upper > truth:
        assert "upper bound" in bound.rule


@settings(max_examples=40, deadline=None)
@given(st.randoms(use_true_random=False))
def test_reducing_to_the_closest_pair_of_two_classes_loses_nothing(rng):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(value_classes, "_DENSE_CLASSES", 0)
        metric = random_metric(rng, places=True)
        workload = random_queries(rng, metric.universe).on(metric.universe)
        loss = LaplaceCost(workload, random_scales(rng, workload))
        plain = max_ratio(loss, metric)
    assert max_ratio(loss, metric).upper == plain.upper


@pytest.mark.parametrize("seed", range(12))
def test_among_very_many_pairs_that_floats_cannot_tell_apart_the_largest_is_found(seed):
    """As a filled plan leaves them: all pairs used up alike, but for the last digits."""
    rng = random.Random(seed)
    n = rng.randint(40, 60)
    metric = metrics.constant(n, F(rng.randint(1, 9), 7))
    scales = [(1 + rng.randint(0, 40) * 2.0**-52) * rng.choice([1.0, 1.0, 3.0]) for _ in range(2 * n)]
    identity = np.eye(n, dtype=int)
    loss = LaplaceCost(matrix(np.vstack([identity, 5 * identity])).on(metric.universe), scales)
    costs = [loss, LaplaceCost(matrix(identity).on(metric.universe), scales[:n])]
    for one in (loss, SumCost(metric.universe, costs)):
        bound = max_ratio(one, metric)
        assert bound.upper == bound.lower == brute(one, metric)


class Blurred(metrics.Matrix):
    """A table whose floats are off by nearly as much as they may be."""

    error = 2.0**-20
    sign = 1

    def pairwise(self, i, j):
        off = np.where((i * j + i + j) % 2, 0.9, -0.9) * self.error * self.sign
        return super().pairwise(i, j) * (1 + off)


@pytest.mark.parametrize("seed", range(20))
def test_the_largest_ratio_is_found_though_every_float_is_off(seed):
    rng = random.Random(seed)
    n = 9
    tables = []
    for _ in range(2):
        rows = [[F(0)] * n for _ in range(n)]
        for i, j in itertools.combinations(range(n), 2):
            rows[i][j] = rows[j][i] = 1 + F(rng.randint(0, 40), 1 << 23)
        tables.append(Blurred.of(Universe.listed(range(n)), rows))
    loss, metric = tables
    metric.sign = -1
    truth = max(loss.exact(i, j) / metric.exact(i, j) for i, j in itertools.combinations(range(n), 2))
    assert max_ratio(loss, metric).upper == truth


def test_one_metric_can_be_compared_with_another():
    line, constant = metrics.line(9, 1), metrics.constant(9, 2)
    assert max_ratio(line, constant).upper == 4
    assert max_ratio(constant, line).upper == 2


def test_a_metric_that_rounds_down_is_rounded_up_again_where_it_is_the_loss():
    """Of two places 1.4142… apart `exact` is a little less; as a loss it may not count for less than it is."""
    places = metrics.euclidean([[0, 0], [1, 1]], epsilon_per_unit=1)
    unit = metrics.constant(places.universe, 1)
    bound = max_ratio(places, unit)
    assert bound.lower**2 <= 2 <= bound.upper**2
    assert bound.exact


def test_different_universes_cannot_be_compared():
    with pytest.raises(MetricError):
        max_ratio(metrics.line(3, 1), metrics.line(4, 1))


def test_many_values_in_few_classes_are_reduced_to_the_closest_pair():
    d = metrics.line(1000, 1)
    row = (np.arange(1000) // 250 % 2).astype(float)
    b = sensitivity(row, d)
    assert (b.upper, b.rule) == (1, "line")


def test_a_marginal_of_many_values_has_sensitivity_two():
    u = Universe([Values(name="a", values=tuple(map(str, range(42)))), Values(name="b", values=("x", "y"))])
    d = metrics.attributes(u, {"a": 1, "b": 1})
    assert sensitivity(table("a"), d).upper == 2
    assert sensitivity(table("a", "b"), d).upper == 2


def test_a_million_cells_are_certified_without_looking_at_them():
    names = "abcdef"
    u = Universe([Values(name=n, values=tuple(map(str, range(9)))) for n in names])
    d = metrics.attributes(u, dict.fromkeys(names, 1))
    pairs = [table(x, y) for x in names for y in names if x < y]
    workload = gather(*pairs, count(a="1", b="2")).on(u)
    bound = max_ratio(LaplaceCost(workload, np.ones(workload.rows)), d)
    assert bound.upper == 11  # five tables per attribute change by 2 each, and the count by 1
    assert bound.exact


def test_a_query_that_separates_records_at_distance_zero_is_infinite_at_that_pair():
    d = metrics.from_matrix([[0, 0, 1], [0, 0, 1], [1, 1, 0]])
    bound = sensitivity([[1, 0, 0]], d)
    assert (bound.upper, bound.witness) == (math.inf, (0, 1))


def test_zero_distances_do_not_matter_to_a_query_that_does_not_separate_them():
    d = metrics.from_matrix([[0, 0, 1], [0, 0, 1], [1, 1, 0]])
    assert sensitivity([[1, 1, 0]], d).upper == 1


def test_sensitivity_is_in_the_queries_own_units():
    d = metrics.constant(3, "0.5")
    assert sensitivity([[0.25, 0, 1]], d).upper == 2
    u = Universe([Integers(name="age", low=0, high=100, has_other=False)])
    line = metrics.attributes(u, {"age": {"epsilon": "0.5", "per": 10}})
    assert sensitivity(sum_of("age"), line).upper == 20


def test_mixed_units_add_up_in_one_unit():
    u = Universe([Integers(name="age", low=0, high=4, has_other=False)])
    d = metrics.attributes(u, {"age": 1})
    both = sensitivity(gather(sum_of("age"), mean_of("age", by="age")), d)
    assert both.exact


@pytest.mark.parametrize("seed", range(120))
def test_of_one_table_under_standard_dp_the_two_heaviest_rows_are_found(seed):
    """The end of a row may lie in another row, whose weight was once taken for this one's."""
    rng = np.random.default_rng(seed)
    u = Universe([Integers(name="a", low=0, high=int(rng.integers(1, 8)), has_other=False)])
    groups = int(rng.integers(1, u.cells + 1))
    numbers = rng.choice([-500, -1, 0, 1, 2, 500, 1000], u.cells) if seed % 2 else rng.integers(1, 1001, u.cells)
    placed = rng.integers(-1 if seed % 3 == 0 else 0, groups, u.cells)
    block = OneHot(u, {0: Factor(placed, np.where(placed < 0, 0, numbers))}, {0: groups})
    loss = LaplaceCost(Workload(u, (block,), ()), 1 / rng.choice([0.001, 0.5, 1, 10], groups))
    metric = metrics.Constant(u, F(1))
    assert max_ratio(loss, metric).upper == brute(loss, metric)


@pytest.mark.parametrize("seed", range(60))
def test_pairs_that_tie_in_the_longest_floats_are_decided_in_fractions(seed):
    """Scales a few units of the last place apart: 1/(s + u) + 1/(s - u) and 2/s are alike in 64 digits, and differ."""
    rng = random.Random(seed)
    size = rng.randint(4, 12)
    universe = Universe([Values(name="site", values=tuple("abcdefghijkl"[:size]), has_other=False)])
    metric = metrics.discrete(universe, F(rng.randint(1, 9), 7))
    rows = matrix([[rng.randint(0, 2) for _ in range(size)] for _ in range(rng.randint(2, 6))])
    workload = gather(rows, table("site")).on(universe)
    middle = rng.uniform(1, 100)
    scales = [middle + rng.randint(-3, 3) * math.ulp(middle) for _ in range(workload.rows)]
    loss = LaplaceCost(workload, scales)
    assert max_ratio(loss, metric).upper == brute(loss, metric)


def test_of_a_planned_quantile_no_pair_is_above_its_certificate():
    """Its pairs use up the policy alike, to 22 digits."""
    text = """
    title = "t"
    dataset = "d"
    [attributes.n0]
    numbers = [-3, 3]
    step = 1
    epsilon = 0.37
    per = 7
    other = { epsilon = 2 }
    [attributes.n1]
    numbers = [5, 9]
    step = 1
    epsilon = 0.1
    per = 7
    [combine]
    how = "max"
    """
    metric = dx.Policy.parse(text).metric
    plan = dx.plan("quantile 0.01 of n0 by n1 width 0", metric, n_records=100, budget=F(9, 10))
    assert plan.certificate.ratio == brute(plan.cost, metric)
