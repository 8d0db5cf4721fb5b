"""Explicit distances: any symmetric table, closed to a metric by shortest paths, with a report of what that tightened.

A budget function that breaks the triangle inequality and its closure allow exactly the same mechanisms (the loss of any
mechanism is a pseudometric), so closing loses nothing; but a curator must see that a pair got less than was written.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dxprivacy.errors import MetricError
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.exact.rounding import Exact, common_tick
from dxprivacy.metrics.metric import Metric
from dxprivacy.universe.universe import Universe

_FAR = np.int64(1) << 61  # stands for infinity; the sum of two still fits
_LARGEST = 1 << 60


@dataclass(frozen=True)
class Tightened:
    """A pair that got less than was written, because the detour over `via` is shorter.

    >>> from dxprivacy import metrics
    >>> metrics.from_matrix([[0, 1, 5], [1, 0, 1], [5, 1, 0]]).tightened
    (Tightened(pair=(0, 2), written=Fraction(5, 1), kept=Fraction(2, 1), via=1),)
    """

    pair: tuple[int, int]
    written: Exact
    kept: Fraction
    via: int


class Matrix(Metric):
    """Distances as a table of whole ticks.

    >>> d = Matrix.of(Universe.listed("abc"), [[0, 2, 9], [2, 0, 3], [9, 3, 0]])
    >>> d.exact(0, 2), d.tightened[0].via
    (Fraction(5, 1), 1)
    """

    kind = "matrix"

    def __init__(self, universe: Universe, table: Ints, tick: Fraction, tightened: tuple[Tightened, ...] = ()) -> None:
        super().__init__(universe)
        self._table = table
        self._tick = tick
        self.tightened = tightened

    @classmethod
    def of(cls, universe: Universe, rows: object, *, strict: bool = False) -> "Matrix":
        """From any square array; floats are exactly the binary numbers they are, fractions and decimals exact."""
        table, tick = _to_ticks(rows, universe.size)
        closed, via = _closure(table)
        found = np.argwhere(np.triu(closed < table))
        tightened = tuple(
            Tightened((int(i), int(j)), _value(table[i, j], tick), int(closed[i, j]) * tick, int(via[i, j]))
            for i, j in found[:10_000]
        )
        if strict and tightened:
            worst = tightened[0]
            a, b = universe.tell(*worst.pair)
            raise MetricError(
                f"{a} – {b} is {float(worst.written):g}, but the way over {_label(universe, worst.via)} is only "
                f"{float(worst.kept):g}: not a metric",
                details=[f"{len(found)} pairs break the triangle inequality"],
                hints=[("strict=False", "closes it: each pair keeps the length of its shortest way")],
            )
        return cls(universe, closed, tick, tightened)

    @property
    def tick(self) -> Fraction | None:
        return self._tick

    def ticks(self, i: Ints, j: Ints) -> Ints:
        t = self._table[i, j]
        return np.where(t >= _FAR, np.int64(-1), t)

    def pairwise(self, i: Ints, j: Ints) -> Floats:
        t = self._table[i, j]
        return np.where(t >= _FAR, np.inf, t * float(self._tick))

    def exact(self, i: int, j: int) -> Exact:
        return _value(self._table[i, j], self._tick)

    def spec(self) -> dict[str, Any]:
        """The table above its diagonal, a text of whole ticks per row; `-` for infinity."""
        rows = [self._table[i, i + 1 :].tolist() for i in range(self.universe.size - 1)]
        table = [" ".join("-" if t >= _FAR else str(t) for t in row) for row in rows]
        return {"kind": self.kind, "tick": str(self._tick), "table": table}


def per_value_table(budgets: Sequence[Exact]) -> list[list[Exact]]:
    """min(eps_u, eps_v) off the diagonal: each value's own budget.  A metric only for two values: close it."""
    return [[min(u, v) if a != b else Fraction(0) for b, v in enumerate(budgets)] for a, u in enumerate(budgets)]


def both_values_table(budgets: Sequence[Exact]) -> list[list[Exact]]:
    """eps_u + eps_v off the diagonal: a metric as it stands, but it doubles budgets."""
    return [[u + v if a != b else Fraction(0) for b, v in enumerate(budgets)] for a, u in enumerate(budgets)]


def _value(ticks: np.int64, tick: Fraction) -> Exact:
    return math.inf if ticks >= _FAR else int(ticks) * tick


def _label(universe: Universe, cell: int) -> str:
    return ", ".join(universe.record(cell).values())


def _to_ticks(rows: object, n: int) -> tuple[Ints, Fraction]:
    """Whole ticks, exactly where a common tick fits into 60 bits, otherwise rounded down to a dyadic grid."""
    given = np.asarray(rows)
    if given.ndim != 2 or given.shape != (n, n):
        raise MetricError(f"distances of shape {given.shape}; {n} elements need ({n}, {n})")
    if given.dtype.kind not in "iufO":
        raise MetricError(f"distances of type {given.dtype}; numbers are needed")
    try:
        numbers = given.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise MetricError("distances must be numbers, none beyond 1e150") from None
    if np.isnan(numbers).any():
        raise MetricError("distances must not be NaN")
    if (numbers < 0).any():
        raise MetricError("distances must not be negative")
    if (np.diagonal(given) != 0).any():
        raise MetricError("the distance of a record to itself must be 0")
    if not (given == given.T).all():
        i, j = (int(k) for k in np.argwhere(given != given.T)[0])
        raise MetricError(f"distances must be symmetric: ({i}, {j}) and ({j}, {i}) differ")
    finite = np.isfinite(numbers)
    largest = float(numbers[finite].max(initial=0.0))
    if largest > 1e150:
        raise MetricError("distances must be numbers, none beyond 1e150")
    if given.dtype.kind == "f":
        return _float_ticks(numbers, finite, largest)
    distinct = {v: Fraction(v) for v in set(given[finite].tolist())}
    tick = common_tick(distinct.values()) or Fraction(1)
    if largest / tick >= _LARGEST:
        tick = Fraction(2) ** (math.frexp(largest)[1] - 60)
    whole = {v: math.floor(f / tick) for v, f in distinct.items()}
    table = np.array([[whole[v] if v in whole else int(_FAR) for v in row] for row in given.tolist()], dtype=np.int64)
    return table, tick


def _float_ticks(numbers: Floats, finite: np.ndarray[Any, np.dtype[np.bool_]], largest: float) -> tuple[Ints, Fraction]:
    bits = 60 - math.frexp(largest)[1] if largest else 0
    if not -900 < bits < 900:
        raise MetricError("distances beyond the range of numbers we work with")
    scaled = np.floor(np.ldexp(np.where(finite, numbers, 0.0), bits))  # exact: a power of two, then round down
    return np.where(finite, scaled.astype(np.int64), _FAR), Fraction(2) ** -bits


def _closure(table: Ints) -> tuple[Ints, Ints]:
    """Floyd-Warshall in exact integers, and for each pair a record on its shortest way (-1: the direct step)."""
    d = table.copy()
    via = np.full(d.shape, -1, dtype=np.int64)
    for k in range(len(d)):
        detour = d[:, k, None] + d[None, k, :]
        shorter = detour < d
        if shorter.any():
            d[shorter] = detour[shorter]
            via[shorter] = k
    return np.minimum(d, _FAR), via
