"""The matrix mechanism under a policy: choose rows to measure so that least squares estimates the workload best.

Attributes that no query connects have budgets of their own (for a sum of attributes), so each component of the workload
is planned by itself. It is planned over the possible records that its queries separate, if these are few; by weighted
tables in closed form, if the queries are tables; and otherwise by measuring the workload itself. Under any other
distance, and if records may be added and removed, all queries share one budget and are planned as one component. The
result is a proposal: integer rows and float scales, certified by the planner like any other.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dxprivacy.errors import NotCertified, SeparatesIdentical, TooLarge, UsageError
from dxprivacy.exact.arrays import Bools, Floats, Ints
from dxprivacy.mechanisms.linear.estimators.least_squares import MOST_CELLS as MOST_LEAST_SQUARES
from dxprivacy.mechanisms.linear.estimators.least_squares import Component, LeastSquares, components, tables_of
from dxprivacy.mechanisms.linear.strategies.separated_records import (
    SeparatedRecords,
    classes_of,
    count_representatives,
    everybody,
)
from dxprivacy.mechanisms.linear.strategies.tables_in_rows import budgets_of_tables, sharing_a_budget
from dxprivacy.metrics import Metric
from dxprivacy.metrics.with_other import present
from dxprivacy.optimize.deadline import Watch
from dxprivacy.optimize.strategies import Effort, StrategyProblem, choose
from dxprivacy.optimize.strategies.strategy_limits import limit, unbiased_limit
from dxprivacy.optimize.tables import choose as choose_tables
from dxprivacy.privacy.costs import Cost
from dxprivacy.queries.asked import Asked, Stack
from dxprivacy.queries.kinds.matrix_query import MatrixQuery
from dxprivacy.queries.strategy_rows import Groups, Steps, Tally
from dxprivacy.universe.blocks import AlongAxis, Block, OneHot
from dxprivacy.universe.workload import Workload

MOST_CELLS = 320
_FEW_CELLS = 64  # possible records that are planned over in any case, in addition to tables
_GRID_BITS = 20
_MOST_PARTS = 1024  # largest denominator of a row's entries for which the row is represented exactly
_STEPS = 256  # least number of grid steps in the noise scale of a row of fractions
_SIMPLE = 2.0**-43  # tolerance between a float and the fraction that it represents
_ALIKE = 1e3  # largest allowed ratio of row sizes
_FEWEST_BITS = 5  # coarser parts make a strategy only slightly worse
_LARGEST_BITS = 42  # of an entry, so that counts of a million records fit in 64 bits
_MOST_ENTRIES = 2_000_000
_LIMIT = "the best independent (continuous) Laplace noise, a limit that may be unreachable"
Progress = Callable[[str, float], None]


@dataclass(frozen=True, eq=False)
class CountedPart:
    """The strategy of one component: queries, scales, a description, and its error.

    `limit` is a lower bound on the error of any independent Laplace noise.
    """

    queries: tuple[Asked, ...]
    scales: Floats
    name: str
    total: float
    limit: float | None


@dataclass(frozen=True, eq=False)
class Strategy:
    """A proposal for a whole workload."""

    measured: LeastSquares
    scales: Floats
    about: str


def counted_for(
    workload: Workload,
    metric: Metric,
    budget: Fraction,
    importance: Floats,
    own_scales: Sequence[float],
    part: Component,
    *,
    spent: Cost | None,
    watch: Watch,
    effort: Effort,
) -> CountedPart | None:
    """Return the best strategy of one component; None if none applies."""
    task = _Part(workload, metric, budget, spent, importance, np.asarray(own_scales), part)
    return task.best(watch, effort=effort, progress=None)


def propose(
    workload: Workload,
    metric: Metric,
    budget: Fraction,
    importance: Floats,
    own_scales: Sequence[float],
    *,
    spent: Cost | None = None,
    watch: Watch,
    effort: Effort,
    progress: Progress | None = None,
) -> Strategy | None:
    """Return the best strategy that the recipes find; None if none applies.

    `importance` weights the squared error of each row, in steps of its grid; `own_scales` are the scales of the
    workload's own rows.
    """
    if workload.universe.people is not None:
        return None  # a person with several rows costs more than one row
    parts = components(workload.blocks, ())
    if not parts:
        return None
    if len(parts) > 1 and present(metric).axes is None:
        parts = [sharing_a_budget(parts)]
    found = []
    for part in parts:
        task = _Part(workload, metric, budget, spent, importance, np.asarray(own_scales), part)
        best = task.best(watch, effort=effort, progress=progress)
        if best is None:
            return None
        found.append(best)
    if not any(f.name for f in found):
        return None
    public = workload.universe.absent is None
    constant = [b for b in workload.blocks if public and not any(b.moving(a).any() for a in b.axes)]
    queries = tuple(q for f in found for q in f.queries)
    scales = np.concatenate([f.scales for f in found])
    if not len(scales) and constant:
        return None
    return Strategy(LeastSquares(workload, Stack(queries)), scales, _about(found))


def _about(found: Sequence[CountedPart]) -> str:
    """Describe the measured queries, and how far their error is from the lower bound."""
    names = list(dict.fromkeys(f.name for f in found if f.name))
    text = f"counts {' and '.join(names)}, and works the answers out by least squares"
    if all(f.limit for f in found):
        times = math.sqrt(sum(f.total for f in found) / sum(f.limit or 0.0 for f in found))
        text += f"; error at most {times:.3g} times that of {_LIMIT}"
    return text


@dataclass(frozen=True, eq=False)
class _Part:
    """One component of a workload, with everything needed to plan it."""

    workload: Workload
    metric: Metric
    budget: Fraction
    spent: Cost | None
    importance: Floats
    own_scales: Floats
    part: Component

    @property
    def blocks(self) -> list[Block]:
        return [self.workload.blocks[b] for b in self.part.asked]

    @property
    def rows(self) -> Ints:
        spans = [
            np.arange(self.workload.offsets[b], self.workload.offsets[b] + self.workload.blocks[b].rows)
            for b in self.part.asked
        ]
        return np.concatenate(spans).astype(np.int64)

    def best(self, watch: Watch, *, effort: Effort, progress: Progress | None) -> CountedPart | None:
        """The best of the strategies that apply."""
        if not (self.own_scales[self.rows] > 0).any():
            return self._itself()
        tables = self._by_tables(watch, effort=effort)
        cells = None
        if tables is None or effort != "quick" or count_representatives(self.blocks, self.part.axes) <= _FEW_CELLS:
            cells = self._by_cells(watch, effort=effort, progress=progress)
        found = [f for f in (tables, cells) if f is not None]
        if not found:
            return self._itself()
        best = min(found, key=lambda f: f.total)
        return replace(best, limit=max((f.limit for f in found if f.limit is not None), default=None))

    def _itself(self) -> CountedPart | None:
        """The workload's own rows; None if least squares would not keep them as they are."""
        if count_representatives(self.blocks, self.part.axes) <= MOST_LEAST_SQUARES or tables_of(self.blocks, ()):
            return None
        variances = 2 * self.own_scales[self.rows] ** 2
        total = float(self.importance[self.rows] @ variances)
        return CountedPart(tuple(query_of(b) for b in self.blocks), self.own_scales[self.rows], "", total, None)

    # -- over possible records

    def _by_cells(self, watch: Watch, *, effort: Effort, progress: Progress | None) -> CountedPart | None:
        blocks = self.blocks
        count = count_representatives(blocks, self.part.axes)
        if count > (MOST_CELLS if len(self.part.axes) == 1 else self._most_together(effort)):
            return None
        cells = SeparatedRecords.of(blocks, self.metric, self.budget, self.spent)
        if cells.limits is None or cells.public or cells.count < 2 or not (cells.limits > 0).all():
            return None
        wanted = np.vstack([b.columns(cells.representatives) for b in blocks], dtype=np.float64)
        wanted *= np.sqrt(self.importance[self.rows])[:, None]
        try:
            problem = StrategyProblem(wanted.T @ wanted, cells.first, cells.second, cells.limits)
        except UsageError:
            return None  # only public differences connect some possible records
        least = max(limit(problem, cuts=effort != "quick", watch=watch).value, unbiased_limit(problem, wanted))
        found = choose(problem, wanted, effort=effort, progress=progress, watch=watch)
        if not np.isfinite(found.total) or not len(found.rows):
            return None
        return self._whole(cells, problem, found.name, found.rows, least)

    def _most_together(self, effort: Effort) -> int:
        """The largest number of possible records over several attributes: their rows are explicit over the whole
        universe.

        With effort "quick", many are planned over only if the workload has even more rows (all ranges): there a
        strategy wins by far.
        """
        most = MOST_CELLS if effort != "quick" else max(_FEW_CELLS, min(len(self.rows), MOST_CELLS))
        return min(most, _MOST_ENTRIES // max(2 * self.workload.universe.cells, 1))

    def _whole(
        self, cells: SeparatedRecords, problem: StrategyProblem, name: str, rows: Floats, least: float
    ) -> CountedPart | None:
        """Real strategy rows as integer rows with scales, from which the workload follows exactly as from the real
        ones.

        Rows of zeros and ones are kept, and so are rows of simple fractions, times their denominator. Other rows are
        rounded directly if together they determine everything. If they determine less, they are rounded as combinations
        of the queries, so that these still follow from them without bias. The stated error is that of the rounded rows.
        """
        rows = rows[np.abs(rows).max(axis=1) > 0]
        if cells.universe.absent is None:
            rows = _without_offset(rows)
        else:  # a row may be shifted, but only so that `absent` counts 0
            rows = rows - rows[:, -1:]
            rows = rows[np.abs(rows).max(axis=1) > 0]
        largest = np.abs(rows).max(axis=1)
        fine = parts_of(rows / largest[:, None])
        rounded = fine == 0
        fine = np.where(rounded, 1 << _GRID_BITS, np.where(fine > 1, _divided(fine, largest), fine))
        centered = rows - rows.mean(axis=1, keepdims=True)
        if rounded.any() and np.linalg.matrix_rank(centered, tol=1e-9 * float(largest.max())) < cells.count - 1:
            asked = np.vstack([b.columns(cells.representatives) for b in self.blocks])
            found = _combined(asked, rows)
            if found is None:
                return None
            whole, scales = found
            queries = [cells.query(whole, Fraction(1))]
        else:
            order = np.argsort(-fine, kind="stable")
            fine, largest = fine[order], largest[order]
            whole, scales = _int(rows[order] / largest[:, None] * fine[:, None]), fine / largest
            alike = [(f, np.flatnonzero(fine == f)) for f in dict.fromkeys(fine.tolist())]
            queries = [cells.query(whole[at], Fraction(1, f)) for f, at in alike]
        return CountedPart(tuple(queries), scales, name, problem.total(whole / scales[:, None]), least)

    # -- by tables

    def _by_tables(self, watch: Watch, *, effort: Effort) -> CountedPart | None:
        axes, blocks = self.part.axes, self.blocks
        asked = tables_of(blocks, ())
        if asked is None or not axes:
            return None
        classes = [classes_of(blocks, axis) for axis in axes]
        sizes = [int(c.max()) + 1 for c in classes]
        found = budgets_of_tables(self.workload.universe, axes, classes, self.metric, self.budget, self.spent)
        if found is None:
            return None
        budgets, even = found
        weights = []
        for b, block in zip(self.part.asked, blocks, strict=True):
            start = self.workload.offsets[b]
            weights.append(float(self.importance[start : start + block.rows].mean()))
        tables = [tuple(axes.index(a) for a in block.axes if a in axes) for block in blocks]
        try:
            chosen = choose_tables(sizes, budgets, tables, weights, closer=even and effort != "quick", watch=watch)
        except (TooLarge, SeparatesIdentical):
            return None
        names = self.workload.universe.names
        queries, scales = [], []
        for table, scale in zip(chosen.tables, chosen.scales.tolist(), strict=True):
            over = []
            for a in table.attributes:
                groups = np.zeros_like(classes[a]) if a in table.halved else classes[a]
                signs = np.where(classes[a] == 0, 1, -1) if a in table.halved else np.ones_like(classes[a])
                over.append(Groups(names[axes[a]], tuple(groups.tolist()), tuple(signs.tolist())))
            queries.append(Tally(tuple(over) or (everybody(self.workload.universe),)))
            scales += [scale] * table.rows(sizes)
        words = f"{len(queries)} weighted tables"
        least = chosen.limit if even else None  # if values are not equally far apart, other strategies may be better
        return CountedPart(tuple(queries), np.array(scales), words, chosen.total, least)


def _is_whole(rows: Floats) -> Bools:
    """Which rows consist of integers."""
    return np.asarray(np.abs(rows - np.rint(rows)).max(axis=1) < 1e-12, dtype=bool)


def parts_of(rows: Floats) -> Ints:
    """Return the least common denominator of each row's entries: 1 for integers, 0 if the entries are not simple
    fractions.

    >>> parts_of(np.array([[0.0, 1.0], [0.75, 1 / 6], [0.1234567, 1.0]]))
    array([ 1, 12,  0])
    """
    found = np.where(_is_whole(rows), 1, 0)
    for k in np.flatnonzero(found == 0).tolist():
        parts = 1
        for x in np.unique(rows[k]).tolist():
            near = Fraction(x).limit_denominator(_MOST_PARTS)
            parts = math.lcm(parts, near.denominator)
            if abs(near - Fraction(x)) > _SIMPLE or parts > _MOST_PARTS:
                parts = 0
                break
        found[k] = parts
    return found.astype(np.int64)


def _divided(parts: Ints, largest: Floats) -> Ints:
    """Double the denominators until the noise has many grid steps; coarse steps would widen intervals by
    half a step.
    """
    halvings = np.ceil(np.log2(np.maximum(_STEPS * largest / np.maximum(parts, 1), 1.0))).astype(np.int64)
    return np.asarray(parts << np.minimum(halvings, _GRID_BITS), dtype=np.int64)


def _without_offset(rows: Floats) -> Floats:
    """Subtract a constant from each row: 0 for integer rows; otherwise the minimum, if that gives simple fractions, or
    else the middle.

    The number of records is public, so the constant costs and reveals nothing, and it would use up bits when rounding.
    """
    low, high = rows.min(axis=1, keepdims=True), rows.max(axis=1, keepdims=True)
    raised, centered = rows - low, rows - (low + high) / 2
    whole = _is_whole(rows / np.abs(rows).max(axis=1, keepdims=True))[:, None]
    simple = (parts_of(raised / np.where(high > low, high - low, 1.0)) > 0)[:, None]
    return np.asarray(np.where(whole, rows, np.where(simple, raised, centered)), dtype=np.float64)


def _int(rows: Floats) -> Ints:
    return np.rint(rows).astype(np.int64)


def _combined(asked: Ints, rows: Floats) -> tuple[Ints, Floats] | None:
    """Rows in the span of the workload, as integer combinations of its rows, with scales; None if entries get too
    large.
    """
    from scipy.linalg import qr

    centered = asked - asked.mean(axis=1, keepdims=True)
    sizes = np.abs(centered).max(axis=1)
    if sizes.max() > _ALIKE * sizes[sizes > 0].min():
        return None  # integer combinations would be too coarse for the small rows
    centered = centered[sizes > 0] / sizes[sizes > 0, None]
    asked = asked[sizes > 0]
    triangle, order = qr(centered.T, mode="r", pivoting=True)
    rank = int((np.abs(np.diag(triangle)) > 1e-10).sum())
    basis = asked[np.sort(order[:rank])]
    parts = (rows - rows.mean(axis=1, keepdims=True)) @ np.linalg.pinv(basis - basis.mean(axis=1, keepdims=True))
    largest = np.abs(parts).max(axis=1)
    keep = largest > 1e-12 * largest.max()
    parts, largest = parts[keep], largest[keep]
    bits = min(_GRID_BITS, _LARGEST_BITS - math.ceil(math.log2(float(np.abs(basis).max()) * rank + 1)))
    if bits < _FEWEST_BITS:
        return None
    return _int(parts / largest[:, None] * 2.0**bits) @ basis, 2.0**bits / largest


def query_of(block: Block) -> Asked:
    """Return a query with exactly the rows of this block."""
    names = block.universe.names
    if isinstance(block, OneHot):
        over = []
        for axis in block.axes:
            factor = block.factors[axis]
            over.append(Groups(names[axis], tuple(factor.groups.tolist()), tuple(factor.values.tolist())))
        return Tally(tuple(over))
    if isinstance(block, AlongAxis):
        return Steps.from_rows(names[block.axis], block.matrix, block.unit)
    if block.rows * block.universe.size > 5_000_000:
        raise NotCertified("too many entries for a strategy")
    return MatrixQuery(block.dense(), block.unit)
