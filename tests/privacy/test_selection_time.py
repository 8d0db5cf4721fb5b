"""How long a selection takes says nothing about the scores: the same steps, however many of them are tied."""

import sys
from fractions import Fraction as F

import numpy as np
import pytest

from dxprivacy.mechanisms.sampling import exact_selection
from dxprivacy.mechanisms.sampling.exact_selection import (
    _best,
    _bits,
    _exponents,
    drawn_again,
    permute_and_flip,
    sample_exponential,
)

N = 3_000
TIED = np.zeros(N, dtype=np.int64)
ONE_APART = np.where(np.arange(N) == 17, 300, 0)
SPREAD = np.arange(N) % 5
ALL_DIFFERENT = np.arange(N)[::-1].copy()
CASES = {"tied": TIED, "one apart": ONE_APART, "spread": SPREAD, "all different": ALL_DIFFERENT}


def steps(mechanism, scores, scales) -> int:
    """Lines of the sampler that run, with bytes that decide every coin and every point at once."""
    count = 0

    def line(frame, event, arg):
        nonlocal count
        count += event == "line" and frame.f_code.co_filename == exact_selection.__file__
        return line

    before = sys.gettrace()
    sys.settrace(line)
    try:
        mechanism(scores.astype(np.int64), scales, lambda size: b"\x01" * size)
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("mechanism", [permute_and_flip, sample_exponential])
@pytest.mark.parametrize("scales", [np.full(N, 2.0), np.where(np.arange(N) % 2, 2.0, 3.0)], ids=["one scale", "two"])
def test_ties_take_no_more_steps_than_anything_else(mechanism, scales):
    assert len({steps(mechanism, scores, scales) for scores in CASES.values()}) == 1


@pytest.mark.parametrize("seed", range(40))
def test_the_best_is_the_exactly_largest_exponent(seed):
    rng = np.random.default_rng(seed)
    scores = rng.integers(-5, 6, 50)
    scales = rng.choice([1.0, 1.0 + 2.0**-52, 0.7, 1 / 3], 50)
    best = _best(scores, scales, *_exponents(scores, scales))
    largest = max(F(int(u)) / F(float(s)) for u, s in zip(scores, scales, strict=True))
    assert F(int(scores[best])) / F(float(scales[best])) == largest


@pytest.mark.parametrize("n", [2, 1000, 1 << 17, (1 << 17) + 1, 10**6])
@pytest.mark.parametrize("spread", [0, 1, 400])
def test_a_point_is_drawn_again_as_rarely_as_is_said(n, spread):
    """The slots of the envelope against the weights, added up: what is drawn beyond a weight is drawn again."""
    scores = np.zeros(n, dtype=np.int64)
    scores[0] = spread
    whole, rest = _exponents(scores, np.ones(n))
    gaps = np.minimum(float(whole.max()) + 1 - whole - rest, 64.0)
    weights = np.exp(-gaps) * 2.0 ** _bits(n)
    slots = np.ceil(weights * (1 + 2.0**-44)) + 1
    assert (slots.sum() - weights.sum()) / slots.sum() <= drawn_again(n)
