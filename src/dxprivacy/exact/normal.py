"""The normal distribution function in integer steps, with the same result on every machine.

`STEPS` steps are probability 1, and `below(z)` is the probability below z standard deviations, rounded to the nearest
step.  Floats compute it; if they are too close to the middle between two steps, integer arithmetic decides.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints

BITS = 30
STEPS = 1 << BITS
FARTHEST = 7
"""Standard deviations beyond which the tail rounds to 0: its probability is below 2^-39, and half a step is 2^-31."""
NEAR = FARTHEST + 1
"""Standard deviations within which floats are used at all."""
SLOPE = Fraction(797884560802865356, 10**18)
"""An upper bound on sqrt(2 / pi): the initial rate at which the L1 distance of two shifted bells grows."""

_WORKING = 192  # bits: terms grow to e^(z^2 / 2) < 2^36 before they shrink
_UNSURE = 1e-12  # exceeds the error of floats, including an error of z below 2^-44


def below(z: Fraction) -> int:
    """Return the number of steps below z.

    >>> below(Fraction(0)) * 2 == STEPS, below(Fraction(-7)), below(Fraction(8)) == STEPS
    (True, 0, True)
    >>> round(below(Fraction(1)) / STEPS, 7)
    0.8413447
    """
    if abs(z) >= FARTHEST:
        return 0 if z < 0 else STEPS
    at = (z.numerator << _WORKING) // z.denominator
    square = at * at >> _WORKING
    term, total, n = at, at, 0
    while term:
        n += 1
        term = -(term * square >> _WORKING) // (2 * n)
        total += term // (2 * n + 1)
    part = (total << _WORKING) // _root_of_two_pi()
    half_up = (part >> _WORKING - BITS - 1) + 1  # in half steps
    return (STEPS + half_up) >> 1


def all_below(z: Floats, exactly: Callable[[int, int], Fraction]) -> Ints:
    """Return the number of steps below many numbers; `exactly(row, column)` is the exact value, within 2^-44 of z."""
    from scipy.special import ndtr

    near: Floats = ndtr(z) * STEPS
    out = np.floor(near + 0.5).astype(np.int64)
    unsure = np.abs(near + 0.5 - np.rint(near + 0.5)) <= _UNSURE * STEPS
    unsure &= np.abs(z) < NEAR
    out = np.where(np.abs(z) >= NEAR, np.where(z < 0, 0, STEPS), out)
    for line, place in np.argwhere(unsure).tolist():
        out[line, place] = below(exactly(line, place))
    return np.asarray(out, dtype=np.int64)


def apart_at_most(distance: Fraction) -> Fraction:
    """Bound the L1 distance (at most 2) of two normal densities whose means are `distance` standard deviations apart.

    2 (2 Phi(x / 2) - 1) = sqrt(2 / pi) (x - x^3 / 24 + x^5 / 640 - ...).  Partial sums that end with a plus are above
    it if terms decrease, which they do up to x = 2; beyond, it is below its tangent there, and below 2.

    >>> round(float(apart_at_most(Fraction(1))), 6), float(apart_at_most(Fraction(9)))
    (0.76585, 2.0)
    """
    x = min(distance, Fraction(2))
    series = SLOPE * (x - x**3 / 24 + x**5 / 640 - x**7 / 21504 + x**9 / 884736)
    tangent = SLOPE * Fraction(61, 100) * (distance - x)  # its slope at 2 is SLOPE e^(-1/2)
    return min(series + tangent, Fraction(2))


@lru_cache(maxsize=1)
def _root_of_two_pi() -> int:
    """Return sqrt(2 pi) in the working precision, by Machin's formula."""
    extra = 32
    one = 1 << 2 * _WORKING + extra
    pi = 4 * (4 * _arctangent(5, one) - _arctangent(239, one)) >> extra
    return math.isqrt(2 * pi)


def _arctangent(of: int, one: int) -> int:
    """Return arctan(1 / of) in units of 1 / one."""
    power, total, n = one // of, 0, 1
    while power:
        total += power // n if n % 4 == 1 else -(power // n)
        power //= of * of
        n += 2
    return total
