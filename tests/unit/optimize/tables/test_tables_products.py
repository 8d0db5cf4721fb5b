"""Products of rows along attributes against dense Kronecker products, and codings that keep the all-ones vector."""

import itertools
import math
from functools import reduce

import numpy as np
import pytest
from scipy.optimize import check_grad

from dxprivacy.errors import UsageError
from dxprivacy.optimize.tables import Budgets
from dxprivacy.optimize.tables.coding import alone, choose_products, coding, penalized, prefixes, ranges, total
from dxprivacy.optimize.tables.measured_table import TableAxis

INF = math.inf


def all_ranges(n):
    return np.array([[a <= k < b for k in range(n)] for a, b in itertools.combinations(range(n + 1), 2)], dtype=float)


@pytest.mark.parametrize("n", [1, 2, 7])
def test_gram_matrices_are_those_of_the_rows(n):
    W = np.tril(np.ones((n, n)))
    assert prefixes(n) == pytest.approx(W.T @ W)
    assert ranges(n) == pytest.approx(all_ranges(n).T @ all_ranges(n))


def test_the_gradient_of_the_penalized_error_is_its_gradient():
    gram, rng = ranges(6), np.random.default_rng(1)
    y = rng.uniform(0.1, 1, 2 * 2 * 6)
    value = lambda x: penalized(gram, 2, 3.0, x)[0]  # noqa: E731
    slope = lambda x: penalized(gram, 2, 3.0, x)[1]  # noqa: E731
    assert check_grad(value, slope, y) < 1e-5 * np.abs(slope(y)).max()


@pytest.mark.parametrize("gram", [prefixes, ranges])
def test_a_coding_keeps_the_all_ones_vector_and_costs_no_more_than_counts(gram):
    for n in (5, 12):
        rows = coding(gram(n), 3, mean=0.3, iterations=300)
        assert np.abs(rows).sum(axis=0).max() <= 1 + 1e-12
        image = rows.T @ rows @ np.ones(n)
        assert np.ptp(image) <= 1e-9 * image.mean()
        mixed, cells = TableAxis.of_rows(gram(n), rows), TableAxis.of_rows(gram(n), np.eye(n))
        of = [axis.contrast * n + 0.3 * axis.asked / axis.told for axis in (mixed, cells)]
        assert of[0] <= of[1] * (1 + 1e-9)


def test_a_coding_of_many_values_errs_less_than_cells():
    mixed, cells = (TableAxis.of_rows(prefixes(64), a) for a in (coding(prefixes(64), 4, mean=0.3), np.eye(64)))
    assert mixed.contrast < 0.9 * cells.contrast
    assert mixed.told > 2 * cells.told


def test_mixtures_alone_are_never_worse_than_cells():
    for gram in (prefixes(20), ranges(20), np.eye(20)):
        rows = alone(gram, 2, iterations=300)
        assert np.abs(rows).sum(axis=0).max() <= 1 + 1e-12
        assert total(gram, rows) <= total(gram, np.eye(20))
    assert total(prefixes(64), alone(prefixes(64), 4)) < 0.6 * total(prefixes(64), np.eye(64))


@pytest.mark.parametrize("budgets", [Budgets((INF,) * 3, presence=0.7), Budgets((INF,) * 3, together=1.0)])
def test_the_total_is_that_of_dense_products(budgets):
    """Least squares over all cells from the products that are measured."""
    sizes = (5, 3, 2)
    asked_rows = [np.tril(np.ones((5, 5))), all_ranges(3), np.eye(2)]
    haar = np.array([[1, 1, -1, -1, 0], [0, 0, 1, -1, 0], [1, 1, 1, 1, 1]]) * [[0.3], [0.2], [0.1]]
    measured = [np.vstack([0.4 * np.eye(5), haar]), np.vstack([0.7 * np.eye(3), [[0.2, -0.1, -0.1]]]), np.eye(2)]
    axes = [TableAxis.of_rows(w.T @ w, a) for w, a in zip(asked_rows[:2], measured[:2], strict=True)] + [
        TableAxis.of_counts(2)
    ]
    workload, weights = [(0, 1), (1, 2), (0, 2), (0,)], [1.0, 2.0, 0.5, 1.0]
    found = choose_products(axes, budgets, workload, weights)

    def product(attributes, rows, halved=()):
        parts = [rows[a] if a in attributes else np.ones((1, sizes[a])) for a in range(3)]
        return reduce(np.kron, [np.array([[1.0, -1.0]]) if a in halved else part for a, part in enumerate(parts)])

    A = np.vstack(
        [w * product(t.attributes, measured, t.halved) for t, w in zip(found.tables, found.precisions, strict=True)]
    )
    W = np.vstack([math.sqrt(x) * product(t, asked_rows) for t, x in zip(workload, weights, strict=True)])
    assert np.abs(A).sum(axis=0).max() <= min(budgets.presence, budgets.together / 2) * (1 + 1e-9)
    if not budgets.total_is_private:
        A, W = (x - x.mean(axis=1, keepdims=True) for x in (A, W))
    assert 2 * float(((W @ np.linalg.pinv(A, rcond=1e-10)) ** 2).sum()) == pytest.approx(found.total, rel=1e-7)


def test_rows_that_mix_the_mean_with_the_rest_or_cost_more_are_refused():
    with pytest.raises(UsageError, match="mean"):
        TableAxis.of_rows(prefixes(4), np.diag([1.0, 0.9, 1.0, 1.0]))
    with pytest.raises(UsageError, match="norm"):
        TableAxis.of_rows(prefixes(4), 1.1 * np.eye(4))
    with pytest.raises(UsageError, match="same values"):
        TableAxis.of_rows(prefixes(4), np.eye(3))
