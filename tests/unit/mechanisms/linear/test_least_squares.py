"""Least squares against brute force: any rows, tables, exact rows, components."""

import math

import numpy as np
import pytest

from contracts.exact_least_squares import solved, wild_rows
from dxprivacy.errors import NotCertified
from dxprivacy.mechanisms.linear.estimators.least_squares import CellEstimator, LeastSquares, components
from dxprivacy.mechanisms.linear.noise.discrete_laplace_distribution import variance
from dxprivacy.queries.asked import Stack
from dxprivacy.queries.asking import count, marginals, matrix, ranges, sum_of, table
from dxprivacy.queries.strategy_rows import Groups, Steps, Tally
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.universe import Universe

SMALL = Universe(
    [
        Values(name="a", values=("x", "y"), has_other=False),
        Values(name="b", values=("p", "q", "r"), has_other=False),
        Integers(name="c", low=0, high=3, has_other=False),
    ]
)


def _brute(wanted: np.ndarray, counted: np.ndarray, noises: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients by weights so large that exact rows and the total are as good as exact."""
    weights = np.concatenate([[1e7], np.where(noises > 0, 1 / np.sqrt(np.where(noises > 0, noises, 1)), 1e7)])
    rows = np.vstack([np.ones(counted.shape[1]), counted])
    back = wanted @ np.linalg.pinv(rows * weights[:, None], rcond=1e-13) * weights
    return back[:, 1:], back[:, 0]


def _everything(stack: Stack, put: Stack, scales: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Variances by brute force over all cells of the universe, and ours."""
    noises = np.array([variance(s) for s in scales])
    wanted, counted = stack.on(SMALL).dense().astype(float), put.on(SMALL).dense().astype(float)
    back, _ = _brute(wanted, counted, noises)
    ours = LeastSquares(stack.on(SMALL), put).distributions(scales.tolist())
    return back**2 @ noises, np.array([distribution.variance for distribution in ours])


CASES = {
    "ranges from prefixes": (
        Stack((ranges("c"),)),
        Stack((Steps.from_rows("c", np.tril(np.ones((3, 4), dtype=np.int64))),)),
    ),
    "ranges from cells": (Stack((ranges("c"),)), Stack((table("c"),))),
    "redundant rows": (Stack((table("c"), ranges("c"))), Stack((table("c"), ranges("c")))),
    "two components": (
        Stack((ranges("c"), table("a", "b"))),
        Stack((table("c"), table("a"), table("b"), table("a", "b"))),
    ),
    "tables": (
        Stack((marginals(2),)),
        Stack((table("a", "b"), table("a", "c"), table("b", "c"), table("a", "b", "c"))),
    ),
    "half coding": (
        Stack((table("a"), table("a", "b"))),
        Stack(
            (
                Tally((Groups("a", (0, 0), (1, -1)),)),
                Tally((Groups("a", (0, 0), (1, -1)), Groups("b", (0, 1, 2), (1, 1, 1)))),
                table("b"),
            )
        ),
    ),
    "sums and counts": (Stack((sum_of("c", by="b"), count())), Stack((table("b", "c"), table("b")))),
    "explicit rows": (
        Stack((matrix(np.arange(48).reshape(2, 24) % 5),)),
        Stack((matrix(np.eye(24)), matrix(np.arange(24)[None, :] % 7))),
    ),
    "the same rows": (Stack((table("b"),)), Stack((table("b"),))),
}


@pytest.mark.parametrize("name", CASES)
def test_variances_are_those_of_brute_force(name: str) -> None:
    stack, put = CASES[name]
    rng = np.random.default_rng(5)
    workload = put.on(SMALL)
    by_block = rng.uniform(0.5, 5, len(workload.blocks))[workload.block_of]
    for scales in (by_block, rng.uniform(0.5, 5, workload.rows)):
        theirs, ours = _everything(stack, put, scales)
        assert np.allclose(theirs, ours, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", CASES)
def test_without_noise_the_truth_comes_back(name: str) -> None:
    stack, put = CASES[name]
    x = np.random.default_rng(2).integers(0, 20, SMALL.size)
    asked, counted = stack.on(SMALL), put.on(SMALL)
    scales = [2.0] * counted.rows
    estimate = LeastSquares(asked, put).estimate(counted.answer(x), scales, int(x.sum()))
    assert np.allclose(np.array(estimate, dtype=float), asked.answer(x), atol=1e-8)


def test_answers_agree_with_one_another() -> None:
    stack, put = CASES["tables"]
    counted = put.on(SMALL)
    noisy = counted.answer(np.full(SMALL.size, 5)) + np.random.default_rng(1).integers(-9, 9, counted.rows)
    rows = np.array(LeastSquares(stack.on(SMALL), put).estimate(noisy, [3.0] * counted.rows, 120), dtype=float)
    ab, ac, bc = rows[:6].reshape(2, 3), rows[6:14].reshape(2, 4), rows[14:].reshape(3, 4)
    assert np.allclose(ab.sum(axis=1), ac.sum(axis=1))
    assert np.allclose(ab.sum(axis=0), bc.sum(axis=1))
    assert math.isclose(ab.sum(), 120)


def test_rows_without_noise_are_kept_exactly() -> None:
    wanted, counted = np.eye(4, dtype=np.int64), np.array([[1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0]])
    back, constant = CellEstimator(counted, np.array([0.0, 1.0, 1.0])).of(wanted)
    theirs = _brute(wanted, counted, np.array([0.0, 1.0, 1.0]))
    assert np.allclose(back, theirs[0], atol=1e-6)
    assert np.allclose(constant, theirs[1], atol=1e-6)


def test_what_the_counted_rows_do_not_tell_is_refused() -> None:
    with pytest.raises(NotCertified, match="do not tell everything"):
        LeastSquares(
            ranges("c").on(SMALL), Stack((table("b"), Steps.from_rows("c", np.array([[1, 0, 0, 0]]))))
        ).distributions([1.0] * 4)
    with pytest.raises(NotCertified, match="do not tell everything"):
        LeastSquares(table("a", "b").on(SMALL), Stack((table("a"), table("b")))).distributions([1.0] * 5)


def test_components_are_the_attributes_that_rows_connect() -> None:
    workload = Stack((table("a"), ranges("c"), table("a", "b"), count())).on(SMALL)
    parts = components(workload.blocks, ())
    assert [(p.axes, p.asked) for p in parts] == [((0, 1), (0, 2)), ((2,), (1,))]


def test_constant_rows_tell_the_number_of_records() -> None:
    way = LeastSquares(Stack((count(), ranges("c"))).on(SMALL), Stack((table("c"),)))
    estimate = way.estimate(np.array([1, 2, 3, 4]), [1.0] * 4, 77)
    assert estimate[0] == 77
    assert math.isclose(float(estimate[4]), 77)  # the full range
    distributions = way.distributions([1.0] * 4)
    assert distributions[0].variance == distributions[4].variance == 0


@pytest.mark.parametrize("seed", range(40))
def test_noises_from_nothing_to_beyond_all_bounds_give_what_fractions_give(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cells = int(rng.integers(2, 9))
    counted, noises = wild_rows(rng, cells)
    wanted = np.vstack([rng.integers(-2, 3, (4, cells)), counted[:3], np.ones((1, cells), dtype=np.int64)])
    x = rng.integers(0, 100, cells)
    noisy = counted @ x + np.rint(rng.laplace(size=len(counted)) * np.sqrt(noises)).astype(np.int64)
    told = [a[None] for a in wanted if solved(a[None], counted, noises, noisy, x.sum()) is not None]
    if len(told) < len(wanted):
        with pytest.raises(NotCertified, match="do not tell everything"):
            CellEstimator(counted, noises).of(wanted)
    wanted = np.vstack(told)
    estimates, variances = solved(wanted, counted, noises, noisy, x.sum())
    back, constant = CellEstimator(counted, noises).of(wanted)
    for k, (value, spread) in enumerate(zip(estimates, variances, strict=True)):
        assert float(back[k] ** 2 @ noises) == pytest.approx(float(spread), rel=1e-7, abs=0)
        room = 1e-9 * (np.abs(back[k]) @ np.abs(noisy) + abs(constant[k]) * x.sum() + float(spread) ** 0.5)
        assert back[k] @ noisy + constant[k] * x.sum() == pytest.approx(float(value), abs=room)


def test_a_row_that_is_hardly_ever_noisy_is_not_exact() -> None:
    stack, scales = Stack((table("a"), ranges("c"))), [0.01] * 2 + [2.0] * 4
    distributions = LeastSquares(stack.on(SMALL), Stack((table("a"), table("c")))).distributions(scales)
    assert 0 < distributions[0].variance < 1e-40
    assert 0 < distributions[0].half_width() < 1
    silent = LeastSquares(stack.on(SMALL), Stack((table("a"), table("c")))).distributions([0.001] * 2 + [2.0] * 4)
    assert silent[0].variance == 0 < silent[2].variance


def test_what_exact_rows_tell_is_whole() -> None:
    counted = Stack((table("b"), Steps.from_rows("c", np.array([[1, 2, 0, 0], [3, 0, 0, 0]]))))
    asked = Stack((Steps.from_rows("c", np.array([[1, 0, 0, 0], [0, 3, 0, 0]])), table("b")))
    way = LeastSquares(asked.on(SMALL), counted)
    estimate = way.estimate(np.array([1, 2, 4, 21, 9]), [1.0, 1.0, 1.0, 0.0, 0.0], 70)
    assert [(x, type(x)) for x in estimate[:2]] == [(3, int), (27, int)]
    assert all(isinstance(x, float) for x in estimate[2:])
