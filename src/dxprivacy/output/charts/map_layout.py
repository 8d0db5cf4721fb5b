"""Positions of places on a map, and the rings around them.

The map needs no background, so nothing is loaded: longitudes are multiplied by the cosine of the middle latitude, and
the map is cut at the largest gap between longitudes.  Rings are projected in the same way as places.  A few distant
places would make the map small: if there are many, up to 2 % at each side may be left out.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dxprivacy.exact.arrays import Floats
from dxprivacy.metrics.distances import RADIUS_KM
from dxprivacy.metrics.place_metrics import Minkowski, Places

WIDE = 620
_TALLEST = 460
_CROWD = 100  # from this many places on, some may be left out


@dataclass(frozen=True)
class MapPlane:
    """Positions of places on the map, in a unit that is the same in all directions at its middle."""

    spots: Floats
    low: Floats
    high: Floats
    turn: tuple[float, float] | None  # on the Earth: the first longitude, and the factor of longitudes

    @property
    def inside(self) -> "np.ndarray[Any, np.dtype[np.bool_]]":
        """A mask of the places that are drawn."""
        return np.asarray(((self.spots >= self.low) & (self.spots <= self.high)).all(axis=1))

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in pixels, as large as the limits of both allow."""
        wide, tall = (float(x) for x in self.high - self.low)
        scale = min(WIDE / wide, _TALLEST / tall)
        return max(scale * wide, 120.0), max(scale * tall, 80.0)


def plane_of(coordinates: Floats, earth: bool) -> MapPlane:
    """Return the map of coordinates: longitude to the right and latitude up, or first coordinate right, second up."""
    spots, turn = coordinates, None
    if earth:
        latitude, longitude = coordinates[:, 0], coordinates[:, 1] % 360
        ordered = np.unique(longitude)
        gaps = np.diff(np.append(ordered, ordered[0] + 360))
        first = float(ordered[(int(gaps.argmax()) + 1) % len(ordered)])
        shrink = max(math.cos(math.radians(float(latitude.min() + latitude.max()) / 2)), 0.1)
        spots, turn = np.column_stack([((longitude - first) % 360) * shrink, latitude]), (first, shrink)
    low, high = spots.min(axis=0), spots.max(axis=0)
    if len(spots) >= _CROWD:
        inner_low, inner_high = np.quantile(spots, 0.02, axis=0), np.quantile(spots, 0.98, axis=0)
        room = 0.15 * (inner_high - inner_low)
        near = ((spots >= inner_low - room) & (spots <= inner_high + room)).all(axis=1)
        low, high = spots[near].min(axis=0), spots[near].max(axis=0)
    return MapPlane(spots, *_roomy(low, high), turn)


def _roomy(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return corners with a margin on all sides, so that no map is a line."""
    span = high - low
    least = 0.25 * float(span.max())
    room = np.maximum(0.06 * float(span.max()), (least - span) / 2)
    return low - room, high + room


def with_all(plane: MapPlane) -> MapPlane:
    """Return the same map, large enough for every place."""
    low, high = _roomy(plane.spots.min(axis=0), plane.spots.max(axis=0))
    return MapPlane(plane.spots, low, high, plane.turn)


def ring_around(center: Floats, radius: float, plane: MapPlane, places: Places) -> list[tuple[float, float]]:
    """Return the points at a distance from a place, as a closed line on the map."""
    angle = np.linspace(0, 2 * math.pi, 73)
    if plane.turn is None:
        p = float(places.p) if isinstance(places, Minkowski) else 2.0
        across, up = np.cos(angle), np.sin(angle)
        size = (
            np.maximum(np.abs(across), np.abs(up))
            if math.isinf(p)
            else (np.abs(across) ** p + np.abs(up) ** p) ** (1 / p)
        )
        spots = np.column_stack([center[0] + radius * across / size, center[1] + radius * up / size])
    else:
        first, shrink = plane.turn
        latitude, arc = math.radians(center[0]), radius / float(RADIUS_KM)
        lat = np.arcsin(
            np.clip(math.sin(latitude) * math.cos(arc) + math.cos(latitude) * math.sin(arc) * np.cos(angle), -1, 1)
        )
        east = np.arctan2(
            np.sin(angle) * math.sin(arc) * math.cos(latitude), math.cos(arc) - math.sin(latitude) * np.sin(lat)
        )
        at = (float(center[1]) - first) % 360
        spots = np.column_stack([(at + np.degrees(east)) * shrink, np.degrees(lat)])
    return [(a, b) for a, b in rounded(spots)]


def rounded(spots: Floats) -> list[list[float]]:
    """Round to six digits, which keeps files of many places small."""
    return [[float(f"{c:.6g}") for c in row] for row in spots.tolist()]
