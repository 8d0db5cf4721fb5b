"""Metrics with a closed form: the constant one (plain differential privacy) and the line."""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from dxprivacy.errors import MetricError
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.exact.rounding import Exact
from dxprivacy.metrics.metric import BLOCK, Extreme, Metric, Pairs
from dxprivacy.universe.universe import Universe


class Constant(Metric):
    """The same epsilon for every two records: plain epsilon-differential privacy.

    >>> d = Constant(Universe.listed("abc"), Fraction(1, 2))
    >>> d.exact(0, 2), d.exact(1, 1)
    (Fraction(1, 2), Fraction(0, 1))
    """

    kind = "constant"

    def __init__(self, universe: Universe, epsilon: Exact) -> None:
        super().__init__(universe)
        self.epsilon = epsilon

    @property
    def tick(self) -> Fraction | None:
        return Fraction(1) if self.epsilon in (0, math.inf) else Fraction(self.epsilon)

    def ticks(self, i: Ints, j: Ints) -> Ints:
        return np.asarray((i != j) * np.int64(0 if self.epsilon == 0 else -1 if self.epsilon == math.inf else 1))

    def pairwise(self, i: Ints, j: Ints) -> Floats:
        return np.where(i != j, float(self.epsilon), 0.0)

    def exact(self, i: int, j: int) -> Exact:
        return self.epsilon if i != j else Fraction(0)

    @cached_property
    def closest(self) -> Extreme | None:
        ok = self.universe.size > 1 and 0 < self.epsilon < math.inf
        return Extreme(float(self.epsilon), (0, 1)) if ok else None

    @cached_property
    def farthest(self) -> Extreme | None:
        return self.closest

    @cached_property
    def has_infinite(self) -> bool:
        return self.epsilon == math.inf and self.universe.size > 1

    @cached_property
    def identical(self) -> tuple[tuple[int, int], ...]:
        return super().identical if self.epsilon == 0 else ()

    def spec(self) -> dict[str, Any]:
        return {"kind": self.kind, "epsilon": str(self.epsilon)}


class Line(Metric):
    """Numbers in order; the distance grows with the difference.  Neighbors generate it.

    >>> d = Line(Universe.listed(range(4)), [0, 1, 2, 4], Fraction(1, 20))
    >>> d.exact(0, 3)
    Fraction(1, 5)
    """

    kind = "line"

    def __init__(self, universe: Universe, positions: "Sequence[int] | Ints", per_unit: Exact) -> None:
        super().__init__(universe)
        if len(positions) != universe.size:
            raise MetricError(f"{len(positions)} positions for {universe.size} elements")
        self._given = positions
        self.per_unit = per_unit

    @cached_property
    def positions(self) -> Ints:
        """Where each value stands."""
        if isinstance(self._given, range):
            return np.arange(self._given.start, self._given.stop, self._given.step, dtype=np.int64)
        return np.asarray(self._given, dtype=np.int64)

    @cached_property
    def consecutive(self) -> bool:
        """Whether each value stands one step behind the one before: then nothing has to be looked up."""
        if isinstance(self._given, range):
            return self._given.step == 1 or len(self._given) == 1
        return bool((np.diff(self.positions) == 1).all())

    def _steps(self, i: Ints, j: Ints) -> Ints:
        """How many steps lie between two values."""
        steps = i - j if self.consecutive else self.positions[i] - self.positions[j]
        return np.asarray(np.abs(steps), dtype=np.int64)

    @property
    def tick(self) -> Fraction | None:
        return Fraction(1) if self.per_unit in (0, math.inf) else Fraction(self.per_unit)

    def ticks(self, i: Ints, j: Ints) -> Ints:
        steps = self._steps(i, j)
        if self.per_unit == math.inf:
            return np.asarray(-np.sign(steps))
        return np.asarray(steps * np.int64(self.per_unit != 0))

    def pairwise(self, i: Ints, j: Ints) -> Floats:
        """Steps times the price of a step."""
        steps = self._steps(i, j).astype(np.float64)
        if self.per_unit == math.inf:
            return np.where(steps > 0, np.inf, 0.0)
        return np.asarray(steps * float(self.per_unit))

    def exact(self, i: int, j: int) -> Exact:
        """Steps times the price of a step."""
        steps = abs(int(self._given[i]) - int(self._given[j]))
        return steps * self.per_unit if steps else Fraction(0)

    @cached_property
    def _order(self) -> Ints:
        return np.argsort(self.positions, kind="stable").astype(np.int64)

    def generators(self, block: int = BLOCK) -> Iterator[Pairs]:
        """Neighbors: the way from u to v along them has exactly the length of the direct step."""
        if self.consecutive:
            last = self.universe.size - 1
            for a in range(0, last, block):
                first = np.arange(a, min(a + block, last), dtype=np.int64)
                yield first, first + 1
            return
        for a in range(0, len(self._order) - 1, block):
            yield self._order[a : a + block][: len(self._order) - 1 - a], self._order[a + 1 : a + 1 + block]

    @property
    def generator_count(self) -> int:
        return self.universe.size - 1

    @cached_property
    def farthest(self) -> Extreme | None:
        ends = (0, self.universe.size - 1) if self.consecutive else (self._order[0], self._order[-1])
        i, j = int(ends[0]), int(ends[1])
        d = float(self.exact(i, j))
        return Extreme(d, (i, j)) if 0 < d < math.inf else None

    @cached_property
    def has_infinite(self) -> bool:
        return self.per_unit == math.inf and self.universe.size > 1

    def spec(self) -> dict[str, Any]:
        """Positions and price; of consecutive positions the first and the last."""
        first, last = int(self._given[0]), int(self._given[-1])
        where = {"range": [first, last]} if self.consecutive else {"positions": self.positions.tolist()}
        return {"kind": self.kind, "per_unit": str(self.per_unit), **where}
