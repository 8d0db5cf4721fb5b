"""Estimate the workload from other noisy rows by least squares: the estimator of the matrix mechanism.

The measured rows B x + noise and the public total determine estimates of the histogram x. The unbiased linear estimate
of least variance is the generalized least squares solution, and each workload row is a function of it, so all answers
are consistent. Rows over disjoint attributes carry no information about one another. So the attributes separate into
components, each solved by itself: over the possible records that its rows separate, or table by table in closed form if
these are too many.

If records may be added and removed, their number n is private, and `absent` is one more possible record, at which all
rows are 0. There R B + r 1' = W implies r = 0, so that R noisy + r n does not use n. As every row depends on n, there
is only one component.
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
    ExactEstimator,
    SolvedPiece,
    exact_estimator,
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

_AT_ONCE = 1 << 20  # entries of rows that are processed at once
_DIGITS = 9  # decimal places of an estimate: further digits are rounding error
MOST_CELLS = 1_500  # part of the plans' format: with more separated records, rows are used as measured
_AS_WELL = 1e-3  # relative excess over the least variance by rounding, where noises differ by factors of millions


@dataclass(frozen=True, eq=False)
class Component:
    """Blocks that share attributes: the numbers of the workload's blocks and of the measured ones."""

    axes: tuple[int, ...]
    asked: tuple[int, ...]
    counted: tuple[int, ...]


def components(asked: Sequence[Block], counted: Sequence[Block]) -> list[Component]:
    """Return the finest partition in which blocks with a common attribute stay together, in order of their attributes.

    If the number of records is private, all blocks stay together, because each depends on it.
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
    """A block that is a table over classes of values: its attributes, and those of them that are counted as a
    difference.

    `rows` gives the row of each bin of the table, -1 if it is not counted.
    """

    attributes: tuple[int, ...]
    halved: tuple[int, ...]
    rows: Ints


def tables_of(asked: Sequence[Block], counted: Sequence[Block]) -> tuple[list[TableOf], list[TableOf]] | None:
    """Express the blocks of a component as tables over the values that they separate; None if some are not tables.

    A table counts each of its bins in a row of its own. Only workload tables may leave bins out, and only measured
    tables may hold the difference of an attribute's two values instead.
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
    """Express a block as a table over classes of values; None if it is not a table."""
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
    if halved:  # both values of a halved attribute share a row
        keep = np.ones(1, dtype=bool)
        for axis in axes:
            size = int(classes[axis].max()) + 1
            one = np.arange(size) == 0 if axis in halved else np.ones(size, dtype=bool)
            keep = (keep[:, None] & one).ravel()
        rows = rows[keep]
    return TableOf(tuple(axes), tuple(halved), rows)


class LeastSquares(Measured):
    """The unbiased linear estimate of least variance, given the measured rows, and the number of records if public."""

    how = "least squares"
    note = "answers are estimated by least squares from other noisy counts: they are consistent, and not integers"

    def __init__(self, asked: Workload, queries: Stack) -> None:
        super().__init__(asked, queries)
        if asked.universe.people is not None:
            raise NotCertified("least squares is not known for people with several rows", hints=['method="optimal"'])
        self._solved: tuple[tuple[float, ...], list[Solution]] | None = None
        self._carried: tuple[tuple[float, ...], ExactEstimator | None] | None = None

    def _parts(self, scales: Sequence[float]) -> "list[Solution]":
        """The solution of each component, cached for the last scales."""
        key = tuple(scales)
        if self._solved is None or self._solved[0] != key:
            noises = noises_of(key)
            found = components(self.asked.blocks, self.workload.blocks)
            self._solved = (key, [solved(self, part, noises) for part in found])
        return self._solved[1]

    def distributions(self, scales: Sequence[float]) -> tuple[Distribution, ...]:
        """Blends of the measured rows' noises; constant rows have none."""
        return self._blends(scales, self._least(scales))

    def distributions_of_file(self, scales: Sequence[float]) -> tuple[Distribution, ...]:
        """The distributions under the estimator that the file carries.

        Its rounding costs a little where noises differ by factors of millions.
        """
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
                rounded = float(f"{v:.10g}")  # late digits are rounding errors: equal variances shall compare equal
                out[row] = known.setdefault(rounded, Blend(rounded, *least) if rounded > 0 else Laplace(0.0))
        return tuple(out)

    def _least(self, scales: Sequence[float]) -> Floats:
        """The least variance of every workload row, in floats."""
        out = np.zeros(self.asked.rows)
        for part in self._parts(scales):
            out[part.asked_rows] = part.variances()
        return out

    def reconstruction(self, scales: Sequence[float]) -> ExactEstimator | None:
        """The estimator in exact numbers, if these are small enough to be stored."""
        key = tuple(scales)
        if self._carried is None or self._carried[0] != key:
            pieces = self._pieces(scales)
            self._carried = (key, None if pieces is None else exact_estimator(pieces, self._base))
        return self._carried[1]

    def adopt(self, given: ExactEstimator, scales: Sequence[float]) -> None:
        """Use the estimator of a file; raises unless it is exactly unbiased and has almost the least variance.

        The variance is checked because a forged file could add any multiple of a combination that is zero without
        noise.
        """
        pieces = self._pieces(scales)
        if pieces is None or not tells(given, pieces, self._base):
            raise NotCertified("the plan's reconstruction does not give the workload")
        if (given.variances(noises_of(scales)) > self._least(scales) * (1 + _AS_WELL)).any():
            raise NotCertified("the plan's reconstruction has more noise than the plan states")
        self._carried = (tuple(scales), given)

    @property
    def _base(self) -> Ints:
        """The rows' entries at the first possible record: a constant row has this entry everywhere."""
        if self.asked.universe.absent is not None:  # private number of records: no row may depend on it without noise
            return np.zeros(self.asked.rows, dtype=np.int64)
        return self.asked.columns(np.zeros(1, dtype=np.int64))[:, 0]

    def _pieces(self, scales: Sequence[float]) -> list[SolvedPiece] | None:
        """The components over the records that they separate; None if there are too many."""
        parts = self._parts(scales)
        for part in parts:
            cells = count_representatives([*part.asked, *part.counted], part.axes)
            if cells > MOST_CELLS or len(part.asked_rows) * (1 + len(part.counted_rows)) * cells > MOST_NUMBERS:
                return None
        return [part.piece() for part in parts]

    def estimate(self, noisy: Ints, scales: Sequence[float], records: int) -> "list[int | float | Fraction]":
        """Estimate each workload row from its component; constant rows are exact, and noise-free estimates are
        integers.

        If the file carries an exact estimator, it is used, in fractions that are rounded once.
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
    """Return the noise variances of these scales, each computed once."""
    known = {s: variance(s) for s in set(scales)}
    return np.array([known[s] for s in scales], dtype=np.float64)


def rows_of(workload: Workload, blocks: Sequence[int]) -> Ints:
    """Return the row numbers of some blocks."""
    spans = [np.arange(workload.offsets[b], workload.offsets[b] + workload.blocks[b].rows) for b in blocks]
    return np.concatenate([np.zeros(0, dtype=np.int64), *spans]).astype(np.int64)


def solved(whole: Measured, part: Component, noises: Floats) -> "Solution":
    """Solve a component: by tables, over separated records, or as measured."""
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
    """The estimator of one component, with the variances of its measured rows."""

    def __init__(self, whole: Measured, part: Component, noises: Floats) -> None:
        self.asked_rows = rows_of(whole.asked, part.asked)
        self.counted_rows = rows_of(whole.workload, part.counted)
        self.asked = [whole.asked.blocks[b] for b in part.asked]
        self.counted = [whole.workload.blocks[b] for b in part.counted]
        self.noises, self.axes = noises, part.axes
        self.private = whole.asked.universe.absent is not None

    def piece(self) -> SolvedPiece:
        """The component's rows over the records that they separate, with the estimator in floats."""
        cells = representatives_or_absent([*self.asked, *self.counted], self.axes)
        empty: Ints = np.zeros((0, len(cells)), dtype=np.int64)
        wanted, counted = (np.vstack([empty, *(b.columns(cells) for b in side)]) for side in (self.asked, self.counted))
        return SolvedPiece(self.asked_rows, self.counted_rows, wanted, counted, self.noises, *self.back())

    def back(self) -> tuple[Floats, Floats]:
        """R and r, from estimates of unit vectors."""
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
        """The variances of the workload rows."""

    @abstractmethod
    def estimate(self, noisy: Ints, records: int) -> Floats:
        """The estimates of the workload rows."""


class _AsItIs(Solution):
    """Too many separated records: the measured rows must be the workload's own."""

    def __init__(self, whole: Measured, part: Component, noises: Floats) -> None:
        super().__init__(whole, part, noises)
        mine, theirs = ([[p.tolist() for p in b.parts()] for b in side] for side in (self.asked, self.counted))
        if mine != theirs:
            raise NotCertified("too many possible records for least squares", hints=['method="optimal"'])

    def variances(self) -> Floats:
        return self.noises

    def estimate(self, noisy: Ints, records: int) -> Floats:  # noqa: ARG002
        return noisy[self.counted_rows].astype(np.float64)


class _SolvedTables(Solution):
    """Tables estimated from tables in closed form, without enumerating the possible records."""

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
        """All bins of a table have the same variance."""
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
    """Any rows, over the records that they separate; many rows are processed a few at a time, and their R is not
    stored.
    """

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
                # If the number is private, r is 0 up to rounding, because all rows are 0 at `absent`.
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
    """R and r such that `R noisy + r n` is the unbiased estimate of `wanted @ x` with least variance.

    The computation uses directions y = U x (see `pair_constraints`). Independent rows, the total and noise-free rows
    first, determine y; the residuals of the other rows correct it. The corrections are an ordinary least squares
    problem. With each direction in units of its row's noise, its matrix is well-conditioned, however different the
    noises are. Directions that noise-free rows determine have exact zeros in R for all other rows.

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
        each, open_ = np.eye(len(found.rows)), slice(found.preferred, None)  # the directions
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
        """Return R and r for some rows; raises if the measured rows do not determine all of them."""
        asked, missing = self._directions.parts(wanted)
        if missing.any():
            raise NotCertified("the counted rows do not tell everything that is asked")
        back = asked @ self._back
        return back[:, 1:], back[:, 0]
