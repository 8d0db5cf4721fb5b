"""Closed-form bases for the structure of the pairs: sides of a tree's edges, cells, ramps, hats; most take mixtures."""

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

# -- Ramps for a threshold policy: smooth prefix counts at regular distances, together with the cells themselves -------
# If all pairs at most T apart have one limit, a prefix count costs each pair across its border the same, however close
# its cells are.  A prefix smoothed over about T positions (a ramp) costs a pair only the part of the ramp that it
# spans, so ramps every T cells cost all pairs of one width the same.  Ramps measure long ranges well, and cells short
# ones. The fraction of the limits for the ramps is found by a search in one variable.


_GOLDEN = (5**0.5 - 1) / 2
_USUAL = 0.33  # the usual fraction of the limits for ramps
_FINALISTS = 6


@dataclass(frozen=True, eq=False)
class Ramps:
    """Ramps at load 1, their best fraction of the limits (cells get the rest), and the resulting error."""

    rows: Floats
    fraction: float
    error: float


def ramp_rows(n: int, every: int, width: int, offset: int, *, smooth: bool) -> Floats:
    """Return descending ramps along an order of n cells: `width` cells wide, one every `every` cells.

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
    """Return the best ramps over widths, distances and offsets: all at the usual fraction, finalists at their best."""
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
    """Return distances, widths and offsets around the threshold, the most promising first."""
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
    """Find the best fraction for the ramps by golden-section search, to three digits."""
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


# -- Closed-form bases -------------------------------------------------------------------------------------------------


_ITERATIONS = 1500


@dataclass(frozen=True, eq=False)
class Base:
    """A space of columns with budgets, the fraction for its fixed rows, and the map from its columns to the cells.

    `many` is true if it has so many fixed rows that mixtures do not help (tried from 64 to 320 cells), but a weight for
    each row does.
    """

    name: str
    space: Space
    fraction: float = 0.0
    sides: Floats | None = None
    many: bool = False

    def rows(self, problem: StrategyProblem) -> Floats:
        """Return the rows of the base alone: every column with its whole budget, and the fixed rows."""
        columns = (1 - self.fraction) * np.diag(self.space.budgets)
        if len(self.space.base):
            columns = np.vstack([self.fraction * self.space.base, columns])
        rows = self.over_cells(columns)
        return rows / problem.load(rows)

    def over_cells(self, rows: Floats) -> Floats:
        """Return rows over the columns as rows over the cells."""
        return rows if self.sides is None else np.asarray(rows @ self.sides, dtype=np.float64)


def bases(problem: StrategyProblem, watch: Watch, *, grids: bool = True) -> list[Base]:
    """Return the bases that suit the pairs, the most promising first; without `grids`, none for several attributes."""
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
    """Return the fixed start of a search for `count` mixtures (2 count x columns: P over Q)."""
    return np.random.default_rng(number).uniform(0, 1, (2 * count, columns))


def mixed(base: Base, watch: Watch) -> Iterator[tuple[int, Floats]]:
    """Yield mixtures added to a base: for several counts, from fixed starts with and without negative parts."""
    n = base.space.columns
    for p in dict.fromkeys(
        [max(n // 16, 2), max(5 * n // 64, 3)]
    ):  # found empirically for 64 to 256 cells; more mixtures did not help
        for negative in (0.0, 1.0):
            if watch.over:
                return
            start = start_of(p, n, p)
            start[p:] *= negative
            rows = mixtures(base.space, start, base.fraction, iterations=_ITERATIONS, watch=watch)
            yield p, base.over_cells(rows)
