"""Moves between values that are all equally far apart, such as 41,000 ZIP codes: of those that change alike, one pair.

Along an attribute whose values have one distance, the largest loss decides.  A table counts a record in one row at
most, with a weight; from value u to v it changes by |x_u| + |x_v| where these lie in different rows, and by no more
where they lie in one.  So of all values with the same weights in all tables (and rows of the same scale), two that
every table puts into different rows stand for all: no other two of these change more, in any context.

Tables that put all values into one row, such as sums, change by |x_u - x_v|: values that differ in nothing else lie on
lines (lines.py), of which the ends stand for all.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dxprivacy.accounting.lines import ends_of
from dxprivacy.exact.arrays import Ints
from dxprivacy.metrics.base import Pairs
from dxprivacy.model.blocks import OneHot
from dxprivacy.model.blocks.base import classes_of_rows
from dxprivacy.model.terms import Part, Term

_MOST_KINDS = 60
_TRIED = 12  # values of a kind, in different classes


def standing_pairs(listed: int, axis: int, terms: Sequence[Term], moving: Ints) -> Pairs | None:
    """Pairs of values of an attribute that stand for all; None where nothing of the kind is known.

    `moving` are the classes of values that no term tells apart; the first `listed` values have one distance.
    """
    parts = [part for term in terms for part in term.parts if axis in part.block.axes]
    if not all(_is_simple(part, axis) for part in parts):
        return None
    scattered = [_weighed(part, axis) for part in parts if not _in_one_row(part, axis)]
    summed = [part.block.lines(axis)[1] for part in parts if _in_one_row(part, axis)]
    kinds = _kinds(
        [column for columns in scattered for column in columns[1:]], [x for x in summed if x is not None], listed
    )
    if kinds is None:
        return None
    members = [_some(values, moving) for values in kinds.members]
    rows = np.stack(
        [
            np.arange(len(moving)),
            *(np.where(size > 0, group, -1 - np.arange(len(group))) for group, size, _ in scattered),
        ],
        axis=1,
    )
    first, second = [], []
    for a, mine in enumerate(members):
        for b, theirs in enumerate(members[a:], a):
            if mine is theirs and len(mine) == 1:
                continue  # nothing to move between
            found = _apart(mine, theirs, rows)
            if found is None and len(mine) == len(theirs) == 1 and kinds.whole[a] and kinds.whole[b]:
                found = int(mine[0]), int(theirs[0])  # of different kinds: the only pair of these
            if found is None:
                return None
            first.append(found[0])
            second.append(found[1])
    return np.array(first, dtype=np.int64), np.array(second, dtype=np.int64)


@dataclass(frozen=True)
class _Kinds:
    """Values that change alike, kind by kind; `whole` says that no others of its line are left out."""

    members: Sequence[Ints]
    whole: Sequence[bool]


def _kinds(weights: Sequence[Ints], summed: Sequence[Ints], listed: int) -> _Kinds | None:
    """Values with the same weights, and of these the ends of lines; None if they are too many.

    `other` has a distance of its own, and so is a kind of its own.
    """
    size = len((*weights, *summed)[0])
    alike = classes_of_rows(np.stack(weights, axis=1)) if weights else np.zeros(size, dtype=np.int64)
    alike[listed:] = alike.max() + 1
    ends = ends_of(alike, summed)
    if len(ends) > _MOST_KINDS:
        return None
    points = classes_of_rows(np.stack([alike, *summed], axis=1))
    often = np.bincount(alike)
    kept = np.zeros_like(often)
    members = [np.flatnonzero(points == points[end]) for end in ends.tolist()]
    for end, values in zip(ends.tolist(), members, strict=True):
        kept[alike[end]] += len(values)
    return _Kinds(members, [bool(kept[alike[end]] == often[alike[end]]) for end in ends.tolist()])


def _is_simple(part: Part, axis: int) -> bool:
    """Whether a record counts in one row, and which one makes no difference, or follows from the value alone."""
    block = part.block
    if not isinstance(block, OneHot) or not (part.uniform or block.axes == (axis,) or _in_one_row(part, axis)):
        return False
    return not part.largest or all(bool((f.values >= 0).all()) for f in block.factors.values())


def _in_one_row(part: Part, axis: int) -> bool:
    """Whether all values lead to the same row, if to any."""
    return isinstance(part.block, OneHot) and part.block.sizes[axis] == 1


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
