"""A small universe as pairs of elements with finite distances, closed under the triangle inequality.

Privacy requires `|row_i - row_j| <= scale * d(i, j)` on every pair.  A pair that is not listed may be distinguished
freely.  The shortest path bounds the loss of a listed pair, so distances are replaced by shortest paths and only
decrease.  Elements that no path joins are in different classes, and shifting a row within a class costs nothing.
Invariant: `closed` is symmetric, 0 on the diagonal, infinite between classes, and obeys the triangle inequality up to
rounding.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dxprivacy.errors import UsageError
from dxprivacy.exact.arrays import Bools, Floats, Ints

LARGEST = 1e60  # bound on numbers and distances, so that squares do not overflow
_MOST_RECORDS = 2**63


@dataclass(frozen=True, eq=False)
class ClosedPairs:
    """The closed distances of all pairs of elements."""

    closed: Floats

    @property
    def size(self) -> int:
        """The number of elements."""
        return len(self.closed)

    @cached_property
    def all(self) -> tuple[Ints, Ints, Floats]:
        """Every pair i < j at a finite distance, and the distances."""
        return _listed(self.closed, np.isfinite(self.closed))

    @cached_property
    def essential(self) -> tuple[Ints, Ints, Floats]:
        """The pairs that are not implied by a detour over shorter ones; constraints on them suffice, up to rounding.

        Both legs of a detour are clearly shorter than the pair, so no two pairs can imply each other.
        """
        keep: Bools = np.isfinite(self.closed)
        longest = self.closed * (1 - 1e-6)
        for k in range(self.size):
            to, away = self.closed[:, [k]], self.closed[[k], :]
            detour = (to + away <= self.closed * (1 + 1e-12)) & (to < longest) & (away < longest)
            keep &= ~(detour & (to > 0) & (away > 0))
        return _listed(self.closed, keep)

    @cached_property
    def classes(self) -> Ints:
        """The class of each element, named by the smallest element of the class."""
        return np.asarray(np.isfinite(self.closed).argmax(axis=1), dtype=np.int64)

    def loads(self, rows: Floats, scales: Floats | None = None) -> Floats:
        """Return the fraction of each pair's distance that the rows, divided by their scales, use in total."""
        first, second, distances = self.all
        used = np.zeros(len(first))
        for k, row in enumerate(rows):
            # Differences first: a large shift of the row must not be rounded by its scale.
            used += np.abs(row[first] - row[second]) / (1.0 if scales is None else scales[k])
        return used / distances

    def offset(self, error: Floats) -> tuple[Floats, Floats]:
        """Return for each row of errors half the largest range within a class, and the middles to subtract."""
        low, high = np.full(error.shape, np.inf), np.full(error.shape, -np.inf)
        rows = np.arange(len(error))[:, None]
        np.minimum.at(low, (rows, self.classes), error)
        np.maximum.at(high, (rows, self.classes), error)
        low, high = low[:, self.classes], high[:, self.classes]
        return ((high - low) / 2).max(axis=1), (low + high) / 2

    def middle(self, row: Floats, scale: float) -> Floats:
        """Return the nearest row (in maximum norm) that changes by at most `scale` times the distance.

        It is the average of the two McShane extensions, the largest and the smallest.
        """
        with np.errstate(invalid="ignore"):
            reach = np.where(np.isfinite(self.closed), scale * self.closed, np.inf)
        return np.asarray(((row - reach).max(axis=1) + (row + reach).min(axis=1)) / 2, dtype=np.float64)


def close(size: int, first: Any, second: Any, distances: Any) -> ClosedPairs:
    """Close the pairs of a universe of `size` elements; drop infinite distances, raise UsageError for invalid ones.

    >>> close(3, [0, 1, 0], [1, 2, 2], [1.0, 2.0, 9.0]).closed[0]
    array([0., 1., 3.])
    """
    i, j, d = _indices(first, size), _indices(second, size), numbers(distances, "a distance", infinite=True)
    if d.ndim != 1 or not len(i) == len(j) == len(d):
        raise UsageError("pairs need as many first elements as second ones and distances")
    if (i == j).any():
        raise UsageError("a pair joins an element with itself")
    if (d < 1 / LARGEST).any() or (d[np.isfinite(d)] > LARGEST).any():
        raise UsageError(f"a distance is not between {1 / LARGEST:g} and {LARGEST:g}")
    matrix = np.full((size, size), np.inf)
    np.minimum.at(matrix, (i, j), d)
    matrix = np.minimum(matrix, matrix.T)
    np.fill_diagonal(matrix, 0.0)
    return ClosedPairs(shortest(matrix))


def shortest(matrix: Floats) -> Floats:
    """Return the lengths of the shortest paths (Floyd-Warshall)."""
    matrix = matrix.copy()
    for k in range(len(matrix)):
        np.minimum(matrix, matrix[:, [k]] + matrix[[k], :], out=matrix)
    return matrix


def numbers(value: Any, what: str, *, infinite: bool = False) -> Floats:
    """Return an array of floats; raise UsageError for NaN and for numbers that are too large."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{what} is not a number") from error
    if np.isnan(array).any() or (not infinite and not (np.abs(array) <= LARGEST).all()):
        raise UsageError(f"{what} is not a number of at most {LARGEST:g}")
    return array


def records(n: Any) -> float:
    """Return the public number of records as a float; raise UsageError unless it is between 1 and 2^63."""
    if isinstance(n, bool) or not isinstance(n, (int, float, np.integer, np.floating)):
        raise UsageError("the number of records is not a number", hints=["n must be public: the bias grows with it"])
    if not (math.isfinite(n) and 1 <= n <= _MOST_RECORDS):
        raise UsageError("the number of records is not between 1 and 2^63")
    return float(n)


def enough(scales: Floats, rows: Floats, pairs: ClosedPairs) -> Floats:
    """Enlarge the scales by a common factor for rounding, so that no load exceeds 1; rows of scale 0 must not vary."""
    varies = scales > 0
    for _ in range(60):
        load = float(pairs.loads(rows[varies], scales[varies]).max(initial=0.0))
        if load <= 1:
            return scales
        scales = scales * (load * (1 + 2.0**-50))
    raise RuntimeError("scales did not become large enough")


def _indices(value: Any, size: int) -> Ints:
    array = np.asarray(value)
    if array.size == 0:
        return np.zeros(0, dtype=np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise UsageError("the elements of pairs are not a list of integers")
    if array.min() < 0 or array.max() >= size:
        raise UsageError(f"a pair names an element outside 0 .. {size - 1}")
    return array.astype(np.int64)


def _listed(closed: Floats, keep: Bools) -> tuple[Ints, Ints, Floats]:
    first, second = np.nonzero(np.triu(keep, 1))
    return first.astype(np.int64), second.astype(np.int64), closed[first, second]
