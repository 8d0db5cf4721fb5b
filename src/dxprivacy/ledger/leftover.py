"""The remaining budget of a pair of records: the length of the shortest path of `d - spent`.

`d - spent` of the pair itself is too large: on the unit line, after a query that separates only the middle of three
records at scale 1, the two outer ones have d - spent = 2, but every path between them is used up, so nothing is left.

The graph is kept small without changing any shortest path:

*generators*   pairs that differ in one attribute suffice for a sum of attributes: spent obeys the triangle inequality;
*components*   attributes that no query links add up;
*lines*        values that no query separates, in any context, form runs; a path enters and leaves a run at its ends,
               and its moves along other attributes inside the run can be made at an end;
*dominated*    a value is left out if another one with the same effect on moves of other attributes has at most as much
               left towards every value, in every context: each path over the first can go over the second.

Under add-remove neighbors, `absent` is one more node with an edge to all others.  Then attributes no longer add up, and
all are searched together.  Values with the same effect on other attributes' moves have the same loss of presence.

The two given records are always kept.  All numbers are floats, for printing; no decision rests on them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dxprivacy.errors import QueryError
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.exact.rounding import Exact
from dxprivacy.metrics import Metric
from dxprivacy.metrics.closed_forms import Constant, LineMetric
from dxprivacy.metrics.with_other import WithAbsent, WithOther, present
from dxprivacy.privacy import Bound, contexts_of, max_ratio
from dxprivacy.privacy.costs import SumCost
from dxprivacy.privacy.proportional_costs import taken
from dxprivacy.universe.blocks import joint_classes
from dxprivacy.universe.loss_terms import Term
from dxprivacy.universe.universe import Universe

MAX_NODES = 60_000
MAX_EDGES = 4_000_000
_ALL_PAIRS = 5_000  # nodes of a graph with all its edges
_MATRIX = 20_000_000  # entries of the tables that are searched for dominated values
_WORK = 40_000_000  # the same, times the number of blocks
_CHUNK = 1 << 18  # pairs at a time
_DUST = 1e-200  # less is a sum of the placeholders that stand for 0 in a sparse array
_CANDIDATES = 12
_GRAPHS = 16
CONTEXTS = 256  # of the attributes that two records share, up to which all are searched


@dataclass(frozen=True)
class Way:
    """The remaining budget between two records, and the records on the shortest path, both ends included."""

    left: float
    cells: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class _Graph:
    """Nodes are record indices, ascending, with all attributes outside at 0; edges have the remaining budget."""

    nodes: Ints
    edges: Any  # a scipy sparse array


def _rest(part: Exact) -> float:
    # The fraction of a distance that a proportional cost leaves.
    return 1.0 - min(float(part), 1.0)


class Leftover:
    """The remaining budget of pairs, given everything spent so far; prepared for many pairs."""

    def __init__(self, spent: SumCost, metric: Metric, *, bounded: bool = True) -> None:
        self.spent, self.metric, self.universe = spent, metric, metric.universe
        self.bounded = bounded  # whether the ledger may decide about these costs by a bound instead of pair by pair
        self._present = present(metric)
        # Fractions of distances that proportional costs use, as the ledger charges them.
        self.proportional_loss = spent.proportional_loss_under(metric).decided(len(self._present.axes or ()))
        self._kept: dict[int, Ints] = {}
        self._graphs: dict[tuple[object, ...], _Graph] = {}

    @property
    def radius(self) -> float:
        """The distance of every record from `absent`; infinite if records cannot be absent."""
        return float(self.metric.radius) if isinstance(self.metric, WithAbsent) else math.inf

    @cached_property
    def bound(self) -> Bound:
        """The bound by which the ledger decides about these costs."""
        return max_ratio(self.spent, self.metric)

    def spendable(self, i: int, j: int) -> tuple[float, bool]:
        """Return what can be spent on a pair of records, and whether it is exact (otherwise what the bound leaves)."""
        if not self.bounded or self.bound.exact:
            try:
                return self.between(i, j).left, True
            except QueryError:
                pass
        return self._by_bound(i, j), False

    def spendable_in_any_context(self, i: int, j: int) -> tuple[float, bool]:
        """Return the same for the tightest pair that differs like these, over all values of shared attributes."""
        if self.universe.absent in (i, j):
            return self.spendable(i, j)
        shared = [axis for axis in range(len(self.universe.shape)) if self._at(i, axis) == self._at(j, axis)]
        contexts = contexts_of(self.spent.terms, shared, self.universe, CONTEXTS)
        if contexts is None:
            return self._by_bound(i, j), False
        here = sum(self._at(i, axis) * self.universe.strides[axis] for axis in shared)
        found = [self.spendable(i - here + c, j - here + c) for c in contexts.tolist()]
        return min(left for left, _ in found), all(exact for _, exact in found)

    def _by_bound(self, i: int, j: int) -> float:
        d = float(self.metric.exact(i, j))
        return max(1.0 - float(self.bound.upper), 0.0) * d if math.isfinite(d) else d

    def between(self, i: int, j: int) -> Way:
        """Return the path between two records with the least left; raises QueryError if the graph is too large."""
        if i == j:
            return Way(0.0, (i,))
        axes = self._present.axes
        if axes is None:
            return self._search((), i, j)
        if self.universe.absent is not None:
            return self._search(tuple(range(len(axes))), i, j)
        left, cells = 0.0, [i]
        for component, touched in self._components:
            source, target = (sum(self._at(c, a) * self.universe.strides[a] for a in component) for c in (i, j))
            if source == target:
                continue
            here = cells[-1] - source
            if touched:
                way = self._search(component, source, target)
            else:
                axis = component[0]
                direct = float(axes[axis].exact(self._at(i, axis), self._at(j, axis)))
                way = Way(
                    direct * _rest(self.proportional_loss.along_axis(axis)) if math.isfinite(direct) else direct,
                    (source, target),
                )
            left += way.left
            cells += [here + cell for cell in way.cells[1:]]
        return Way(left, tuple(cells))

    @cached_property
    def to_absent(self) -> Floats | None:
        """The remaining budget between each record and `absent`; None with too many records."""
        from scipy.sparse.csgraph import dijkstra

        universe, axes = self.universe, self._present.axes
        if universe.absent is None or universe.size > MAX_NODES:
            return None
        values = [np.arange(n, dtype=np.int64) for n in universe.shape]
        try:
            if axes is None:
                graph = self._of_all_pairs((), [np.arange(universe.size, dtype=np.int64)])
            else:
                graph = self._of_moves(tuple(range(len(axes))), values)
        except QueryError:
            return None
        length = dijkstra(graph.edges, directed=False, indices=universe.absent)
        return np.where(length < _DUST, 0.0, length)[: universe.cells]

    def least_over_absence(self, axis: int | None) -> tuple[tuple[int, int], float] | None:
        """Return the two records with the smallest fraction of their distance left on the path over `absent`.

        They differ in one attribute only, or in any (`axis=None`).  None with too many records.
        """
        rest = self.to_absent
        if rest is None:
            return None
        n = self.universe.cells if axis is None else self.universe.shape[axis]
        if n * self.universe.cells > _MATRIX:
            return None
        stride = 1 if axis is None else self.universe.strides[axis]
        best, pair = math.inf, (0, 0)
        starts = np.arange(self.universe.cells, dtype=np.int64)
        starts = starts[starts // stride % n == 0]
        for value in range(n):
            i = np.repeat(starts + value * stride, n - value - 1)
            if not len(i):
                continue
            j = (starts[:, None] + np.arange(value + 1, n, dtype=np.int64) * stride).ravel()
            d = self.metric.pairwise(i, j)
            part = np.divide(rest[i] + rest[j], d, out=np.full(len(d), np.inf), where=(d > 0) & np.isfinite(d))
            k = int(part.argmin())
            if part[k] < best:
                best, pair = float(part[k]), (int(i[k]), int(j[k]))
        return (pair, best) if best < math.inf else None

    def detour(self, way: Way) -> int | None:
        """Return the middle record of a detour with less left than the direct step; None if there is no such detour."""
        i, j = way.cells[0], way.cells[-1]
        direct = self._direct(i, j)
        if len(way.cells) < 3 or not way.left < direct * (1 - 1e-9) - 1e-12:
            return None
        return min(way.cells[1:-1], key=lambda x: self._direct(i, x) + self._direct(x, j))

    def _direct(self, i: int, j: int) -> float:
        allowed = float(self.metric.exact(i, j))
        return allowed if np.isinf(allowed) else max(allowed - float(self.spent.exact(i, j)), 0.0)

    def _at(self, cell: int, axis: int) -> int:
        return cell // self.universe.strides[axis] % self.universe.shape[axis]

    @cached_property
    def _components(self) -> list[tuple[tuple[int, ...], bool]]:
        # Attributes linked by queries, and whether any query depends on them.
        label = list(range(len(self.universe.shape)))
        for term in self.spent.terms:
            merged = {label[a] for a in term.axes}
            label = [min(merged) if x in merged else x for x in label]
        touched = {a for term in self.spent.terms for a in term.axes}
        out = []
        for name in sorted(set(label)):
            component = tuple(a for a in range(len(label)) if label[a] == name)
            out.append((component, component[0] in touched))
        return out

    def _touching(self, axis: int) -> list[Term]:
        return [t for t in self.spent.terms if axis in t.axes]

    def _search(self, component: tuple[int, ...], i: int, j: int) -> Way:
        # Dijkstra's algorithm on the graph of the component, or of the whole metric if it is not a sum.
        from scipy.sparse.csgraph import dijkstra

        graph = self._graph(component, i, j)
        source, target = (int(np.searchsorted(graph.nodes, c)) for c in (i, j))
        length, before = dijkstra(graph.edges, directed=False, indices=source, return_predecessors=True)
        cells, at = [j], target
        while at != source and before[at] >= 0:
            at = int(before[at])
            cells.append(int(graph.nodes[at]))
        left = float(length[target])
        return Way(0.0 if left < _DUST else left, tuple(reversed(cells)) if np.isfinite(left) else (i, j))

    def _graph(self, component: tuple[int, ...], i: int, j: int) -> _Graph:
        if component or self._by_attribute is not None:
            axes = component or tuple(range(len(self.universe.shape)))
            ends = [c for c in (i, j) if c != self.universe.absent]
            values = [_with(self._keep(a), *(self._at(c, a) for c in ends)) for a in axes]
        else:
            axes, values = (), [np.arange(self.universe.size, dtype=np.int64)]
        key: tuple[object, ...] = (component, *(v.tobytes() for v in values))
        if key not in self._graphs:
            while len(self._graphs) >= _GRAPHS:
                self._graphs.pop(next(iter(self._graphs)))
            if component:
                self._graphs[key] = self._of_moves(axes, values)
            else:
                self._graphs[key] = self._of_all_pairs(axes, values)
        return self._graphs[key]

    def _of_moves(self, axes: tuple[int, ...], values: Sequence[Ints]) -> _Graph:
        nodes = _product(self.universe, axes, values)
        return self._weighed(*self._with_absent(nodes, *self._moves(axes, values, nodes)), axes)

    def _of_all_pairs(self, axes: tuple[int, ...], values: Sequence[Ints]) -> _Graph:
        nodes = _product(self.universe, axes, values) if axes else values[0]
        found = (nodes, *self._all_pairs(nodes))
        return self._weighed(*(self._with_absent(*found) if axes else found), ())

    def _with_absent(self, nodes: Ints, first: Ints, second: Ints) -> tuple[Ints, Ints, Ints]:
        if self.universe.absent is None:
            return nodes, first, second
        first = np.append(first, np.arange(len(nodes), dtype=np.int64))
        second = np.append(second, np.full(len(nodes), len(nodes), dtype=np.int64))
        return np.append(nodes, self.universe.absent), first, second

    def _all_pairs(self, nodes: Ints) -> tuple[Ints, Ints]:
        if len(nodes) > _ALL_PAIRS:
            raise _too_large(len(nodes))
        first, second = np.triu_indices(len(nodes), 1)
        return first.astype(np.int64), second.astype(np.int64)

    def _moves(self, axes: Sequence[int], values: Sequence[Ints], nodes: Ints) -> tuple[Ints, Ints]:
        # Edges along one attribute each, as positions in `nodes`.
        shape = [len(v) for v in values]
        steps = [self._steps(a, v) for a, v in zip(axes, values, strict=True)]
        count = sum(len(u) * len(nodes) // n for (u, _), n in zip(steps, shape, strict=True))
        if len(nodes) > MAX_NODES or count > MAX_EDGES:
            raise _too_large(len(nodes))
        places = np.arange(len(nodes), dtype=np.int64).reshape(shape)
        first, second = [], []
        for k, (u, v) in enumerate(steps):
            turned = np.moveaxis(places, k, 0)
            first.append(turned[u].ravel())
            second.append(turned[v].ravel())
        return np.concatenate(first), np.concatenate(second)

    def _steps(self, axis: int, values: Ints) -> tuple[Ints, Ints]:
        # The pairs of chosen values of an attribute that have an edge, as positions among them.
        metric = self._along(axis)
        n = len(values)
        if (line := _line(metric)) is not None:
            inner = values if not isinstance(metric, WithOther) else values[values != metric.last]
            order = np.searchsorted(values, inner[np.argsort(line.positions[inner], kind="stable")])
            first, second = order[:-1], order[1:]
            if len(inner) < n:
                first, second = np.append(first, order), np.append(second, np.full(len(order), n - 1))
            return first.astype(np.int64), second.astype(np.int64)
        if n == self.universe.shape[axis] and metric.generator_count < n * (n - 1) // 4:
            pairs = np.concatenate(
                [np.stack([np.minimum(u, v), np.maximum(u, v)]) for u, v in metric.generators()], axis=1
            )
            first, second = np.unique(pairs, axis=1)  # a duplicate edge would count twice
            return first, second
        if n * (n - 1) // 2 > MAX_EDGES:
            raise _too_large(n)
        first, second = np.triu_indices(n, 1)
        return first.astype(np.int64), second.astype(np.int64)

    def _weighed(self, nodes: Ints, first: Ints, second: Ints, component: tuple[int, ...]) -> _Graph:
        from scipy.sparse import csr_array

        i, j = nodes[first], nodes[second]
        d = self.metric.pairwise(i, j)
        finite = np.isfinite(d)
        i, j, d = i[finite], j[finite], d[finite]
        d = np.maximum(d - taken(self.proportional_loss, self.metric, i, j), 0.0)
        everything = not component or self.universe.absent is not None  # any query may depend on presence
        terms = [t for t in self.spent.terms if everything or set(t.axes) & set(component)]
        left = _left(d, terms, i, j) + 1e-300  # a stored zero means no edge
        size = (len(nodes), len(nodes))
        return _Graph(nodes, csr_array((left, (first[finite], second[finite])), shape=size))

    @property
    def _by_attribute(self) -> tuple[Metric, ...] | None:
        # Metrics per attribute such that maps that do not increase them do not increase the whole distance.
        metric = self._present
        if metric.axes is not None:
            return metric.axes
        if isinstance(metric, Constant):
            return tuple(Constant(Universe([a]), metric.epsilon) for a in self.universe.attributes)
        return metric.by_attribute

    def _along(self, axis: int) -> Metric:
        parts = self._by_attribute
        if parts is None:
            raise TypeError("no metric per attribute")
        return parts[axis]

    def _keep(self, axis: int) -> Ints:
        # The values of an attribute that some shortest path may need, in addition to its ends.
        if axis not in self._kept:
            touching, n = self._touching(axis), self.universe.shape[axis]
            moving = joint_classes([t.moving(axis) for t in touching], n)
            if self._present.axes is None:  # all records are linked: only values with equal columns are equivalent
                self._kept[axis] = self._undominated(axis, moving, [], np.zeros(1, dtype=np.int64))
                return self._kept[axis]
            context = joint_classes([t.context(axis) for t in touching], n)
            metric = self._along(axis)
            if (line := _line(metric)) is not None:
                self._kept[axis] = _run_ends(line, joint_classes([moving, context], n), n)
            else:
                others = sorted({a for t in touching for a in t.axes} - {axis})
                contexts = contexts_of(touching, others, self.universe, max(_MATRIX // (n * n), 1))
                self._kept[axis] = self._undominated(axis, context, touching, contexts)
        return self._kept[axis]

    def _undominated(self, axis: int, alike: Ints, terms: list[Term], contexts: Ints | None) -> Ints:
        # The values that no other value of the same class in `alike` dominates.
        n = len(alike)
        everything = np.arange(n, dtype=np.int64)
        parts = sum(len(term.parts) for term in terms) or 1
        if (
            self.proportional_loss.along and self.universe.absent is not None
        ):  # proportional costs are capped over `absent`
            return everything
        if contexts is None or n * n * len(contexts) > min(_MATRIX, _WORK // parts):
            return everything
        u, v = np.divmod(np.arange(n * n, dtype=np.int64), n)
        d = self._along(axis).pairwise(u, v) * _rest(self.proportional_loss.along_axis(axis))
        left = np.empty((len(contexts), n, n))
        chunk = max(1, _CHUNK // (n * n))
        for start in range(0, len(contexts), chunk):
            some = contexts[start : start + chunk, None]
            i, j = ((self.universe.offsets(axis, x) + some).ravel() for x in (u, v))
            left[start : start + chunk] = _left(np.tile(d, len(some)), terms, i, j).reshape(-1, n, n)
        table = np.moveaxis(left, 1, 0)  # value, context, value
        order = np.argsort(np.where(np.isfinite(table), table, 1e300).sum(axis=(1, 2)), kind="stable")
        kept: list[int] = []
        for x in order.tolist():
            rivals = [y for y in kept if alike[y] == alike[x]][:_CANDIDATES]
            if not any(_dominates(table, y, x) for y in rivals):
                kept.append(x)
        return np.array(sorted(kept), dtype=np.int64)


def _dominates(table: Floats, y: int, x: int) -> bool:
    # Whether y has at most as much left as x towards every value but x, in every context.
    no_more = table[y] <= table[x]
    no_more[:, x] = True
    return bool(no_more.all())


def _left(d: Floats, terms: Sequence[Term], i: Ints, j: Ints) -> Floats:
    # max(d - spent, 0), with tiny values set to 0; infinite where d is.
    spent = np.zeros(len(d))
    for term in terms:
        spent += term.pairwise(i, j)
    finite = np.isfinite(d)
    out = np.where(finite, np.maximum(np.where(finite, d, 0.0) - np.where(finite, spent, 0.0), 0.0), np.inf)
    return np.where(out < 1e-12 * np.where(finite, d, 0.0), 0.0, out)


def _line(metric: Metric) -> LineMetric | None:
    base = metric.base if isinstance(metric, WithOther) else metric
    return base if isinstance(base, LineMetric) else None


def _run_ends(line: LineMetric, classes: Ints, size: int) -> Ints:
    # The ends of runs of equal classes, one value of each class, and `other`.
    order = np.argsort(line.positions, kind="stable")
    change = np.flatnonzero(np.diff(classes[order]))
    ends = np.concatenate([order[change], order[change + 1], np.unique(classes, return_index=True)[1]])
    return np.unique(np.append(ends, size - 1) if size > len(order) else ends).astype(np.int64)


def _with(kept: Ints, *values: int) -> Ints:
    return np.union1d(kept, np.array(values, dtype=np.int64))


def _product(universe: Universe, axes: Sequence[int], values: Sequence[Ints]) -> Ints:
    # All combinations as record indices, ascending: the last attribute varies fastest.
    size = 1
    for chosen in values:
        size *= len(chosen)
    if size > MAX_NODES:
        raise _too_large(size)
    nodes = universe.numbered([0])
    for axis, chosen in zip(axes, values, strict=True):
        nodes = (nodes[:, None] + universe.offsets(axis, chosen)).ravel()
    return nodes


def _too_large(nodes: int) -> QueryError:
    return QueryError(f"the remaining budget depends on {nodes:,} records at once, more than can be searched")
