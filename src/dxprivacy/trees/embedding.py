"""Embeddings of a metric in space: points, a norm, and an increasing function from norms to distances.

The function is `min(max(slope * x, floor), cap)` for two different records, with x the norm of the difference or, on a
sphere, the arc over that chord.  Scaling, capping and the maximum with a constant give another function of this kind,
so one case covers all metrics that are derived from places in this way.

On the sphere the points are rounded: `blur` bounds the resulting error of a chord.  With angles of one rounded product
(3.2 u for latitudes, 6.3 u for longitudes), sines and cosines within 8 u, and one more product, a coordinate is off by
at most 27 u, a point by 40 u and a chord by 80 u < 2^-46; another 2^-46 covers the rounding of derived numbers.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dxprivacy.exact.arrays import Floats

# -- Lengths of differences (one array for each coordinate), and the dual norm of a gradient ---------------------------
# Relative errors, u = 2^-53: a difference has u, a sum of nonnegative terms u for each, a square or a root u, a power
# by `**` less than 4 u (p <= 64).  `error_of` is more than twice their sum.


U = 2.0**-53
_TAME = (1e-120, 1e140)  # squares of differences of coordinates between these keep all digits


def error_of(p: float, dimensions: int) -> float:
    """Return a bound on the relative error of `length`."""
    power = 0.0 if p in (1, math.inf) else 4.0 * (2 if p == 2 else p)
    return (16 + 2 * dimensions + power) * U


def tame(points: Floats) -> bool:
    """Return whether squares of differences of coordinates neither overflow nor lose digits."""
    size = np.abs(points)
    return bool(((size == 0) | ((size > _TAME[0]) & (size < _TAME[1]))).all())


def length(parts: Sequence[Floats], p: float, *, tame: bool) -> Floats:
    """Return the p-norm of differences (or of gaps), given as one array for each coordinate.

    >>> length([np.array([3.0]), np.array([-4.0])], 2, tame=True)
    array([5.])
    """
    if len(parts) == 1:
        return np.abs(parts[0])
    if p == math.inf:
        out = np.abs(parts[0])
        for part in parts[1:]:
            np.maximum(out, np.abs(part), out=out)
        return out
    if p == 1:
        out = np.abs(parts[0])
        for part in parts[1:]:
            out += np.abs(part)
        return out
    if p == 2 and tame:
        out = parts[0] * parts[0]
        for part in parts[1:]:
            out += part * part
        return np.asarray(np.sqrt(out, out=out))
    top = length(parts, math.inf, tame=tame)
    unit = np.where(top > 0, top, 1.0)
    total = np.zeros_like(top)
    for part in parts:
        total += (np.abs(part) / unit) ** p
    return np.asarray(top * total ** (1 / p))


def dual(parts: Sequence[Floats], p: float) -> Floats:
    """Return the dual norm of a gradient g, with |g x| <= dual(g) length(x): Hölder, 1/p + 1/q = 1."""
    q = math.inf if p == 1 else 1.0 if p == math.inf else p / (p - 1)
    return length(parts, q, tame=False) if q != 2 else length(parts, 2, tame=all(tame(x) for x in parts))


# -- Embeddings of a metric in space -----------------------------------------------------------------------------------


_BLUR = 2.0**-45
_ROUNDINGS = 2.0**-48  # bounds the rounding of slope, floor and cap, products and the arc sine: below 16 u


@dataclass(frozen=True, eq=False)
class Embedding:
    """Points, and the distances of the metric as a function of their distances in space.

    `keys` identify places exactly: two records are at the same place if and only if their keys are equal.
    """

    points: Floats
    keys: Floats
    p: float
    slope: float
    floor: float = 0.0
    cap: float = math.inf
    arc: bool = False
    blur: float = 0.0
    tame: bool = True
    error: float = 2.0**-48

    @classmethod
    def flat(cls, coordinates: Floats, p: float, slope: float) -> "Embedding":
        """Return the embedding of points in a space with the p-norm.

        >>> Embedding.flat(np.array([[0.0, 0.0], [3.0, 4.0]]), 2, 0.1).least(np.array([5.0])) <= 0.5
        array([ True])
        """
        points = np.ascontiguousarray(coordinates.T) + 0.0  # turns -0.0 into 0.0
        error = error_of(p, len(points)) + _ROUNDINGS
        return cls(points, points, p, slope, tame=tame(points), error=error)

    @classmethod
    def sphere(cls, degrees: Floats, slope: float) -> "Embedding":
        """Return the embedding of (latitude, longitude) in degrees on the unit sphere, with `slope` per radian of arc.

        Longitudes are reduced modulo 360, and set to 0 at the poles; both without rounding.
        """
        latitude, longitude = degrees[:, 0] + 0.0, np.fmod(degrees[:, 1], 360.0) + 0.0
        longitude = np.where(longitude > 180, longitude - 360, np.where(longitude <= -180, longitude + 360, longitude))
        longitude = np.where(np.abs(latitude) == 90, 0.0, longitude)
        phi, lam = latitude * (math.pi / 180), longitude * (math.pi / 180)
        ring = np.cos(phi)
        points = np.stack([ring * np.cos(lam), ring * np.sin(lam), np.sin(phi)])
        error = error_of(2, 3) + _ROUNDINGS
        return cls(points, np.stack([latitude, longitude]), 2, slope, arc=True, blur=_BLUR, error=error)

    @property
    def size(self) -> int:
        """The number of points."""
        return int(self.points.shape[1])

    @property
    def dimensions(self) -> int:
        """The number of coordinates of a point."""
        return len(self.points)

    def scaled(self, factor: float) -> "Embedding":
        """Return the embedding with all distances multiplied by a number."""
        return replace(self, slope=self.slope * factor, floor=self.floor * factor, cap=self.cap * factor)

    def capped(self, cap: float) -> "Embedding":
        """Return the embedding with distances capped."""
        return replace(self, cap=min(self.cap, cap))

    def at_least(self, floor: float) -> "Embedding":
        """Return the embedding with a minimum distance of different records."""
        return replace(self, floor=max(self.floor, floor), cap=max(self.cap, floor))

    def least(self, x: Floats) -> Floats:
        """Return a lower bound on the distance of records whose points are at least `x` apart (x as rounded)."""
        if self.arc:
            x = 2 * np.arcsin(np.clip((x - self.blur) / 2, 0.0, 1.0))
        return self._clamped(x * (self.slope * (1 - self.error)), 1 - self.error)

    def rough(self, x: Floats) -> Floats:
        """Return a cheaper lower bound than `least`: a chord is never longer than its arc."""
        if self.arc:
            x = np.maximum(x - self.blur, 0.0)
        return self._clamped(x * (self.slope * (1 - self.error)), 1 - self.error)

    def most(self, x: Floats) -> Floats:
        """Return an upper bound on the distance of records whose points are `x` apart (x as rounded)."""
        if self.arc:
            x = 2 * np.arcsin(np.minimum((x + self.blur) / 2, 1.0))
        return self._clamped(x * (self.slope * (1 + self.error)), 1 + self.error)

    def _clamped(self, x: Floats, rounding: float) -> Floats:
        if self.floor > 0:
            x = np.maximum(x, self.floor * rounding)
        return np.minimum(x, self.cap * rounding) if self.cap < math.inf else x

    def stretch(self, reach: Floats | float) -> Floats | float:
        """Return an upper bound on x / d for points `x <= reach` apart, without blur; an arc is at least its chord."""
        steepest = (1 + self.error) / self.slope
        return steepest if self.cap == math.inf else np.maximum(steepest, reach * ((1 + self.error) / self.cap))
