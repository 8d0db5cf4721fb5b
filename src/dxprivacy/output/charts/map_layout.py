"""Where places lie on a map, and the rings around them.

Longitudes are shrunk by the cosine of the middle latitude, with the largest gap between places at the back, so that
nothing has to be loaded and a ring is where its places are.  Places far from all others would make a map small: of many
places up to one in fifty at each side may be left out.
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
_CROWD = 100  # places from which on some may be left out


@dataclass(frozen=True)
class MapPlane:
    """Where places lie on the map, in a unit that is the same in all directions at its middle."""

    spots: Floats
    low: Floats
    high: Floats
    turn: tuple[float, float] | None  # first longitude and shrinking, on the Earth

    @property
    def inside(self) -> "np.ndarray[Any, np.dtype[np.bool_]]":
        """Which places are drawn."""
        return np.asarray(((self.spots >= self.low) & (self.spots <= self.high)).all(axis=1))

    @property
    def size(self) -> tuple[float, float]:
        """In pixels: as wide as there is room, unless it would be too high."""
        wide, tall = (float(x) for x in self.high - self.low)
        scale = min(WIDE / wide, _TALLEST / tall)
        return max(scale * wide, 120.0), max(scale * tall, 80.0)


def plane_of(coordinates: Floats, earth: bool) -> MapPlane:
    """Longitude to the right and latitude up, or the first coordinate to the right and the second up."""
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
    """Some room at all sides, and no map that is a line."""
    span = high - low
    least = 0.25 * float(span.max())
    room = np.maximum(0.06 * float(span.max()), (least - span) / 2)
    return low - room, high + room


def with_all(plane: MapPlane) -> MapPlane:
    """The same map, large enough for every place."""
    low, high = _roomy(plane.spots.min(axis=0), plane.spots.max(axis=0))
    return MapPlane(plane.spots, low, high, plane.turn)


def ring_around(center: Floats, radius: float, plane: MapPlane, places: Places) -> list[tuple[float, float]]:
    """All spots at a distance from a place, as a closed line on the map."""
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
    """Few digits: a map of many places is a large file otherwise."""
    return [[float(f"{c:.6g}") for c in row] for row in spots.tolist()]
