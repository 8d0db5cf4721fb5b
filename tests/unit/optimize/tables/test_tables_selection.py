"""Chosen tables: never over budget, their error is what they say, and lower than what was known."""

import itertools
import math

import numpy as np
import pytest

from contracts.dense_tables import coefficients, costs, distances
from dxprivacy.errors import DxError, QueryError, SeparatesIdentical, TooLarge, UsageError
from dxprivacy.optimize.deadline import Watch
from dxprivacy.optimize.tables import MeasuredTable, Reconstruction, choose
from dxprivacy.optimize.tables.table_components import build
from dxprivacy.optimize.tables.table_limits import limit
from dxprivacy.optimize.tables.table_moves import descend, fill, separable
from dxprivacy.optimize.tables.table_search import _asked

SMALL = {
    "binary": ((2, 2, 2), (1, 0.5, 0.1), 2),
    "mixed": ((2, 3, 2), (0.3, 1, 1), 2),
    "three way": ((3, 2, 2, 2), (1, 0.1, 2, 0.5), 3),
    "one way": ((4, 3), (1, 0.2), 1),
    "one attribute": ((6,), (0.7,), 1),
    "wild": ((3, 2, 2), (1e-6, 1e3, 1), 2),
}
NINE = ((16, 7, 15, 6, 5, 2, 42, 9, 2), (1, 0.5, 1, 0.5, 0.25, 0.5, 0.25, 1, 0.1))


def ways(sizes, order):
    return list(itertools.combinations(range(len(sizes)), order))


def planned(sizes, budgets, order, **options):
    asked = ways(sizes, order)
    return choose(sizes, budgets, asked, [1] * len(asked), **options)


@pytest.mark.parametrize("case", SMALL)
def test_every_pair_of_records_stays_within_its_distance(case):
    sizes, budgets, order = SMALL[case]
    plan = planned(sizes, budgets, order)
    loss, allowed = costs(sizes, plan.tables, plan.scales), distances(sizes, budgets)
    assert (loss <= allowed * (1 + 1e-12)).all()
    ratio = loss[allowed > 0] / allowed[allowed > 0]
    assert ratio.max() == pytest.approx(1, rel=1e-6)  # and the budget is used


@pytest.mark.parametrize("case", SMALL)
def test_the_total_is_that_of_dense_least_squares(case):
    sizes, budgets, order = SMALL[case]
    asked = ways(sizes, order)
    weights = [1 + k / 3 for k in range(len(asked))]
    plan = choose(sizes, budgets, asked, weights)
    spread = 2 * plan.scales**2
    dense, v, _ = coefficients(sizes, asked, plan.tables, spread)
    if case != "wild":  # there the dense matrix is singular in floats
        assert sum(w * (K**2 @ v).sum() for w, K in zip(weights, dense, strict=True)) == pytest.approx(
            plan.total, rel=1e-8
        )
    fast = Reconstruction(sizes, asked, plan.tables, spread).variance()
    sums = [w * math.prod(sizes[a] for a in t) * x for w, t, x in zip(weights, asked, fast, strict=True)]
    assert sum(sums) == pytest.approx(plan.total, rel=1e-9)
    assert 0 < plan.limit <= plan.total


@pytest.mark.parametrize(
    ("sizes", "budgets", "order", "at_most"),
    [
        ((4,) * 4, (1, 0.5, 0.25, 0.1), 2, 232_400),
        ((4,) * 4, (1,) * 4, 2, 4_760),
        ((2,) * 6, (1,) * 6, 2, 2_198),
        (*NINE, 2, 1.651e7),
        ((3,) * 5, (1, 1, 0.1, 0.5, 2), 3, 790_000),  # nested tables: 1.9e6 without merging
        ((2, 3, 2, 5, 2), (1, 1, 0.1, 0.5, 2), 3, 155_700),
    ],
)
def test_known_totals_are_reached(sizes, budgets, order, at_most):
    assert planned(sizes, budgets, order).total <= at_most


def test_the_same_problem_has_the_same_answer():
    one, two = planned((2, 3, 2, 5), (1, 1, 0.1, 0.5), 2), planned((2, 3, 2, 5), (1, 1, 0.1, 0.5), 2)
    assert one.finished
    assert one.tables == two.tables
    assert (one.scales == two.scales).all()


def test_it_is_never_worse_than_the_asked_tables_with_least_squares():
    rng = np.random.default_rng(8)
    for _ in range(4):
        sizes = [int(n) for n in rng.integers(2, 6, rng.integers(2, 5))]
        budgets = 10 ** rng.uniform(-2, 1, len(sizes))
        asked = ways(sizes, min(2, len(sizes)))
        weights = rng.uniform(0.1, 3, len(asked)).tolist()
        system = build(sizes, budgets.tolist(), asked, weights)
        simple = _asked(system)
        assert (system.loads @ simple).max() == pytest.approx(1, abs=1e-3)
        measured = system.gains @ simple**2
        baseline = 2 * (system.importance / measured).sum()
        assert choose(sizes, budgets, asked, weights).total <= baseline * (1 + 1e-9)


def test_no_feasible_strategy_of_any_kind_goes_below_the_limit():
    rng = np.random.default_rng(2)
    sizes, budgets, asked = (2, 3, 2), (1.0, 0.5, 0.2), [(0, 1), (1, 2), (0, 2)]
    floor = limit(sizes, budgets, asked, [1, 1, 1])
    allowed = distances(sizes, budgets)
    i, j = np.nonzero(np.triu(allowed > 0))
    W = np.vstack([coefficients(sizes, [t], [MeasuredTable((0, 1, 2))], [1])[0][0] for t in asked])
    lowest = math.inf
    for _ in range(300):
        extra = rng.choice([-1.0, 0, 1.0], (int(rng.integers(1, 12)), 12)) * rng.uniform(0, 1)
        A = np.vstack([np.eye(12), extra])
        A = A / (np.abs(A[:, i] - A[:, j]).sum(axis=0) / allowed[i, j]).max()
        A = A - A.mean(axis=1, keepdims=True)
        if np.linalg.matrix_rank(A) == 11:
            lowest = min(lowest, 2 * float(((W @ np.linalg.pinv(A)) ** 2).sum()))
    plan = choose(sizes, budgets, asked, [1, 1, 1])
    assert floor <= lowest
    assert floor <= plan.total <= lowest


def test_public_attributes_cost_nothing_and_are_exact_alone():
    sizes, budgets = (3, 2, 4), (math.inf, 0.5, math.inf)
    asked = [(0,), (0, 2), (0, 1), (1, 2)]
    plan = choose(sizes, budgets, asked, [1] * 4)
    scales = dict(zip(plan.tables, plan.scales, strict=True))
    assert scales.pop(MeasuredTable((0, 2))) == 0
    assert all(s > 0 and 1 in t.attributes for t, s in scales.items())
    assert sum(2 / s for s in scales.values()) == pytest.approx(0.5)
    variance = Reconstruction(sizes, asked, plan.tables, 2 * plan.scales**2).variance()
    assert variance[:2] == [0, 0]
    assert 3 * 2 * variance[2] + 2 * 4 * variance[3] == pytest.approx(plan.total)


def test_what_is_public_already_needs_no_table():
    for sizes, budgets, asked in (((3,), (1,), [()]), ((1, 4), (0, 1), [(0,)]), ((3,), (1,), [])):
        plan = choose(sizes, budgets, asked, [1] * len(asked))
        assert (plan.tables, plan.total, plan.limit) == ((), 0, 0)
    everything = choose((3, 2), (math.inf, math.inf), [(0, 1), (0,)], [1, 1])
    assert everything.tables == (MeasuredTable((0, 1)),)
    assert everything.scales.tolist() == [0]


def test_repeated_tables_and_attributes_of_one_value_add_nothing():
    plain = choose((3, 2), (1, 0.5), [(0, 1)], [3])
    for sizes, budgets, asked in (
        ((3, 2), (1, 0.5), [(0, 1), (1, 0), (0, 1)]),
        ((3, 2, 1), (1, 0.5, 0), [(0, 1), (0, 1, 2), (2, 1, 0)]),
        ((3, 2, 9), (1, 0.5, 1e-9), [(0, 1), (0, 1), (0, 1)]),
    ):
        same = choose(sizes, budgets, asked, [1, 1, 1])
        assert same.tables == plain.tables
        assert same.total == pytest.approx(plain.total, rel=1e-9)


def test_less_time_gives_a_valid_plan_that_says_so():
    plan = choose(*NINE, ways(NINE[0], 2), [1] * 36, watch=Watch(1e-9))
    assert not plan.finished
    for a, budget in enumerate(NINE[1]):
        load = sum(2 / s for t, s in zip(plan.tables, plan.scales, strict=True) if a in t.attributes)
        assert load <= budget * (1 + 1e-12)


def test_progress_hears_of_totals_that_fall_to_the_answer():
    heard: list[tuple[float, float]] = []
    plan = planned((3, 3, 3, 2), (1, 0.1, 2, 0.5), 2, progress=lambda total, least: heard.append((total, least)))
    totals = [total for total, _ in heard]
    assert len(totals) > 1
    assert totals == sorted(totals, reverse=True)
    assert plan.total == pytest.approx(totals[-1], rel=1e-5)
    assert {least for _, least in heard} == {plan.limit}


def test_budgets_that_differ_wildly_leave_the_generous_attribute_nearly_exact():
    plan = choose((2, 3), (1e3, 1e-6), [(0,), (1,)], [1, 1])
    scales = {t.attributes: s for t, s in zip(plan.tables, plan.scales, strict=True)}
    assert scales[(0,)] == pytest.approx(2e-3, rel=0.05)  # a part in 10^18 of the total: the last per cent do not show
    assert scales[(1,)] == pytest.approx(2e6, rel=1e-3)


def test_the_separable_step_is_the_optimum_of_its_problem():
    rng = np.random.default_rng(0)
    loads = rng.uniform(0, 1, (3, 8)) * (rng.random((3, 8)) < 0.6) + np.eye(3, 8)
    loads[0] += 0.05
    a = rng.uniform(0, 1, 8)
    a /= a.sum()
    w, multipliers = separable(loads, a, np.ones(3), 1e-10)
    assert (loads @ w <= 1 + 1e-6).all()
    dual = float((3 * np.cbrt(a) * np.cbrt(loads.T @ multipliers / 2) ** 2).sum() - multipliers.sum())
    assert float((a / w**2).sum()) == pytest.approx(dual, rel=1e-6)


def test_filling_keeps_all_constraints_whatever_it_is_given():
    rng = np.random.default_rng(4)
    for _ in range(50):
        loads = rng.uniform(0, 1, (4, 9)) * (rng.random((4, 9)) < 0.5)
        loads[rng.integers(0, 4, 9), np.arange(9)] = 1.0
        filled = fill(loads, 10 ** rng.uniform(-9, 9, 9))
        assert (loads @ filled <= 1 + 1e-12).all()


def test_a_descent_never_rises_and_a_start_that_misses_a_component_is_none():
    system = build((2, 3), (1, 0.5), [(0, 1)], [1])
    start = fill(system.loads, np.ones(len(system.tables)))
    found = descend(system, start)
    assert found is not None
    assert found.error <= 2 * (system.importance / (system.gains @ start**2)).sum()
    assert descend(system, np.where([t.attributes == (0,) for t in system.tables], 1.0, 0.0)) is None


@pytest.mark.parametrize(
    ("sizes", "budgets", "asked", "weights"),
    [
        ((), (), [], []),
        ((0, 2), (1, 1), [(0,)], [1]),
        ((2.5, 2), (1, 1), [(0,)], [1]),
        ((True, 2), (1, 1), [(0,)], [1]),
        ((2, 2), (1,), [(0,)], [1]),
        ((2, 2), (1, -1), [(0,)], [1]),
        ((2, 2), (1, math.nan), [(0,)], [1]),
        ((2, 2), (1, "α"), [(0,)], [1]),
        ((2, 2), (1, 1), [(2,)], [1]),
        ((2, 2), (1, 1), [(-1,)], [1]),
        ((2, 2), (1, 1), [(0, 0)], [1]),
        ((2, 2), (1, 1), [("0",)], [1]),
        ((2, 2), (1, 1), [(0,)], []),
        ((2, 2), (1, 1), [(0,)], [0]),
        ((2, 2), (1, 1), [(0,)], [math.inf]),
        ((2, 2), (1, 1), [(0,)], [None]),
    ],
)
def test_what_makes_no_sense_is_refused(sizes, budgets, asked, weights):
    with pytest.raises(UsageError):
        choose(sizes, budgets, asked, weights)
    with pytest.raises(DxError):
        choose((2,), (1,), [(0,)], [1], watch=Watch(math.nan))


def test_a_budget_of_zero_and_a_table_too_large_are_refused_by_name():
    with pytest.raises(SeparatesIdentical, match="attribute 1"):
        choose((2, 2), (1, 0), [(0, 1)], [1])
    with pytest.raises(TooLarge) as refused:
        choose((2,) * 40, (1,) * 40, [tuple(range(40))], [1])
    assert isinstance(refused.value, QueryError)


@pytest.mark.soak
def test_all_three_way_tables_of_twenty_attributes_are_planned_and_reconstructed():
    sizes, budgets = tuple(2 + k % 9 for k in range(20)), tuple(0.1 * (1 + k % 7) for k in range(20))
    asked = ways(sizes, 3)
    plan = planned(sizes, budgets, 3)
    assert plan.finished
    assert plan.total < 8.6e11
    answers = Reconstruction(sizes, asked, plan.tables, 2 * plan.scales**2, 12 * plan.scales**4)
    variance = answers.variance()
    sums = [math.prod(sizes[a] for a in t) * x for t, x in zip(asked, variance, strict=True)]
    assert sum(sums) == pytest.approx(plan.total, rel=1e-9)
    assert all(0 < e < 3 for e in answers.excess())
    zero = answers.estimate([np.zeros(t.rows(sizes)) for t in plan.tables], 0)
    assert max(np.abs(z).max() for z in zero) == 0


def check_random_problems(seed, count):
    """Sizes from 1 up, budgets over nine decades or public, tables of any order, weights over six decades."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        d = int(rng.integers(1, 7))
        sizes = [int(n) for n in rng.choice([1, 2, 2, 3, 4, 7, 20], d)]
        decades = (-6, 3) if rng.random() < 0.5 else (-1, 0.3)
        budgets = np.where(rng.random(d) < 0.15, np.inf, 10 ** rng.uniform(*decades, d))
        k = int(rng.integers(1, 8))
        asked = [tuple(int(a) for a in rng.permutation(d)[: rng.integers(0, min(d, 4) + 1)]) for _ in range(k)]
        weights = 10 ** rng.uniform(-3, 3, k)
        plan = choose(sizes, budgets, asked, weights)
        assert plan.finished
        used = list(zip(plan.tables, plan.scales, strict=True))
        for a in range(d):
            assert sum(2 / s for t, s in used if a in t.attributes and s > 0) <= budgets[a] * (1 + 1e-12)
            assert np.isinf(budgets[a]) or all(s > 0 for t, s in used if a in t.attributes)
        answers = Reconstruction(sizes, asked, plan.tables, 2 * plan.scales**2, 12 * plan.scales**4)
        sums = [
            w * math.prod(sizes[a] for a in t) * v for w, t, v in zip(weights, asked, answers.variance(), strict=True)
        ]
        assert sum(sums) == pytest.approx(plan.total, rel=1e-8)
        assert all(0 <= e <= 3 + 1e-9 for e in answers.excess())  # a mixture of Laplace draws


def test_random_problems_are_solved_within_their_budgets():
    check_random_problems(7, 12)


@pytest.mark.soak
def test_many_random_problems_are_solved_within_their_budgets():
    check_random_problems(70, 300)
