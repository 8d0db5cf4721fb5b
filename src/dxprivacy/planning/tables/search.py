"""From local optima to a good one: starts that cover the kinds of plan that win, then single changes while they help.

A start says which attributes are halved and which orders of tables are favoured.  A change takes one table out or puts
one in; the multipliers of the local optimum price every change at once, and the most promising are tried.  What is
tried depends on the problem alone, so the same problem has the same answer unless the clock cuts the search short.
"""

import time
from collections.abc import Callable, Iterable

import numpy as np

from dxprivacy.model.arrays import Floats
from dxprivacy.planning.tables.descent import Point, descend, separable
from dxprivacy.planning.tables.system import System

_TRIES = 400_000  # tables x descents that the search may make; a descent costs about 20 microseconds a table
_PATIENCE = 25
_FAVOURED = 0.02  # how much less the other codings have at the start
_PUT_IN = np.array([0.03, 0.1, 0.3, 0.6])  # parts of what a table could have alone


class Search:
    """The best point so far, and how many descents may still be made."""

    def __init__(self, system: System, until: float, improved: Callable[[float], None]) -> None:
        self.system = system
        self.until = until
        self.improved = improved
        self.left = int(np.clip(_TRIES / max(len(system.tables), 1), 40, 600))
        self.best: Point | None = None

    @property
    def cut(self) -> bool:
        """Whether the clock has run out."""
        return time.perf_counter() > self.until

    @property
    def over(self) -> bool:
        """Whether no further descent may be made."""
        return self.best is not None and (self.left <= 0 or self.cut)

    def try_from(self, start: Floats) -> bool:
        """Descend from a start; whether that is a new best."""
        if self.over:
            return False
        self.left -= 1
        found = descend(self.system, start, until=self.until)
        if found is None or (self.best is not None and found.error >= self.best.error * (1 - 1e-7)):
            return False
        self.best = found
        self.improved(found.error)
        return True


def search(system: System, until: float, improved: Callable[[float], None]) -> tuple[Point, bool]:
    """The best point found, and whether the clock left time for everything that was to be tried."""
    state = Search(system, until, improved)
    halved = _codings(state)
    for factor in (0.5, 2.0, 0.2):
        state.try_from(_start(system, halved, factor))
    while _change(state):
        pass
    if state.best is None:
        raise RuntimeError("a start that measures every component was not tried")
    found = state.best
    if not state.cut:
        polished = descend(system, found.w, tolerance=1e-11, until=until)
        if polished is not None and polished.error < found.error:
            found = polished
    return found, not state.cut


def _codings(state: Search) -> frozenset[int]:
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
    w = np.where(own, 1.0, _FAVOURED) * factor**rank
    return np.where(rank <= max(map(len, system.asked)), w, 0.0)


def _asked(system: System) -> Floats:
    """The asked tables themselves with the least noise that they could have without one another's help."""
    own = np.array([t.attributes in system.asked and not t.halved for t in system.tables])
    alone = np.asarray(system.gains.T @ system.importance) * own  # a stand-in for the cells that a table serves
    w = np.zeros(len(own))
    at = np.flatnonzero(own)
    if len(at):
        a = alone[at] * np.max(system.loads[:, at], axis=0) ** 2
        unit = 1 / np.max(system.loads[:, at], axis=0)
        first = np.full(len(system.loads), 2.0 / len(system.loads))
        w[at] = unit * separable(system.loads[:, at] * unit, a / a.sum(), first, 1e-9)[0]
    return w


def _change(state: Search) -> bool:
    """Try the most promising single changes of the best point; whether one of them helped."""
    system, best = state.system, state.best
    if best is None or state.over:
        return False
    worth, precision = _priced(system, best)
    for k in np.argsort(-worth, kind="stable")[:_PATIENCE]:
        if not np.isfinite(worth[k]):
            break
        start = best.w.copy()
        start[k] = precision[k]
        if state.try_from(start):
            return True
    return False


def _priced(system: System, point: Point) -> tuple[Floats, Floats]:
    """What each change would bring at today's prices, and the precision that the table would then have.

    Exact in what the components gain or lose while all other tables stay; the load it frees or takes is at the margin.
    """
    gains, c, w = system.gains, system.importance, point.w
    measured = gains @ (w * w)
    load = system.loads.T @ point.prices / 2
    column = np.repeat(np.arange(len(w)), np.diff(gains.indptr))
    held, weight = measured[gains.indices], c[gains.indices]

    def worth_of(new: Floats) -> Floats:
        change = gains.data * (new**2 - w**2)[column]
        after = held + change
        lost = np.where(after > 1e-9 * held, weight / np.maximum(after, 1e-9 * held), np.inf) - weight / held
        return np.asarray(-np.bincount(column, lost, minlength=len(w)) - load * (new - w))

    alone = 1 / system.loads.max(axis=0)
    worth, precision = worth_of(np.zeros(len(w))), np.zeros(len(w))
    worth[w == 0] = -np.inf
    for part in _PUT_IN:
        new = np.where(w == 0, part * alone, w)
        value = np.where(w == 0, worth_of(new), -np.inf)
        better = value > worth
        worth, precision = np.where(better, value, worth), np.where(better, new, precision)
    return worth, precision
