"""Plans over two ordered attributes count hats and prefix counts: whole rows, no pair overspent; `auto` does too."""

import itertools
import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import dxprivacy as dx
from contracts.long_forms import slow
from dxprivacy.mechanisms.linear.strategies.matrix_mechanism import parts_of


def ranges(n, more=0):
    """All ranges of n values; in none of them is what comes after."""
    return [[int(a <= k <= b) for k in range(n + more)] for a in range(n) for b in range(a, n)]


def plane(n, m, *, other=False):
    numbers = [dx.Numbers(name=x, low=0, high=size, step=1, has_other=other) for x, size in (("x", n), ("y", m))]
    universe = dx.Universe(numbers)
    metric = dx.metrics.attributes(universe, {"x": {"epsilon": 1, "per": 1}, "y": {"epsilon": "0.5", "per": 1}})
    return metric, np.kron(ranges(n, other), ranges(m, other))


@cache
def planned(other, method, n=9, m=15):
    metric, asked = plane(n, m, other=other)
    return dx.plan(asked, metric, method=method)


def total(plan):
    return float((plan.expected_rmse**2).sum())


@pytest.mark.parametrize(("other", "n", "m"), [(False, 8, 12), slow(False, 9, 15), slow(True, 9, 15)])
def test_auto_counts_them_where_cells_of_two_attributes_are_more_than_a_few(other, n, m):
    metric, asked = plane(n, m, other=other)
    plan = planned(other, "auto", n, m)
    assert "prefix counts and hats" in plan.about
    cells = dx.plan(np.eye(asked.shape[1], dtype=int), metric, method="same-scale")
    scale = float(cells.scales[0])
    centered = asked - asked.mean(axis=1, keepdims=True)
    assert total(plan) <= 0.7 * 2 * scale**2 * float((centered**2).sum())


@pytest.mark.parametrize(("method", "n", "m"), [("auto", 8, 12), slow("auto", 9, 15), slow("matrix", 9, 15)])
def test_hats_are_whole_numbers_and_no_pair_is_overspent_in_fractions(method, n, m):
    plan = planned(False, method, n, m)
    rows = plan.measured.workload.dense().astype(int)
    assert 1 < np.abs(rows).max() <= 1024
    charges = [1 / Fraction(s) for s in plan.scales]
    common = math.lcm(*(w.denominator for w in charges))  # then all are whole numbers
    whole = [int(w * common) for w in charges]
    fars = math.lcm(*range(1, 2 * (n - 1) + m))
    worst = 0
    for (a, b), (c, d) in itertools.combinations(itertools.product(range(n), range(m)), 2):
        far = 2 * abs(a - c) + abs(b - d)  # in halves
        change = np.abs(rows[:, m * a + b] - rows[:, m * c + d]).tolist()
        worst = max(worst, sum(k * w for k, w in zip(change, whole, strict=True) if k) * (fars // far))
    assert Fraction(999_999, 1_000_000) < Fraction(2 * worst, common * fars) <= 1


def test_a_matrix_of_distances_is_recognized_too():
    metric, asked = plane(6, 9)
    i, j = np.divmod(np.arange(54), 9)
    listed = dx.metrics.from_matrix(np.abs(i - i[:, None]) + np.abs(j - j[:, None]) / 2)
    plan, same = dx.plan(asked, metric), dx.plan(asked, listed)
    assert "prefix counts" in same.about
    assert total(same) == pytest.approx(total(plan), rel=1e-3)


def test_only_simple_fractions_are_taken_for_exact():
    simple = [[0, 1, 1], [1 / 16, 0.5, 1], [1 / 3, 3 / 4, 1], [-1, 0.25, 1]]
    rows = np.array([*simple, [1 / 1021, 1 / 3, 1], [1, 0.3, 2**-40]])
    assert parts_of(rows).tolist() == [1, 16, 12, 4, 0, 0]
    assert parts_of(np.random.default_rng(0).uniform(0, 1, (300, 3))).max() == 0


@pytest.mark.parametrize(("values", "times"), [("ab", 1.26), slow("abcd", 1.3)])
def test_a_plan_says_what_its_limit_is_a_limit_of_and_takes_the_largest_that_is_proved(values, times):
    universe = dx.Universe([dx.Values(name=x, values=tuple(values), has_other=False) for x in "wxyz"])
    metric = dx.metrics.attributes(universe, dict.fromkeys("wxyz", 1))
    asked = [f"count by {a}, {b}" for a, b in itertools.combinations("wxyz", 2)]
    best, plan = (dx.plan(asked, metric, method=method) for method in ("auto", "matrix"))
    assert "that of the best independent (continuous) Laplace noise, a limit that may be unreachable" in plan.about
    assert float(plan.about.split("error at most ")[1].split()[0]) == pytest.approx(times, abs=0.01)  # by cuts: 2.01
    assert best.method == "k-norm", "its noise is not independent: that limit says nothing of it"
    assert "limit" not in best.about
