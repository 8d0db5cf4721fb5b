"""Errors of tables that are noised together, against all outcomes: variances, and intervals that cover."""

import itertools
import math
from collections import Counter
from fractions import Fraction as F

import pytest

from contracts.block_max_cases import outcomes, size, tables
from dxprivacy.mechanisms.linear.noise.noise_distributions import Agreeing, Known, Peaked
from dxprivacy.optimize.k_norm.block_max_moments import spreads
from dxprivacy.verify.block_max import cells_of

CASES = [
    ([2, 2], [1.0, 1.0]),
    ([2, 3], [0.5, 0.8]),
    ([3, 3], [0.45, 0.45]),
    ([3, 2, 2], [0.4, 0.5, 0.3]),
    ([4, 2], [0.3, 1.1]),
    ([2, 2, 2], [0.9, 0.9, 0.9]),
    ([2, 2], [0.04, 2.5]),
    ([5, 2], [0.25, 0.25]),
]


def sums(cells, scales):
    """The distribution of the sum of the first p cells of each table, for every p."""
    found = {(g, p): Counter() for g, n in enumerate(cells) for p in range(1, n)}
    total = 0.0
    for z, w in outcomes(cells, scales, 20 + 1 / min(scales)):
        total += w
        for g, p in found:
            found[g, p][sum(z[g][:p])] += w
    return {key: {s: w / total for s, w in distribution.items()} for key, distribution in found.items()}


@pytest.mark.parametrize("case", CASES)
def test_variances_are_those_of_all_outcomes(case):
    cells, scales = case
    distributions = sums(cells, scales)
    ours = [one.variance for one in spreads(cells, scales)]
    assert [cell.variance for cell in cells_of(cells, scales)] == pytest.approx(ours, rel=1e-11)
    for (g, p), distribution in distributions.items():
        n = cells[g]
        truth = sum(s * s * w for s, w in distribution.items())
        assert ours[g] * p * (n - p) / (n - 1) == pytest.approx(truth, rel=1e-5)


@pytest.mark.parametrize("case", CASES)
def test_intervals_cover_what_they_say(case):
    """Log-concave where all scales are alike; otherwise only rarer the farther from 0."""
    cells, scales = case
    for distribution in sums(cells, scales).values():
        spread = sum(s * s * w for s, w in distribution.items())
        kind = Agreeing if len(set(scales)) == 1 else Peaked
        for coverage in (0.9, 0.95, 0.975, 0.99):
            h = kind(spread).half_width(coverage)
            assert sum(w for s, w in distribution.items() if abs(s) <= h) >= coverage - 1e-5
        low = [distribution[s] for s in range(max(distribution))]
        assert all(b <= a for a, b in itertools.pairwise(low))


@pytest.mark.parametrize("cells", [(2, 2), (3, 2), (4,), (4, 2), (5,), (3, 3)])
@pytest.mark.parametrize("rho", [F(1, 2), F(9, 10), F(1, 20)])
def test_sums_of_cells_are_log_concave_where_scales_are_alike(cells, rho):
    """In fractions: the weight of a table of size N is the sum of rho^R over all R >= N times the others' counts."""
    most = 7 if cells[0] < 5 else 5
    others = [math.prod(sum(1 for _ in tables(n, r)) for n in cells[1:]) for r in range(most + 1)]
    weights = [sum(rho**r * others[r] for r in range(k, most + 1)) for k in range(most + 1)]
    for p in range(1, cells[0]):
        distribution = Counter()
        for z in tables(cells[0], most):
            distribution[sum(z[:p])] += weights[size(z)]
        assert all(distribution[s] ** 2 >= distribution[s - 1] * distribution[s + 1] for s in range(-most + 1, most))


@pytest.mark.parametrize("case", [case for case in CASES if 2 in case[0]])
def test_of_two_cells_the_whole_law_is_known(case):
    """Widths are the least that cover, and both programs know the chance of every size."""
    cells, scales = case
    distributions, ours, theirs = sums(cells, scales), spreads(cells, scales), cells_of(cells, scales)
    for g, n in enumerate(cells):
        assert bool(ours[g].beyond) == (n == 2)
        if n > 2:
            continue
        distribution, made = distributions[g, 1], Known(ours[g].variance, ours[g].beyond)
        for h in range(min(len(ours[g].beyond), 12)):
            truth = sum(w for s, w in distribution.items() if abs(s) > h)
            assert ours[g].beyond[h] == pytest.approx(truth, rel=1e-4, abs=1e-6)
            assert theirs[g].beyond(h) == pytest.approx(ours[g].beyond[h], rel=1e-9, abs=1e-15)
        size = sum(abs(s) * w for s, w in distribution.items())
        assert made.mean_absolute == pytest.approx(size, rel=1e-5)
        assert theirs[g].mean_size == pytest.approx(made.mean_absolute, rel=1e-9)
        for coverage in (0.5, 0.9, 0.95, 0.975, 0.99):
            h = int(made.half_width(coverage))
            assert sum(w for s, w in distribution.items() if abs(s) <= h) >= coverage - 1e-6
            assert h == 0 or sum(w for s, w in distribution.items() if abs(s) < h) < coverage + 1e-6


def test_wide_noise_errs_as_that_of_real_numbers_does():
    """(m + 1)(m + 2) times the mean square of the uniform distribution: what whole numbers add is a part of 1 /
    scale^2.
    """
    near = spreads([2, 5, 9], [300.0, 500.0, 200.0])
    far = spreads([2, 5, 9], [3e9, 5e9, 2e9])
    assert not far[0].beyond
    assert [x.variance / y.variance for x, y in zip(far, near, strict=True)] == pytest.approx([1e14] * 3, rel=1e-3)


@pytest.mark.parametrize("coverage", [0.3, 0.5, 0.9])
def test_gauss_is_asked_only_where_he_answers(coverage):
    assert Peaked(100.0).half_width(coverage) >= 1.15 * 10


@pytest.mark.parametrize("scales", [(1 / 59, 1.0), (1 / 59, 50.0), (1 / 30, 3.0)])
def test_the_verifier_sees_narrow_tables_beside_wide_ones(scales):
    """It once stopped before the narrow one was wider than nothing."""
    ours = spreads([3, 2], list(scales))
    theirs = cells_of([3, 2], list(scales))
    for one, other in zip(ours, theirs, strict=True):
        assert other.variance == pytest.approx(one.variance, rel=1e-9)
