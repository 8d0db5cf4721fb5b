"""Noise of counts that agree with one another, drawn exactly: P(z) proportional to the product of all rho^|z|.

`hierarchy_tables` has the distribution.  It is drawn from the top: given the noise s of a count, its left part gets l
with probability f_left(l) f_right(s - l) / (f_left * f_right)(s), the right part s - l.  Each choice is made by one
uniform number U in [0, 1) that is fixed before anything is looked up, by inversion: the l for which

    C(l - 1) <= U T < C(l),         C(l) the sum of f_left f_right over all places up to l, T over all places.

U is known to some bits, C and T lie between two numbers each; wherever that does not decide, U gets further bits and
the tables are made finer and longer, until it does.  Nothing is ever drawn again, so that every whole number has
exactly its probability, however far out: no error has to be charged, and the support is the whole lattice.

Floats decide first, vectors of draws at a time.  A row of n weights has relative errors of at most 3 units
(2^-53), its sums of n + 2, U T of n + 4, and U itself is known to one; two numbers that are (2 n + 32) units of T
apart, and twice what the tables leave open, are in their true order.  About one selection in 2^30 is left to whole
numbers, and with a probability below 2^-80 the tables are refined (tests/privacy/test_k_norm_distribution.py); both
show in the time alone. Otherwise every selection takes the same steps: a row as long as its table, whatever s is.
"""

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from operator import mul

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.mechanisms.sampling.exact_selection import exp_bounds
from dxprivacy.mechanisms.sampling.hierarchy_tables import Enclosed, Messages, TooCoarse, TreeKind
from dxprivacy.mechanisms.sampling.zero_sum_tables import RHO_BITS
from dxprivacy.universe.hierarchy import NOBODY, Nest

Entropy = Callable[[int], bytes]

BITS, TAIL = 160, 116
_FLOAT_TAIL = 72  # bits below the largest weight where rows of floats end: what lies behind them is left open
_UNIT = 2.0**-53
_FLOAT_BITS, _MORE_BITS = 53, 128
_AT_ONCE = 1 << 21  # weights in one array
_KNOWN = 0.5  # of T
_HARDLY = 86  # bits of the probability that a selection is left open by the tables that are made beforehand
_COARSE = 4  # times that the precision is doubled before tables are made at all


@dataclass(frozen=True, eq=False)
class Split:
    """Counts of one kind that are divided alike: their numbers, and those of their left and right parts."""

    left: TreeKind
    right: TreeKind
    whole: Ints
    first: Ints
    second: Ints


class Family:
    """Counts, and how they are made of one another: `roots` have no noise, and parts come after what they are parts of.

    >>> leaf = TreeKind(1 << 126)
    >>> at = [np.array([k]) for k in range(3)]
    >>> z = Family(3, [Split(leaf, leaf, *at)]).draw()
    >>> int(z[0]), int(z[1] + z[2])
    (0, 0)
    """

    def __init__(self, size: int, splits: Sequence[Split], *, bits: int = BITS, tail: int = TAIL) -> None:
        self.size, self.splits = size, splits
        self._tables = [Messages(bits, tail)]
        self._pairs: dict[tuple[TreeKind, TreeKind], _Pair] = {}

    def prepare(self) -> None:
        """Make all tables: they depend on the distribution alone."""
        for split in self.splits:
            pair = self._pair(split.left, split.right)
            _ = pair.rows, pair.fine_enough

    def draw(self, entropy: Entropy = os.urandom) -> Ints:
        """The noise of every count; 0 for the roots."""
        out = np.zeros(self.size, dtype=np.int64)
        for split in self.splits:
            whole = out[split.whole]
            first = self._pair(split.left, split.right).draw(whole, entropy)
            out[split.first], out[split.second] = first, whole - first
        return out

    def _pair(self, left: TreeKind, right: TreeKind) -> "_Pair":
        if (left, right) not in self._pairs:
            self._pairs[left, right] = _Pair(left, right, self._finer)
        return self._pairs[left, right]

    def _finer(self, level: int) -> Messages:
        """Tables of 2^level times the digits."""
        while len(self._tables) <= level:
            last = self._tables[-1]
            self._tables.append(Messages(2 * last.bits, 2 * last.tail))
        return self._tables[level]


@dataclass(frozen=True, eq=False)
class _NoiseRows:
    """Tables of two parts as floats, from -M to M; that of the right part so long that every row is a piece of it."""

    left: Floats
    right: Floats
    open: Floats  # by the size of s: what the tables leave open, as a part of T


class _Pair:
    """The choice of the left part's noise, given that of the whole."""

    def __init__(self, left: TreeKind, right: TreeKind, tables: Callable[[int], Messages]) -> None:
        self.left, self.right, self._tables = left, right, tables

    @cached_property
    def rows(self) -> _NoiseRows:
        for level in range(_COARSE):
            try:
                found = self._rows(self._tables(level))
            except TooCoarse:
                continue
            return found
        raise TooCoarse

    @cached_property
    def fine_enough(self) -> int:
        """How often the precision is doubled until hardly any number is left open, over all s as likely as they can be.

        A whole of noise s has at most the probability f(s) / f(0): what lies around it is likeliest for s = 0.
        """
        for level in range(_COARSE):
            try:
                tables = self._tables(level)
                f, sums = tables.of(self.left), tables.sums(self.left, self.right)
            except TooCoarse:
                continue
            row, doubt = 2 * (2 * f.end + 1), 0
            for low, high in zip(sums.low, sums.high, strict=True):
                doubt += min((high - low + 2) * row, low)  # f(s) times what of its row is left open
            if doubt << _HARDLY <= sums.low[0] and sums.low[-1] << _HARDLY <= sums.low[0] << 8:
                return level
        return _COARSE - 1

    def _rows(self, tables: Messages) -> _NoiseRows:
        g, sums = tables.of(self.right), tables.sums(self.left, self.right)
        f = tables.of(self.left).within(_FLOAT_TAIL)
        one = 1 << tables.bits
        left, right = (np.array([x / one for x in t.low]) for t in (f, g))
        far = f.end + sums.end  # as far from 0 as the right part can be
        beside = np.concatenate([right, np.zeros(max(far - g.end, 0))])[: far + 1]
        around = zip(sums.low, sums.high, f.behind(g), strict=False)
        known = [float(min((b - a + 4 + (x >> tables.bits)) / max(a, 1), 1.0)) for a, b, x in around]
        open_ = known + [1.0] * (sums.end + 1 - len(known))
        both = np.concatenate([left[:0:-1], left])
        return _NoiseRows(both, np.concatenate([beside[:0:-1], beside]), np.array(open_))

    def draw(self, whole: Ints, entropy: Entropy) -> Ints:
        """The left part's noise for each of these."""
        rows = self.rows
        words = np.frombuffer(entropy(8 * len(whole)), dtype=np.uint64) >> np.uint64(64 - _FLOAT_BITS)
        size, out = np.abs(whole), np.zeros(len(whole), dtype=np.int64)
        decided = np.zeros(len(whole), dtype=bool)
        step = max(_AT_ONCE // len(rows.left), 1)
        for start in range(0, len(whole), step):
            part = slice(start, start + step)
            out[part], decided[part] = self._by_floats(size[part], words[part])
        for k in np.flatnonzero(~decided).tolist():
            out[k] = self._by_whole_numbers(int(size[k]), int(words[k]), entropy)
        return np.where(whole < 0, -out, out)  # the distribution is symmetric

    def _by_floats(self, size: Ints, words: "np.ndarray[tuple[int], np.dtype[np.uint64]]") -> tuple[Ints, Ints]:
        """The left parts for non-negative s, and which of them are decided."""
        rows = self.rows
        count, far = len(rows.left), len(rows.open) - 1
        near = np.minimum(size, far)
        windows = sliding_window_view(rows.right, count)
        sums = np.cumsum(windows[far - near] * rows.left, axis=1)
        total = sums[:, -1]
        aim = words.astype(np.float64) * _UNIT * total
        found = (sums <= aim[:, None]).sum(axis=1)
        inside = np.minimum(found, count - 1)
        at = np.arange(len(size))
        below = np.where(inside > 0, sums[at, inside - 1], 0.0)
        apart = total * ((2 * count + 32) * _UNIT + 2.1 * rows.open[near])
        decided = (aim - below >= apart) & (sums[at, inside] - aim >= apart) & (size <= far)
        decided &= rows.open[near] < _KNOWN  # a row of which nothing is known decides nothing
        return inside - count // 2, decided

    def _by_whole_numbers(self, size: int, uniform: int, entropy: Entropy) -> int:
        """The same choice with the same number, continued until it is decided."""
        bits, level = _FLOAT_BITS, self.fine_enough
        while True:
            uniform = uniform << _MORE_BITS | int.from_bytes(entropy(_MORE_BITS // 8), "little")
            bits += _MORE_BITS
            try:
                found = self._decided(self._tables(level), size, uniform, bits)
            except TooCoarse:
                found = None
            if found is not None:
                return found
            level += 1

    def _decided(self, tables: Messages, size: int, uniform: int, bits: int) -> int | None:
        f, g, sums = tables.of(self.left), tables.of(self.right), tables.sums(self.left, self.right)
        if size > sums.end:
            return None
        start, stop = max(-f.end, size - g.end), min(f.end, size + g.end)
        if start > stop:
            return None
        left, right = _both_sides(f)[start + f.end : stop + f.end + 1], _both_sides(g)
        up_to = list(accumulate(map(mul, left, right[start - size + g.end : stop - size + g.end + 1])))
        total = up_to[-1]
        most = sums.high[size] + 1 << tables.bits  # of T, in the same units
        aim, open_ = uniform * total >> bits, most - total
        low, high = 0, len(up_to)  # the first place whose sum is above the aim
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if up_to[middle] > aim else (middle + 1, high)
        if low == len(up_to):
            return None
        before = up_to[low - 1] if low else 0
        # C <= C_true <= C + open, and aim <= U T_true < aim + open + T 2^-bits + 2.
        if before + open_ <= aim and aim + open_ + (most >> bits) + 2 <= up_to[low]:
            return start + low
        return None


def _both_sides(table: Enclosed) -> list[int]:
    return [*table.low[:0:-1], *table.low]


def family_of(nest: Nest, scales: Sequence[float]) -> Family:
    """The counts of a nest whose rows have these scales: rho is e^(-1/scale), rounded up to 128 bits.

    Then a step of a count costs -ln(rho) <= 1/scale, which is what was certified.
    """
    known: dict[tuple[object, ...], TreeKind] = {}
    parts: dict[int, list[tuple[int, int]]] = {}
    for whole, left, right in nest.divided.tolist():
        parts.setdefault(whole, []).append((left, right))
    rhos = {scale: _rho(scale) for scale in set(scales)}
    kinds: list[TreeKind] = [TreeKind(0)] * nest.size
    for k in range(nest.size - 1, -1, -1):
        rho = 1 << RHO_BITS if nest.row[k] == NOBODY else rhos[scales[int(nest.row[k])]]
        halves = tuple((kinds[left], kinds[right]) for left, right in parts.get(k, ()))
        kinds[k] = known.setdefault((rho, halves), TreeKind(rho, halves))
    depth = [0] * nest.size
    together: dict[tuple[int, TreeKind, TreeKind], list[tuple[int, int, int]]] = {}
    for whole, left, right in nest.divided.tolist():
        depth[left] = depth[right] = depth[whole] + 1
        together.setdefault((depth[whole], kinds[left], kinds[right]), []).append((whole, left, right))
    splits = []
    for (_, left_kind, right_kind), some in sorted(together.items(), key=lambda item: item[0][0]):
        splits.append(Split(left_kind, right_kind, *np.array(some, dtype=np.int64).T))
    return Family(nest.size, splits)


def _rho(scale: float) -> int:
    if not 0 < scale < math.inf:
        raise ValueError("a scale is positive and finite")
    rho = exp_bounds(1 / Fraction(scale), RHO_BITS)[1]
    if rho >= 1 << RHO_BITS:  # less than its upper bound would be less noise than was certified
        raise ValueError(f"a scale of {scale:.3g} is too large: e^(-1/scale) rounds up to 1 in {RHO_BITS} bits")
    return rho
