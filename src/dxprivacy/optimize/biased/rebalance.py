"""Majorize-minimize: how much of the distances each row gets, and which rows are better answered by a constant.

With its share s of the row left, answer k costs `n^2 (bias at s)^2 + 2 (s / w)^2`, w being its precision.  At any fixed
s that is above the true cost, which takes the best s, and it is convex in w: the unbiased problem with weights a s^2,
which `optimal` solves.  So alternate; the loss never rises.  Rows can fade away but not come back, so a search drops
rows and starts from what is left.
"""

from typing import Any

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.optimize.barrier import optimize
from dxprivacy.optimize.biased.shapes import Problem
from dxprivacy.optimize.deadline import Watch
from dxprivacy.optimize.pair_constraints import SparsePairs

_ROUNDS = 40
_FADED = 1e-9
_LARGE = 300_000  # pairs times rows beyond which fewer starts are tried


def rebalance(problem: Problem, shapes: Floats, watch: Watch, *, rounds: int = _ROUNDS) -> Floats:
    """Share the distances anew among the shapes until that helps no more."""
    scales, loss = problem.settle(shapes)
    for _ in range(rounds):
        if watch.over:
            break
        shared = _share(problem, shapes, problem.weights * scales**2)
        after, better = problem.settle(shared)
        if not better < loss:
            break
        done = better > loss * (1 - 1e-5)
        shapes, scales, loss = shared, after, better
        if done:
            break
    return shapes


def search(problem: Problem, start: Floats, watch: Watch) -> Floats:
    """The best of rebalanced starts: all rows, one row before all others, and rows dropped one after another."""
    best = rebalance(problem, start, watch)
    scales, loss = problem.settle(best)
    count = len(start)
    large = count * len(problem.pairs.essential[0]) > _LARGE
    starts = [] if large else [_favor(problem, start, k) for k in range(min(count, 12))]
    for shapes in starts:
        found = rebalance(problem, shapes, watch)
        after, value = problem.settle(found)
        if value < loss:
            best, scales, loss = found, after, value
    # Dropping helps the rows that use the distances most for the least: try them in that order.
    improved = count > 1
    while improved and not watch.over:
        improved = False
        price = problem.weights * scales**2
        kept = np.flatnonzero(scales > 0)
        for k in kept[np.argsort(price[kept], kind="stable")[::-1]][: 3 if large else 12]:
            without = best.copy()
            without[k] = 0.0
            found = rebalance(problem, problem.within(without), watch, rounds=8)
            after, value = problem.settle(found)
            if value < loss * (1 - 1e-9):
                best, scales, loss, improved = found, after, value, True
                break
    return rebalance(problem, best, watch)


def _favor(problem: Problem, start: Floats, k: int) -> Floats:
    """Row k before all others."""
    weights = np.full(len(start), 1e-3)
    weights[k] = 1.0
    return _share(problem, start, weights * problem.weights * problem.ranges**2)


def _share(problem: Problem, shapes: Floats, weights: Floats) -> Floats:
    """The multiples of the shapes with the least `sum weights / multiple^2`; faded rows are dropped."""
    from scipy.sparse import csr_array

    first, second, d = problem.pairs.essential
    loads = np.abs(shapes[:, first] - shapes[:, second])
    keep: Ints = np.flatnonzero((weights > _FADED**2 * weights.max()) & loads.any(axis=1))
    result = np.zeros_like(shapes)
    if len(keep):
        matrix: Any = csr_array(loads[keep].T)
        found = optimize(SparsePairs(matrix, d), weights[keep], 2, np.full(len(keep), np.inf), tolerance=1e-6)
        result[keep] = shapes[keep] * found.w[:, None]
    return problem.within(result)
