"""How much of a bell lies below an edge, in whole steps; and how much two bells differ (docs/formats.md, section 4)."""

import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction

STEPS = 1 << 30
FARTHEST = 7
_DIGITS = 60
_UNSURE = 2.0**-10  # of a step; floats are off by less than 2^30 times 2^-48
_ROOT = Fraction(797884560802865356, 10**18)


def below(z: Fraction) -> int:
    """The whole number of steps nearest to what lies below z standard deviations, halves upwards.

    >>> below(Fraction(0)), below(Fraction(-3, 2)), below(Fraction(20)) == STEPS
    (536870912, 71733686, True)
    """
    if abs(z) >= FARTHEST:
        return STEPS if z > 0 else 0
    near = math.erfc(-float(z) / math.sqrt(2)) / 2 * STEPS
    if abs(near % 1 - 0.5) > _UNSURE:
        return math.floor(near + 0.5)
    return _closely(z)


def _closely(z: Fraction) -> int:
    """By Phi(z) = 1/2 + phi(z) (z + z^3 / 3 + z^5 / (3 5) + ...), all of whose terms have one sign."""
    with localcontext(Context(prec=_DIGITS)):
        x = Decimal(z.numerator) / Decimal(z.denominator)
        term, total, odd = x, x, 1
        while term and abs(term) > abs(total) * Decimal(10) ** -(_DIGITS - 5):
            odd += 2
            term = term * x * x / odd
            total += term
        inside = total * (-x * x / 2).exp() / (2 * _pi()).sqrt()
        return math.floor((inside + Decimal("0.5")) * STEPS + Decimal("0.5"))


def _pi() -> Decimal:
    """By the arithmetic-geometric mean, in the digits of the context."""
    a, b, t, p = Decimal(1), 1 / Decimal(2).sqrt(), Decimal("0.25"), 1
    for _ in range(7):
        a, b, t, p = (a + b) / 2, (a * b).sqrt(), t - p * ((a - b) / 2) ** 2, 2 * p
    return (a + b) ** 2 / (4 * t)


def apart(x: Fraction) -> Fraction:
    """G(x): not less than how much two bells differ whose middles are x standard deviations apart.

    >>> round(float(apart(Fraction(1, 2))), 9), float(apart(Fraction(5)))
    (0.394825303, 2.0)
    """
    y = min(x, Fraction(2))
    series = y - y**3 / 24 + y**5 / 640 - y**7 / 21504 + y**9 / 884736
    return min(_ROOT * (series + Fraction(61, 100) * (x - y)), Fraction(2))
