"""Orthogonal components of tables, the candidate tables, and the optimization problem that they define.

Counts on a product universe split into orthogonal *components*, one per set S of attributes: the information of the
table over S beyond all smaller tables (contrasts along S, means elsewhere), of dimension prod (n_a - 1).  A measured
table with attributes T, halved H and precision w = 1/s informs exactly the components with H <= S <= T, each by
w^2 / rows (in units of the universe's size); noise in different components is uncorrelated.  With

    m_S = sum over tables of gains[S, table] w^2
    c_S = prod_S (n_a - 1) * sum over workload tables W >= S of weight_W / n_W

the least-squares answers have a total weighted squared error of `2 sum_S c_S / m_S`, and privacy requires linear
constraints on w, one for each attribute or one for all tables (see `measured_table`).

If the number of records is public, the component of no attributes, the total, is known.  If it is private, it is one
more component (of dimension 1), which all tables without halved attributes inform.  Attributes without a limit are
*public*: components that involve only public attributes are measured exactly and are not part of the problem.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from dxprivacy.errors import TooLarge
from dxprivacy.exact.arrays import Floats
from dxprivacy.optimize.tables.measured_table import Budgets, MeasuredTable, TableAxis, of_sizes

MAX_COMPONENTS = 100_000
MAX_CANDIDATES = 40_000
HIGHER = 600  # tables one order higher are candidates if there are at most this many
HIGHER_JOINTLY = 4_000  # if all tables share a budget, also two orders higher: large tables are charged only once

Attributes = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class System:
    """Minimize `2 sum_S importance_S / (gains @ w^2)_S` under `loads @ w <= 1`."""

    axes: tuple[TableAxis, ...]
    asked: dict[Attributes, float]  # the weight of each workload table
    parts: dict[Attributes, int]
    budgets: Budgets
    importance: Floats
    tables: tuple[MeasuredTable, ...]
    gains: Any  # sparse, components x tables, by columns
    loads: Floats  # constraints x tables

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of values of each attribute."""
        return tuple(axis.size for axis in self.axes)

    @property
    def binary(self) -> Attributes:
        """The attributes that can be halved."""
        return tuple(sorted({a for s in self.parts for a in s if self.axes[a].size == 2 and self.axes[a].counts}))

    @cached_property
    def used(self) -> Attributes:
        """The attributes of all components."""
        return tuple(sorted({a for s in self.parts for a in s}))

    @property
    def limits(self) -> dict[int, float]:
        """The finite budgets that all tables with an attribute share, by attribute."""
        return {a: limit for a in self.used if math.isfinite(limit := self.budgets.of(a))}

    def informed(self, table: MeasuredTable) -> list[int]:
        """Return the components that a table informs."""
        if 2.0 ** len(table.whole) > 4 * len(self.parts):
            inside, least = set(table.attributes), set(table.halved)
            return [k for s, k in self.parts.items() if least <= set(s) <= inside]
        found = (self.parts.get(tuple(sorted(rest + table.halved))) for rest in subsets(table.whole))
        return [k for k in found if k is not None]

    def gains_of(self, table: MeasuredTable, informed: Sequence[int]) -> list[float]:
        """Return the information of a table of precision 1 on some components (see `measured_table`)."""
        if all(self.axes[a].counts for a in table.attributes):
            return [1 / table.rows(self.sizes)] * len(informed)
        return [
            math.prod(1 / self.axes[a].size if a in self._listed[k] else self.axes[a].told for a in table.whole)
            for k in informed
        ]

    @cached_property
    def _listed(self) -> list[frozenset[int]]:
        return [frozenset(s) for s in self.parts]

    def load(self, table: MeasuredTable) -> Floats:
        """Return the fraction of each constraint's budget that one unit of a table's precision uses."""
        return np.array([about.cost(table) / limit for about, limit in self.budgets.constraints(self.used)])

    def extended(self, tables: Sequence[MeasuredTable]) -> "System":
        """Return the same problem with more candidate tables."""
        from scipy.sparse import csc_array, hstack

        values: list[float] = []
        rows: list[int] = []
        starts = [0]
        for table in tables:
            informed = self.informed(table)
            rows += informed
            values += self.gains_of(table, informed)
            starts.append(len(rows))
        more = csc_array((values, rows, starts), shape=(len(self.parts), len(tables)), dtype=np.float64)
        loads = np.array([self.load(t) for t in tables]).reshape(len(tables), len(self.loads)).T
        return replace(
            self,
            tables=(*self.tables, *tables),
            gains=hstack([self.gains, more], format="csc") if self.tables else more,
            loads=np.hstack([self.loads, loads]),
        )


def subsets(attributes: Attributes, least: int = 0) -> Iterator[Attributes]:
    """Return all subsets of at least `least` attributes, smallest first.

    >>> list(subsets((1, 4)))
    [(), (1,), (4,), (1, 4)]
    """
    return itertools.chain.from_iterable(
        itertools.combinations(attributes, r) for r in range(least, len(attributes) + 1)
    )


def components(workload: Sequence[Attributes], least: int = 1) -> list[Attributes]:
    """Return the components of these tables: their downward closure, without the total unless `least` is 0."""
    if sum(2.0 ** len(t) for t in set(workload)) > 20 * MAX_COMPONENTS:
        raise _too_many(MAX_COMPONENTS)
    found = {s for t in set(workload) for s in subsets(t, least)}
    if len(found) > MAX_COMPONENTS:
        raise _too_many(MAX_COMPONENTS)
    return sorted(found, key=lambda s: (len(s), s))


def importances(
    axes: Sequence[TableAxis], workload: Sequence[Attributes], weights: Sequence[float], parts: Sequence[Attributes]
) -> Floats:
    """Return c_S of every component."""
    at = {s: k for k, s in enumerate(parts)}
    found = np.zeros(len(parts))
    for table, weight in zip(workload, weights, strict=True):
        for s in subsets(table):
            if s in at:
                found[at[s]] += weight * math.prod(axes[a].asked for a in table if a not in s)
    contrasts: Floats = np.array([math.prod(axes[a].contrast for a in s) for s in parts])
    return found * contrasts


def build(
    sizes: Sequence[int],
    budgets: Sequence[float] | Budgets,
    workload: Sequence[Attributes],
    weights: Sequence[float],
    axes: Sequence[TableAxis] | None = None,
) -> System:
    """Return the problem of these tables, without attributes of one value and without a public total; budgets > 0."""
    budgets = Budgets.checked(budgets, sizes)
    axes = of_sizes(sizes) if axes is None else tuple(axes)
    everything = components(workload, budgets.least)
    parts = [s for s in everything if not s or any(math.isfinite(budgets.of(a)) for a in s)]
    constraints = list(budgets.constraints(sorted({a for s in parts for a in s})))
    empty = System(
        axes=axes,
        asked=dict(zip(workload, weights, strict=True)),
        parts={s: k for k, s in enumerate(parts)},
        budgets=budgets,
        importance=importances(axes, workload, weights, parts),
        tables=(),
        gains=None,
        loads=np.zeros((len(constraints), 0)),
    )
    return empty.extended(_candidates(empty.binary, parts, jointly=budgets.jointly))


def _candidates(halves: Sequence[int], parts: list[Attributes], *, jointly: bool) -> list[MeasuredTable]:
    """Return the components' own tables in every coding, and tables with one more attribute if these are few.

    If all tables share a budget, tables with two more attributes and none halved are included.
    """
    known = set(parts)
    used = sorted({a for s in parts for a in s})
    largest = {s for s in parts if len(s) == max(map(len, parts))}
    most = HIGHER_JOINTLY if jointly else HIGHER
    higher = _with_one_more(largest, used, most) - known
    highest = _with_one_more(higher, used, most - len(higher)) if jointly else set()
    shapes = parts + sorted(higher)
    binary = {t: tuple(a for a in t if a in halves) for t in shapes}
    all_codings = sum(2.0 ** len(b) for b in binary.values()) <= MAX_CANDIDATES
    found = []
    for t in shapes:
        codings = subsets(binary[t]) if all_codings else iter(dict.fromkeys([(), binary[t]]))
        for halved in codings:
            table = MeasuredTable(t, halved)
            if t in known or any(tuple(sorted(r + halved)) in known for r in subsets(table.whole)):
                found.append(table)
    found += [MeasuredTable(t) for t in sorted(highest)]
    if len(found) > 5 * MAX_CANDIDATES:
        raise _too_many(5 * MAX_CANDIDATES)
    return found


def _with_one_more(shapes: set[Attributes], used: Sequence[int], most: int) -> set[Attributes]:
    """Return tables with one more attribute; an empty set if there are more than `most`."""
    if len(shapes) > most:
        return set()
    found = {tuple(sorted((*s, a))) for s in shapes for a in used if a not in s}
    return found if len(found) <= most else set()


def _too_many(limit: int) -> TooLarge:
    return TooLarge(
        f"these tables have more than {limit:,} marginals",
        hints=[("ask for tables of fewer attributes", "all their marginals are weighed against each other")],
    )
