"""Grids are seen in their pairs alone; hats and prefix counts keep every pair, and leave less error than cells."""

import itertools

import numpy as np
import pytest

from contracts.long_forms import mostly_slow, slow
from contracts.strategy_cases import grid_problem, random_problem, threshold_problem
from dxprivacy.optimize.deadline import Watch
from dxprivacy.optimize.strategies import StrategyProblem, bases, choose, limit
from dxprivacy.optimize.strategies.pair_structure import GridLine, Listed, grid
from dxprivacy.optimize.strategies.tents import best_hats, hat_functions

KINDS = [
    [(4, 1, None), (3, 1, None)],
    [(2, 1, None), (9, 0.5, None)],
    [(3, 1, None), (2, 2, None), (4, 1, None)],
    [(5, 1, 2.5), (4, 1, None)],
    [(4, 1, 2), (4, 1, 2)],
    [(7, 1, 3.5), (3, 1)],
    [(5, 1, None), (4, 0.3)],
]


def without_grids(monkeypatch):
    monkeypatch.setattr(bases, "grid", lambda _: None)


@pytest.mark.parametrize("axes", KINDS)
def test_axes_are_seen_under_any_names_of_the_cells(axes):
    plain = grid_problem(axes)
    problem = plain.renamed(np.random.default_rng(len(axes)).permutation(plain.cells))
    found = grid(problem)
    assert found is not None
    kinds = [
        ("line", a.length, a.away is not None) if isinstance(a, GridLine) else ("list", a.size) for a in found.axes
    ]
    assert sorted(kinds) == sorted(("line", a[0], a[2] is not None) if len(a) == 3 else ("list", a[0]) for a in axes)
    assert len(set(zip(*found.places.tolist(), strict=True))) == problem.cells
    for i, j, d in zip(problem.first, problem.second, problem.limits, strict=True):
        (k,) = np.flatnonzero(found.places[:, i] != found.places[:, j])
        axis, ends = found.axes[k], sorted(found.places[k, [i, j]].tolist())
        if isinstance(axis, Listed):
            assert d == axis.limit
        elif ends[1] == axis.length:
            assert d == axis.away[ends[0]]
        else:
            assert ends[1] == ends[0] + 1
            assert d == axis.steps[ends[0]]


def test_steps_of_different_lengths_are_kept_apart_and_the_least_of_each_counts():
    square = grid_problem([(3, 1, None), (3, 1, None)])
    limits = square.limits.copy()
    limits[:6] = [1, 1, 0.75, 2, 2, 2]  # the first step along the first axis, then the second
    found = grid(StrategyProblem(square.gram, square.first, square.second, limits))
    assert sorted(a.steps.tolist() for a in found.axes) == [[0.75, 2.0], [1.0, 1.0]]


def changed(problem, *, less=None, more=None):
    """With a pair left out, or one more."""
    keep = np.arange(len(problem.first)) != (-1 if less is None else less)
    first, second, limits = problem.first[keep], problem.second[keep], problem.limits[keep]
    if more is not None:
        first, second = np.append(first, more[0]), np.append(second, more[1])
        limits = np.append(limits, 1.0)
    return StrategyProblem(problem.gram, first, second, limits)


def test_what_is_no_grid_is_not_taken_for_one():
    square = grid_problem([(4, 1, None), (4, 1, None)])
    assert all(grid(changed(square, less=k)) is None for k in range(len(square.first)))
    pairs = set(zip(square.first.tolist(), square.second.tolist(), strict=True))
    for pair in itertools.combinations(range(16), 2):
        if pair not in pairs:
            assert grid(changed(square, more=pair)) is None
    assert grid(threshold_problem(12, 1)) is None
    assert grid(threshold_problem(12, 3)) is None
    assert grid(threshold_problem(6, 5)) is None
    ring = np.arange(6)
    assert grid(StrategyProblem(np.eye(6), ring, (ring + 1) % 6, np.ones(6))) is None
    prism = [(*edge, 1.0) for edge in [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)]]  # a ring of five, twice, and rungs
    prism += [(a + 5, b + 5, d) for a, b, d in prism] + [(a, a + 5, 1.0) for a in range(5)]
    i, j, d = (np.array(x) for x in zip(*prism, strict=True))
    assert grid(StrategyProblem(np.eye(10), i, j, d)) is None
    rng = np.random.default_rng(0)
    for _ in range(20):
        assert grid(random_problem(rng, cells=7)[0]) is None  # a prime number of cells


@pytest.mark.parametrize("n", [1, 2, 5, 16])
@pytest.mark.parametrize("width", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("offset", [0, 1, 4])
def test_hats_add_up_to_one_and_one_step_changes_them_by_two_over_the_width(n, width, offset):
    hats = hat_functions(n, width, offset)
    np.testing.assert_allclose(hats.sum(axis=0), 1)
    np.testing.assert_allclose(np.abs(np.diff(hats, axis=1)).sum(axis=0), 2 / width)
    assert (hats * width == np.rint(hats * width)).all()


@pytest.mark.parametrize("axes", KINDS)
def test_what_hats_guarantee_is_what_their_rows_have(axes):
    problem = grid_problem(axes)
    found = best_hats(problem, grid(problem), Watch())
    cells = np.full(problem.cells, found.cells * problem.limits.min() / 2)
    rows = np.vstack([found.rows, np.diag(cells)])
    assert problem.load(rows) == pytest.approx(1, abs=1e-12)
    assert found.error == pytest.approx(problem.total(rows), rel=1e-6)
    assert found.error <= problem.total(np.eye(problem.cells)) * (1 + 1e-3)


def test_the_search_for_weights_is_as_good_as_trying_many():
    """Cells, hats and both lines of prefix counts at all fractions of a fine net: none is better by a hundredth."""
    n = 6
    problem = grid_problem([(n, 1, None), (n, 1, None)])
    prefixes = np.tril(np.ones((n, n)))[:-1]
    both = np.vstack([np.kron(prefixes, np.ones((1, n))), np.kron(np.ones((1, n)), prefixes)])
    least = np.inf
    for width, budget in itertools.product((1, 2, 3, 4), itertools.product(np.linspace(0.05, 0.95, 19), repeat=2)):
        hats = np.kron(hat_functions(n, width, 0), hat_functions(n, width, 0))
        if sum(budget) <= 1:
            parts = [budget[0] / 2 * np.eye(n * n), budget[1] * width / 2 * hats, (1 - sum(budget)) * both]
            least = min(least, problem.total(np.vstack(parts)))
    assert best_hats(problem, grid(problem), Watch()).error <= 1.01 * least


@pytest.mark.slow  # short form: the test before
def test_ranges_of_a_plane_leave_about_half_the_error_of_cells():
    problem = grid_problem([(16, 1, None), (16, 1, None)], order=np.random.default_rng(1).permutation(256))
    found = choose(problem, effort="quick")
    assert found.name == "cells, prefix counts and hats, weighted"
    assert problem.load(found.rows) == pytest.approx(1, abs=1e-12)
    assert found.total == pytest.approx(problem.total(found.rows), rel=1e-9)
    assert found.total <= 2.02e6
    assert found.total <= 0.53 * problem.total(np.eye(256))
    assert limit(problem, cuts=False).value <= found.total <= 8 * limit(problem, cuts=False).value


@pytest.mark.parametrize(
    ("axes", "part"),
    mostly_slow(
        [
            ([(12, 1, None), (20, 0.5, None)], 0.5),
            ([(12, 1, None), (20, 0.1, None)], 0.5),
            ([(9, 1, 4.5), (10, 1, 5)], 0.85),
            ([(40, 0.1, 2), (6, 1)], 0.4),
            ([(5, 1, None), (5, 1, None), (5, 0.5, None)], 0.9),
        ],
        slice(2, None, 2),
    ),
)
def test_other_sizes_budgets_and_kinds_of_axes_gain_too(monkeypatch, axes, part):
    problem = grid_problem(axes)
    found = choose(problem, effort="quick")
    without_grids(monkeypatch)
    assert found.total <= part * choose(problem, effort="quick").total


@pytest.mark.parametrize("kinds", [KINDS[:2], slow(KINDS)], ids=["two", "all"])
def test_no_workload_is_answered_worse_than_without_grids(kinds, monkeypatch):
    rng = np.random.default_rng(2)
    cases = []
    for axes in kinds:
        plain = grid_problem(axes)
        W = rng.integers(0, 2, (int(rng.integers(1, 12)), plain.cells)).astype(float)
        cases += [
            (StrategyProblem(G, plain.first, plain.second, plain.limits), W) for G in (W.T @ W, np.eye(plain.cells))
        ]
    ours = [choose(problem, effort=effort).total for problem, _ in cases for effort in ("quick", "search")]
    without_grids(monkeypatch)
    before = [choose(problem, effort=effort).total for problem, _ in cases for effort in ("quick", "search")]
    assert all(a <= b * (1 + 1.01e-4) for a, b in zip(ours, before, strict=True))


def test_short_axes_and_little_time_are_no_trouble():
    square = grid_problem([(2, 1, None), (2, 1, None)])
    assert best_hats(square, grid(square), Watch()) is None
    assert np.isfinite(choose(square).total)
    problem = grid_problem([(8, 1, None), (9, 1, None)])
    assert np.isfinite(choose(problem, watch=Watch(1e-9)).total)
