"""Reconstruction against dense least squares, and what every estimate must satisfy."""

import itertools

import numpy as np
import pytest

from contracts.dense_tables import coefficients, rows_of, strategy, universe
from dxprivacy.errors import QueryError, UsageError
from dxprivacy.optimize.tables import MeasuredTable, Reconstruction

CASES = {
    "two by three": ((2, 3), [(0,), (0, 1)], [MeasuredTable((0,), (0,)), MeasuredTable((0, 1)), MeasuredTable((1,))]),
    "asked out of order": (
        (2, 3, 4),
        [(2, 0), (1,)],
        [MeasuredTable((0, 2), (0,)), MeasuredTable((0, 1, 2)), MeasuredTable((2,))],
    ),
    "all halved": (
        (2, 2, 2),
        list(itertools.combinations(range(3), 2)),
        [MeasuredTable(t, t) for r in (1, 2) for t in itertools.combinations(range(3), r)],
    ),
    "mixed": (
        (2, 3, 2, 2),
        [(0, 1), (1, 2), (0, 2, 3), (3,), ()],
        [
            MeasuredTable((0, 1), (0,)),
            MeasuredTable((0, 1, 2), (2,)),
            MeasuredTable((0, 2, 3), (0, 3)),
            MeasuredTable((0, 2, 3)),
            MeasuredTable((1,)),
            MeasuredTable((1, 2, 3), (2, 3)),
        ],
    ),
    "one attribute": ((5,), [(0,), (0,)], [MeasuredTable((0,)), MeasuredTable((0,))]),
    "one value": (
        (3, 1, 2),
        [(0, 1), (1, 2), (1,)],
        [MeasuredTable((0, 1, 2), (2,)), MeasuredTable((0,)), MeasuredTable((1,))],
    ),
}


def variances(tables):
    return [0.5 + 0.7 * k for k in range(len(tables))]


def cumulants(tables):
    return [1.0 + k * k for k in range(len(tables))]


@pytest.mark.parametrize("case", CASES)
def test_variance_and_kurtosis_are_those_of_dense_least_squares(case):
    sizes, asked, tables = CASES[case]
    fast = Reconstruction(sizes, asked, tables, variances(tables), cumulants(tables))
    dense, v, _ = coefficients(sizes, asked, tables, variances(tables))
    k4 = np.concatenate([np.full(t.rows(sizes), k) for t, k in zip(tables, cumulants(tables), strict=True)])
    for K, variance, excess in zip(dense, fast.variance(), fast.excess(), strict=True):
        assert K**2 @ v == pytest.approx(np.full(len(K), variance), rel=1e-9, abs=1e-12)
        if variance > 0:
            assert K**4 @ k4 / variance**2 == pytest.approx(np.full(len(K), excess), rel=1e-9)
        else:
            assert excess == 0


@pytest.mark.parametrize("case", CASES)
def test_estimates_are_those_of_dense_least_squares(case):
    sizes, asked, tables = CASES[case]
    rng = np.random.default_rng(3)
    x = rng.integers(0, 9, len(universe(sizes)))
    noisy = [rows @ x + rng.integers(-5, 6, len(rows)) for rows in strategy(sizes, tables)]
    fast = Reconstruction(sizes, asked, tables, variances(tables)).estimate(noisy, int(x.sum()))
    dense, _, A = coefficients(sizes, asked, tables, variances(tables))
    even = np.full(len(x), x.sum() / len(x))
    for t, K, estimate in zip(asked, dense, fast, strict=True):
        assert estimate == pytest.approx(rows_of(sizes, t) @ even + K @ (np.concatenate(noisy) - A @ even), abs=1e-8)


@pytest.mark.parametrize("case", CASES)
def test_without_noise_the_tables_come_out_exactly(case):
    sizes, asked, tables = CASES[case]
    x = np.random.default_rng(5).integers(0, 1000, len(universe(sizes)))
    exact = [rows @ x for rows in strategy(sizes, tables)]
    for v in (variances(tables), [0.0] * len(tables)):
        for t, estimate in zip(
            asked, Reconstruction(sizes, asked, tables, v).estimate(exact, int(x.sum())), strict=True
        ):
            assert estimate == pytest.approx(rows_of(sizes, t) @ x, abs=1e-8)


def test_estimates_agree_with_one_another_and_with_the_total():
    sizes, asked = (3, 4, 2, 5), list(itertools.combinations(range(4), 2))
    tables = [MeasuredTable(t) for t in asked]
    rng = np.random.default_rng(1)
    noisy = [rng.normal(10, 50, t.rows(sizes)) for t in tables]
    found = Reconstruction(sizes, asked, tables, variances(tables)).estimate(noisy, 1234)
    margins: dict[int, list[np.ndarray]] = {}
    for (a, b), estimate in zip(asked, found, strict=True):
        shaped = estimate.reshape(sizes[a], sizes[b])
        assert shaped.sum() == pytest.approx(1234)
        margins.setdefault(a, []).append(shaped.sum(axis=1))
        margins.setdefault(b, []).append(shaped.sum(axis=0))
    for same in margins.values():
        assert len(same) == 3
        for other in same[1:]:
            assert other == pytest.approx(same[0])


def test_an_exact_table_settles_its_components_alone():
    sizes, asked = (3, 2), [(0,), (0, 1)]
    tables = [MeasuredTable((0,)), MeasuredTable((0, 1))]
    exact = Reconstruction(sizes, asked, tables, [0.0, 2.0], [0.0, 5.0])
    nearly = Reconstruction(sizes, asked, tables, [1e-9, 2.0], [0.0, 5.0])
    assert exact.variance()[0] == 0
    assert exact.excess()[0] == 0
    assert exact.variance()[1] == pytest.approx(nearly.variance()[1], rel=1e-6)
    assert exact.excess()[1] == pytest.approx(nearly.excess()[1], rel=1e-6)
    found = exact.estimate([[5, 3, 2], [100, -7, 3, 3, 1, 0]], 10)
    assert found[0] == pytest.approx([5, 3, 2])
    assert found[1].reshape(3, 2).sum(axis=1) == pytest.approx([5, 3, 2])


def test_noise_that_is_never_there_and_noise_beyond_all_bounds_stay_within_floats():
    sizes, asked, tables = (3, 2), [(0,), (0, 1)], [MeasuredTable((0,)), MeasuredTable((0, 1))]
    nothing = Reconstruction(sizes, asked, tables, [1e-217, 2.0], [1e-217, 5.0])
    exact = Reconstruction(sizes, asked, tables, [0.0, 2.0], [0.0, 5.0])
    assert nothing.variance() == pytest.approx(exact.variance(), rel=1e-12, abs=1e-216)
    assert nothing.variance()[0] > 0 == exact.variance()[0]  # hardly ever is not never
    assert nothing.excess() == pytest.approx(exact.excess())
    assert all(np.isfinite(Reconstruction(sizes, asked, tables, [1e-39, 1e59], [1e-39, 1e119]).excess()))
    with pytest.raises(UsageError, match="variances"):
        Reconstruction(sizes, asked, tables, [1.0, 1e61])


def test_simulated_variance_and_kurtosis_are_the_stated_ones():
    sizes, asked = (2, 3, 2), [(0, 1), (1, 2), (0, 2)]
    tables = [
        MeasuredTable((0, 1), (0,)),
        MeasuredTable((1, 2)),
        MeasuredTable((0, 2), (0, 2)),
        MeasuredTable((0, 1, 2)),
    ]
    scales = [3.0, 5.0, 2.0, 8.0]
    answers = Reconstruction(sizes, asked, tables, [2 * s * s for s in scales], [12 * s**4 for s in scales])
    rng = np.random.default_rng(11)
    runs = 2_500
    draws = [rng.laplace(0, s, (runs, t.rows(sizes))) for s, t in zip(scales, tables, strict=True)]
    found = [answers.estimate([d[k] for d in draws], 0) for k in range(runs)]
    for k, (variance, excess) in enumerate(zip(answers.variance(), answers.excess(), strict=True)):
        cells = np.array([f[k] for f in found])
        spread = np.sqrt((excess + 2) / runs) * variance
        assert np.abs(cells.var(axis=0) - variance).max() < 4 * spread
        assert np.abs(cells.mean(axis=0)).max() < 4 * np.sqrt(variance / runs)
        kurtosis = (cells**4).mean() / (cells**2).mean() ** 2 - 3
        assert kurtosis == pytest.approx(excess, abs=0.35)


def test_a_component_that_nothing_measures_is_refused():
    with pytest.raises(QueryError, match=r"\(0, 1\)"):
        Reconstruction((2, 3), [(0, 1)], [MeasuredTable((0,)), MeasuredTable((1,))], [1, 1])
    with pytest.raises(QueryError, match="together"):
        Reconstruction((2, 3), [(0, 1)], [MeasuredTable((0, 1), (0,))], [1])


@pytest.mark.parametrize(
    ("tables", "spread", "what"),
    [
        ([MeasuredTable((0, 1), (1,))], [1], "two values"),
        ([MeasuredTable((0, 7))], [1], "attributes are 0 to 1"),
        ([MeasuredTable((0, 1))], [-1], "variances"),
        ([MeasuredTable((0, 1))], [np.nan], "variances"),
        ([MeasuredTable((0, 1))], [np.inf], "variances"),
        ([MeasuredTable((0, 1))], ["x"], "variances"),
        ([MeasuredTable((0, 1))], [1, 2], "variances"),
    ],
)
def test_wrong_measured_tables_are_refused(tables, spread, what):
    with pytest.raises(UsageError, match=what):
        Reconstruction((2, 3), [(0, 1)], tables, spread)


def test_wrong_rows_and_totals_are_refused_without_a_number_of_theirs():
    answers = Reconstruction((2, 3), [(0, 1)], [MeasuredTable((0, 1))], [1])
    for rows in ([[1, 2]], [[1, 2, 3, 4, 5, 777.0, 7]], [["a"] * 6], [[1, 2, 3, 4, 5, np.nan]], []):
        with pytest.raises(UsageError) as refused:
            answers.estimate(rows, 3)
        assert "777" not in str(refused.value)
    with pytest.raises(UsageError, match="total"):
        answers.estimate([np.zeros(6)], 2.5)
    with pytest.raises(UsageError, match="cumulants"):
        answers.excess()


@pytest.mark.parametrize(("attributes", "halved"), [((1, 0), ()), ((0, 0), ()), ((0,), (1,)), ((0, 1), (1, 0))])
def test_tables_name_their_attributes_in_order_and_once(attributes, halved):
    with pytest.raises(UsageError):
        MeasuredTable(attributes, halved)
