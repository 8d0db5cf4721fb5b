"""Shortest paths in a weighted graph: social networks, trees, and Blowfish policies (which pairs are secrets).

The edges generate the metric.  What is not connected is infinitely far apart: public.
"""

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from dxprivacy.errors import MetricError
from dxprivacy.exact.arrays import Ints
from dxprivacy.exact.rounding import Exact, budget, common_tick
from dxprivacy.metrics.matrix_metric import _FAR, Matrix, _closure
from dxprivacy.metrics.metric import BLOCK, Pairs
from dxprivacy.universe.universe import Universe

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
        """From edges (i, j, length); of several between two records the shortest counts."""
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
                raise MetricError(f"an edge leads from {universe.tell(i, (i + 1) % n)[0] or i} to itself")
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
    """Whole numbers below 2^52 stay exact in the floats of scipy's search."""
    if not len(first) or (weights == 0).any():  # scipy takes a zero for no edge
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
    """Nodes and edges of an edge list or a networkx graph; edges without a weight get `epsilon`."""
    if hasattr(graph, "nodes") and hasattr(graph, "edges") and callable(graph.edges):
        if getattr(graph, "is_directed", lambda: False)():
            raise MetricError("a metric is symmetric: give an undirected graph", hints=["graph.to_undirected()"])
        data = [(str(a), str(b), budget(w.get("weight", epsilon), what="weight")) for a, b, w in graph.edges(data=True)]
        return [str(node) for node in graph.nodes], data
    edges: list[tuple[str, str, Exact]] = []
    nodes: dict[str, None] = {}
    try:
        for edge in graph:  # type: ignore[attr-defined]
            a, b, *weight = edge
            nodes |= {str(a): None, str(b): None}
            edges.append((str(a), str(b), budget(weight[0], what="weight") if weight else epsilon))
    except (TypeError, ValueError):
        raise MetricError("edges are pairs (a, b) or triples (a, b, weight)") from None
    return list(nodes), edges
