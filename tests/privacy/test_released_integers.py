"""What is really released: the distribution of the noise on released integers, and the loss of whole mechanisms,
enumerated.
"""

import itertools
import math
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import strategies as st

import dxprivacy as dx
from contracts.check_noise import scale_is
from contracts.long_forms import drawn, mostly_slow
from contracts.random_models import random_metric, random_queries
from dxprivacy.errors import DataError, DxError, SeparatesIdentical
from dxprivacy.histogram import Histogram
from dxprivacy.mechanisms.linear.planning.planner import make_plan
from dxprivacy.mechanisms.linear.run import noisy_rows
from dxprivacy.mechanisms.sampling import SystemNoise


def released(plan, counts, times):
    histogram = Histogram.of(plan.metric.universe, counts)
    noise = SystemNoise()
    return np.array([noisy_rows(plan, histogram, noise) for _ in range(times)])


@pytest.mark.parametrize("epsilon", mostly_slow(["0.02", "0.3", "2"], 1))
def test_released_integers_have_the_planned_scale_and_no_other(epsilon):
    """Many equal rows in one release; a scale wrong by 3 % either way is rejected, the right one accepted."""
    n = 60
    d = dx.metrics.constant(n, epsilon)
    plan = make_plan(np.eye(n), d)
    counts = np.arange(n) * 7
    z = (released(plan, counts, 2_000) - counts).ravel()
    (s,) = set(plan.scales)
    assert scale_is(z, s)
    assert not scale_is(z, s * 1.03)
    assert not scale_is(z, s / 1.03)


def test_rows_with_different_scales_each_have_their_own():
    d = dx.metrics.line(3, 1)
    plan = make_plan([[0, 1, 1], [0, 0, 7]], d, method="equal-split")
    z = released(plan, [5, 5, 5], 4_000)
    for row, exact in enumerate([10, 35]):
        assert scale_is(z[:, row] - exact, plan.scales[row])


def test_two_releases_of_one_plan_have_independent_noise():
    n = 1_500
    plan = make_plan(np.eye(n), dx.metrics.constant(n, "0.1"))
    first, second = released(plan, np.zeros(n, dtype=int), 2)
    correlation = np.corrcoef(first, second)[0, 1]
    assert abs(correlation) < 5.2 / math.sqrt(n)  # a normal beyond 5.2 has probability 2e-7


@drawn(st.randoms(use_true_random=False), fast=6, full=25)
def test_the_loss_between_neighbors_never_exceeds_the_share_of_the_policy(rng):
    """log p(z|x) / p(z|x') summed over rows is at most sum |A_i - A_j| / s, attained outside the answers' hull.

    Of tables that are noised together it is at most the largest term.
    """
    metric = random_metric(rng)
    queries = random_queries(rng, metric.universe)
    budget = F(rng.randint(1, 4), 4)
    try:
        plan = make_plan(queries, metric, budget=budget, n_records=10)
    except SeparatesIdentical:
        return
    A = plan.counted.dense()
    x = np.array([rng.randint(1, 3) for _ in range(metric.universe.size)])
    assert np.array_equal(plan.counted.answer(x), A @ x)
    for _ in range(30):
        i, j = rng.randrange(len(x)), rng.randrange(len(x))
        neighbor = x.copy()
        neighbor[i] -= 1
        neighbor[j] += 1
        before, after = A @ x, A @ neighbor
        losses = [F(0)]
        for k, s in enumerate(plan.scales):
            if before[k] == after[k]:
                continue
            if s == 0:
                losses = [math.inf]
                break
            z = 10**6 * (1 if before[k] > after[k] else -1)  # far outside: the likelihood ratio is largest
            losses.append((abs(F(int(z - after[k]))) - abs(F(int(z - before[k])))) / F(s))
        loss = max(losses) if plan.measured.how == "block-max" else sum(losses)
        assert loss <= budget * metric.exact(i, j) if metric.exact(i, j) != math.inf else True


@pytest.mark.parametrize(
    "counts",
    [[1, 2], [1, 2, 3, 4], [1, -1, 0], [1.5, 0, 0], [float("nan"), 0, 0], [[1, 2, 3]], "abc", None, [], ["a", 1, 2]],
)
def test_bad_histograms_are_refused_without_showing_them(counts):
    plan = make_plan([[1, 0, 0]], dx.metrics.constant(3, 1))
    with pytest.raises(DataError) as caught:
        dx.laplace(plan, counts)
    assert "1.5" not in str(caught.value)


def test_whole_floats_are_counts_too():
    plan = make_plan([[1, 1, 1]], dx.metrics.constant(3, 1))
    assert dx.laplace(plan, np.array([1.0, 2.0, 4.0])).tolist() == [7.0]


def test_sums_that_could_leave_64_bits_are_refused():
    plan = make_plan([[2**39 + 1, 1]], dx.metrics.constant(2, 1))
    with pytest.raises(DxError, match="64 bits"):
        dx.laplace(plan, [2**40, 0])


def test_intervals_cover_what_they_say():
    """95 % intervals of counts, means and ratios, by simulation with the public mechanism."""
    u = dx.Universe([dx.Values(name="sex", values=("M", "F")), dx.Integers(name="age", low=0, high=19)])
    d = dx.metrics.attributes(u, {"sex": 1, "age": {"epsilon": 1, "per": 5}})
    rng = np.random.default_rng(11)
    counts = rng.integers(20, 60, u.size)
    n = int(counts.sum())
    asked = ["count by sex", "mean age", "mean age by sex", "sum age where sex=F"]
    plan = make_plan(asked, d, method="optimal", n_records=n)
    from dxprivacy.mechanisms.linear.noise.noise_distributions import laplace_distributions

    exact = plan.workload.answer(counts).tolist()
    truth = [
        a.recipe.interval(exact, laplace_distributions([0.0] * len(exact)), n, 0.0)[0] for a in plan.workload.answers
    ]
    hits = np.zeros(len(truth))
    squares = np.zeros(len(truth))
    times = 2_000
    for z in released(plan, counts, times).tolist():
        for k, answer in enumerate(plan.workload.answers):
            value, low, high = answer.recipe.interval(z, plan.distributions, n, 0.0)
            hits[k] += low - 1e-9 <= truth[k] <= high + 1e-9
            squares[k] += (value - truth[k]) ** 2
    floor = 0.95 - 5.2 * math.sqrt(0.95 * 0.05 / times)
    assert (hits / times >= floor).all()
    linear = [k for k, a in enumerate(plan.workload.answers) if not hasattr(a.recipe, "bottom")]
    rmse = np.sqrt(squares / times)
    assert rmse[linear] == pytest.approx(plan.expected_rmse[linear], rel=0.25)


def test_neighboring_histograms_differ_by_one_replacement():
    u = dx.Universe.listed("abc")
    histogram = Histogram.of(u, [1, 2, 3])
    assert histogram.total == 6
    assert "1" not in repr(histogram).replace("cells", "")
    assert list(itertools.islice(histogram.counts, 3)) == [1, 2, 3]
