"""Discrete Laplace noise: the distribution with pmf(z) proportional to exp(-|z|/s) on the integers.

At small scales it differs from the continuous one (at s = 0.2 the variance is 0.014, not 0.08). So errors are always
computed from the discrete distribution.
"""

import math

from dxprivacy.universe.answers import COVERAGE


def variance(s: float) -> float:
    """Return the variance 2p/(1-p)^2, where p = exp(-1/s).

    >>> round(variance(0.2), 4), round(variance(100.0) / 2 / 100**2, 3)
    (0.0137, 1.0)
    """
    if s == 0 or 1 / s > 700:
        return 0.0
    if s > 1e6:
        return 2 * s * s  # correct to 12 digits; the exact form would lose precision
    p, q = math.exp(-1 / s), -math.expm1(-1 / s)
    return 2 * p / (q * q)


def mean_absolute(s: float) -> float:
    """Return the mean absolute value 2p/(1-p^2), where p = exp(-1/s).

    >>> round(mean_absolute(100.0), 1)
    100.0
    """
    if s == 0 or 1 / s > 700:
        return 0.0
    return 2 * math.exp(-1 / s) / -math.expm1(-2 / s)


def half_width(s: float, coverage: float = COVERAGE) -> int:
    """Return the least integer h with P(|Z| <= h) >= coverage; the tail beyond h is 2 p^(h+1) / (1+p).

    >>> half_width(3.3), half_width(0.1)
    (10, 0)
    """
    if s == 0 or 1 / s > 700:
        return 0
    if s > 1e4:
        return _wide(s, coverage)
    bound = -s * math.log((1 - coverage) / 2 * (1 + math.exp(-1 / s))) - 1
    h = max(0, math.ceil(bound - 1e-9))
    while _tail(s, h) > (1 - coverage) * (1 + 1e-12):
        h += 1
    return h


def _wide(s: float, coverage: float) -> int:
    """The same for large scales, where float64 loses precision: the least h with p^(h+1) <= (1-coverage)(1+p)/2."""
    from decimal import Context, Decimal, localcontext

    with localcontext(Context(prec=50)):
        scale = Decimal(s)
        rest = (1 - Decimal(repr(coverage))) * (1 + (-1 / scale).exp()) / 2
        return max(0, math.ceil(-scale * rest.ln() - 1))


def _tail(s: float, h: int) -> float:
    p = math.exp(-1 / s)
    return 2 * math.exp(-(h + 1) / s) / (1 + p)


def scale_for(h: int, coverage: float = COVERAGE) -> float:
    """Return the largest scale with a half-width of at most h, by bisection.

    The result is smaller by a billionth, so that enlarging it by that much in a repair does no harm.

    >>> half_width(scale_for(10)), half_width(scale_for(10) * 1.01)
    (10, 11)
    """
    low, high = 0.0, (h + 2.0) * 2
    while high - low > high * 2.0**-42:
        middle = (low + high) / 2
        if _tail(middle, h) <= 1 - coverage:
            low = middle
        else:
            high = middle
    return low * (1 - 1e-9)
