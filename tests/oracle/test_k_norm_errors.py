"""What plans with k-norm noise say of their errors, against enumeration and simulation."""

import numpy as np
import pytest

import dxprivacy as dx
from contracts.nest_cases import chain_rows, distribution, halved_rows, random_rows
from dxprivacy.mechanisms.linear.noise.noise_distributions import Agreeing


@pytest.mark.parametrize("seed", range(30))
def test_intervals_hold_for_every_sum_of_cells_of_small_nests(seed):
    """All outcomes enumerated: at 95 % and 97.5 %, for every sum with small whole factors."""
    rng = np.random.default_rng(seed)
    cells = int(rng.integers(2, 5))
    rows = (random_rows(rng, cells), chain_rows(cells), halved_rows(cells))[seed % 3]
    rows = np.unique(rows, axis=0)
    scales = rng.uniform(0.15, 2.2, len(rows))
    z, p = distribution(rows, scales, 12)
    for k in range(24):
        factors = rng.integers(0, 2, cells) if k % 2 else rng.integers(-3, 4, cells)
        step = int(np.gcd.reduce(factors - factors[0]))
        if not step:
            continue
        noise = z @ factors
        told = Agreeing(float(p @ noise**2), step, int(factors.max() - factors.min()))
        for coverage in (0.95, 0.975, 0.99):
            width = told.half_width(coverage)
            assert p[np.abs(noise) <= width].sum() >= coverage - 1e-9, (factors, coverage)


SETTINGS = [
    ("all alike", 12, lambda n: dx.metrics.constant(n, 0.7)),
    ("within 3", 14, lambda n: dx.metrics.blowfish(np.arange(n)[:, None], epsilon=1.0, threshold=3)),
    ("many", 24, lambda n: dx.metrics.constant(n, 2.0)),
]


@pytest.mark.parametrize(("cells", "metric"), [s[1:] for s in SETTINGS], ids=[s[0] for s in SETTINGS])
def test_simulated_errors_are_those_that_were_stated(cells, metric):
    asked = np.array([[int(a <= c < b) for c in range(cells)] for a in range(cells) for b in range(a + 1, cells)])
    plan = dx.plan(asked, metric(cells), method="k-norm")
    counts = np.random.default_rng(1).integers(0, 50, cells)
    truth, draws = asked @ counts, 400
    errors = np.array([dx.laplace(plan, counts) - truth for _ in range(draws)])
    stated = plan.expected_rmse**2
    assert (errors**2).mean() == pytest.approx(stated.mean(), rel=0.15)
    assert np.abs(errors.mean(axis=0)).max() < 6 * np.sqrt(stated.max() / draws)
    inside = np.abs(errors) <= [e.half_width for e in plan.errors]
    assert inside.mean() >= 0.95 - 0.01
    assert (errors == np.rint(errors)).all()


@pytest.mark.parametrize("seed", range(6))
def test_widths_of_counted_rows_are_the_least_that_hold(seed):
    """All outcomes enumerated: of counts, and of all but them, the distribution itself is known."""
    rng = np.random.default_rng(seed)
    cells = int(rng.integers(2, 5))
    rows = np.unique((random_rows(rng, cells), chain_rows(cells), halved_rows(cells))[seed % 3], axis=0)
    plan = dx.plan(np.vstack([rows, 3 * (1 - rows)]), dx.metrics.constant(cells, 2.5), method="k-norm")
    counted = plan.counted.columns(np.arange(cells))
    z, p = distribution(counted, np.array(plan.scales), 12)
    sets = {row.tobytes() for row in counted}
    for k, row in enumerate(rows):
        if row.tobytes() not in sets and (1 - row).tobytes() not in sets:
            continue
        sizes = np.abs(z @ row)
        for told, step in ((plan.distributions[k], 1), (plan.distributions[len(rows) + k], 3)):
            assert told.variance == pytest.approx(step**2 * float(p @ sizes**2), rel=1e-6)
            assert told.mean_absolute == pytest.approx(step * float(p @ sizes), rel=1e-6)
            for coverage in (0.9, 0.95, 0.975, 0.99):
                width = int(told.half_width(coverage)) // step
                assert p[sizes > width].sum() <= 1 - coverage + 1e-9
                assert width == 0 or p[sizes > width - 1].sum() > 1 - coverage
