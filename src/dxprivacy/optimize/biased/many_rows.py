"""Many biased rows: a non-convex problem; several methods start from the unbiased optimum, and the best is kept.

Invariant: the result keeps every pair in floats and is never worse than the given unbiased optimum.  All work is
deterministic and limited by rounds; a watch may stop it early.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dxprivacy.errors import UsageError
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.optimize.biased.closed_pairs import ClosedPairs, close, enough, numbers, records, shortest
from dxprivacy.optimize.biased.joint import descend, rebalance, search
from dxprivacy.optimize.biased.one_row import nearest, single
from dxprivacy.optimize.biased.shapes import Biased, BiasedProblem
from dxprivacy.optimize.deadline import Watch

# -- Allot the distances of the pairs to the rows, and solve each row exactly within its allotment ---------------------
# If allotments add up to at most the distances, any rows within them are private, and a single row is a problem in one
# number.  The best allotment is hard to find; these functions make good guesses.


def refit(problem: BiasedProblem, shapes: Floats) -> Floats:
    """Allot each pair's distance to the rows in proportion to their present use, and solve each row.

    The old shape of a row fits its allotment, so no row gets worse.
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


def leftovers(problem: BiasedProblem, shapes: Floats, order: Ints) -> Floats:
    """Give each dropped row, in the given order, the distances that others leave; this never makes a row worse."""
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


# -- Many biased rows --------------------------------------------------------------------------------------------------


Progress = Callable[[str, float], None]
_WORTH = 1e-6  # a smaller relative gain does not justify a bias
_Found = tuple[float, str, Floats, int]  # objective, name, shapes, rounds
MAJORIZE, DESCENT = "majorize-minimize", "block coordinate descent"
_ROUNDS = 12
_PASSES = 3
_FINALISTS = 3
_SMALL = 400  # entries of the rows up to which several finalists are improved
_NEAR = 1.3
_FIRST = 12


def many(
    Q: Any,
    first: Any,
    second: Any,
    distances: Any,
    n: Any,
    weights: Any,
    scales0: Any,
    *,
    progress: Progress | None = None,
    watch: Watch | None = None,
) -> Biased:
    """Return rows P and scales c with a small objective, never above that of Q at `scales0`.

    The objective is `sum_k a_k (n^2 max_i (P_ki - Q_ki)^2 + 2 c_k^2)`.

    `progress` is called with the name of the current method and its objective relative to the unbiased one.

    >>> found = many([[0, 1], [0, 1]], [0], [1], [1.0], 1, [1, 1], [2.0, 2.0])
    >>> round(found.loss, 6)  # one row gets everything, the other a constant: 2/9 + 1/4
    0.472222
    """
    asked, a, c0 = numbers(Q, "a value of a row"), numbers(weights, "a weight"), numbers(scales0, "a scale")
    if asked.ndim != 2 or not asked.size:
        raise UsageError("rows need one number for each element, and at least one row")
    if a.shape != c0.shape or a.shape != (len(asked),):
        raise UsageError("every row needs one weight and one scale")
    if not (a > 0).all() or (c0 < 0).any():
        raise UsageError("a weight is not above 0, or a scale is negative")
    pairs, count = close(asked.shape[1], first, second, distances), records(n)
    plain = _unbiased(asked, pairs, a, c0)
    varies = np.array([bool(pairs.loads(row[None, :]).any()) for row in asked])
    if not varies.any():
        return plain
    if varies.sum() == 1:
        (k,) = np.flatnonzero(varies)
        alone = single(asked[k], first, second, distances, count)
        rows, scales = asked.copy(), np.zeros(len(asked))
        rows[k], scales[k] = alone.rows[0], alone.scales[0]
        return _better(plain, _result(asked, rows, scales, count, a, "exact", 1), worth=0.0)
    problem = BiasedProblem(asked[varies], pairs, count, a[varies])
    name, shapes, rounds = _best(problem, c0[varies], plain.loss, watch or Watch(), progress or (lambda *_: None))
    scales, rows = np.zeros(len(asked)), asked.copy()
    scales[varies], rows[varies] = _rows(problem, shapes)
    scales = enough(scales, rows, pairs)
    return _better(plain, _result(asked, rows, scales, count, a, name, rounds), worth=_WORTH)


def _best(
    problem: BiasedProblem, c0: Floats, plain: float, watch: Watch, progress: Progress
) -> tuple[str, Floats, int]:
    """Return the name of the best method, its shapes, and the number of rounds."""

    def tell(name: str) -> Callable[[float], None]:
        return lambda loss: progress(name, min(loss / plain, 1.0))

    start = problem.within(problem.Q / c0[:, None])
    found: list[_Found] = []

    def note(name: str, shapes: Floats, rounds: int) -> None:
        loss = problem.settle(shapes)[1]
        found.append((loss, name, shapes, rounds))
        tell(name)(loss)

    shapes = search(problem, start, watch)
    note(MAJORIZE, shapes, 1)
    if not watch.over:
        note(MAJORIZE, rebalance(problem, refit(problem, shapes), watch), 2)
    heavy = np.argsort(-problem.weights * problem.ranges**2, kind="stable")  # by the cost of a constant answer
    for k in heavy[:_FIRST]:
        if watch.over:
            break
        alone = leftovers(problem, np.zeros_like(start), np.append(k, heavy))
        note(MAJORIZE, rebalance(problem, alone, watch), 1)
    shapes, rounds = descend(problem, start, watch, move_scales=False, rounds=_ROUNDS, progress=tell(DESCENT))
    note(DESCENT, rebalance(problem, shapes, watch), rounds)
    for loss, name, shapes, rounds in _finalists(found, _FINALISTS if start.size <= _SMALL else 1):
        for _ in range(_PASSES):
            if watch.over:
                break
            shapes, more = descend(problem, shapes, watch, move_scales=True, rounds=_ROUNDS, progress=tell(name))
            shapes = rebalance(problem, leftovers(problem, shapes, heavy), watch)
            rounds += more
            note(name, shapes, rounds)
            if found[-1][0] > loss * (1 - 1e-4):
                break
            loss = found[-1][0]
    _, name, shapes, rounds = min(found, key=lambda one: one[0])
    return name, shapes, rounds


def _finalists(found: list[_Found], count: int) -> list[_Found]:
    """Return the best few, without those of equal objective and those far above the best."""
    chosen: list[_Found] = []
    for one in sorted(found, key=lambda one: one[0]):
        if not chosen or one[0] > chosen[-1][0] * (1 + 1e-6):
            chosen.append(one)
    return [one for one in chosen[:count] if one[0] <= chosen[0][0] * _NEAR]


def _rows(problem: BiasedProblem, shapes: Floats) -> tuple[Floats, Floats]:
    """Return scales, and rows shifted within each class to be nearest to the workload rows."""
    scales, _ = problem.settle(shapes)
    rows = scales[:, None] * shapes
    _, middle = problem.pairs.offset(rows - problem.Q)
    return scales, rows - middle


def _unbiased(asked: Floats, pairs: ClosedPairs, a: Floats, c0: Floats) -> Biased:
    zero = c0 == 0
    if pairs.loads(asked[zero]).any():
        raise UsageError("a row that differs between protected elements has scale 0")
    load = float(pairs.loads(asked[~zero], c0[~zero]).max(initial=0.0))
    if load > 1 + 1e-9:
        raise UsageError("the unbiased scales do not keep the distances")
    return Biased(asked.copy(), c0.copy(), np.zeros(len(asked)), float(a @ (2 * c0 * c0)), "unbiased", 0)


def _result(asked: Floats, rows: Floats, scales: Floats, n: float, a: Floats, name: str, rounds: int) -> Biased:
    bias = n * np.abs(rows - asked).max(axis=1)
    return Biased(rows, scales, bias, float(a @ (bias * bias + 2 * scales * scales)), name, rounds)


def _better(plain: Biased, other: Biased, *, worth: float) -> Biased:
    return other if math.isfinite(other.loss) and other.loss < plain.loss * (1 - worth) else plain
