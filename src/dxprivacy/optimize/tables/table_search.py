"""Search for good tables: descents from several starts, then single changes while they help (local search).

A start determines which attributes are halved and which orders of tables are favored.  The changes are those of
`table_moves`, the most promising first.  The search depends on the problem alone, so the same problem has the same
result, unless a deadline cuts the search short.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from dxprivacy.exact.arrays import Floats
from dxprivacy.optimize.deadline import Watch
from dxprivacy.optimize.tables.measured_table import MeasuredTable, cells
from dxprivacy.optimize.tables.table_components import System
from dxprivacy.optimize.tables.table_moves import MOST_ROWS, DescentPoint, descend, moves, separable

_TRIES = 400_000  # limit on tables x descents; a descent takes about 20 microseconds per table
_PATIENCE = 25
_FAVORED = 0.02  # the relative precision of the other codings at the start
_BY_SIZE = (0.0, 0.25, 0.5)  # tables that share one budget start with these powers of their numbers of rows


class TableSearch:
    """The state of a search: the best point so far, and the number of descents left."""

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
        """Return the index of a table among the candidates; add it if necessary."""
        if table not in self.places:
            self.places[table] = len(self.system.tables)
            self.system = self.system.extended([table])
            if self.best is not None:
                self.best = replace(self.best, w=np.append(self.best.w, 0.0))
        return self.places[table]

    def try_from(self, start: Floats) -> bool:
        """Descend from a start; return whether the result is a new best."""
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
    """The best tables and precisions, their error, and whether the search was finished in time."""

    tables: tuple[MeasuredTable, ...]
    precisions: Floats
    error: float
    finished: bool


def search(system: System, watch: Watch, improved: Callable[[float], None]) -> FoundTables:
    """Search from starts, by moves, then to full precision; if all tables share a budget, from two kinds of starts."""
    best = _climbed(TableSearch(system, watch, improved), _classic)
    if system.budgets.jointly and best.finished:
        second = _climbed(TableSearch(system, watch, lambda _: None), _all_sizes)
        if second.error < best.error:
            best = second
            improved(best.error)
    return best


def _climbed(state: TableSearch, starts: Callable[[TableSearch], None]) -> FoundTables:
    """Return the best of some starts, improved by moves while these help."""
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
    """Try starts with the best codings, with favored orders of tables, and the chain."""
    halved = _codings(state)
    for factor in (0.5, 2.0, 0.2):
        state.try_from(_start(state.system, halved, factor))
    _chain(state)


def _all_sizes(state: TableSearch) -> None:
    """Try starts with all candidates at once, weighted by their sizes."""
    for power in _BY_SIZE:
        for whole in (False, True):
            state.try_from(_by_size(state.system, power, whole=whole))


def _codings(state: TableSearch) -> frozenset[int]:
    """Choose the attributes to halve: try all, none, the workload tables, then single attributes while this helps."""
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
    """Return a start with the components' own tables, this coding favored, times a factor per order."""
    chosen = frozenset(halved).intersection(system.binary)
    rank = np.array([len(t.attributes) for t in system.tables])
    own = np.array([t.halved == tuple(a for a in t.attributes if a in chosen) for t in system.tables])
    w = np.where(own, 1.0, _FAVORED) * factor**rank
    return np.where(rank <= max(map(len, system.asked)), w, 0.0)


def _by_size(system: System, power: float, *, whole: bool) -> Floats:
    """Return a start with all tables, or those without halved attributes; large ones are favored (charged once)."""
    rows = np.array([float(t.rows(system.sizes)) for t in system.tables])
    kept = np.array([not (whole and t.halved) for t in system.tables])
    return np.where(kept, (rows / rows.max()) ** power, 0.0)


def _asked(system: System) -> Floats:
    """Return a start with the workload tables themselves, with the best precisions if each is estimated alone."""
    at = [k for k, t in enumerate(system.tables) if t.attributes in system.asked and not t.halved]
    unit = 1 / np.max(system.loads[:, at], axis=0)
    a = np.array([system.asked[t.attributes] * t.rows(system.sizes) for t in (system.tables[k] for k in at)]) / unit**2
    first = np.full(len(system.loads), 2.0 / len(system.loads))
    w = np.zeros(len(system.tables))
    w[at] = unit * separable(system.loads[:, at] * unit, a / a.sum(), first, 1e-9)[0]
    return w


def _chain(state: TableSearch) -> None:
    """Try a chain of tables: the one over all attributes first; each next table drops the most limited attribute.

    Every attribute is charged once for each of its tables, and all budgets are used up: good on a small universe.
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
    # A halved table informs only components with the attribute that is dropped next.  If budgets are equal, the next
    # table may be missing; then only the chain of tables without halved attributes measures everything.
    for tables in (chain, [MeasuredTable(t.attributes) for t in chain]):
        at = [state.place(t) for t in tables]
        start = np.zeros(len(state.system.tables))
        start[at] = steps
        state.try_from(start)


def _change(state: TableSearch) -> bool:
    """Try the most promising moves from the best point; return whether one of them helped."""
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
