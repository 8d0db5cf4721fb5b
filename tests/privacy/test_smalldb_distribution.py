"""Small databases have exactly the distribution of Algorithm 1, on every route, and no neighbor's differs beyond the
cost.
"""

import itertools
from fractions import Fraction as F

import numpy as np
import pytest
from mpmath import iv

import dxprivacy as dx
from contracts.check_selection import exceeds, histograms, law_is, middles
from contracts.long_forms import slow
from dxprivacy.histogram import Histogram
from dxprivacy.mechanisms.sampling.system_noise import SystemNoise
from dxprivacy.mechanisms.smalldb.database_samplers import (
    Draw,
    Enumeration,
    by_answer_table,
    by_enumeration,
    by_rejection,
    uniform_multiset,
)
from dxprivacy.mechanisms.smalldb.plan import make_smalldb
from dxprivacy.mechanisms.smalldb.run import _drawn, small_database
from dxprivacy.mechanisms.spending import Unrecorded

ROUTES = {"enumeration": by_enumeration, "answer table": by_answer_table, "rejection": by_rejection}
noise = SystemNoise()


def problem(rows, x, size, rate, weights=None):
    universe = dx.Universe.listed(range(len(x)))
    workload = dx.matrix(rows).on(universe)
    counts = np.array(x, dtype=np.int64)
    weigh = np.ones(workload.rows, dtype=np.int64) if weights is None else np.array(weights, dtype=np.int64)
    return Draw(workload, weigh, size, int(counts.sum()), rate, size * workload.answer(counts), noise.entropy)


def distribution(rows, x, size, rate, weights=None):
    """P(y) for all multisets, from the definition, in Python integers and intervals."""
    rows, n = np.asarray(rows), int(np.sum(x))
    weigh = [1] * len(rows) if weights is None else weights
    scores = []
    for members in itertools.combinations_with_replacement(range(len(x)), size):
        y = np.bincount(members, minlength=len(x))
        gaps = [w * abs(size * int(r @ np.array(x)) - n * int(r @ y)) for r, w in zip(rows, weigh, strict=True)]
        scores.append(max(gaps))
    least = min(scores)
    weights_of = [iv.exp(-(iv.mpf((s - least) * rate.numerator)) / iv.mpf(rate.denominator)) for s in scores]
    total = sum(weights_of, iv.mpf(0))
    return [w / total for w in weights_of]


def counted(samples, cells, size):
    place = {tuple(y): k for k, y in enumerate(histograms(cells, size))}
    return np.bincount([place[tuple(y)] for y in samples], minlength=len(place))


ROWS, DATA = [[1, 0, 1], [0, 1, 2]], [4, 1, 2]


@pytest.mark.parametrize("route", ROUTES)
def test_every_route_follows_the_exact_law(route):
    size, rate = 3, F(1, 9)
    draw = problem(ROWS, DATA, size, rate)
    counts = counted([ROUTES[route](draw) for _ in range(1_500)], 3, size)
    assert law_is(counts, middles(distribution(ROWS, DATA, size, rate)))
    assert not law_is(counts, middles(distribution(ROWS, DATA, size, rate * 2)))
    assert not law_is(counts, middles(distribution(ROWS, DATA, size, rate / 2)))


@pytest.mark.parametrize("numbers", [1, 40, 10**6])
def test_enumeration_in_chunks_of_any_size_follows_the_same_law(numbers):
    size, rate, weights = 4, F(1, 40), [3, 1]
    among = Enumeration(problem(ROWS, DATA, size, rate, weights), numbers)
    counts = counted([among.sample() for _ in range(2_500)], 3, size)
    assert law_is(counts, middles(distribution(ROWS, DATA, size, rate, weights)))
    assert not law_is(counts, middles(distribution(ROWS, DATA, size, rate)))


def test_routes_agree_where_counts_leave_64_bits():
    """1e20 candidates: the answer table and rejection give the same mean answers."""
    rng = np.random.default_rng(1)
    rows, x, size = rng.integers(0, 2, (1, 40)), rng.integers(0, 3, 40), 20
    draw = problem(rows, x, size, F(1, 20 * size))
    assert draw.workload.rows == 1
    tables = [int(rows[0] @ by_answer_table(draw)) for _ in range(60)]
    rejected = [int(rows[0] @ by_rejection(draw)) for _ in range(60)]
    spread = np.sqrt((np.var(tables) + np.var(rejected)) / 60)
    assert abs(np.mean(tables) - np.mean(rejected)) < 6 * spread + 1e-9
    assert by_answer_table(draw).sum() == size


def test_uniform_multisets_are_uniform():
    counts = counted([np.bincount(uniform_multiset(3, 3, noise.entropy), minlength=3) for _ in range(5_000)], 3, 3)
    assert law_is(counts, np.ones(10))
    ordered = [sorted(p) for p in itertools.product(range(3), repeat=3)]  # what drawing one by one would give
    wrong = counted([np.bincount(p, minlength=3) for p in ordered], 3, 3)
    assert not law_is(counts, wrong)


@pytest.mark.parametrize("instances", [20, slow(200)])
def test_all_output_ratios_of_all_neighbors_stay_within_the_cost_in_200_instances(instances):
    rng = np.random.default_rng(7)
    for _ in range(instances):
        cells, n, size = int(rng.integers(2, 4)), 2, int(rng.integers(1, 3))
        budgets = {f"v{k}": F(int(rng.integers(1, 30)), 10) for k in range(cells)}
        rows = rng.integers(-2, 5, (int(rng.integers(1, 4)), cells))
        rows[0, 0], rows[0, -1] = 0, 2
        budget = F(int(rng.integers(1, 5)), 4)
        plan = make_smalldb(
            dx.matrix(rows), dx.metrics.per_value(budgets), n_records=n, alpha=1.0, budget=budget, flatten=False
        )
        rate = 1 / (2 * size * F(plan.scale))
        distributions = {
            tuple(x): distribution(plan.workload.dense(), x, size, rate, plan.rows.weights)
            for x in histograms(cells, n)
        }
        for x, mine in distributions.items():
            for i, j in itertools.permutations(range(cells), 2):
                if x[i]:
                    other = list(x)
                    other[i], other[j] = other[i] - 1, other[j] + 1
                    cost = plan.cost.exact(i, j)
                    assert cost <= budget * plan.metric.exact(i, j)
                    assert not exceeds(mine, distributions[tuple(other)], F(cost))


def test_what_is_drawn_through_a_plan_has_the_law_of_the_plan():
    d = dx.metrics.constant(3, F(1, 2))
    plan = make_smalldb(dx.matrix(ROWS), d, n_records=7, alpha=0.8, flatten=False)
    data = Histogram.of(d.universe, DATA)
    counts = counted([_drawn(plan, data, noise) for _ in range(1_200)], 3, plan.size)
    assert law_is(counts, middles(distribution(dx.matrix(ROWS).whole, DATA, plan.size, plan.rate, plan.rows.weights)))


def test_nothing_is_counted_before_the_cost_is_reserved():
    d = dx.metrics.constant(3, 1)
    plan = make_smalldb(dx.matrix(ROWS), d, n_records=7, flatten=False)
    order = []

    class Watching(Unrecorded):
        def step(self, cost, queries, name, act, *, asked=None):
            order.append("reserved")
            assert cost is plan.cost
            return super().step(cost, queries, name, act)

    def count():
        order.append("counted")
        return Histogram.of(d.universe, DATA)

    small_database(plan, count, noise, Watching(d))
    assert order == ["reserved", "counted"]
