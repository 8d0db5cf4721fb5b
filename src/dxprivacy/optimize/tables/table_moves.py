"""Single changes of a plan and what each would bring, at the prices of the plan.

A *move* takes tables out and puts at most one in.  Its worth is exact in what the components gain or lose while all
other tables stay as they are; the load that it frees or takes is valued at the margin.  So it ranks moves, and a
descent from the changed plan decides.  Besides taking out and putting in there are two that a descent finds hard:
*merging* two tables into the one over all their attributes, which pays once for the limits that they share, and
*recoding* a table, halving one attribute more or one less.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dxprivacy.exact.arrays import Floats
from dxprivacy.optimize.tables.descent import Point
from dxprivacy.optimize.tables.measured_table import Table
from dxprivacy.optimize.tables.table_components import System

_PUT_IN = (0.03, 0.1, 0.3, 0.6)  # parts of what a table could have alone
_MERGED = (0.6, 0.8, 1.0)  # parts of the two tables' precision together
_MERGE_AMONG = 60  # the most expensive tables
MOST_ROWS = 100_000  # of a merged table, if no larger one is asked for


@dataclass(frozen=True, eq=False)
class Move:
    """Tables of the system to take out, and one to put in with its precision."""

    worth: float
    out: tuple[int, ...]
    into: Table | None
    precision: float = 0.0


def moves(system: System, point: Point, most: int) -> list[Move]:
    """The most promising moves, best first."""
    prices = _Prices(system, point)
    found = [*prices.singles(most), *prices.recodings(), *prices.mergers()]
    found = [m for m in found if np.isfinite(m.worth)]
    found.sort(key=lambda m: (-m.worth, m.out, m.into or Table(())))
    return found[:most]


class _Prices:
    """What components and attributes are worth at a point, in half errors: sum_S c_S / m_S."""

    def __init__(self, system: System, point: Point) -> None:
        self.system, self.w = system, point.w
        self.measured = np.asarray(system.gains @ (point.w * point.w))
        self.prices = point.prices / 2
        self.cost = system.loads.T @ self.prices
        self.support = [int(k) for k in np.flatnonzero(point.w)]
        self.known = {t: k for k, t in enumerate(system.tables)}
        largest = max((t.rows(system.sizes) for t in system.tables if t.attributes in system.asked), default=1)
        self.most_rows = max(MOST_ROWS, largest)

    def singles(self, most: int) -> Iterator[Move]:
        """Take one out, or put one of the system's other tables in."""
        gone = self._worth_of(np.zeros(len(self.w)))
        for k in self.support:
            yield Move(float(gone[k]), (k,), None)
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
                yield Move(float(worth[k]), (), self.system.tables[k], float(precision[k]))

    def recodings(self) -> Iterator[Move]:
        """The same attributes, one more of them halved, or one less."""
        for k in self.support[: 10 * _MERGE_AMONG]:
            table = self.system.tables[k]
            for a in table.attributes:
                if self.system.axes[a].size == 2 and self.system.axes[a].counts:
                    halved = tuple(sorted(set(table.halved) ^ {a}))
                    yield self._replaced((k,), Table(table.attributes, halved), [float(self.w[k])])

    def mergers(self) -> Iterator[Move]:
        """Two tables that share a limit become one, halved where both are."""
        limits = self.system.limits
        spent = sorted(self.support, key=lambda k: (-self.cost[k] * self.w[k], k))[:_MERGE_AMONG]
        for i, j in itertools.combinations(sorted(spent), 2):
            one, two = self.system.tables[i], self.system.tables[j]
            shared = set(one.attributes) & set(two.attributes)
            if not self.system.budgets.jointly and not any(a in limits for a in shared):
                continue
            union = Table(
                tuple(sorted({*one.attributes, *two.attributes})), tuple(a for a in one.halved if a in two.halved)
            )
            if union.rows(self.system.sizes) <= self.most_rows:
                both = float(self.w[i] + self.w[j])
                yield self._replaced((i, j), union, [both * part for part in _MERGED])

    def _replaced(self, out: tuple[int, ...], into: Table, precisions: list[float]) -> Move:
        """The best of some precisions for the table that is put in."""
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
            return Move(-np.inf, out, into)
        less = np.array([change.get(int(s), 0.0) for s in touched])
        more = np.array([new.get(int(s), 0.0) for s in touched])
        held, c = self.measured[touched], system.importance[touched]
        freed = sum(float(self.cost[k] * self.w[k]) for k in out)
        price = float(system.load(into) @ self.prices)
        best = Move(-np.inf, out, into)
        for x in precisions:
            after = held + less + more * x * x
            if (after > 1e-9 * held).all():
                worth = float((c / held - c / after).sum()) + freed - price * x
                if worth > best.worth:
                    best = Move(worth, out, into, x)
        return best

    def _worth_of(self, new: Floats) -> Floats:
        """For each table alone: what it would bring to give it this precision."""
        gains = self.system.gains
        column = np.repeat(np.arange(len(new)), np.diff(gains.indptr))
        held, c = self.measured[gains.indices], self.system.importance[gains.indices]
        after = held + gains.data * (new**2 - self.w**2)[column]
        least = 1e-9 * held
        lost = np.where(after > least, c / np.maximum(after, least), np.inf) - c / held
        return np.asarray(-np.bincount(column, lost, minlength=len(new)) - self.cost * (new - self.w))
