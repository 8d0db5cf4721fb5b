"""Metrics derived from others: scaled, summed, the largest of several, capped, restricted to some records.

Generating pairs: scaling keeps them.  A sum or maximum on the same universe, a cap and a restriction need all pairs
(the union of the parts' generating pairs does not span them), unless a rule with its own proof applies.
"""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from dxprivacy.errors import MetricError
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.exact.rounding import Exact
from dxprivacy.metrics.attribute_sum import AttributeSum
from dxprivacy.metrics.closed_forms import Constant, LineMetric
from dxprivacy.metrics.metric import BLOCK, Extreme, Metric, Pairs, shared_tick
from dxprivacy.trees.embedding import Embedding
from dxprivacy.universe.universe import Universe


class Scaled(Metric):
    """A metric times a positive number."""

    kind = "scaled"

    def __init__(self, base: Metric, factor: Fraction) -> None:
        super().__init__(base.universe)
        if not 0 < factor < math.inf:
            raise MetricError(f"a metric can be scaled by a positive number, not by {factor}")
        self.base, self.factor = base, factor
        self.error, self.slack = base.error + 2.0**-51, base.slack

    @property
    def tick(self) -> Fraction | None:
        return None if self.base.tick is None else self.base.tick * self.factor

    def ticks(self, i: Ints, j: Ints) -> Ints:
        return self.base.ticks(i, j)

    def keys(self, i: Ints, j: Ints) -> Ints:
        return self.base.keys(i, j)

    def pairwise(self, i: Ints, j: Ints) -> Floats:
        return np.asarray(self.base.pairwise(i, j) * float(self.factor))

    def exact(self, i: int, j: int) -> Exact:
        return self.base.exact(i, j) * self.factor

    def generators(self, block: int = BLOCK) -> Iterator[Pairs]:
        """Yield the base's generating pairs: all paths are scaled equally."""
        return self.base.generators(block)

    @cached_property
    def embedding(self) -> Embedding | None:
        """The base's embedding, scaled."""
        base = self.base.embedding
        return None if base is None else base.scaled(float(self.factor))

    @property
    def generator_count(self) -> int:
        return self.base.generator_count

    @property
    def axes(self) -> tuple[Metric, ...] | None:
        axes = self.base.axes
        if axes is None or len(axes) == 1:
            return None if axes is None else (self,)
        return tuple(Scaled(a, self.factor) for a in axes)

    @cached_property
    def closest(self) -> Extreme | None:
        return self._scaled(self.base.closest)

    @cached_property
    def farthest(self) -> Extreme | None:
        return self._scaled(self.base.farthest)

    @cached_property
    def has_infinite(self) -> bool:
        return self.base.has_infinite

    def _scaled(self, extreme: Extreme | None) -> Extreme | None:
        return None if extreme is None else Extreme(extreme.distance * float(self.factor), extreme.pair)

    def spec(self) -> dict[str, Any]:
        return {"kind": self.kind, "factor": str(self.factor), "base": self.base.spec()}


class CombinedMetric(Metric):
    """The sum, or the largest, of several metrics on the same universe; infinite if one of them is.

    >>> from dxprivacy.metrics.closed_forms import Constant
    >>> u = Universe.listed("abc")
    >>> d = CombinedMetric("max", [Constant(u, Fraction(1)), LineMetric(u, range(3), Fraction(3, 4))])
    >>> d.exact(0, 1), d.exact(0, 2)
    (Fraction(1, 1), Fraction(3, 2))
    """

    kind = "combined"

    def __init__(self, how: str, parts: Sequence[Metric]) -> None:
        if how not in ("sum", "max") or not parts:
            raise MetricError("metrics are combined by sum or max")
        super().__init__(parts[0].universe)
        if any(p.universe != self.universe for p in parts):
            raise MetricError("metrics over different universes cannot be combined")
        self.how, self.parts = how, tuple(parts)
        self.error = max(p.error for p in parts) + len(parts) * 2.0**-52
        self.slack = max(p.slack for p in parts)

    @cached_property
    def embedding(self) -> Embedding | None:
        """The embedding of the largest of one metric of places and constants: distances have a floor."""
        constants = [float(p.epsilon) for p in self.parts if isinstance(p, Constant)]
        others = [p for p in self.parts if not isinstance(p, Constant)]
        if self.how != "max" or len(others) != 1 or math.inf in constants:
            return None
        base = others[0].embedding
        if base is None or base.size != self.universe.size:
            return None
        return base.at_least(max(constants, default=0.0))

    @cached_property
    def has_infinite(self) -> bool:
        """Whether some distance of a part is infinite."""
        return any(part.has_infinite for part in self.parts)

    @cached_property
    def _common(self) -> Fraction | None:
        return shared_tick(self.parts)

    @property
    def tick(self) -> Fraction | None:
        return self._common

    def ticks(self, i: Ints, j: Ints) -> Ints:
        common = self._common
        if common is None:
            return super().ticks(i, j)
        rows = [p.ticks(i, j) for p in self.parts]
        infinite = np.any([r < 0 for r in rows], axis=0)
        scaled = [r * np.int64((p.tick or common) / common) for r, p in zip(rows, self.parts, strict=True)]
        whole = np.sum(scaled, axis=0) if self.how == "sum" else np.max(scaled, axis=0)
        return np.where(infinite, np.int64(-1), whole)

    def keys(self, i: Ints, j: Ints) -> Ints:
        return np.hstack([p.keys(i, j) for p in self.parts])

    def pairwise(self, i: Ints, j: Ints) -> Floats:
        rows = [p.pairwise(i, j) for p in self.parts]
        return np.asarray(np.sum(rows, axis=0) if self.how == "sum" else np.max(rows, axis=0), dtype=np.float64)

    def exact(self, i: int, j: int) -> Exact:
        values = [p.exact(i, j) for p in self.parts]
        return sum(values, Fraction(0)) if self.how == "sum" else max(values)

    def spec(self) -> dict[str, Any]:
        return {"kind": self.kind, "how": self.how, "parts": [p.spec() for p in self.parts]}


class AttributeMax(AttributeSum):
    """d(u, v) = the largest of the attributes' distances: l_inf, as for time series.

    On a full grid of equal lines, king's moves (steps in several coordinates at once) generate it; otherwise all pairs.
    """

    kind = "attribute-max"
    join = np.maximum

    @property
    def axes(self) -> tuple[Metric, ...] | None:  # type: ignore[override]
        """None, unless there is only one attribute."""
        return (self,) if len(self.universe.attributes) == 1 else None

    def exact(self, i: int, j: int) -> Exact:
        parts = zip(self._axes, self._grid.strides, strict=True)
        return max(m.exact(i // s % m.universe.size, j // s % m.universe.size) for m, s in parts)

    def generators(self, block: int = BLOCK) -> Iterator[Pairs]:
        """Yield king's moves on a full grid of equal lines, otherwise all pairs."""
        if not self._is_grid:
            yield from Metric.generators(self, block)
            return
        cells = np.arange(self.universe.size, dtype=np.int64)
        for move in product((-1, 0, 1), repeat=len(self._axes)):
            if move <= (0,) * len(self._axes):  # each pair once
                continue
            inside = np.ones(len(cells), dtype=bool)
            for axis, step in enumerate(move):
                u = self._grid.along(axis, cells)
                inside &= (u + step >= 0) & (u + step < self._grid.shape[axis])
            i = cells[inside]
            shift = sum(step * s for step, s in zip(move, self._grid.strides, strict=True))
            for a in range(0, len(i), block):
                yield i[a : a + block], i[a : a + block] + shift

    @property
    def generator_count(self) -> int:
        n = self.universe.size
        return n * 3 ** len(self._axes) // 2 if self._is_grid else n * (n - 1) // 2

    @cached_property
    def _is_grid(self) -> bool:
        lines = [m for m in self._axes if isinstance(m, LineMetric) and m.consecutive]
        equal = len(lines) == len(self._axes) and len({m.per_unit for m in lines}) == 1
        # With many short axes there are more king's moves than pairs.
        return equal and lines[0].per_unit < math.inf and 3 ** len(lines) < self.universe.size

    @cached_property
    def farthest(self) -> Extreme | None:
        """The farthest pair of any single attribute."""
        best: Extreme | None = None
        for axis, metric in enumerate(self._axes):
            far = metric.farthest
            if far is not None and (best is None or far.distance > best.distance):
                best = Extreme(far.distance, self._lift(axis, far.pair))
        return best


class Capped(Metric):
    """min(d, cap): no pair is more distinguishable than the cap."""

    kind = "capped"

    def __init__(self, base: Metric, cap: Fraction) -> None:
        super().__init__(base.universe)
        if not 0 < cap < math.inf:
            raise MetricError(f"a cap is a positive number, not {cap}")
        self.base, self.cap = base, cap
        self.error, self.slack = base.error, base.slack

    @cached_property
    def _common(self) -> Fraction | None:
        return shared_tick([self.base], [self.cap])

    @property
    def tick(self) -> Fraction | None:
        return self._common

    def ticks(self, i: Ints, j: Ints) -> Ints:
        common = self._common
        if common is None or self.base.tick is None:
            return super().ticks(i, j)
        cap = np.int64(self.cap / common)
        t = self.base.ticks(i, j)
        return np.where(t < 0, cap, np.minimum(t * np.int64(self.base.tick / common), cap))

    @cached_property
    def embedding(self) -> Embedding | None:
        """The base's embedding, capped."""
        base = self.base.embedding
        return None if base is None or base.size != self.universe.size else base.capped(float(self.cap))

    @cached_property
    def identical(self) -> tuple[tuple[int, int], ...]:
        return self.base.identical

    def pairwise(self, i: Ints, j: Ints) -> Floats:
        return np.minimum(self.base.pairwise(i, j), float(self.cap))

    def exact(self, i: int, j: int) -> Exact:
        return min(self.base.exact(i, j), self.cap)

    def generators(self, block: int = BLOCK) -> Iterator[Pairs]:
        """Yield all pairs; the base's generating pairs if no distance exceeds the cap."""
        far = self.base.farthest
        bites = self.base.has_infinite or (far is not None and far.distance > float(self.cap) * (1 - 1e-9))
        return super().generators(block) if bites else self.base.generators(block)

    @cached_property
    def closest(self) -> Extreme | None:
        """The base's closest pair, at most the cap apart."""
        near = self.base.closest
        return super().closest if near is None else Extreme(min(near.distance, float(self.cap)), near.pair)

    @cached_property
    def farthest(self) -> Extreme | None:
        """The base's farthest pair, at most the cap apart; if the base has infinite distances, a pair at the cap."""
        far = self.base.farthest
        if far is None or (self.base.has_infinite and far.distance < float(self.cap)):
            return super().farthest
        return Extreme(min(far.distance, float(self.cap)), far.pair)

    @cached_property
    def has_infinite(self) -> bool:
        return False

    def spec(self) -> dict[str, Any]:
        return {"kind": self.kind, "cap": str(self.cap), "base": self.base.spec()}


class Restricted(Metric):
    """A metric on some of its records; all pairs generate it, because the base's generating pairs may be gone."""

    kind = "restricted"

    def __init__(self, base: Metric, records: Sequence[int]) -> None:
        self.records = np.asarray(records, dtype=np.int64)
        if len(set(self.records.tolist())) != len(self.records) or not len(self.records):
            raise MetricError("a restriction needs different records, at least one")
        labels = [", ".join(record.values()) for record in base.universe.records(self.records.tolist())]
        super().__init__(Universe.listed(labels))
        self.base, self.error, self.slack = base, base.error, base.slack

    @property
    def tick(self) -> Fraction | None:
        return self.base.tick

    def ticks(self, i: Ints, j: Ints) -> Ints:
        return self.base.ticks(self.records[i], self.records[j])

    def keys(self, i: Ints, j: Ints) -> Ints:
        return self.base.keys(self.records[i], self.records[j])

    def pairwise(self, i: Ints, j: Ints) -> Floats:
        return self.base.pairwise(self.records[i], self.records[j])

    def exact(self, i: int, j: int) -> Exact:
        return self.base.exact(int(self.records[i]), int(self.records[j]))

    def spec(self) -> dict[str, Any]:
        """Return the base, the sizes of its attributes, and the records."""
        universe = self.base.universe
        shape = list(universe.shape) if universe.absent is None else [universe.size]
        return {"kind": self.kind, "records": self.records.tolist(), "shape": shape, "base": self.base.spec()}
