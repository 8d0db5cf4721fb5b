"""What is chosen: the known best on lines, thresholds and discrete universes, and never more than simple strategies."""

import itertools

import numpy as np
import pytest

from contracts.long_forms import slow
from contracts.strategy_cases import all_ranges, random_problem, random_tree, threshold_problem
from dxprivacy.errors import UsageError
from dxprivacy.optimize.deadline import Watch
from dxprivacy.optimize.strategies import StrategyProblem, choose, limit, unbiased_limit
from dxprivacy.optimize.strategies.p_identity import search
from dxprivacy.optimize.strategies.pair_structure import bipartite, nested_ranges, seriation, threshold, tree


def check(problem, found):
    """Load 1, and the total that its rows have."""
    assert problem.load(found.rows) == pytest.approx(1, abs=1e-12)
    assert found.total == pytest.approx(problem.total(found.rows), rel=1e-12)


def test_a_line_gets_its_prefixes_near_the_limit():
    problem = threshold_problem(64, 1)
    found = choose(problem)
    check(problem, found)
    assert found.name == "prefix counts"
    assert found.total == pytest.approx(2 * 64 * 63)
    assert found.total <= 1.011 * limit(problem).value


def test_a_threshold_gets_ramps():
    problem = threshold_problem(64, 4)
    found = choose(problem)
    check(problem, found)
    assert found.name == "ramps and cells"
    assert found.total <= 72_400


def test_a_discrete_universe_gets_no_more_than_cells():
    problem = threshold_problem(32, 31)
    found = choose(problem)
    check(problem, found)
    assert found.total <= problem.total(np.eye(32))
    assert limit(problem).value <= found.total


def test_mixtures_pay_off_on_a_larger_discrete_universe():
    problem = threshold_problem(96, 95)
    found = choose(problem)
    check(problem, found)
    assert "mixtures" in found.name
    assert found.total <= 0.95 * problem.total(np.eye(96))


@pytest.mark.parametrize(("n", "reach"), [(24, 1), (24, 3), (24, 23)])
def test_the_names_of_the_cells_do_not_matter(n, reach):
    plain = choose(threshold_problem(n, reach))
    mixed_up = choose(threshold_problem(n, reach, order=np.random.default_rng(n).permutation(n)))
    assert mixed_up.name == plain.name
    assert mixed_up.total == pytest.approx(plain.total, rel=1e-6)


@pytest.mark.parametrize("factor", [1e-6, 3.0, 1e9])
def test_limits_times_k_choose_the_same_at_a_total_over_k_squared(factor):
    problem = threshold_problem(20, 3)
    wider = StrategyProblem(problem.gram, problem.first, problem.second, factor * problem.limits)
    assert choose(wider).total == pytest.approx(choose(problem).total / factor**2)


def test_a_choice_is_the_same_every_time():
    problem = threshold_problem(24, 23)
    once, again = choose(problem), choose(problem)
    assert once.name == again.name
    assert (once.rows == again.rows).all()


def test_it_is_never_above_cells_queries_or_the_sides_of_a_tree_nor_below_the_limit():
    rng = np.random.default_rng(0)
    for _ in range(12):
        problem, W = random_problem(rng)
        found = choose(problem, W)
        check(problem, found)
        known = tree(problem)
        simple = [np.eye(problem.cells), W] + ([] if known is None else [known.sides * known.limits[:, None]])
        assert found.total <= 1.0002 * min(problem.total(rows) for rows in simple)
        assert found.total >= limit(problem).value * (1 - 1e-9)


def test_one_query_is_answered_at_its_own_sensitivity():
    rng = np.random.default_rng(1)
    for _ in range(10):
        problem, _ = random_problem(rng)
        q = rng.normal(size=(1, problem.cells))
        problem = StrategyProblem(q.T @ q, problem.first, problem.second, problem.limits)
        assert choose(problem, q).total <= 2 * problem.load(q) ** 2 * (1 + 1e-6)


@pytest.mark.parametrize("size", [4, slow(8)])
def test_thorough_is_never_worse(size):
    problem = threshold_problem(size, 2)
    quick, slow = choose(problem), choose(problem, effort="thorough")
    check(problem, slow)
    assert slow.total <= quick.total


def test_a_search_over_all_entries_pays_off_under_a_threshold():
    problem = threshold_problem(8, 2)
    start = np.vstack([np.eye(8), 0.02 * np.random.default_rng(1).uniform(0, 1, (2, 8))])
    found = search(problem, start, iterations=150, watch=Watch())
    assert problem.total(found) <= 0.9 * problem.total(np.eye(8))


def test_a_workload_that_only_counts_everybody_needs_no_query():
    problem = threshold_problem(4, 1, np.ones((2, 4)))
    found = choose(problem, np.ones((2, 4)))
    assert (found.total, found.rows.shape) == (0.0, (0, 4))
    assert limit(problem).value == 0


def test_two_cells_are_enough():
    problem = StrategyProblem(np.eye(2), np.array([0]), np.array([1]), np.array([0.5]))
    found = choose(problem)
    check(problem, found)
    assert found.total == pytest.approx(2 * 2 / 0.5**2)  # two answers, each with noise of scale 1/0.5


def test_a_very_short_time_still_gives_a_strategy():
    problem = threshold_problem(24, 5)
    found = choose(problem, all_ranges(24), watch=Watch(1e-9))
    check(problem, found)
    assert np.isfinite(found.total)


def test_limits_that_differ_a_millionfold_are_no_trouble():
    rng = np.random.default_rng(2)
    for _ in range(5):
        first, second = random_tree(rng, 12)
        W = rng.integers(0, 2, (9, 12)).astype(float)
        problem = StrategyProblem(W.T @ W, first, second, 10 ** rng.uniform(-3, 3, 11))
        found = choose(problem, W)
        check(problem, found)
        assert limit(problem).value <= found.total < np.inf


def test_progress_hears_of_falling_totals_and_the_last_is_what_is_returned():
    heard = []
    problem = threshold_problem(24, 23)
    found = choose(problem, progress=lambda name, total: heard.append((name, total)))
    assert [t for _, t in heard] == sorted((t for _, t in heard), reverse=True)
    assert heard[-1][0] == found.name
    assert heard[-1][1] == pytest.approx(found.total)


@pytest.mark.parametrize("rows", [np.ones((2, 5)), np.ones(4), np.full((1, 4), np.nan), [["a", "b", "c", "d"]]])
def test_a_workload_of_another_shape_is_refused(rows):
    with pytest.raises(UsageError, match="workload"):
        choose(threshold_problem(4, 1), rows)


def test_the_limit_is_below_many_random_strategies():
    rng = np.random.default_rng(3)
    for _ in range(20):
        problem, W = random_problem(rng)
        value = limit(problem).value
        n = problem.cells
        for _ in range(30):
            rows = rng.normal(size=(n + 1, n)) * rng.choice([0, 0.1, 1], size=(n + 1, 1)) + np.eye(n + 1, n)
            assert value <= problem.total(rows) * (1 + 1e-9)
        assert value <= problem.total(W) * (1 + 1e-9)


def test_the_limit_by_cuts_is_below_every_small_integer_strategy_and_above_the_other_one():
    problem = StrategyProblem(np.eye(3), np.array([0, 0, 1]), np.array([1, 2, 2]), np.ones(3))
    found = limit(problem)
    assert found.which == "laplace"
    rows = [np.array(r) for r in itertools.product((0.0, 1.0, 2.0), repeat=3)]
    totals = [problem.total(np.array(three)) for three in itertools.combinations(rows, 3)]
    assert 5.3 < found.value <= min(totals)  # the l2 limit is 4


def test_noise_that_is_no_independent_laplace_noise_has_limits_of_its_own():
    """Three cells at distance 1, each asked: cells with zero sum leave 10 of 12; at distance 5, whole ones 0.081."""
    problem = StrategyProblem(np.eye(3), np.array([0, 0, 1]), np.array([1, 2, 2]), np.ones(3))
    consistent = 8 * 2 * 5 / 8
    found = limit(problem)
    assert found.additive == found.value / 2
    assert found.additive <= consistent < choose(problem, np.eye(3)).total
    assert unbiased_limit(problem, np.eye(3)) == pytest.approx(3 / (4 * np.sinh(0.5) ** 2))
    far = StrategyProblem(np.eye(3), problem.first, problem.second, np.full(3, 5.0))
    assert unbiased_limit(far, np.eye(3)) <= 0.081 < limit(far).additive


def test_answers_without_bias_are_never_below_their_limit():
    rng = np.random.default_rng(6)
    for _ in range(20):
        problem, W = random_problem(rng)
        assert unbiased_limit(problem, W) <= choose(problem, W, effort="quick").total * (1 + 1e-9)
        n = problem.cells
        far = np.full((n, n), np.inf)
        np.minimum.at(far, (problem.first, problem.second), problem.limits)
        far = np.minimum(far, far.T)
        for k in range(n):
            far = np.minimum(far, far[:, [k]] + far[[k], :])
        i, j = np.triu_indices(n, 1)
        everywhere = (W[:, i] - W[:, j]) ** 2 / (4 * np.sinh(far[i, j] / 2) ** 2)
        assert unbiased_limit(problem, W) == pytest.approx(everywhere.max(axis=1).sum())  # listed pairs suffice
    enormous = StrategyProblem(np.eye(2), np.array([0]), np.array([1]), np.array([5000.0]))
    assert unbiased_limit(enormous, np.eye(2)) == 0


def test_a_limit_after_no_time_is_still_a_limit():
    problem = threshold_problem(16, 4)
    assert 0 < limit(problem, watch=Watch(1e-9)).value <= limit(problem).value * (1 + 1e-9)


def test_trees_and_thresholds_are_seen_under_any_names_and_nothing_else_is():
    rng = np.random.default_rng(4)
    for n in (2, 5, 17):
        first, second = random_tree(rng, n)
        problem = StrategyProblem(np.eye(n), np.append(first, second[0]), np.append(second, first[0]), np.ones(n))
        known = tree(problem)
        assert known is not None
        np.testing.assert_allclose(np.abs(known.sides[:, first] - known.sides[:, second]).sum(axis=0), 1)
        for reach in range(1, n):
            order = rng.permutation(n)
            along = threshold(threshold_problem(n, reach, order=order))
            assert along is not None
            assert along[1] == reach
    ring = StrategyProblem(np.eye(6), np.arange(6), (np.arange(6) + 1) % 6, np.ones(6))
    assert tree(ring) is None
    assert threshold(ring) is None
    uneven = StrategyProblem(np.eye(3), np.array([0, 1]), np.array([1, 2]), np.array([1.0, 2.0]))
    assert threshold(uneven) is None


def test_odd_rings_are_not_bipartite_and_even_ones_are():
    for n in range(3, 9):
        ring = np.arange(n)
        assert bipartite(n, ring, (ring + 1) % n) == (n % 2 == 0)
    assert bipartite(9, np.array([0, 4]), np.array([1, 5]))


def test_seriation_recovers_the_order_of_a_discrete_universe_from_its_ranges():
    order = np.random.default_rng(5).permutation(30)
    found = order[seriation(threshold_problem(30, 29, order=order))]
    assert (found == np.arange(30)).all() or (found == np.arange(30)[::-1]).all()


@pytest.mark.parametrize("n", [2, 3, 7, 16])
@pytest.mark.parametrize("branches", [2, 4])
def test_nested_ranges_divide_all_cells_on_every_level(n, branches):
    rows, levels = nested_ranges(n, branches)
    for level in range(int(levels.max()) + 1):
        assert (rows[levels == level].sum(axis=0) == 1).all()
    assert (rows[levels == levels.max()].sum(axis=1) == 1).all()


@pytest.mark.soak
@pytest.mark.parametrize(
    ("n", "reach", "thorough", "most"),
    [(256, 1, False, 130_561), (64, 4, True, 68_500), (256, 16, False, 2.95e6), (256, 255, False, 6.4e6)],
)
def test_the_known_totals_are_reached(n, reach, thorough, most):
    problem = threshold_problem(n, reach)
    found = choose(problem, effort="thorough" if thorough else "search")
    check(problem, found)
    assert found.total <= most
