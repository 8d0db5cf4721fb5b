"""Rational bounds of exp(-x), as close as anyone asks: where samplers decide what floats cannot."""

from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction


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
