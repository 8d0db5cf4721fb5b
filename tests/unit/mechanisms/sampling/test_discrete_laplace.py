"""The sampler step by step: every branch, also those that occur once in 10^16 draws, against exact arithmetic."""

import random
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dxprivacy.mechanisms.sampling import discrete_laplace as sampler
from dxprivacy.mechanisms.sampling.discrete_laplace import discrete_laplace

TOP = 2**64 - 1
mp = mpmath.mp.clone()
mp.dps = 60


def scripted(*words: int) -> Callable[[int], bytes]:
    """An entropy source that returns these 64-bit words in order and fails when asked for more."""
    stream = iter(words)
    return lambda size: b"".join(next(stream).to_bytes(8, "little") for _ in range(size // 8))


def lane(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.uint64)


def geometric_by_logarithm(u: Fraction) -> int:
    """The number of g >= 1 with u < exp(-g/16)."""
    return int(mp.floor(-16 * mp.log(mp.mpf(u.numerator) / u.denominator)))


# ---- scales


@settings(deadline=None)  # a busy machine is not a wrong sampler
@given(st.floats(min_value=0, max_value=2.0**53, exclude_min=True, exclude_max=True, allow_subnormal=True))
def test_every_scale_is_decoded_without_rounding(scale):
    t, shift = (int(a[0]) for a in sampler._decode(np.array([scale])))
    assert Fraction(t, 2 ** (shift - 4)) == Fraction(scale)
    assert 2**52 <= t < 2**53


@pytest.mark.parametrize("bad", [0.0, -0.0, -1.0, 2.0**53, 1e300, np.inf, -np.inf, np.nan])
def test_a_scale_outside_its_range_is_refused_by_name(bad):
    with pytest.raises(ValueError, match="noise scale number 2 is"):
        discrete_laplace(np.array([1.0, 2.0, bad, 3.0]))


@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.longdouble, object])
def test_a_scale_that_would_have_to_be_rounded_is_refused(dtype):
    with pytest.raises(TypeError, match="float64"):
        discrete_laplace(np.array([1, 2], dtype=dtype))


@pytest.mark.parametrize("scale", [1e-2, 2.0**-6, 1e-300, 5e-324])
def test_a_tiny_scale_gives_zero(scale):
    assert not discrete_laplace(np.full(3000, scale)).any()  # at 2^-6 a false alarm has probability 6000 exp(-64)


# ---- shapes and rounds


@pytest.mark.parametrize("shape", [(0,), (1,), (100,), (5000,), (40_000,), (3, 0), (3, 4), ()])
def test_the_noise_has_the_shape_of_its_scales(shape):
    noise = discrete_laplace(np.full(shape, 3.3))
    assert noise.shape == shape
    assert noise.dtype == np.int64


def test_each_element_is_written_with_its_own_scale():
    scales = np.where(np.arange(40_000) % 3 == 0, 2.0**50, 1e-3)
    noise = discrete_laplace(scales)
    assert not noise[scales < 1].any()
    assert noise[scales > 1].all()  # a true 0 has probability 2^-51


@pytest.mark.parametrize("size", [1, 7, 1024, 1025, 20_000])
def test_a_round_never_has_fewer_than_1024_lanes(size, monkeypatch):
    lanes = []
    trials = sampler._trials
    monkeypatch.setattr(sampler, "_trials", lambda t, *rest: lanes.append(t.size) or trials(t, *rest))
    discrete_laplace(np.full(size, 1.0))
    assert min(lanes) >= 1024
    assert max(lanes) <= 2**14


def test_importing_the_module_builds_no_table():
    look = "import dxprivacy.mechanisms.sampling.discrete_laplace as m; print(m._thresholds.cache_info().currsize)"
    assert subprocess.run([sys.executable, "-c", look], capture_output=True, check=True).stdout.strip() == b"0"


# ---- the universal distribution of G


def test_thresholds_are_the_floors_of_exp_to_sixty_digits():
    expected = [int(mp.floor(mp.exp(-mp.mpf(g) / 16) * 2**63)) for g in range(699, 0, -1)]
    assert sampler._thresholds().tolist() == expected
    assert expected[0] == 0
    assert expected[1] > 0


def test_a_floor_is_decided_with_closer_bounds_when_the_first_fall_on_both_sides(monkeypatch):
    asked = []
    close = sampler.exp_bounds

    def wide_at_first(x, bits):
        asked.append(bits)
        low, high = close(x, bits)
        return (low - 2**64, high) if bits == 127 else (low, high)

    monkeypatch.setattr(sampler, "exp_bounds", wide_at_first)
    assert sampler._floor_exp(16) == int(mp.floor(mp.exp(-1) * 2**63))
    assert asked == [127, 191]


def test_a_decided_word_draws_no_further_entropy():
    thresholds = sampler._thresholds()[400:]
    words = np.concatenate([thresholds - 1, thresholds + 1, lane(2**63 - 1)])
    expected = [geometric_by_logarithm(Fraction(2 * int(w) + 1, 2**64)) for w in words]
    assert sampler._geometric(words, scripted()).tolist() == expected


def test_the_table_of_buckets_finds_what_a_search_through_all_thresholds_finds():
    thresholds = sampler._thresholds()
    near = [
        thresholds[1:] - np.uint64(1),
        thresholds + np.uint64(1),
        *(np.arange(1 << k, 65 << k, 1 << k) for k in range(57)),
    ]
    edges = [(np.uint64(1) << np.arange(63, dtype=np.uint64)) - np.uint64(d) for d in (0, 1)]
    random = np.random.default_rng(5).integers(0, 1 << 63, 200_000, dtype=np.uint64)
    words = np.concatenate([*near, *edges, random, random >> np.uint64(40), lane(2**63 - 1)]).astype(np.uint64)
    words = words[(words < 1 << 63) & ~np.isin(words, thresholds)]
    expected = thresholds.size - np.searchsorted(thresholds, words, side="right")
    assert sampler._geometric(words, scripted()).tolist() == expected.tolist()


def test_buckets_never_fall_as_words_rise():
    ends = [x for k in range(1, 63) for x in range((1 << k) - 3, (1 << k) + 4) if x >= 0]
    words = np.array(sorted({*ends, *range(5000), 2**63 - 1, 2**63 - 2, 2**63 - 600}), dtype=np.uint64)
    buckets = sampler._bucket(words)
    assert (np.diff(buckets) >= 0).all()
    assert buckets[0] == 0
    assert buckets[-1] == sampler._guide()[0].size - 1


def test_two_thresholds_in_one_bucket_are_refused(monkeypatch):
    monkeypatch.setattr(sampler, "_DROPPED", 51)
    with pytest.raises(AssertionError, match="one bucket"):
        sampler._guide.__wrapped__()


@pytest.mark.parametrize("g", [1, 2, 16, 100, 500, 640])
@pytest.mark.parametrize("further", [1, 2, 3])
def test_a_word_on_a_threshold_is_settled_by_the_bits_that_follow(g, further):
    with mp.workdps(120):
        digits = int(mp.floor(mp.exp(-mp.mpf(g) / 16) * 2 ** (63 + 64 * further)))
    for digits_of_u, expected in [(digits - 5, g), (digits + 5, g - 1)]:
        first, *rest = [digits_of_u >> 64 * k & TOP for k in range(further, -1, -1)]
        assert first == sampler._floor_exp(g)
        assert sampler._geometric(lane(first), scripted(*rest)).tolist() == [expected]


@pytest.mark.parametrize("rest", [(1 << 63,), (TOP,), (12345,), (0, 1 << 60), (0, 0, 77 << 40), (0, 0, 0, 1 << 63)])
def test_a_word_of_zero_reaches_the_tail_beyond_the_table(rest):
    u = Fraction(
        int.from_bytes(b"".join(w.to_bytes(8, "big") for w in rest), "big") * 2 + 1, 2 ** (64 + 64 * len(rest))
    )
    expected = geometric_by_logarithm(u)
    assert expected >= 699 - 1
    assert sampler._geometric(lane(0), scripted(*rest)).tolist() == [expected]


# ---- uniform integers and the coin


@pytest.mark.parametrize("n", [1, 2, 3, 48, 1000, 2**52 + 1, 2**53 - 1, 2**62 + 1])
def test_a_uniform_draw_keeps_whole_blocks_only(n):
    end = 2**64 // n * n  # [0, end) holds every remainder equally often
    for word in {0, n - 1, end - n, end - 1, end // 2}:
        assert sampler._below(lane(n), scripted(word)).tolist() == [word % n]
    if end < 2**64:
        for word in {end, TOP}:
            assert sampler._below(lane(n), scripted(word, word, 5)).tolist() == [5 % n]


def test_lanes_outside_the_blocks_are_drawn_again_alone():
    n = lane(3, 2**53 - 1, 10)
    assert sampler._below(n, scripted(TOP, 7, 2**64 - 2, 4, 25)).tolist() == [1, 7, 5]


# ---- one trial


def trial_by_definition(t: int, shift: int, words: list[int]) -> tuple[int, bool]:
    """Steps 1 to 5 of the module's docstring for one lane, word by word, in Python integers."""
    stream = iter(words)

    def below(n: int) -> int:
        word = next(stream)
        return word % n if word < 2**64 // n * n else below(n)

    w1, w2 = next(stream), next(stream)
    G = geometric_by_logarithm(Fraction(2 * (w1 >> 1) + 1, 2**64))
    v, k = w2 >> 4, 1
    U, one = v % t, w2 % 16 == 0
    while one and below(t) < U:
        k += 1
        one = below(16 * k) == 0
    y, minus = (t * G + U) // 2**shift, w1 % 2 == 1
    return (-y if minus else y), v < 2**60 // t * t and k % 2 == 1 and not (minus and y == 0)


def some_word(rng: random.Random) -> int:
    """A word that often ends an alternating series late, or lies outside the whole blocks."""
    kind = rng.randrange(6)
    return rng.getrandbits(64) if kind < 2 else [0, 16 * rng.getrandbits(59), TOP, rng.getrandbits(20)][kind - 2]


def test_trials_follow_the_definition_word_by_word():
    rng = random.Random(1)
    seen = set()
    for _ in range(4000):
        scale = rng.choice([rng.uniform(1e-3, 5), rng.uniform(1, 1e6), 2.0 ** rng.randrange(-8, 53), 2.0**53 - 1])
        t, shift = sampler._decode(np.array([scale]))
        words = [rng.getrandbits(64) | 2**20, *(some_word(rng) for _ in range(60)), *[1] * 40]
        z, accepted = sampler._trials(t, shift, scripted(*words))
        expected = trial_by_definition(int(t[0]), int(shift[0]), words)
        assert (int(z[0]), bool(accepted[0])) == expected
        seen.add((np.sign(expected[0]), expected[1]))
    assert len(seen) == 6  # minus, zero and plus, each accepted and rejected


def test_lanes_of_one_round_are_the_trials_of_each_alone():
    rng = random.Random(2)
    t, shift = sampler._decode(np.array([10 ** rng.uniform(-4, 15) for _ in range(500)]))
    first, second = [rng.getrandbits(64) for _ in t], [rng.getrandbits(64) | 1 for _ in t]  # A_1 = 0: no more words
    together = sampler._trials(t, shift, scripted(*first, *second))
    alone = [trial_by_definition(int(a), int(b), [c, d]) for a, b, c, d in zip(t, shift, first, second, strict=True)]
    assert list(zip(*(a.tolist() for a in together), strict=True)) == alone


@pytest.mark.parametrize(("t", "j"), [(1, 0), (3, 0), (5, 3), (7, 1), (13, 2)])
def test_the_split_into_G_and_U_gives_the_geometric_law(t, j):
    G, U = (a.ravel() for a in np.meshgrid(np.arange(1023, dtype=np.uint64), np.arange(t, dtype=np.uint64)))
    y, _ = sampler._magnitude(G, U, np.full(G.size, t, dtype=np.uint64), np.full(G.size, 4 + j, dtype=np.uint64))
    weight = [mp.exp(-mp.mpf(g) / 16) for g in range(1023)]
    inside = [mp.exp(-mp.mpf(u) / (16 * t)) for u in range(t)]
    distribution: dict[int, mpmath.mpf] = {}
    for value, g, u in zip(y.tolist(), G.tolist(), U.tolist(), strict=True):
        distribution[value] = distribution.get(value, 0) + weight[g] * inside[u]
    whole = (1 / (1 - mp.exp(-mp.mpf(1) / 16))) * mp.fsum(inside)
    p = mp.exp(-mp.mpf(2**j) / t)
    for value in range(20):  # G <= 1022 leaves out exp(-1023/16) < 2e-28 of the mass
        assert abs(distribution.get(value, 0) / whole - (1 - p) * p**value) < 1e-27


@pytest.mark.parametrize("scale", [5e-324, (2.0**53 - 1) * 2.0**-100, 2.0**-6, 0.5, 3.3, 2.0**53 - 1])
@pytest.mark.parametrize("G", [1022, 1023, 1024, 5000, 2**14 - 1])
def test_large_G_is_exact_on_both_sides_of_the_64_bit_limit(scale, G):
    t, shift = sampler._decode(np.array([scale]))
    y, nonzero = sampler._magnitude(lane(G), t - 1, t, shift)
    exact = (int(t[0]) * (G + 1) - 1) >> int(shift[0])
    assert int(y[0]) == exact < 2**63
    assert bool(nonzero[0]) == (exact > 0)


def test_noise_beyond_int64_wraps_as_int64_sums_do():
    t, shift = sampler._decode(np.array([2.0**52]))
    G = 2**16 + 3 * 2**13  # Y = 2^48 G > 2^63
    y, nonzero = sampler._magnitude(lane(G, 2**16), lane(5, 0), t.repeat(2), shift.repeat(2))
    exact = (2**52 * G + 5) >> 4
    assert exact > 2**63
    assert y.tolist() == [exact % 2**64, 0]
    assert nonzero.tolist() == [True, True]  # 2^64 is not 0: it keeps both signs


def test_a_whole_trial_in_the_tail_is_done_in_python_integers():
    t, shift = sampler._decode(np.array([1000.7]))
    tail = (0, 0, 0, 1 << 63)  # u = 2^-256 and a little: G = 2839
    words = (1, 16 * 12345 + 1)  # minus; A_1 = 0
    z, accepted = sampler._trials(t, shift, scripted(*words, *tail))
    G = geometric_by_logarithm(Fraction(2**64 + 1, 2**320))
    assert G > 1022
    assert z.tolist() == [-((int(t[0]) * G + 12345) >> int(shift[0]))]
    assert accepted.all()
