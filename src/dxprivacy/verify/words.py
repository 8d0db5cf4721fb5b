"""How numbers are written in labels and sentences (docs/formats.md, section 1)."""

import math
import re
from decimal import Decimal
from fractions import Fraction


def number_text(x: Fraction) -> str:
    """A decimal where there is a finite one.

    >>> number_text(Fraction(-1, 4)), number_text(Fraction(30)), number_text(Fraction(1, 3))
    ('-0.25', '30', '1/3')
    """
    twos = fives = 0
    rest = x.denominator
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    if rest != 1:
        return str(x)
    places = max(twos, fives)
    digits = str(abs(x.numerator) * 10**places // x.denominator).rjust(places + 1, "0")
    text = f"{digits[:-places]}.{digits[-places:]}".rstrip("0").rstrip(".") if places else digits
    return ("-" if x < 0 else "") + text


def three_digits(x: float) -> str:
    """Three significant digits, thousands with commas.

    >>> [three_digits(x) for x in (1498.7, 0.00831, 12.53, math.inf, 0.0, 1.234e-7)]
    ['1,499', '0.00831', '12.5', '∞', '0', '1.23e-07']
    """
    if x == 0 or math.isinf(x):
        return "∞" if x else "0"
    if not 1e-6 <= abs(x) < 1e15:
        return f"{x:.2e}"
    text = f"{x:,.{max(0, 2 - math.floor(math.log10(abs(x))))}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def float_text(x: Fraction) -> str:
    """A decimal where there is a finite one; otherwise the shortest that is the same in float64.

    >>> float_text(Fraction(1, 4)), float_text(Fraction(1, 30000))
    ('0.25', '0.000033333333333333335')
    """
    text = number_text(x)
    return format(Decimal(repr(float(x))), "f") if "/" in text else text


def rough_text(x: Fraction) -> str:
    """A decimal where there is a finite one; otherwise three digits."""
    text = number_text(x)
    return three_digits(float(x)) if "/" in text else text


def clock(written: str) -> Fraction | None:
    """A time of day from 0:00 to 24:00 in hours; None for any other text.

    >>> clock("08:15"), clock("24:00:01")
    (Fraction(33, 4), None)
    """
    match = re.fullmatch("([0-9]{1,2}):([0-5][0-9])(?::([0-5][0-9]))?", written)
    if match is None:
        return None
    hours = int(match[1]) + Fraction(int(match[2]), 60) + Fraction(int(match[3] or 0), 3600)
    return hours if hours <= 24 else None


def clock_text(hours: Fraction) -> str:
    """`08:15`, and seconds where there are some; hours that are no such time as a number."""
    seconds = hours * 3600
    if seconds.denominator > 1 or not 0 <= hours <= 24:
        return number_text(hours)
    whole, rest = divmod(int(seconds), 3600)
    text = f"{whole:02}:{rest // 60:02}"
    return f"{text}:{rest % 60:02}" if rest % 60 else text
