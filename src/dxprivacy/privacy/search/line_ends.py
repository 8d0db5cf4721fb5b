"""Values on a line: of values that are all equally far apart only the ends matter, such as the least and the largest.

Under one distance the largest loss decides.  Where a record's column is A + x B, with all but the number x the same for
some values of an attribute (whatever the other attributes are), these columns lie on a line; a loss is convex along it,
so from any other column it is largest at an end.  That holds for all scales, and for all attributes at once: of values
that are told apart by several numbers, those remain that do not lie straight between two others.
"""

from collections.abc import Sequence

import numpy as np

from dxprivacy.exact.arrays import Ints
from dxprivacy.metrics import Metric
from dxprivacy.metrics.closed_forms import Constant
from dxprivacy.metrics.metric import Pairs
from dxprivacy.metrics.with_other import WithOther
from dxprivacy.universe.blocks import joint_classes
from dxprivacy.universe.loss_terms import Term


def equally_far(metric: Metric) -> int | None:
    """How many values have one finite distance from one another: all, or all but `other`; None where they have not."""
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
    """Places of points that are of different kinds, or do not lie straight between two others of their kind.

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
    """All pairs of some values that are told apart, and each with `other`."""
    first, second = np.triu_indices(len(ends), 1)
    u, v = ends[first], ends[second]
    if isinstance(metric, WithOther):
        u, v = np.concatenate([u, ends]), np.concatenate([v, np.full(len(ends), metric.last, dtype=np.int64)])
    apart = np.flatnonzero(moving[u] != moving[v])
    return u[apart], v[apart]
