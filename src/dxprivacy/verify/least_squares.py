"""Least squares in plain Python: estimates and variances, component by component (docs/formats.md, section 10).

Where the number of records is private there is one component, and `absent` is its last cell, at which all rows are 0:
what is told of the others then does not depend on the number of records.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Protocol

from dxprivacy.errors import Undecided
from dxprivacy.verify.blocks import Block, Inside
from dxprivacy.verify.reading import refuse
from dxprivacy.verify.solved import MOST_CELLS, Solved
from dxprivacy.verify.tables import Tables, as_tables
from dxprivacy.verify.universe import Universe

Vector = dict[int, int]
Number = int | float | Fraction
_RARE = 0.001
_AS_IT_IS = 1_500  # more cells than these are not solved for: what is asked is what is counted
_DECIMALS = 9  # of an estimate


class Estimator:
    """The rows that were asked for, worked out from those that were counted, which have noises of these variances."""

    def __init__(
        self, asked: Sequence[Block], counted: Sequence[Block], universe: Universe, noises: Sequence[float]
    ) -> None:
        first = [0] * len(universe.shape)
        self.components = list(_components(asked, counted, universe))
        self._noises = noises
        self.rows = sum(b.rows for b in asked)
        self.first = {row: x for block in asked for row, x in block.column(first).items()}

    @cached_property
    def _parts(self) -> "list[_Solution]":
        return [part.solved(self._noises) for part in self.components]

    @cached_property
    def spreads(self) -> list[float]:
        """The variance of each row; none where exact rows and the total tell it."""
        out = [0.0] * self.rows
        for part in self._parts:
            for row, spread in part.variances().items():
                out[row] = spread
        return out

    @property
    def leasts(self) -> list[tuple[float, float]]:
        """Per row the least variance of a noise in its component, and how often others are there that were left out."""
        out = [(1.0, 0.0)] * self.rows
        for part in self.components:
            counted = [
                self._noises[row] for block in part.counted for row in range(block.first, block.first + block.rows)
            ]
            least = least_noise(counted)
            for block in part.asked:
                out[block.first : block.first + block.rows] = [least] * block.rows
        return out

    def estimates(self, noisy: Sequence[int], records: int) -> list[Number]:
        """Every row; what is the same for all records tells their number, and what is exact is whole."""
        out: list[Number] = [self.first.get(row, 0) * records for row in range(self.rows)]
        for part in self._parts:
            for row, value in part.estimates(noisy, records).items():
                out[row] = round(float(value), _DECIMALS) if self.spreads[row] else round(value)
        return out


def least_noise(noises: Sequence[float]) -> tuple[float, float]:
    """The least positive variance, without those that together are at most 0.001; and that, if any were left out."""
    found = sorted(v for v in noises if v > 0)
    total, kept = 0.0, 0
    while kept < len(found) - 1 and total + found[kept] <= _RARE:
        total += found[kept]
        kept += 1
    return (found[kept] if found else 1.0), (_RARE if kept else 0.0)


class _Solution(Protocol):
    """Variances and estimates of the rows of a component."""

    def variances(self) -> dict[int, float]:
        """Per row that was asked for."""

    def estimates(self, noisy: Sequence[int], records: int) -> Mapping[int, Number]:
        """Per row that was asked for."""


class Component:
    """Attributes that rows connect, and one value for each class of values that those rows tell apart."""

    def __init__(self, axes: set[int], asked: Sequence[Block], counted: Sequence[Block], universe: Universe) -> None:
        self.asked, self.counted, self.universe = asked, counted, universe
        self.firsts: dict[int, list[int]] = {}
        for axis in sorted(axes):
            seen: dict[tuple[object, ...], int] = {}
            for value in range(universe.shape[axis]):
                seen.setdefault(tuple(b.moving(axis, value) for b in (*asked, *counted)), value)
            self.firsts[axis] = list(seen.values())

    def solved(self, noises: Sequence[float]) -> _Solution:
        """By tables; over the cells; or as it is."""
        tables = as_tables(self.asked, self.counted, self.firsts, noises, private=self.private)
        if tables is not None:
            return _ByTables(tables, noises)
        cells = math.prod(map(len, self.firsts.values()))
        if cells > _AS_IT_IS:
            return _AsItIs(self.asked, self.counted, noises)
        if cells > MOST_CELLS:
            raise Undecided("too many cells to repeat the least squares here", where="measured")
        return _OverCells(self, noises)

    @property
    def private(self) -> bool:
        """Whether the number of records is private."""
        return self.universe.absent is not None

    def cells(self) -> list[list[int] | None]:
        """A record for each combination of classes, and None for an absent one."""
        out: list[list[int] | None] = []
        for chosen in product(*self.firsts.values()):
            values = [0] * len(self.universe.shape)
            for axis, value in zip(self.firsts, chosen, strict=True):
                values[axis] = value
            out.append(values)
        return [*out, None] if self.private else out


class _ByTables:
    def __init__(self, tables: Tables, noises: Sequence[float]) -> None:
        self._tables, self._noises = tables, noises

    def variances(self) -> dict[int, float]:
        return self._tables.variances(self._noises)

    def estimates(self, noisy: Sequence[int], records: int) -> Mapping[int, Number]:
        return self._tables.estimates(self._noises, noisy, records)


def _alike(mine: Sequence[Sequence[int]], theirs: Sequence[Sequence[int]]) -> bool:
    """Whether two blocks have the same numbers; very many of them are compared by what they follow from."""
    return len(mine) == len(theirs) and all(
        a.same(b) if isinstance(a, Inside) else b.same(a) if isinstance(b, Inside) else list(a) == list(b)
        for a, b in zip(mine, theirs, strict=True)
    )


class _AsItIs:
    """Too many cells for least squares: what is counted must be what was asked."""

    def __init__(self, asked: Sequence[Block], counted: Sequence[Block], noises: Sequence[float]) -> None:
        mine, theirs = ([list(b.arrays()) for b in side] for side in (asked, counted))
        if not all(map(_alike, mine, theirs)) or len(mine) != len(theirs):
            raise refuse("counts other rows than those asked for, over too many cells", "measured")
        rows = [[r for b in side for r in range(b.first, b.first + b.rows)] for side in (asked, counted)]
        self._pairs, self._noises = list(zip(*rows, strict=True)), noises

    def variances(self) -> dict[int, float]:
        return {row: self._noises[source] for row, source in self._pairs}

    def estimates(self, noisy: Sequence[int], records: int) -> Mapping[int, Number]:  # noqa: ARG002
        return {row: float(noisy[source]) for row, source in self._pairs}


class _OverCells:
    def __init__(self, part: Component, noises: Sequence[float]) -> None:
        cells = part.cells()
        self._asked, self._size = _rows(part.asked, cells), len(cells)
        self._way = Solved(_rows(part.counted, cells), len(cells), noises)
        self._exact = {row for row, entries in self._asked.items() if self._way.exact(entries)}

    def variances(self) -> dict[int, float]:
        out = dict.fromkeys(self._asked, 0.0)
        if len(self._exact) < len(self._asked):
            covariance = self._way.summed_covariance()
            for row in self._asked.keys() - self._exact:
                out[row] = self._way.spread(_jumps(self._asked[row], self._size), covariance)
        return out

    def estimates(self, noisy: Sequence[int], records: int) -> Mapping[int, Number]:
        histogram = self._way.histogram(noisy, records)
        told = {row: self._way.told(self._asked[row], noisy, records) for row in self._exact}
        rest = {row: self._way.summed(v, histogram) for row, v in self._asked.items() if row not in self._exact}
        return {**told, **rest}


def _rows(blocks: Sequence[Block], cells: Sequence[Sequence[int] | None]) -> dict[int, Vector]:
    """Rows over cells, sparse; no row counts an absent record."""
    out: dict[int, Vector] = {row: {} for b in blocks for row in range(b.first, b.first + b.rows)}
    for k, values in enumerate(cells):
        if values is None:
            continue
        for block in blocks:
            for row, x in block.column(values).items():
                out[row][k] = x
    return out


def _components(asked: Sequence[Block], counted: Sequence[Block], universe: Universe) -> Iterator[Component]:
    """Blocks with a common attribute stay together; all of them where the number of records is private."""
    if universe.absent is not None:
        axes = {axis for block in (*asked, *counted) for axis in _moves(block, universe)}
        yield Component(axes, asked, counted, universe)
        return
    groups: list[set[int]] = []
    for block in (*asked, *counted):
        mine = _moves(block, universe)
        if mine:
            touching = [g for g in groups if g & mine]
            groups = [*(g for g in groups if not g & mine), mine.union(*touching)]
    for group in groups:
        sides = [[b for b in side if _moves(b, universe) & group] for side in (asked, counted)]
        yield Component(group, sides[0], sides[1], universe)


def _moves(block: Block, universe: Universe) -> set[int]:
    """The attributes that matter to a block."""
    return {a for a in block.axes if len({block.moving(a, v) for v in range(universe.shape[a])}) > 1}


def _jumps(entries: Vector, size: int) -> list[tuple[int, int]]:
    """Where a row changes, and by how much: few places, for intervals and single cells.

    What it has at the first cell it has everywhere: that tells the total, which is known.
    """
    out, before = [], entries.get(0, 0)
    for k in range(1, size):
        now = entries.get(k, 0)
        if now != before:
            out.append((k, now - before))
            before = now
    return out
