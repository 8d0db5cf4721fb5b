"""Features of points on which a privacy loss depends: rows of numbers, in three shapes, and their sum.

*scalar*  one row: the range of each node, and planes through its values;
*labels*  tables: every point counts in at most one row, with a value;
*dense*   any rows: a middle of each node, and the largest distance of its points from it.

`between` and `across` are rounded a few times for each row; `bound` is an upper bound on the true value of any pair, up
to a relative error that `Numerator` adds.  Weights are finite.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.trees.embedding import U, dual
from dxprivacy.trees.tree import PointTree

# -- Planes through the values of a node: bounds on the difference of a smooth row between two nodes -------------------
# For a node with middle c, level m + s and gradient g (any floats) let r(u) = q(u) - m - s - g (u - c), |r| <= rest on
# its points and |u - c| <= wide in each coordinate.  For u in one node and v in another, and any gradient h,
#
#     q(u) - q(v) = h (u - v) + [m - m' + s - s' - h (c - c')] + r(u) - r(v) + (g - h)(u - c) - (g' - h)(v - c').
#
# The first term is at most dual(h) times the distance in space; the others do not grow with it.  Rounding, u = 2^-53:
# a sum of n products of differences is off by at most (n + 3) u times the sum of its terms' sizes.  All these sizes
# depend on the two nodes alone (m is near the values, c near the points), so the padding is small even far from 0.


LEVELS = 7  # levels above the leaves on which planes are used; higher up they hardly help
MOST_DIMENSIONS = 4
_TOUCH = 1e-10
_ON_SPHERE = 1e-3  # a small piece of a sphere is nearly flat: suppress slopes perpendicular to it


@dataclass(frozen=True, eq=False)
class Planes:
    """A plane for each node of a level."""

    middle: Floats
    gradient: Floats
    level: Floats
    shift: Floats
    rest: Floats
    wide: Floats

    @classmethod
    def through(cls, tree: PointTree, level: int, values: Floats) -> "Planes":
        """Fit planes by least squares; `rest` bounds the residuals, so any fit is valid."""
        nodes, n = 1 << level, len(tree.points)
        middle = (tree.low[level] + tree.high[level]) / 2
        points = tree.points.reshape(n, nodes, -1) - middle[:, :, None]
        q = values.reshape(nodes, -1)
        about = (q.min(axis=1) + q.max(axis=1)) / 2
        q = q - about[:, None]
        gradient = _slopes(points, q, _ON_SPHERE if tree.embedding.arc else _TOUCH)
        left = q.copy()
        for g, x in zip(gradient, points, strict=True):
            left -= g[:, None] * x
        top, bottom = left.max(axis=1), left.min(axis=1)
        shift = (top + bottom) / 2
        wide = np.abs(points).max(axis=2) * (1 + 4 * U)
        size = np.abs(q).max(axis=1) + (np.abs(gradient) * wide).sum(axis=0)
        rest = np.maximum(top - shift, shift - bottom) * (1 + 4 * U) + 2 * (n + 6) * U * size
        return cls(middle, gradient, about, shift, rest, wide)

    def apart(self, a: Ints, b: Ints, p: float) -> tuple[Floats, Floats]:
        """Bound |q(u) - q(v)|: return a slope per unit of distance in space, and a constant."""
        steep, besides = [], self.rest[a] + self.rest[b]
        level, shift = self.level[a] - self.level[b], self.shift[a] - self.shift[b]
        cross = level + shift
        size = np.abs(level) + np.abs(self.shift[a]) + np.abs(self.shift[b])
        for g, c, w in zip(self.gradient, self.middle, self.wide, strict=True):
            first, second = g[a], g[b]
            h = (first + second) / 2
            step = h * (c[a] - c[b])
            cross -= step
            size += np.abs(step)
            besides += np.abs(first - h) * w[a] + np.abs(second - h) * w[b]
            steep.append(h)
        n = len(self.gradient)
        besides += np.abs(cross) + 2 * (n + 6) * U * size
        pad = 1 + (4 * n + 32) * U
        return dual(steep, p) * pad, besides * pad


def _slopes(points: Floats, q: Floats, touch: float) -> Floats:
    """Return least-squares slopes for each node, slightly regularized; 0 if there is nothing to fit."""
    n, nodes, _ = points.shape
    centered = points - points.mean(axis=2)[:, :, None]
    system = np.empty((nodes, n, n))
    right = np.empty((nodes, n, 1))
    for s in range(n):
        right[:, s, 0] = (centered[s] * q).sum(axis=1)
        for t in range(s + 1):
            system[:, s, t] = system[:, t, s] = (centered[s] * centered[t]).sum(axis=1)
    trace = np.trace(system, axis1=1, axis2=2)
    usable = (trace > 1e-280) & (trace < 1e280)
    system[~usable] = np.eye(n)
    right[~usable] = 0.0
    system += np.eye(n) * (touch * np.where(usable, trace, 0.0))[:, None, None]
    found = np.linalg.solve(system, right)[:, :, 0].T
    if touch == _TOUCH:  # refine once: the residual of a linear row must vanish, so that tied nodes can be pruned
        left = q - q.mean(axis=1)[:, None]
        for g, x in zip(found, centered, strict=True):
            left -= g[:, None] * x
        for s in range(n):
            right[:, s, 0] = np.where(usable, (centered[s] * left).sum(axis=1), 0.0)
        found = found + np.linalg.solve(system, right)[:, :, 0].T
    return np.asarray(np.where(np.isfinite(found), found, 0.0), dtype=np.float64)


# -- Features ----------------------------------------------------------------------------------------------------------


class Feature(Protocol):
    """Some rows over the records, with bounds on their differences between nodes."""

    @property
    def rows(self) -> int:
        """The number of rows: the number of rounding errors of a value, up to a constant."""

    def bound(self, level: int, a: Ints, b: Ints) -> Floats:
        """Return an upper bound on the difference between points of two nodes, which may be the same node."""

    def refined(self, level: int, a: Ints, b: Ints) -> tuple[Floats, Floats] | None:
        """Return a bound as a slope per unit of distance in space plus a constant; None if it would not help."""

    def between(self, i: Ints, j: Ints) -> Floats:
        """Return the difference of the points in two slots."""

    def across(self, a: Ints, b: Ints) -> Floats:
        """Return all differences between the points of two leaves, for many pairs of leaves."""

    def ends(self, level: int, a: Ints, b: Ints) -> tuple[Ints, Ints] | None:
        """Return slots that may differ most, to start with; None if not known."""


class Scalar:
    """A feature of one row: weight |q(u) - q(v)|."""

    rows = 1

    def __init__(self, tree: PointTree, values: Floats, weight: float = 1.0) -> None:
        self.tree, self.weight = tree, weight
        leaves = tree.leaves(values)
        self._leaves, self._values = leaves, leaves.ravel()
        first = np.arange(1 << tree.levels) * tree.leaf
        self._top = self._up(first + leaves.argmax(axis=1), largest=True)
        self._bottom = self._up(first + leaves.argmin(axis=1), largest=False)
        self.high = [self._values[at] for at in self._top]
        self.low = [self._values[at] for at in self._bottom]
        self._planes: dict[int, Planes] = {}

    def _up(self, at: Ints, *, largest: bool) -> list[Ints]:
        out = [at]
        for _ in range(self.tree.levels):
            a, b = out[-1][0::2], out[-1][1::2]
            first = self._values[a] >= self._values[b] if largest else self._values[a] <= self._values[b]
            out.append(np.where(first, a, b))
        return out[::-1]

    def bound(self, level: int, a: Ints, b: Ints) -> Floats:
        high, low = self.high[level], self.low[level]
        return np.maximum(high[a] - low[b], high[b] - low[a]) * self.weight

    def refined(self, level: int, a: Ints, b: Ints) -> tuple[Floats, Floats] | None:
        if level < self.tree.levels - LEVELS or self.tree.embedding.dimensions > MOST_DIMENSIONS:
            return None
        if level not in self._planes:
            self._planes[level] = Planes.through(self.tree, level, self._values)
        steep, besides = self._planes[level].apart(a, b, self.tree.embedding.p)
        return steep * self.weight, besides * self.weight

    def between(self, i: Ints, j: Ints) -> Floats:
        return np.abs(self._values[i] - self._values[j]) * self.weight

    def across(self, a: Ints, b: Ints) -> Floats:
        apart = self._leaves[a][:, :, None] - self._leaves[b][:, None, :]
        np.abs(apart, out=apart)
        return np.multiply(apart, self.weight, out=apart)

    def ends(self, level: int, a: Ints, b: Ints) -> tuple[Ints, Ints] | None:
        top, bottom, high, low = self._top[level], self._bottom[level], self.high[level], self.low[level]
        down = high[a] - low[b] >= high[b] - low[a]
        return np.where(down, top[a], bottom[a]), np.where(down, bottom[b], top[b])


class Labels:
    """A table: weight |value - value| within a row; across rows, the sum of both weighted values (or the larger)."""

    rows = 2

    def __init__(self, tree: PointTree, labels: Ints, values: Floats, weights: Floats, *, largest: bool) -> None:
        self.tree, self.largest = tree, largest
        self._labels = tree.leaves(labels.astype(np.float64))
        self._values, self._weights = tree.leaves(values), tree.leaves(np.where(values == 0, 0.0, weights))
        self._sizes = np.abs(self._values) * self._weights
        self._signed = bool((values < 0).any())
        self._first, self._last = (
            tree.up(f(self._labels, axis=1), j) for f, j in ((np.min, np.minimum), (np.max, np.maximum))
        )
        self._low, self._high = (
            tree.up(f(self._values, axis=1), j) for f, j in ((np.min, np.minimum), (np.max, np.maximum))
        )
        self._most = tree.up(self._sizes.max(axis=1), np.maximum)
        self._heavy = tree.up(self._weights.max(axis=1), np.maximum)

    def bound(self, level: int, a: Ints, b: Ints) -> Floats:
        first, last, low, high = self._first[level], self._last[level], self._low[level], self._high[level]
        most, heavy = self._most[level], self._heavy[level]
        alike = (first[a] == last[a]) & (first[b] == last[b]) & (first[a] == first[b])
        within = np.maximum(high[a] - low[b], high[b] - low[a]) * np.maximum(heavy[a], heavy[b])
        # Two points in one row differ by at most the sum of their sizes; if no value is negative, by the larger.
        small = self.largest and not self._signed
        apart = np.maximum(most[a], most[b]) if small else most[a] + most[b]
        return np.where(alike, np.minimum(within, apart), apart)

    def refined(self, level: int, a: Ints, b: Ints) -> None:  # noqa: ARG002
        """Nothing better is known."""
        return

    def between(self, i: Ints, j: Ints) -> Floats:
        labels, values = self._labels.ravel(), self._values.ravel()
        weights, sizes = self._weights.ravel(), self._sizes.ravel()
        within = np.abs(values[i] - values[j]) * np.maximum(weights[i], weights[j])
        across = np.maximum(sizes[i], sizes[j]) if self.largest else sizes[i] + sizes[j]
        return np.where(labels[i] == labels[j], within, across)

    def across(self, a: Ints, b: Ints) -> Floats:
        slots = np.arange(self.tree.leaf)
        i = a[:, None, None] * self.tree.leaf + slots[:, None]
        j = b[:, None, None] * self.tree.leaf + slots
        return self.between(*np.broadcast_arrays(i, j))

    def ends(self, level: int, a: Ints, b: Ints) -> None:  # noqa: ARG002
        """Nothing to begin with."""
        return


class Dense:
    """A feature of any rows: sum_k weight_k |q_k(u) - q_k(v)|, or the largest of these terms."""

    def __init__(self, tree: PointTree, values: Floats, weights: Floats, *, largest: bool) -> None:
        self.tree, self.weights, self.largest = tree, weights, largest
        self.rows = len(values)
        self._values = np.stack([tree.leaves(line) for line in values])
        leaves = self._values
        self._high, self._low = tree.up(leaves.max(axis=2), np.maximum), tree.up(leaves.min(axis=2), np.minimum)
        if not largest:
            self._middle = [(high + low) / 2 for high, low in zip(self._high, self._low, strict=True)]

    @cached_property
    def _radius(self) -> list[Floats]:
        """The largest distance of a node's points from its middle, level by level."""
        out = []
        flat = self._values.reshape(self.rows, -1)
        for level, middle in enumerate(self._middle):
            total = np.zeros((1 << level, flat.shape[1] >> level))
            for line, m, w in zip(flat, middle, self.weights.tolist(), strict=True):
                total += np.abs(line.reshape(1 << level, -1) - m[:, None]) * w
            out.append(total.max(axis=1))
        return out

    def bound(self, level: int, a: Ints, b: Ints) -> Floats:
        out = np.zeros(len(a))
        if self.largest:
            for high, low, w in zip(self._high[level], self._low[level], self.weights.tolist(), strict=True):
                np.maximum(out, np.maximum(high[a] - low[b], high[b] - low[a]) * w, out=out)
            return out
        for m, w in zip(self._middle[level], self.weights.tolist(), strict=True):
            out += np.abs(m[a] - m[b]) * w
        radius = self._radius[level]
        return out + radius[a] + radius[b]

    def refined(self, level: int, a: Ints, b: Ints) -> None:  # noqa: ARG002
        """Nothing better is known."""
        return

    def _joined(self, parts: Floats, apart: Floats, w: float) -> None:
        np.abs(apart, out=apart)
        np.multiply(apart, w, out=apart)
        (np.maximum if self.largest else np.add)(parts, apart, out=parts)

    def between(self, i: Ints, j: Ints) -> Floats:
        out = np.zeros(len(i))
        for line, w in zip(self._values.reshape(self.rows, -1), self.weights.tolist(), strict=True):
            self._joined(out, line[i] - line[j], w)
        return out

    def across(self, a: Ints, b: Ints) -> Floats:
        out = np.zeros((len(a), self.tree.leaf, self.tree.leaf))
        for line, w in zip(self._values, self.weights.tolist(), strict=True):
            self._joined(out, line[a][:, :, None] - line[b][:, None, :], w)
        return out

    def ends(self, level: int, a: Ints, b: Ints) -> None:  # noqa: ARG002
        """Nothing to begin with."""
        return


class Numerator:
    """A privacy loss: a sum of terms, each the largest of some features."""

    def __init__(self, terms: Sequence[Sequence[Feature]]) -> None:
        self.terms = [list(term) for term in terms if term]
        rows = sum(feature.rows for term in self.terms for feature in term)
        self.error = (2 * rows + 16 + len(self.terms)) * U

    @property
    def rows(self) -> int:
        """The work of computing one value."""
        return max(1, sum(feature.rows for term in self.terms for feature in term))

    def bound(self, level: int, a: Ints, b: Ints) -> Floats:
        """Return an upper bound on the loss of any pair of points of two nodes."""
        out = np.zeros(len(a))
        for term in self.terms:
            out += _largest([feature.bound(level, a, b) for feature in term])
        return out * (1 + self.error)

    def refined(self, level: int, a: Ints, b: Ints, d: Floats, stretch: Floats | float, blur: float) -> Floats | None:
        """Bound the ratio of any pair of points of two nodes at least `d` apart; None if this does not help."""
        out, better = np.zeros(len(a)), False
        for term in self.terms:
            parts = []
            for feature in term:
                ratio = feature.bound(level, a, b) / d
                found = feature.refined(level, a, b)
                if found is not None:
                    better = True
                    steep, besides = found
                    ratio = np.minimum(ratio, steep * stretch + (besides + steep * blur) / d)
                parts.append(ratio)
            out += _largest(parts)
        return out * (1 + self.error) if better else None

    def between(self, i: Ints, j: Ints) -> Floats:
        """Return the losses of pairs of slots."""
        out = np.zeros(len(i))
        for term in self.terms:
            out += _largest([feature.between(i, j) for feature in term])
        return out

    def across(self, a: Ints, b: Ints) -> Floats:
        """Return all losses between the points of two leaves."""
        first, *more = self.terms
        out = _largest([feature.across(a, b) for feature in first])
        for term in more:
            out = out + _largest([feature.across(a, b) for feature in term])
        return out

    def ends(self, level: int, a: Ints, b: Ints) -> tuple[Ints, Ints] | None:
        """Return slots that may differ most, from the first feature that knows some."""
        for term in self.terms:
            for feature in term:
                found = feature.ends(level, a, b)
                if found is not None:
                    return found
        return None


def _largest(parts: list[Floats]) -> Floats:
    out = parts[0]
    for part in parts[1:]:
        out = np.maximum(out, part)
    return out
