"""Choose which tables to measure, and with which noise, for the least squared error of the workload tables.

It never sees data.  The result is a proposal in floats, with continuous scales, and is certified elsewhere.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dxprivacy.errors import SeparatesIdentical
from dxprivacy.exact.arrays import Floats
from dxprivacy.optimize.deadline import Watch
from dxprivacy.optimize.tables.measured_table import (
    Budgets,
    MeasuredTable,
    checked_attributes,
    checked_positive,
    checked_sizes,
)
from dxprivacy.optimize.tables.table_components import Attributes, build
from dxprivacy.optimize.tables.table_limits import isoperimetric_limit, limit, unbiased_limit
from dxprivacy.optimize.tables.table_search import search

Progress = Callable[[float, float], None]


@dataclass(frozen=True, eq=False)
class ChosenTables:
    """The tables to measure and their noise.

    A scale of 0 means that nothing limits the table (all its attributes are public): it is measured exactly.  `total`
    is the sum over the workload tables of weight times the squared errors of all counts, for continuous Laplace noise
    (variance 2 s^2).  `limit` is the largest proved lower bound for independent Laplace noise.  `finished` is False if
    the time limit cut the search short; then another run may have another result.
    """

    tables: tuple[MeasuredTable, ...]
    scales: Floats
    total: float
    limit: float
    finished: bool = True


def choose(
    sizes: Sequence[int],
    budgets: Sequence[float] | Budgets,
    workload: Sequence[Sequence[int]],
    weights: Sequence[float],
    *,
    closer: bool = False,
    progress: Progress | None = None,
    watch: Watch | None = None,
) -> ChosenTables:
    """Choose tables for a workload of tables, each a tuple of attributes.

    `budgets[a]` is the smallest distance between two different values of attribute a, infinite for a public one.  A
    table separates all pairs of values equally, so no other distance matters.  `Budgets` also has those that all tables
    share.  `weights` are the weights of squared errors of counts, one for each workload table.  `closer` spends a
    second or two on a closer limit if budgets are about equal.  `progress(total, limit)` is called for every better
    plan.

    >>> plan = choose((2, 2), (1, 1), [(0, 1)], [1])
    >>> [(t.attributes, t.halved) for t in plan.tables]
    [((0,), (0,)), ((1,), (1,)), ((0, 1), (0, 1))]
    >>> round(plan.total, 3)
    23.084
    >>> round(choose((2, 2), Budgets((math.inf, math.inf), together=1), [(0, 1)], [1]).total, 3)
    24.0
    """
    sizes = checked_sizes(sizes)
    budgets = Budgets.checked(budgets, sizes)
    asked = [checked_attributes(t, sizes) for t in workload]
    weights = checked_positive(weights, "weights", len(asked))
    watch = watch or Watch()
    merged: dict[Attributes, float] = {}
    for table, weight in zip(asked, weights, strict=True):
        key = tuple(sorted(a for a in table if sizes[a] > 1))
        merged[key] = merged.get(key, 0.0) + weight
    if not budgets.total_is_private:
        merged.pop((), None)
    for a in sorted({a for t in merged for a in t}):
        if budgets.of(a) == 0:
            raise SeparatesIdentical(f"attribute {a} has a budget of 0, but tables separate its values")
    exact = _exact(merged, budgets)
    tables, scales, total, finished, least = list(exact), [0.0] * len(exact), 0.0, True, 0.0
    if any(math.isfinite(budgets.of(a)) for t in merged for a in t) or (merged and budgets.total_is_private):
        keys, values = list(merged), list(merged.values())
        system = build(sizes, budgets, keys, values)
        each = [budgets.of(a) for a in range(len(sizes))]
        least = max(limit(sizes, budgets, keys, values), unbiased_limit(sizes, each, keys, values))
        if closer and not budgets.jointly and not watch.over:
            least = max(least, isoperimetric_limit(sizes, each, keys, values))
        found = search(system, watch, lambda total: progress(total, least) if progress else None)
        tables += found.tables
        scales += [1 / float(w) for w in found.precisions]
        total, finished = found.error, found.finished
    order = sorted(range(len(tables)), key=lambda k: (len(tables[k].attributes), tables[k]))
    return ChosenTables(
        tables=tuple(tables[k] for k in order),
        scales=np.array([scales[k] for k in order]),
        total=total,
        limit=min(least, total),
        finished=finished,
    )


def _exact(workload: dict[Attributes, float], budgets: Budgets) -> list[MeasuredTable]:
    """Return the largest tables of public attributes in the workload, which nothing limits."""
    public = {tuple(a for a in t if math.isinf(budgets.of(a))) for t in workload}
    return [MeasuredTable(t) for t in sorted(public) if t and not any(set(t) < set(other) for other in public)]
