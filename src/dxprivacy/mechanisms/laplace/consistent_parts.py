"""The components of a plan with consistent noise: counts nested in one another, stars of tables, or what has none.

Along one attribute, or over few cells, rows are nested (`model/nest.py`), and what was asked are sums of noisy cells.
Tables of several attributes come in stars: a table of one attribute, the margin, opens one, and the tables behind it
that belong to it have its attribute; their noises add up to that of the margin (docs/theorems.md).  What was asked is
then worked out by least squares, component by component of the tables (`optimise.tables`).  Rows that are neither keep
noise of their own, and what was asked follows by ordinary least squares.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from dxprivacy.errors import NotCertified, QuestionError
from dxprivacy.exact.arrays import Ints
from dxprivacy.mechanisms.laplace.cells import cells_told_apart, classes_of, representatives
from dxprivacy.mechanisms.laplace.laws import Agreeing, Blend, Combined, Laplace, least_of
from dxprivacy.mechanisms.laplace.least_squares import (
    Component,
    Solution,
    TableOf,
    noises_of,
    rows_of,
    solved,
)
from dxprivacy.mechanisms.laplace.measured import Measured
from dxprivacy.mechanisms.laplace.tables_in_rows import AskedTable, tables_in
from dxprivacy.model.blocks import Block
from dxprivacy.model.nest import Nest, nest_of, star_of
from dxprivacy.model.recipes import Law
from dxprivacy.optimise.consistent.moments import Moments
from dxprivacy.optimise.consistent.stars import Star, spreads
from dxprivacy.optimise.tables import Reconstruction, Table

MOST_CELLS = 1_500
MOST_ROWS = 30_000  # of stars
_DIGITS = 9  # of an estimate behind the point: the rest is rounding
_ROOM = 1 << 62
_LONG = 4_000.0

Value = int | float | Fraction


class Part(ABC):
    """A component: which rows, by their numbers, and along which nests their noise is drawn."""

    whole: ClassVar[bool]  # whether answers are whole numbers, and add up
    most: float = 400.0  # the largest scale of a cell's noise: tables have a hundred times as many places

    def __init__(self, asked: Ints, counted: Ints) -> None:
        self.asked, self.counted = asked, counted

    @property
    @abstractmethod
    def nests(self) -> Sequence[tuple[Nest, Ints]]:
        """Nests that do not mind one another, each with the numbers of its rows."""

    @property
    def alone(self) -> Ints:
        """The rows whose noise is their own."""
        return np.zeros(0, dtype=np.int64)

    @abstractmethod
    def widest(self, scales: Sequence[float]) -> float:
        """The largest scale of single cells whose noise agrees, of those of all rows."""

    @abstractmethod
    def laws(self, scales: Sequence[float]) -> list[Law]:
        """Of each row that was asked for."""

    @abstractmethod
    def estimates(self, noisy: Ints, scales: Sequence[float], records: int) -> list[Value]:
        """Of each row that was asked for."""


def part_of(whole: Measured, part: Component) -> Part:
    """Stars, nested counts, or what is neither."""
    asked, counted = whole.asked, whole.workload
    mine, theirs = [asked.blocks[b] for b in part.asked], [counted.blocks[b] for b in part.counted]
    numbers = rows_of(asked, part.asked), rows_of(counted, part.counted)
    if not theirs:
        raise NotCertified("counts nothing of what is asked", hints=['method="optimal"'])
    try:
        if any(b.unit != 1 for b in theirs):
            raise NotCertified("consistent noise is that of counts")
        tables = tables_in(mine, theirs) if len(part.axes) > 1 else None
        if tables is not None:
            return Starred(numbers, part.axes, [*mine, *theirs], *tables)
        return Nested(numbers, part.axes, mine, theirs)
    except NotCertified as why:
        return Alone(numbers, whole, part, why)


class Nested(Part):
    """Rows nested in one another down to single cells."""

    whole = True

    def __init__(
        self, numbers: tuple[Ints, Ints], axes: Sequence[int], asked: Sequence[Block], counted: Sequence[Block]
    ) -> None:
        super().__init__(*numbers)
        if cells_told_apart([*asked, *counted], axes) > MOST_CELLS:
            raise NotCertified("too many cells for consistent noise", hints=['method="optimal"'])
        cells = representatives([*asked, *counted], axes)
        nest = nest_of(np.vstack([b.columns(cells) for b in counted]))
        if nest is None:
            raise NotCertified("consistent noise needs counts that are nested in one another, down to single cells")
        self.nest = nest
        self.most = min(max(_LONG / nest.depth, 100.0), 400.0)  # each level of a nest has tables of its own
        self.wanted = np.vstack([np.zeros((0, len(cells)), dtype=np.int64), *(b.columns(cells) for b in asked)])
        self._places = nest.row[nest.ends]  # of cells among the counted rows

    @property
    def nests(self) -> Sequence[tuple[Nest, Ints]]:
        return [(self.nest, self.counted)]

    def widest(self, scales: Sequence[float]) -> float:
        return max(float(scales[k]) for k in self.counted[self._places].tolist())

    @cached_property
    def _steps(self) -> list[tuple[int, int]]:
        """In what steps the noise of each asked row comes, and how far a unit of it moves the row at most.

        The noise adds up to 0, so that of a row's numbers only differences count.
        """
        apart = self.wanted - self.wanted[:, :1]
        span = self.wanted.max(axis=1) - self.wanted.min(axis=1)
        return list(zip(np.gcd.reduce(apart, axis=1).tolist(), span.tolist(), strict=True))

    def laws(self, scales: Sequence[float]) -> list[Law]:
        weights = 1 / np.array(scales)[self.counted]
        known: dict[tuple[float, int, int], Law] = {}
        out: list[Law] = []
        spread = Moments(self.nest, weights).variances(self.wanted.astype(np.float64)).tolist()
        for v, (step, span) in zip(spread, self._steps, strict=True):
            key = rounded(v), step, span
            out.append(known.setdefault(key, Agreeing(*key)) if step else Laplace(0.0))
        return out

    def estimates(self, noisy: Ints, scales: Sequence[float], records: int) -> list[Value]:  # noqa: ARG002
        """Sums of noisy cells, without any rounding."""
        cells = noisy[self.counted[self._places]]
        most = int(np.abs(self.wanted).max(initial=0)) * sum(abs(x) for x in cells.tolist())
        wanted = self.wanted if most < _ROOM else self.wanted.astype(object)
        return [int(x) for x in (wanted @ cells).tolist()]


@dataclass(frozen=True, eq=False)
class _OneStar:
    """A star of a component: the places of its tables among those counted, the margin's first; and its nest."""

    star: Star
    places: tuple[int, ...]
    nest: Nest
    rows: Ints  # by their place in the nest: among all counted ones of the plan


class Starred(Part):
    """Tables that share the noise of their owner's margin."""

    whole = False

    def __init__(
        self,
        numbers: tuple[Ints, Ints],
        axes: Sequence[int],
        blocks: Sequence[Block],
        asked: Sequence[AskedTable],
        counted: Sequence[TableOf],
    ) -> None:
        super().__init__(*numbers)
        if len(self.counted) > MOST_ROWS:
            raise NotCertified("too many cells for consistent noise", hints=['method="matrix"'])
        self._asked, self._counted = asked, counted
        self._sizes = [int(classes_of(blocks, axis).max()) + 1 for axis in axes]
        place = {axis: k for k, axis in enumerate(axes)}
        self._tables = [Table(tuple(place[a] for a in t.attributes)) for t in counted]
        self._wanted = [tuple(place[a] for a in t.attributes) for t in asked]
        self._starts = np.cumsum([0] + [b.rows for b in blocks[len(blocks) - len(counted) :]])
        if self._starts[1:].tolist() != np.cumsum([len(t.rows) for t in counted]).tolist():
            raise NotCertified("consistent noise of tables needs a row for each cell, and no others")
        self.stars = [self._star(places) for places in self._places()]
        self._solved: tuple[tuple[float, ...], Reconstruction] | None = None

    def _places(self) -> list[list[int]]:
        """Which tables are a star: a margin opens it."""
        out: list[list[int]] = []
        for k, table in enumerate(self._tables):
            if len(table.attributes) == 1:
                out.append([k])
            elif out and self._tables[out[-1][0]].attributes[0] in table.attributes:
                out[-1].append(k)
            else:
                raise NotCertified("consistent noise needs tables behind the margin that they share")
        return out

    def _star(self, places: Sequence[int]) -> _OneStar:
        owner = self._tables[places[0]].attributes[0]
        starts = np.cumsum([0] + [len(self._counted[k].rows) for k in places])
        rows = np.concatenate([self.counted[self._starts[k] + np.arange(len(self._counted[k].rows))] for k in places])
        groups = []
        for start, k in zip(starts[1:].tolist(), places[1:], strict=False):
            shape = [self._sizes[a] for a in self._tables[k].attributes]
            cells = np.moveaxis(self._counted[k].rows.reshape(shape), self._tables[k].attributes.index(owner), 0)
            groups.append(start + cells.reshape(shape[self._tables[k].attributes.index(owner)], -1))
        nest = star_of(self._counted[places[0]].rows, groups)
        return _OneStar(Star(owner, tuple(self._tables[k].attributes for k in places[1:])), tuple(places), nest, rows)

    @property
    def nests(self) -> Sequence[tuple[Nest, Ints]]:
        return [(one.nest, one.rows) for one in self.stars]

    def widest(self, scales: Sequence[float]) -> float:
        cells = [one.places[1:] or one.places for one in self.stars]
        return max(self._scales(scales)[k] for some in cells for k in some)

    def _scales(self, scales: Sequence[float]) -> list[float]:
        """Of each table; all its rows have one."""
        out = []
        for k in range(len(self._tables)):
            mine = {scales[row] for row in self.counted[self._starts[k] : self._starts[k + 1]].tolist()}
            if len(mine) > 1:
                raise NotCertified("consistent noise of tables needs one scale for all cells of a table")
            out.append(mine.pop())
        return out

    def _way(self, scales: Sequence[float]) -> Reconstruction:
        """The way back; kept for the scales that were asked about last."""
        each = tuple(self._scales(scales))
        if self._solved is None or self._solved[0] != each:
            spread: dict[int, tuple[int, float]] = {}  # by table: the owner, and its variance in what it tells alone
            for one in self.stars:
                weights = [1 / each[k] for k in one.places]
                margin, others = spreads(self._sizes, one.star, weights[0], weights[1:])
                spread |= {k: (one.star.owner, v) for k, v in zip(one.places, (margin, *others), strict=True)}
            margins = {one.places[0] for one in self.stars}

            def by_component(k: int, s: tuple[int, ...]) -> float:
                """A table tells nothing of its owner alone that the margin does not tell."""
                return math.inf if k not in margins and s == (spread[k][0],) else spread[k][1]

            try:
                way = Reconstruction(
                    self._sizes, self._wanted, self._tables, [1.0] * len(self._tables), by_component=by_component
                )
            except QuestionError:
                raise NotCertified("the counted rows do not tell everything that is asked") from None
            self._solved = each, way
        return self._solved[1]

    def laws(self, scales: Sequence[float]) -> list[Law]:
        """All cells of a table are alike."""
        out: list[Law] = [Laplace(0.0)] * len(self.asked)
        for table, v in zip(self._asked, self._way(scales).variance(), strict=True):
            for row in table.rows[table.rows >= 0].tolist():
                out[row] = Combined(rounded(v)) if v > 0 else Laplace(0.0)
        return out

    def estimates(self, noisy: Ints, scales: Sequence[float], records: int) -> list[Value]:
        mine = noisy[self.counted]
        given = [mine[start + table.rows] for start, table in zip(self._starts, self._counted, strict=False)]
        found: list[Value] = [0] * len(self.asked)
        way = self._way(scales)
        for table, cells, v in zip(self._asked, way.estimate(given, records), way.variance(), strict=True):
            for row, x in zip(table.rows.tolist(), cells.tolist(), strict=True):
                if row >= 0:
                    found[row] = round(x, _DIGITS) if v > 0 else round(x)
        return found


class Alone(Part):
    """Rows whose noise is their own, and why; what was asked follows by least squares."""

    whole = False

    def __init__(self, numbers: tuple[Ints, Ints], whole: Measured, part: Component, why: NotCertified) -> None:
        super().__init__(*numbers)
        self.why = why
        self._whole, self._part = whole, part
        self._solved: tuple[tuple[float, ...], Solution] | None = None

    @property
    def nests(self) -> Sequence[tuple[Nest, Ints]]:
        return ()

    @property
    def alone(self) -> Ints:
        return self.counted

    def widest(self, scales: Sequence[float]) -> float:  # noqa: ARG002
        return 0.0

    def _solution(self, scales: Sequence[float]) -> Solution:
        key = tuple(scales)
        if self._solved is None or self._solved[0] != key:
            self._solved = key, solved(self._whole, self._part, noises_of(key))
        return self._solved[1]

    def laws(self, scales: Sequence[float]) -> list[Law]:
        found = self._solution(scales)
        least = least_of(found.noises.tolist())
        return [Blend(rounded(v), *least) if v > 0 else Laplace(0.0) for v in found.variances().tolist()]

    def estimates(self, noisy: Ints, scales: Sequence[float], records: int) -> list[Value]:
        found = self._solution(scales)
        spread = found.variances().tolist()
        told = found.estimate(noisy, records).tolist()
        return [round(x, _DIGITS) if v > 0 else round(x) for x, v in zip(told, spread, strict=True)]


def rounded(variance: float) -> float:
    """Late digits differ by rounding only: what is alike shall look so."""
    return float(f"{variance:.10g}")
