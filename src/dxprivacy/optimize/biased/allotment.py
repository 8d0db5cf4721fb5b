"""Allot the distances of the pairs to the rows, and solve each row exactly in what it got (MATH 3b).

Allotments that add up to no more than the distances are private whatever each row does with its own, and a row alone
is a problem in one number.  Which allotment is best is the hard part: here are good guesses.
"""

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.optimize.biased.closed_pairs import ClosedPairs, shortest
from dxprivacy.optimize.biased.one_row import nearest
from dxprivacy.optimize.biased.shapes import Problem


def refit(problem: Problem, shapes: Floats) -> Floats:
    """Allot each pair's distance to the rows as they use it, and solve each row.

    A row's old shape keeps to its allotment, so no row gets worse.
    """
    first, second, d = problem.pairs.all
    used = np.abs(shapes[:, first] - shapes[:, second])
    total = used.sum(axis=0)
    result = np.zeros_like(shapes)
    for k, row in enumerate(used):
        if not row.any():
            continue
        part = np.divide(row * d, total, out=d / len(shapes), where=total > 0)
        found, scale = nearest(problem.Q[k], _allotted(problem.pairs, np.maximum(part, 1e-9 * d)), problem.n)
        result[k] = found / scale if scale > 0 else 0.0
    return problem.within(result)


def leftovers(problem: Problem, shapes: Floats, order: Ints) -> Floats:
    """Give each row that was dropped, in some order, what the others leave of the distances: it can only gain."""
    first, second, d = problem.pairs.all
    shapes = shapes.copy()
    for k in order:
        if (shapes[k, first] != shapes[k, second]).any():
            continue
        left = d * np.maximum(1 - problem.pairs.loads(shapes), 1e-9)
        found, scale = nearest(problem.Q[k], _allotted(problem.pairs, left), problem.n)
        shapes[k] = found / scale if scale > 0 else 0.0
    return problem.within(shapes)


def _allotted(pairs: ClosedPairs, distances: Floats) -> ClosedPairs:
    first, second, _ = pairs.all
    matrix = np.full((pairs.size, pairs.size), np.inf)
    np.fill_diagonal(matrix, 0.0)
    matrix[first, second] = matrix[second, first] = distances
    return ClosedPairs(shortest(matrix))
