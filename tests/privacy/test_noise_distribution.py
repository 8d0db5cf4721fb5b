"""The distribution of the noise, from its samples: the right one is accepted, wrong ones are rejected.

Each test raises a false alarm with probability at most 1e-6.
"""

import numpy as np
import pytest
from scipy import stats

from contracts.check_noise import cells, counts_in, law_is, scale_is
from contracts.long_forms import mostly_slow
from dxprivacy.mechanisms.sampling.discrete_laplace import discrete_laplace

SCALES = [0.2, 0.5, 1.0, 1 / 3, 3.3, 10.0, 1000.7, 1e6 + 0.1, 2.0**40 / 3, 2.0**52, 2.0**53 - 1]


def noise(scale: float, size: int) -> np.ndarray:
    return discrete_laplace(np.full(size, scale))


@pytest.mark.parametrize("scale", SCALES)
def test_samples_follow_the_exact_distribution(scale):
    samples = noise(scale, 400_000)
    assert law_is(samples, scale, alpha=5e-7)
    assert scale_is(samples, scale, alpha=5e-7)


@pytest.mark.parametrize("size", mostly_slow([1, 100], 1))
def test_small_calls_follow_the_same_law(size):
    samples = np.concatenate([noise(3.3, size) for _ in range(3000)])
    assert law_is(samples, 3.3, alpha=5e-7)
    assert scale_is(samples, 3.3, alpha=5e-7)


def test_each_element_of_a_mixed_vector_follows_its_own_scale():
    scales = np.array([0.2, 0.5, 3.3, 50.0, 1e6 + 0.1, 2.0**52])
    samples = discrete_laplace(np.tile(scales, 100_000)).reshape(-1, scales.size)
    for column, scale in zip(samples.T, scales, strict=True):
        assert law_is(column, scale, alpha=1e-6 / 2 / scales.size)
        assert scale_is(column, scale, alpha=1e-6 / 2 / scales.size)


# 400,000 samples put a change of 3 % at least 18 standard deviations of the mean |Z| away; 4.9 raise the alarm, so it
# is missed with probability far below 1e-6.  (Below s = 0.15 no test can see it: practically all values are 0.)
@pytest.mark.parametrize("scale", [0.5, 3.0, 50.0])
@pytest.mark.parametrize("factor", [0.97, 1.03])
def test_a_scale_wrong_by_three_percent_is_rejected_and_the_right_one_accepted(scale, factor):
    assert scale_is(noise(scale, 400_000), scale, alpha=1e-6)
    assert not scale_is(noise(scale * factor, 400_000), scale, alpha=1e-6)


def rounded_laplace(rng: np.random.Generator, scale: float, size: int) -> np.ndarray:
    return np.rint(rng.laplace(scale=scale, size=size))


def zero_counted_twice(rng: np.random.Generator, scale: float, size: int) -> np.ndarray:
    return (rng.geometric(-np.expm1(-1 / scale), size) - 1) * rng.choice([-1, 1], size)


def one_sided(rng: np.random.Generator, scale: float, size: int) -> np.ndarray:
    return rng.geometric(-np.expm1(-1 / scale), size) - 1


def even_only(rng: np.random.Generator, scale: float, size: int) -> np.ndarray:
    return 2 * np.rint(rng.laplace(scale=scale / 2, size=size))


@pytest.mark.parametrize("wrong", [rounded_laplace, zero_counted_twice, one_sided, even_only])
@pytest.mark.parametrize("scale", [0.5, 3.0])
def test_noise_of_another_law_is_rejected(wrong, scale):
    samples = wrong(np.random.default_rng(7), scale, 400_000).astype(np.int64)
    assert not law_is(samples, scale, alpha=1e-6)


def test_the_checks_accept_a_difference_of_two_geometrics():
    p = np.exp(-1 / 3.0)  # another way to the same distribution, so that the checks do not depend on our sampler
    samples = np.subtract(*np.random.default_rng(8).geometric(1 - p, (2, 400_000)))
    assert law_is(samples, 3.0)
    assert scale_is(samples, 3.0)


@pytest.mark.parametrize("scale", [0.5, 3.3, 50.0])
def test_OpenDP_draws_from_the_same_law(scale):
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_laplace
    from opendp.metrics import l1_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    peer = make_laplace(vector_domain(atom_domain(T="i64")), l1_distance(T="i64"), scale=scale)
    theirs = np.array(peer([0] * 20_000))
    edges, _ = cells(scale, theirs.size, expected=300)
    table = [counts_in(edges, theirs), counts_in(edges, noise(scale, 200_000))]
    assert stats.chi2_contingency(table).pvalue > 1e-8  # asymptotic: far less than it may use
    assert law_is(theirs, scale, alpha=4e-7)
    assert scale_is(theirs, scale, alpha=4e-7)


def test_the_sign_is_fair_for_every_magnitude():
    samples = noise(3.3, 400_000)
    magnitudes = range(1, 21)
    for k in magnitudes:
        plus, minus = int((samples == k).sum()), int((samples == -k).sum())
        assert stats.binomtest(plus, plus + minus).pvalue > 1e-6 / len(magnitudes)


def association(left: np.ndarray, right: np.ndarray) -> float:
    """The p-value of Fisher's exact test that two events are independent."""
    table = [[int((a & b).sum()) for b in (right, ~right)] for a in (left, ~left)]
    return float(stats.fisher_exact(table).pvalue)


@pytest.mark.parametrize("distance", [1, 512, 1024])
def test_lanes_are_independent_in_sign_and_magnitude(distance):
    samples = noise(1000.7, 2 * 1024 * 100).reshape(-1, 2, distance)
    left, right = samples[:, 0].ravel(), samples[:, 1].ravel()
    events = [lambda z: z > 0, lambda z: np.abs(z) > 694, lambda z: z % 2 == 0]
    for one in events:
        for other in events:
            assert association(one(left), other(right)) > 1e-6 / len(events) ** 2


def test_no_draw_is_used_twice():
    # Two of 20,000 values at scale 2^52 agree with probability 20,000^2 / 2 * 2^-54, about 1e-8.
    calls = [noise(2.0**52, size) for size in [1] * 500 + [10] * 150 + [18_000]]
    samples = np.concatenate(calls)
    assert np.unique(samples).size == samples.size


def test_the_lowest_bits_at_the_largest_scale_are_uniform():
    # A float on the way would leave them 0.  They are uniform up to 2^-48.
    samples = noise(2.0**52, 400_000)
    for modulus in (2, 16, 15):
        count = stats.binom(samples.size, 1 / modulus)
        counts = np.bincount(samples % modulus, minlength=modulus)
        assert 2 * np.minimum(count.cdf(counts), count.sf(counts - 1)).min() > 1e-6 / 33
