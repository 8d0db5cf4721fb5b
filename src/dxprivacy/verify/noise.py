"""Errors, values and intervals from scales and noisy rows (docs/formats.md, section 7)."""

import math
from collections.abc import Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction

from dxprivacy.verify.questions import Answer

COVERAGE = Fraction(95, 100)
EACH = Fraction(975, 1000)  # two parts of an answer, each covered so, are covered together
_TIE = Decimal("2e-9")  # so close to a whole number, either side of it may be stated


def _silent(s: float) -> bool:
    return s == 0 or 1 / s > 700


def variance(s: float) -> float:
    """2p/(1-p)², p = exp(-1/s).

    >>> round(variance(0.2), 4)
    0.0137
    """
    if _silent(s):
        return 0.0
    half = math.sinh(0.5 / s)  # 2p/(1-p)² = 1 / (2 sinh²(1/2s))
    return 0.5 / (half * half)


def mean_absolute(s: float) -> float:
    """2p/(1-p²) = 1 / sinh(1/s)."""
    return 0.0 if _silent(s) else 1 / math.sinh(1 / s)


def widths(s: float, coverage: Fraction) -> list[int]:
    """The least whole h with 2p^(h+1)/(1+p) <= 1 - coverage; two right between them.

    >>> widths(3.3, COVERAGE)
    [10]
    """
    if _silent(s):
        return [0]
    with localcontext(Context(prec=50)):  # h + 1 >= s ln(2 / ((1 + p) (1 - coverage)))
        scale, rest = Decimal(s), 1 - coverage
        bound = scale * (2 * rest.denominator / ((1 + (-1 / scale).exp()) * rest.numerator)).ln() - 1
        return sorted({max(0, math.ceil(bound - _TIE)), max(0, math.ceil(bound + _TIE))})


def expected(answer: Answer, scales: Sequence[float], records: int) -> tuple[float, float, list[float]]:
    """Root mean square and mean absolute error; and the 95 % half-widths that may be stated."""
    r = answer.recipe
    u, b = float(r.unit), float(r.bias)
    if r.count is not None:
        s1, s2 = scales[r.row], scales[r.count]
        m, reach = max(records / answer.siblings, 1.0), float(r.high - r.low) / 2
        return (
            math.sqrt(variance(s1) * u * u + variance(s2) * reach * reach) / m + b,
            (mean_absolute(s1) * u + mean_absolute(s2) * reach) / m + b,
            [(h1 * u + h2 * reach) / m + b for h1 in widths(s1, EACH) for h2 in widths(s2, EACH)],
        )
    if r.over_all:
        u /= max(records, 1)
    else:
        b *= records
    s = scales[r.row]
    spread = math.sqrt(variance(s)) * u
    return math.hypot(spread, b), mean_absolute(s) * u + b, [h * u + b for h in widths(s, COVERAGE)]


def released(
    answer: Answer, scales: Sequence[float], noisy: Sequence[int], records: int
) -> list[tuple[float, float, float, bool]]:
    """Value, both ends of its interval, and whether it says nothing; several where floats cannot tell the width."""
    r = answer.recipe
    if r.count is None:
        divisor = max(records, 1) if r.over_all else 1
        value = r.unit * noisy[r.row] / divisor
        bias = r.bias if r.over_all else r.bias * records
        ends = [r.unit * h / divisor + bias for h in widths(scales[r.row], COVERAGE)]
        return [(float(value), float(value - e), float(value + e), False) for e in ends]
    out = []
    for h1 in widths(scales[r.row], EACH):
        for h2 in widths(scales[r.count], EACH):
            value, low, high = _mean(answer, noisy[r.row], h1, noisy[r.count], h2)
            vague = float(low) <= float(r.low) and float(high) >= float(r.high)
            out.append((float(value), float(low), float(high), vague))
    return out


def _mean(answer: Answer, top: int, h1: int, count: int, h2: int) -> tuple[Fraction, Fraction, Fraction]:
    r = answer.recipe
    value = r.centre + r.unit * Fraction(top, count) if count > 0 else r.centre
    value = min(max(value, r.low), r.high)
    if count - h2 < 1:
        return value, r.low, r.high
    corners = [r.centre + r.unit * Fraction(t, c) for t in (top - h1, top + h1) for c in (count - h2, count + h2)]
    low, high = min(corners) - r.bias, max(corners) + r.bias
    return value, min(max(low, r.low), r.high), max(min(high, r.high), r.low)
