"""Numbers as whole multiples of a unit (docs/formats.md, section 5)."""

import math
from collections.abc import Sequence
from fractions import Fraction


def grid(numbers: Sequence[Fraction]) -> tuple[list[int], Fraction, Fraction]:
    """Whole multiples of a unit, the unit, and the bias (section 5).

    >>> grid([Fraction(1, 2), Fraction(3)])
    ([1, 6], Fraction(1, 2), Fraction(0, 1))
    """
    different = set(numbers)  # of very many numbers few are
    largest = max(abs(x) for x in different)
    if not largest:
        return [0] * len(numbers), Fraction(1), Fraction(0)
    common = math.lcm(*(x.denominator for x in different))
    unit, bias = Fraction(math.gcd(*(int(x * common) for x in different)), common), Fraction(0)
    if largest / unit >= 1 << 40:
        unit = Fraction(2) ** (math.frexp(float(largest))[1] - 31)
        bias = unit / 2
    whole = {x: round(x / unit) for x in different}
    return [whole[x] for x in numbers], unit, bias


def ends_of(numbers: Sequence[Fraction]) -> tuple[Fraction, Fraction]:
    """The least and the largest."""
    different = set(numbers)
    return min(different), max(different)
