"""Sample block-max noise of several tables exactly: P(z) ~ exp(-max over tables of w N(z)).

One record changes all of the tables together. Each table z_g is integer and adds up to 0, N is its size
(`zero_sum_tables`), and w_g = 1 / scale is its rate. Let V(t) be the number of all z whose tables have w_g N(z_g) <= t;
it is the product of their counts B_g(floor(t / w_g)). Then

    exp(-max w N) = integral of e^-t over t >= max w N,

so the distribution is a mixture. A *level* t is drawn with a density proportional to e^-t V(t), and then z uniformly
among the V(t) below it, one table at a time. V changes only where t is a multiple of some w_g. Between two such places
t_i < t_(i+1) nothing depends on t, and the level i has the weight (e^-t_i - e^-t_(i+1)) V(t_i).

The level is selected by inversion with one uniform number U that is fixed before anything is looked up: it is the i
with C(i - 1) <= U T < C(i), where C are the cumulative weights and T their total. Each weight lies between two
integers, and U between two dyadic fractions. If that does not decide, U gets further bits, and the table more digits
and levels, until it does. There is no rejection, so every outcome has exactly its probability, however far out. The
rates are the rationals 1 / scale themselves, and e^-t is enclosed, never rounded: a step costs exactly what was
certified.

*The rest.* Behind the last place T of a table, the remaining weight is at most e^-T V(T) prod q_g / (1 - k), where q_g
= B_g(R + 1) / B_g(R) at R = floor(T / w_g) and k = sum of (q_g - 1) / w_g < 1. Proof: B_g is log-concave, so
B_g(floor((T + s) / w_g)) <= B_g(R) q_g^(s / w_g + 1). As ln q <= q - 1, V(T + s) <= V(T) prod q_g e^(k s). Integrate
e^(-T - s) times this bound.

The first table leaves a number undecided with a probability below 2^-100
(tests/privacy/test_block_max_distribution.py), and that affects only the running time.
"""

import math
import os
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate

import numpy as np

from dxprivacy.exact.arrays import Ints
from dxprivacy.mechanisms.sampling.exact_selection import Entropy, exp_bounds
from dxprivacy.mechanisms.sampling.zero_sum_tables import Tables, tables_of

BITS, TAIL = 192, 112
MOST_STEPS = 100_000  # levels times kinds of tables: a few seconds
_MORE_BITS = 256


class TooLong(Exception):
    """The noise is so wide that a table of its levels would be too long."""


@dataclass(frozen=True)
class _Between:
    """A positive number x with low 2^power <= x <= high 2^power, where both integers have limited bits."""

    low: int
    high: int
    power: int

    def times(self, other: "_Between", bits: int) -> "_Between":
        return _short(self.low * other.low, self.high * other.high, self.power + other.power, bits)

    def minus(self, other: "_Between") -> "_Between":
        """Subtract a smaller number; the lower bound is at least 0."""
        power = min(self.power, other.power)
        one, two = self.power - power, other.power - power
        return _Between(max((self.low << one) - (other.high << two), 0), (self.high << one) - (other.low << two), power)

    def within(self, power: int) -> tuple[int, int]:
        """The same bounds in units of 2^power, rounded outwards."""
        shift = self.power - power
        if shift >= 0:
            return self.low << shift, self.high << shift
        return self.low >> -shift, (self.high >> -shift) + 1


def _short(low: int, high: int, power: int, bits: int) -> _Between:
    shift = high.bit_length() - bits
    return _Between(low, high, power) if shift <= 0 else _Between(low >> shift, (high >> shift) + 1, power + shift)


@dataclass
class _NoiseKind:
    """Tables of one size and rate: how many there are, and the state of the walk over levels."""

    tables: Tables
    rate: Fraction
    step: int  # the rate in units of all levels
    often: int
    decay: _Between  # e^-rate
    faded: _Between  # e^(-rate radius)
    radius: int = 0


@dataclass(frozen=True)
class Levels:
    """The places t of levels, in units of `BlockMax.unit`, with lower and upper integer bounds of their weights.

    All weights behind them add up to at most `rest`. All weights are in the same unit.
    """

    places: list[int]
    low: list[int]
    high: list[int]
    rest: int

    @cached_property
    def sums(self) -> tuple[list[int], list[int]]:
        """Cumulative sums of both bounds."""
        return list(accumulate(self.low)), list(accumulate(self.high))

    def chosen(self, uniform: int, bits: int) -> int | None:
        """Return the level of every number in [uniform, uniform + 1) / 2^bits; None if it is not certain."""
        low, high = self.sums
        least, most = low[-1], high[-1] + self.rest
        k = bisect_right(low, uniform * least >> bits)
        if k == len(low) or (k and high[k - 1] << bits > uniform * least):
            return None
        return k if (uniform + 1) * most <= low[k] << bits else None


class BlockMax:
    """The distribution for tables with these numbers of bins, each with a scale.

    >>> z = BlockMax([2, 3], [1.0, 2.5]).draw()
    >>> len(z), int(z[:2].sum()), int(z[2:].sum())
    (5, 0, 0)
    """

    def __init__(self, cells: Sequence[int], scales: Sequence[float], *, bits: int = BITS, tail: int = TAIL) -> None:
        if len(cells) != len(scales) or not cells or not all(0 < s < math.inf for s in scales):
            raise ValueError("each table has a scale that is positive and finite")
        self.cells, self.rates = tuple(cells), tuple(1 / Fraction(s) for s in scales)
        self.unit = math.lcm(*(rate.denominator for rate in self.rates))  # levels are multiples of 1 / unit
        self.steps = tuple(int(rate * self.unit) for rate in self.rates)
        self.size = sum(self.cells)
        self._first = bits, tail
        self._made: list[Levels] = []

    def prepare(self) -> None:
        """Build the first table, which depends on the distribution alone."""
        _ = self.levels().sums

    def levels(self, depth: int = 0) -> Levels:
        """Return levels with 2^depth times the digits, up to a remaining weight of at most 2^-(2^depth tail) of the
        total.
        """
        while len(self._made) <= depth:
            times = 1 << len(self._made)
            self._made.append(self._levels(self._first[0] * times, self._first[1] * times, first=not self._made))
        return self._made[depth]

    def radii(self, place: int) -> list[int]:
        """Return the largest table sizes below a level."""
        return [place // step for step in self.steps]

    def draw(self, entropy: Entropy = os.urandom) -> Ints:
        """Sample the noise of all bins, table by table."""
        radii = self.radii(self._level(entropy))
        drawn = [tables_of(n).draw(radius, entropy) for n, radius in zip(self.cells, radii, strict=True)]
        return np.array([x for table in drawn for x in table], dtype=np.int64)

    def _level(self, entropy: Entropy) -> int:
        uniform, bits, depth = 0, 0, 0
        while True:
            uniform = uniform << _MORE_BITS | int.from_bytes(entropy(_MORE_BITS // 8), "little")
            bits += _MORE_BITS
            levels = self.levels(depth)
            found = levels.chosen(uniform, bits)
            if found is not None:
                return levels.places[found]
            depth += 1

    def _kinds(self, bits: int) -> list[_NoiseKind]:
        often = Counter(zip(self.cells, self.rates, self.steps, strict=True))
        one = _Between(1, 1, 0)
        return [
            _NoiseKind(tables_of(n), rate, step, times, _decay(rate, bits), one)
            for (n, rate, step), times in often.items()
        ]

    def _levels(self, bits: int, tail: int, *, first: bool) -> Levels:
        kinds = self._kinds(bits)
        middle = sum(n - 1 for n in self.cells)  # sampled levels lie around it: at least as many are needed
        if first and len(kinds) * middle * sum(1 / kind.rate for kind in kinds) > MOST_STEPS:
            raise TooLong
        place, faded, below = 0, _Between(1, 1, 0), _Between(1, 1, 0)
        places: list[int] = []
        weights: list[_Between] = []
        top = -math.inf
        while True:
            following = min((kind.radius + 1) * kind.step for kind in kinds)
            nearest = [kind for kind in kinds if (kind.radius + 1) * kind.step == following]
            for kind in nearest:
                kind.radius += 1
                kind.faded = kind.faded.times(kind.decay, bits)
            fading = nearest[0].faded
            places.append(place)
            weights.append(faded.minus(fading).times(below, bits))
            if first and len(places) * len(kinds) > MOST_STEPS:
                raise TooLong
            place, faded, below = following, fading, _below(kinds, bits)
            size = weights[-1].power + weights[-1].high.bit_length()
            top = max(top, size)
            if size < top - tail:
                power = int(top) - bits  # the largest weight has `bits` bits
                rest = _rest(kinds, faded.times(below, bits), power)
                if rest is not None and rest << tail <= 1 << bits - 2:
                    low, high = (list(row) for row in zip(*(w.within(power) for w in weights), strict=True))
                    return Levels(places, low, high, rest)


def _decay(rate: Fraction, bits: int) -> _Between:
    digits = bits + 2 * math.ceil(rate)
    return _short(*exp_bounds(rate, digits), -digits, bits)


def _below(kinds: Sequence[_NoiseKind], bits: int) -> _Between:
    """The number of joint tables below the level that the walk has reached."""
    out = _Between(1, 1, 0)
    for kind in kinds:
        count = kind.tables.upto(kind.radius)
        own = _short(count, count, 0, bits)
        for _ in range(kind.often):
            out = out.times(own, bits)
    return out


def _rest(kinds: Sequence[_NoiseKind], here: _Between, power: int) -> int | None:
    """An upper bound of the remaining weight, where `here` is e^-T V(T), in units of 2^power; None if unknown."""
    slope, jump = Fraction(0), Fraction(1)
    for kind in kinds:
        count, more = kind.tables.upto(kind.radius), kind.tables.of(kind.radius + 1)
        slope += kind.often * Fraction(more, count) / kind.rate
        jump *= Fraction(count + more, count) ** kind.often
    if slope >= 1:
        return None
    return math.ceil(here.within(power)[1] * jump / (1 - slope))


@lru_cache(maxsize=8)
def block_max(cells: tuple[int, ...], scales: tuple[float, ...]) -> BlockMax:
    """Return a distribution with its table, cached for repeated queries."""
    return BlockMax(cells, scales)
