"""Planes through the values of a node: how far a smooth row differs between two nodes, with a proved error.

For a node with middle c, level m + s and gradient g (any floats) let r(u) = q(u) - m - s - g (u - c), |r| <= rest on
its points and |u - c| <= wide in each coordinate.  For u in one node and v in another, and any gradient h,

    q(u) - q(v) = h (u - v) + [m - m' + s - s' - h (c - c')] + r(u) - r(v) + (g - h)(u - c) - (g' - h)(v - c').

The first term is at most dual(h) times the distance in space; the others do not grow with it.  Roundings, u = 2^-53: a
sum of n products of differences is off by at most (n + 3) u times the sum of its terms' sizes.  All these sizes belong
to the two nodes alone (m is near the values, c near the points), so the padding is small even far away from 0.
"""

from dataclasses import dataclass

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.trees.point_norms import U, dual
from dxprivacy.trees.tree import PointTree

LEVELS = 7  # from the leaves up: above, planes hardly ever help
MOST_DIMENSIONS = 4
_TOUCH = 1e-10
_ON_SPHERE = 1e-3  # a small piece of a sphere is nearly flat: no slope across it


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
        """Least squares; whatever it finds, `rest` is what is left."""
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
        """Not below |q(u) - q(v)|: so much for every unit of distance in space, and so much besides."""
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
    """Least squares slopes for each node, with a touch of regularization; 0 where there is nothing to fit."""
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
    if touch == _TOUCH:  # once more for what is left: of a linear row nothing may be, for nodes that tie to be left out
        left = q - q.mean(axis=1)[:, None]
        for g, x in zip(found, centered, strict=True):
            left -= g[:, None] * x
        for s in range(n):
            right[:, s, 0] = np.where(usable, (centered[s] * left).sum(axis=1), 0.0)
        found = found + np.linalg.solve(system, right)[:, :, 0].T
    return np.asarray(np.where(np.isfinite(found), found, 0.0), dtype=np.float64)
