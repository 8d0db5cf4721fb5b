"""The upper envelope of the lines `delta - c d`: the distance of a row from the nearest one of scale c.

A row whose elements differ by delta at distance d is at least `max (delta - c d)_+ / 2` away from every row that
changes by at most c d, and McShane's extensions attain this bound.  As a function of c it is convex, piecewise linear
and decreases to 0, so problems in c are solved exactly, piece by piece.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dxprivacy.errors import UsageError
from dxprivacy.exact.arrays import Floats
from dxprivacy.optimize.biased.closed_pairs import numbers


@dataclass(frozen=True, eq=False)
class EnvelopePieces:
    """Piece p is `heights[p] - slopes[p] c` from `corners[p]` to `corners[p + 1]`; beyond the last corner it is 0."""

    corners: Floats
    heights: Floats
    slopes: Floats

    @property
    def values(self) -> Floats:
        """The envelope at its corners."""
        at = self.heights - self.slopes * self.corners[:-1]
        return np.append(np.maximum(at, 0.0), 0.0)


def envelope(deltas: Any, distances: Any) -> tuple[Floats, Floats]:
    """Return the corners c >= 0 of `max (delta - c d, 0)`, from 0 to where it vanishes, and its values there.

    Infinite distances are ignored.

    >>> [[round(float(x), 9) for x in part] for part in envelope([1.0, 0.8], [2.0, 1.0])]
    [[0.0, 0.2, 0.8], [1.0, 0.6, 0.0]]
    """
    delta, d = numbers(deltas, "a difference").ravel(), numbers(distances, "a distance", infinite=True).ravel()
    if len(delta) != len(d):
        raise UsageError("an envelope needs as many differences as distances")
    if (d <= 0).any():
        raise UsageError("an envelope needs distances above 0")
    found = pieces(np.abs(delta), d)
    return found.corners, found.values


def pieces(delta: Floats, d: Floats) -> EnvelopePieces:
    """Return the envelope with the line of each piece."""
    use = np.isfinite(d) & (delta > 0)
    delta, d = delta[use], d[use]
    order = np.lexsort((-delta, d))
    delta, d = delta[order], d[order]
    # A steeper line must start higher than all flatter ones, or it is never on top.
    before = np.append(0.0, np.maximum.accumulate(delta)[:-1])[: len(delta)]
    delta, d = np.append(0.0, delta[delta > before]), np.append(0.0, d[delta > before])  # the first line is 0
    corners, heights, slopes = [0.0], [], []
    at = len(delta) - 1
    while at > 0:
        meets = (delta[at] - delta[:at]) / (d[at] - d[:at])
        reached = float(meets.min())
        heights.append(float(delta[at]))
        slopes.append(float(d[at]))
        corners.append(max(reached, corners[-1]))
        at = int(np.argmin(meets))  # if several lines meet in one point, the flattest continues
    return EnvelopePieces(np.array(corners), np.array(heights), np.array(slopes))


def least_absolute(found: EnvelopePieces, n: float) -> float:
    """Return the c that minimizes `n/2 envelope(c) + c` (convex, piecewise linear); of several, the least biased.

    >>> one = pieces(np.array([1.0]), np.array([1.0]))
    >>> least_absolute(one, 3), least_absolute(one, 2), least_absolute(one, 1)
    (1.0, 1.0, 0.0)
    """
    loss = n / 2 * found.values + found.corners
    return float(found.corners[np.flatnonzero(loss <= loss.min() * (1 + 1e-12))[-1]])


def least_squares(found: EnvelopePieces, n: float) -> tuple[float, float]:
    """Return the c that minimizes `n^2/4 envelope(c)^2 + 2 c^2`, which is convex, and the minimum."""
    if not len(found.heights):
        return 0.0, 0.0
    h, s = found.heights, found.slopes
    c = np.clip(h / (s + 8 / (n * n * s)), found.corners[:-1], found.corners[1:])
    loss = n * n / 4 * np.maximum(h - s * c, 0.0) ** 2 + 2 * c * c
    best = int(np.argmin(loss))
    return float(c[best]), float(loss[best])
