"""Lengths on the Earth: a number with its unit, exactly in kilometers, in policies and in questions alike."""

import re
from fractions import Fraction

MILE = Fraction("1.609344")
KILOMETERS = {"km": Fraction(1), "m": Fraction(1, 1000), "mi": MILE, "mile": MILE, "miles": MILE}
UNITS = "km, m, miles"
"""How the units are called where they are listed."""
_LENGTH = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)\s*([^\W\d_]*)")


def split_length(text: str) -> tuple[str, str]:
    """The number and the unit of a length; all of it is the number where it does not look like one.

    >>> split_length("40km"), split_length("2.5 miles"), split_length("40"), split_length("1e2m"), split_length("1/2")
    (('40', 'km'), ('2.5', 'miles'), ('40', ''), ('1e2', 'm'), ('1/2', ''))
    """
    match = _LENGTH.fullmatch(text.strip())
    return (match[1], match[2]) if match else (text.strip(), "")
