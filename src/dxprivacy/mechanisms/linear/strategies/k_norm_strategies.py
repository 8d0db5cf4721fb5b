"""Propose k-norm noise for tables of several attributes that share margins (docs/theorems.md)."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import ClassVar

import numpy as np

from dxprivacy.errors import NotCertified
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.exact.rounding import round_up
from dxprivacy.mechanisms.linear.estimators.block_max_tables import MOST_CELLS, BlockMaxTables
from dxprivacy.mechanisms.linear.estimators.least_squares import Component, components, rows_of
from dxprivacy.mechanisms.linear.strategies.separated_records import SeparatedRecords, classes_of, count_representatives
from dxprivacy.mechanisms.linear.strategies.tables_in_rows import AskedTable, budgets_of_tables
from dxprivacy.metrics import Metric
from dxprivacy.metrics.with_other import present
from dxprivacy.optimize.deadline import Watch
from dxprivacy.optimize.k_norm.star_fit import stars
from dxprivacy.optimize.tables import Budgets
from dxprivacy.privacy import max_ratio
from dxprivacy.privacy.costs import BlockMaxCost, Cost
from dxprivacy.privacy.repair import Allowance, repaired
from dxprivacy.queries.asked import Asked, Stack
from dxprivacy.queries.strategy_rows import Groups, Tally
from dxprivacy.universe.answers import Distribution
from dxprivacy.universe.hierarchy import Nest
from dxprivacy.universe.workload import Workload
from dxprivacy.wording import plural

HARDLY_ANY = 60.0  # largest useful budget of two values: beyond it, noise is nonzero with probability e^-30
_LOOSE = 40.0  # beyond this budget, floats cannot compute the noise of tables


@dataclass(frozen=True, eq=False)
class SharedMargins:
    """Tables in stars, each margin before its tables: as queries with scales and a description."""

    queries: tuple[Asked, ...]
    scales: Floats
    name: str


def shared_margins(
    workload: Workload,
    part: Component,
    asked: Sequence[AskedTable],
    metric: Metric,
    budget: Fraction,
    importance: Floats,
    *,
    spent: Cost | None,
    watch: Watch,
) -> SharedMargins:
    """Return the best stars for a component of these tables; raises if there are none."""
    blocks = [workload.blocks[b] for b in part.asked]
    classes = [classes_of(blocks, axis) for axis in part.axes]
    sizes = [int(c.max()) + 1 for c in classes]
    budgets = budgets_of_tables(workload.universe, part.axes, classes, metric, budget, spent)
    if budgets is None or not all(0 < budgets[0].of(a) < math.inf for a in range(len(sizes))):
        raise NotCertified(
            "k-norm noise of tables needs distances that add up over attributes, or are all the same; none public",
            hints=[('method="matrix"', "independent noise")],
        )
    if min(budgets[0].of(a) for a in range(len(sizes))) > _LOOSE:
        raise NotCertified("there is hardly any noise to save", hints=[('method="optimal"', "counts what was asked")])
    wanted: dict[tuple[int, ...], float] = {}
    mine = importance[rows_of(workload, part.asked)]
    for table in asked:
        key = tuple(part.axes.index(a) for a in table.attributes)
        wanted[key] = wanted.get(key, 0.0) + float(mine[table.rows[table.rows >= 0]].mean())
    found = stars(sizes, _capped(budgets[0]), wanted, watch)
    if found is None:
        raise NotCertified("too many tables for k-norm noise", hints=[('method="matrix"', "independent noise")])
    names = [workload.universe.names[a] for a in part.axes]
    queries, scales = [], []
    for star, margin, weights in zip(found.stars, found.margins, found.weights, strict=True):
        for attributes, weight in zip(((star.owner,), *star.tables), (margin, *weights), strict=True):
            queries.append(_tally(names, classes, attributes))
            scales += [1 / weight] * math.prod(sizes[a] for a in attributes)
    count = sum(len(star.tables) for star in found.stars)
    name = f"{plural(count, 'table')} that share {plural(len(found.stars), 'margin')}"
    return SharedMargins(tuple(queries), np.array(scales), name)


def _capped(budgets: Budgets) -> Budgets:
    """Cap the budgets of attributes: beyond the cap there is almost no noise left to save."""
    return Budgets(tuple(min(b, _LOOSE) for b in budgets.attributes), min(budgets.together, _LOOSE))


def _tally(names: Sequence[str], classes: Sequence[Ints], table: tuple[int, ...]) -> Tally:
    """The query that counts each bin of a table."""
    return Tally(tuple(Groups(names[a], tuple(classes[a].tolist()), (1,) * len(classes[a])) for a in table))


# -- Components of a plan with k-norm noise: hierarchies of counts, stars of tables, or independent rows ---------------
# Along one attribute, or over few possible records, rows form a hierarchy (`universe/hierarchy.py`), and answers are
# sums of noisy bins. Tables of several attributes form stars. A table of one attribute, the margin, starts a star; the
# tables after it that belong to it contain its attribute, and their noise adds up to that of the margin
# (docs/theorems.md). The workload is estimated by least squares, component by component of the tables
# (`optimize.tables`). Rows of neither kind keep independent noise, and the workload is estimated from them by ordinary
# least squares.


DIGITS = 9  # decimal places of an estimate: further digits are rounding error

Value = int | float | Fraction


class KNormPart(ABC):
    """A component: the numbers of its rows, and the hierarchies along which their noise is drawn."""

    whole: ClassVar[bool]  # whether answers are integers that add up
    most: float = 400.0  # largest scale of a bin's noise; lookup tables have a hundred times as many entries

    def __init__(self, asked: Ints, counted: Ints) -> None:
        self.asked, self.counted = asked, counted

    @property
    @abstractmethod
    def nests(self) -> Sequence[tuple[Nest, Ints]]:
        """Hierarchies with independent noise, each with the numbers of its rows."""

    @property
    def alone(self) -> Ints:
        """The rows with independent noise."""
        return np.zeros(0, dtype=np.int64)

    @abstractmethod
    def widest(self, scales: Sequence[float]) -> float:
        """The largest scale among the bins with k-norm noise; `scales` are those of all rows."""

    @abstractmethod
    def distributions(self, scales: Sequence[float]) -> list[Distribution]:
        """The noise distribution of each workload row of this component."""

    @abstractmethod
    def estimates(self, noisy: Ints, scales: Sequence[float], records: int) -> list[Value]:
        """The estimate of each workload row of this component."""


def rounded(variance: float) -> float:
    """Round away late digits, which are rounding errors, so that equal variances compare equal."""
    return float(f"{variance:.10g}")


# -- Block-max noise: several tables with one noise distribution, where every table may use the whole budget -----------
# Replacing a record changes all tables. If budgets do not add up over attributes, all tables together may show no more
# than one may. The loss is the largest over the tables, so no table takes budget from another, and each gets the least
# scale that it could have alone.


_HARDLY_ANY = 1 / 60.0  # a scale at which noise is nonzero with probability e^-60


@dataclass(frozen=True, eq=False)
class ProposedBlockMax:
    """Tables for a whole workload."""

    measured: BlockMaxTables
    scales: Floats
    about: str


def applies(workload: Workload, metric: Metric) -> bool:
    """Whether there are several tables with few bins, one budget for all attributes, and a public number of records.

    If distances of attributes add up, each table has a budget of its own, and independent noise is better.
    """
    universe = workload.universe
    if universe.absent is not None or universe.people is not None or workload.proportional:
        return False
    if present(metric).axes is not None:
        return False
    parts = components(workload.blocks, ())
    blocks = [[workload.blocks[b] for b in part.asked] for part in parts]
    return len(parts) > 1 and all(
        2 <= count_representatives(mine, part.axes) <= MOST_CELLS for part, mine in zip(parts, blocks, strict=True)
    )


def propose(workload: Workload, metric: Metric, budget: Fraction, *, spent: Cost | None) -> ProposedBlockMax:
    """Propose one table for each component, with the scale that it could have alone."""
    queries, scales = [], []
    for part in components(workload.blocks, ()):
        cells = SeparatedRecords.bare([workload.blocks[b] for b in part.asked])
        query = cells.query(np.eye(cells.count, dtype=np.int64), Fraction(1))
        rows = query.on(workload.universe)
        alone = max_ratio(BlockMaxCost(rows, np.ones(rows.rows)), metric).upper
        if not 0 < alone < float("inf"):
            raise NotCertified("block-max noise is for differences that the policy neither forbids nor makes public")
        least = np.full(rows.rows, round_up(Fraction(alone) / budget))
        fits, _ = repaired(least, partial(BlockMaxCost, rows), Allowance(metric, budget, spent), workload)
        if fits[0] < _HARDLY_ANY:
            raise NotCertified(
                "there is hardly any noise to save", hints=[('method="optimal"', "counts what was asked")]
            )
        queries.append(query)
        scales.append(fits)
    measured, found = BlockMaxTables(workload, Stack(tuple(queries))), np.concatenate(scales)
    measured.prepare(found.tolist())
    about = (
        f"counts {len(queries)} tables with noise from one distribution: each has the whole budget, answers are whole"
    )
    return ProposedBlockMax(measured, found, about)
