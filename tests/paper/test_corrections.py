"""The corrections of the paper that concern metrics, by their number; each test fails for the printed statement."""

import itertools
import math
from fractions import Fraction as F

import numpy as np
import pytest

import dxprivacy as dx
from dxprivacy.errors import MetricError, PolicyError, SeparatesIdentical


def is_metric(table):
    """Symmetric and with the triangle inequality, in exact numbers."""
    n = range(len(table))
    return all(table[i][k] <= table[i][j] + table[j][k] for i, j, k in itertools.product(n, repeat=3))


def test_7_neighbors_are_tables_of_equal_size_so_constant_queries_are_exact():
    """Printed, x and x' may differ by two added records; then counting everybody would need noise."""
    plan = dx.plan([[1, 1, 1], [1, 0, 0]], dx.metrics.constant(3, 1))
    assert plan.scales[0] == 0
    assert plan.scales[1] > 0
    added = np.array([1, 1, 0])  # x + e_i + e_j, which the printed definition admits
    assert np.abs(plan.workload.dense() @ added)[0] == 2


def test_9_the_printed_blowfish_threshold_is_no_metric():
    printed = [[F(0), F(1), math.inf], [F(1), F(0), F(1)], [math.inf, F(1), F(0)]]  # points at 0, T, 2T
    assert not is_metric(printed)
    closed = dx.metrics.blowfish([[0], [5], [10]], 1, threshold=5)
    assert is_metric([[closed.exact(i, j) for j in range(3)] for i in range(3)])
    assert closed.exact(0, 2) == 2
    for q in ([[1, 0, 0]], [[0, 1, 0]], [[1, 0, 2]]):  # closing changes no noise
        edges = max(abs(q[0][0] - q[0][1]), abs(q[0][1] - q[0][2]))
        assert dx.sensitivity(q, closed).upper == edges


def test_9_the_smooth_threshold_is_a_metric():
    smooth = dx.metrics.smooth([[0], [3], [5], [12]], 1, threshold=5)
    assert is_metric([[smooth.exact(i, j) for j in range(4)] for i in range(4)])


def test_10_the_smaller_budget_is_a_metric_only_for_two_values():
    budgets = [F(10), F("0.1"), F(10)]
    printed = [[min(a, b) if i != j else F(0) for j, b in enumerate(budgets)] for i, a in enumerate(budgets)]
    assert not is_metric(printed)
    closed = dx.metrics.per_value({"a": 10, "b": "0.1", "c": 10})
    assert closed.exact(0, 2) == F("0.2")
    (tightened,) = closed.tightened
    assert (tightened.pair, tightened.written, tightened.kept) == ((0, 2), 10, F("0.2"))
    two = dx.metrics.per_value({"a": 10, "b": "0.1"})
    assert (two.exact(0, 1), list(two.tightened)) == (F("0.1"), [])


def test_10_the_sum_of_budgets_is_a_metric_and_doubles_them():
    both = dx.metrics.per_element([10, "0.1", 10])
    assert is_metric([[both.exact(i, j) for j in range(3)] for i in range(3)])
    assert both.exact(0, 2) == 20
    assert dx.metrics.per_element([1, 1]).exact(0, 1) == 2


def test_14_public_differences_ask_for_nothing_instead_of_giving_nan():
    d = dx.metrics.from_matrix([[0, 1, math.inf], [1, 0, math.inf], [math.inf, math.inf, 0]])
    assert np.isnan(0 * np.inf)  # what the printed maximum of |q_i - q_j| / d(i, j) times d would run into
    plan = dx.plan([[0, 0, 5], [1, 0, 9]], d)
    assert plan.scales[0] == 0  # separates public pairs only
    assert plan.scales[1] == 1


def test_14_records_at_distance_zero_must_not_be_separated():
    d = dx.metrics.from_matrix([[0, 0, 1], [0, 0, 1], [1, 1, 0]])
    with pytest.raises(SeparatesIdentical) as error:
        dx.plan([[1, 0, 0]], d)
    assert "ε 0" in error.value.details[0]
    assert dx.plan([[1, 1, 0]], d).scales == (1.0,)


def test_14_the_closest_pair_is_one_of_different_records():
    """min d(i, j) over all i, j, as printed, is d(i, i) = 0."""
    assert dx.metrics.line(5, 2).closest.distance == 2


@pytest.mark.parametrize("n", [2, 3, 10, 50])
def test_15_there_are_as_many_constraints_as_pairs(n):
    matrix = np.abs(np.subtract.outer(np.arange(n) ** 2, np.arange(n) ** 2)).astype(float)
    d = dx.metrics.from_matrix(matrix)
    assert sum(len(i) for i, _ in d.generators()) <= n * (n - 1) // 2  # printed: about 2^N


def test_16_the_query_that_counts_everybody_is_not_answered_exactly_where_records_may_be_absent():
    everybody = [[1, 1, 1]]
    assert dx.plan(everybody, dx.metrics.line(3, 1)).scales == (0.0,)  # as the paper's remark would have it
    unbounded = dx.metrics.with_absent(dx.metrics.line(3, 1), "0.25", max_records=100)
    assert dx.plan(everybody, unbounded).scales == (4.0,)


def test_17_a_distance_without_its_unit_is_refused():
    """Raw Euclidean distance is no budget: in the paper's own setting it reaches 141."""
    policy = 'title = "T"\ndataset = "d"\n[attributes.age]\nintegers = [0, 120]\nepsilon = 0.5\n'
    with pytest.raises(PolicyError, match="has a distance but no unit"):
        dx.Policy.parse(policy)
    with pytest.raises(TypeError):
        dx.metrics.euclidean([[0, 0], [100, 100]])
    assert float(dx.metrics.euclidean([[0, 0], [100, 100]], epsilon_per_unit=1).exact(0, 1)) > 141


def test_a_table_that_breaks_the_triangle_inequality_can_be_refused_instead_of_closed():
    with pytest.raises(MetricError):
        dx.metrics.from_matrix([[0, 1, 5], [1, 0, 1], [5, 1, 0]], strict=True)
