"""What else a record is while one of its attributes moves: of all combinations, those that can make a difference."""

import math
from collections.abc import Sequence

import numpy as np

from dxprivacy.exact.arrays import Ints
from dxprivacy.privacy.search.value_classes import representatives
from dxprivacy.universe.blocks import joint_classes
from dxprivacy.universe.blocks.block import classes_of_rows
from dxprivacy.universe.loss_terms import Term
from dxprivacy.universe.universe import Universe

_MOST_COMPARED = 20_000_000


def contexts_of(terms: Sequence[Term], axes: Sequence[int], universe: Universe, limit: int) -> Ints | None:
    """Representative values of the given attributes, as offsets of the cell index: all that changes a loss elsewhere.

    None if there are more than `limit`.
    """
    classes = [[t.context(axis) for t in terms if axis in t.axes] for axis in axes]
    chosen = [representatives(joint_classes(c, universe.shape[axis])) for axis, c in zip(axes, classes, strict=True)]
    return _combined(chosen, axes, universe, limit)


def worst_contexts_of(terms: Sequence[Term], axes: Sequence[int], universe: Universe, limit: int) -> Ints | None:
    """Those among `contexts_of` that matter to a largest loss: beside any other, no move changes more."""
    strengths = [[s for t in terms if axis in t.axes for s in t.strengths(axis)] for axis in axes]
    chosen = [_strongest(s) for s in strengths]
    return _combined(chosen, axes, universe, limit)


def _combined(chosen: Sequence[Ints], axes: Sequence[int], universe: Universe, limit: int) -> Ints | None:
    """Every combination of some values, as offsets of the cell index; None if there are more than `limit`."""
    if math.prod(len(values) for values in chosen) > limit:
        return None
    offsets = universe.numbered([0])
    for axis, values in zip(axes, chosen, strict=True):
        offsets = (offsets[:, None] + universe.offsets(axis, values)).ravel()
    return offsets


def _strongest(strengths: Sequence[tuple[Ints, Ints]]) -> Ints:
    """Values that no other one dominates: that is of the same kind to every part that it matters to, and stronger."""
    if not strengths:
        return np.zeros(1, dtype=np.int64)
    kinds = np.stack([np.where(s > 0, k, -1) for k, s in strengths], axis=1)
    sizes = np.stack([s for _, s in strengths], axis=1)
    values = np.unique(np.hstack([kinds, sizes]), axis=0, return_index=True)[1]
    # Of values that are of the same kinds to all parts, one may be the strongest to each of them.
    alike = classes_of_rows(kinds[values])
    most = np.zeros((int(alike.max()) + 1, sizes.shape[1]), dtype=np.int64)
    np.maximum.at(most, alike, sizes[values])
    top = (sizes[values] == most[alike]).all(axis=1)
    covered = np.zeros(len(most), dtype=bool)
    covered[alike[top]] = True
    values = values[top | ~covered[alike]]
    if len(values) ** 2 * sizes.shape[1] <= _MOST_COMPARED:  # and those that matter to fewer parts
        kind, strength = kinds[values], sizes[values]
        below = (strength[:, None] == 0) | ((kind[:, None] == kind) & (strength[:, None] <= strength))
        under = below.all(axis=2)
        np.fill_diagonal(under, val=False)
        values = values[~under.any(axis=1)]
    return np.sort(values).astype(np.int64)
