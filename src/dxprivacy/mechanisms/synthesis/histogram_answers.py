"""Answers of a synthetic histogram in floats, and the transposed map, without building the K x N matrix.

`answers(y)` is A y and `back(r)` is A' r, for the rows A of a workload on its grid. Tables are summed out of the
histogram attribute by attribute, and tables share intermediate sums. Ranges and prefixes are a small matrix over their
attribute. Explicit rows are stored as they are. If all rows together are small, they are one matrix.

No data is used here: y is public, so its answers may be rounded in any way.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dxprivacy.errors import TooLarge
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.universe.blocks import AlongAxis, Block, Explicit, Factor, OneHot
from dxprivacy.universe.universe import Universe
from dxprivacy.universe.workload import Workload

# -- The universe of synthetic records: which attributes count, and the largest size -----------------------------------


MOST_CELLS = 1 << 28


def asked_universe(workload: Workload) -> Universe:
    """Return the universe of the attributes that some query touches; the others do not affect the answers.

    >>> from dxprivacy.queries.asking import gather
    >>> from dxprivacy.universe.attributes.integers import Integers
    >>> u = Universe([Integers(name=name, low=0, high=9, has_other=False) for name in ("age", "rooms")])
    >>> asked_universe(gather("count by age").on(u)).names
    ('age',)
    """
    universe = workload.universe
    asked = {axis for block in workload.blocks for axis in block.axes} or {0}
    if len(asked) == len(universe.attributes):
        return universe
    return universe.like(universe.attributes[axis] for axis in sorted(asked))


def require_all_cells(universe: Universe, what: str, *, asked: Universe | None = None, most: int = MOST_CELLS) -> None:
    """Refuse a universe of too many possible records, and name the attributes that make it so large.

    `asked` is the universe of the attributes that count, if they are not all.
    """
    counted = universe if asked is None else asked
    if counted.cells <= most:
        return
    sizes = sorted(counted.attributes, key=lambda a: -a.size)
    unasked = [a.name for a in universe.attributes if a.name not in counted.names]
    raise TooLarge(
        f"{what} needs a number for each of {counted.cells:,} possible records; at most {most:,} fit into memory",
        details=[
            " × ".join(f"{a.name} {a.size:,}" for a in sizes),
            *([f"No query asks about {', '.join(unasked)}: these do not count."] if unasked else []),
        ],
        hints=[
            ("fewer queries at a time", "attributes that no query asks about do not count (method direct)"),
            ("wider steps", "for numbers and dates: step = …"),
            ("dxp plan", "answers queries about universes of any size"),
        ],
    )


# -- Histogram answers -------------------------------------------------------------------------------------------------


Axes = tuple[int, ...]

DENSE_ENTRIES = 1 << 21  # up to this many entries, K x N is cheaper as one matrix
_PIECE = 1 << 22
_LONG = 64


@dataclass(frozen=True, eq=False)
class AnswerLine:
    """One row: the possible records that it counts, in order, with weights."""

    cells: Ints
    weights: Floats


class Projection:
    """The rows of a workload as a linear map from histograms to answers.

    >>> from dxprivacy.queries.asking import gather
    >>> rows = Projection(gather([[1, 1, 0], [0, 2, 1]]).on(Universe.listed("abc")))
    >>> rows.answers(np.array([1.0, 2.0, 3.0])).tolist(), rows.back(np.array([1.0, 10.0])).tolist()
    ([3.0, 7.0], [1.0, 21.0, 10.0])
    """

    def __init__(self, workload: Workload) -> None:
        self.workload, self.universe = workload, workload.universe
        self.cells = self.universe.cells  # `absent` is left out: no row counts it
        if workload.rows * self.cells <= DENSE_ENTRIES:
            self._parts: tuple[_AnswerPart, ...] = (_Columns(self.universe, workload.dense()),)
        else:
            self._parts = tuple(_part(block) for block in workload.blocks)
        self._tables = _Tables(self.universe, {part.axes for part in self._parts})

    def answers(self, y: Floats) -> Floats:
        """Return A y, in steps of the grid."""
        tables = self._tables.down(y)
        return np.concatenate([part.answers(tables[part.axes]) for part in self._parts])

    def back(self, residuals: Floats) -> Floats:
        """Return A' r: the transposed map."""
        sums: dict[Axes, Floats] = {}
        start = 0
        for part in self._parts:
            table = part.spread(residuals[start : start + part.rows])
            sums[part.axes] = sums[part.axes] + table if part.axes in sums else table
            start += part.rows
        return self._tables.up(sums)

    def line(self, row: int) -> AnswerLine:
        """Return one row by itself."""
        block = self.workload.row(row).blocks[0]
        if isinstance(block, OneHot):
            return _product_line(self.universe, {axis: f.values for axis, f in block.factors.items()})
        if isinstance(block, AlongAxis):
            return _product_line(self.universe, {block.axis: block.matrix[0]})
        weights = block.columns(np.arange(self.cells, dtype=np.int64))[0]
        cells = np.flatnonzero(weights)
        return AnswerLine(cells, weights[cells].astype(np.float64))


class _Tables:
    """The order in which tables are summed out of one another: attributes leave in a fixed order, the largest first.

    A table's parent has one attribute more. By this order, tables that lack the same first attributes are children of
    one small table, so sums are shared: twenty 3-way tables of six attributes take four passes over the histogram, not
    twenty.
    """

    def __init__(self, universe: Universe, wanted: set[Axes]) -> None:
        self.universe = universe
        every = tuple(range(len(universe.shape)))
        order = sorted(every, key=lambda a: (-universe.shape[a], a))
        parents: dict[Axes, tuple[Axes, int]] = {}
        for axes in wanted:
            here = axes
            while here != every and here not in parents:
                last = [a for a in order if a not in here][-1]
                parent = tuple(sorted((*here, last)))
                parents[here] = (parent, parent.index(last))
                here = parent
        self.every = every
        self._steps = sorted(parents.items(), key=lambda step: -len(step[0]))

    def down(self, y: Floats) -> dict[Axes, Floats]:
        """Return all tables of a histogram."""
        found = {self.every: y.reshape(self.universe.shape)}
        for axes, (parent, position) in self._steps:
            found[axes] = _sum_out(found[parent], position)
        return found

    def up(self, sums: dict[Axes, Floats]) -> Floats:
        """The transposed map: add each table to all possible records that it counts."""
        found = dict(sums)
        for axes, (parent, position) in reversed(self._steps):
            if axes not in found:
                continue
            table = np.expand_dims(found.pop(axes), position)
            shape = tuple(self.universe.shape[a] for a in parent)
            found[parent] = found[parent] + table if parent in found else np.broadcast_to(table, shape)
        whole = found.get(self.every)
        return np.zeros(self.universe.cells) if whole is None else np.ascontiguousarray(whole).reshape(-1)


def _sum_out(table: Floats, position: int) -> Floats:
    """Sum out one attribute, as a product with ones or by einsum: numpy's own sum along short axes is far slower."""
    shape = table.shape
    before, size = math.prod(shape[:position]), shape[position]
    box = table.reshape(before, size, -1)
    out: Floats = np.matmul(np.ones(size), box) if box.shape[2] >= _LONG else np.einsum("ijk->ik", box)
    return out.reshape(shape[:position] + shape[position + 1 :])


class _AnswerPart(ABC):
    """The rows of one block, as a linear map from a table over its attributes."""

    axes: Axes
    rows: int

    @abstractmethod
    def answers(self, table: Floats) -> Floats:
        """Return the rows' answers."""

    @abstractmethod
    def spread(self, residuals: Floats) -> Floats:
        """Return the transposed map."""


class _AnswerTable(_AnswerPart):
    """Counts by groups, attribute by attribute."""

    def __init__(self, block: OneHot) -> None:
        self.axes, self.rows = block.axes, block.rows
        sizes = block.sizes
        self._folds = [_Fold(block.factors[axis], sizes[axis]) for axis in self.axes]

    def answers(self, table: Floats) -> Floats:
        """Fold each attribute's values into its groups."""
        for position, fold in enumerate(self._folds):
            table = fold.fold(table, position)
        return table.reshape(-1)

    def spread(self, residuals: Floats) -> Floats:
        table = residuals.reshape([fold.groups for fold in self._folds])
        for position, fold in enumerate(self._folds):
            table = fold.unfold(table, position)
        return table


class _Fold:
    """Sum one attribute's values into groups, with weights; most often each value is its own group."""

    def __init__(self, factor: Factor, groups: int) -> None:
        self.groups = groups
        counted = np.flatnonzero(factor.groups >= 0)
        order = counted[np.argsort(factor.groups[counted], kind="stable")]
        of = factor.groups[order]
        self._plain = len(order) == groups == len(factor.groups) and bool(
            (order == np.arange(groups)).all() and (of == order).all() and (factor.values == 1).all()
        )
        self._order, self._weights = order, factor.values[order].astype(np.float64)
        self._present, self._starts = np.unique(of, return_index=True)
        self._of = np.maximum(factor.groups, 0)
        self._values = factor.values.astype(np.float64)  # 0 where a value is not counted

    def fold(self, table: Floats, position: int) -> Floats:
        """From values to groups."""
        if self._plain:
            return table
        shape = list(table.shape)
        shape[position] = self.groups
        if not len(self._order):
            return np.zeros(shape)
        if self.groups == 1:
            return np.expand_dims(np.tensordot(table, self._values, axes=(position, 0)), position)
        taken = np.take(table, self._order, axis=position) * _along(self._weights, position, table.ndim)
        sums = np.add.reduceat(taken, self._starts, axis=position)
        if len(self._present) == self.groups:
            return np.asarray(sums)
        out = np.zeros(shape)
        out[(slice(None),) * position + (self._present,)] = sums
        return out

    def unfold(self, table: Floats, position: int) -> Floats:
        """From groups to values."""
        if self._plain:
            return table
        return np.take(table, self._of, axis=position) * _along(self._values, position, table.ndim)


def _along(vector: Floats, position: int, ndim: int) -> Floats:
    return vector.reshape([-1 if p == position else 1 for p in range(ndim)])


class _Small(_AnswerPart):
    """A small matrix along one attribute."""

    def __init__(self, block: AlongAxis) -> None:
        self.axes, self.rows = block.axes, block.rows
        self._matrix = block.matrix.astype(np.float64)

    def answers(self, table: Floats) -> Floats:
        """The matrix times the attribute's own histogram."""
        return np.asarray(self._matrix @ table)

    def spread(self, residuals: Floats) -> Floats:
        return np.asarray(residuals @ self._matrix)


class _Columns(_AnswerPart):
    """A matrix over all possible records, dense or sparse."""

    def __init__(self, universe: Universe, matrix: Any) -> None:
        self.axes = tuple(range(len(universe.shape)))
        self.rows = matrix.shape[0]
        self._shape = universe.shape
        self._matrix = matrix[:, : universe.cells].astype(np.float64)

    @cached_property
    def _transposed(self) -> Any:
        return self._matrix.T

    def answers(self, table: Floats) -> Floats:
        return np.asarray(self._matrix @ table.reshape(-1))

    def spread(self, residuals: Floats) -> Floats:
        return np.asarray(self._transposed @ residuals).reshape(self._shape)


class _Any(_AnswerPart):
    """Rows of any other block, computed from their columns in pieces."""

    def __init__(self, block: Block) -> None:
        self.block, self.rows = block, block.rows
        self.axes = tuple(range(len(block.universe.shape)))

    def _pieces(self) -> list[Ints]:
        step = max(1, _PIECE // self.rows)
        cells = self.block.universe.cells
        return [np.arange(a, min(a + step, cells), dtype=np.int64) for a in range(0, cells, step)]

    def answers(self, table: Floats) -> Floats:
        y = table.reshape(-1)
        return np.asarray(sum((self.block.columns(c) @ y[c] for c in self._pieces()), np.zeros(self.rows)))

    def spread(self, residuals: Floats) -> Floats:
        parts = [residuals @ self.block.columns(c) for c in self._pieces()]
        return np.concatenate(parts).reshape(self.block.universe.shape)


def _part(block: Block) -> _AnswerPart:
    if isinstance(block, OneHot):
        return _AnswerTable(block)
    if isinstance(block, AlongAxis):
        return _Small(block)
    return _Columns(block.universe, block.matrix) if isinstance(block, Explicit) else _Any(block)


def _product_line(universe: Universe, values: dict[int, Ints]) -> AnswerLine:
    """A row that is a product over attributes, as strided record numbers."""
    cells, weights = np.zeros(1, dtype=np.int64), np.ones(1)
    for axis, (size, stride) in enumerate(zip(universe.shape, universe.strides, strict=True)):
        at = np.flatnonzero(values[axis]) if axis in values else np.arange(size, dtype=np.int64)
        cells = (cells[:, None] + at * stride).ravel()
        along = values[axis][at].astype(np.float64) if axis in values else np.ones(size)
        weights = (weights[:, None] * along).ravel()
    return AnswerLine(cells, weights)
