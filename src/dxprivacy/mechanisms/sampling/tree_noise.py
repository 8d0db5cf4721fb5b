"""Sample k-norm noise of a hierarchy of counts exactly: P(z) is proportional to the product of all rho^|z|.

`hierarchy_tables` describes the distribution. Sampling is top-down. Given the noise s of a count, its left part gets l
with probability f_left(l) f_right(s - l) / (f_left * f_right)(s), and the right part gets s - l. Each selection uses
inversion with one uniform number U in [0, 1) that is fixed before anything is looked up: it takes the l for which

    C(l - 1) <= U T < C(l),         C(l) the sum of f_left f_right over all places up to l, T over all places.

U is known to some bits, and C and T each lie between two bounds. If that does not decide, U gets further bits, and the
tables are made finer and longer, until it does. There is no rejection: every integer has exactly its probability,
however far out. No error has to be charged, and the support is the whole lattice.

Floats decide first, for vectors of draws at a time. A row of n weights has relative errors of at most 3 units (2^-53),
its sums of n + 2, U T of n + 4, and U itself is known to one. So two numbers that differ by at least (2 n + 32) units
of T, plus twice the uncertainty of the tables, are in their true order. About one selection in 2^30 is left to integer
arithmetic, and with a probability below 2^-80 the tables are refined (tests/privacy/test_k_norm_distribution.py). Both
affect only the running time. Otherwise every selection takes the same steps: a row as long as its table, whatever s is.
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
from dxprivacy.universe.hierarchy import NO_ROW, Nest

Entropy = Callable[[int], bytes]

BITS, TAIL = 160, 116
_FLOAT_TAIL = 72  # bits below the largest weight at which float rows end; the rest is left undecided
_UNIT = 2.0**-53
_FLOAT_BITS, _MORE_BITS = 53, 128
_AT_ONCE = 1 << 21  # weights in one array
_KNOWN = 0.5  # largest uncertainty, relative to T, at which floats may decide
_HARDLY = 86  # bits of the probability that the prepared tables leave a selection undecided
_COARSE = 4  # tried precisions, each twice the one before


@dataclass(frozen=True, eq=False)
class Split:
    """Counts of one kind that are divided alike: their numbers, and the numbers of their left and right parts."""

    left: TreeKind
    right: TreeKind
    whole: Ints
    first: Ints
    second: Ints


class Family:
    """Counts and their divisions; `roots` have no noise, and parts come after the counts that they belong to.

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
        """Build all tables, which depend on the distribution alone."""
        for split in self.splits:
            pair = self._pair(split.left, split.right)
            _ = pair.rows, pair.fine_enough

    def draw(self, entropy: Entropy = os.urandom) -> Ints:
        """Sample the noise of every count; 0 for the roots."""
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
        """Tables with 2^level times the digits."""
        while len(self._tables) <= level:
            last = self._tables[-1]
            self._tables.append(Messages(2 * last.bits, 2 * last.tail))
        return self._tables[level]


@dataclass(frozen=True, eq=False)
class _NoiseRows:
    """Float tables of two parts, from -M to M. The right one is so long that every needed row is a slice of it."""

    left: Floats
    right: Floats
    open: Floats  # by |s|: the uncertainty of the tables, as a fraction of T


class _Pair:
    """Samples the left part's noise, given that of the whole."""

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
        """The number of precision doublings after which almost no selection is left undecided, for the most likely s.

        A whole with noise s has probability at most f(s) / f(0), because the rest is likeliest for s = 0.
        """
        for level in range(_COARSE):
            try:
                tables = self._tables(level)
                f, sums = tables.of(self.left), tables.sums(self.left, self.right)
            except TooCoarse:
                continue
            row, doubt = 2 * (2 * f.end + 1), 0
            for low, high in zip(sums.low, sums.high, strict=True):
                doubt += min((high - low + 2) * row, low)  # f(s) times the uncertainty of its row
            if doubt << _HARDLY <= sums.low[0] and sums.low[-1] << _HARDLY <= sums.low[0] << 8:
                return level
        return _COARSE - 1

    def _rows(self, tables: Messages) -> _NoiseRows:
        g, sums = tables.of(self.right), tables.sums(self.left, self.right)
        f = tables.of(self.left).within(_FLOAT_TAIL)
        one = 1 << tables.bits
        left, right = (np.array([x / one for x in t.low]) for t in (f, g))
        far = f.end + sums.end  # largest |noise| of the right part
        beside = np.concatenate([right, np.zeros(max(far - g.end, 0))])[: far + 1]
        around = zip(sums.low, sums.high, f.behind(g), strict=False)
        known = [float(min((b - a + 4 + (x >> tables.bits)) / max(a, 1), 1.0)) for a, b, x in around]
        open_ = known + [1.0] * (sums.end + 1 - len(known))
        both = np.concatenate([left[:0:-1], left])
        return _NoiseRows(both, np.concatenate([beside[:0:-1], beside]), np.array(open_))

    def draw(self, whole: Ints, entropy: Entropy) -> Ints:
        """Sample the left part's noise for each noise of the whole."""
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
        """Return the left parts for non-negative s, and which of them are decided."""
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
        decided &= rows.open[near] < _KNOWN  # an uncertain row decides nothing
        return inside - count // 2, decided

    def _by_whole_numbers(self, size: int, uniform: int, entropy: Entropy) -> int:
        """Make the same selection with the same uniform number in integers, extending it until it decides."""
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
        most = sums.high[size] + 1 << tables.bits  # upper bound of T, in the same units
        aim, open_ = uniform * total >> bits, most - total
        low, high = 0, len(up_to)  # bisection for the first place whose sum exceeds the aim
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
    """Return the counts of a hierarchy whose rows have these scales; rho is e^(-1/scale), rounded up to 128 bits.

    Then a step of a count costs -ln(rho) <= 1/scale, which is the certified cost.
    """
    known: dict[tuple[object, ...], TreeKind] = {}
    parts: dict[int, list[tuple[int, int]]] = {}
    for whole, left, right in nest.divided.tolist():
        parts.setdefault(whole, []).append((left, right))
    rhos = {scale: _rho(scale) for scale in set(scales)}
    kinds: list[TreeKind] = [TreeKind(0)] * nest.size
    for k in range(nest.size - 1, -1, -1):
        rho = 1 << RHO_BITS if nest.row[k] == NO_ROW else rhos[scales[int(nest.row[k])]]
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
    if rho >= 1 << RHO_BITS:  # rho must not be below e^(-1/scale): that would be less noise than certified
        raise ValueError(f"a scale of {scale:.3g} is too large: e^(-1/scale) rounds up to 1 in {RHO_BITS} bits")
    return rho
