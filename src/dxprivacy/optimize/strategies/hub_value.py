"""One cell that is linked to all others, as `other` (missing or invalid) is: plan the rest, then fit it in.

The rest keeps its structure (a line, a threshold), and a strategy for it becomes one for all by giving the hub the
column of a cell in the middle, scaled down a little, and a row of its own from what that leaves of its pairs.  How
much the rest is scaled down is a search in one variable.
"""

from dataclasses import dataclass

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.optimize.strategies.pair_structure import distinct
from dxprivacy.optimize.strategies.strategy_problem import Problem, connected

_SHARES = 1 - np.geomspace(0.5, 1e-4, 40)


@dataclass(frozen=True, eq=False)
class Hub:
    """The hub, its limits to all other cells, and the problem of these."""

    cell: int
    limits: Floats
    rest: Problem
    others: Ints

    def extended(self, whole: Problem, rows: Floats) -> Floats | None:
        """A strategy of the rest (at load 1) as one of the whole, at the share that gives the least error."""
        far = np.array([np.abs(rows - rows[:, [c]]).sum(axis=0) for c in range(rows.shape[1])])
        middle = int((far / self.limits).max(axis=1).argmin())
        best: tuple[float, Floats] | None = None
        for share in _SHARES:
            room = float((self.limits - share * far[middle]).min())
            if room <= 0:
                continue
            proposed = np.zeros((len(rows) + 1, whole.cells))
            proposed[:-1, self.others] = share * rows
            proposed[:-1, self.cell] = share * rows[:, middle]
            proposed[-1, self.cell] = room
            total = whole.total(proposed)
            if best is None or total < best[0]:
                best = (total, proposed)
        return None if best is None else best[1]


def hub(problem: Problem) -> Hub | None:
    """The hub of a problem whose other cells are connected without it, and not all linked to one another."""
    n = problem.cells
    if n < 4:
        return None
    first, second, distances = distinct(problem)
    degrees = np.bincount(np.concatenate([first, second]), minlength=n)
    hubs = np.flatnonzero(degrees == n - 1)
    if len(hubs) != 1:
        return None
    cell = int(hubs[0])
    here = (first == cell) | (second == cell)
    others = np.delete(np.arange(n), cell)
    place = np.full(n, -1)
    place[others] = np.arange(n - 1)
    limits = np.empty(n - 1)
    limits[place[np.where(first[here] == cell, second[here], first[here])]] = distances[here]
    left, right = place[first[~here]], place[second[~here]]
    if not connected(n - 1, left, right):
        return None
    rest = Problem(problem.gram[np.ix_(others, others)], left, right, distances[~here])
    return Hub(cell, limits, rest, others)
