"""Exact numbers: parse them exactly, and round them in the safe direction.

Where rounding is needed, distances go down and costs go up.  Every function here that rounds states the direction.
"""

import math
import re
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from numbers import Integral
from typing import TypeAlias, TypeGuard

from dxprivacy.errors import UsageError

Exact: TypeAlias = Fraction | float
"""A rational number, or `math.inf`; no other float."""

_LEAST = Fraction(1, 10**150)
_MOST_DIGITS = 400  # of a number as it is written
_PRINTED_BITS = 512
_FRACTION = re.compile("-?[0-9]+(/[0-9]+)?")

Number: TypeAlias = int | float | str | Decimal | Fraction


def exact(value: object, *, what: str = "number", allow_infinite: bool = False) -> Exact:
    """Return the exact value of a number as written; a float counts as the decimal that it prints as.

    `0.1` means one tenth, as in a policy file, not the binary number next to it.

    >>> exact(0.1), exact("2.50"), exact(3)
    (Fraction(1, 10), Fraction(5, 2), Fraction(3, 1))
    """
    if isinstance(value, bool) or value is None:
        raise UsageError(f"{what} is {value!r}; a number is needed")
    if isinstance(value, Fraction):
        return in_range(value, what=what)
    if isinstance(value, int):
        return in_range(Fraction(value), what=what)
    try:
        decimal = Decimal(_plain(str(value).strip()))
    except InvalidOperation:
        raise UsageError(f"{what} is {str(value)[:60]!r}; a number is needed") from None
    if decimal.is_infinite() and decimal > 0 and allow_infinite:
        return math.inf
    if not decimal.is_finite():
        raise UsageError(f"{what} is {value}; a finite number is needed")
    if len(decimal.as_tuple().digits) > _MOST_DIGITS:
        raise UsageError(f"{what} has more than {_MOST_DIGITS} digits")
    if abs(decimal.adjusted()) > 150:
        raise UsageError(f"{what} is {str(value)[:60]}; that is beyond the range of numbers we work with")
    return in_range(Fraction(decimal), what=what)


def _plain(text: str) -> str:
    """Return a text; raise InvalidOperation for 1_000 and non-ASCII digits, which `Decimal` would accept."""
    if "_" in text or not text.isascii():
        raise InvalidOperation
    return text


def written_fraction(text: object) -> Fraction:
    """Parse a fraction as `str` writes it; exponents are refused, because they could name huge numbers.

    >>> written_fraction("-3/4")
    Fraction(-3, 4)
    """
    if not isinstance(text, str) or not _FRACTION.fullmatch(text):
        raise ValueError("no fraction")
    return Fraction(text)


def in_range(value: Fraction, *, what: str = "number") -> Fraction:
    """Return a number; raise UsageError if its float64 computations could overflow or underflow.

    >>> in_range(Fraction(1, 10))
    Fraction(1, 10)
    """
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > 4 * _MOST_DIGITS:
        raise UsageError(f"{what} has more than {_MOST_DIGITS} digits")
    if value and not _LEAST <= abs(value) <= 1 / _LEAST:
        raise UsageError(f"{what} is beyond the range of numbers we work with (1e-150 to 1e150)")
    return value


def parse_epsilon(value: object, *, what: str = "epsilon") -> Exact:
    """Parse an ε: a nonnegative number, or infinity for public.

    >>> parse_epsilon("inf"), parse_epsilon("0.5")
    (inf, Fraction(1, 2))
    """
    number = exact(value, what=what, allow_infinite=True)
    if number < 0:
        raise UsageError(f"{what} is {value}; a budget is at least 0")
    return number


def round_up(value: Exact) -> float:
    """Return the smallest float64 that is at least `value`.

    >>> Fraction(round_up(Fraction(1, 3))) >= Fraction(1, 3)
    True
    """
    nearest = float(value)
    if nearest == math.inf or Fraction(nearest) >= value:
        return nearest
    return math.nextafter(nearest, math.inf)


def shortened_up(value: Exact) -> Exact:
    """Return the number, rounded up by less than 2^-512 if it has too many digits to print.

    Sums over hundreds of scales can have denominators of thousands of digits.

    >>> shortened_up(Fraction(1, 3)), shortened_up(Fraction(3**2000 - 1, 3**2000))
    (Fraction(1, 3), Fraction(1, 1))
    """
    if not isinstance(value, Fraction) or value.denominator.bit_length() <= 2 * _PRINTED_BITS:
        return value
    return Fraction(-((-value.numerator << _PRINTED_BITS) // value.denominator), 1 << _PRINTED_BITS)


def round_down(value: Exact) -> float:
    """Return the largest float64 that is at most `value`."""
    nearest = float(value)
    if value == math.inf or (nearest != math.inf and Fraction(nearest) <= value):
        return nearest
    return math.nextafter(nearest, -math.inf)


def common_tick(numbers: Iterable[Fraction]) -> Fraction:
    """Return the largest number of which all given ones are integer multiples (0 if all are 0).

    >>> common_tick([Fraction(1, 2), Fraction(1, 3)])
    Fraction(1, 6)
    """
    tick = Fraction(0)
    for x in numbers:
        if x:
            tick = Fraction(
                math.gcd(tick.numerator * x.denominator, x.numerator * tick.denominator),
                tick.denominator * x.denominator,
            )
    return tick


def number_text(number: Fraction) -> str:
    """Return a fraction as a decimal if it is one, else as a quotient.

    >>> [number_text(Fraction(x)) for x in ("1/4", "10", "1/3", "-1/2")]
    ['0.25', '10', '1/3', '-0.5']
    """
    if number < 0:
        return f"-{number_text(-number)}"
    denominator = number.denominator
    places = 0
    while denominator % 10 == 0 or denominator % 5 == 0 or denominator % 2 == 0:
        denominator = denominator // 10 if denominator % 10 == 0 else denominator // (5 if denominator % 5 == 0 else 2)
        places += 1
    if denominator != 1:
        return str(number)
    text = f"{number.numerator * 10**places // number.denominator:0{places + 1}d}"
    return (text[:-places] + "." + text[-places:]).rstrip("0").rstrip(".") if places else text


def finite(x: float) -> float | None:
    """Return a number for JSON: None if it is not finite.

    >>> finite(1.5), finite(float("inf"))
    (1.5, None)
    """
    return x if math.isfinite(x) else None


def is_whole(value: object) -> TypeGuard[int]:
    """Return whether a value is an integer of Python or numpy; a bool is not.

    >>> is_whole(3), is_whole(3.0), is_whole(True)
    (True, False, False)
    """
    return isinstance(value, Integral) and not isinstance(value, bool)


# -- Lengths on the Earth: a number with its unit, converted exactly to kilometers, in policies and queries ------------


MILE = Fraction("1.609344")
KILOMETERS = {"km": Fraction(1), "m": Fraction(1, 1000), "mi": MILE, "mile": MILE, "miles": MILE}
UNITS = "km, m, miles"
"""The names of the units for lists in messages."""
_LENGTH = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)\s*([^\W\d_]*)")


def split_length(text: str) -> tuple[str, str]:
    """Split a length into its number and unit; a text that does not look like a length is returned as the number.

    >>> split_length("40km"), split_length("2.5 miles"), split_length("40"), split_length("1e2m"), split_length("1/2")
    (('40', 'km'), ('2.5', 'miles'), ('40', ''), ('1e2', 'm'), ('1/2', ''))
    """
    match = _LENGTH.fullmatch(text.strip())
    return (match[1], match[2]) if match else (text.strip(), "")
