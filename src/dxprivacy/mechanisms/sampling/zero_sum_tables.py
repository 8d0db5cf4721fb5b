"""Tables of integers that add up to 0: their number by size, and uniform samples of them.

The size N(z) of a table z of n = d + 1 bins is |z|_1 / 2: the sum of its positive bins, which is minus the sum of its
negative ones. There are

    S(r) = sum over p of C(n, p) C(r - 1, p - 1) C(n - p + r - 1, r)

tables of size r > 0: p bins are positive and share r in parts of at least 1; the others share r in parts of at least 0.
With the Legendre polynomial P_d, sum over r of B(r) x^r = P_d((1 + x) / (1 - x)) / (1 - x) = sum over k of C(d, k)^2
x^k / (1 - x)^(d + 1), where B(r) = S(0) + ... + S(r) counts all tables of size at most r. Two things follow. First,
Legendre's equation becomes a recurrence for the counts:

    (r + 1)^2 S(r + 1) = r^2 S(r) + d (d + 1) B(r).

Second, B is log-concave: all zeros of P_d lie between -1 and 1, so that the numerator is a product of factors a + x
with a > 0, and products of log-concave series without gaps are log-concave. (Both are compared with an enumeration of
tables in tests/oracle/test_zero_sum_tables.py.)
"""

import math
import os
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from math import comb

from dxprivacy.mechanisms.sampling.exact_selection import Entropy, below

# -- Sums of equal counts in closed form: integer bounds, without a convolution ----------------------------------------
# Consider t counts whose noise z has the weight rho^|z| each. Those that add up to s have together the weight
#
#     h_t(s) = rho^|s| sum over i < t of C(t - 1 + i, i) C(|s| + t - 1, t - 1 - i) (q / (1 - q))^i,       q = rho^2.
#
# (The generating function of one is (1 - q) / ((1 - rho x) (1 - rho / x)). The coefficient of x^s of its t-th power is
# (1 - q)^t C(s + t - 1, s) rho^s 2F1(t, t + s; s + 1; q), and Pfaff's transformation makes that the sum above.) All
# terms are positive. The sum is a polynomial in s: given its differences at 0, its values at 1, 2, 3 ... follow by
# additions alone, so that bounds of the factors (q / (1 - q))^i give exact bounds of the values.
#
# >>> low, high = equal_counts(1 << 127, 2, 30, 3)  # two counts of rho = 1/2: 5/3, 4/3, 11/12 ...
# >>> [round(x / 2**30, 6) for x in low], [b - a for a, b in zip(low, high)]
# ([1.666667, 1.333333, 0.916667], [1, 1, 1])


RHO_BITS = 128
MOST = 64  # counts: for more, a convolution is faster
_GUARD = 64  # guard bits for rounding errors


def equal_counts(rho: int, times: int, units: int, size: int) -> tuple[list[int], list[int]]:
    """Return lower and upper bounds of 2^units h_t(s) for s = 0 .. size - 1; rho is in units of 2^-128."""
    digits = units + _GUARD + max(int(_growth(rho, times, size)), 0)
    up, down = rho * rho, (1 << 2 * RHO_BITS) - rho * rho  # q / (1 - q)
    factors = [math.comb(times - 1 + i, i) * (up**i << digits) // down**i for i in range(times)][::-1]
    low = _values(factors, times, size)
    high = low if times == 1 else _values([x + 1 for x in factors[:-1]] + factors[-1:], times, size)
    below, above = [1 << digits], [1 << digits]
    for _ in range(size - 1):
        below.append(below[-1] * rho >> RHO_BITS)
        above.append((above[-1] * rho >> RHO_BITS) + 1)
    shift = 2 * digits - units
    return [a * b >> shift for a, b in zip(low, below, strict=True)], [
        (a * b >> shift) + 1 for a, b in zip(high, above, strict=True)
    ]


def _values(factors: list[int], times: int, size: int) -> list[int]:
    """sum over k < t of factor_k C(s + t - 1, k) for s = 0 .. size - 1, by finite differences, the highest first."""
    now: list[int] = []
    for j in range(times - 1, -1, -1):
        first = sum(factors[k] * math.comb(times - 1, k - j) for k in range(j, times))
        now = list(accumulate(now[:-1], initial=first)) if now else [first] * size
    return now


def log_weight(rho: int, times: int, s: int) -> float:
    """Return ln h_t(s) in floats; it is used for table sizes only, which decide nothing."""
    near = rho / 2**RHO_BITS
    each = 2 * math.log(near) - math.log1p(-(near**2)) if near < 1 else math.inf
    terms = [
        _log_binomial(times - 1 + i, i) + _log_binomial(s + times - 1, times - 1 - i) + i * each for i in range(times)
    ]
    top = max(terms)
    return s * math.log(near) + top + math.log(math.fsum(math.exp(x - top) for x in terms))


def _growth(rho: int, times: int, size: int) -> float:
    """Bits by which the polynomial grows, plus those of its value at the end."""
    near = rho / 2**RHO_BITS
    ends = [log_weight(rho, times, s) - s * math.log(near) for s in (0, size)]
    return (2 * max(ends[1], 0.0) - min(ends[0], 0.0)) / math.log(2)


def _log_binomial(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


# -- Tables of integers that add up to 0 -------------------------------------------------------------------------------


_WORD = 16  # bytes of a small uniform number: a second draw has probability 2^-64


class Tables:
    """All tables with this number of bins that add up to 0, counted by their size.

    >>> three = Tables(3)
    >>> [three.upto(r) for r in range(3)], three.of(2)
    ([1, 7, 19], 12)
    """

    def __init__(self, cells: int) -> None:
        if cells < 2:
            raise ValueError("a table that adds up to 0 needs at least two bins")
        self.cells = cells
        self._of, self._upto = [1], [1]

    def of(self, size: int) -> int:
        """Return S(size): the number of tables of this size."""
        self._grow(size)
        return self._of[size]

    def upto(self, size: int) -> int:
        """Return B(size): the number of tables of at most this size."""
        self._grow(size)
        return self._upto[size]

    def _grow(self, size: int) -> None:
        d = self.cells - 1
        while len(self._of) <= size:
            r = len(self._of) - 1
            more = r * r * self._of[r] * (r > 0) + d * (d + 1) * self._upto[r]
            self._of.append(more // (r + 1) ** 2)
            self._upto.append(self._upto[r] + self._of[r + 1])

    def draw(self, most: int, entropy: Entropy = os.urandom) -> list[int]:
        """Sample a table of at most this size, all with the same probability.

        One uniform number picks the size and the number of positive bins. The positions of these, and the partition of
        their sum, are uniform samples of subsets. The number of random numbers does not depend on the table's size or
        on the number of positive bins; a table of size 0 takes the steps of one of size 1.
        """
        n = self.cells
        at = below(self.upto(most), entropy)
        size = bisect_right(self._upto, at, 0, most + 1)
        rank = at - self._upto[size - 1] if size else 0
        r = max(size, 1)
        positive = self._positive(r, rank)
        negative = n - positive
        order = _shuffled(n, entropy)
        up = _parts(r - positive, positive, entropy)
        down = _parts(r, negative, entropy)
        out = [0] * n
        for cell, x in zip(order, [*(x + 1 for x in up), *(-x for x in down)], strict=True):
            out[cell] = x * (size > 0)
        return out

    def _positive(self, r: int, rank: int) -> int:
        """The number of positive bins of the table with this rank, among those of size r ordered by that number."""
        n, weight, found = self.cells, self.cells * comb(self.cells + r - 2, r), 1
        passed = 0
        for p in range(1, n):
            passed += weight
            found += rank >= passed
            weight = weight * (n - p) * max(r - p, 0) * (n - p - 1) // ((p + 1) * p * (n - p + r - 1))
        return found


@lru_cache(maxsize=256)
def tables_of(cells: int) -> Tables:
    """Return the tables for a number of bins, cached because counts depend on it alone."""
    return Tables(cells)


def _shuffled(n: int, entropy: Entropy) -> list[int]:
    """A uniform order of 0 .. n - 1 (Fisher and Yates)."""
    out = list(range(n))
    for k, j in zip(range(n - 1, 0, -1), _uniform(range(n, 1, -1), entropy), strict=True):
        out[k], out[j] = out[j], out[k]
    return out


def _parts(total: int, parts: int, entropy: Entropy) -> list[int]:
    """A uniform composition of `total` into `parts` parts of at least 0: bars among total + parts - 1 places.

    The subset of places is sampled by Floyd's algorithm: from 0 .. j take a new number or, if it is taken, j itself.
    """
    bars = parts - 1
    places = total + bars
    chosen: set[int] = set()
    for j, x in zip(range(total, places), _uniform(range(total + 1, places + 1), entropy), strict=True):
        chosen.add(j if x in chosen else x)
    out, last = [], -1
    for place in [*sorted(chosen), places]:
        out.append(place - last - 1)
        last = place
    return out


def _uniform(limits: Sequence[int], entropy: Entropy) -> list[int]:
    """An exactly uniform number below each limit."""
    drawn = entropy(_WORD * len(limits))
    out = []
    for k, limit in enumerate(limits):
        x = int.from_bytes(drawn[_WORD * k : _WORD * (k + 1)], "little")
        whole = (1 << 8 * _WORD) // limit * limit
        out.append(x % limit if x < whole else below(limit, entropy))
    return out
