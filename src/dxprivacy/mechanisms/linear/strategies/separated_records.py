"""Reduce a planning problem to the possible records that some rows separate, and the pairs that generate the policy.

If records may be added and removed, `absent` is one more possible record, after the others, at which all rows are 0.
Records and absences together are a public number. So every statement for a public number of records also holds with one
possible record more. For `absent` it states that no answer may use the number of records.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from dxprivacy.errors import NotCertified
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.mechanisms.linear.planning.pair_limits import limits_of
from dxprivacy.metrics import Metric
from dxprivacy.privacy import cover
from dxprivacy.privacy.costs import Cost, LaplaceCost
from dxprivacy.privacy.repair import together
from dxprivacy.queries.asked import Asked
from dxprivacy.queries.kinds.matrix_query import MatrixQuery
from dxprivacy.queries.strategy_rows import Groups, Steps, Tally
from dxprivacy.universe.blocks import Block, joint_classes
from dxprivacy.universe.universe import Universe

_MOST_PAIRS = 200_000
_MOST_ENTRIES = 20_000_000


def moves(block: Block) -> set[int]:
    """Return the attributes along which the block's rows change."""
    return {a for a in block.axes if block.moving(a).any()}


def classes_of(blocks: Sequence[Block], axis: int) -> Ints:
    """Return the class of each value of an attribute: values that no block separates, numbered in order of
    the values.
    """
    size = blocks[0].universe.shape[axis]
    found = joint_classes([b.moving(axis) for b in blocks if axis in b.axes], size)
    first = np.full(int(found.max(initial=0)) + 1, size)
    np.minimum.at(first, found, np.arange(size))
    rank = np.empty_like(first)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[found].astype(np.int64)


def representatives(blocks: Sequence[Block], axes: Sequence[int]) -> Ints:
    """Return one possible record per combination of classes, the last attribute fastest; others at their
    first value.
    """
    return combinations_of(blocks[0].universe, {axis: classes_of(blocks, axis) for axis in axes})


def representatives_or_absent(blocks: Sequence[Block], axes: Sequence[int]) -> Ints:
    """Return the same, followed by `absent` if records may be absent."""
    universe, cells = blocks[0].universe, representatives(blocks, axes)
    return cells if universe.absent is None else np.append(cells, universe.absent)


def combinations_of(universe: Universe, classes: Mapping[int, Ints]) -> Ints:
    """Return one possible record per combination of given classes, the last attribute fastest; others at their first
    value.
    """
    cells = universe.numbered([0])
    for axis, mine in classes.items():
        first = np.unique(mine, return_index=True)[1].astype(np.int64)
        cells = (cells[:, None] + universe.offsets(axis, first)).ravel()
    return cells


def count_representatives(blocks: Sequence[Block], axes: Sequence[int]) -> int:
    """Return the number of combinations of classes."""
    out = 1
    for axis in axes:
        out *= int(classes_of(blocks, axis).max(initial=0)) + 1
    return out


@dataclass(frozen=True, eq=False)
class SeparatedRecords:
    """The combinations of classes of some attributes, last one fastest, and the total budget of pairs of them.

    They are followed by `absent`, if records may be absent: a row must be 0 there to be a query. `limits` is None if
    there are too many pairs. Pairs at infinite distance are left out; `public` is then True.
    """

    universe: Universe
    axes: tuple[int, ...]
    classes: tuple[Ints, ...]
    representatives: Ints
    first: Ints
    second: Ints
    limits: Floats | None
    public: bool

    @classmethod
    def of(
        cls, blocks: Sequence[Block], metric: Metric, budget: Fraction, spent: Cost | None = None
    ) -> "SeparatedRecords":
        """The possible records that the blocks separate, with the remaining budget of pairs."""
        return cls.bare(blocks).paired(metric, budget, spent)

    def paired(self, metric: Metric, budget: Fraction, spent: Cost | None = None) -> "SeparatedRecords":
        """The same, with the remaining budget of pairs."""
        if not self.axes and self.universe.absent is None:
            return replace(self, limits=np.zeros(0))
        pairs = pairs_between(self.axes, self.classes, metric, budget, spent)
        if pairs is None:
            return self
        first, second, limits = pairs
        known = np.isfinite(limits)
        public = not bool(known.all())
        return replace(self, first=first[known], second=second[known], limits=limits[known], public=public)

    @classmethod
    def bare(cls, blocks: Sequence[Block]) -> "SeparatedRecords":
        """The possible records that the blocks separate, without pairs."""
        axes = tuple(sorted(set().union(*(moves(b) for b in blocks))))
        classes = tuple(classes_of(blocks, axis) for axis in axes)
        nothing = np.zeros(0, dtype=np.int64)
        reps = representatives_or_absent(blocks, axes)
        return cls(blocks[0].universe, axes, classes, reps, nothing, nothing, None, public=False)

    @property
    def count(self) -> int:
        """The number of separated possible records."""
        return len(self.representatives)

    def query(self, rows: Ints, factor: Fraction) -> Asked:
        """Return rows over the separated possible records as a query; raises if a row is nonzero at `absent`."""
        if self.universe.absent is not None and rows[:, -1].any():
            raise NotCertified("a measured row counts absent records", hints=["this is a bug: please report it"])
        if len(self.axes) <= 1:
            along = self.axes[0] if self.axes else 0  # constant rows lie along any attribute
            classes = self.classes[0] if self.axes else np.zeros(self.universe.shape[0], dtype=np.int64)
            return Steps.from_rows(self.universe.names[along], rows[:, classes], factor)
        if len(rows) * self.universe.cells > _MOST_ENTRIES:
            raise NotCertified("too many entries for a strategy", hints=['method="optimal"'])
        return MatrixQuery(rows[:, self._place], factor)

    @cached_property
    def _place(self) -> Ints:
        """The separated record that represents each possible record of the universe."""
        everything = np.arange(self.universe.cells, dtype=np.int64)
        place = np.zeros(self.universe.cells, dtype=np.int64)
        for axis, classes in zip(self.axes, self.classes, strict=True):
            place = place * (int(classes.max()) + 1) + classes[self.universe.along(axis, everything)]
        return place


def everybody(universe: Universe) -> Groups:
    """Return one group of all records, along the first attribute."""
    return Groups(universe.names[0], (0,) * universe.shape[0], (1,) * universe.shape[0])


def _cell_of(block: Block, records: Ints) -> Ints:
    """The row of a tally that counts each record; the number of rows for `absent`, which no row counts."""
    columns = block.columns(records)
    return np.where(columns.any(axis=0), columns.argmax(axis=0), block.rows)


def pairs_between(
    axes: Sequence[int], classes: Sequence[Ints], metric: Metric, budget: Fraction, spent: Cost | None
) -> tuple[Ints, Ints, Floats] | None:
    """Return the remaining budget of every two classes joined by a generating pair; None if there are too many.

    `absent` comes after all others. A pair needs no constraint if its budget is at least that of the detour over
    `absent`, because losses satisfy the triangle inequality.
    """
    universe = metric.universe
    parts = [Groups(universe.names[a], tuple(c.tolist()), (1,) * len(c)) for a, c in zip(axes, classes, strict=True)]
    tally = Tally(tuple(parts) or (everybody(universe),)).on(universe)
    covering = cover(together(LaplaceCost(tally, np.arange(1.0, tally.rows + 1.0)), spent), metric, tree_searches=True)
    if not covering.tight or covering.size > _MOST_PAIRS:
        return None
    least: dict[tuple[int, int], float] = {}
    block = tally.blocks[0]
    for i, j in covering.pairs(1 << 12):
        limits = limits_of(metric, budget, spent, i, j)
        ends = np.sort(np.stack([_cell_of(block, x) for x in (i, j)]), axis=0)
        for first, second, d in zip(*ends.tolist(), limits.tolist(), strict=True):
            if first != second:
                least[first, second] = min(least.get((first, second), math.inf), d)
    if universe.absent is not None:
        near = {cell: d for (cell, end), d in least.items() if end == block.rows}
        over = {pair: near.get(pair[0], math.inf) + near.get(pair[1], math.inf) for pair in least}
        least = {pair: d for pair, d in least.items() if pair[1] == block.rows or d < over[pair]}
    pairs = np.array(list(least), dtype=np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1], np.array(list(least.values()))
