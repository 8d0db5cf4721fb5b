"""From local optima to a good one: starts that cover the kinds of plan that win, then single changes while they help.

A start says which attributes are halved and which orders of tables are favored.  The changes are those of
`table_moves`, the most promising first.  What is tried depends on the problem alone, so the same problem has the same
answer unless a deadline cuts the search short.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from dxprivacy.exact.arrays import Floats
from dxprivacy.optimize.deadline import Watch
from dxprivacy.optimize.tables.measured_table import MeasuredTable, cells
from dxprivacy.optimize.tables.table_components import System
from dxprivacy.optimize.tables.table_moves import MOST_ROWS, DescentPoint, descend, moves, separable

_TRIES = 400_000  # tables x descents that the search may make; a descent costs about 20 microseconds a table
_PATIENCE = 25
_FAVORED = 0.02  # how much less the other codings have at the start
_BY_SIZE = (0.0, 0.25, 0.5)  # powers of their rows by which tables that share one budget start


class TableSearch:
    """The best point so far, and how many descents may still be made."""

    def __init__(self, system: System, watch: Watch, improved: Callable[[float], None]) -> None:
        self.system = system
        self.watch = watch
        self.improved = improved
        self.left = int(np.clip(_TRIES / max(len(system.tables), 1), 40, 600))
        self.best: DescentPoint | None = None
        self.places = {t: k for k, t in enumerate(system.tables)}

    @property
    def cut(self) -> bool:
        """Whether the time is up."""
        return self.watch.over

    @property
    def over(self) -> bool:
        """Whether no further descent may be made."""
        return self.best is not None and (self.left <= 0 or self.cut)

    def place(self, table: MeasuredTable) -> int:
        """Where a table is among the candidates; it becomes one if it was not."""
        if table not in self.places:
            self.places[table] = len(self.system.tables)
            self.system = self.system.extended([table])
            if self.best is not None:
                self.best = replace(self.best, w=np.append(self.best.w, 0.0))
        return self.places[table]

    def try_from(self, start: Floats) -> bool:
        """Descend from a start; whether that is a new best."""
        if self.over:
            return False
        self.left -= 1
        found = descend(self.system, start, watch=self.watch)
        if found is None or (self.best is not None and found.error >= self.best.error * (1 - 1e-7)):
            return False
        self.best = found
        self.improved(found.error)
        return True


@dataclass(frozen=True, eq=False)
class FoundTables:
    """The best tables and precisions, their error, and whether there was time for all that was to be tried."""

    tables: tuple[MeasuredTable, ...]
    precisions: Floats
    error: float
    finished: bool


def search(system: System, watch: Watch, improved: Callable[[float], None]) -> FoundTables:
    """Starts, then moves, then the last digits; where all tables share a budget, from two families of starts."""
    best = _climbed(TableSearch(system, watch, improved), _classic)
    if system.budgets.jointly and best.finished:
        second = _climbed(TableSearch(system, watch, lambda _: None), _all_sizes)
        if second.error < best.error:
            best = second
            improved(best.error)
    return best


def _climbed(state: TableSearch, starts: Callable[[TableSearch], None]) -> FoundTables:
    """The best of some starts, changed while that helps."""
    starts(state)
    while _change(state):
        pass
    if state.best is None:
        raise RuntimeError("a start that measures every component was not tried")
    best, finished = state.best, not state.cut
    if finished:
        polished = descend(state.system, best.w, tolerance=1e-11, watch=state.watch)
        if polished is not None and polished.error < best.error:
            best = polished
    used = np.flatnonzero(best.w)
    return FoundTables(tuple(state.system.tables[k] for k in used), best.w[used], best.error, finished)


def _classic(state: TableSearch) -> None:
    """The codings that help, some orders of tables favored, and the chain."""
    halved = _codings(state)
    for factor in (0.5, 2.0, 0.2):
        state.try_from(_start(state.system, halved, factor))
    _chain(state)


def _all_sizes(state: TableSearch) -> None:
    """All candidates at once, by their sizes."""
    for power in _BY_SIZE:
        for whole in (False, True):
            state.try_from(_by_size(state.system, power, whole=whole))


def _codings(state: TableSearch) -> frozenset[int]:
    """Which attributes to halve: all, none, the asked tables alone, then one attribute at a time while it helps."""
    system = state.system
    best = frozenset(system.binary)
    state.try_from(_start(system, best))
    if not best:
        state.try_from(_asked(system))
        return best
    if state.try_from(_start(system, frozenset())):
        best = frozenset()
    state.try_from(_asked(system))
    better = True
    while better and not state.over:
        better = False
        for a in system.binary:
            if state.try_from(_start(system, best ^ {a})):
                best, better = best ^ {a}, True
    return best


def _start(system: System, halved: Iterable[int], factor: float = 1.0) -> Floats:
    """The components' own tables, those in this coding first, times a factor per order."""
    chosen = frozenset(halved).intersection(system.binary)
    rank = np.array([len(t.attributes) for t in system.tables])
    own = np.array([t.halved == tuple(a for a in t.attributes if a in chosen) for t in system.tables])
    w = np.where(own, 1.0, _FAVORED) * factor**rank
    return np.where(rank <= max(map(len, system.asked)), w, 0.0)


def _by_size(system: System, power: float, *, whole: bool) -> Floats:
    """All tables, or all without halved attributes, large ones favored: where they share a budget, each pays once."""
    rows = np.array([float(t.rows(system.sizes)) for t in system.tables])
    kept = np.array([not (whole and t.halved) for t in system.tables])
    return np.where(kept, (rows / rows.max()) ** power, 0.0)


def _asked(system: System) -> Floats:
    """The asked tables themselves with the least noise that they could have without one another's help."""
    at = [k for k, t in enumerate(system.tables) if t.attributes in system.asked and not t.halved]
    unit = 1 / np.max(system.loads[:, at], axis=0)
    a = np.array([system.asked[t.attributes] * t.rows(system.sizes) for t in (system.tables[k] for k in at)]) / unit**2
    first = np.full(len(system.loads), 2.0 / len(system.loads))
    w = np.zeros(len(system.tables))
    w[at] = unit * separable(system.loads[:, at] * unit, a / a.sum(), first, 1e-9)[0]
    return w


def _chain(state: TableSearch) -> None:
    """From the table over all attributes, which the least budget limits, drop the most limited attribute every time.

    Every attribute pays for each of its tables once, and all budgets are used up: hard to beat on a small universe.
    """
    system = state.system
    limits = system.limits
    order = sorted(limits, key=lambda a: (limits[a], a))
    free = {a for a in system.used if a not in limits}
    if cells(system.sizes, {*order, *free}) > MOST_ROWS:
        return
    chain, steps, spent = [], [], 0.0
    for k, a in enumerate(order):
        step = limits[a] - spent
        if step > 1e-9 * limits[a]:
            chain.append(MeasuredTable(tuple(sorted({*order[k:], *free})), (a,) if a in system.binary else ()))
            steps.append(step / 2)
            spent = limits[a]
    # Halved, a table tells only of what involves the attribute that drops out next; where budgets are equal the next
    # table may be missing, and then the chain of whole tables is the one that measures everything.
    for tables in (chain, [MeasuredTable(t.attributes) for t in chain]):
        at = [state.place(t) for t in tables]
        start = np.zeros(len(state.system.tables))
        start[at] = steps
        state.try_from(start)


def _change(state: TableSearch) -> bool:
    """Try the most promising moves from the best point; whether one of them helped."""
    best = state.best
    if best is None or state.over:
        return False
    for move in moves(state.system, best, _PATIENCE):
        start = best.w.copy()
        start[list(move.out)] = 0.0
        if move.into is not None:
            k = state.place(move.into)
            start = np.append(start, np.zeros(len(state.system.tables) - len(start)))
            start[k] = max(move.precision, start[k])
        if state.try_from(start):
            return True
    return False
