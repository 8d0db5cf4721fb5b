"""Metrics with a closed form (constant, line), as a table, or as shortest paths of a graph."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from dxprivacy.errors import MetricError
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.exact.rounding import Exact, common_tick, parse_epsilon
from dxprivacy.metrics.metric import BLOCK, Extreme, Metric, Pairs
from dxprivacy.universe.universe import Universe


class Constant(Metric):
    """The same epsilon for every two records: standard DP.

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


class LineMetric(Metric):
    """Numbers in order; the distance is proportional to the difference.  Neighbors generate it.

    >>> d = LineMetric(Universe.listed(range(4)), [0, 1, 2, 4], Fraction(1, 20))
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
        """The position of each value."""
        if isinstance(self._given, range):
            return np.arange(self._given.start, self._given.stop, self._given.step, dtype=np.int64)
        return np.asarray(self._given, dtype=np.int64)

    @cached_property
    def consecutive(self) -> bool:
        """Whether each value is one step after the one before, so that positions need no lookup."""
        if isinstance(self._given, range):
            return self._given.step == 1 or len(self._given) == 1
        return bool((np.diff(self.positions) == 1).all())

    def _steps(self, i: Ints, j: Ints) -> Ints:
        # The number of steps between two values.
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
        steps = self._steps(i, j).astype(np.float64)
        if self.per_unit == math.inf:
            return np.where(steps > 0, np.inf, 0.0)
        return np.asarray(steps * float(self.per_unit))

    def exact(self, i: int, j: int) -> Exact:
        steps = abs(int(self._given[i]) - int(self._given[j]))
        return steps * self.per_unit if steps else Fraction(0)

    @cached_property
    def _order(self) -> Ints:
        return np.argsort(self.positions, kind="stable").astype(np.int64)

    def generators(self, block: int = BLOCK) -> Iterator[Pairs]:
        """Yield neighbors: the path from u to v along them has exactly the length of the direct step."""
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
        """Return positions (for consecutive ones, the first and the last) and epsilon per step."""
        first, last = int(self._given[0]), int(self._given[-1])
        where = {"range": [first, last]} if self.consecutive else {"positions": self.positions.tolist()}
        return {"kind": self.kind, "per_unit": str(self.per_unit), **where}


# -- Explicit distances ------------------------------------------------------------------------------------------------
# Any symmetric table, closed to a metric by shortest paths, with a report of the pairs that this tightened.  A table
# that violates the triangle inequality allows exactly the same mechanisms as its closure, because the loss of any
# mechanism is a pseudometric.  So the closure loses nothing, but the curator must see that a pair got less than was
# written.


_FAR = np.int64(1) << 61  # stands for infinity; the sum of two still fits
_LARGEST = 1 << 60


@dataclass(frozen=True)
class Tightened:
    """A pair whose distance is smaller than written, because the detour over `via` is shorter.

    >>> from dxprivacy import metrics
    >>> metrics.from_matrix([[0, 1, 5], [1, 0, 1], [5, 1, 0]]).tightened
    (Tightened(pair=(0, 2), written=Fraction(5, 1), kept=Fraction(2, 1), via=1),)
    """

    pair: tuple[int, int]
    written: Exact
    kept: Fraction
    via: int


class Matrix(Metric):
    """Distances as a table of integer ticks.

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
        """Build from a square array of floats (read as exact binary numbers), fractions or decimals."""
        table, tick = _to_ticks(rows, universe.size)
        closed, via = _closure(table)
        found = np.argwhere(np.triu(closed < table))
        tightened = tuple(
            Tightened((int(i), int(j)), _value(table[i, j], tick), int(closed[i, j]) * tick, int(via[i, j]))
            for i, j in found[:10_000]
        )
        if strict and tightened:
            worst = tightened[0]
            a, b = universe.describe(*worst.pair)
            raise MetricError(
                f"{a} – {b} is {float(worst.written):g}, but the path over {_label(universe, worst.via)} is only "
                f"{float(worst.kept):g}: not a metric",
                details=[f"{len(found)} pairs break the triangle inequality"],
                hints=[("strict=False", "closes it: each pair gets the length of its shortest path")],
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
        """Return the table above its diagonal, one text of integer ticks per row; `-` for infinity."""
        rows = [self._table[i, i + 1 :].tolist() for i in range(self.universe.size - 1)]
        table = [" ".join("-" if t >= _FAR else str(t) for t in row) for row in rows]
        return {"kind": self.kind, "tick": str(self._tick), "table": table}


def per_value_table(budgets: Sequence[Exact]) -> list[list[Exact]]:
    """Return min(eps_u, eps_v) off the diagonal: one epsilon per value.  With three values or more it needs closure."""
    return [[min(u, v) if a != b else Fraction(0) for b, v in enumerate(budgets)] for a, u in enumerate(budgets)]


def both_values_table(budgets: Sequence[Exact]) -> list[list[Exact]]:
    """Return eps_u + eps_v off the diagonal: a metric, but with doubled budgets."""
    return [[u + v if a != b else Fraction(0) for b, v in enumerate(budgets)] for a, u in enumerate(budgets)]


def _value(ticks: np.int64, tick: Fraction) -> Exact:
    return math.inf if ticks >= _FAR else int(ticks) * tick


def _label(universe: Universe, cell: int) -> str:
    return ", ".join(universe.record(cell).values())


def _to_ticks(rows: object, n: int) -> tuple[Ints, Fraction]:
    # Integer ticks: exact if a common tick fits into 60 bits, otherwise rounded down to a dyadic grid.
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
    # Floyd-Warshall in exact integers; and for each pair a record on its shortest path (-1: the direct step).
    d = table.copy()
    via = np.full(d.shape, -1, dtype=np.int64)
    for k in range(len(d)):
        detour = d[:, k, None] + d[None, k, :]
        shorter = detour < d
        if shorter.any():
            d[shorter] = detour[shorter]
            via[shorter] = k
    return np.minimum(d, _FAR), via


# -- Shortest paths in a weighted graph: social networks, trees, and Blowfish policies (which pairs are secrets) -------
# The edges generate the metric.  Records without a path have infinite distance: their difference is public.


MAX_NODES = 4_000

Edge = tuple[int, int, Exact]


class Graph(Matrix):
    """The length of the shortest path along the edges.

    >>> d = Graph.from_edges(Universe.listed("abcd"), [(0, 1, Fraction(1)), (1, 2, Fraction(1, 2))])
    >>> d.exact(0, 2), d.exact(0, 3)
    (Fraction(3, 2), inf)
    """

    kind = "graph"

    def __init__(self, universe: Universe, table: Ints, tick: Fraction, edges: Pairs) -> None:
        super().__init__(universe, table, tick)
        self.edges = edges

    @classmethod
    def from_edges(cls, universe: Universe, edges: Iterable[Edge]) -> "Graph":
        """Build from edges (i, j, length); of parallel edges the shortest counts."""
        n = universe.size
        if n > MAX_NODES:
            raise MetricError(
                f"a graph of {n:,} nodes is larger than the {MAX_NODES:,} we can hold",
                hints=[('metric = "smooth"', "places: alike up to the threshold, growing beyond it, at any size")],
            )
        shortest: dict[tuple[int, int], Fraction] = {}
        for i, j, length in edges:
            if not (0 <= i < n and 0 <= j < n):
                raise MetricError(f"an edge names the nodes {i} and {j}, but there are only {n}")
            if i == j:
                raise MetricError(f"an edge leads from {universe.describe(i, (i + 1) % n)[0] or i} to itself")
            if length < 0 or length != length:
                raise MetricError("the length of an edge must not be negative or NaN")
            if length == math.inf:
                continue
            pair = (min(i, j), max(i, j))
            shortest[pair] = min(shortest.get(pair, Fraction(length)), Fraction(length))
        first = np.array([i for i, _ in shortest], dtype=np.int64)
        second = np.array([j for _, j in shortest], dtype=np.int64)
        tick = common_tick(shortest.values()) or Fraction(1)
        longest = sum(sorted(shortest.values())[-(n - 1) :], Fraction(0)) / tick
        if longest >= 1 << 52:
            raise MetricError("edge lengths have too many digits to be added exactly", hints=["use round numbers"])
        weights = np.array([int(w / tick) for w in shortest.values()], dtype=np.int64)
        return cls(universe, _shortest_paths(n, first, second, weights), tick, (first, second))

    def generators(self, block: int = BLOCK) -> Iterator[Pairs]:
        first, second = self.edges
        for a in range(0, len(first), block):
            yield first[a : a + block], second[a : a + block]

    @property
    def generator_count(self) -> int:
        return len(self.edges[0])

    def spec(self) -> dict[str, Any]:
        lengths = self._table[self.edges]
        rows = sorted(zip(self.edges[0].tolist(), self.edges[1].tolist(), lengths.tolist(), strict=True))
        return {"kind": self.kind, "tick": str(self.tick), "edges": rows}


def _shortest_paths(n: int, first: Ints, second: Ints, weights: Ints) -> Ints:
    # Dijkstra's algorithm in scipy: integers below 2^52 stay exact in its floats.
    if not len(first) or (weights == 0).any():  # scipy reads a zero as no edge
        table = np.full((n, n), _FAR, dtype=np.int64)
        np.fill_diagonal(table, 0)
        table[first, second] = table[second, first] = weights
        return _closure(table)[0]
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import shortest_path

    graph = csr_array((weights.astype(np.float64), (first, second)), shape=(n, n))
    way = shortest_path(graph, method="D", directed=False)
    return np.where(np.isfinite(way), way, float(_FAR)).astype(np.int64)


def read_edges(graph: object, epsilon: Exact) -> tuple[list[str], list[tuple[str, str, Exact]]]:
    """Return nodes and edges of an edge list or a networkx graph; edges without a weight get `epsilon`."""
    if hasattr(graph, "nodes") and hasattr(graph, "edges") and callable(graph.edges):
        if getattr(graph, "is_directed", lambda: False)():
            raise MetricError("a metric is symmetric: give an undirected graph", hints=["graph.to_undirected()"])
        data = [
            (str(a), str(b), parse_epsilon(w.get("weight", epsilon), what="weight"))
            for a, b, w in graph.edges(data=True)
        ]
        return [str(node) for node in graph.nodes], data
    edges: list[tuple[str, str, Exact]] = []
    nodes: dict[str, None] = {}
    try:
        for edge in graph:  # type: ignore[attr-defined]
            a, b, *weight = edge
            nodes |= {str(a): None, str(b): None}
            edges.append((str(a), str(b), parse_epsilon(weight[0], what="weight") if weight else epsilon))
    except (TypeError, ValueError):
        raise MetricError("edges are pairs (a, b) or triples (a, b, weight)") from None
    return list(nodes), edges
