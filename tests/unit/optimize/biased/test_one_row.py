"""One row with bias allowed: exact, against grids, against a convex solver, and at the edges of the floats."""

import math

import numpy as np
import pytest

from dxprivacy.errors import UsageError
from dxprivacy.optimize.biased import single
from dxprivacy.optimize.biased.closed_pairs import close


def points(rng, size, scale=1.0):
    """A universe of random points in the plane: pairs and distances."""
    at = rng.uniform(0, 100, (size, 2))
    i, j = np.triu_indices(size, 1)
    return i, j, np.hypot(*(at[i] - at[j]).T) * scale


def row_of(rng, size, kind):
    if kind == "binary":
        return rng.integers(0, 2, size).astype(float)
    return rng.uniform(-3, 3, size) if kind == "uniform" else np.cos(np.arange(size) / 5)


def check(found, q, i, j, d, n):
    """Lipschitz on all pairs, bias and loss as claimed, never above the unbiased scale."""
    rows, c = found.rows, found.scales
    assert np.isfinite(rows).all()
    assert np.isfinite(c).all()
    with np.errstate(divide="ignore", invalid="ignore"):
        assert (np.nan_to_num(np.abs(rows[0, i] - rows[0, j]) / c[0]) <= d * (1 + 1e-15)).all()
    assert found.bias[0] == n * np.abs(rows[0] - q).max()
    assert found.loss == pytest.approx(found.bias[0] ** 2 + 2 * c[0] ** 2, rel=1e-12)
    plain = (np.abs(q[i] - q[j]) / d).max(initial=0.0)
    assert found.loss <= 2 * plain**2 * (1 + 1e-12)


@pytest.mark.parametrize("nd", [0.01, 1, 3, 30, 64, 1e4])
def test_two_elements_follow_the_closed_form(nd):
    for n, delta in ((1, 1.0), (1000, 1e-3), (10**9, 7.0)):
        d = nd / n
        found = single([0, delta], [0], [1], [d], n)
        ratio = math.sqrt(found.loss / 2) / (delta / d)
        assert ratio == pytest.approx(math.sqrt(nd**2 / (nd**2 + 8)), rel=1e-9)
        if nd == 1:
            assert ratio == pytest.approx(1 / 3, rel=1e-9)
        if nd >= 64:
            assert ratio >= 0.998


@pytest.mark.parametrize("kind", ["uniform", "binary", "smooth"])
def test_no_scale_on_a_dense_grid_is_better(kind):
    rng = np.random.default_rng(1)
    for n in (1, 30, 1000, 10**9):
        for scale in (1.0, 0.01):
            i, j, d = points(rng, 25, scale)
            q = row_of(rng, 25, kind)
            found = single(q, i, j, d, n)
            check(found, q, i, j, d, n)
            delta = np.abs(q[i] - q[j])
            top = (delta / d).max()
            grid = np.append(np.linspace(0, top, 3001), np.geomspace(top * 1e-9, top, 1000))
            losses = [n * n / 4 * max(0.0, (delta - c * d).max()) ** 2 + 2 * c * c for c in grid]
            assert found.loss <= min(losses) * (1 + 1e-9)
            assert found.loss >= min(losses) * (1 - 0.01)


def test_a_general_solver_finds_nothing_better():
    from scipy.optimize import LinearConstraint, minimize

    rng = np.random.default_rng(2)
    for n in (1, 4, 20):
        i, j, d = points(rng, 6, 0.02)
        q = rng.uniform(0, 1, 6)
        found = single(q, i, j, d, n)
        difference = np.zeros((len(i), 8))  # variables: the row, the bias, the scale
        difference[np.arange(len(i)), i], difference[np.arange(len(i)), j] = 1, -1
        up, down = difference.copy(), -difference
        up[:, 7] = down[:, 7] = -d
        near = np.eye(6, 8)
        near[:, 6] = -1
        far = -np.eye(6, 8)
        far[:, 6] = -1
        limits = LinearConstraint(np.vstack([up, down, near, far]), ub=np.r_[np.zeros(2 * len(i)), q, -q])
        other = minimize(
            lambda x, n=n: n * n * x[6] ** 2 + 2 * x[7] ** 2,
            np.r_[np.full(6, q.mean()), 1.0, 1.0],
            jac=lambda x, n=n: np.r_[np.zeros(6), 2 * n * n * x[6], 4 * x[7]],
            method="SLSQP",
            constraints=limits,
            options={"ftol": 1e-13, "maxiter": 500},
        )
        assert other.success
        assert found.loss == pytest.approx(other.fun, rel=1e-5)


@pytest.mark.parametrize("n", [1, 10, 10**5, 10**9])
def test_distances_over_twelve_orders_of_magnitude(n):
    rng = np.random.default_rng(n)
    for size in (1, 2, 3, 40):
        i, j = np.triu_indices(size, 1)
        d = 10.0 ** rng.uniform(-6, 6, len(i))
        q = rng.normal(0, 1, size) * 10.0 ** rng.uniform(-6, 6)
        found = single(q, i, j, d, n)
        check(found, q, i, j, d, n)


def test_elements_that_may_be_told_apart_freely_do_not_limit_each_other():
    found = single([0, 1, 50, 51], [0, 2, 0], [1, 3, 2], [1.0, 2.0, np.inf], n=100)
    half = single([0, 1], [0], [1], [1.0], n=100)
    assert found.loss == pytest.approx(half.loss, rel=1e-12)
    assert single([0, 5, 9], [], [], [], n=3).loss == 0
    assert (single([0, 5, 9], [], [], [], n=3).rows == [[0, 5, 9]]).all()


def test_a_constant_row_and_one_element_cost_nothing():
    for q, pairs in (([4.0, 4.0], ([0], [1], [1.0])), ([7.0], ([], [], [])), ([0.0], ([], [], []))):
        found = single(q, *pairs, n=10**9)
        assert (found.loss, found.scales[0], found.bias[0]) == (0, 0, 0)
        assert (found.rows[0] == q).all()


def test_distances_that_break_the_triangle_inequality_count_as_their_shortest_paths():
    found = single([0, 1, 2], [0, 1, 0], [1, 2, 2], [1.0, 1.0, 50.0], n=3)
    same = single([0, 1, 2], [0, 1, 0], [1, 2, 2], [1.0, 1.0, 2.0], n=3)
    assert found.loss == same.loss
    assert abs(found.rows[0, 0] - found.rows[0, 2]) <= 2 * found.scales[0] * (1 + 1e-12)


def test_more_records_never_lower_the_loss_and_a_shift_does_not_matter():
    rng = np.random.default_rng(5)
    i, j, d = points(rng, 15, 0.01)
    q = rng.uniform(0, 1, 15)
    losses = [single(q, i, j, d, n).loss for n in (1, 2, 10, 100, 10**4, 10**9)]
    assert losses == sorted(losses)
    assert single(q + 64, i, j, d, 100).loss == pytest.approx(losses[3], rel=1e-9)
    assert single(q * 8, i, j, d / 2, 200).loss == pytest.approx(single(q, i, j, d, 100).loss * 256, rel=1e-9)


def test_a_huge_shift_stays_sound_and_is_not_worse_than_no_bias():
    rng = np.random.default_rng(6)
    i, j, d = points(rng, 10, 0.1)
    q = rng.uniform(0, 1, 10) + 1e15
    check(single(q, i, j, d, 50), q, i, j, d, 50)


def test_repeated_pairs_count_by_the_least_distance():
    assert close(2, [0, 1, 0], [1, 0, 1], [3.0, 2.0, 5.0]).closed[0, 1] == 2


@pytest.mark.parametrize(
    ("q", "first", "second", "d", "n"),
    [
        ([], [], [], [], 1),
        ([[0, 1]], [0], [1], [1.0], 1),
        ([0, math.nan], [0], [1], [1.0], 1),
        ([0, math.inf], [0], [1], [1.0], 1),
        ([0, 1e300], [0], [1], [1.0], 1),
        (["a", "b"], [0], [1], [1.0], 1),
        (None, [0], [1], [1.0], 1),
        ([0, 1], [0], [1], [0.0], 1),
        ([0, 1], [0], [1], [-1.0], 1),
        ([0, 1], [0], [1], [math.nan], 1),
        ([0, 1], [0], [1], [1e-300], 1),
        ([0, 1], [0], [2], [1.0], 1),
        ([0, 1], [0], [-1], [1.0], 1),
        ([0, 1], [0.5], [1], [1.0], 1),
        ([0, 1], ["0"], [1], [1.0], 1),
        ([0, 1], [0, 0], [1, 1], [1.0], 1),
        ([0, 1], [1], [1], [1.0], 1),
        ([0, 1], [0], [1], [1.0], 0),
        ([0, 1], [0], [1], [1.0], -5),
        ([0, 1], [0], [1], [1.0], math.nan),
        ([0, 1], [0], [1], [1.0], 1e30),
        ([0, 1], [0], [1], [1.0], "10"),
        ([0, 1], [0], [1], [1.0], None),
        ([0, 1], [0], [1], [1.0], True),
    ],
)
def test_bad_input_is_refused_in_our_words(q, first, second, d, n):
    with pytest.raises(UsageError):
        single(q, first, second, d, n)
