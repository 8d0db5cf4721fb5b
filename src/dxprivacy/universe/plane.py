"""Points in a plane: as given, or a map of the Earth from latitude and longitude to kilometers.

On the Earth, a degree of latitude counts as 111.19 km, slightly less than its true length, and a degree of longitude as
this times the cosine of the middle latitude.  For points at most `reach` apart, lengths in this plane are at most
`stretch(reach)` times those on the Earth.  Reason: the arc between two points stays near them, and a degree of
longitude along it is nowhere shorter than at the latitude nearest to a pole that the arc can reach.

Longitudes are counted along the shortest arc of a parallel that contains all points: if it crosses the date line, they
continue beyond 180 degrees.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from dxprivacy.errors import QueryError
from dxprivacy.exact.arrays import Floats, Ints

KM_PER_DEGREE = Fraction(11119, 100)
_PI = Fraction(31415926536, 10**10)  # rounded up
_HIGHEST = 89  # degrees: at a pole all longitudes meet


@dataclass(frozen=True, eq=False)
class Plane:
    """Points with two coordinates each; (latitude, longitude) on the Earth."""

    coordinates: Floats
    earth: bool

    @classmethod
    def of(cls, coordinates: Floats, *, earth: bool) -> "Plane":
        """Return the plane of points; longitudes are reduced modulo 360 to between -180 and 180 degrees."""
        given = np.asarray(coordinates, dtype=np.float64) + 0.0
        if earth:
            turn = np.fmod(given[:, 1], 360.0) + 0.0
            turn = np.where(turn > 180, turn - 360, np.where(turn <= -180, turn + 360, turn))
            given = np.stack([given[:, 0], turn], axis=1)
        return cls(given, earth)

    @cached_property
    def _first(self) -> float:
        """The longitude at the western end of the map; 360 degrees are added to smaller longitudes.

        It is the eastern end of the widest gap between neighboring longitudes (the gap may cross the date line).
        """
        found = np.unique(self.coordinates[:, 1])
        x: list[float] = found.tolist()
        if not self.earth or len(x) < 2:
            return x[0]
        gaps = np.diff(found)
        near = np.flatnonzero(gaps >= gaps.max() - 2.0**-30)  # floats propose, fractions decide
        widest = max(near.tolist(), key=lambda k: (_apart(x[k], x[k + 1]), -k))
        return x[widest + 1] if _apart(x[widest], x[widest + 1]) > 360 - _apart(x[0], x[-1]) else x[0]

    def along(self, side: int) -> tuple[list[Fraction], Ints]:
        """Return the distinct coordinates along one side of the map, and for each point the index of its own."""
        numbers, which = np.unique(self.coordinates[:, side], return_inverse=True)
        turned = [360 if side == 1 and x < self._first else 0 for x in numbers.tolist()]
        exact = [Fraction(x) + turn for x, turn in zip(numbers.tolist(), turned, strict=True)]
        return exact, np.asarray(which.reshape(-1), dtype=np.int64)

    @property
    def drawn(self) -> Floats:
        """The coordinates on the map, in floats."""
        turn = np.where(self.coordinates[:, 1] < self._first, 360.0, 0.0)
        return np.stack([self.coordinates[:, 0], self.coordinates[:, 1] + turn], axis=1)

    @cached_property
    def ends(self) -> tuple[tuple[Fraction, Fraction], tuple[Fraction, Fraction]]:
        """The smallest and the largest value of each coordinate."""
        first, second = (self.along(side)[0] for side in (0, 1))
        return (min(first), max(first)), (min(second), max(second))

    @cached_property
    def lengths(self) -> tuple[Fraction, Fraction]:
        """The length of one unit of each coordinate."""
        if not self.earth:
            return Fraction(1), Fraction(1)
        low, high = self.ends[0]
        if max(abs(low), abs(high)) > _HIGHEST:
            raise QueryError("there is no map of places at a pole")
        middle = abs(low + high) / 2
        return KM_PER_DEGREE, KM_PER_DEGREE * Fraction(math.floor(cosine_floor(middle) * 1000), 1000)

    def stretch(self, reach: Fraction) -> Fraction:
        """Bound the factor by which the plane overstates the distance of points that are at most `reach` apart."""
        if not self.earth:
            return Fraction(1)
        (south, north), (west, east) = self.ends
        top = max(abs(south), abs(north)) + reach / 2 / KM_PER_DEGREE
        if top > _HIGHEST:
            raise QueryError("there is no map of places at a pole")
        narrowest = cosine_floor(top)
        if (360 - (east - west)) * KM_PER_DEGREE * narrowest <= reach:
            raise QueryError(
                "there is no map all around the Earth: its places leave no gap of four widths between two longitudes",
                hints=[("where …", "of some of the places, by a fact about them"), ("width …", "a smaller one")],
            )
        return max(self.lengths[1] / KM_PER_DEGREE / narrowest, Fraction(1))


def _apart(west: float, east: float) -> Fraction:
    return Fraction(east) - Fraction(west)


def cosine_floor(degrees: Fraction) -> Fraction:
    """Return a lower bound on the cosine of an angle from 0 to 90 degrees, close to it.

    >>> round(float(cosine_floor(Fraction(60))), 6), 0 <= cosine_floor(Fraction(89)) < Fraction(175, 10000)
    (0.5, True)
    """
    x = Fraction(math.ceil(degrees * _PI / 180 * 10**12), 10**12)
    square, term, total = x * x, Fraction(1), Fraction(1)
    for n in range(1, 12):  # the last term is negative and terms decrease: a lower bound
        term = -term * square / ((2 * n - 1) * (2 * n))
        total += term
    return max(total, Fraction(0))
