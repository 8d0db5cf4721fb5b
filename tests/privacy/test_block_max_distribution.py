"""Noise of tables that one record changes together has exactly its distribution, and no neighbor's differs by more."""

import itertools
import math
from collections import Counter
from fractions import Fraction as F

import mpmath
import numpy as np
import pytest
from scipy import stats

from contracts.long_forms import mostly_slow, seeds
from dxprivacy.mechanisms.sampling import block_max_noise
from dxprivacy.mechanisms.sampling.block_max_noise import BlockMax, Levels, TooLong
from dxprivacy.mechanisms.sampling.zero_sum_tables import tables_of

TINY = {"bits": 30, "tail": 2}


def tables(cells, most):
    """All tables of this size at most, which add up to 0."""
    for head in itertools.product(range(-most, most + 1), repeat=cells - 1):
        z = (*head, -sum(head))
        if sum(map(abs, z)) <= 2 * most:
            yield z


def size(z):
    return sum(map(abs, z)) // 2


def chances(distribution, levels):
    """Of one outcome whose largest w N is at each place, from the sampler's own numbers: rounded down, and up."""
    total = sum(levels.low), sum(levels.high) + levels.rest
    out, low, high = {}, 0, levels.rest << FINE  # what lies behind the table belongs to outcomes below it, too
    for at, least, most in zip(*(row[::-1] for row in (levels.places, levels.low, levels.high)), strict=True):
        count = math.prod(tables_of(n).upto(r) for n, r in zip(distribution.cells, distribution.radii(at), strict=True))
        low, high = low + (least << FINE) // count, high + -((-most << FINE) // count)
        out[at] = F(low, total[1]), F(high, total[0])
    return out


FINE = 400  # bits


def log(x):
    return mpmath.log(mpmath.mpf(x.numerator)) - mpmath.log(mpmath.mpf(x.denominator))


@pytest.mark.parametrize("seed", range(30))
def test_neighbors_differ_by_no_more_than_the_largest_rate(seed):
    """Probabilities enclosed by the sampler's own levels, at all outputs of a box, for all pairs of records."""
    mpmath.mp.prec = 300
    rng = np.random.default_rng(seed)
    cells = [int(n) for n in rng.integers(2, 5 - (seed % 2), int(rng.integers(2, 4)))]
    scales = rng.uniform(0.3, 4, len(cells)) if seed % 3 else np.full(len(cells), rng.uniform(0.3, 4))
    distribution = BlockMax(cells, scales.tolist())
    logs = {place: (log(low), log(high)) for place, (low, high) in chances(distribution, distribution.levels()).items()}
    reach = max(r for r in (1, 2, 3) if r == 1 or math.prod(tables_of(n).upto(r) for n in cells) < 2_000)

    def place(z):
        return max(step * size(t) for step, t in zip(distribution.steps, z, strict=True))

    records = list(itertools.product(*map(range, cells)))
    seen = {j: set() for j in records[1:]}
    for z in itertools.product(*(list(tables(n, reach)) for n in cells)):
        here = place(z)
        for j, places in seen.items():  # all pairs look alike: the first record is replaced by another
            y = [[x + (k == 0) - (k == to) for k, x in enumerate(t)] for t, to in zip(z, j, strict=True)]
            places.add((place(y), here))
    for j, places in seen.items():
        most = max(logs[there][1] - logs[here][0] for there, here in places)
        cost = max(1 / mpmath.mpf(float(s)) for s, to in zip(scales, j, strict=True) if to)
        assert most <= cost + mpmath.mpf(2) ** -60
        assert most >= cost * (1 - mpmath.mpf(10) ** -9), "the bound is attained"


@pytest.mark.parametrize("seed", seeds(12))
def test_levels_enclose_what_they_stand_for(seed):
    """Weights from exponentials of 400 digits, and all that lies behind a short table."""
    mpmath.mp.dps = 400
    rng = np.random.default_rng(seed)
    cells = [int(n) for n in rng.integers(2, 6, int(rng.integers(1, 4)))]
    scales = rng.choice([0.05, 0.4, 1.0, 1.7, 3.3], len(cells)).tolist()
    for options in ({}, TINY):
        distribution = BlockMax(cells, scales, **options)
        levels, longer = distribution.levels(), BlockMax(cells, scales, bits=600, tail=500).levels()
        assert levels.places == longer.places[: len(levels.places)]
        assert 0 in levels.places
        found = []
        for at, after in itertools.pairwise(longer.places):
            count = math.prod(tables_of(n).upto(r) for n, r in zip(cells, distribution.radii(at), strict=True))
            found.append(
                count
                * (mpmath.exp(-mpmath.mpf(at) / distribution.unit) - mpmath.exp(-mpmath.mpf(after) / distribution.unit))
            )
        # All weights have one unknown unit: it must be possible to choose it so that every one is enclosed.
        known = list(zip(found, levels.low, levels.high, strict=False))
        least = max(low / w for w, low, _ in known)
        most = min(high / w for w, _, high in known)
        assert least <= most
        assert sum(found[len(levels.places) :]) * least <= levels.rest
        assert levels.rest << distribution._first[1] <= sum(levels.low)


class Stream:
    """Random bytes that are the same for everybody who reads them from the start."""

    def __init__(self, seed):
        self.data, self.at = np.random.default_rng(seed).bytes(1 << 12), 0

    def __call__(self, count):
        self.at += count
        return self.data[self.at - count : self.at]


@pytest.mark.parametrize(
    "case", mostly_slow([([2, 2], [1.0, 1.0]), ([2, 3], [0.7, 2.2]), ([4, 2, 2], [1.1, 0.4, 3.0])], 1, one=True)
)
def test_a_level_follows_from_its_uniform_number_alone_whatever_the_table(case):
    """A table of a few levels decides as a long one does: what it leaves open is refined, never drawn again."""
    refined = 0
    distribution = BlockMax(*case, bits=900, tail=800)
    levels = distribution.levels()
    ends, total = list(itertools.accumulate(levels.low)), sum(levels.low)
    for seed in range(300):
        uniform = 0
        for at in range(0, 256, 32):  # as the sampler reads it
            uniform = uniform << 256 | int.from_bytes(Stream(seed).data[at : at + 32], "little")
        aim = uniform * total >> 8 * 256
        expected = next(place for place, end in zip(levels.places, ends, strict=True) if aim < end)
        for options in (TINY, {}):
            short = BlockMax(*case, **options)
            assert short._level(Stream(seed)) == expected
            refined += len(short._made) > 1
    assert refined > 5, "or tiny tables are not tiny"


def test_what_a_table_leaves_open_is_not_decided():
    levels = Levels([0, 1, 2], [8, 4, 2], [9, 5, 3], 1)
    assert levels.chosen(0, 2) == 0  # U in [0, 1/4): below 14 / 4 of 8
    assert levels.chosen(1, 1) is None  # U in [1/2, 1): anything
    assert levels.chosen(9, 4) is None  # 9/16 of 14 .. 18: 7.9 .. 11.25, and the first ends at 8 .. 9
    assert levels.chosen(150, 8) is None  # at least 8.2, but the first may end at 9
    assert levels.chosen(165, 8) == 1  # 9.02 .. 11.7, between 9 and 12
    assert levels.chosen(255, 8) is None  # perhaps behind the table


@pytest.mark.parametrize("options", [{}, TINY], ids=["as it is", "tiny tables"])
@pytest.mark.parametrize(
    "case", mostly_slow([([3, 2], [0.7, 1.2]), ([2, 2, 2], [0.8] * 3), ([4, 2], [0.4, 2.0])], 1, one=True)
)
def test_draws_follow_the_law(case, options):
    cells, scales = case
    rng = np.random.default_rng(11)
    distribution = BlockMax(cells, scales, **options)
    drawn = [tuple(distribution.draw(rng.bytes).tolist()) for _ in range(6_000 if not options else 2_000)]
    assert fits(drawn, cells, scales)
    assert not fits(drawn, cells, [1.4 * s for s in scales])
    assert not fits(drawn, cells, [s / 1.4 for s in scales])


def fits(drawn, cells, scales):
    """Whether counts of outcomes, those of one size together where they are rare, are as the distribution says."""
    ends = list(itertools.accumulate(cells, initial=0))
    norm = {}
    for z in itertools.product(*(list(tables(n, math.ceil(14 * s))) for n, s in zip(cells, scales, strict=True))):
        norm[sum(z, ())] = max(size(t) / s for t, s in zip(z, scales, strict=True))
    weights = {z: math.exp(-x) for z, x in norm.items()}
    total = sum(weights.values()) + 0.0
    common = {z for z, w in weights.items() if w / total * len(drawn) >= 8}
    found = Counter(z if z in common else "others" for z in drawn)
    expected = [weights[z] / total * len(drawn) for z in common]
    others = len(drawn) - sum(expected)
    assert all(sum(z[a:b]) == 0 for z in drawn for a, b in itertools.pairwise(ends))
    observed = [found[z] for z in common] + [found["others"]]
    return stats.chisquare(observed, [*expected, others]).pvalue > 1e-4


def test_hardly_any_number_is_left_open():
    for cells, scales in (([2] * 5, [1.0] * 5), ([100] * 9, [1.0] * 9), ([3, 9, 2], [1.0, 33.3, 4.7])):
        levels = BlockMax(cells, scales).levels()
        open_ = sum(levels.high) + levels.rest - sum(levels.low)
        assert open_ * len(levels.places) << 100 < sum(levels.low)  # one piece of it beside each end of a level


def test_tables_that_are_too_long_are_refused_at_once(monkeypatch):
    with pytest.raises(TooLong):
        BlockMax([50] * 9, [1e6] * 9).levels()
    with pytest.raises(TooLong):
        BlockMax([2, 2], [1e300, 1.0]).levels()
    monkeypatch.setattr(block_max_noise, "MOST_STEPS", 40)
    with pytest.raises(TooLong):
        BlockMax([2, 2], [1.0, 1.0]).levels()


@pytest.mark.parametrize("scales", [[1.0], [1.0, 0.0], [1.0, math.inf], [1.0, -1.0], [1.0, math.nan]])
def test_scales_that_are_none_are_refused(scales):
    with pytest.raises(ValueError, match="positive and finite"):
        BlockMax([2, 2], scales)
