"""Tables of several attributes whose noise agrees along one of them: a proposal for a component (docs/theorems.md)."""

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

HARDLY_ANY = 60.0  # what two values may show: then noise is not 0 once in e^30
_LOOSE = 40.0  # from there on floats do not tell what noise of tables comes to


@dataclass(frozen=True, eq=False)
class SharedMargins:
    """Tables in stars, each margin before its tables: as queries, with their scales, in words."""

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
    """The best stars for a component of these tables; refuses where there are none."""
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
    """What an attribute may show beyond that is left: there is hardly any noise in it."""
    return Budgets(tuple(min(b, _LOOSE) for b in budgets.attributes), min(budgets.together, _LOOSE))


def _tally(names: Sequence[str], classes: Sequence[Ints], table: tuple[int, ...]) -> Tally:
    """A count for each cell."""
    return Tally(tuple(Groups(names[a], tuple(classes[a].tolist()), (1,) * len(classes[a])) for a in table))


# -- The components of a plan with k-norm noise: counts nested in one another, stars of tables, or what has none -------
# Along one attribute, or over few cells, rows are nested (`universe/hierarchy.py`), and answers are sums of noisy
# cells. Tables of several attributes come in stars: a table of one attribute, the margin, opens one, and the tables
# behind it that belong to it have its attribute; their noises add up to that of the margin (docs/theorems.md).  What
# was asked is then worked out by least squares, component by component of the tables (`optimize.tables`).  Rows that
# are neither keep noise of their own, and what was asked follows by ordinary least squares.


DIGITS = 9  # of an estimate behind the point: the rest is rounding

Value = int | float | Fraction


class KNormPart(ABC):
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
    def distributions(self, scales: Sequence[float]) -> list[Distribution]:
        """Of each row that was asked for."""

    @abstractmethod
    def estimates(self, noisy: Ints, scales: Sequence[float], records: int) -> list[Value]:
        """Of each row that was asked for."""


def rounded(variance: float) -> float:
    """Late digits differ by rounding only: what is alike shall look so."""
    return float(f"{variance:.10g}")


# -- Where every table may have the whole budget: a proposal of tables that are noised together ------------------------
# A record that is replaced changes them all, and where budgets do not add up over attributes it may show no more in all
# than in one.  Each table gets the least scale that it could have alone: beside a largest loss, no table takes anything
# from another.


_HARDLY_ANY = 1 / 60.0  # a scale of noise that is not 0 once in e^60


@dataclass(frozen=True, eq=False)
class ProposedBlockMax:
    """Tables for a whole workload."""

    measured: BlockMaxTables
    scales: Floats
    about: str


def applies(workload: Workload, metric: Metric) -> bool:
    """Whether there are several tables of a few cells each, whose budgets do not add up, of a public number of records.

    Where distances of attributes add up, each table has a budget of its own, and noise of its own is better.
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
    """One table for each component, with the scale that it could have alone."""
    queries, scales = [], []
    for part in components(workload.blocks, ()):
        cells = SeparatedRecords.bare([workload.blocks[b] for b in part.asked])
        query = cells.query(np.eye(cells.count, dtype=np.int64), Fraction(1))
        rows = query.on(workload.universe)
        alone = max_ratio(BlockMaxCost(rows, np.ones(rows.rows)), metric).upper
        if not 0 < alone < float("inf"):
            raise NotCertified("tables together are for what a policy neither forbids nor calls public")
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
