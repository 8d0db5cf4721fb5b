"""Find the place nearest to a row's coordinates: the same answer in every source, on every machine.

The definition uses exact arithmetic. Of two places, the nearer one has the smaller distance: exact in a plane, on the
Earth a certified fraction (`metrics.distances`: at most 2^-60 below the distance, computed in Python's integers). Of
equally near places, the one that is listed first wins. Floats only filter. A k-d tree over the places gives the two
nearest in float64. If the second is farther than the first by more than the float error, the first is the answer.
Otherwise all places within the float error are compared exactly. So neither the machine's sine nor the order of the
rows ever decides.

Float error: a unit vector from degrees is within 4e-15 of the true one in each coordinate (an angle of up to 2 pi,
rounded twice, and a sine or cosine within 4 ulp), hence a chord is within 2e-14; `_CHORD` is five times that. In a
plane a distance has a relative error of at most 8 units of 2^-53, unless its square underflows: all places nearer than
`_SMALL` are compared exactly.
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.metrics.distances import RADIUS_KM, euclidean, great_circle, great_circle_floor
from dxprivacy.universe.attributes.nearest_place import BOUNDS
from dxprivacy.universe.reading.codecs import Surroundings

BLOCK = 1 << 16
"""Pairs of coordinates that are processed together."""
_CHORD = 1e-13
_RELATIVE = 1e-14
_SMALL = 1e-150
_FAR = 1e-9  # within this fraction of the reach, the exact distance decides


class Locator:
    """Search for the nearest of the places of one attribute.

    >>> at = np.array([[48.137, 11.575], [52.52, 13.405]])
    >>> locator = Locator(Surroundings(at, True, None))
    >>> locator.places(np.array([50.0, 51.0, 91.0]), np.array([11.0, 13.0, 11.0])).tolist()
    [0, 1, 2]
    """

    def __init__(self, surroundings: Surroundings) -> None:
        self.earth, self.reach = surroundings.earth, surroundings.reach
        self._listed = surroundings.coordinates
        self._first = _first_of_each(self._listed)  # the first of several at one spot
        self._spots = self._listed[self._first]

    @property
    def nowhere(self) -> int:
        """The index of rows without a place."""
        return len(self._listed)

    @cached_property
    def _tree(self) -> Any:
        from scipy.spatial import cKDTree

        return cKDTree(self._vectors(self._spots))

    def _vectors(self, at: Floats) -> Floats:
        if not self.earth:
            return at
        phi, lam = np.radians(at[:, 0]), np.radians(at[:, 1])
        return np.stack([np.cos(phi) * np.cos(lam), np.cos(phi) * np.sin(lam), np.sin(phi)], axis=1)

    def places(self, first: Floats, second: Floats) -> Ints:
        """Return the index of the nearest place for each pair of coordinates; `nowhere` if invalid or out of reach."""
        out: Ints = np.full(len(first), self.nowhere, dtype=np.int64)
        most = BOUNDS[self.earth]
        with np.errstate(invalid="ignore"):
            sound = np.flatnonzero((np.abs(first) <= most[0]) & (np.abs(second) <= most[1]))  # NaN compares false
        for start in range(0, len(sound), BLOCK):
            rows = sound[start : start + BLOCK]
            out[rows] = self._nearest(np.stack([first[rows], second[rows]], axis=1) + 0.0)  # -0.0 is 0.0
        return out

    def _nearest(self, at: Floats) -> Ints:
        vectors = self._vectors(at)
        if len(self._spots) == 1:
            spots: Ints = np.zeros(len(at), dtype=np.int64)
        else:
            near, found = self._tree.query(vectors, k=2)
            spots = np.asarray(found[:, 0], dtype=np.int64)
            room = near[:, 0] + _CHORD if self.earth else near[:, 0] * (1 + _RELATIVE) + _SMALL
            for k in np.flatnonzero(near[:, 1] <= room).tolist():
                spots[k] = self._by_exact_distance(at[k], self._tree.query_ball_point(vectors[k], room[k]))
        places = np.asarray(self._first[spots], dtype=np.int64)
        if self.reach is not None:
            places[self._is_beyond(at, self._listed[places])] = self.nowhere
        return places

    def _by_exact_distance(self, at: Floats, spots: list[int]) -> int:
        """Return the nearest of some places; of equally near ones, the one that is listed first."""
        return min(spots, key=lambda spot: (self._exact(at, self._spots[spot]), self._first[spot]))

    def _exact(self, at: Floats, place: Floats) -> Fraction:
        """Return the exact key of comparison: certified radians on the Earth, the squared distance in a plane."""
        one, other = (float(at[0]), float(at[1])), (float(place[0]), float(place[1]))
        if self.earth:
            return great_circle_floor(one, other)
        return sum(((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(one, other, strict=True)), Fraction(0))

    def _is_beyond(self, at: Floats, places: Floats) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
        """Whether each place is farther away than the reach."""
        assert self.reach is not None
        reach = self.reach / (RADIUS_KM if self.earth else 1)
        distance = great_circle(at, places) if self.earth else euclidean(at, places)
        beyond = distance > float(reach)
        for k in np.flatnonzero(np.abs(distance - float(reach)) <= _FAR * float(reach)).tolist():
            beyond[k] = self._exact(at[k], places[k]) > (reach if self.earth else reach**2)
        return np.asarray(beyond)


def _first_of_each(places: Floats) -> Ints:
    """Return the sorted indices of the first place at each distinct pair of coordinates, as they are written."""
    _, first = np.unique(places + 0.0, axis=0, return_index=True)
    return np.sort(first).astype(np.int64)


def located(surroundings: Surroundings, bits: list[Ints]) -> Ints:
    """Return the places of many rows from the bits of their coordinates; each distinct pair is looked up once."""
    first, second = (column.view(np.float64) for column in bits)
    locator = _locator(surroundings)
    out: Ints = np.full(len(first), locator.nowhere, dtype=np.int64)
    known = np.flatnonzero(np.isfinite(first) & np.isfinite(second))
    for rows in _blocks(known):
        pairs, which = np.unique(np.stack([first[rows], second[rows]], axis=1), axis=0, return_inverse=True)
        out[rows] = locator.places(pairs[:, 0], pairs[:, 1])[which.reshape(-1)]
    return out


@lru_cache(maxsize=4)
def _locator(surroundings: Surroundings) -> Locator:
    """Return the locator, cached for all blocks of rows."""
    return Locator(surroundings)


def _blocks(rows: Ints) -> Iterator[Ints]:
    for start in range(0, len(rows), 1 << 20):
        yield rows[start : start + (1 << 20)]
