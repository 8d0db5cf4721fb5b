"""Single changes of a plan, ranked by their estimated benefit at the prices of the plan.

A *move* removes tables and adds at most one.  Its worth is exact in the change of the components' error while all other
tables stay unchanged; the load that it frees or uses is valued at marginal prices.  So worth ranks moves, and a descent
from the changed plan decides.  Besides removal and insertion there are two moves that a descent hardly finds: *merging*
two tables into the one over all their attributes, which is charged once for the limits that they share, and *recoding*
a table by halving one attribute more or less.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dxprivacy.exact.arrays import Floats
from dxprivacy.optimize.deadline import Watch
from dxprivacy.optimize.tables.measured_table import MeasuredTable
from dxprivacy.optimize.tables.table_components import System

# -- Downhill to a local optimum of the tables' precisions, by majorizing and minimizing -------------------------------
# `1/m_S`, with m_S a sum of squares, is at most `sum_T share_ST^2 / (gain_ST w_T^2)` for any shares that add up to 1,
# with equality at the present shares.  The majorized problem, `sum_T a_T / w_T^2` under one linear constraint per
# attribute, is convex and separable, hence a concave problem in one multiplier per attribute: a few Newton steps.
# Every step lowers the error; stretched steps are tried first.  A precision that is 0 stays 0, so the start decides
# which tables can be used, and tables whose share vanishes are dropped.
#
# Invariant: every point that is returned keeps all constraints (enforced by `fill`).


_NEWTON = 60
_FADED = 1e-10  # a table is dropped if its fraction of every component's precision is at most this
_STRETCH = (1.0, 3.0, 12.0)


@dataclass(frozen=True, eq=False)
class DescentPoint:
    """Precisions of all tables, their error, and the price of a unit of load for each constraint."""

    w: Floats
    error: float
    prices: Floats


def descend(
    system: System, start: Floats, *, tolerance: float = 1e-8, steps: int = 1000, watch: Watch | None = None
) -> DescentPoint | None:
    """Return the local optimum that a descent from a start finds; None if a component is not measured."""
    kept = np.flatnonzero(start > 0)
    gains, loads, c = system.gains[:, kept].tocsc(), system.loads[:, kept], system.importance
    w = fill(loads, start[kept])
    error = _error(gains, c, w)
    if not np.isfinite(error):
        return None
    multipliers = np.full(len(loads), 2.0 / len(loads))
    least, stretch, most = _STRETCH
    stalled = 0
    for _ in range(steps):
        measured = gains @ (w * w)
        half = float((c / measured).sum())
        pull = gains.T @ (c / measured**2)
        ratio, multipliers = separable(loads * w, w * w * pull / half, multipliers, 1e-9)
        further = fill(loads, w * ratio**stretch)
        there = _error(gains, c, further)
        if there < error:
            stretch = min(stretch * 1.15, most)
        else:
            stretch = max(stretch * 0.6, least)
            further = fill(loads, w * ratio)
            there = _error(gains, c, further)
        stalled = 0 if there < error * (1 - tolerance) else stalled + 1
        if there < error:
            w, error = further, there
        if stalled >= 4 or (watch is not None and watch.over):
            break
        large = _largest_budgets(gains, w) > _FADED
        if not large.all():
            kept, w, loads = kept[large], w[large], loads[:, large]
            gains = gains[:, large].tocsc()
            w = fill(loads, w)
            error = _error(gains, c, w)
    full = np.zeros(len(start))
    full[kept] = w
    return DescentPoint(full, error, multipliers * error)


def separable(loads: Floats, a: Floats, multipliers: Floats, slack: float) -> tuple[Floats, Floats]:
    """Nearly minimize `sum a / w^2` under `loads @ w <= 1`, for a sum of about 1; return w and the multipliers.

    The dual, `sum 3 a^(1/3) (u/2)^(2/3) - sum multipliers` with `u = loads' multipliers`, is concave.  A barrier of
    `slack * log` keeps the multipliers positive; so w is finite, and its objective is within attributes * slack.
    """
    root = np.cbrt(2 * a)
    for _ in range(_NEWTON):
        u = loads.T @ multipliers
        w = root / np.cbrt(u)
        slope = loads @ w - 1 + slack / multipliers
        bend = (loads * (w / (3 * u))) @ loads.T
        bend[np.diag_indices(len(bend))] += slack / multipliers**2
        scale = 1 / np.sqrt(np.diag(bend))
        system = bend * scale[:, None] * scale
        system[np.diag_indices(len(bend))] += 1e-13
        step = scale * np.linalg.solve(system, slope * scale)
        down = step < 0
        length = min(1.0, 0.9 * float((multipliers[down] / -step[down]).min())) if down.any() else 1.0
        multipliers = multipliers + length * step
        if length == 1.0 and float(slope @ step) < 1e-9:
            break
    return root / np.cbrt(loads.T @ multipliers), multipliers


def fill(loads: Floats, w: Floats) -> Floats:
    """Divide every precision by the largest load of its attributes: keeps all constraints, with less slack.

    The new load of attribute a is at most `sum w / load_a = 1`; a table is raised if all its attributes have slack.
    """
    touched = loads > 0
    for _ in range(3):
        w = w / np.where(touched, (loads @ w)[:, None], 0.0).max(axis=0)
    return w


def _error(gains: Any, c: Floats, w: Floats) -> float:
    measured = gains @ (w * w)
    return 2 * float((c / measured).sum()) if (measured > 0).all() else np.inf


def _largest_budgets(gains: Any, w: Floats) -> Floats:
    """Return for each table its largest fraction of a component's precision."""
    measured = gains @ (w * w)
    by_entry = gains.data / measured[gains.indices]
    return np.asarray(w * w * np.maximum.reduceat(by_entry, gains.indptr[:-1]))


# -- Single changes of a plan, and their worth -------------------------------------------------------------------------


_PUT_IN = (0.03, 0.1, 0.3, 0.6)  # fractions of the precision that a table could have alone
_MERGED = (0.6, 0.8, 1.0)  # fractions of the summed precision of the two tables
_MERGE_AMONG = 60  # the number of most expensive tables that are tried
MOST_ROWS = 100_000  # of a merged table, if the workload has no larger one


@dataclass(frozen=True, eq=False)
class TableMove:
    """Tables of the system to remove, and one to add with its precision."""

    worth: float
    out: tuple[int, ...]
    into: MeasuredTable | None
    precision: float = 0.0


def moves(system: System, point: DescentPoint, most: int) -> list[TableMove]:
    """Return the moves with the largest estimated worth, best first."""
    prices = _Prices(system, point)
    found = [*prices.singles(most), *prices.recodings(), *prices.mergers()]
    found = [m for m in found if np.isfinite(m.worth)]
    found.sort(key=lambda m: (-m.worth, m.out, m.into or MeasuredTable(())))
    return found[:most]


class _Prices:
    """Prices of components and attributes at a point, in units of half the error: sum_S c_S / m_S."""

    def __init__(self, system: System, point: DescentPoint) -> None:
        self.system, self.w = system, point.w
        self.measured = np.asarray(system.gains @ (point.w * point.w))
        self.prices = point.prices / 2
        self.cost = system.loads.T @ self.prices
        self.support = [int(k) for k in np.flatnonzero(point.w)]
        self.known = {t: k for k, t in enumerate(system.tables)}
        largest = max((t.rows(system.sizes) for t in system.tables if t.attributes in system.asked), default=1)
        self.most_rows = max(MOST_ROWS, largest)

    def singles(self, most: int) -> Iterator[TableMove]:
        """Yield moves that remove one table, or add one of the other candidates."""
        gone = self._worth_of(np.zeros(len(self.w)))
        for k in self.support:
            yield TableMove(float(gone[k]), (k,), None)
        alone = 1 / self.system.loads.max(axis=0)
        unused = self.w == 0
        worth, precision = np.full(len(self.w), -np.inf), np.zeros(len(self.w))
        for part in _PUT_IN:
            new = np.where(unused, part * alone, self.w)
            value = np.where(unused, self._worth_of(new), -np.inf)
            better = value > worth
            worth, precision = np.where(better, value, worth), np.where(better, new, precision)
        for k in np.argsort(-worth, kind="stable")[:most]:
            if unused[k]:
                yield TableMove(float(worth[k]), (), self.system.tables[k], float(precision[k]))

    def recodings(self) -> Iterator[TableMove]:
        """Yield moves that halve one attribute of a table more or less."""
        for k in self.support[: 10 * _MERGE_AMONG]:
            table = self.system.tables[k]
            for a in table.attributes:
                if self.system.axes[a].size == 2 and self.system.axes[a].counts:
                    halved = tuple(sorted(set(table.halved) ^ {a}))
                    yield self._replaced((k,), MeasuredTable(table.attributes, halved), [float(self.w[k])])

    def mergers(self) -> Iterator[TableMove]:
        """Yield moves that merge two tables with a common limit; attributes halved in both stay halved."""
        limits = self.system.limits
        spent = sorted(self.support, key=lambda k: (-self.cost[k] * self.w[k], k))[:_MERGE_AMONG]
        for i, j in itertools.combinations(sorted(spent), 2):
            one, two = self.system.tables[i], self.system.tables[j]
            shared = set(one.attributes) & set(two.attributes)
            if not self.system.budgets.jointly and not any(a in limits for a in shared):
                continue
            union = MeasuredTable(
                tuple(sorted({*one.attributes, *two.attributes})), tuple(a for a in one.halved if a in two.halved)
            )
            if union.rows(self.system.sizes) <= self.most_rows:
                both = float(self.w[i] + self.w[j])
                yield self._replaced((i, j), union, [both * part for part in _MERGED])

    def _replaced(self, out: tuple[int, ...], into: MeasuredTable, precisions: list[float]) -> TableMove:
        """Return the move with the best of some precisions for the added table."""
        system = self.system
        gains = system.gains
        change: dict[int, float] = {}
        for k in out:
            for at in range(gains.indptr[k], gains.indptr[k + 1]):
                s = int(gains.indices[at])
                change[s] = change.get(s, 0.0) - float(gains.data[at]) * float(self.w[k]) ** 2
        informed = system.informed(into)
        new = dict(zip(informed, system.gains_of(into, informed), strict=True))
        touched = np.array(sorted({*change, *new}), dtype=np.int64)
        if not len(touched):
            return TableMove(-np.inf, out, into)
        less = np.array([change.get(int(s), 0.0) for s in touched])
        more = np.array([new.get(int(s), 0.0) for s in touched])
        held, c = self.measured[touched], system.importance[touched]
        freed = sum(float(self.cost[k] * self.w[k]) for k in out)
        price = float(system.load(into) @ self.prices)
        best = TableMove(-np.inf, out, into)
        for x in precisions:
            after = held + less + more * x * x
            if (after > 1e-9 * held).all():
                worth = float((c / held - c / after).sum()) + freed - price * x
                if worth > best.worth:
                    best = TableMove(worth, out, into, x)
        return best

    def _worth_of(self, new: Floats) -> Floats:
        """Return for each table the worth of changing its precision alone to the new value."""
        gains = self.system.gains
        column = np.repeat(np.arange(len(new)), np.diff(gains.indptr))
        held, c = self.measured[gains.indices], self.system.importance[gains.indices]
        after = held + gains.data * (new**2 - self.w**2)[column]
        least = 1e-9 * held
        lost = np.where(after > least, c / np.maximum(after, least), np.inf) - c / held
        return np.asarray(-np.bincount(column, lost, minlength=len(new)) - self.cost * (new - self.w))
