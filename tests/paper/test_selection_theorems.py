"""The paper's exponential mechanism and SmallDB, statement by statement; each correction fails for what is printed."""

import itertools
import math
from fractions import Fraction as F

import numpy as np
import pytest

import dxprivacy as dx
from contracts.check_selection import exponential_law, histograms, middles
from dxprivacy.errors import TooLarge, UsageError
from dxprivacy.mechanisms.selection.plan import make_selection
from dxprivacy.mechanisms.smalldb.plan import make_smalldb
from dxprivacy.mechanisms.smalldb.routes import (
    alpha_by_gamma,
    alpha_of,
    database_size,
    error_bound,
    gamma_of,
    log_databases,
)
from dxprivacy.queries.selections import most_common


def test_definition_5_the_utility_sensitivity_of_largest_rows_is_attained():
    """max over candidates and neighbors of |u(x) - u(x')| is max_k |A_ki - A_kj|, not only at most that."""
    rng = np.random.default_rng(2)
    for _ in range(20):
        rows = rng.integers(-3, 4, (3, 3))
        bound = most_common(dx.matrix(rows)).on(dx.Universe.listed("abc"))
        A = bound.workload.dense()
        for i, j in itertools.permutations(range(3), 2):
            x = np.ones(3, dtype=np.int64)
            other = x + np.eye(3, dtype=np.int64)[j] - np.eye(3, dtype=np.int64)[i]
            moved = np.abs(bound.scores(bound.workload.answer(x)) - bound.scores(bound.workload.answer(other))).max()
            assert moved == np.abs(A[:, i] - A[:, j]).max()


def test_theorem_3_recovers_the_exponential_mechanism_of_standard_dp():
    """Definition 6: exp(eps u / (2 Delta u)); Definition 9 with c = Delta u / eps."""
    selection = make_selection(most_common(dx.matrix(3 * np.eye(3, dtype=int))), dx.metrics.constant(3, F(1, 2)))
    unit = float(selection.candidates.unit)  # the grid counts in threes
    assert selection.scale * unit == 3 / 0.5


def test_theorem_4_as_printed_is_false_and_corrected_holds():
    """u differs from u' by at most delta; printed, delta is added to what the selection is said to exceed."""
    rng = np.random.default_rng(3)
    printed = corrected = 0
    for _ in range(500):
        R, c, t = int(rng.integers(2, 9)), float(rng.uniform(0.1, 2)), float(rng.uniform(0.1, 3))
        used = rng.integers(-10, 11, R)
        delta = int(rng.integers(0, 8))
        true = used + rng.integers(-delta, delta + 1, R)
        off = int(np.abs(true - used).max())
        chance = middles(exponential_law(used.tolist(), c))
        best, at_best = used.max(), int((used == used.max()).sum())
        slack = 2 * c * (math.log(R / at_best) + t)
        printed += chance[true <= off + best - slack].sum() > math.exp(-t) + 1e-12
        corrected += chance[true <= best - off - slack].sum() > math.exp(-t) + 1e-12
    assert printed > 20
    assert corrected == 0


def test_permute_and_flip_keeps_the_corrected_theorem_4_too():
    from contracts.check_selection import flip_law

    rng = np.random.default_rng(4)
    for _ in range(100):
        R, c, t = int(rng.integers(2, 8)), float(rng.uniform(0.1, 2)), float(rng.uniform(0.1, 3))
        u = rng.integers(-10, 11, R)
        far = u <= u.max() - 2 * c * (math.log(R) + t)
        flipped, chosen = (
            middles(distribution(u.tolist(), c))[far].sum() for distribution in (flip_law, exponential_law)
        )
        assert flipped <= chosen + 1e-12
        assert flipped <= math.exp(-t) + 1e-12


def least_error(rows, x, size, rescaled=True):
    """The least largest error of any multiset of so many records."""
    n = int(x.sum())
    factor = n / size if rescaled else 1.0
    return min(float(np.abs(rows @ x - factor * (rows @ y)).max()) for y in histograms(len(x), size))


def test_theorem_9_the_printed_size_is_nothing_for_one_query():
    assert math.log(1) / 0.5**2 == 0
    assert database_size(0.5, 1) == 2


@pytest.mark.parametrize(("K", "alpha"), [(1, 0.5), (1, 0.35), (2, 0.6), (4, 0.7)])
def test_theorem_9_corrected_some_database_of_the_size_answers_within_alpha(K, alpha):
    rng = np.random.default_rng(5)
    m = database_size(alpha, K)
    assert alpha_of(m, K) < alpha
    for _ in range(40):
        rows, x = rng.uniform(0, 1, (K, 4)), rng.integers(0, 30, 4)
        x[0] += 1
        assert least_error(rows, x, m) <= alpha_of(m, K) * x.sum() + 1e-9


def test_smalldb_mass_printed_without_rescaling_no_small_database_is_close():
    """q(y) of m records can never be near q(x) of n records; (n/m) q(y) can."""
    rows, x = np.array([[1.0, 0.0]]), np.array([500, 500])
    m = database_size(0.2, 1)
    assert least_error(rows, x, m, rescaled=False) > 0.2 * 1000
    assert least_error(rows, x, m) <= 0.2 * 1000


@pytest.mark.parametrize("seed", range(4))
def test_proposition_1_corrected_holds_with_probability_1_minus_beta(seed):
    """Over the exact distribution: the mass of databases beyond the bound is at most beta."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 2, (3, 3))
    rows[0] = [0, 1, 1]
    x = rng.integers(5, 60, 3)
    n, beta = int(x.sum()), 0.3
    plan = make_smalldb(dx.matrix(rows), dx.metrics.constant(3, 2), n_records=n, alpha=0.4, beta=beta, flatten=False)
    ys = list(histograms(3, plan.size))
    errors = np.array([np.abs(rows @ x - n / plan.size * (rows @ y)).max() for y in ys])
    scores = -(errors * plan.size).round().astype(int)
    distribution = middles(exponential_law(scores.tolist(), plan.size * plan.scale))
    assert distribution[errors > plan.bounds.max()].sum() <= beta
    assert plan.bounds.max() == pytest.approx(error_bound(n, plan.alpha, plan.scale, log_databases(3, plan.size), beta))


def test_theorem_6_corrected_gives_the_error_of_the_mechanism_at_half_alpha():
    for cells, K, n, c, beta in itertools.product((2, 50, 1000), (1, 10, 500), (10**4, 10**6), (0.1, 1.0), (0.05, 0.5)):
        alpha = alpha_by_gamma(c, n, gamma_of(cells, K, beta))
        if alpha is None:
            continue
        m = database_size(alpha / 2, K)
        assert error_bound(n, alpha / 2, c, log_databases(cells, m), beta) <= alpha * n * (1 + 1e-12)


def test_theorem_6_printed_gamma_fails_for_one_query():
    """Printed, gamma has no ln N for |Q| = 1, and guarantees less than the mechanism's own bound."""
    cells, n, c, beta = 1000, 10**4, 1.0, 0.5
    printed = 16 * math.log(cells) * math.log(1) + 4 * math.log(1 / beta)
    alpha = (c * printed / n) ** (1 / 3)
    m = database_size(alpha / 2, 1)
    assert error_bound(n, alpha / 2, c, log_databases(cells, m), beta) > alpha * n


def test_theorem_6_says_nothing_for_alpha_above_1():
    assert alpha_by_gamma(100.0, 10, gamma_of(50, 10, 0.05)) is None
    with pytest.raises(UsageError, match="alpha"):
        database_size(1.01, 10)


def test_fifty_cells_and_ten_queries_at_a_fifth_are_refused_with_the_number_of_candidates():
    rng = np.random.default_rng(1)
    rows = dx.matrix(rng.integers(0, 2, (10, 50)))
    with pytest.raises(TooLarge, match=r"e\+24 small databases") as refused:
        make_smalldb(rows, dx.metrics.constant(50, 1), n_records=10**5, alpha=0.2)
    assert "mwem" in str(refused.value)
