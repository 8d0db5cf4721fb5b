"""From exact numbers to whole ones: the grid on which answers are integers (MATH section 4).

A question's numbers become `A * unit`, A integer.  Decimals and whole numbers fit exactly; anything finer is rounded
once, without looking at data, and the rounding error per record is known.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dxprivacy.errors import QuestionError, TooLarge
from dxprivacy.model.arrays import Floats, Ints
from dxprivacy.model.numbers import common_tick

EXACT_BITS = 40  # numbers up to here keep their exact grid
ROUNDED_BITS = 31  # otherwise this many bits: rounding is far below any noise, and n may reach 2^30


@dataclass(frozen=True)
class Grid:
    """Whole numbers `whole` with `value = whole * unit`, each off by at most `bias`."""

    whole: Ints
    unit: Fraction
    bias: Fraction


def to_grid(numbers: Sequence[Fraction]) -> Grid:
    """The coarsest grid that holds all numbers, or a rounded one if that would need too many bits.

    >>> to_grid([Fraction(1, 2), Fraction(3), Fraction(0)]).whole.tolist()
    [1, 6, 0]
    """
    largest = max((abs(x) for x in numbers), default=Fraction(0))
    if not largest:
        return Grid(np.zeros(len(numbers), dtype=np.int64), Fraction(1), Fraction(0))
    unit = common_tick(numbers)
    bias = Fraction(0)
    if largest / unit >= 1 << EXACT_BITS:
        unit = Fraction(2) ** (math.frexp(float(largest))[1] - ROUNDED_BITS)
        bias = unit / 2
    return Grid(np.array([round(x / unit) for x in numbers], dtype=np.int64), unit, bias)


def array_to_grid(numbers: Floats) -> Grid:
    """The same for an array of floats; whole numbers and short binary fractions stay exact."""
    if numbers.size and not np.isfinite(numbers).all():
        raise QuestionError("a question's numbers must be finite: no NaN, no infinity")
    largest = float(np.abs(numbers).max(initial=0.0))
    if not largest:
        return Grid(np.zeros(numbers.shape, dtype=np.int64), Fraction(1), Fraction(0))
    top = math.frexp(largest)[1]
    if not -900 < top < 900:
        raise TooLarge("a question's numbers are beyond the range we work with")
    for bits in (0, EXACT_BITS - top):
        scaled = np.ldexp(numbers, bits)
        if top + bits <= EXACT_BITS and (scaled == np.rint(scaled)).all():
            whole = scaled.astype(np.int64)
            shared = int(np.gcd.reduce(np.abs(whole), axis=None))
            return Grid(whole // shared, Fraction(2) ** -bits * shared, Fraction(0))
    bits = ROUNDED_BITS - top
    unit = Fraction(2) ** -bits
    return Grid(np.rint(np.ldexp(numbers, bits)).astype(np.int64), unit, unit / 2)


def require_room(largest: int, records: int, *, where: str) -> None:
    """Refuse, from public numbers, what could leave 64-bit integers; two bits are kept for the noise."""
    if largest * max(records, 1) >= 1 << 61:
        raise TooLarge(
            f"{records:,} records with numbers up to {largest:,} on the grid do not fit into 64 bits",
            where=where,
            hints=["ask for larger units, or narrower ranges"],
        )


LARGEST_SCORE = 1 << 52  # the exact samplers compute with whole numbers below 2^53
MOST_EXPONENT = 2.0**49  # of a score over 2c, and theirs are exact up to 2^50


def fits_scores(largest: int, scale: float) -> bool:
    """Whether scores up to `largest`, a public number, can be chosen among exactly at a scale; 0 takes the best.

    >>> fits_scores(1000, 0.5), fits_scores(1 << 52, 0.5), fits_scores(1 << 51, 0.5)
    (True, False, False)
    """
    return largest < LARGEST_SCORE and (scale == 0 or largest / (2 * scale) < MOST_EXPONENT)


def largest_of(parts: Iterable[Ints]) -> int:
    """The largest absolute entry."""
    return max((int(np.abs(p).max(initial=0)) for p in parts), default=0)
