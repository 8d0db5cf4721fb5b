"""Covariances of k-norm noise: against enumeration, against the verifier's, and in proportion."""

import numpy as np
import pytest

from contracts.nest_cases import chain_rows, distribution, halved_rows, random_rows
from dxprivacy.errors import NotCertified
from dxprivacy.optimize.k_norm.hierarchy_moments import MOST_SQUARE, Moments, level_variances
from dxprivacy.optimize.k_norm.star_fit import StarMoments
from dxprivacy.universe.hierarchy import nest_of
from dxprivacy.verify.k_norm import covariances, nested


@pytest.mark.parametrize("seed", range(12))
def test_covariances_are_those_of_all_outcomes(seed):
    rng = np.random.default_rng(seed)
    cells = int(rng.integers(2, 5))
    rows = random_rows(rng, cells)
    weights = rng.uniform(1.2, 3, len(rows))
    z, p = distribution(rows, 1 / weights, 14)
    found = Moments(nest_of(rows), weights).covariance
    assert found == pytest.approx((z * p[:, None]).T @ z, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("rows", [halved_rows(16), halved_rows(13), chain_rows(12), np.eye(7, dtype=np.int64)])
@pytest.mark.parametrize("wide", [0.05, 0.4])
def test_the_verifier_finds_the_same_in_its_own_way(rows, wide):
    weights = np.random.default_rng(len(rows)).uniform(wide / 2, wide, len(rows))
    mine = Moments(nest_of(rows), weights).covariance
    sets = {k: frozenset(np.flatnonzero(row).tolist()) for k, row in enumerate(rows)}
    theirs = covariances(nested(sets, rows.shape[1]), dict(enumerate(weights.tolist())))
    assert theirs == pytest.approx(mine, rel=1e-8, abs=1e-8 * mine.max())


@pytest.mark.parametrize("weight", [20.0, 27.0, 30.0])
def test_noise_that_is_hardly_ever_there_is_known_as_well(weight):
    """One step from one cell to another, which costs twice the weight, is nearly all there is; both programs see it."""
    rows = np.eye(3, dtype=np.int64)
    truth = 4 * np.exp(-2 * weight)
    assert Moments(nest_of(rows), np.full(3, weight)).covariance[0, 0] == pytest.approx(truth, rel=1e-9)
    theirs = covariances(nested({k: frozenset([k]) for k in range(3)}, 3), dict.fromkeys(range(3), weight))
    assert theirs[0, 0] == pytest.approx(truth, rel=1e-9)


def test_equal_parts_and_unlike_ones_are_worked_out_alike():
    """A weight that differs in the 13th digit makes parts unlike: then pairs of places are looked at, not slopes."""
    rows = halved_rows(16)
    weights = np.full(len(rows), 0.2)
    nearly = weights * (1 + 1e-13 * np.arange(len(rows)))
    nest = nest_of(rows)
    assert Moments(nest, nearly).covariance == pytest.approx(Moments(nest, weights).covariance, rel=1e-9)


def test_wide_noise_is_narrow_noise_in_larger_steps():
    nest, weights = nest_of(halved_rows(32)), np.full(62, 0.7)
    narrow, wide = (Moments(nest, weights * scale).covariance * scale**2 for scale in (0.02, 0.001))
    assert narrow == pytest.approx(wide, rel=1e-3, abs=1e-3 * wide.max())


def test_levels_are_those_of_a_tree_of_as_many():
    rows = halved_rows(8)
    levels = np.array([0.3, 0.1, 0.2])
    height = {1: 0, 2: 1, 4: 2}
    weights = levels[[height[int(n)] for n in rows.sum(axis=1)]]
    found = Moments(nest_of(rows), weights)
    spread = found.variances(rows.astype(float))
    for level, variance in zip(levels, level_variances(levels), strict=True):
        assert spread[weights == level] == pytest.approx(variance, rel=1e-9)


def test_noise_too_wide_to_be_worked_out_is_refused():
    with pytest.raises(NotCertified):
        _ = Moments(nest_of(chain_rows(6)), np.full(10, 20 / MOST_SQUARE / 10)).covariance


@pytest.mark.parametrize(("cells", "scale"), [(64, 5.0), (300, 2.0), (1000, 3.0)])
def test_sums_of_many_cells_lie_far_beyond_where_each_does(cells, scale):
    """Tables of sums once ended where those of single cells did: variances were a thousandth too small."""
    ours = Moments(nest_of(np.eye(cells, dtype=np.int64)), np.full(cells, 1 / scale)).covariance
    exact = StarMoments(cells, ()).spread(1 / scale, ()).margin  # by one transform around a large circle
    assert ours[0, 0] == pytest.approx(exact, rel=1e-9)
    assert ours.sum() == pytest.approx(0, abs=1e-6)
    if cells < 600:
        theirs = covariances(
            nested({k: frozenset([k]) for k in range(cells)}, cells), dict.fromkeys(range(cells), 1 / scale)
        )
        assert theirs[0, 0] == pytest.approx(exact, rel=1e-9)
