"""Rows worked out from other noisy rows by least squares: the matrix mechanism's way back.

The counted rows B x + noise and the public total tell about the histogram x; the estimate of least variance among
those without bias is the generalized least squares solution, and each row that was asked for is read off it, so that
all answers agree with one another.  Rows over disjoint attributes have nothing to tell one another, so the attributes
fall into components, each solved for itself: over the cells that its rows tell apart, or table by table in closed form
where those are too many.

Where records may be added and removed, their number n is private, and `absent` is one more cell, at which all rows are
0: R B + r 1' = W says r = 0 there, so that R noisy + r n does not use n.  As every row tells something about n, there
is one component only.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from dxprivacy.errors import NotCertified, QueryError
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.mechanisms.linear.estimators.exact_reconstruction import (
    MOST_NUMBERS,
    SolvedPiece,
    WayBack,
    exact_way_back,
    tells,
)
from dxprivacy.mechanisms.linear.estimators.measured import Measured
from dxprivacy.mechanisms.linear.noise.discrete_laplace_distribution import variance
from dxprivacy.mechanisms.linear.noise.noise_distributions import Blend, Laplace, least_of
from dxprivacy.mechanisms.linear.strategies.separated_records import (
    classes_of,
    combinations_of,
    count_representatives,
    moves,
    representatives_or_absent,
)
from dxprivacy.optimize.pair_constraints import directions
from dxprivacy.optimize.tables import MeasuredTable, Reconstruction
from dxprivacy.queries.asked import Stack
from dxprivacy.universe.answers import Distribution
from dxprivacy.universe.blocks import Block, OneHot
from dxprivacy.universe.workload import Workload

_AT_ONCE = 1 << 20  # entries of rows that are worked out together
_DIGITS = 9  # of an estimate behind the point: the rest is rounding
MOST_CELLS = 1_500  # part of the plans' format: more cells than these are taken as they are counted
_AS_WELL = 1e-3  # of the least variance: what roundings may make of it where noises differ by millions


@dataclass(frozen=True, eq=False)
class Component:
    """Blocks that share attributes: which blocks were asked and which are counted, by their numbers."""

    axes: tuple[int, ...]
    asked: tuple[int, ...]
    counted: tuple[int, ...]


def components(asked: Sequence[Block], counted: Sequence[Block]) -> list[Component]:
    """The finest partition in which blocks with a common attribute stay together, in order of their attributes.

    Where the number of records is private all blocks stay together: each tells something about it.
    """
    everything = [*asked, *counted]
    if everything and everything[0].universe.absent is not None:
        axes = set().union(*(moves(b) for b in everything))
        return [Component(tuple(sorted(axes)), tuple(range(len(asked))), tuple(range(len(counted))))]
    groups: list[set[int]] = []
    for block in everything:
        mine = moves(block)
        touching = [g for g in groups if g & mine]
        groups = [g for g in groups if not g & mine]
        if mine:
            groups.append(mine.union(*touching))
    out = []
    for group in sorted(groups, key=min):
        chosen = [tuple(k for k, b in enumerate(blocks) if moves(b) & group) for blocks in (asked, counted)]
        out.append(Component(tuple(sorted(group)), chosen[0], chosen[1]))
    return out


@dataclass(frozen=True, eq=False)
class TableOf:
    """A block that is a table over classes of values: of which attributes, which of them as a difference.

    `rows` gives the row of each cell of the table, -1 where it is not counted.
    """

    attributes: tuple[int, ...]
    halved: tuple[int, ...]
    rows: Ints


def tables_of(asked: Sequence[Block], counted: Sequence[Block]) -> tuple[list[TableOf], list[TableOf]] | None:
    """The blocks of a component as tables over the values that they tell apart, or None where some is none.

    A table counts each of its cells in a row of its own; only asked ones may leave cells out, and only counted ones
    may take the difference of an attribute's two values instead.
    """
    blocks = [*asked, *counted]
    if not blocks or not all(isinstance(b, OneHot) for b in blocks):
        return None
    classes = {axis: classes_of(blocks, axis) for axis in sorted({a for b in blocks for a in b.axes})}
    found = [[table_of(b, classes) for b in side] for side in (asked, counted)]
    left, right = ([t for t in side if t is not None] for side in found)
    if len(left) < len(asked) or len(right) < len(counted):
        return None
    whole = all(not t.halved for t in left) and all((t.rows >= 0).all() for t in right)
    return (left, right) if whole else None


def table_of(block: Block, classes: dict[int, Ints]) -> TableOf | None:
    """A block as a table over classes of values, or None where it is none."""
    if not isinstance(block, OneHot):
        return None
    axes, halved = [], []
    for axis in block.axes:
        factor = block.factors[axis]
        if not block.moving(axis).any():
            if not (factor.values == 1).all():
                return None
            continue
        axes.append(axis)
        first = np.unique(classes[axis], return_index=True)[1]
        groups, values = factor.groups[first], factor.values[first]
        if len(values) == 2 and values.tolist() == [1, -1] and groups.tolist() == [0, 0]:
            halved.append(axis)
        elif (np.unique(groups[groups >= 0], return_counts=True)[1] > 1).any() or not (
            (values == 1) | (groups < 0)
        ).all():
            return None
    cells = combinations_of(block.universe, {axis: classes[axis] for axis in axes})
    row, value = block.place(cells)
    rows = np.where(value != 0, row, -1)
    if halved:  # both values of a halved attribute count in one row
        keep = np.ones(1, dtype=bool)
        for axis in axes:
            size = int(classes[axis].max()) + 1
            one = np.arange(size) == 0 if axis in halved else np.ones(size, dtype=bool)
            keep = (keep[:, None] & one).ravel()
        rows = rows[keep]
    return TableOf(tuple(axes), tuple(halved), rows)


class LeastSquares(Measured):
    """The estimate of least variance without bias, given the counted rows, and the number of records if public."""

    how = "least squares"
    note = "answers are worked out together from other noisy counts: they agree with one another, and are not whole"

    def __init__(self, asked: Workload, queries: Stack) -> None:
        super().__init__(asked, queries)
        if asked.universe.people is not None:
            raise NotCertified("least squares is not known for people with several rows", hints=['method="optimal"'])
        self._solved: tuple[tuple[float, ...], list[Solution]] | None = None
        self._carried: tuple[tuple[float, ...], WayBack | None] | None = None

    def _parts(self, scales: Sequence[float]) -> "list[Solution]":
        """Each component with its solution; kept for the scales that were asked about last."""
        key = tuple(scales)
        if self._solved is None or self._solved[0] != key:
            noises = noises_of(key)
            found = components(self.asked.blocks, self.workload.blocks)
            self._solved = (key, [solved(self, part, noises) for part in found])
        return self._solved[1]

    def distributions(self, scales: Sequence[float]) -> tuple[Distribution, ...]:
        """Blends of the counted rows' noises; rows that are the same for all records have none."""
        return self._blends(scales, self._least(scales))

    def distributions_of_file(self, scales: Sequence[float]) -> tuple[Distribution, ...]:
        """Those of the way back that the file carries: its roundings cost a little where noises differ by millions."""
        carried = self.reconstruction(scales)
        return (
            self.distributions(scales)
            if carried is None
            else self._blends(scales, carried.variances(noises_of(scales)))
        )

    def _blends(self, scales: Sequence[float], variances: Floats) -> tuple[Distribution, ...]:
        out: list[Distribution] = [Laplace(0.0)] * self.asked.rows
        for part in self._parts(scales):
            least = least_of(part.noises.tolist())
            known: dict[float, Distribution] = {}
            for row, v in zip(part.asked_rows.tolist(), variances[part.asked_rows].tolist(), strict=True):
                rounded = float(f"{v:.10g}")  # late digits differ by rounding only: what is alike shall look so
                out[row] = known.setdefault(rounded, Blend(rounded, *least) if rounded > 0 else Laplace(0.0))
        return tuple(out)

    def _least(self, scales: Sequence[float]) -> Floats:
        """The least variance of every row that was asked for, as floats find it."""
        out = np.zeros(self.asked.rows)
        for part in self._parts(scales):
            out[part.asked_rows] = part.variances()
        return out

    def reconstruction(self, scales: Sequence[float]) -> WayBack | None:
        """The way back in exact numbers, where these are small enough to be carried."""
        key = tuple(scales)
        if self._carried is None or self._carried[0] != key:
            pieces = self._pieces(scales)
            self._carried = (key, None if pieces is None else exact_way_back(pieces, self._base))
        return self._carried[1]

    def adopt(self, given: WayBack, scales: Sequence[float]) -> None:
        """Take a reconstruction from a file: refused unless it tells what was asked, to the last digit, and as well.

        Whoever wrote the file could add any multiple of what is nothing without noise.
        """
        pieces = self._pieces(scales)
        if pieces is None or not tells(given, pieces, self._base):
            raise NotCertified("the plan's reconstruction does not tell what is asked")
        if (given.variances(noises_of(scales)) > self._least(scales) * (1 + _AS_WELL)).any():
            raise NotCertified("the plan's reconstruction tells what is asked with more noise than the plan says")
        self._carried = (tuple(scales), given)

    @property
    def _base(self) -> Ints:
        """The rows' numbers at the first cell: what rows that are the same everywhere have at all of them."""
        if self.asked.universe.absent is not None:  # a private number: no row tells it for nothing
            return np.zeros(self.asked.rows, dtype=np.int64)
        return self.asked.columns(np.zeros(1, dtype=np.int64))[:, 0]

    def _pieces(self, scales: Sequence[float]) -> list[SolvedPiece] | None:
        """Components over their cells; None where there are too many."""
        parts = self._parts(scales)
        for part in parts:
            cells = count_representatives([*part.asked, *part.counted], part.axes)
            if cells > MOST_CELLS or len(part.asked_rows) * (1 + len(part.counted_rows)) * cells > MOST_NUMBERS:
                return None
        return [part.piece() for part in parts]

    def estimate(self, noisy: Ints, scales: Sequence[float], records: int) -> "list[int | float | Fraction]":
        """Component by component; rows that are the same for all records tell their number, exact ones are whole.

        Where a file carries the way back, by that, in fractions that are rounded once.
        """
        carried = self.reconstruction(scales)
        if carried is not None:
            found = carried.estimate(noisy.tolist(), records)
            distributions = self.distributions_of_file(scales)
            return [
                float(x) if distribution.variance > 0 else round(x)
                for x, distribution in zip(found, distributions, strict=True)
            ]
        out: list[int | float | Fraction] = list((self._base * records).tolist())
        for part in self._parts(scales):
            found, spread = part.estimate(noisy, records).tolist(), part.variances().tolist()
            for row, x, v in zip(part.asked_rows.tolist(), found, spread, strict=True):
                out[row] = round(x, _DIGITS) if v > 0 else round(x)
        return out


def noises_of(scales: Sequence[float]) -> Floats:
    """The variances of noises of these scales, each worked out once."""
    known = {s: variance(s) for s in set(scales)}
    return np.array([known[s] for s in scales], dtype=np.float64)


def rows_of(workload: Workload, blocks: Sequence[int]) -> Ints:
    """The rows of some blocks, by their numbers."""
    spans = [np.arange(workload.offsets[b], workload.offsets[b] + workload.blocks[b].rows) for b in blocks]
    return np.concatenate([np.zeros(0, dtype=np.int64), *spans]).astype(np.int64)


def solved(whole: Measured, part: Component, noises: Floats) -> "Solution":
    """By tables, over cells, or as it is."""
    asked = [whole.asked.blocks[b] for b in part.asked]
    counted = [whole.workload.blocks[b] for b in part.counted]
    mine = noises[rows_of(whole.workload, part.counted)]
    tables = tables_of(asked, counted)
    starts = np.cumsum([0] + [b.rows for b in counted])
    even = all(len(set(mine[a:b].tolist())) == 1 for a, b in pairwise(starts.tolist()))
    if tables is not None and counted and even:
        return _SolvedTables(whole, part, mine, *tables)
    if count_representatives([*asked, *counted], part.axes) <= MOST_CELLS:
        return _Cells(whole, part, mine)
    return _AsItIs(whole, part, mine)


class Solution(ABC):
    """A component, with the variances of its counted rows."""

    def __init__(self, whole: Measured, part: Component, noises: Floats) -> None:
        self.asked_rows = rows_of(whole.asked, part.asked)
        self.counted_rows = rows_of(whole.workload, part.counted)
        self.asked = [whole.asked.blocks[b] for b in part.asked]
        self.counted = [whole.workload.blocks[b] for b in part.counted]
        self.noises, self.axes = noises, part.axes
        self.private = whole.asked.universe.absent is not None

    def piece(self) -> SolvedPiece:
        """Its rows over the cells that they tell apart, and the way back in floats."""
        cells = representatives_or_absent([*self.asked, *self.counted], self.axes)
        empty: Ints = np.zeros((0, len(cells)), dtype=np.int64)
        wanted, counted = (np.vstack([empty, *(b.columns(cells) for b in side)]) for side in (self.asked, self.counted))
        return SolvedPiece(self.asked_rows, self.counted_rows, wanted, counted, self.noises, *self.back())

    def back(self) -> tuple[Floats, Floats]:
        """R and r, from what single counts come to."""
        size = int(self.counted_rows.max(initial=-1)) + 1
        ones = np.zeros(size, dtype=np.int64)
        columns = []
        for row in self.counted_rows.tolist():
            ones[row] = 1
            columns.append(self.estimate(ones, 0))
            ones[row] = 0
        constant = self.estimate(ones, 1)
        return np.column_stack([np.zeros((len(constant), 0)), *columns]), constant

    @abstractmethod
    def variances(self) -> Floats:
        """Of the rows that were asked for."""

    @abstractmethod
    def estimate(self, noisy: Ints, records: int) -> Floats:
        """The rows that were asked for."""


class _AsItIs(Solution):
    """Too many cells: just those rows that were asked for are counted."""

    def __init__(self, whole: Measured, part: Component, noises: Floats) -> None:
        super().__init__(whole, part, noises)
        mine, theirs = ([[p.tolist() for p in b.parts()] for b in side] for side in (self.asked, self.counted))
        if mine != theirs:
            raise NotCertified("too many cells for least squares", hints=['method="optimal"'])

    def variances(self) -> Floats:
        return self.noises

    def estimate(self, noisy: Ints, records: int) -> Floats:  # noqa: ARG002
        return noisy[self.counted_rows].astype(np.float64)


class _SolvedTables(Solution):
    """Tables from tables, in closed form; no cell of the universe is ever built."""

    def __init__(
        self, whole: Measured, part: Component, noises: Floats, asked: list[TableOf], counted: list[TableOf]
    ) -> None:
        super().__init__(whole, part, noises)
        blocks = [*self.asked, *self.counted]
        sizes = [int(classes_of(blocks, axis).max()) + 1 for axis in part.axes]
        place = {axis: k for k, axis in enumerate(part.axes)}
        self._tables = asked
        self._order = [t.rows for t in counted]
        self._starts = np.cumsum([0] + [b.rows for b in self.asked])
        self._counted_starts = np.cumsum([0] + [b.rows for b in self.counted])
        measured = [
            MeasuredTable(tuple(place[a] for a in t.attributes), tuple(place[a] for a in t.halved)) for t in counted
        ]
        wanted = [tuple(place[a] for a in t.attributes) for t in asked]
        each = noises[self._counted_starts[:-1]].tolist()
        try:
            self._way = Reconstruction(sizes, wanted, measured, each, private_total=self.private)
        except QueryError:
            raise NotCertified("the counted rows do not tell everything that is asked") from None

    def variances(self) -> Floats:
        """All cells of a table are alike."""
        out = np.zeros(len(self.asked_rows))
        for start, table, spread in zip(self._starts, self._tables, self._way.variance(), strict=False):
            out[start + table.rows[table.rows >= 0]] = spread
        return out

    def estimate(self, noisy: Ints, records: int) -> Floats:
        mine = noisy[self.counted_rows]
        given = [mine[start + rows] for start, rows in zip(self._counted_starts, self._order, strict=False)]
        out = np.zeros(len(self.asked_rows))
        found = self._way.estimate(given, None if self.private else records)
        for start, table, cells in zip(self._starts, self._tables, found, strict=False):
            seen = table.rows >= 0
            out[start + table.rows[seen]] = cells[seen]
        return out


class _Cells(Solution):
    """Any rows, over the cells that they tell apart; many rows are worked out a few at a time, and none is kept."""

    def __init__(self, whole: Measured, part: Component, noises: Floats) -> None:
        super().__init__(whole, part, noises)
        self._cells = representatives_or_absent([*self.asked, *self.counted], part.axes)
        empty: Ints = np.zeros((0, len(self._cells)), dtype=np.int64)
        counted = np.vstack([empty, *(b.columns(self._cells) for b in self.counted)])
        self._way = CellEstimator(counted, noises)
        self._variances = np.concatenate([np.zeros(0), *(back**2 @ noises for back, _ in self._backs())])

    def _backs(self) -> Iterator[tuple[Floats, Floats]]:
        step = max(16, _AT_ONCE // len(self._cells))
        for block in self.asked:
            wanted = block.columns(self._cells)
            for start in range(0, block.rows, step):
                back, constant = self._way.of(wanted[start : start + step])
                # Without a public number it is 0 but for roundings, because all rows are 0 where nobody is.
                yield back, np.zeros(len(back)) if self.private else constant

    def back(self) -> tuple[Floats, Floats]:
        backs, constants = zip(*self._backs(), strict=True)
        return np.concatenate(backs), np.concatenate(constants)

    def variances(self) -> Floats:
        return self._variances

    def estimate(self, noisy: Ints, records: int) -> Floats:
        mine = noisy[self.counted_rows]
        return np.concatenate([back @ mine + constant * records for back, constant in self._backs()])


class CellEstimator:
    """R and r with `wanted @ x` estimated by `R noisy + r n`: unbiased, and of least variance.

    Everything is said in directions y = U x (see `pair_constraints`).  The rows that gave them, the total and those
    without noise first, tell y; how far the other rows are from what follows corrects it.  The corrections are an
    ordinary least squares problem: with each direction in units of the noise of its row, its matrix is
    well-conditioned, however different the noises.  What only exact rows tell has exact zeros in R for all others.

    >>> R, r = CellEstimator(np.array([[1, -1]]), np.ones(1)).of(np.eye(2, dtype=np.int64))
    >>> R.round(3).ravel().tolist(), r.round(3).tolist()
    ([0.5, -0.5], [0.5, 0.5])
    """

    def __init__(self, counted: Ints, noises: Floats) -> None:
        order = np.argsort(noises > 0, kind="stable")
        exact = 1 + int((noises == 0).sum())
        rows = np.vstack([np.ones((1, counted.shape[1]), dtype=np.int64), counted[order]])
        spread = np.sqrt(noises[order[exact - 1 :]])
        found = directions(rows, exact, 1 / spread)
        each, open_ = np.eye(len(found.rows)), slice(found.preferred, None)  # the directions themselves
        units = spread[found.rows[open_] - exact]
        turned, triangle = np.linalg.qr(found.of_rows[exact:, open_] * (units / spread[:, None]))
        toward = np.linalg.solve(triangle.T, (each[:, open_] * units).T).T @ turned.T / spread
        others = np.setdiff1d(np.arange(exact, len(rows)), found.rows)
        out = np.zeros((len(each), len(rows)))
        out[:, others] = toward[:, others - exact]
        left = each - out[:, others] @ found.of_rows[others]
        out[:, found.rows] = np.linalg.solve(found.of_rows[found.rows].T, left.T).T
        back = np.zeros((len(each), 1 + len(noises)))
        back[:, np.concatenate([[0], 1 + order])] = out
        self._directions, self._back = found, back

    def of(self, wanted: Ints) -> tuple[Floats, Floats]:
        """For some rows; refused where the counted rows do not tell all of them."""
        asked, missing = self._directions.parts(wanted)
        if missing.any():
            raise NotCertified("the counted rows do not tell everything that is asked")
        back = asked @ self._back
        return back[:, 1:], back[:, 0]
