"""Exact selections by score: index k with probability proportional to exp(u_k / (2 s_k)), from integers and random
bits.

The scores u are whole numbers, the scales s float64 numbers, taken as the rationals that they are.  Floats only filter:
whatever they cannot decide is decided by rational bounds, with as many more random bits as it takes.

Notation: e_k = u_k / (2 s_k).  With r_k = fmod(u_k, 2 s_k), which floats compute exactly, and the whole number
q_k = (u_k - r_k) / (2 s_k) < 2^50, e_k = q_k + r_k / (2 s_k): differences of the q are exact, so that a gap of at most
64 is off by less than 2^-46, however large the scores are.

*Exponential mechanism.*  Reference: the integer e* = max q + 1, above all e.  Each candidate gets a slot of h_k units
with w_k 2^b <= h_k, where w_k = exp(e_k - e*) <= 1.  A uniform point of all slots is kept if it lies below w_k 2^b in
its slot, and otherwise drawn again: rejection from an envelope, so that the distribution is exact.  The float weight is
off by a factor within 1 +- 2^-44; a point below the lower bound l_k <= w_k 2^b is kept for certain, one between is
decided in rationals.

*Permute-and-flip* (McKenna and Sheldon 2020): in a random order, take the first candidate whose coin of probability
exp(e_k - max e) shows heads.  All coins are thrown, and one of the heads is taken uniformly: in a random order the
first head is uniform among the heads, so that this is the same distribution.

Time.  Both pass over all candidates alike, whatever their scores are, and how many of them are tied.  A point is drawn
again with probability at most `drawn_again(n)`: the slots of n candidates are too large by less than 3 units each, and
all weights together are more than 2^b / e^2.  That is 10^-9 for 10,000 candidates, 10^-5 for a million, 2 in a thousand
for 10^7; it takes some microseconds beside a pass over all of them.
"""

import math
import os
from collections.abc import Callable, Sequence
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from math import ceil, log2

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints

# -- Rational bounds of exp(-x), as close as anyone asks: where samplers decide what floats cannot ---------------------


def exp_bounds(x: Fraction, bits: int) -> tuple[int, int]:
    """Integers low <= 2^bits exp(-x) <= high with high - low <= 5, for x >= 0.

    The quotient and the power are rounded correctly to p = bits/3 + digits of x + 32 places (decimal), so that the
    power is off by a factor within 1 +- (x + 1) 10^-p, and the product by less than 1.  The context is our own: neither
    its precision nor its traps come from the caller's.

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
_FEW_SCALES = 64  # all compared in fractions
_FAR = 64.0  # beyond this a weight is less than one unit


def sample_exponential(scores: Ints, scales: Floats, entropy: Entropy = os.urandom) -> int:
    """The exponential mechanism: an index with probability proportional to exp(scores / (2 scales)), exactly.

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
    """The size of a slot, so that all of them fit into 63 bits."""
    return 61 - max(candidates - 1, 1).bit_length()


def drawn_again(candidates: int) -> float:
    """Not below the probability that the exponential mechanism draws another point, whatever the scores are.

    >>> drawn_again(10) < 2**-40, drawn_again(10**7) < 0.005
    (True, True)
    """
    return 3 * candidates * math.exp(2) / 2.0 ** _bits(candidates) + 2 * _FILTER


def permute_and_flip(scores: Ints, scales: Floats, entropy: Entropy = os.urandom) -> int:
    """Permute-and-flip with coins of probability exp(e - max e), e = scores / (2 scales), exactly.

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
    shown = np.cumsum(heads)  # ends above 0: the best candidate's coin has probability 1
    return int(np.searchsorted(shown, below(int(shown[-1]), entropy), side="right"))


def _exponents(scores: Ints, scales: Floats) -> tuple[Floats, Floats]:
    """Whole part q and rest r / (2 s) of the exponents u / (2 s)."""
    if scores.dtype != np.int64 or scores.ndim != 1 or not 1 <= len(scores) <= MOST_CANDIDATES:
        raise TypeError("scores are a list of 64-bit whole numbers")
    if scales.dtype != np.float64 or scales.shape != scores.shape or not ((scales > 0) & np.isfinite(scales)).all():
        raise TypeError("each score needs a float64 scale above 0")
    u, s = scores.astype(np.float64), 2.0 * scales
    if np.abs(u).max() >= 2.0**53 or not (np.abs(u) / s < MOST_EXPONENT).all():
        raise ValueError("scores too large for their scales")  # callers make sure of it from public numbers
    rest = np.fmod(u, s)
    return np.rint((u - rest) / s), rest / s


def _exact(scores: Ints, scales: Floats, k: int) -> Fraction:
    return Fraction(int(scores[k])) / (2 * Fraction(float(scales[k])))


def _best(scores: Ints, scales: Floats, whole: Floats, rest: Floats) -> int:
    """An index of the exactly largest exponent: of the highest score at each scale, which are public and mostly one.

    Whichever scores are tied, it takes the same steps.
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
    """Whether a uniform point of [units, units + 1) is below exp(-gap) 2^bits; draws as many more bits as it takes."""
    while True:
        low, high = exp_bounds(gap, bits)
        if units + 1 <= low:
            return True
        if units >= high:
            return False
        units, bits = units << 64 | int.from_bytes(entropy(8), "little"), bits + 64


def below(n: int, entropy: Entropy = os.urandom) -> int:
    """Exactly uniform on [0, n)."""
    size = (n.bit_length() + 71) // 8  # eight bytes more than needed: hardly ever drawn twice
    limit = (1 << 8 * size) // n * n
    while True:
        value = int.from_bytes(entropy(size), "little")
        if value < limit:
            return value % n


# -- Exact selections among classes of equal members -------------------------------------------------------------------
# Index c with probability proportional to `size_c exp(-gap_c rate)` The sizes are whole numbers of any length, the gaps
# whole numbers, the rate a rational.  As in `exact_selection`, floats only make an envelope: class c gets a slot of h_c
# units with `v_c <= h_c`, where `v_c = size_c exp(-gap_c rate) 2^(k - e)`; a uniform point of all slots is kept if it
# lies below v_c in its slot, and otherwise drawn again.  That is rejection from an envelope, so the distribution is
# exact whatever the floats were, as long as they enclose v_c.
#
# They do: log2 v_c is a difference of two numbers below 2^14 in size, each off by less than a factor 1 +- 2^-50, so
# that it is off by less than 2^-35, and v_c by a factor within 1 +- 2^-34; we allow 2^-30.  Below 2^-200 units a slot
# is one unit.


MOST_BITS = 1 << 13  # of the sizes
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
        # Beyond 2^14 a gap only has to stay as far away as that.
        height = logs - np.minimum(gaps.astype(np.float64) * float(rate) * np.log2(np.e), 2.0 * MOST_BITS)
        self._top = ceil(float(height.max())) + 1
        weights = np.exp2(np.maximum(height - self._top, _LEAST) + self._bits)
        self._low: Ints = np.maximum(np.floor(weights * (1 - _WEIGHTED_SELECTION_FILTER)) - 1, 0).astype(np.int64)
        self._low[height - self._top < _LEAST] = 0
        self._ends: Ints = np.cumsum(np.ceil(weights * (1 + _WEIGHTED_SELECTION_FILTER)).astype(np.int64) + 1)

    def draw(self, entropy: Entropy = os.urandom) -> int:
        """An index; draws of one envelope are independent."""
        while True:
            point = below(int(self._ends[-1]), entropy)
            c = int(np.searchsorted(self._ends, point, side="right"))
            offset = point - (int(self._ends[c - 1]) if c else 0)
            if offset < self._low[c] or self._keeps(c, offset, entropy):
                return c

    def _keeps(self, c: int, units: int, entropy: Entropy) -> bool:
        """Whether a uniform point of [units, units + 1) is below v_c; draws as many more bits as it takes."""
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
