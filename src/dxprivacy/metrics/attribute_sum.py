"""The sum of one metric per attribute, on the full product: pairs that differ in one attribute generate it."""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from dxprivacy.errors import MetricError
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.exact.rounding import Exact
from dxprivacy.metrics.metric import BLOCK, Extreme, Metric, Pairs, shared_tick
from dxprivacy.universe.universe import Universe


class AttributeSum(Metric):
    """d(u, v) = sum over the attributes of d_k(u_k, v_k); public if any summand is infinite."""

    kind = "attribute-sum"
    join: ClassVar[Any] = np.add

    def __init__(self, universe: Universe, axes: Sequence[Metric]) -> None:
        super().__init__(universe)
        self._grid = universe  # of the coordinates; a whole series is one attribute in `universe`
        if universe.absent is not None or [a.universe.size for a in axes] != list(universe.shape):
            raise MetricError("one metric per attribute is needed, each over that attribute's values")
        self._axes = tuple(axes)
        self.error = max(a.error for a in axes) + len(axes) * 2.0**-52
        self.slack = max(a.slack for a in axes)

    @property
    def axes(self) -> tuple[Metric, ...]:
        return self._axes

    @property
    def by_attribute(self) -> tuple[Metric, ...]:
        return self._axes

    @cached_property
    def _common(self) -> Fraction | None:
        return shared_tick(self._axes)

    @property
    def tick(self) -> Fraction | None:
        return self._common

    def ticks(self, i: Ints, j: Ints) -> Ints:
        common = self._common
        if common is None:
            return super().ticks(i, j)
        total, infinite = np.zeros(len(i), dtype=np.int64), np.zeros(len(i), dtype=bool)
        for axis, metric in enumerate(self._axes):
            t = metric.ticks(self._grid.along(axis, i), self._grid.along(axis, j))
            infinite |= t < 0
            total = self.join(total, t * np.int64((metric.tick or common) / common))
        return np.where(infinite, np.int64(-1), total)

    def keys(self, i: Ints, j: Ints) -> Ints:
        along = self._grid.along
        return np.hstack([m.keys(along(a, i), along(a, j)) for a, m in enumerate(self._axes)])

    def pairwise(self, i: Ints, j: Ints) -> Floats:
        along = self._grid.along
        total = np.zeros(len(i))
        for axis, metric in enumerate(self._axes):
            total = self.join(total, metric.pairwise(along(axis, i), along(axis, j)))
        return total

    def exact(self, i: int, j: int) -> Exact:
        total: Exact = Fraction(0)
        for metric, stride in zip(self._axes, self._grid.strides, strict=True):
            n = metric.universe.size
            u, v = i // stride % n, j // stride % n
            if u != v:
                step = metric.exact(u, v)
                total = total + step if total else step
        return total

    def generators(self, block: int = BLOCK) -> Iterator[Pairs]:
        """Yield each attribute's generating pairs, in every context of the other attributes."""
        cells = np.arange(self.universe.size, dtype=np.int64)
        for axis, metric in enumerate(self._axes):
            stride = self._grid.strides[axis]
            contexts = cells[self._grid.along(axis, cells) == 0]
            chunk = max(1, block // len(contexts))
            for u, v in metric.generators():
                for a in range(0, len(u), chunk):
                    i = (u[a : a + chunk, None] * stride + contexts).ravel()
                    j = (v[a : a + chunk, None] * stride + contexts).ravel()
                    yield i, j

    @property
    def generator_count(self) -> int:
        size = self.universe.size
        return sum(m.generator_count * (size // m.universe.size) for m in self._axes)

    @cached_property
    def closest(self) -> Extreme | None:
        best: Extreme | None = None
        for axis, metric in enumerate(self._axes):
            near = metric.closest
            if near is not None and (best is None or near.distance < best.distance):
                best = Extreme(near.distance, self._lift(axis, near.pair))
        return best

    @cached_property
    def farthest(self) -> Extreme | None:
        """The farthest pair of every attribute at once."""
        i = j = 0
        total = 0.0
        for metric, stride in zip(self._axes, self._grid.strides, strict=True):
            if metric.farthest is not None:
                total += metric.farthest.distance
                i += metric.farthest.pair[0] * stride
                j += metric.farthest.pair[1] * stride
        return Extreme(total, (i, j)) if total > 0 else None

    @cached_property
    def has_infinite(self) -> bool:
        """Whether some attribute has an infinite distance."""
        return any(a.has_infinite for a in self._axes)

    @cached_property
    def identical(self) -> tuple[tuple[int, int], ...]:
        return tuple(self._lift(axis, pair) for axis, m in enumerate(self._axes) for pair in m.identical)

    def _lift(self, axis: int, pair: tuple[int, int]) -> tuple[int, int]:
        stride = self._grid.strides[axis]
        return pair[0] * stride, pair[1] * stride

    def spec(self) -> dict[str, Any]:
        return {"kind": self.kind, "shape": list(self._grid.shape), "axes": [a.spec() for a in self._axes]}


def half_reach(metric: Metric) -> Exact:
    """Return the default distance of `other`: half the largest finite distance, rounded up to four digits.

    It is the least value that tightens no distance.  A metric without finite distances gives infinity.
    """
    far = metric.farthest
    if far is None:
        return math.inf if metric.has_infinite else Fraction(0)
    if metric.tick is not None:
        return Fraction(metric.exact(*far.pair)) / 2
    half = Fraction(far.distance) / 2
    digits = Fraction(10) ** (3 - math.floor(math.log10(half)))
    return math.ceil(half * digits * (1 + Fraction(1, 10**9))) / digits
