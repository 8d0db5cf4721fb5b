"""The bases that the pairs suggest, in closed form: sides of a tree's edges, cells, ramps, hats; most take mixtures."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.optimize.deadline import Watch
from dxprivacy.optimize.strategies.p_identity import Space, cell_space, edge_space, mixtures
from dxprivacy.optimize.strategies.pair_structure import grid, threshold, tree
from dxprivacy.optimize.strategies.reweight import cells_and_rows
from dxprivacy.optimize.strategies.strategy_problem import StrategyProblem
from dxprivacy.optimize.strategies.tents import best_hats

# -- Ramps for a threshold policy: smooth prefix counts every so many cells, together with the cells themselves --------
# With pairs at most T apart at one limit, a prefix count costs each pair across its border the same, however close its
# cells are.  A prefix smeared over about T positions (a ramp) costs a pair only the part of the ramp that it spans, and
# ramps every T cells then cost every pair of one width the same: they see far.  The cells see near.  What part of the
# limits the ramps get is a search in one variable.


_GOLDEN = (5**0.5 - 1) / 2
_USUAL = 0.33  # what ramps usually get
_FINALISTS = 6


@dataclass(frozen=True, eq=False)
class Ramps:
    """Ramps at load 1, the part of the limits they should get beside the cells, and the error this leaves."""

    rows: Floats
    fraction: float
    error: float


def ramp_rows(n: int, every: int, width: int, offset: int, *, smooth: bool) -> Floats:
    """Descending ramps along an order of n cells: `width` cells wide, one every `every` cells.

    >>> ramp_rows(4, 3, 1, 2, smooth=False)
    array([[1., 1., 0., 0.]])
    """
    kernel = np.sin(np.pi * (np.arange(width) + 0.5) / width) if smooth else np.ones(width)
    kernel = kernel / kernel.sum()
    steps = []
    for at in range(offset - width, n - 1, every):
        begin, end = max(at, 0), min(at + width, n - 1)
        if end > begin:
            step = np.zeros(n)
            step[begin:end] = kernel[begin - at : end - at]
            steps.append(step)
    return np.asarray(np.cumsum(np.array(steps)[:, ::-1], axis=1)[:, ::-1], dtype=np.float64)


def best_ramps(problem: StrategyProblem, order: Ints, reach: int, watch: Watch) -> Ramps:
    """The best ramps of some widths, distances and offsets: all tried at one fraction, the first few at their best."""
    tried: list[Ramps] = []
    for every, width, offset, smooth in _shapes(reach):
        if tried and watch.over:
            break
        along = ramp_rows(problem.cells, every, width, offset, smooth=smooth)
        rows = np.empty_like(along)
        rows[:, order] = along
        rows /= problem.load(rows)
        tried.append(Ramps(rows, _USUAL, _error(problem, rows, _USUAL)))
    tried.sort(key=lambda r: r.error)
    return min((_best_budget(problem, r.rows) for r in tried[:_FINALISTS]), key=lambda r: r.error)


def _shapes(reach: int) -> list[tuple[int, int, int, bool]]:
    """Distances and widths around the threshold, the likeliest first."""
    distances = dict.fromkeys([reach, max(reach * 3 // 4, 1), reach * 3 // 2, max(reach // 2, 1)])
    widths = dict.fromkeys([reach, reach * 5 // 4, max(reach * 3 // 4, 1), max(reach // 2, 1)])
    return [
        (every, width, offset, smooth)
        for every in distances
        for width in widths
        for smooth in ((True, False) if width > 2 else (False,))
        for offset in dict.fromkeys([width // 2 + width % 2, every // 2, 0])
    ]


def _error(problem: StrategyProblem, rows: Floats, fraction: float) -> float:
    cells = np.full(problem.cells, (1 - fraction) * problem.limits.min() / 2)
    return 2 * cells_and_rows(cells, fraction * rows, problem.centered, free=True)[0]


def _best_budget(problem: StrategyProblem, rows: Floats) -> Ramps:
    """The best part for the ramps: golden section, to three digits."""
    low, high = 0.02, 0.95
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = _error(problem, rows, left), _error(problem, rows, right)
    while high - low > 1e-3:
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = _error(problem, rows, left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = _error(problem, rows, right)
    return Ramps(rows, left, at_left) if at_left < at_right else Ramps(rows, right, at_right)


# -- The bases that the pairs suggest, in closed form ------------------------------------------------------------------


_ITERATIONS = 1500


@dataclass(frozen=True, eq=False)
class Base:
    """A space of columns with budgets, the part its fixed rows get, and how its columns lie over the cells.

    `many`: its fixed rows are so many that mixtures beside them gain nothing (tried from 64 to 320 cells), but a weight
    for each row does.
    """

    name: str
    space: Space
    fraction: float = 0.0
    sides: Floats | None = None
    many: bool = False

    def rows(self, problem: StrategyProblem) -> Floats:
        """The base alone: every column with its whole budget, beside the fixed rows."""
        columns = (1 - self.fraction) * np.diag(self.space.budgets)
        if len(self.space.base):
            columns = np.vstack([self.fraction * self.space.base, columns])
        rows = self.over_cells(columns)
        return rows / problem.load(rows)

    def over_cells(self, rows: Floats) -> Floats:
        """Rows over the columns as rows over the cells."""
        return rows if self.sides is None else np.asarray(rows @ self.sides, dtype=np.float64)


def bases(problem: StrategyProblem, watch: Watch, *, grids: bool = True) -> list[Base]:
    """What suits the pairs, the likeliest first; without `grids` those of several attributes are not looked for."""
    cells = Base("cells", cell_space(problem))
    edges, ordered = tree(problem), threshold(problem)
    if edges is not None:
        star = int(np.bincount(np.concatenate([problem.first, problem.second])).max()) >= problem.cells - 1
        name = "prefix counts" if edges.path else "cells" if star else "one side of every pair"
        return [Base(name, edge_space(edges), sides=edges.sides), cells]
    if ordered is not None and ordered[1] < problem.cells - 1:
        ramps = best_ramps(problem, *ordered, watch)
        return [Base("ramps and cells", replace(cells.space, base=ramps.rows), fraction=ramps.fraction), cells]
    lines = grid(problem) if grids else None
    hats = None if lines is None else best_hats(problem, lines, watch)
    if hats is not None:
        even = np.full(problem.cells, float(problem.limits.min()) / 2)
        space = replace(cells.space, budgets=even, base=hats.rows / (1 - hats.cells))
        name = "cells, prefix counts and hats" if hats.hats else "cells and prefix counts"
        return [cells, Base(name, space, fraction=1 - hats.cells, many=True)]
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
            rows = mixtures(base.space, start, base.fraction, iterations=_ITERATIONS, watch=watch)
            yield p, base.over_cells(rows)
