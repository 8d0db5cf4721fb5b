"""Moves between values that are all equally far apart, such as 41,000 ZIP codes: of those that change alike, one pair.

Along an attribute whose values have one distance, the largest loss decides.  A table counts a record in one row at
most, with a weight; from value u to v it changes by |x_u| + |x_v| where these lie in different rows, and by no more
where they lie in one.  So of all values with the same weights in all tables (and rows of the same scale), two that
every table puts into different rows stand for all: no other two of these change more, in any context.
"""

from collections.abc import Sequence

import numpy as np

from dxprivacy.exact.arrays import Ints
from dxprivacy.metrics import Constant, Metric, WithOther
from dxprivacy.metrics.base import Pairs
from dxprivacy.model.blocks import OneHot
from dxprivacy.model.blocks.base import classes_of_rows
from dxprivacy.model.terms import Part, Term

_MOST_KINDS = 60
_TRIED = 12  # values of a kind, in different classes


def standing_pairs(metric: Metric, axis: int, terms: Sequence[Term], moving: Ints) -> Pairs | None:
    """Pairs of values of an attribute that stand for all; None where nothing of the kind is known.

    `moving` are the classes of values that no term tells apart.
    """
    listed = _listed(metric)
    parts = [part for term in terms for part in term.parts if axis in part.block.axes]
    if listed is None or not all(_is_simple(part, axis) for part in parts):
        return None
    seen = [_weighed(part, axis) for part in parts]
    kinds = classes_of_rows(np.stack([column for columns in seen for column in columns[1:]], axis=1))
    kinds[listed:] = kinds.max() + 1  # `other` has a distance of its own
    if int(kinds.max()) + 1 > _MOST_KINDS:
        return None
    members = [_some(np.flatnonzero(kinds == kind), moving) for kind in range(int(kinds.max()) + 1)]
    rows = np.stack([np.where(size > 0, group, -1 - np.arange(len(group))) for group, size, *_ in seen], axis=1)
    first, second = [], []
    for a, mine in enumerate(members):
        for theirs in members[a:]:
            if not len(mine) or not len(theirs) or (mine is theirs and len(mine) == 1):
                continue  # nothing to move between
            found = _apart(mine, theirs, rows)
            if found is None and len(mine) == len(theirs) == 1:  # of different kinds: the only pair of these
                found = int(mine[0]), int(theirs[0])
            if found is None:
                return None
            first.append(found[0])
            second.append(found[1])
    return np.array(first, dtype=np.int64), np.array(second, dtype=np.int64)


def _listed(metric: Metric) -> int | None:
    """How many values have one finite distance from one another: all, or all but `other`."""
    base = metric.base if isinstance(metric, WithOther) else metric
    if not isinstance(base, Constant) or base.has_infinite or metric.has_infinite:
        return None
    return base.universe.size


def _is_simple(part: Part, axis: int) -> bool:
    """Whether a record counts in one row, and which one makes no difference, or follows from the value alone."""
    block = part.block
    if not isinstance(block, OneHot) or not (part.uniform or block.axes == (axis,)):
        return False
    return not part.largest or all(bool((f.values >= 0).all()) for f in block.factors.values())


def _weighed(part: Part, axis: int) -> tuple[Ints, Ints, Ints]:
    """The group of each value, the size of its weight, and a number for the scale of its row."""
    groups, sizes = part.block.strengths(axis, uniform=False)
    if part.uniform:
        return groups, sizes, np.zeros_like(sizes)
    scales = np.unique(part.weights, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return groups, sizes, np.where(sizes > 0, scales[np.maximum(groups, 0)], -1)


def _some(values: Ints, moving: Ints) -> Ints:
    """A few values, in as many different classes as there are."""
    order = np.unique(moving[values], return_index=True)[1]
    return np.concatenate([values[order[:_TRIED]], np.delete(values, order)[:1]])


def _apart(mine: Ints, theirs: Ints, rows: Ints) -> tuple[int, int] | None:
    """Two values that every table puts into different rows."""
    for u in mine.tolist():
        for v in theirs.tolist():
            if u != v and bool((rows[u] != rows[v]).all()):
                return u, v
    return None
