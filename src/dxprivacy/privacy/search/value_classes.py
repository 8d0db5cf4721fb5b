"""Value classes: values that no query separates form one class; only the closest pairs of two classes matter."""

import math
from collections.abc import Container, Iterator, Sequence

import numpy as np

from dxprivacy.errors import NotCertified
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.metrics import Metric
from dxprivacy.metrics.attribute_sum import AttributeSum
from dxprivacy.metrics.closed_forms import Constant
from dxprivacy.metrics.metric import BLOCK, Pairs
from dxprivacy.metrics.with_other import WithAbsent, WithOther, present
from dxprivacy.privacy.search.tree_search import closest_in_space
from dxprivacy.universe.blocks import joint_classes
from dxprivacy.universe.blocks.block import classes_of_rows
from dxprivacy.universe.loss_terms import Term
from dxprivacy.universe.universe import Universe

_DENSE_CLASSES = 2_000
_FEW_CLASSES = 256


def representatives(classes: Ints) -> Ints:
    """Return the first value of each class."""
    return np.unique(classes, return_index=True)[1].astype(np.int64)


def reducible(classes: Ints) -> bool:
    """Return whether there are few enough classes to search for the closest pairs between them."""
    count = int(classes.max()) + 1
    return count <= _DENSE_CLASSES and 4 * count < len(classes)


def in_space(classes: Ints) -> bool:
    """Return whether a tree search is better than finding the closest pair of every two classes."""
    return not reducible(classes) or int(classes.max()) >= _FEW_CLASSES


def closest_between(metric: Metric, classes: Ints) -> Iterator[Pairs]:
    """Yield generating pairs between different classes; for each two classes only those that may be the closest."""
    count = int(classes.max()) + 1
    reduce = reducible(classes)
    if not in_space(classes) and (found := closest_in_space(metric, classes)) is not None:
        yield found
        return
    if reduce and isinstance(metric, Constant):  # all pairs are equally close; 41,000 values have 840 million pairs
        if not metric.has_infinite:
            one, (a, b) = representatives(classes), np.triu_indices(count, 1)
            yield one[a], one[b]
        return
    best = np.full(count * count if reduce else 0, np.inf)
    if reduce:
        for _, _, code, d in _crossing(metric, classes, count):
            np.minimum.at(best, code, d)
    tolerance = 1.0 + 8.0 * metric.error
    kept: list[tuple[Ints, Ints, Ints]] = []
    for u, v, code, d in _crossing(metric, classes, count):
        if not reduce:
            yield u, v
            continue
        near = np.flatnonzero(d <= best[code] * tolerance)
        if len(near):
            kept.append((u[near], v[near], np.column_stack([code[near], metric.keys(u[near], v[near])])))
            if sum(len(k[0]) for k in kept) > 4 * BLOCK:
                kept = [_distinct(kept)]
    if kept:
        u, v, _ = _distinct(kept)
        yield u, v


def _distinct(kept: list[tuple[Ints, Ints, Ints]]) -> tuple[Ints, Ints, Ints]:
    keys = np.concatenate([k for _, _, k in kept])
    first = np.unique(keys, axis=0, return_index=True)[1]
    return np.concatenate([u for u, _, _ in kept])[first], np.concatenate([v for _, v, _ in kept])[first], keys[first]


def _crossing(metric: Metric, classes: Ints, count: int) -> Iterator[tuple[Ints, Ints, Ints, Floats]]:
    for u, v in metric.generators():
        a, b = classes[u], classes[v]
        across = a != b
        d = metric.pairwise(u[across], v[across])
        finite = np.isfinite(d)  # pairs at infinite distance do not matter
        u, v, a, b = (x[across][finite] for x in (u, v, a, b))
        if len(u):
            yield u, v, np.minimum(a, b) * count + np.maximum(a, b), d[finite]


# -- Contexts: combinations of the other attributes' values that can change the effect of a move along one attribute ---


_MOST_COMPARED = 20_000_000


def contexts_of(terms: Sequence[Term], axes: Sequence[int], universe: Universe, limit: int) -> Ints | None:
    """Return representative values of the given attributes, as offsets of the record index.

    They cover every way in which these attributes change a loss along another one.  None if there are more than
    `limit`.
    """
    classes = [[t.context(axis) for t in terms if axis in t.axes] for axis in axes]
    chosen = [representatives(joint_classes(c, universe.shape[axis])) for axis, c in zip(axes, classes, strict=True)]
    return _combined(chosen, axes, universe, limit)


def worst_contexts_of(terms: Sequence[Term], axes: Sequence[int], universe: Universe, limit: int) -> Ints | None:
    """Return the contexts that matter to a largest loss: in no other context does a move change more."""
    strengths = [[s for t in terms if axis in t.axes for s in t.strengths(axis)] for axis in axes]
    chosen = [_strongest(s) for s in strengths]
    return _combined(chosen, axes, universe, limit)


def _combined(chosen: Sequence[Ints], axes: Sequence[int], universe: Universe, limit: int) -> Ints | None:
    # Every combination of some values, as offsets of the record index; None if there are more than `limit`.
    if math.prod(len(values) for values in chosen) > limit:
        return None
    offsets = universe.numbered([0])
    for axis, values in zip(axes, chosen, strict=True):
        offsets = (offsets[:, None] + universe.offsets(axis, values)).ravel()
    return offsets


def _strongest(strengths: Sequence[tuple[Ints, Ints]]) -> Ints:
    # Values that no other dominates.  One dominates another if, in every part that counts the latter, it is of the same
    # kind and at least as strong.
    if not strengths:
        return np.zeros(1, dtype=np.int64)
    kinds = np.stack([np.where(s > 0, k, -1) for k, s in strengths], axis=1)
    sizes = np.stack([s for _, s in strengths], axis=1)
    values = np.unique(np.hstack([kinds, sizes]), axis=0, return_index=True)[1]
    # Among values of the same kinds in all parts, one may be the strongest in each of them.
    alike = classes_of_rows(kinds[values])
    most = np.zeros((int(alike.max()) + 1, sizes.shape[1]), dtype=np.int64)
    np.maximum.at(most, alike, sizes[values])
    top = (sizes[values] == most[alike]).all(axis=1)
    covered = np.zeros(len(most), dtype=bool)
    covered[alike[top]] = True
    values = values[top | ~covered[alike]]
    if len(values) ** 2 * sizes.shape[1] <= _MOST_COMPARED:  # also drop values that fewer parts count
        kind, strength = kinds[values], sizes[values]
        below = (strength[:, None] == 0) | ((kind[:, None] == kind) & (strength[:, None] <= strength))
        under = below.all(axis=2)
        np.fill_diagonal(under, val=False)
        values = values[~under.any(axis=1)]
    return np.sort(values).astype(np.int64)


# -- Values on a line --------------------------------------------------------------------------------------------------
# If all values have one distance, the largest loss decides.  Suppose that the columns of some values are A + x B and
# differ only in the number x, whatever the other attributes are.  These columns lie on a line, and a loss is convex
# along it, so its distance from any other column is largest at an end of the line.  This holds for all scales, and for
# all attributes at once.  If values differ in several numbers, those remain that do not lie between two others.


def equally_far(metric: Metric) -> int | None:
    """Return the number of values with one finite distance between all of them (without `other`); None otherwise."""
    base = metric.base if isinstance(metric, WithOther) else metric
    if not isinstance(base, Constant) or base.has_infinite or metric.has_infinite:
        return None
    return base.universe.size


def line_ends(terms: Sequence[Term], axis: int, size: int) -> Ints:
    """Of the first `size` values of an attribute those that no other two have between them, in order."""
    lines = [part.block.lines(axis) for term in terms for part in term.parts if axis in part.block.axes]
    kinds = joint_classes([kinds[:size] for kinds, _ in lines], size)
    numbers = {found.tobytes(): found for _, weights in lines if weights is not None for found in [weights[:size]]}
    return ends_of(kinds, list(numbers.values()))


def ends_of(kinds: Ints, numbers: Sequence[Ints]) -> Ints:
    """Return the indices of points that do not lie on a line between two others of their kind.

    >>> ends_of(np.array([0, 0, 0, 1]), [np.array([5, 9, 7, 7])]).tolist()
    [0, 1, 3]
    >>> ends_of(np.zeros(4, dtype=np.int64), [np.array([0, 1, 2, 3]), np.array([0, 1, 2, 2])]).tolist()
    [0, 2, 3]
    """
    points = np.column_stack([kinds, *numbers])
    order = np.lexsort(points.T[::-1])
    new = np.append(True, (np.diff(points[order], axis=0) != 0).any(axis=1))  # of equal points the first
    order = order[new]
    alike = np.diff(points[order, 0]) == 0
    step = np.diff(points[order, 1:], axis=0)
    direction = step // np.maximum(np.gcd.reduce(step, axis=1, initial=0), 1)[:, None]
    ends = np.ones(len(order), dtype=bool)
    ends[1:-1] = ~(alike[1:] & alike[:-1] & (direction[1:] == direction[:-1]).all(axis=1))
    return np.sort(order[ends])


def pairs_of_ends(metric: Metric, ends: Ints, moving: Ints) -> Pairs:
    """Return all pairs of some values in different classes, and each value with `other`."""
    first, second = np.triu_indices(len(ends), 1)
    u, v = ends[first], ends[second]
    if isinstance(metric, WithOther):
        u, v = np.concatenate([u, ends]), np.concatenate([v, np.full(len(ends), metric.last, dtype=np.int64)])
    apart = np.flatnonzero(moving[u] != moving[v])
    return u[apart], v[apart]


# -- Restriction of a metric to some attributes: the others are public, so that their pairs do not matter --------------


def restricted_to(metric: Metric, axes: Container[int]) -> Metric:
    """Return the metric with infinite distances for records that differ in any attribute not in `axes`.

    Pairs that differ in one attribute generate a sum over attributes.  So the largest ratio under the metric is the
    largest over several restrictions that together contain all attributes.

    >>> from dxprivacy.universe.attributes.listed_values import Values
    >>> from dxprivacy.metrics import attributes
    >>> from dxprivacy.universe.universe import Universe
    >>> two = [Values(name=name, values=("x", "y"), has_other=False) for name in ("a", "b")]
    >>> both = attributes(Universe(two), {"a": 1, "b": 2})
    >>> restricted_to(both, (1,)).exact(0, 1), restricted_to(both, (1,)).exact(0, 2)
    (Fraction(2, 1), inf)
    """
    base = present(metric)
    own = base.axes
    if own is None:
        raise NotCertified("distances do not add up over attributes", hints=["this is a bug: please report it"])
    if all(axis in axes for axis in range(len(own))):
        found: Metric = base
    else:
        kept = [m if axis in axes else Constant(m.universe, math.inf) for axis, m in enumerate(own)]
        found = kept[0] if len(kept) == 1 else AttributeSum(base.universe, kept)
    return WithAbsent(metric.universe, found, metric.radius) if isinstance(metric, WithAbsent) else found
