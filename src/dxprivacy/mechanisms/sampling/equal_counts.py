"""Sums of equal counts in closed form: enclosed in whole numbers, without a convolution.

Of t counts whose noise z has the weight rho^|z| each, those that add up to s have together the weight

    h_t(s) = rho^|s| sum over i < t of C(t - 1 + i, i) C(|s| + t - 1, t - 1 - i) (q / (1 - q))^i,       q = rho^2.

(The generating function of one is (1 - q) / ((1 - rho x) (1 - rho / x)); the coefficient of x^s of its t-th power is
(1 - q)^t C(s + t - 1, s) rho^s 2F1(t, t + s; s + 1; q), and Pfaff's transformation makes that the sum above.)  All
terms are positive.  The sum is a polynomial in s: with its differences at 0 known, its values at 1, 2, 3 ... follow by
additions alone, so that bounds of the factors (q / (1 - q))^i give bounds of the values, exactly.

>>> low, high = equal_counts(1 << 127, 2, 30, 3)  # two counts of rho = 1/2: 5/3, 4/3, 11/12 ...
>>> [round(x / 2**30, 6) for x in low], [b - a for a, b in zip(low, high)]
([1.666667, 1.333333, 0.916667], [1, 1, 1])
"""

import math
from itertools import accumulate

RHO_BITS = 128
MOST = 64  # counts: from there on a convolution is faster
_GUARD = 64  # bits that roundings may take


def equal_counts(rho: int, times: int, units: int, size: int) -> tuple[list[int], list[int]]:
    """2^units h_t(s) for s = 0 .. size - 1, from below and from above; rho in units of 2^-128."""
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
    """sum over k < t of factor_k C(s + t - 1, k) for s = 0 .. size - 1, by its differences, the highest first."""
    now: list[int] = []
    for j in range(times - 1, -1, -1):
        first = sum(factors[k] * math.comb(times - 1, k - j) for k in range(j, times))
        now = list(accumulate(now[:-1], initial=first)) if now else [first] * size
    return now


def log_weight(rho: int, times: int, s: int) -> float:
    """The logarithm of h_t(s), in floats: for sizes of tables, which decide nothing."""
    near = rho / 2**RHO_BITS
    each = 2 * math.log(near) - math.log1p(-(near**2)) if near < 1 else math.inf
    terms = [
        _log_binomial(times - 1 + i, i) + _log_binomial(s + times - 1, times - 1 - i) + i * each for i in range(times)
    ]
    top = max(terms)
    return s * math.log(near) + top + math.log(math.fsum(math.exp(x - top) for x in terms))


def _growth(rho: int, times: int, size: int) -> float:
    """Bits by which the polynomial grows, and those of its value at the end."""
    near = rho / 2**RHO_BITS
    ends = [log_weight(rho, times, s) - s * math.log(near) for s in (0, size)]
    return (2 * max(ends[1], 0.0) - min(ends[0], 0.0)) / math.log(2)


def _log_binomial(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
