"""Tables of several attributes whose noise agrees along one of them: a proposal for a component (docs/theorems.md)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dxprivacy.errors import NotCertified
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.mechanisms.linear.estimators.least_squares import Component, rows_of
from dxprivacy.mechanisms.linear.strategies.separated_records import classes_of
from dxprivacy.mechanisms.linear.strategies.table_costs import budgets_of_tables
from dxprivacy.mechanisms.linear.strategies.tables_in_rows import AskedTable
from dxprivacy.metrics import Metric
from dxprivacy.optimize.deadline import Watch
from dxprivacy.optimize.k_norm.star_fit import stars
from dxprivacy.optimize.tables import Budgets
from dxprivacy.privacy.costs import Cost
from dxprivacy.queries.asked import Asked
from dxprivacy.queries.strategy_rows import Groups, Tally
from dxprivacy.universe.workload import Workload
from dxprivacy.wording import plural

HARDLY_ANY = 60.0  # what two values may show: then noise is not 0 once in e^30
_LOOSE = 40.0  # from there on floats do not tell what noise of tables comes to


@dataclass(frozen=True, eq=False)
class Shared:
    """Tables in stars, each margin before its tables: as questions, with their scales, in words."""

    questions: tuple[Asked, ...]
    scales: Floats
    name: str


def shared_margins(
    workload: Workload,
    part: Component,
    asked: Sequence[AskedTable],
    metric: Metric,
    share: Fraction,
    importance: Floats,
    *,
    spent: Cost | None,
    watch: Watch,
) -> Shared:
    """The best stars for a component of these tables; refuses where there are none."""
    blocks = [workload.blocks[b] for b in part.asked]
    classes = [classes_of(blocks, axis) for axis in part.axes]
    sizes = [int(c.max()) + 1 for c in classes]
    budgets = budgets_of_tables(workload.universe, part.axes, classes, metric, share, spent)
    if budgets is None or not all(0 < budgets[0].of(a) < math.inf for a in range(len(sizes))):
        raise NotCertified(
            "consistent noise of tables needs distances that add up over attributes, or are all the same; none public",
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
        raise NotCertified("too many tables for consistent noise", hints=[('method="matrix"', "independent noise")])
    names = [workload.universe.names[a] for a in part.axes]
    questions, scales = [], []
    for star, margin, weights in zip(found.stars, found.margins, found.weights, strict=True):
        for attributes, weight in zip(((star.owner,), *star.tables), (margin, *weights), strict=True):
            questions.append(_tally(names, classes, attributes))
            scales += [1 / weight] * math.prod(sizes[a] for a in attributes)
    count = sum(len(star.tables) for star in found.stars)
    name = f"{plural(count, 'table')} that share {plural(len(found.stars), 'margin')}"
    return Shared(tuple(questions), np.array(scales), name)


def _capped(budgets: Budgets) -> Budgets:
    """What an attribute may show beyond that is left: there is hardly any noise in it."""
    return Budgets(tuple(min(b, _LOOSE) for b in budgets.attributes), min(budgets.together, _LOOSE))


def _tally(names: Sequence[str], classes: Sequence[Ints], table: tuple[int, ...]) -> Tally:
    """A count for each cell."""
    return Tally(tuple(Groups(names[a], tuple(classes[a].tolist()), (1,) * len(classes[a])) for a in table))
