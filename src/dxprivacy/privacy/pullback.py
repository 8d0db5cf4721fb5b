"""Carry costs over to a new version of a policy: rows over the old universe become rows over the new one.

A map assigns to every record of the new universe one of the old, attribute by attribute.  Column i' of the new rows is
column map(i') of the old rows.  So the new loss is `L'(i', j') = L(map(i'), map(j'))`, exactly, and structure (value
classes, contexts) is preserved.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dxprivacy.errors import QueryError
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.privacy.costs import RowsCost
from dxprivacy.universe.blocks import Block, Differences, joint_classes
from dxprivacy.universe.occupied import Occupied
from dxprivacy.universe.universe import Universe


@dataclass(frozen=True, eq=False)
class Pullback:
    """A map from a new universe to an old one.

    For each old attribute, `sources` gives the new attribute that determines it (None if its value is fixed), and
    `values` the old value for each value of that new attribute (one value if there is none).
    """

    old: Universe
    new: Universe
    sources: tuple[int | None, ...]
    values: tuple[Ints, ...]

    def __post_init__(self) -> None:
        if self.new.absent is not None and self.old.absent is None:
            raise QueryError("the old universe has no absent record")
        for size, source, values in zip(self.old.shape, self.sources, self.values, strict=True):
            expected = 1 if source is None else self.new.shape[source]
            if len(values) != expected or values.min() < 0 or values.max() >= size:
                raise QueryError("a map of universes does not fit them")

    def cells(self, new: Ints) -> Ints:
        """Map new possible records to old ones."""
        out = self.old.numbered(np.zeros(len(new), dtype=np.int64))
        for axis, (source, values) in enumerate(zip(self.sources, self.values, strict=True)):
            old = np.full(len(new), values[0]) if source is None else values[self.new.along(source, new)]
            out = out + self.old.offsets(axis, old)
        if self.new.absent is not None and self.old.absent is not None:  # absent maps to absent
            out[new == self.new.absent] = self.old.absent
        return out

    def after(self, earlier: "Pullback") -> "Pullback":
        """Compose with an earlier map: from the newest universe to the oldest."""
        if earlier.new != self.old:
            raise QueryError("maps of universes do not follow each other")
        sources: list[int | None] = []
        values: list[Ints] = []
        for source, index in zip(earlier.sources, earlier.values, strict=True):
            between = None if source is None else self.sources[source]
            sources.append(between)
            values.append(index if source is None else index[self.values[source]])
        return Pullback(earlier.old, self.new, tuple(sources), tuple(values))


class PulledBack(Block):
    """Rows over an old universe, as rows over a new one."""

    def __init__(self, inner: Block, by: Pullback) -> None:
        if inner.universe != by.old:
            raise QueryError("a map of universes does not fit the query")
        self.inner, self.by = inner, by
        self.universe, self.rows, self.unit, self.bias = by.new, inner.rows, inner.unit, inner.bias

    @cached_property
    def axes(self) -> tuple[int, ...]:
        """The new attributes that determine an attribute of the old rows."""
        sources = {self.by.sources[axis] for axis in self.inner.axes}
        return tuple(sorted(axis for axis in sources if axis is not None))

    @property
    def width(self) -> int:
        return self.inner.width

    def _deciding(self, axis: int) -> list[int]:
        # The old attributes that a new one determines.
        return [old for old in self.inner.axes if self.by.sources[old] == axis]

    def moving(self, axis: int) -> Ints:
        """Return one class for values that map to the same class of every old attribute."""
        return self._joint(axis, {old: self.inner.moving(old) for old in self._deciding(axis)})

    def context(self, axis: int, *, uniform: bool) -> Ints:
        return self._joint(axis, {old: self.inner.context(old, uniform=uniform) for old in self._deciding(axis)})

    def strengths(self, axis: int, *, uniform: bool) -> tuple[Ints, Ints]:
        """Use the old strengths if one old attribute is determined by this one."""
        deciding = self._deciding(axis)
        if len(deciding) != 1:
            return super().strengths(axis, uniform=uniform)
        kinds, sizes = self.inner.strengths(deciding[0], uniform=uniform)
        return kinds[self.by.values[deciding[0]]], sizes[self.by.values[deciding[0]]]

    def _joint(self, axis: int, classes: dict[int, Ints]) -> Ints:
        seen = [np.unique(c[self.by.values[old]], return_inverse=True)[1].reshape(-1) for old, c in classes.items()]
        return joint_classes([c.astype(np.int64) for c in seen], self.universe.shape[axis])

    def differences(self, i: Ints, j: Ints) -> Differences:
        return self.inner.differences(self.by.cells(i), self.by.cells(j))

    def loads(self, i: Ints, j: Ints, weights: Floats) -> Floats:
        return self.inner.loads(self.by.cells(i), self.by.cells(j), weights)

    def peaks(self, i: Ints, j: Ints, weights: Floats) -> Floats:
        return self.inner.peaks(self.by.cells(i), self.by.cells(j), weights)

    def ends(self, *, absent: bool) -> None:
        """Return None: the old records with the largest differences may be gone."""

    def summit(self, weights: Floats) -> float:
        """Return the old bound: no new pairs of columns exist."""
        return self.inner.summit(weights)

    def answer(self, counts: Occupied) -> Ints:
        columns = {}
        for axis in self.inner.axes:
            source, values = self.by.sources[axis], self.by.values[axis]
            here = np.zeros(len(counts.counts), dtype=np.int64) if source is None else counts.along(source)
            columns[axis] = values[here]
        return self.inner.answer(Occupied(self.by.old, columns, counts.counts))

    @property
    def largest(self) -> int:
        return self.inner.largest

    @property
    def peak_of_row(self) -> Ints:
        """The old peaks, as upper bounds."""
        return self.inner.peak_of_row

    def reach(self, weights: Floats) -> float:
        """Return the old bound: no new pairs of columns exist."""
        return self.inner.reach(weights)

    def parts(self) -> tuple[Ints, ...]:
        sources = np.array([-1 if s is None else s for s in self.by.sources], dtype=np.int64)
        return (*self.inner.parts(), sources, *self.by.values)

    def columns(self, cells: Ints) -> Ints:
        return self.inner.columns(self.by.cells(cells))

    def _row(self, k: int) -> "PulledBack":
        return PulledBack(self.inner.row(k), self.by)


def pull_back(cost: RowsCost, by: Pullback) -> RowsCost:
    """Return a cost over the old universe as a cost of the same kind over the new one; scales are kept."""
    blocks: list[Block] = []
    for block in cost.workload.blocks:
        if isinstance(block, PulledBack):  # compose the maps instead of nesting blocks
            blocks.append(PulledBack(block.inner, by.after(block.by)))
        else:
            blocks.append(PulledBack(block, by))
    return type(cost)(replace(cost.workload, universe=by.new, blocks=tuple(blocks)), cost.scales)
