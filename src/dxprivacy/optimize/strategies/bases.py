"""The bases that the pairs suggest, in closed form: sides of a tree's edges, cells, ramps, hats; most take mixtures."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from dxprivacy.exact.arrays import Floats
from dxprivacy.optimize.deadline import Watch
from dxprivacy.optimize.strategies.grid_structure import grid
from dxprivacy.optimize.strategies.p_identity import Space, cell_space, edge_space, mixtures
from dxprivacy.optimize.strategies.pair_structure import threshold, tree
from dxprivacy.optimize.strategies.ramps import best_ramps
from dxprivacy.optimize.strategies.strategy_problem import Problem
from dxprivacy.optimize.strategies.tents import best_hats

_ITERATIONS = 1500


@dataclass(frozen=True, eq=False)
class Base:
    """A space of columns with budgets, the part its fixed rows get, and how its columns lie over the cells.

    `many`: its fixed rows are so many that mixtures beside them gain nothing (tried from 64 to 320 cells), but a weight
    for each row does.
    """

    name: str
    space: Space
    share: float = 0.0
    sides: Floats | None = None
    many: bool = False

    def rows(self, problem: Problem) -> Floats:
        """The base alone: every column with its whole budget, beside the fixed rows."""
        columns = (1 - self.share) * np.diag(self.space.budgets)
        if len(self.space.base):
            columns = np.vstack([self.share * self.space.base, columns])
        rows = self.over_cells(columns)
        return rows / problem.load(rows)

    def over_cells(self, rows: Floats) -> Floats:
        """Rows over the columns as rows over the cells."""
        return rows if self.sides is None else np.asarray(rows @ self.sides, dtype=np.float64)


def bases(problem: Problem, watch: Watch, *, grids: bool = True) -> list[Base]:
    """What suits the pairs, the likeliest first; without `grids` those of several attributes are not looked for."""
    cells = Base("cells", cell_space(problem))
    edges, ordered = tree(problem), threshold(problem)
    if edges is not None:
        star = int(np.bincount(np.concatenate([problem.first, problem.second])).max()) >= problem.cells - 1
        name = "prefix counts" if edges.path else "cells" if star else "one side of every pair"
        return [Base(name, edge_space(edges), sides=edges.sides), cells]
    if ordered is not None and ordered[1] < problem.cells - 1:
        ramps = best_ramps(problem, *ordered, watch)
        return [Base("ramps and cells", replace(cells.space, base=ramps.rows), share=ramps.share), cells]
    lines = grid(problem) if grids else None
    hats = None if lines is None else best_hats(problem, lines, watch)
    if hats is not None:
        even = np.full(problem.cells, float(problem.limits.min()) / 2)
        space = replace(cells.space, budgets=even, base=hats.rows / (1 - hats.cells))
        name = "cells, prefix counts and hats" if hats.hats else "cells and prefix counts"
        return [cells, Base(name, space, share=1 - hats.cells, many=True)]
    return [cells]


def start_of(count: int, columns: int, number: int) -> Floats:
    """Where a search for so many mixtures begins (2 count x columns: P over Q), the same every time."""
    return np.random.default_rng(number).uniform(0, 1, (2 * count, columns))


def mixed(base: Base, watch: Watch) -> Iterator[tuple[int, Floats]]:
    """Mixtures beside a base: some numbers of them, from fixed starts with and without negative parts."""
    n = base.space.columns
    for p in dict.fromkeys(
        [max(n // 16, 2), max(5 * n // 64, 3)]
    ):  # found by trying, 64 to 256 cells; more went no lower
        for negative in (0.0, 1.0):
            if watch.over:
                return
            start = start_of(p, n, p)
            start[p:] *= negative
            rows = mixtures(base.space, start, base.share, iterations=_ITERATIONS, watch=watch)
            yield p, base.over_cells(rows)
