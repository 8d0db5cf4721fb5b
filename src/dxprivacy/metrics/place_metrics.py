"""Distances between places: Euclidean in any dimension, great circle on the Earth.

These distances are irrational: `exact` is a certified rational lower bound, computed in integers only,
so it is the same on every machine.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from dxprivacy.errors import MetricError
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.metrics import distances
from dxprivacy.metrics.metric import BLOCK, MANY_POINTS, Metric, Pairs, all_pairs
from dxprivacy.trees.embedding import Embedding
from dxprivacy.trees.extremes import within_pairs
from dxprivacy.universe.universe import Universe

_TABLE_UP_TO = 2_000


class Places(Metric):
    """Points in space, with an epsilon per unit of distance."""

    slack = Fraction(1, 1 << 59)
    unit: ClassVar[str] = ""

    def __init__(self, universe: Universe, coordinates: Floats, per_unit: Fraction) -> None:
        super().__init__(universe)
        self.coordinates = np.ascontiguousarray(coordinates, dtype=np.float64)
        if self.coordinates.ndim != 2 or len(self.coordinates) != universe.size:
            raise MetricError(f"coordinates of shape {self.coordinates.shape} for {universe.size} elements")
        if not np.isfinite(self.coordinates).all():
            raise MetricError("coordinates must be finite numbers")
        size = np.abs(self.coordinates)
        if ((size > 1e150) | ((size > 0) & (size < 1e-250))).any():
            # Outside, float64 distances lose digits and cannot be used as a filter.
            raise MetricError("coordinates must be 0 or between 1e-250 and 1e150 in size")
        if not 0 < per_unit < float("inf"):
            raise MetricError(f"epsilon per unit of distance is {per_unit}; it must be positive and finite")
        self.per_unit = per_unit
        self._rows: list[list[float]] = self.coordinates.tolist()
        self._cache: dict[tuple[int, int], Fraction] = {}

    @property
    @abstractmethod
    def embedding(self) -> Embedding:
        """The points in space."""

    @abstractmethod
    def lengths(self, i: Ints, j: Ints) -> Floats:
        """Return approximate lengths, in the unit of distance."""

    @abstractmethod
    def length_floor(self, i: int, j: int) -> Fraction:
        """Return a certified rational lower bound of the length, within `slack`."""

    @cached_property
    def has_infinite(self) -> bool:
        return False

    @cached_property
    def _table(self) -> Floats:
        n = self.universe.size
        row, column = np.divmod(np.arange(n * n, dtype=np.int64), n)
        return (self.lengths(row, column) * float(self.per_unit)).reshape(n, n)

    def pairwise(self, i: Ints, j: Ints) -> Floats:
        """Return length times epsilon per unit; from a table if there are few points."""
        if self.universe.size <= _TABLE_UP_TO and len(i) > 1:
            return self._table[i, j]
        return self.lengths(i, j) * float(self.per_unit)

    def exact(self, i: int, j: int) -> Fraction:
        """Return a certified lower bound of length times epsilon per unit."""
        pair = (i, j) if i < j else (j, i)
        if pair not in self._cache:
            self._cache[pair] = self.length_floor(*pair) * self.per_unit
        return self._cache[pair]

    def spec(self) -> dict[str, Any]:
        rows = [[c.hex() for c in row] for row in self._rows]
        return {"kind": self.kind, "per_unit": str(self.per_unit), "coordinates": rows}


class Euclidean(Places):
    """Straight-line distance between points.

    >>> d = Euclidean(Universe.listed("ab"), np.array([[0.0, 0.0], [3.0, 4.0]]), Fraction(1, 100))
    >>> d.exact(0, 1)
    Fraction(1, 20)
    """

    kind = "euclidean"
    error = distances.EUCLIDEAN_ERROR + 2.0**-51

    @cached_property
    def _lattice(self) -> Ints | None:
        # Coordinates as integers (times a power of two) if small enough for exact squares; grids have many ties.
        for bits in (0, 10, 20):
            scaled = np.ldexp(self.coordinates, bits)
            if np.abs(scaled).max(initial=0.0) < 2.0**28 and (scaled == np.rint(scaled)).all():
                return scaled.astype(np.int64)
        return None

    @cached_property
    def embedding(self) -> Embedding:
        return Embedding.flat(self.coordinates, 2, float(self.per_unit))

    def keys(self, i: Ints, j: Ints) -> Ints:
        """Return squared lengths for integer coordinates, otherwise the pair itself."""
        if self._lattice is None:
            return super().keys(i, j)
        return np.asarray(((self._lattice[i] - self._lattice[j]) ** 2).sum(axis=1))[:, None]

    def lengths(self, i: Ints, j: Ints) -> Floats:
        return distances.euclidean(self.coordinates[i], self.coordinates[j])

    def length_floor(self, i: int, j: int) -> Fraction:
        return distances.euclidean_floor(self._rows[i], self._rows[j])


class GreatCircle(Places):
    """Distance along the Earth's surface, in kilometers, between (latitude, longitude) in degrees."""

    kind = "great-circle"
    unit = "km"
    error = distances.GREAT_CIRCLE_ERROR + 2.0**-50

    def __init__(self, universe: Universe, coordinates: Floats, per_unit: Fraction) -> None:
        super().__init__(universe, coordinates, per_unit)
        if self.coordinates.shape[1] != 2:
            raise MetricError("great-circle distance needs latitude and longitude")
        latitude, longitude = self.coordinates.T
        if (np.abs(latitude) > 90).any() or (np.abs(longitude) > 360).any():
            raise MetricError(
                "latitudes lie between -90 and 90 degrees, longitudes between -360 and 360",
                hints=["check that latitude comes first"],
            )

    @cached_property
    def embedding(self) -> Embedding:
        """Points on the sphere: arc lengths are monotone in chord lengths."""
        return Embedding.sphere(self.coordinates, float(self.per_unit * distances.RADIUS_KM))

    def lengths(self, i: Ints, j: Ints) -> Floats:
        return distances.great_circle(self.coordinates[i], self.coordinates[j]) * float(distances.RADIUS_KM)

    def length_floor(self, i: int, j: int) -> Fraction:
        """Return a lower bound in kilometers, with trigonometry in integer intervals."""
        (a, b), (c, d) = self._rows[i], self._rows[j]
        return distances.great_circle_floor((a, b), (c, d)) * distances.RADIUS_KM


class Minkowski(Places):
    """(sum |x_k - y_k|^p)^(1/p): Manhattan for p = 1, Chebyshev for p = infinity (both rational), integer p between.

    >>> Minkowski(Universe.listed("ab"), np.array([[0.0, 0.0], [3.0, 4.0]]), Fraction(1), 1).exact(0, 1)
    Fraction(7, 1)
    """

    kind = "minkowski"
    error = 2.0**-40  # p <= 64: powers, a sum and a root cost less than (3 p + dim + 8) 2^-53

    def __init__(self, universe: Universe, coordinates: Floats, per_unit: Fraction, p: float = 1) -> None:
        super().__init__(universe, coordinates, per_unit)
        if p != math.inf and (p != int(p) or not 1 <= p <= 64):
            raise MetricError(f"p is {p}; a whole number from 1 to 64, or infinity, is needed")
        if self.coordinates.shape[1] > 1000:
            raise MetricError("more than 1,000 coordinates")
        self.p = p
        self.slack = Fraction(0) if p in (1, math.inf) else type(self).slack

    @cached_property
    def embedding(self) -> Embedding:
        return Embedding.flat(self.coordinates, self.p, float(self.per_unit))

    def lengths(self, i: Ints, j: Ints) -> Floats:
        # Scaled by the largest difference, so that no power overflows.
        apart = np.abs(self.coordinates[i] - self.coordinates[j])
        top = apart.max(axis=1)
        if self.p == math.inf:
            return np.asarray(top)
        if self.p == 1:
            return np.asarray(apart.sum(axis=1))
        scaled = apart / np.where(top > 0, top, 1.0)[:, None]
        return np.asarray(top * (scaled**self.p).sum(axis=1) ** (1 / self.p))

    def length_floor(self, i: int, j: int) -> Fraction:
        """Return the exact length for p = 1 and infinity, otherwise an integer root of 64 bits."""
        apart = [abs(Fraction(a) - Fraction(b)) for a, b in zip(self._rows[i], self._rows[j], strict=True)]
        if self.p == math.inf:
            return max(apart)
        if self.p == 1:
            return sum(apart, Fraction(0))
        p = int(self.p)
        total = sum((a**p for a in apart), Fraction(0))
        if not total:
            return total
        size = (total.numerator.bit_length() - total.denominator.bit_length()) // p
        bits = 66 - size
        scaled = total * Fraction(2) ** (p * bits)
        return Fraction(_root_floor(scaled.numerator // scaled.denominator, p)) / Fraction(2) ** bits

    def spec(self) -> dict[str, Any]:
        return super().spec() | {"p": "inf" if self.p == math.inf else str(int(self.p))}


def _root_floor(n: int, p: int) -> int:
    # The largest integer r with r^p <= n (Newton's method).
    r = 1 << -(-n.bit_length() // p)
    while True:
        smaller = ((p - 1) * r + n // r ** (p - 1)) // p
        if smaller >= r:
            return r
        r = smaller


def length_between(metric: Metric, pair: tuple[int, int]) -> tuple[float, str] | None:
    """Return the length between two places and its unit; None if either record has no place."""
    if not isinstance(metric, Places) or max(pair) >= metric.universe.size:
        return None
    return float(metric.lengths(np.array([pair[0]]), np.array([pair[1]]))[0]), metric.unit


def manhattan_places(universe: Universe, coordinates: Floats, per_unit: Fraction) -> Minkowski:
    """Build the Manhattan distance."""
    return Minkowski(universe, coordinates, per_unit, 1)


def chebyshev_places(universe: Universe, coordinates: Floats, per_unit: Fraction) -> Minkowski:
    """Build the Chebyshev distance."""
    return Minkowski(universe, coordinates, per_unit, math.inf)


def within(places: Places, reach: Fraction) -> "tuple[Ints, Ints]":
    """Return pairs at most `reach` apart, in the unit of length; undecidable pairs count as within."""
    near: list[tuple[Ints, Ints]] = []
    limit = float(reach)
    for i, j in _may_be_within(places, limit):
        d = places.lengths(i, j)
        inside = d <= limit * (1 - 4 * places.error)
        for k in np.flatnonzero((d <= limit * (1 + 4 * places.error)) & ~inside):
            inside[k] = places.length_floor(int(i[k]), int(j[k])) <= reach
        near.append((i[inside], j[inside]))
    empty = np.zeros(0, dtype=np.int64)
    return np.concatenate([a for a, _ in near] or [empty]), np.concatenate([b for _, b in near] or [empty])


def _may_be_within(places: Places, reach: float) -> Iterator[Pairs]:
    # All pairs, or, for many points, those that a tree search finds near.
    embedding = places.embedding
    if places.universe.size < MANY_POINTS or not embedding.tame:
        yield from all_pairs(places.universe.size)
        return
    i, j = within_pairs(embedding, reach * float(places.per_unit))
    for a in range(0, len(i), BLOCK):
        yield i[a : a + BLOCK], j[a : a + BLOCK]


PLACES: dict[str, Callable[[Universe, Floats, Fraction], Places]] = {
    Euclidean.kind: Euclidean,
    GreatCircle.kind: GreatCircle,
    "manhattan": manhattan_places,
    "chebyshev": chebyshev_places,
}
