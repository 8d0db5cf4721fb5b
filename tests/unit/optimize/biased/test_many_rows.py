"""Many rows with bias allowed: never worse than without, sound on every pair, and near the best where that is known."""

import itertools
import math

import numpy as np
import pytest

from dxprivacy.errors import UsageError
from dxprivacy.optimize.barrier import optimize
from dxprivacy.optimize.biased import many, single
from dxprivacy.optimize.deadline import Watch
from dxprivacy.optimize.pair_constraints import SparsePairs


def points(rng, size, scale):
    at = rng.uniform(0, 100, (size, 2))
    i, j = np.triu_indices(size, 1)
    return i, j, np.hypot(*(at[i] - at[j]).T) * scale


def rows_of(rng, count, size, kind):
    if kind == "binary":
        return rng.integers(0, 2, (count, size)).astype(float)
    if kind == "smooth":
        return np.cos(np.outer(rng.uniform(0.1, 1, count), np.arange(size)))
    return rng.uniform(-1, 2, (count, size))


def unbiased(Q, i, j, d, a):
    """The optimum without bias, rounded up; constant rows get scale 0."""
    from scipy.sparse import csr_array

    loads = np.abs(Q[:, i] - Q[:, j])
    finite = np.isfinite(d)
    varies = loads[:, finite].any(axis=1)
    scales = np.zeros(len(Q))
    if varies.any():
        pairs = SparsePairs(csr_array(loads[varies][:, finite].T), d[finite])
        scales[varies] = (1 + 1e-12) / optimize(pairs, a[varies], 2, np.full(varies.sum(), np.inf)).w
    return scales


def check(found, Q, i, j, d, n, a, scales):
    """Sound on all pairs in floats, bias and loss as claimed, never above the unbiased loss."""
    plain = float(a @ (2 * scales**2))
    assert found.loss <= plain
    assert np.isfinite(found.rows).all()
    assert (found.scales >= 0).all()
    used = np.zeros(len(i))
    for row, c in zip(found.rows, found.scales, strict=True):
        apart = np.abs(row[i] - row[j])
        if c > 0:
            used += apart / c
        else:
            assert (apart[np.isfinite(d)] == 0).all()
    assert (used <= d * (1 + 1e-12)).all()
    assert np.allclose(found.bias, n * np.abs(found.rows - Q).max(axis=1), rtol=1e-12, atol=0)
    assert found.loss == pytest.approx(float(a @ (found.bias**2 + 2 * found.scales**2)), rel=1e-12)
    assert found.name in ("exact", "block coordinate descent", "majorize-minimize", "unbiased")
    if found.name == "unbiased":
        assert (found.rows == Q).all()
        assert (found.scales == scales).all()


@pytest.mark.parametrize("kind", ["uniform", "binary", "smooth"])
@pytest.mark.parametrize("n", [1, 30, 10**9])
def test_it_is_sound_and_never_worse_than_no_bias(kind, n):
    rng = np.random.default_rng(n + len(kind))
    for size, count, scale in ((2, 3, 1.0), (6, 2, 0.01)):
        i, j, d = points(rng, size, scale)
        Q = rows_of(rng, count, size, kind)
        a = rng.uniform(0.1, 5, count)
        scales = unbiased(Q, i, j, d, a)
        check(many(Q, i, j, d, n, a, scales), Q, i, j, d, n, a, scales)


@pytest.mark.soak
def test_where_records_are_few_the_gain_is_large_and_where_they_are_many_there_is_none():
    rng = np.random.default_rng(3)
    i, j, d = points(rng, 6, 0.01)
    Q, a = rows_of(rng, 3, 6, "uniform"), np.ones(3)
    scales = unbiased(Q, i, j, d, a)
    losses = [many(Q, i, j, d, n, a, scales).loss / (a @ (2 * scales**2)) for n in (10, 100, 10**8)]
    assert losses[0] < 0.5
    assert losses == sorted(losses)
    assert losses[2] == pytest.approx(1, abs=1e-6)


def test_one_row_is_the_exact_optimum():
    rng = np.random.default_rng(4)
    for n in (1, 50, 10**6):
        i, j, d = points(rng, 12, 0.01)
        Q = np.vstack([np.full(12, 3.0), rng.uniform(0, 1, 12)])  # a constant row needs nothing
        scales = unbiased(Q, i, j, d, np.ones(2))
        found = many(Q, i, j, d, n, [7.0, 2.0], scales)
        alone = single(Q[1], i, j, d, n)
        assert found.name == "exact"
        assert found.loss == pytest.approx(2 * alone.loss, rel=1e-12)
        assert (found.rows[0] == 3).all()
        assert (found.scales[0], found.bias[0]) == (0, 0)


def best_of_two_values(deltas, d, n, a):
    """Two elements: split d among the rows; each then costs 2 n^2 delta^2 / (n^2 b^2 + 8)."""
    free = np.meshgrid(*[np.linspace(0, d, 201)] * (len(deltas) - 1))
    b = np.stack([*free, d - sum(free)]).reshape(len(deltas), -1)
    b = b[:, b[-1] >= -1e-12]
    return float((a @ (2 * n**2 * deltas[:, None] ** 2 / (n**2 * b**2 + 8))).min())


@pytest.mark.parametrize("n", [1, 5])
def test_two_elements_reach_the_best_split_although_the_problem_has_several_minima(n):
    for deltas in (np.array([1.0, 1.02]), np.array([1.0, 3.0]), np.array([2.0, 0.5, 1.0])):
        a = np.arange(1.0, len(deltas) + 1)
        Q = np.outer(deltas, [0, 1])
        scales = unbiased(Q, np.array([0]), np.array([1]), np.array([1.0]), a)
        found = many(Q, [0], [1], [1.0], n, a, scales)
        assert found.loss <= best_of_two_values(deltas, 1.0, n, a) * (1 + 1e-3)


@pytest.mark.soak
def test_a_general_solver_started_anywhere_finds_little_more():
    from scipy.optimize import minimize

    rng = np.random.default_rng(8)
    size, count, n = 4, 2, 5.0
    i, j, d = points(rng, size, 0.01)
    Q, a = rng.uniform(0, 1, (count, size)), np.array([1.0, 2.0])
    scales = unbiased(Q, i, j, d, a)
    found = many(Q, i, j, d, n, a, scales)

    def loss(x):  # shapes, then biases and scales
        return float(a @ (n**2 * x[-4:-2] ** 2 + 2 * x[-2:] ** 2))

    def limits(x):
        shapes = x[: count * size].reshape(count, size)
        error = x[-2:, None] * shapes - Q
        signs = np.array(list(itertools.product([1, -1], repeat=count)))
        apart = signs @ (shapes[:, i] - shapes[:, j])
        return np.concatenate([(d - apart).ravel(), (x[-4:-2, None] - error).ravel(), (x[-4:-2, None] + error).ravel()])

    best = np.inf
    for _ in range(5):
        start = np.r_[rng.normal(0, 0.2, count * size), np.ones(2), rng.uniform(0, 1, 2)]
        other = minimize(loss, start, constraints={"type": "ineq", "fun": limits}, method="SLSQP")
        if other.success and limits(other.x).min() > -1e-7:
            best = min(best, float(other.fun))
    assert np.isfinite(best)
    assert found.loss <= best * 1.005


def test_duplicated_scaled_and_constant_rows_are_solved():
    rng = np.random.default_rng(9)
    i, j, d = points(rng, 6, 0.02)
    q = rng.uniform(0, 1, 6)
    Q = np.vstack([q, q, q * 1e6, q * 1e-6, np.ones(6), -q])
    a = np.array([1, 1, 1e-12, 1e12, 1, 1.0])
    scales = unbiased(Q, i, j, d, a)
    check(many(Q, i, j, d, 20, a, scales), Q, i, j, d, 20, a, scales)


@pytest.mark.parametrize("n", [1, 1000, 10**9])
def test_distances_over_twelve_orders_of_magnitude_and_infinite_ones(n):
    rng = np.random.default_rng(n)
    for size in (3, 8):
        i, j = np.triu_indices(size, 1)
        d = 10.0 ** rng.uniform(-6, 6, len(i))
        matrix = np.zeros((size, size))
        matrix[i, j] = matrix[j, i] = d
        for k in range(size):
            matrix = np.minimum(matrix, matrix[:, [k]] + matrix[[k], :])
        d = matrix[i, j]
        d[(i < size // 2) & (j >= size // 2)] = np.inf
        Q, a = rows_of(rng, 3, size, "uniform"), np.ones(3)
        scales = unbiased(Q, i, j, d, a)
        check(many(Q, i, j, d, n, a, scales), Q, i, j, d, n, a, scales)


def test_the_same_problem_has_the_same_answer_and_progress_only_falls_per_way():
    rng = np.random.default_rng(11)
    i, j, d = points(rng, 5, 0.02)
    Q, a = rows_of(rng, 2, 5, "uniform"), np.ones(2)
    scales = unbiased(Q, i, j, d, a)
    told = []
    one = many(Q, i, j, d, 20, a, scales, progress=lambda *step: told.append(step))
    two = many(Q, i, j, d, 20, a, scales)
    assert (one.rows == two.rows).all()
    assert (one.scales == two.scales).all()
    assert one.loss == two.loss
    assert told
    assert all(0 < part <= 1 for _, part in told)
    assert min(part for _, part in told) == pytest.approx(one.loss / (a @ (2 * scales**2)), rel=1e-6)


def test_without_time_the_answer_is_still_sound():
    rng = np.random.default_rng(12)
    i, j, d = points(rng, 10, 0.02)
    Q, a = rows_of(rng, 4, 10, "uniform"), np.ones(4)
    scales = unbiased(Q, i, j, d, a)
    check(many(Q, i, j, d, 20, a, scales, watch=Watch(1e-9)), Q, i, j, d, 20, a, scales)


def test_one_element_and_rows_without_limits_are_free():
    assert many([[3.0], [4.0]], [], [], [], 5, [1, 1], [0, 0]).loss == 0
    found = many([[0, 1], [1, 0]], [0], [1], [math.inf], 5, [1, 1], [0, 0])
    assert (found.loss, found.name) == (0, "unbiased")


@pytest.mark.parametrize(
    "change",
    [
        {"Q": []},
        {"Q": np.zeros((0, 2))},
        {"Q": [0, 1]},
        {"Q": [[0, math.nan], [0, 1]]},
        {"weights": [1]},
        {"weights": [1, 0]},
        {"weights": [1, -1]},
        {"weights": [1, math.inf]},
        {"scales0": [2]},
        {"scales0": [2, -2]},
        {"scales0": [2, math.nan]},
        {"scales0": [2, 0]},
        {"scales0": [1, 1]},
        {"n": 0},
        {"n": None},
        {"distances": [0]},
    ],
)
def test_bad_problems_are_refused_in_our_words(change):
    good = {"Q": [[0, 1], [1, 0]], "first": [0], "second": [1], "distances": [1], "n": 5}
    with pytest.raises(UsageError):
        many(**(good | {"weights": [1, 1], "scales0": [2, 2]} | change))
