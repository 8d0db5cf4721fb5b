"""Neighboring values of an ordered attribute taken together: where groups start, and what ranges are called."""

import math
from datetime import date
from fractions import Fraction

from dxprivacy.exact.rounding import number_text

Span = tuple[Fraction, Fraction]


def range_words(wanted: Span, span: Span, *, clamp: bool, half_open: bool = False) -> str:
    """`0 to below 2`; the last cell holds its end too, and with `clamp` all beyond: `8 or more`."""
    low, high = (max(min(end, span[1]), span[0]) for end in wanted)
    last, below = high >= span[1], "below " if half_open else ""
    if clamp and last:
        return f"{number_text(low)} or more" if low > span[0] else "any number"
    if clamp and low <= span[0]:
        return f"{below}{number_text(high)}" if below else f"{number_text(high)} or less"
    if low == high:
        return number_text(low)
    return f"{number_text(low)} to {'' if last else below}{number_text(high)}"


def round_starts(low: float, step: float, n: int, most: int) -> list[int]:
    """Where at most so many groups start, at round numbers; nothing where none are round enough.

    >>> round_starts(0.0, 1.0, 101, 11)
    [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100]
    """
    for size in _round_sizes(n * step / most):
        # Rounded to whole steps of the attribute: a cell of its grid is never cut.
        span = range(math.floor(low / size), math.ceil((low + n * step) / size) + 1)
        edges = {math.ceil((k * size - low) / step - 1e-9) for k in span}
        starts = sorted({0, *(e for e in edges if 0 < e < n)})
        if len(starts) <= most:
            return starts
    return []


def _round_sizes(least: float) -> list[float]:
    """Round numbers, from the first that is large enough."""
    power = 10.0 ** math.floor(math.log10(least))
    return [m * power for m in (1, 2, 5, 10, 20, 50, 100) if m * power >= least * (1 - 1e-9)]


def calendar_starts(days: list[date], most: int) -> list[int]:
    """By months, quarters or years, the finest that fits; nothing where even years are too many."""
    for months in (1, 3, 12):
        keys = [(12 * d.year + d.month - 1) // months for d in days]
        starts = [k for k, key in enumerate(keys) if not k or key != keys[k - 1]]
        if len(starts) <= most:
            return starts
    return []


def days_words(a: date, b: date) -> str:
    """A month, a quarter, a year, or from one month to another.

    >>> days_words(date(2026, 1, 1), date(2026, 3, 31))
    '2026 Q1'
    """
    if (a.year, a.month) == (b.year, b.month):
        return f"{a:%Y-%m}"
    if a.year == b.year and (a.month - 1) // 3 == (b.month - 1) // 3:
        return f"{a.year} Q{(a.month - 1) // 3 + 1}"
    return f"{a.year}" if a.year == b.year else f"{a:%Y-%m} – {b:%Y-%m}"


def short_number(x: float) -> str:
    """A number in few characters.

    >>> short_number(20000.0)
    '20k'
    """
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(x) >= 10 * size or (abs(x) >= size and x % (size / 10) == 0):
            return f"{x / size:.4g}{letter}"
    return f"{x:.4g}"
