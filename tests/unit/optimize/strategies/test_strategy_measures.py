"""Load and total against brute force, gradients against differences, and what a change of names or units does."""

import numpy as np
import pytest

from contracts.strategy_cases import all_ranges, random_problem, threshold_problem
from dxprivacy.errors import UsageError
from dxprivacy.optimize.deadline import Watch
from dxprivacy.optimize.strategies import StrategyProblem, unbiased_limit
from dxprivacy.optimize.strategies.p_identity import Smoothed, Space, cell_budgets, mixtures, objective, search
from dxprivacy.optimize.strategies.pair_structure import classes
from dxprivacy.optimize.strategies.reweight import cells_and_rows
from dxprivacy.optimize.strategies.strategy_limits import cut_limit


def brute_force(problem, rows):
    load = max(
        sum(abs(row[i] - row[j]) for row in rows) / d
        for i, j, d in zip(problem.first, problem.second, problem.limits, strict=True)
    )
    n = problem.cells
    P = np.eye(n) - 1 / n
    M = P @ rows.T @ rows @ P
    if np.abs(P @ problem.gram @ P @ (np.eye(n) - np.linalg.pinv(M, rcond=1e-10) @ M)).max() > 1e-8:
        return load, np.inf
    return load, 2 * load**2 * np.trace(P @ problem.gram @ P @ np.linalg.pinv(M, rcond=1e-10))


def differences(f, y, step=1e-6):
    return np.array([(f(y + step * e) - f(y - step * e)) / (2 * step) for e in np.eye(len(y))])


def test_load_and_total_agree_with_brute_force():
    rng = np.random.default_rng(0)
    for _ in range(60):
        problem, W = random_problem(rng)
        for rows in (rng.normal(size=(problem.cells + 2, problem.cells)), W, np.eye(problem.cells), W[:1]):
            load, total = brute_force(problem, rows)
            assert problem.load(rows) == pytest.approx(load, rel=1e-12)
            assert problem.total(rows) == pytest.approx(total, rel=1e-6)


def test_loads_of_many_rows_and_pairs_agree_with_brute_force_whatever_the_pieces():
    rng = np.random.default_rng(5)
    problem = threshold_problem(40, 39, np.eye(40))
    rows = rng.normal(size=(3_000, 40))
    apart = np.abs(rows[:, problem.first] - rows[:, problem.second])
    assert problem.load(rows) == pytest.approx((apart.sum(axis=0) / problem.limits).max(), rel=1e-12)
    by_row = (apart**2 / (4 * np.sinh(problem.limits / 2) ** 2)).max(axis=1)
    assert unbiased_limit(problem, rows) == pytest.approx(by_row.sum(), rel=1e-9)


def test_total_does_not_see_constants_order_of_rows_or_their_scale():
    rng = np.random.default_rng(1)
    problem, _ = random_problem(rng)
    rows = rng.normal(size=(problem.cells, problem.cells))
    total = problem.total(rows)
    assert problem.total(rows + rng.normal(size=(problem.cells, 1))) == pytest.approx(total)
    assert problem.total(7 * rows[::-1]) == pytest.approx(total)


def test_a_strategy_of_low_rank_serves_exactly_the_workload_it_spans():
    problem = threshold_problem(6, 2, np.array([[1.0, 1, 1, 0, 0, 0]]))
    assert problem.total(np.array([[2.0, 2, 2, 0, 0, 0]])) == pytest.approx(2.0)
    assert problem.total(np.array([[1.0, 1, 0, 0, 0, 0]])) == np.inf
    assert problem.total(np.zeros((1, 6))) == np.inf
    assert problem.total(np.zeros((0, 6))) == np.inf


def test_a_part_of_the_workload_that_is_small_but_not_zero_is_not_lost():
    W = np.array([[1.0, 0, 0, 0], [0, 1e-5, 0, 0]])
    assert threshold_problem(4, 3, W).total(W[:1]) == np.inf


def test_permuted_cells_have_the_same_totals():
    rng = np.random.default_rng(2)
    problem, _ = random_problem(rng)
    order = rng.permutation(problem.cells)
    rows = rng.normal(size=(problem.cells, problem.cells))
    assert problem.renamed(order).total(rows[:, order]) == pytest.approx(problem.total(rows))


def test_limits_times_k_divide_the_total_by_k_squared():
    rng = np.random.default_rng(3)
    problem, _ = random_problem(rng)
    rows = rng.normal(size=(problem.cells, problem.cells))
    wider = StrategyProblem(problem.gram, problem.first, problem.second, 3 * problem.limits)
    assert wider.total(rows) == pytest.approx(problem.total(rows) / 9)


@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("q", [0, 3])
def test_cells_and_rows_agree_with_the_inverse_and_with_differences(free, q):
    rng = np.random.default_rng(4)
    n = 7
    a, F, X = rng.uniform(0.3, 2, n), rng.normal(size=(q, n)), rng.normal(size=(n, n))
    G = X.T @ X
    if free:
        G = (np.eye(n) - 1 / n) @ G @ (np.eye(n) - 1 / n)
    U = np.linalg.svd(np.ones((1, n)))[2][1:].T if free else np.eye(n)

    def direct(y):
        A = np.vstack([np.diag(y[:n]), y[n:].reshape(q, n)])
        return float(np.trace(U.T @ G @ U @ np.linalg.inv(U.T @ A.T @ A @ U)))

    value, by_a, by_F = cells_and_rows(a, F, G, free=free)
    y = np.concatenate([a, F.ravel()])
    assert value == pytest.approx(direct(y))
    np.testing.assert_allclose(np.concatenate([by_a, by_F.ravel()]), differences(direct, y), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("with_base", [True, False])
def test_the_gradient_of_mixtures_agrees_with_differences(with_base):
    rng = np.random.default_rng(5)
    n, p = 6, 2
    X = rng.normal(size=(n, n))
    base = rng.normal(size=(2, n)) if with_base else np.zeros((0, 0))
    space = Space(X.T @ X, rng.uniform(0.5, 1, n), free=not with_base, base=base)
    y = np.concatenate([rng.uniform(0.1, 1, 2 * p * n), [0.4]])
    np.testing.assert_allclose(
        objective(space, p, y)[1], differences(lambda y: objective(space, p, y)[0], y), atol=1e-7
    )


def test_the_gradient_of_the_search_agrees_with_differences():
    rng = np.random.default_rng(6)
    problem, _ = random_problem(rng, cells=6)
    f = Smoothed.of(problem, 7.0, 0.05)
    y = rng.normal(size=8 * 6)
    np.testing.assert_allclose(f(y)[1], differences(lambda y: f(y)[0], y), atol=1e-6)


@pytest.mark.parametrize("power", [9.0, None])
def test_the_gradient_of_the_limit_by_cuts_agrees_with_differences(power):
    rng = np.random.default_rng(7)
    first, second = np.triu_indices(7, 1)
    gram = threshold_problem(7, 3).gram
    problem = StrategyProblem(gram, first, second, np.where(second - first <= 3, 1.0, 2.0))
    odd = classes(problem)[:1]
    y = rng.normal(size=len(first) + 7)
    np.testing.assert_allclose(
        cut_limit(problem, odd, y, power)[1], differences(lambda y: cut_limit(problem, odd, y, power)[0], y), atol=1e-6
    )


def test_mixtures_keep_every_budget():
    rng = np.random.default_rng(8)
    for _ in range(5):
        problem, _ = random_problem(rng)
        space = Space(problem.centered, cell_budgets(problem), free=True)
        rows = mixtures(space, rng.uniform(0, 1, (4, problem.cells)), 0.0, iterations=50, watch=Watch())
        np.testing.assert_allclose(np.abs(rows).sum(axis=0), space.budgets)
        assert problem.load(rows) <= 1 + 1e-9


def test_the_search_never_returns_less_than_its_start():
    rng = np.random.default_rng(9)
    problem = threshold_problem(8, 3)
    for start in (np.eye(8), rng.normal(size=(10, 8)), all_ranges(8)):
        found = search(problem, start, iterations=20, watch=Watch())
        assert problem.load(found) == pytest.approx(1)
        assert problem.total(found) <= problem.total(start) * (1 + 1e-12)


def test_pairs_that_others_imply_go_and_no_load_changes():
    rng = np.random.default_rng(10)
    for _ in range(30):
        problem, _ = random_problem(rng)
        n = problem.cells
        far = np.full((n, n), np.inf)
        np.minimum.at(far, (problem.first, problem.second), problem.limits)
        far = np.minimum(far, far.T)
        for k in range(n):
            far = np.minimum(far, far[:, [k]] + far[[k], :])
        i, j = np.triu_indices(n, 1)
        listed = StrategyProblem(problem.gram, i, j, far[i, j])
        kept = listed.essential
        assert len(kept.first) <= len(problem.first)
        for rows in (rng.normal(size=(3, n)), rng.integers(0, 2, (4, n)).astype(float)):
            assert listed.load(rows) == pytest.approx(kept.load(rows), rel=1e-9)
            assert problem.load(rows) == pytest.approx(kept.load(rows), rel=1e-9)


def test_of_pairs_that_imply_one_another_but_for_roundings_some_stay():
    tiny = 1e-14
    problem = StrategyProblem(np.eye(3), np.array([0, 0, 1]), np.array([1, 2, 2]), np.array([1.0, 1.0, tiny]))
    rows = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, tiny]])
    assert problem.essential.load(rows) == pytest.approx(problem.load(rows))


GOOD = (np.eye(3), np.array([0, 1]), np.array([1, 2]), np.ones(2))


@pytest.mark.parametrize(
    ("at", "value", "says"),
    [
        (0, np.ones((3, 2)), "square"),
        (0, np.ones((1, 1)), "square"),
        (0, np.array([[1.0, 2], [3, 4]]), "symmetric"),
        (0, np.full((3, 3), np.nan), "finite"),
        (0, "x", "gram must be numbers"),
        (0, np.ones(3), "dimensions"),
        (1, np.array([0, 5]), "outside 0..2"),
        (1, np.array([0, -1]), "outside 0..2"),
        (1, np.array([0, 2]), "itself"),
        (1, np.array([1, 0, 1]), "do not match"),
        (2, np.array([1, 0]), "connect"),
        (3, np.array([1.0, 0.0]), "positive and finite"),
        (3, np.array([1.0, np.inf]), "positive and finite"),
        (3, np.array([1.0, np.nan]), "positive and finite"),
        (3, np.ones(0), "do not match"),
    ],
)
def test_a_problem_that_is_none_is_refused(at, value, says):
    parts = list(GOOD)
    parts[at] = value
    with pytest.raises(UsageError, match=says):
        StrategyProblem(*parts)


def test_a_time_that_is_none_is_refused():
    for seconds in (0, -1, float("nan")):
        with pytest.raises(UsageError, match="seconds"):
            Watch(seconds)


@pytest.mark.parametrize("wild", [1e9, 1e10, 1e13, 1e160])  # negative, nought and infinite in floats
def test_where_floats_do_not_tell_the_error_of_mixtures_the_search_turns_back(wild):
    contrast = np.array([1.0, -1.0, 0.0])
    space = Space(np.outer(contrast, contrast), np.array([0.3, 0.5, 0.7]), free=True)
    value, gradient = objective(space, 1, np.array([wild, 0.0, 0.0, 0.0, wild, 0.0, 0.1]))
    assert value > objective(space, 1, np.array([1e4, 0.0, 0.0, 0.0, 1e4, 0.0, 0.1]))[0]
    assert np.isfinite(gradient).all()


def test_mixtures_stay_where_floats_tell_their_error():
    contrast = np.array([1.0, -1.0, 0.0])
    space = Space(np.outer(contrast, contrast), np.array([0.3, 0.5, 0.7]), free=True)
    start = np.array([[1e9, 0.0, 0.0], [0.0, 1e9, 0.0]])
    rows = mixtures(space, start, 0.1, iterations=50, watch=Watch())
    assert np.abs(rows[:3].diagonal()).min() >= 0.3 / 2.1e4
