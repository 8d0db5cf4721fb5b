"""Exact selection by score: index k with probability proportional to exp(u_k / (2 s_k)), from integers and random bits.

The scores u are integers. The scales s are float64 numbers, used as the rationals that they are. Floats only filter: if
they cannot decide, rational bounds do, with as many further random bits as needed.

Notation: e_k = u_k / (2 s_k). Let r_k = fmod(u_k, 2 s_k), which floats compute exactly, and q_k = (u_k - r_k) / (2
s_k), an integer below 2^50. Then e_k = q_k + r_k / (2 s_k). Differences of the q are exact, so a gap of at most 64 has
an error below 2^-46, however large the scores are.

*Exponential mechanism.* Reference: the integer e* = max q + 1, above all e. Each candidate gets a slot of h_k units
with w_k 2^b <= h_k, where w_k = exp(e_k - e*) <= 1. A uniform point of all slots is accepted if it lies below w_k 2^b
in its slot, and otherwise drawn again: rejection sampling from an envelope, so the distribution is exact. The float
weight has a relative error of at most 2^-44. A point below the lower bound l_k <= w_k 2^b is accepted for certain; a
point in between is decided in rationals.

*Permute-and-flip* (McKenna and Sheldon 2020): in a random order, take the first candidate whose coin of probability
exp(e_k - max e) shows heads. Here all coins are thrown, and one of the heads is taken uniformly. In a random order the
first head is uniform among the heads, so this is the same distribution.

Time. Both make the same pass over all candidates, whatever their scores are, and however many of them are tied. A point
is drawn again with probability at most `drawn_again(n)`: the slots of n candidates are too large by less than 3 units
each, and all weights together exceed 2^b / e^2. That is 10^-9 for 10,000 candidates, 10^-5 for a million, and 0.002 for
10^7. A second draw takes some microseconds, which is little next to a pass over all candidates.
"""

import math
import os
from collections.abc import Callable, Sequence
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from math import ceil, log2

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints

# -- Rational bounds of exp(-x) of any precision: samplers use them where floats cannot decide -------------------------


def exp_bounds(x: Fraction, bits: int) -> tuple[int, int]:
    """Return integers low <= 2^bits exp(-x) <= high with high - low <= 5, for x >= 0.

    The quotient and the power are rounded correctly to p = bits/3 + digits of x + 32 decimal places. So the power has a
    relative error of at most (x + 1) 10^-p, and the product an error below 1. The decimal context is local: neither its
    precision nor its traps come from the caller's.

    >>> low, high = exp_bounds(Fraction(1), 64)
    >>> low / 2**64, high - low <= 5
    (0.36787944117144233, True)
    """
    if x < 0:
        raise ValueError("x must not be negative")
    if x > bits + 2:  # exp(-x) 2^bits < 1: nothing to compute, however large x is
        return 0, 1
    digits = bits // 3 + len(str(int(x))) + 32
    context = Context(prec=digits, rounding=ROUND_HALF_EVEN, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])
    power = context.exp(context.divide(Decimal(-x.numerator), Decimal(x.denominator)))
    k = int(context.multiply(power, Decimal(1 << bits)))
    return max(k - 2, 0), k + 3


# -- Exact selections by score -----------------------------------------------------------------------------------------


Entropy = Callable[[int], bytes]

MOST_CANDIDATES = 1 << 26
MOST_EXPONENT = 2.0**50  # largest u / (2 s): then the q are exact
_FILTER = 2.0**-44
_FEW_SCALES = 64  # at most this many scales: all compared in fractions
_FAR = 64.0  # beyond this a weight is less than one unit


def sample_exponential(scores: Ints, scales: Floats, entropy: Entropy = os.urandom) -> int:
    """Sample the exponential mechanism exactly: an index with probability proportional to exp(scores / (2 scales)).

    >>> sample_exponential(np.array([0, 1000]), np.array([1.0, 1.0]))
    1
    """
    bits = _bits(len(scores))
    whole, rest = _exponents(scores, scales)
    reference = int(whole.max()) + 1
    gaps = np.minimum((float(reference) - whole) - rest, _FAR)
    weights = np.exp(-gaps) * 2.0**bits
    low = np.maximum(np.floor(weights * (1 - _FILTER)) - 1, 0).astype(np.int64)
    ends = np.cumsum(np.ceil(weights * (1 + _FILTER)).astype(np.int64) + 1)
    while True:
        point = below(int(ends[-1]), entropy)
        k = int(np.searchsorted(ends, point, side="right"))
        offset = point - (int(ends[k - 1]) if k else 0)
        if offset < low[k] or is_below(offset, bits, reference - _exact(scores, scales, k), entropy):
            return k


def _bits(candidates: int) -> int:
    """The slot size in bits, such that all slots fit into 63 bits."""
    return 61 - max(candidates - 1, 1).bit_length()


def drawn_again(candidates: int) -> float:
    """Return an upper bound of the probability that the exponential mechanism draws another point, whatever the scores
    are.

    >>> drawn_again(10) < 2**-40, drawn_again(10**7) < 0.005
    (True, True)
    """
    return 3 * candidates * math.exp(2) / 2.0 ** _bits(candidates) + 2 * _FILTER


def permute_and_flip(scores: Ints, scales: Floats, entropy: Entropy = os.urandom) -> int:
    """Sample permute-and-flip exactly, with coins of probability exp(e - max e), e = scores / (2 scales).

    >>> permute_and_flip(np.array([0, 1000]), np.array([1.0, 1.0]))
    1
    """
    whole, rest = _exponents(scores, scales)
    best = _best(scores, scales, whole, rest)
    gaps = np.minimum((whole[best] - whole) + (rest[best] - rest), _FAR)
    chances = np.exp(-gaps) * 2.0**53
    coins = (np.frombuffer(entropy(8 * len(scores)), dtype=np.uint64) >> np.uint64(11)).astype(np.float64)
    heads = coins + 1 <= chances * (1 - _FILTER)
    top = _exact(scores, scales, best)
    for k in np.flatnonzero(~heads & (coins <= chances * (1 + _FILTER) + 1)).tolist():
        gap = top - _exact(scores, scales, k)
        heads[k] = gap == 0 or is_below(int(coins[k]), 53, gap, entropy)
    shown = np.cumsum(heads)  # the last one is positive: the best candidate's coin has probability 1
    return int(np.searchsorted(shown, below(int(shown[-1]), entropy), side="right"))


def _exponents(scores: Ints, scales: Floats) -> tuple[Floats, Floats]:
    """Return the integer part q and the rest r / (2 s) of the exponents u / (2 s)."""
    if scores.dtype != np.int64 or scores.ndim != 1 or not 1 <= len(scores) <= MOST_CANDIDATES:
        raise TypeError("scores are a list of 64-bit whole numbers")
    if scales.dtype != np.float64 or scales.shape != scores.shape or not ((scales > 0) & np.isfinite(scales)).all():
        raise TypeError("each score needs a float64 scale above 0")
    u, s = scores.astype(np.float64), 2.0 * scales
    if np.abs(u).max() >= 2.0**53 or not (np.abs(u) / s < MOST_EXPONENT).all():
        raise ValueError("scores too large for their scales")  # callers check this from public numbers
    rest = np.fmod(u, s)
    return np.rint((u - rest) / s), rest / s


def _exact(scores: Ints, scales: Floats, k: int) -> Fraction:
    return Fraction(int(scores[k])) / (2 * Fraction(float(scales[k])))


def _best(scores: Ints, scales: Floats, whole: Floats, rest: Floats) -> int:
    """An index of the exactly largest exponent: among the highest score at each scale. Scales are public and mostly
    equal.

    It takes the same steps whichever scores are tied.
    """
    if (scales == scales[0]).all():
        return int(scores.argmax())
    _, first, group = np.unique(scales, return_index=True, return_inverse=True)
    highest = scores[first]
    np.maximum.at(highest, group, scores)
    found = first.astype(np.int64)
    at = np.flatnonzero(scores == highest[group])
    found[group[at]] = at
    if len(found) > _FEW_SCALES:
        top = found[(whole[found] + rest[found]).argmax()]
        found = found[(whole[found] - whole[top]) + (rest[found] - rest[top]) >= -(2.0**-48)]
    return max((int(k) for k in found), key=lambda k: _exact(scores, scales, k))


def is_below(units: int, bits: int, gap: Fraction, entropy: Entropy) -> bool:
    """Whether a uniform point of [units, units + 1) is below exp(-gap) 2^bits; draws further bits as needed."""
    while True:
        low, high = exp_bounds(gap, bits)
        if units + 1 <= low:
            return True
        if units >= high:
            return False
        units, bits = units << 64 | int.from_bytes(entropy(8), "little"), bits + 64


def below(n: int, entropy: Entropy = os.urandom) -> int:
    """Return an exactly uniform integer of [0, n)."""
    size = (n.bit_length() + 71) // 8  # eight bytes more than needed: a second draw is very unlikely
    limit = (1 << 8 * size) // n * n
    while True:
        value = int.from_bytes(entropy(size), "little")
        if value < limit:
            return value % n


# -- Exact selections among classes of equal members -------------------------------------------------------------------
# Index c has probability proportional to `size_c exp(-gap_c rate)`. Sizes are integers of any length, gaps are
# integers, and the rate is a rational. As in the exponential mechanism above, floats only make an envelope: class c
# gets a slot of h_c units with `v_c <= h_c`, where `v_c = size_c exp(-gap_c rate) 2^(k - e)`. A uniform point of all
# slots is accepted if it lies below v_c in its slot, and otherwise drawn again. That is rejection sampling from an
# envelope, so the distribution is exact whatever the floats were, as long as they enclose v_c.
#
# They do: log2 v_c is a difference of two numbers of absolute value below 2^14, each with a relative error below 2^-50.
# So its error is below 2^-35, and v_c has a relative error of at most 2^-34; we allow 2^-30. Below 2^-200 units a slot
# is one unit.


MOST_BITS = 1 << 13  # largest bit length of the sizes
_WEIGHTED_SELECTION_FILTER = 2.0**-30
_LEAST = -200.0


class WeightedSelection:
    """An envelope over classes, from which any number of exact selections can be drawn.

    >>> WeightedSelection([3, 10**30], np.array([0, 5000]), Fraction(1)).draw()
    0
    """

    def __init__(self, sizes: Sequence[int], gaps: Ints, rate: Fraction) -> None:
        self._sizes, self._gaps, self._rate = sizes, gaps, rate
        logs: Floats = np.array([log2(size) for size in sizes])
        if not len(sizes) == len(gaps) > 0 or min(sizes) < 1 or gaps.min() != 0 or logs.max() >= MOST_BITS:
            raise ValueError("classes need positive sizes, and gaps of at least 0, of which one is 0")
        self._bits = 60 - len(sizes).bit_length()
        # Larger gaps are capped at 2^14, which is far enough.
        height = logs - np.minimum(gaps.astype(np.float64) * float(rate) * np.log2(np.e), 2.0 * MOST_BITS)
        self._top = ceil(float(height.max())) + 1
        weights = np.exp2(np.maximum(height - self._top, _LEAST) + self._bits)
        self._low: Ints = np.maximum(np.floor(weights * (1 - _WEIGHTED_SELECTION_FILTER)) - 1, 0).astype(np.int64)
        self._low[height - self._top < _LEAST] = 0
        self._ends: Ints = np.cumsum(np.ceil(weights * (1 + _WEIGHTED_SELECTION_FILTER)).astype(np.int64) + 1)

    def draw(self, entropy: Entropy = os.urandom) -> int:
        """Sample an index; samples from one envelope are independent."""
        while True:
            point = below(int(self._ends[-1]), entropy)
            c = int(np.searchsorted(self._ends, point, side="right"))
            offset = point - (int(self._ends[c - 1]) if c else 0)
            if offset < self._low[c] or self._keeps(c, offset, entropy):
                return c

    def _keeps(self, c: int, units: int, entropy: Entropy) -> bool:
        """Whether a uniform point of [units, units + 1) is below v_c; draws further bits as needed."""
        size, gap, bits = int(self._sizes[c]), int(self._gaps[c]) * self._rate, self._bits
        while True:
            precision = max(64, bits - self._top + 64) + size.bit_length()
            low, high = (size * bound for bound in exp_bounds(gap, precision))
            shift = precision + self._top - bits  # both sides in units of 2^-precision
            if (units + 1) << shift <= low:
                return True
            if units << shift >= high:
                return False
            units, bits = units << 64 | int.from_bytes(entropy(8), "little"), bits + 64
