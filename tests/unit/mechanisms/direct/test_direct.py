"""Direct fits: the best histogram for noisy counts, against a plain solver, and what is refused."""

import numpy as np
import pytest
from scipy.optimize import nnls

import dxprivacy as dx
from dxprivacy import metrics
from dxprivacy.errors import QueryError, UsageError
from dxprivacy.histogram import Histogram
from dxprivacy.mechanisms.direct import run as direct_module
from dxprivacy.mechanisms.direct.run import fit_histogram, variances_of
from dxprivacy.mechanisms.direct.weighted_fit import fit, to_simplex
from dxprivacy.mechanisms.linear.planning.planner import make_plan
from dxprivacy.mechanisms.linear.run import noisy_rows
from dxprivacy.mechanisms.sampling import SystemNoise
from dxprivacy.mechanisms.synthesis.histogram_answers import Projection
from dxprivacy.queries.asking import gather
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.universe import Universe


def plain_fit(A, m, variances, total):
    """The same by active sets: the total as one very heavy row."""
    w = 1 / np.sqrt(variances)
    heavy = 1e4 * w.max()
    y, _ = nnls(np.vstack([A * w[:, None], np.full((1, A.shape[1]), heavy)]), np.append(m * w, heavy * total))
    return y


@pytest.mark.parametrize("seed", range(6))
def test_fits_are_as_good_as_those_of_a_plain_solver(seed):
    rng = np.random.default_rng(seed)
    n, rows = int(rng.integers(3, 60)), int(rng.integers(2, 90))
    A = rng.integers(0, 3, (rows, n)).astype(float)
    x = rng.multinomial(1000, rng.dirichlet(np.full(n, 0.3)))
    variances = rng.uniform(1, 400, rows)
    m = A @ x + rng.normal(0, np.sqrt(variances))
    found = fit(Projection(gather(A).on(Universe.listed(range(n)))), m, variances, 1000.0)
    y = plain_fit(A, m, variances, 1000.0)

    def misfit(y):
        return 0.5 * float(((A @ y - m) ** 2 / variances).sum())

    assert misfit(found.y) == pytest.approx(found.misfit, rel=1e-9)
    assert found.misfit - found.gap <= misfit(y * 1000 / y.sum()) + 1e-6  # the gap is what it says
    assert found.misfit <= misfit(y) + max(1e-3 * rows, found.gap) + 1e-6
    assert found.y.sum() == pytest.approx(1000)
    assert found.y.min() >= 0


def test_ill_conditioned_rows_converge_too():
    """All prefixes of 256 values: what a line's plans count."""
    n = 256
    A = np.tril(np.ones((n, n)))[:-1]
    rng = np.random.default_rng(0)
    x = rng.multinomial(20_000, rng.dirichlet(np.full(n, 0.5)))
    rows = Projection(gather(A).on(Universe.listed(range(n))))
    found = fit(rows, A @ x + rng.laplace(0, 3, n - 1), np.full(n - 1, 18.0), 20_000.0)
    assert found.gap < 1
    assert np.abs(A @ (found.y - x)).mean() < 4


def test_the_nearest_histogram_is_nearest():
    rng = np.random.default_rng(1)
    for _ in range(50):
        v, total = rng.normal(0, 5, 7), float(rng.uniform(0.1, 30))
        y = to_simplex(v, total)
        assert y.sum() == pytest.approx(total)
        assert y.min() >= 0
        for _ in range(20):
            other = rng.dirichlet(np.ones(7)) * total
            assert (v - y) @ (other - y) <= 1e-9  # no direction leads nearer


def test_fitting_exact_answers_of_all_cells_gives_the_table_back():
    plan = make_plan(np.eye(5), metrics.constant(5, 1), n_records=100)
    counts = np.array([60, 0, 30, 9, 1])
    assert fit_histogram(plan, plan.counted.answer(counts)).histogram == pytest.approx(counts, abs=0.5)


def test_answers_without_noise_weigh_more_than_all_others():
    assert variances_of((0.0, 2.0, 5.0))[0] < 1e-2 * variances_of((2.0,))[0]
    universe = Universe([Values(name=n, values=("0", "1"), has_other=False) for n in ("wave", "sex")])
    d = metrics.attributes(universe, {"wave": "inf", "sex": "0.01"})
    found = dx.direct(gather("count by wave", "count by sex"), d, [80, 5, 10, 5])
    assert found.answers("count by wave") == pytest.approx([85, 15], abs=0.5)


def test_a_release_of_the_plan_is_fitted_and_that_of_another_refused(tmp_path):
    policy = tmp_path / "policy.toml"
    policy.write_text(
        'title = "t"\ndataset = "d"\nneighbors = "replace"\n[attributes.sex]\nvalues = ["M", "F"]\nepsilon = 2\n'
    )
    data = tmp_path / "d.csv"
    data.write_text("sex\n" + "M\n" * 70 + "F\n" * 30)
    with dx.Session(policy, data, ledger=tmp_path / "l.db", new_ledger=True) as session:
        plan = session.plan(dx.table("sex"), budget="50%")
        release = session.release(plan)
        found = fit_histogram(plan, release)
        assert found.records == 100
        assert found.answers() == pytest.approx([r["value"] for r in release.rows()], abs=8)
        other = session.plan(dx.table("sex"), budget="25%")
        with pytest.raises(UsageError, match="another plan"):
            fit_histogram(other, release)


def test_where_the_number_of_records_is_private_it_is_fitted_too():
    d = metrics.with_absent(metrics.constant(3, 4), 4, max_records=10_000)
    found = dx.direct(np.eye(3), d, [500, 300, 0, 0])
    assert found.records is None
    assert found.histogram.shape == (3,)
    assert found.histogram == pytest.approx([500, 300, 0], abs=12)


@pytest.mark.parametrize(
    "noisy", [[1], [1, 2, 3], [1.5, 2], [float("nan"), 1], ["a", "b"], None, [[1, 2]], [True, False], object()]
)
def test_noisy_counts_that_are_none_are_refused(noisy):
    plan = make_plan([[1, 0, 0], [0, 1, 0]], metrics.constant(3, 1), n_records=100, method="same-scale")
    with pytest.raises(UsageError, match="noisy counts"):
        fit_histogram(plan, noisy)


def test_what_else_cannot_be_is_refused(monkeypatch):
    d = metrics.constant(3, 1)
    plan = make_plan([[1, 0, 0]], d)
    with pytest.raises(UsageError, match="how many records"):
        fit_histogram(plan, [5])
    with pytest.raises(UsageError, match="no records"):
        fit_histogram(plan, [5], n_records=0)
    with pytest.raises(UsageError, match="how many records"):
        fit_histogram(plan, [5], n_records=-5)
    with pytest.raises(UsageError, match="a plan is needed"):
        fit_histogram("plan", [5])
    with pytest.raises(UsageError, match="no records"):
        dx.direct([[1, 0, 0]], d, [0, 0, 0])
    with pytest.raises(UsageError, match="a metric"):
        dx.direct([[1, 0, 0]], None, [0, 0, 0])
    monkeypatch.setattr(direct_module, "MOST_CELLS", 2)
    with pytest.raises(QueryError, match="fit into memory"):
        fit_histogram(plan, [5], n_records=9)


def test_a_fit_shows_released_numbers_only():
    d = metrics.constant(2, "0.001")
    plan = make_plan([[1, 0]], d, n_records=45_678)
    noisy = noisy_rows(plan, Histogram.of(d.universe, [12_345, 33_333]), SystemNoise())
    found = fit_histogram(plan, noisy)
    assert found.measurements[0].noisy == int(noisy[0])
    assert "12345" not in f"{found!r}{found}".replace(",", "")
