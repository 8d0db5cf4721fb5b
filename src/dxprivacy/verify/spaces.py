"""Places as points in space: a tree of boxes, and distances known from both sides (docs/formats.md, section 9).

Distances of places may be scaled, capped, not less than a floor, and have `other` beside them; all that is one monotone
function of the length.  Lengths are floats between two bounds:

*flat*    differences of coordinates are rounded once, and a norm of D of them loses at most D + 8 roundings (p-th
          powers p times as many): relative 2^-52 (D + 4 p + 16) covers both.  A box of coordinates is exact.
*sphere*  haversine on exact differences of the degrees.  Each sine loses at most 2^-49 of itself, the square root of
          the sum of squares less than 2^-47, and below an angle of 143 degrees the arcsine magnifies that by 2.4 at
          most: 2^-44 covers it.  Beyond, an error of 2^-46 in the square turns the angle by less than 2^-22 of itself.
          Points on the unit sphere are off by less than 2^-48 in each coordinate: boxes may be 2^-47 closer.

Where squares would leave the range of floats, nothing is claimed but that the length is somewhere from 0 to 10^-130.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_LEAF = 12
_LARGEST = 1e100
_TINY_SQUARE, _TINY = 1e-280, 1e-130
_ARC, _FAR_ARC, _BLUR = 2.0**-44, 2.0**-22, 2.0**-47
_FAR_SQUARE = 0.9


@dataclass(frozen=True)
class Clipped:
    """min(max(length * slope, low), high) of places: rows of coordinates, p the norm, None on the sphere."""

    rows: Sequence[Sequence[float]]
    p: float | None
    slope: float
    low: float = 0.0
    high: float = math.inf

    def scaled(self, factor: float) -> "Clipped":
        """Times a factor."""
        return Clipped(self.rows, self.p, self.slope * factor, self.low * factor, self.high * factor)

    def joined(self, how: str, other: float) -> "Clipped":
        """The larger one of it and a constant (`max`), or the smaller one."""
        f = max if how == "max" else min
        return Clipped(self.rows, self.p, self.slope, f(self.low, other), f(self.high, other))


def space(clipped: Clipped, outside: int = 0) -> "Space | None":
    """Its tree; None where floats do not reach that far."""
    ends = (clipped.low, clipped.high)
    if len(clipped.rows) < 2 or not 1e-200 < clipped.slope < 1e200:
        return None
    if any(0 < x < 1e-200 or 1e200 < x < math.inf for x in ends):
        return None
    found = Space(clipped, outside)
    return found if found.tame else None


class Space:
    """Points in a tree of boxes: every node is halved at the median of its widest side, down to leaves of equal size.

    Leaves hold `leaf` slots; a few points fill more than one.
    """

    def __init__(self, clipped: Clipped, outside: int) -> None:
        self._clip, self.outside = clipped, outside
        self.size, self._p = len(clipped.rows), clipped.p
        self.given: Floats = np.array(clipped.rows, dtype=np.float64).reshape(self.size, -1).T.copy()
        self.tame = bool((np.abs(self.given) < _LARGEST).all())
        self.arc = self._p is None
        self.points: Floats = _on_sphere(self.given) if self.arc else self.given
        dimensions = len(self.points)
        power = 4 * self._p if self._p is not None and 2 < self._p < math.inf else 0
        self.error = _ARC if self.arc else (dimensions + power + 16) * 2.0**-52

    @cached_property
    def levels(self) -> int:
        """How often it is halved."""
        return max(0, math.ceil(math.log2(self.size / _LEAF)))

    @property
    def leaf(self) -> int:
        """Slots in a leaf."""
        return -(-self.size // (1 << self.levels))

    @cached_property
    def slots(self) -> Ints:
        """The record in each slot."""
        wanted = self.leaf << self.levels
        more = np.linspace(0, self.size - 1, wanted - self.size).astype(np.int64)
        order = np.concatenate([np.arange(self.size, dtype=np.int64), more])
        for level in range(self.levels):
            nodes = order.reshape(1 << level, -1)
            inside = self.points[:, nodes]
            widest = np.ptp(inside, axis=2).argmax(axis=0)
            key = inside[widest, np.arange(len(nodes))]
            half = nodes.shape[1] // 2
            order = np.take_along_axis(nodes, np.argpartition(key, half, axis=1), axis=1).ravel()
        return order

    @cached_property
    def boxes(self) -> list[tuple[Floats, Floats]]:
        """Per level and node: the lowest and the highest coordinates."""
        placed = self.points[:, self.slots]
        out: list[tuple[Floats, Floats]] = []
        for level in range(self.levels + 1):
            nodes = placed.reshape(len(placed), 1 << level, -1)
            out.append((nodes.min(axis=2), nodes.max(axis=2)))
        return out

    def gap(self, level: int, a: Ints, b: Ints) -> Floats:
        """Not more than the distance of any point of one node from any of another."""
        low, high = self.boxes[level]
        apart = np.maximum(low[:, a] - high[:, b], low[:, b] - high[:, a])
        return self._at_least(np.maximum(apart, 0.0))

    def reach(self, level: int, a: Ints, b: Ints) -> Floats:
        """Not less than the distance of any point of one node from any of another."""
        low, high = self.boxes[level]
        apart = np.maximum(high[:, b] - low[:, a], high[:, a] - low[:, b])
        if self.arc:
            chord = np.sqrt(((apart + _BLUR) ** 2).sum(axis=0)) * (1 + self.error)
            near = 2 * np.arcsin(np.minimum(chord / 2, 0.95))
            short = np.sqrt(np.maximum(1 - (chord / 2) ** 2 - _BLUR, 0.0))  # of the way to the antipode
            length = np.where(chord < 1.9, near, math.pi - 2 * np.arcsin(np.minimum(short, 1.0)) * (1 - self.error))
            length = length * (1 + self.error)
        else:
            length = self._norm(apart) * (1 + self.error)
        return self._clipped(length, 1 + self.error)

    def across(self, a: Ints, b: Ints) -> Floats:
        """Not more than the distance of each two points of two leaves."""
        placed = self._leaves
        return self._at_least(np.abs(placed[:, a][:, :, :, None] - placed[:, b][:, :, None, :]))

    @cached_property
    def _leaves(self) -> Floats:
        return self.points[:, self.slots].reshape(len(self.points), 1 << self.levels, self.leaf)

    def _at_least(self, apart: Floats) -> Floats:
        """A distance from differences of coordinates that are not less than these."""
        if not self.arc:
            return self._clipped(self._norm(apart) * (1 - self.error), 1 - self.error)
        apart = np.maximum(apart - _BLUR, 0.0)
        chord = np.sqrt((apart * apart).sum(axis=0)) * (1 - self.error)
        return self._clipped(2 * np.arcsin(np.minimum(chord / 2, 0.95)) * (1 - self.error), 1 - self.error)

    def between(self, i: Ints, j: Ints) -> tuple[Floats, Floats]:
        """Two bounds around the distances of records: 0 where it is 0."""
        if self.arc:
            low, high = self._arcs(i, j)
        else:
            apart = np.abs(self.given[:, i] - self.given[:, j])
            length = self._norm(apart)
            low, high = length * (1 - self.error), length * (1 + self.error)
            lost = (length < 1e-139) & apart.any(axis=0)
            low, high = np.where(lost, 0.0, low), np.where(lost, _TINY, high)
        return self._clipped(low, 1 - self.error), self._clipped(high, 1 + self.error)

    def _clipped(self, length: Floats, error: float) -> Floats:
        c = self._clip
        return np.minimum(np.maximum(length * c.slope, c.low * error), c.high * error)

    def _norm(self, apart: Floats) -> Floats:
        if self._p == 2:
            return np.asarray(np.sqrt((apart * apart).sum(axis=0)))
        if self._p == 1:
            return np.asarray(apart.sum(axis=0))
        top = apart.max(axis=0)
        if self._p is None or self._p == math.inf:
            return np.asarray(top)
        with np.errstate(invalid="ignore", divide="ignore", under="ignore"):
            whole = top * ((apart / top) ** self._p).sum(axis=0) ** (1 / self._p)
        return np.where(top > 0, whole, 0.0)

    def _arcs(self, i: Ints, j: Ints) -> tuple[Floats, Floats]:
        (phi, lam), (psi, mu) = self.given[:, i], self.given[:, j]
        rise, turn = np.abs(phi - psi), _turn(lam, mu)
        rims = np.sin(np.radians(90 - np.abs(phi))) * np.sin(np.radians(90 - np.abs(psi)))
        square = np.sin(np.radians(rise) / 2) ** 2 + rims * np.sin(np.radians(turn) / 2) ** 2
        angle = 2 * np.arcsin(np.sqrt(np.minimum(square, 1.0)))
        error = np.where(square > _FAR_SQUARE, _FAR_ARC, _ARC)
        lost = (square < _TINY_SQUARE) & ~((rise == 0) & ((turn == 0) | (np.abs(phi) == 90)))
        low, high = np.where(lost, 0.0, angle * (1 - error)), np.where(lost, _TINY, angle * (1 + error))
        same = (rise == 0) & ((turn == 0) | (np.abs(phi) == 90))
        return np.where(same, 0.0, low), np.where(same, 0.0, high)


def _turn(a: Floats, b: Floats) -> Floats:
    """|a - b| in degrees folded to [0, 180], rounded once: what the difference loses is known, and 360 is near it."""
    s = a - b
    back = s - a
    lost = (a - (s - back)) - (b + back)
    lost = np.where(s < 0, -lost, lost)
    s = np.abs(s)
    once = np.where(s > 540, 720 - s, np.where(s > 360, s - 360, np.where(s > 180, 360 - s, s)))
    lost = np.where((s > 540) | ((s > 180) & (s <= 360)), -lost, lost)
    return np.abs(once + lost)


def _on_sphere(degrees: Floats) -> Floats:
    phi, lam = np.radians(degrees)
    return np.stack([np.cos(phi) * np.cos(lam), np.cos(phi) * np.sin(lam), np.sin(phi)])
