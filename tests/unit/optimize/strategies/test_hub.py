"""One cell linked to all others, as `other` is."""

import numpy as np

from contracts.strategy_cases import all_ranges
from dxprivacy.optimize.strategies import StrategyProblem, choose
from dxprivacy.optimize.strategies.reweight import hub


def with_hub(n: int, radius: float) -> StrategyProblem:
    ranges = np.hstack([all_ranges(n), np.zeros((n * (n + 1) // 2, 1))])
    first = np.concatenate([np.arange(n - 1), np.arange(n)])
    second = np.concatenate([np.arange(1, n), np.full(n, n)])
    return StrategyProblem(ranges.T @ ranges, first, second, np.concatenate([np.ones(n - 1), np.full(n, radius)]))


def test_a_line_with_a_hub_is_nearly_as_good_as_the_line() -> None:
    problem = with_hub(24, 11.5)
    found = choose(problem, effort="quick")
    assert found.total <= 1.6 * 2 * 24 * 23  # 2 N (N - 1) are the prefixes without a hub
    assert np.isclose(problem.load(found.rows), 1)
    assert np.isclose(problem.total(found.rows), found.total)


def test_the_rest_is_the_line() -> None:
    found = hub(with_hub(8, 3.5))
    assert found is not None
    assert found.cell == 8
    assert found.rest.cells == 8
    assert (found.limits == 3.5).all()


def test_repeated_pairs_make_no_hub_and_all_pairs_neither() -> None:
    line = StrategyProblem(np.eye(5), np.array([0, 1, 2, 3, 1, 1]), np.array([1, 2, 3, 4, 0, 2]), np.ones(6))
    assert hub(line) is None
    first, second = np.triu_indices(5, 1)
    assert hub(StrategyProblem(np.eye(5), first, second, np.ones(10))) is None


def test_a_hub_that_holds_the_rest_together_is_none() -> None:
    assert hub(StrategyProblem(np.eye(5), np.zeros(4, dtype=int), np.arange(1, 5), np.ones(4))) is None


def test_a_hub_that_is_very_close_still_gives_a_valid_strategy() -> None:
    problem = with_hub(10, 0.01)
    found = choose(problem, effort="quick")
    assert np.isfinite(found.total)
    assert np.isclose(problem.load(found.rows), 1)
