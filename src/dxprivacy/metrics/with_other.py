"""One more element, `other`, at the same distance from all: the place of invalid entries."""

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from dxprivacy.errors import MetricError
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.exact.rounding import Exact
from dxprivacy.metrics.metric import BLOCK, Extreme, Metric, Pairs, shared_tick
from dxprivacy.trees.embedding import Embedding
from dxprivacy.universe.universe import Universe


def public_pair(metric: Metric) -> tuple[int, int]:
    """Some pair at infinite distance.

    If all elements were at finite distance from the first, all would be from each other, by the triangle inequality: so
    one with the first is found.  Generators would not do: those of a graph in pieces are all finite.
    """
    for start in range(0, metric.universe.size, BLOCK):
        j = np.arange(start, min(start + BLOCK, metric.universe.size), dtype=np.int64)
        infinite = np.flatnonzero(np.isinf(metric.pairwise(np.zeros_like(j), j)))
        if len(infinite):
            return 0, int(j[infinite[0]])
    raise MetricError("no difference is public here")


class WithOther(Metric):
    """A metric on all but the last element, which is `radius` away from each of them.

    The detour over `other` has length 2 * radius, so the distance of u and v is min(base(u, v), 2 * radius): the
    shortest paths of the base's generators together with the star around `other`.  From half the largest distance on,
    nothing gets tightened.
    """

    kind = "with-other"

    def __init__(self, universe: Universe, base: Metric, radius: Exact) -> None:
        super().__init__(universe)
        if universe.size != base.universe.size + 1:
            raise MetricError("`other` adds exactly one element")
        if base.tick is not None and base.farthest is not None and base.farthest.distance > 2.0**60 * float(base.tick):
            raise MetricError("distances beyond the range of numbers we work with")
        self.base = base
        self.radius, self._twice = radius, 2 * radius
        self.error = base.error + 2.0**-50
        self.slack = base.slack
        self.last = base.universe.size

    @cached_property
    def _common(self) -> Fraction | None:
        return self.base.tick if self.radius == math.inf else shared_tick([self.base], [Fraction(self.radius)])

    @property
    def tick(self) -> Fraction | None:
        """A tick common to the base and the radius."""
        return self._common

    def _split(self, i: Ints, j: Ints) -> tuple[Any, Ints, Ints]:
        outside = (i == self.last) | (j == self.last)
        return outside, np.where(outside, 0, i), np.where(outside, 0, j)

    def ticks(self, i: Ints, j: Ints) -> Ints:
        tick, base_tick = self._common, self.base.tick
        if tick is None or base_tick is None:
            return super().ticks(i, j)
        outside, a, b = self._split(i, j)
        inner = self.base.ticks(a, b)
        inner = np.where(inner < 0, inner, inner * np.int64(base_tick / tick))
        radius = np.int64(-1) if self.radius == math.inf else np.int64(self.radius / tick)
        if radius >= 0:
            inner = np.where((inner < 0) | (inner > 2 * radius), 2 * radius, inner)
        return np.where(outside, np.where(i == j, 0, radius), inner)

    def pairwise(self, i: Ints, j: Ints) -> Floats:
        """min(base, 2 radius), and the radius to `other`."""
        outside, a, b = self._split(i, j)
        inner = np.minimum(self.base.pairwise(a, b), 2.0 * float(self.radius))
        return np.where(outside, np.where(i == j, 0.0, float(self.radius)), inner)

    def exact(self, i: int, j: int) -> Exact:
        """min(base, 2 radius), and the radius to `other`."""
        if i == j:
            return Fraction(0)
        if self.last in (i, j):
            return self.radius
        return min(self.base.exact(i, j), self._twice)

    def generators(self, block: int = BLOCK) -> Iterator[Pairs]:
        """The base's generators and the star around `other`."""
        yield from self.base.generators(block)
        for a in range(0, self.last, block):
            inner = np.arange(a, min(a + block, self.last), dtype=np.int64)
            yield inner, np.full(len(inner), self.last, dtype=np.int64)

    @property
    def generator_count(self) -> int:
        """The base's and the star's."""
        return self.base.generator_count + self.last

    @cached_property
    def embedding(self) -> Embedding | None:
        """The base's, no two of it further apart than the detour."""
        base = self.base.embedding
        return None if base is None or self.radius == 0 else base.capped(2 * float(self.radius))

    @cached_property
    def closest(self) -> Extreme | None:
        """The base's closest pair, or the way to `other`."""
        if self.base.embedding is None or self.radius == 0:
            return super().closest
        near, radius = self.base.closest, float(self.radius)
        if near is None or radius < near.distance:
            return Extreme(radius, (0, self.last)) if math.isfinite(radius) else near
        return near

    @cached_property
    def identical(self) -> tuple[tuple[int, int], ...]:
        """The base's, unless nothing is told apart from `other`."""
        return super().identical if self.radius == 0 else self.base.identical

    @cached_property
    def farthest(self) -> Extreme | None:
        """The base's, unless the detour is shorter."""
        far, radius = self.base.farthest, float(self.radius)
        if radius == 0:
            return None
        if math.isinf(radius):
            return far
        if far is not None and far.distance >= 2 * radius:
            return Extreme(2 * radius, far.pair)
        if self.base.has_infinite:
            return Extreme(2 * radius, public_pair(self.base))
        if far is not None and far.distance >= radius:
            return far
        return Extreme(radius, (0, self.last))

    @cached_property
    def has_infinite(self) -> bool:
        return self.radius == math.inf

    @property
    def tightens(self) -> bool:
        """Whether a detour over `other` is shorter than some direct distance."""
        far = self.base.farthest
        return self.radius < math.inf and (
            self.base.has_infinite or (far is not None and self.base.exact(*far.pair) > 2 * self.radius)
        )

    def spec(self) -> dict[str, Any]:
        return {"kind": self.kind, "radius": str(self.radius), "base": self.base.spec()}


class WithAbsent(WithOther):
    """Records that may be added and removed: `absent` is one more element, `radius` (the presence) away from all.

    The paper's remark on unbounded privacy fails: the query that counts everybody would be answered exactly.  With
    the absent element it is a query like any other.
    """

    kind = "with-absent"

    def __init__(self, universe: Universe, base: Metric, radius: Exact) -> None:
        if universe.absent is None or universe.present != base.universe:
            raise MetricError("`absent` needs a universe that has it, over the same attributes")
        if not 0 < radius < math.inf:
            raise MetricError("the ε of presence must be positive and finite")
        super().__init__(universe, base, radius)

    @property
    def axes(self) -> None:
        """No sum over attributes: everybody is linked by being absent."""
        return None

    @property
    def by_attribute(self) -> tuple[Metric, ...] | None:
        return self.base.by_attribute

    @cached_property
    def closest(self) -> Extreme | None:
        """The base's closest pair, or presence."""
        near, presence = self.base.closest, Extreme(float(self.radius), (0, self.last))
        return presence if near is None or near.distance > presence.distance else near

    @cached_property
    def identical(self) -> tuple[tuple[int, int], ...]:
        return self.base.identical


def present(metric: Metric) -> Metric:
    """The metric among the records that are there."""
    return metric.base if isinstance(metric, WithAbsent) else metric


def along(metric: Metric) -> tuple[Metric, ...] | None:
    """How far records that are alike except in one attribute may be told apart, for each attribute.

    Where records may be absent, so they may here: no two of them are further apart than twice the presence.
    """
    axes = metric.by_attribute
    if axes is None or not isinstance(metric, WithAbsent):
        return axes
    alone = [metric.universe.like(a.universe.attributes, file=a.universe.file) for a in axes]
    return tuple(WithAbsent(universe, a, metric.radius) for universe, a in zip(alone, axes, strict=True))
