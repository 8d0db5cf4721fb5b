"""Places in a plane: as they are, or on the Earth by latitude and longitude, in kilometres.

On the Earth a degree of latitude counts 111.19 km, a little less than it has, and one of longitude so much times the
cosine of the middle latitude.  Lengths in this plane are then not more than `stretch` times those on the Earth, for
places that are no further apart than that says: an arc between them stays near them, and nowhere near it does a degree
of longitude have fewer kilometres than at its end that is nearest to a pole.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from dxprivacy.errors import QuestionError
from dxprivacy.exact.arrays import Floats

KM_PER_DEGREE = Fraction(11119, 100)
_PI = Fraction(31415926536, 10**10)  # a little more
_HIGHEST = 89  # degrees: at a pole all longitudes meet


@dataclass(frozen=True, eq=False)
class Plane:
    """Places by two coordinates each, (latitude, longitude) on the Earth."""

    coordinates: Floats
    earth: bool

    @classmethod
    def of(cls, coordinates: Floats, *, earth: bool) -> "Plane":
        """Longitudes count modulo 360: all between -180 and 180 degrees."""
        given = np.asarray(coordinates, dtype=np.float64) + 0.0
        if earth:
            turn = np.fmod(given[:, 1], 360.0) + 0.0
            turn = np.where(turn > 180, turn - 360, np.where(turn <= -180, turn + 360, turn))
            given = np.stack([given[:, 0], turn], axis=1)
        return cls(given, earth)

    @cached_property
    def ends(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """The least and the largest of either coordinate."""
        low, high = self.coordinates.min(axis=0).tolist(), self.coordinates.max(axis=0).tolist()
        return (low[0], high[0]), (low[1], high[1])

    @cached_property
    def lengths(self) -> tuple[Fraction, Fraction]:
        """What one unit of either coordinate counts."""
        if not self.earth:
            return Fraction(1), Fraction(1)
        low, high = self.ends[0]
        if max(abs(low), abs(high)) > _HIGHEST:
            raise QuestionError("there is no map of places at a pole")
        middle = abs(Fraction(low) + Fraction(high)) / 2
        return KM_PER_DEGREE, KM_PER_DEGREE * Fraction(math.floor(cosine_floor(middle) * 1000), 1000)

    def stretch(self, reach: Fraction) -> Fraction:
        """How much longer than in truth lengths in the plane are at most, of places that are so far apart at most."""
        if not self.earth:
            return Fraction(1)
        (south, north), (west, east) = (tuple(map(Fraction, side)) for side in self.ends)
        top = max(abs(south), abs(north)) + reach / 2 / KM_PER_DEGREE
        if top > _HIGHEST:
            raise QuestionError("there is no map of places at a pole")
        narrowest = cosine_floor(top)
        if (360 - (east - west)) * KM_PER_DEGREE * narrowest <= reach:
            raise QuestionError(
                "there is no map across the date line",
                hints=[("where …", "of the places on one side of it, by a fact about them")],
            )
        return max(self.lengths[1] / KM_PER_DEGREE / narrowest, Fraction(1))


def cosine_floor(degrees: Fraction) -> Fraction:
    """Not above the cosine of an angle from 0 to 90 degrees, and near it.

    >>> round(float(cosine_floor(Fraction(60))), 6), 0 <= cosine_floor(Fraction(89)) < Fraction(175, 10000)
    (0.5, True)
    """
    x = Fraction(math.ceil(degrees * _PI / 180 * 10**12), 10**12)
    square, term, total = x * x, Fraction(1), Fraction(1)
    for n in range(1, 12):  # ends with a minus, and terms fall: not above
        term = -term * square / ((2 * n - 1) * (2 * n))
        total += term
    return max(total, Fraction(0))
