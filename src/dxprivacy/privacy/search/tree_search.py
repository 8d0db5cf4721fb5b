"""Tree search along an attribute of many points: find the pairs that matter to one loss instead of enumerating all.

Branch and bound over pairs of tree nodes (`trees`) finds all pairs whose ratio may be the largest, in every context of
the other attributes; fractions decide among them.  If only classes of points matter, trees find the closest pairs
between the classes.

Values outside of the tree (`other`) are compared with all values.  If `other` has radius r, two points are min(d, 2 r)
apart.  The points' distances d and the pairs with `other` generate that metric, so the search may use d.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise as neighbors

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints, read_only
from dxprivacy.metrics import Metric, PseudoMetric
from dxprivacy.metrics.metric import BLOCK, Pairs
from dxprivacy.metrics.with_other import WithOther
from dxprivacy.trees import Dense, Labels, Numerator, PointTree, Scalar, closest_across, largest_ratio, largest_ratios
from dxprivacy.universe.blocks import Block, MatrixRows, OneHot, Rows
from dxprivacy.universe.loss_terms import LossPart, Term
from dxprivacy.universe.universe import Universe

MAX_SEARCHED = 1 << 26  # points times contexts
_MAX_DENSE = 30_000_000  # numbers held for one part
_SEPARATE = 3  # up to this many rows, each is a feature of its own

Feature = Scalar | Labels | Dense


@dataclass(frozen=True, eq=False)
class SearchSpace:
    """The values of an attribute: points in a tree, and values outside of it."""

    metric: Metric
    tree: PointTree

    @property
    def outside(self) -> range:
        """Values that are not points."""
        return range(self.tree.embedding.size, self.metric.universe.size)

    def star(self, classes: Ints | None = None) -> Iterator[Pairs]:
        """Yield pairs of a point and a value outside; given classes, only the first point of each class."""
        size = self.tree.embedding.size
        inner = np.arange(size, dtype=np.int64)
        if classes is not None:
            inner = np.unique(classes[:size], return_index=True)[1].astype(np.int64)
        for last in self.outside:
            for a in range(0, len(inner), BLOCK):
                yield inner[a : a + BLOCK], np.full(len(inner[a : a + BLOCK]), last, dtype=np.int64)
        for a, b in neighbors(self.outside):
            yield np.array([a]), np.array([b])


def _space(along: Metric) -> SearchSpace | None:
    tree = along.base.tree if isinstance(along, WithOther) and along.radius > 0 else along.tree
    return None if tree is None else SearchSpace(along, tree)


def space_of(along: Metric, terms: Sequence[Term]) -> SearchSpace | None:
    """Return the search space if a tree search applies; None if all pairs must be compared."""
    size = along.universe.size
    for term in terms:
        for part in term.parts:
            if not _readable(part.block):
                return None
            if not isinstance(part.block, OneHot) and part.block.rows * size > _MAX_DENSE:
                return None
    return _space(along)


def _readable(rows: Rows) -> bool:
    # Whether float64 represents the entries, so that a difference is rounded once.
    if isinstance(rows, Block):
        return True
    return isinstance(rows, MatrixRows) and not rows.sparse and rows.matrix.dtype == np.float64


def closest_in_space(metric: Metric, classes: Ints) -> Pairs | None:
    """Return, for every two classes, the pairs that may be the closest; None if all pairs must be compared."""
    space = _space(metric)
    if space is None:
        return None
    size = space.tree.embedding.size
    inside = np.unique(classes[:size], return_inverse=True)[1].reshape(-1).astype(np.int64)
    found = [closest_across(space.tree.embedding, inside)] if inside.any() else []
    found += list(space.star(classes))
    u, v = (np.concatenate([pair[side] for pair in found]) for side in (0, 1)) if found else (classes[:0], classes[:0])
    across = classes[u] != classes[v]
    return _closest(metric, classes, u[across], v[across])


def _closest(metric: Metric, classes: Ints, u: Ints, v: Ints) -> Pairs:
    # Keep the pairs that may be the closest of their classes, one of equal ones; drop infinite distances.
    d = metric.pairwise(u, v)
    finite = np.isfinite(d)
    u, v, d = u[finite], v[finite], d[finite]
    a, b = classes[u], classes[v]
    codes, code = np.unique(np.minimum(a, b) * (int(classes.max()) + 1) + np.maximum(a, b), return_inverse=True)
    code = code.reshape(-1)
    best = np.full(len(codes), np.inf)
    np.minimum.at(best, code, d)
    near = np.flatnonzero(d <= best[code] * (1.0 + 8.0 * metric.error))
    keys = np.column_stack([code[near], metric.keys(u[near], v[near])])
    first = near[np.unique(keys, axis=0, return_index=True)[1]]
    return u[first], v[first]


def closest_separated(metric: Metric, classes: Ints) -> Iterator[Pairs] | None:
    """Return pairs of different classes that may be the closest of all; None if all pairs must be compared.

    A query that counts the classes has the same loss on every such pair, so the closest has the largest ratio.
    """
    space = _space(metric)
    if space is None:
        return None
    size = space.tree.embedding.size
    table = _Table(classes[:size], np.ones(size), np.ones(size), largest=False)
    apart = table.separated(space.tree)
    if apart is not None:
        return iter([(np.array([apart[0]]), np.array([apart[1]]))])
    found = largest_ratio(space.tree, Numerator([table.features(space.tree, alone=True)]))
    pairs = [(found.i, found.j), *space.star(classes)]
    return ((u[classes[u] != classes[v]], v[classes[u] != classes[v]]) for u, v in pairs)


@dataclass(frozen=True, eq=False)
class TreeSearch:
    """A tree search along one attribute, in the given contexts of the others."""

    axis: int
    universe: Universe
    space: SearchSpace
    contexts: Ints
    terms: tuple[Term, ...]

    def candidates(self, loss: PseudoMetric, metric: Metric) -> Iterator[tuple[Ints, Ints, float]]:
        """Yield records whose ratio may be the largest, and an upper bound for the pruned pairs (0 if none)."""
        block = max(1, BLOCK // len(self.contexts))
        for u, v in self.space.star():
            for a in range(0, len(u), block):
                some = slice(a, a + block)
                yield *self._cells(u[some], v[some], self.contexts), 0.0
        floor = 0.0
        for context in self.contexts.tolist():
            here = self.universe.numbered([context])
            terms, apart = self._features(context)
            if apart is not None:
                yield *self._cells(np.array([apart[0]]), np.array([apart[1]]), here), 0.0
                continue

            def keys(u: Ints, v: Ints, here: Ints = here) -> Ints:
                i, j = self._cells(u, v, here)
                return np.hstack([loss.keys(i, j), metric.keys(i, j)])

            if not terms:
                continue
            found = largest_ratio(self.space.tree, Numerator(terms), keys, above=floor)
            floor = max(floor, found.floor)
            yield *self._cells(found.i, found.j, here), found.ceiling or 0.0

    def largest(self, many: int, *, above: float = 0.0) -> Iterator[Pairs]:
        """Yield, in every context, `many` pairs of records with large ratios in floats, and all pairs with `other`.

        Pairs with an infinite ratio come first.
        """
        block = max(1, BLOCK // len(self.contexts))
        for u, v in self.space.star():
            for a in range(0, len(u), block):
                yield self._cells(u[a : a + block], v[a : a + block], self.contexts)
        for context in self.contexts.tolist():
            here = self.universe.numbered([context])
            terms, apart = self._features(context)
            if apart is not None:
                yield self._cells(np.array([apart[0]]), np.array([apart[1]]), here)
            if terms:
                found = largest_ratios(self.space.tree, Numerator(terms), many, above=above)
                yield self._cells(found.i, found.j, here)

    def cells(self, u: Ints, v: Ints) -> Pairs:
        """Return pairs of values as pairs of records, in every context."""
        return self._cells(u, v, self.contexts)

    def _cells(self, u: Ints, v: Ints, contexts: Ints) -> Pairs:
        i, j = ((self.universe.offsets(self.axis, side)[:, None] + contexts).ravel() for side in (u, v))
        return i, j

    def _features(self, context: int) -> tuple[list[list[Feature]], tuple[int, int] | None]:
        # The features of the terms at the points in one context; or two points with an infinite ratio.
        points = np.arange(self.space.tree.embedding.size, dtype=np.int64)
        cells = read_only(self.universe.offsets(self.axis, points) + context)
        out: list[list[Feature]] = []
        for term in self.terms:
            parts: list[list[Feature]] = []
            for part in term.parts:
                if self.axis not in part.block.axes:
                    continue
                seen = _seen(part, cells)
                apart = seen.separated(self.space.tree)
                if apart is not None:
                    return [], apart
                parts.append(seen.features(self.space.tree, alone=len(term.parts) == 1))
            if len(term.parts) == 1 and not term.parts[0].largest:
                out += [[feature] for feature in parts[0]] if parts else []
            elif any(parts):
                out.append([feature for part in parts for feature in part])
        return out, None


@dataclass(frozen=True, eq=False)
class _Rows:
    """The values of any rows at the points."""

    values: Floats
    weights: Floats
    largest: bool

    def separated(self, tree: PointTree) -> tuple[int, int] | None:
        """Return two points that a noise-free row separates, or two points at one place that any row separates."""
        for line in self.values[np.isinf(self.weights)]:
            other = np.flatnonzero(line != line[0])
            if len(other):
                return 0, int(other[0])
        return _same_place_apart(tree, self.values[self.weights > 0])

    def features(self, tree: PointTree, *, alone: bool) -> list[Feature]:
        vary = np.ptp(self.values, axis=1) > 0
        values, weights = self.values[vary], self.weights[vary]
        if not len(values):
            return []
        if len(values) <= _SEPARATE and (alone or self.largest or len(values) == 1):
            return [Scalar(tree, line, w) for line, w in zip(values, weights.tolist(), strict=True)]
        return [Dense(tree, values, weights, largest=self.largest)]


@dataclass(frozen=True, eq=False)
class _Table:
    """The row and value of each point in a table of counts; value 0 means not counted."""

    rows: Ints
    values: Floats
    weights: Floats
    largest: bool

    def separated(self, tree: PointTree) -> tuple[int, int] | None:
        """Return two points that a noise-free row separates, or two points at one place that any row separates."""
        exact = np.isinf(self.weights) & (self.values != 0)
        rows, values = np.where(exact, self.rows, -1), np.where(exact, self.values, 0.0)
        other = np.flatnonzero((rows != rows[0]) | (values != values[0]))
        if len(other):
            return 0, int(other[0])
        return _same_place_apart(tree, np.stack([np.where(self.values != 0, self.rows, -1), self.values]))

    def features(self, tree: PointTree, *, alone: bool) -> list[Feature]:  # noqa: ARG002
        counted = np.unique(self.rows[self.values != 0])
        if not len(counted) or np.isinf(self.weights[self.values != 0]).any():  # `separated` found no difference
            return []
        if len(counted) == 1:
            weight = float(self.weights[self.values != 0][0])
            return [Scalar(tree, self.values, weight)] if np.ptp(self.values) > 0 else []
        rows = np.where(self.values != 0, self.rows, -1)
        return [Labels(tree, rows, self.values, self.weights, largest=self.largest)]


def _seen(part: LossPart, cells: Ints) -> _Rows | _Table:
    block = part.block
    if isinstance(block, OneHot):
        rows, values = block.place(cells)
        rows = np.where(values == 0, 0, rows)  # a record that is not counted has no row
        return _Table(rows, values.astype(np.float64), part.weights[rows], part.largest)
    if isinstance(block, Block):
        return _Rows(block.columns(cells).astype(np.float64), part.weights, part.largest)
    if isinstance(block, MatrixRows):
        return _Rows(np.ascontiguousarray(block.matrix[:, cells], dtype=np.float64), part.weights, part.largest)
    raise TypeError("a tree search needs rows with columns")


def _same_place_apart(tree: PointTree, lines: "Floats | Ints") -> tuple[int, int] | None:
    # Two points at one place (distance 0) with different entries.
    sites = tree.sites
    if not tree.merged or sites.count == tree.embedding.size:
        return None
    first = sites.first[sites.of]
    for line in lines:
        other = np.flatnonzero(line != line[first])
        if len(other):
            return int(first[other[0]]), int(other[0])
    return None
