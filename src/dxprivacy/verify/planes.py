"""Places in a plane, and what they are spread over (docs/formats.md, section 4, maps)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

from dxprivacy.verify.reading import refuse

DEGREE = Fraction(11119, 100)
_HIGHEST = 89
_PI = Fraction(31415926536, 10**10)


@dataclass(frozen=True)
class Plane:
    """The places that count, (latitude, longitude) on the Earth."""

    rows: Sequence[tuple[float, float]]
    earth: bool
    where: str

    @cached_property
    def _turned_below(self) -> float:
        """Longitudes below this one count a turn more: so the map is the shortest that holds all of them."""
        order = sorted({row[1] for row in self.rows}) if self.earth else []
        best, below = 360 - Fraction(order[-1]) + Fraction(order[0]) if order else Fraction(0), -math.inf
        for west, east in pairwise(order):
            if Fraction(east) - Fraction(west) > best:
                best, below = Fraction(east) - Fraction(west), east
        return below

    def at(self, side: int, coordinate: float) -> Fraction:
        """Where a coordinate lies on the map."""
        return Fraction(coordinate) + (360 if side == 1 and coordinate < self._turned_below else 0)

    @cached_property
    def ends(self) -> list[tuple[Fraction, Fraction]]:
        """Of either coordinate."""
        sides = [[self.at(k, x) for x in {row[k] for row in self.rows}] for k in (0, 1)]
        return [(min(side), max(side)) for side in sides]

    @cached_property
    def lengths(self) -> tuple[Fraction, Fraction]:
        """What a unit of either coordinate counts."""
        if not self.earth:
            return Fraction(1), Fraction(1)
        low, high = self.ends[0]
        if max(abs(low), abs(high)) > _HIGHEST:
            raise refuse("is a map of a pole", self.where)
        return DEGREE, DEGREE * Fraction(int(cosine(abs(low + high) / 2) * 1000), 1000)

    def stretch(self, reach: Fraction) -> Fraction:
        """How much longer lengths are than they should be, at most, between places that are so far apart at most."""
        if not self.earth:
            return Fraction(1)
        highest = max(abs(x) for x in self.ends[0]) + reach / (2 * DEGREE)
        if highest > _HIGHEST:
            raise refuse("is a map of a pole", self.where)
        ring = cosine(highest)
        west, east = self.ends[1]
        if (360 - east + west) * DEGREE * ring <= reach:
            raise refuse("is a map all around the Earth", self.where)
        return max(Fraction(1), self.lengths[1] / (DEGREE * ring))


def turned(longitude: float) -> float:
    """Between -180 and 180 degrees, the first one left out.

    >>> turned(190.5), turned(-180.0), turned(360.0)
    (-169.5, 180.0, 0.0)
    """
    x = math.fmod(longitude, 360.0)
    return (x - 360.0 if x > 180 else x + 360.0 if x <= -180 else x) + 0.0


def cosine(degrees: Fraction) -> Fraction:
    """Not above the cosine of an angle from 0 to 90 degrees: eleven terms of its series, a little beyond the angle."""
    x = Fraction(math.ceil(degrees * _PI / 180 * 10**12), 10**12)
    total = sum(((-1) ** n * x ** (2 * n) / math.factorial(2 * n) for n in range(12)), Fraction(0))
    return max(total, Fraction(0))
