"""Exact choices among classes of equal members: index c with probability proportional to `size_c exp(-gap_c rate)`.

The sizes are whole numbers of any length, the gaps whole numbers, the rate a rational.  As in `exact_selection`, floats
only make an envelope: class c gets a slot of h_c units with `v_c <= h_c`, where `v_c = size_c exp(-gap_c rate) 2^(k -
e)`; a uniform point of all slots is kept if it lies below v_c in its slot, and otherwise drawn again.  That is
rejection from an envelope, so the law is exact whatever the floats were, as long as they enclose v_c.

They do: log2 v_c is a difference of two numbers below 2^14 in size, each off by less than a factor 1 +- 2^-50, so
that it is off by less than 2^-35, and v_c by a factor within 1 +- 2^-34; we allow 2^-30.  Below 2^-200 units a slot
is one unit.
"""

import os
from collections.abc import Sequence
from fractions import Fraction
from math import ceil, log2

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.mechanisms.sampling.exact_exp import exp_bounds
from dxprivacy.mechanisms.sampling.exact_selection import Entropy, below

MOST_BITS = 1 << 13  # of the sizes
_FILTER = 2.0**-30
_LEAST = -200.0


class WeightedChoice:
    """An envelope over classes, from which any number of exact choices can be drawn.

    >>> WeightedChoice([3, 10**30], np.array([0, 5000]), Fraction(1)).draw()
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
        self._low: Ints = np.maximum(np.floor(weights * (1 - _FILTER)) - 1, 0).astype(np.int64)
        self._low[height - self._top < _LEAST] = 0
        self._ends: Ints = np.cumsum(np.ceil(weights * (1 + _FILTER)).astype(np.int64) + 1)

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
