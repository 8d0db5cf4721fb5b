"""Joint steps in shapes and scales, as linear programs.

`c X` is linearized around the present shapes and scales (or c is fixed: the paper's block coordinate descent), which
gives a convex problem under the linear privacy constraints of the shapes.  Its squares are replaced by tangents, and
its pairs by the relevant ones; both are added as needed (cutting planes).  Convex combinations of feasible shapes are
feasible, so a line search returns a better feasible point or none, and no repair is needed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.optimize.barrier import optimize
from dxprivacy.optimize.biased.shapes import BiasedProblem
from dxprivacy.optimize.deadline import Watch
from dxprivacy.optimize.pair_constraints import SparsePairs

_CUTS = 4
_LONGEST = (1.0, 0.8, 0.6, 0.4, 0.2, 0.1, 0.05, 0.02, 0.005)
_ENTRIES = 20_000  # pairs times rows of a linear program
_FAN: Floats = 2.0 ** np.arange(-10.0, 11.0)


@dataclass(frozen=True, eq=False)
class _Point:
    """The starting point of a step, in units in which all numbers are of order 1.

    Rows are divided by their ranges, scales by the present ones, the biases by `units`.
    """

    rows: Floats
    asked: Floats
    density: Floats
    units: Floats
    price: Floats
    bias: Floats


def descend(
    problem: BiasedProblem,
    shapes: Floats,
    watch: Watch,
    *,
    move_scales: bool,
    rounds: int,
    progress: Callable[[float], None],
) -> tuple[Floats, int]:
    """Make steps until they do not help; return the shapes, and the number of steps."""
    scales, loss = problem.settle(shapes)
    done = 0
    work = np.zeros(0, dtype=np.int64)
    while done < rounds:
        done += 1
        kept = np.flatnonzero(scales > 0)
        if not len(kept) or watch.over:
            break
        target, work = _towards(problem, shapes, scales, kept, work, watch, move_scales)
        if target is None:
            break
        best = loss
        for part in _LONGEST:
            there = problem.within(shapes + part * (target - shapes))
            after, value = problem.settle(there)
            if value < best:
                best, found, found_scales = value, there, after
            elif best < loss:
                break  # past the minimum
        if not best < loss:
            break
        small = best > loss * (1 - (1e-4 if move_scales else 1e-3))
        shapes, scales, loss = found, found_scales, best
        progress(loss)
        if small:
            break
    return shapes, done


def _towards(
    problem: BiasedProblem,
    shapes: Floats,
    scales: Floats,
    kept: Ints,
    work: Ints,
    watch: Watch,
    move_scales: bool,
) -> tuple[Floats | None, Ints]:
    """Return the optimal shapes of the linearized problem, and the pairs that it needed."""
    first, second, d = problem.pairs.essential
    most = max(_ENTRIES // len(kept), 10)
    loads = _loads(shapes, first, second, d)
    work = np.union1d(work[loads[work] > 0.3], _largest(loads, min(most, 4 * problem.pairs.size)))
    point = _point(problem, shapes, scales, kept)
    tangents: tuple[list[Floats], list[Floats]] = (
        [np.append(_FAN, bias) for bias in point.bias],
        [_FAN[5:16] for _ in kept],
    )
    target = None
    for _ in range(_CUTS):
        solved = _solve(point, (first[work], second[work], d[work]), tangents, move_scales, watch)
        if solved is None:
            break
        moved, bias, grown = solved
        target = np.zeros_like(shapes)
        target[kept] = moved * (problem.ranges[kept] / scales[kept])[:, None]
        loads = _loads(target, first, second, d)
        over = _largest(np.where(loads > 1 + 1e-6, loads, 0.0), max(most // 4, 10))
        off = np.maximum(_off(tangents[0], bias), _off(tangents[1], grown)).max()
        if (not len(over) and off < 1e-3) or len(work) >= 2 * most:
            break
        work = np.union1d(work, over)
        for fan, at in zip(tangents, (bias, grown), strict=True):
            for k, value in enumerate(at):
                fan[k] = np.append(fan[k], value)
    return target, work


def _point(problem: BiasedProblem, shapes: Floats, scales: Floats, kept: Ints) -> _Point:
    c, wide, a = scales[kept], problem.ranges[kept], problem.weights[kept]
    rows = c[:, None] * shapes[kept]
    bias = problem.half(rows - problem.Q[kept])
    units = np.minimum(np.sqrt(2) * c / (problem.n * wide), 0.5)
    price = np.stack([a * (problem.n * wide * units) ** 2, 2 * a * c * c])
    rows, asked = rows / wide[:, None], problem.Q[kept] / wide[:, None]
    middle = asked.mean(axis=1, keepdims=True)
    return _Point(
        rows - rows.mean(axis=1, keepdims=True),
        asked - middle,
        wide / c,
        units,
        price / price.sum(),
        bias / wide / units,
    )


def _solve(
    point: _Point,
    pairs: tuple[Ints, Ints, Floats],
    tangents: tuple[list[Floats], list[Floats]],
    move_scales: bool,
    watch: Watch,
) -> tuple[Floats, Floats, Floats] | None:
    """Return rows in units of their ranges, biases in their units, and scale factors; None if the solver fails.

    Variables: rows (K x N), loads of pairs (K x pairs), then bias, growth and the squares of both (K each).
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    first, second, d = pairs
    K, N = point.rows.shape
    m = len(first)
    bias = K * N + K * m
    total = bias + 4 * K
    entries: list[tuple[Any, Any, Any]] = []
    limits: list[Floats] = []
    height = 0

    def add(count: int, *terms: tuple[Any, Any, Any], limit: Any) -> None:
        """Add constraints `sum of value * variable <= limit`; a term has row numbers, variables and values."""
        nonlocal height
        entries.extend((np.asarray(row) + height, variable, value) for row, variable, value in terms)
        limits.append(np.broadcast_to(np.asarray(limit, dtype=np.float64), (count,)))
        height += count

    each, cells = np.arange(m), np.arange(N)
    for k in range(K):
        y = K * N + k * m + each
        for sign in (1.0, -1.0):
            add(
                m,
                (each, k * N + first, np.full(m, sign)),
                (each, k * N + second, np.full(m, -sign)),
                (each, y, -d / point.density[k]),
                limit=0.0,
            )
            add(
                N,
                (cells, k * N + cells, np.full(N, sign)),
                (cells, np.full(N, bias + K + k), sign * point.rows[k]),
                (cells, np.full(N, bias + k), np.full(N, -point.units[k])),
                limit=sign * (point.asked[k] + point.rows[k]),
            )
        for which in range(2):  # the square is above its tangents: 2 t x - t^2 <= square
            t = tangents[which][k]
            rows = np.arange(len(t))
            add(
                len(t),
                (rows, np.full(len(t), bias + which * K + k), 2 * t),
                (rows, np.full(len(t), bias + (2 + which) * K + k), np.full(len(t), -1.0)),
                limit=t * t,
            )
    add(m, (np.tile(each, K), K * N + np.arange(K * m), np.ones(K * m)), limit=1.0)
    row, column, value = (np.concatenate([np.asarray(e[part]) for e in entries]) for part in range(3))
    goal = np.zeros(total)
    goal[bias + 2 * K : bias + 3 * K], goal[bias + 3 * K :] = point.price
    lower, upper = np.zeros(total), np.full(total, np.inf)
    lower[: K * N] = -np.inf
    if not move_scales:
        lower[bias + K : bias + 2 * K] = upper[bias + K : bias + 2 * K] = 1.0
    answer = linprog(
        goal,
        A_ub=coo_array((value, (row, column)), shape=(height, total)).tocsr(),
        b_ub=np.concatenate(limits),
        bounds=np.stack([lower, upper], axis=1),
        method="highs",
        options={} if watch.left is None else {"time_limit": max(watch.left, 0.01)},
    )
    if answer.x is None or not np.isfinite(answer.x).all() or answer.status not in (0, 1):
        return None
    x = np.asarray(answer.x, dtype=np.float64)
    return x[: K * N].reshape(K, N), x[bias : bias + K], x[bias + K : bias + 2 * K]


def _loads(shapes: Floats, first: Ints, second: Ints, d: Floats) -> Floats:
    return np.asarray(np.abs(shapes[:, first] - shapes[:, second]).sum(axis=0) / d, dtype=np.float64)


def _largest(loads: Floats, count: int) -> Ints:
    """Return the pairs with the largest positive loads."""
    top = np.argsort(-loads, kind="stable")[:count]
    return top[loads[top] > 0].astype(np.int64)


def _off(fan: list[Floats], at: Floats) -> Floats:
    """Return how far the tangents are below the squares, relative to the larger of the square and 1."""
    gaps = [value**2 - max(float((2 * t * value - t * t).max()), 0.0) for t, value in zip(fan, at, strict=True)]
    return np.array(gaps) / np.maximum(at**2, 1.0)


# -- Majorize-minimize: divide the distances among rows, and find rows that are better answered by a constant ----------
# If a row is scaled by s, answer k costs `n^2 (bias at s)^2 + 2 (s / w)^2`, w being its precision.  For any fixed s
# this is at least the true cost, which uses the best s, and it is convex in w: the unbiased problem with weights a s^2,
# which `optimize` solves.  Alternating the two never increases the objective.  Rows can vanish but not return, so a
# search also drops rows and restarts from the remaining ones.


_ROUNDS = 40
_FADED = 1e-9
_LARGE = 300_000  # pairs times rows beyond which fewer starts are tried


def rebalance(problem: BiasedProblem, shapes: Floats, watch: Watch, *, rounds: int = _ROUNDS) -> Floats:
    """Divide the distances among the shapes again, until this does not help."""
    scales, loss = problem.settle(shapes)
    for _ in range(rounds):
        if watch.over:
            break
        shared = _budget(problem, shapes, problem.weights * scales**2)
        after, better = problem.settle(shared)
        if not better < loss:
            break
        done = better > loss * (1 - 1e-5)
        shapes, scales, loss = shared, after, better
        if done:
            break
    return shapes


def search(problem: BiasedProblem, start: Floats, watch: Watch) -> Floats:
    """Return the best rebalanced start: all rows, one favored row, and rows dropped one after another."""
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
    # Try to drop rows in the order of decreasing cost.
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


def _favor(problem: BiasedProblem, start: Floats, k: int) -> Floats:
    """Return a start in which row k is favored over all others."""
    weights = np.full(len(start), 1e-3)
    weights[k] = 1.0
    return _budget(problem, start, weights * problem.weights * problem.ranges**2)


def _budget(problem: BiasedProblem, shapes: Floats, weights: Floats) -> Floats:
    """Return the multiples of the shapes with the least `sum weights / multiple^2`; vanishing rows are dropped."""
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
