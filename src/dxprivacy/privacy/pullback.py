"""Costs follow the people: what was asked over an old universe, seen from a new one.

A map sends every record of the new universe to one of the old, attribute by attribute.  Rows over the old universe
become rows over the new one: column i' of the result is column map(i') of the original.  So its loss is
`L'(i', j') = L(map(i'), map(j'))`, exactly, and structure (classes of values, contexts) is kept.
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

    `sources` gives for each old attribute the new one that decides it, or None where its value makes no difference;
    `values` the old value for each value of that new attribute (a single one where there is none).
    """

    old: Universe
    new: Universe
    sources: tuple[int | None, ...]
    values: tuple[Ints, ...]

    def __post_init__(self) -> None:
        if self.new.absent is not None and self.old.absent is None:
            raise QueryError("nobody was absent in the old universe")
        for size, source, values in zip(self.old.shape, self.sources, self.values, strict=True):
            expected = 1 if source is None else self.new.shape[source]
            if len(values) != expected or values.min() < 0 or values.max() >= size:
                raise QueryError("a map of universes does not fit them")

    def cells(self, new: Ints) -> Ints:
        """The old cells of many new ones."""
        out = self.old.numbered(np.zeros(len(new), dtype=np.int64))
        for axis, (source, values) in enumerate(zip(self.sources, self.values, strict=True)):
            old = np.full(len(new), values[0]) if source is None else values[self.new.along(source, new)]
            out = out + self.old.offsets(axis, old)
        if self.new.absent is not None and self.old.absent is not None:  # who is absent in one is absent in the other
            out[new == self.new.absent] = self.old.absent
        return out

    def after(self, earlier: "Pullback") -> "Pullback":
        """First this map, then an earlier one: from the newest universe to the oldest."""
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
        """The new attributes that decide an old one that matters."""
        sources = {self.by.sources[axis] for axis in self.inner.axes}
        return tuple(sorted(axis for axis in sources if axis is not None))

    @property
    def width(self) -> int:
        return self.inner.width

    def _deciding(self, axis: int) -> list[int]:
        """The old attributes that a new one decides."""
        return [old for old in self.inner.axes if self.by.sources[old] == axis]

    def moving(self, axis: int) -> Ints:
        """Values that go to the same class of every old attribute."""
        return self._joint(axis, {old: self.inner.moving(old) for old in self._deciding(axis)})

    def context(self, axis: int, *, uniform: bool) -> Ints:
        return self._joint(axis, {old: self.inner.context(old, uniform=uniform) for old in self._deciding(axis)})

    def strengths(self, axis: int, *, uniform: bool) -> tuple[Ints, Ints]:
        """As before, where one old attribute follows from it."""
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
        """Not known: the old records that had them may be gone."""

    def summit(self, weights: Floats) -> float:
        """As before: there are no more pairs than there were."""
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
        """As before: an upper bound, of rows that anybody counted in."""
        return self.inner.peak_of_row

    def reach(self, weights: Floats) -> float:
        """As before: there are no more pairs than there were."""
        return self.inner.reach(weights)

    def parts(self) -> tuple[Ints, ...]:
        sources = np.array([-1 if s is None else s for s in self.by.sources], dtype=np.int64)
        return (*self.inner.parts(), sources, *self.by.values)

    def columns(self, cells: Ints) -> Ints:
        return self.inner.columns(self.by.cells(cells))

    def _row(self, k: int) -> "PulledBack":
        return PulledBack(self.inner.row(k), self.by)


def pull_back(cost: RowsCost, by: Pullback) -> RowsCost:
    """A cost over the old universe as one of the same kind over the new; the scales stay."""
    blocks: list[Block] = []
    for block in cost.workload.blocks:
        if isinstance(block, PulledBack):  # one map instead of a chain of them
            blocks.append(PulledBack(block.inner, by.after(block.by)))
        else:
            blocks.append(PulledBack(block, by))
    return type(cost)(replace(cost.workload, universe=by.new, blocks=tuple(blocks)), cost.scales)
