"""Discrete Laplace noise, exactly sampled, with one scale per element, in numpy integers.

`discrete_laplace(scales)` returns Z with P(Z = z) proportional to exp(-|z|/s), where s is exactly the given float64. No
float decides anything in the sampling. All randomness comes from the operating system, and no state is kept between
calls, so that forks and threads need no guard. It is Algorithm 2 of Canonne, Kamath and Steinke, *The Discrete Gaussian
for Differential Privacy* (2020), rearranged so that whole arrays take the same steps.

Notation: s = t / 2^j with 2^52 <= t < 2^53 and j >= 0 (every float64 in (0, 2^53) is of this form); B = 16.

Why the distribution is exact. All draws are independent.

1.  Let X >= 0 be an integer with P(X = x) ~ exp(-x/(B t)), and split it: X = t G + U with 0 <= U < t. The weight is
    exp(-G/B) exp(-U/(B t)), so G and U are independent; P(G >= g) = exp(-g/B) is the same distribution for every scale,
    and P(U = u) ~ exp(-u/(B t)) on [0, t).
2.  Y = floor(X / (B 2^j)) has P(Y >= y) = P(X >= B 2^j y) = exp(-y 2^j / t) = exp(-y/s): geometric with scale s.
3.  With a fair sign, and (minus, 0) rejected, so that 0 is not counted twice, Y becomes Z.
4.  G counts the g >= 1 with u < exp(-g/B), u uniform on [0, 1). The first 63 bits w of u are compared with
    T_g = floor(2^63 exp(-g/B)): w < T_g implies yes, and w > T_g implies no. If w = T_g (once in 10^16), more bits of u
    are drawn until rational bounds of exp(-g/B) decide; they do, because it is irrational.
    A table gives the T_g to compare with: numbers are put into buckets by the leading bits of 1 + w as a float64.
    Rounding to nearest is monotone, so a T_g in a later bucket than w is above w, and one in an earlier bucket is below
    it. A bucket holds at most one value of T_g, which is compared with w in integers (`_guide` checks this when it is
    built).
5.  U is drawn uniformly (60 bits modulo t, the incomplete last block rejected) and accepted with probability
    exp(-U/(B t)). For that coin let A_k ~ Bernoulli(U/(B t k)) and K the first k with A_k = 0. Then
    P(K odd) = sum_k (-1)^k (U/(B t))^k / k! = exp(-U/(B t)). A_k is the event that a draw below B k is 0 and a draw
    below t is less than U.
6.  A rejected trial is drawn again as a whole. Trials are independent and identically distributed, so an accepted value
    has the distribution above and is independent of the number of trials, hence of the time they took.

Why nothing overflows in uint64.

-   If G <= 1022 then X <= t (G + 1) - 1 < 2^53 * 1023 < 2^63. Y = X >> (4 + j). Where 4 + j > 63 (s < 2^-6) we shift
    by 63 instead: both give 0, since X < 2^63.
-   If G >= 1023 (probability exp(-1023/16) < 2^-92 per trial) that lane is computed in Python integers. |Z| >= 2^63
    has probability below exp(-1024); Z is then reduced modulo 2^64, as int64 sums are. A caller's `answer + Z` in
    int64 is therefore always a function of the exact sum: post-processing, even there.
-   Blocks: w - (w mod t) <= w < 2^64, compared with 2^60 - t or 2^64 - t: no term is negative or reaches 2^64.

Why the running time reveals nothing: every round runs at least 1,024 trials, however few elements were requested, and a
lane passes through the same steps whatever it holds: one table lookup and one comparison (step 5 beyond A_1, and step 4
when w = T_g, touch a few lanes of a round).
"""

import os
from collections.abc import Callable
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import NDArray

from dxprivacy.exact.arrays import Ints
from dxprivacy.mechanisms.sampling.exact_selection import exp_bounds

Entropy = Callable[[int], bytes]
Words = NDArray[np.uint64]
Lanes = NDArray[np.intp]

_B = 16  # finer steps of G would not fit 53-bit scales into 64 bits
_G_FAST = 1022  # the largest G that stays in uint64, by the proof above
_MIN_LANES = 1 << 10
_CHUNK = 1 << 14  # a chunk's arrays stay in the processor's cache
_SCALE_END = 2.0**53
_DROPPED = 47  # of a float64's 52 fraction bits: buckets are at most 1/32 wide, thresholds at least 1/16 apart


def discrete_laplace(scales: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return one independent, exact discrete Laplace sample per element of `scales`, in the same shape.

    The scales are public: a scale outside 0 < s < 2^53 raises ValueError and names it.

    >>> noise = discrete_laplace(np.array([0.5, 3.3, 1000.0]))
    >>> noise.shape, noise.dtype
    ((3,), dtype('int64'))
    """
    scales = np.asarray(scales)
    _require_scales(scales)
    return _sample(scales.ravel()).reshape(scales.shape)


def _require_scales(scales: NDArray[np.float64]) -> None:
    """Refuse scales that are not float64 in (0, 2^53); callers must round other numbers themselves."""
    if scales.dtype != np.float64:
        raise TypeError(f"noise scales must be float64, not {scales.dtype}; round them up to float64 first")
    bad = np.flatnonzero(~((scales > 0) & (scales < _SCALE_END)))  # also catches NaN
    if bad.size:
        value = float(scales.flat[bad[0]])
        raise ValueError(f"noise scale number {bad[0]} is {value}; it must be above 0 and below 2**53")


def _decode(scales: NDArray[np.float64]) -> tuple[Words, Words]:
    """Integers (t, 4 + j) with s = t / 2^j and 2^52 <= t < 2^53; exact, also for subnormal s."""
    mantissa, exponent = np.frexp(scales)
    return np.ldexp(mantissa, 53).astype(np.uint64), (53 + 4 - exponent).astype(np.uint64)


def _sample(scales: NDArray[np.float64], entropy: Entropy = os.urandom) -> NDArray[np.int64]:
    """Return one accepted value for each scale: repeated passes over the elements without one, a chunk at a time."""
    noise = np.empty(scales.size, dtype=np.int64)
    starts = range(0, scales.size, _CHUNK)
    failed = [_first_attempt(noise, scales, start, min(start + _CHUNK, scales.size), entropy) for start in starts]
    pending: Lanes = np.concatenate(failed) if failed else np.zeros(0, dtype=np.intp)
    while pending.size:
        chunks = (pending[start : start + _CHUNK] for start in range(0, pending.size, _CHUNK))
        pending = np.concatenate([_attempt(noise, chunk, scales, entropy) for chunk in chunks])
    return noise


def _first_attempt(
    noise: NDArray[np.int64], scales: NDArray[np.float64], start: int, stop: int, entropy: Entropy
) -> Lanes:
    """Run one trial for each element of a contiguous range, and return the rejected elements; see `_attempt`.

    Rejected values are written, too; they are drawn again as a whole and overwritten.
    """
    if stop - start < _MIN_LANES:
        return _attempt(noise, np.arange(start, stop), scales, entropy)
    noise[start:stop], accepted = _trials(*_decode(scales[start:stop]), entropy)
    return np.flatnonzero(~accepted) + start


def _attempt(noise: NDArray[np.int64], chunk: Lanes, scales: NDArray[np.float64], entropy: Entropy) -> Lanes:
    """Fill noise[chunk] where a trial succeeds; return the part of the chunk where none did.

    A small chunk is repeated until it fills the least number of lanes. Which of an element's accepted trials is used
    depends on their positions only, never on their values, so the distribution does not change.
    """
    place = np.arange(max(chunk.size, _MIN_LANES)) % chunk.size
    lanes = chunk[place]
    z, accepted = _trials(*_decode(scales[lanes]), entropy)
    kept = np.flatnonzero(accepted)
    noise[lanes[kept]] = z[kept]
    failed = np.ones(chunk.size, dtype=np.bool_)
    failed[place[kept]] = False
    return chunk[failed]


def _trials(t: Words, shift: Words, entropy: Entropy) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Run one trial per lane; return its value, and whether it is accepted.

    Each lane uses two words: 63 bits for G and the sign, then 60 bits for U and 4 for the event of probability 1/B in
    A_1.
    """
    w1, w2 = _words(2 * t.size, entropy).reshape(2, -1)
    G, minus = _geometric(w1 >> np.uint64(1), entropy), (w1 & 1) == 1
    v, first = w2 >> np.uint64(4), (w2 & (_B - 1)) == 0
    U: Words = v % t
    whole = v - U <= (1 << 60) - t  # the last block of v is incomplete: without it U is exactly uniform
    accepted = whole & _decay(U, t, first, entropy)
    y, nonzero = _magnitude(G, U, t, shift)
    z = y.view(np.int64)
    return np.where(minus, -z, z), accepted & (nonzero | ~minus)


def _magnitude(G: Words, U: Words, t: Words, shift: Words) -> tuple[Words, NDArray[np.bool_]]:
    """Y = (t G + U) >> shift modulo 2^64, and whether the exact Y is not 0."""
    y = (t * G + U) >> np.minimum(shift, 63)
    nonzero = y != 0
    for i in np.flatnonzero(G > _G_FAST):  # the product may have wrapped: computed again in Python integers
        exact = (int(t[i]) * int(G[i]) + int(U[i])) >> int(shift[i])
        y[i], nonzero[i] = exact % (1 << 64), exact > 0
    return y, nonzero


def _decay(U: Words, t: Words, first: NDArray[np.bool_], entropy: Entropy) -> NDArray[np.bool_]:
    """True with probability exp(-U/(B t)) in each lane, given the event `first` of probability 1/B.

    A lane starts as accepted (K = 1, odd) and flips each time an A_k is 1.
    """
    accepted = np.ones(U.size, dtype=np.bool_)
    live, k = np.flatnonzero(first), 1
    while live.size:
        live = live[_below(t[live], entropy) < U[live]]
        accepted[live] ^= True
        k += 1
        live = live[_below(np.full(live.size, _B * k, dtype=np.uint64), entropy) == 0]
    return accepted


def _below(n: Words, entropy: Entropy) -> Words:
    """Exactly uniform on [0, n) in each lane, 1 <= n < 2^63: a word modulo n; an incomplete last block is
    drawn again.
    """
    w = _words(n.size, entropy)
    r = w % n
    again = np.flatnonzero(w - r > ((1 << 64) - 1) - (n - 1))
    if again.size:
        r[again] = _below(n[again], entropy)
    return r


def _geometric(w: Words, entropy: Entropy) -> Words:
    """G with P(G >= g) = exp(-g/B), from 63 uniform bits w per lane, and further entropy where they do not decide."""
    own, above = _guide()
    bucket = _bucket(w)
    near = own[bucket]
    G = above[bucket] + (w < near)  # the T_g > w, where u < exp(-g/B) for certain
    for i in np.flatnonzero(near == w):
        G[i] = _resolve(int(w[i]), int(G[i]), entropy)
    return G


def _bucket(w: Words) -> NDArray[np.int64]:
    """The binade of 1 + w and its next bits, counted from those of 1; monotone in w < 2^63."""
    near = w.view(np.int64).astype(np.float64)
    near += 1.0
    return (near.view(np.int64) >> _DROPPED) - (1023 << 52 - _DROPPED)


@cache
def _guide() -> tuple[Words, Words]:
    """Per bucket, the T_g in it (0 if there is none), and the number of T_g above it.

    The 0 is unambiguous: only w = 0 equals it, and its bucket holds T_L = 0. Two different T_g in one bucket could not
    both be compared with w, so their absence is checked.
    """
    thresholds = _thresholds()
    places = _bucket(thresholds)
    size = int(_bucket(np.array([(1 << 63) - 1], dtype=np.uint64))[0]) + 1
    own = np.zeros(size, dtype=np.uint64)
    own[places] = thresholds
    if (own[places] != thresholds).any():
        raise AssertionError("two thresholds in one bucket")
    above = (thresholds.size - np.searchsorted(places, np.arange(size), side="right")).astype(np.uint64)
    own.flags.writeable = above.flags.writeable = False
    return own, above


def _resolve(w: int, g: int, entropy: Entropy) -> int:
    """The exact G of a u whose first 63 bits are w, given that u < exp(-g/B); draws further bits as needed."""
    bits = 63
    while True:
        low, high = exp_bounds(Fraction(g + 1, _B), bits)
        if w + 1 <= low:
            g += 1
        elif w >= high:
            return g
        else:
            w = w << 64 | int.from_bytes(entropy(8), "little")
            bits += 64


@cache
def _thresholds() -> Words:
    """T_g = floor(2^63 exp(-g/B)) in ascending order, from T_L = 0 to T_1. Built on first use: L = 699, a few
    milliseconds.
    """
    descending = [_floor_exp(1)]
    while descending[-1] > 0:
        descending.append(_floor_exp(len(descending) + 1))
    table = np.array(descending[::-1], dtype=np.uint64)
    table.flags.writeable = False
    return table


def _floor_exp(g: int) -> int:
    """floor(2^63 exp(-g/B)), g >= 1, exact: the bounds are refined until both have the same floor."""
    extra = 64
    while True:
        low, high = (bound >> extra for bound in exp_bounds(Fraction(g, _B), 63 + extra))
        if low == high:
            return low
        extra += 64


def _words(n: int, entropy: Entropy) -> Words:
    """n uniform 64-bit words."""
    return np.frombuffer(entropy(8 * n), dtype=np.uint64)


# -- Bernoulli sampling of records, each with a probability that is an integer over 2^62 -------------------------------
# Every record draws 62 bits of its own and is kept if they are below that integer, so the distribution is exact. As
# many words are drawn as there are records, whatever the counts are, and every record takes the same steps.


BITS = 62
_KEPT_RECORDS_CHUNK = 1 << 16


def kept(counts: Ints, chances: Ints, entropy: Entropy) -> Ints:
    """Return how many records of each count are kept, each with probability chances / 2^62.

    >>> kept(np.array([3, 5]), np.array([0, 1 << 62]), lambda n: bytes(n)).tolist()
    [0, 5]
    """
    if chances.shape != counts.shape or (chances < 0).any() or (chances > 1 << BITS).any():
        raise ValueError("each probability must be an integer from 0 to 2^62")
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    out = np.zeros(len(counts), dtype=np.int64)
    for start in range(0, total, _KEPT_RECORDS_CHUNK):
        places = np.arange(start, min(start + _KEPT_RECORDS_CHUNK, total))
        cells = np.searchsorted(ends, places, side="right")
        words = np.frombuffer(entropy(8 * len(places)), dtype=np.uint64) >> np.uint64(64 - BITS)
        np.add.at(out, cells, (words.view(np.int64) < chances[cells]).astype(np.int64))
    return out
