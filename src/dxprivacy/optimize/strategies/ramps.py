"""Ramps for a threshold policy: smooth prefix counts every so many cells, together with the cells themselves.

With pairs at most T apart at one limit, a prefix count costs each pair across its border the same, however close its
cells are.  A prefix smeared over about T positions (a ramp) costs a pair only the part of the ramp that it spans, and
ramps every T cells then cost every pair of one width the same: they see far.  The cells see near.  What part of the
limits the ramps get is a search in one variable.
"""

from dataclasses import dataclass

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.optimize.deadline import Watch
from dxprivacy.optimize.strategies.few_rows import cells_and_rows
from dxprivacy.optimize.strategies.strategy_problem import Problem

_GOLDEN = (5**0.5 - 1) / 2
_USUAL = 0.33  # what ramps usually get
_FINALISTS = 6


@dataclass(frozen=True, eq=False)
class Ramps:
    """Ramps at load 1, the part of the limits they should get beside the cells, and the error this leaves."""

    rows: Floats
    share: float
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


def best_ramps(problem: Problem, order: Ints, reach: int, watch: Watch) -> Ramps:
    """The best ramps of some widths, distances and offsets: all tried at one share, the first few at their best."""
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
    return min((_best_share(problem, r.rows) for r in tried[:_FINALISTS]), key=lambda r: r.error)


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


def _error(problem: Problem, rows: Floats, share: float) -> float:
    cells = np.full(problem.cells, (1 - share) * problem.limits.min() / 2)
    return 2 * cells_and_rows(cells, share * rows, problem.centered, free=True)[0]


def _best_share(problem: Problem, rows: Floats) -> Ramps:
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
