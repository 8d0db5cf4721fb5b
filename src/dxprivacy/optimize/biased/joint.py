"""Joint steps in shapes and scales, as linear programmes.

`c X` is linearized around the present shapes and scales (or c is held: the paper's block coordinate descent), which
leaves a convex problem under the linear privacy of the shapes.  Its squares of few numbers are replaced by tangents,
and its pairs by those that matter, both added as the solution calls for them.  Shapes between two that keep the
distances keep them too, so a search along the way gives a better feasible point or none: nothing has to be repaired.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.optimize.biased.shapes import Problem
from dxprivacy.optimize.deadline import Watch

_CUTS = 4
_LONGEST = (1.0, 0.8, 0.6, 0.4, 0.2, 0.1, 0.05, 0.02, 0.005)
_ENTRIES = 20_000  # pairs times rows of a programme
_FAN: Floats = 2.0 ** np.arange(-10.0, 11.0)


@dataclass(frozen=True, eq=False)
class _Point:
    """Where a step starts, in units that make all numbers of order 1.

    Rows are divided by their ranges, scales by the present ones, the biases by `units`.
    """

    rows: Floats
    asked: Floats
    density: Floats
    units: Floats
    price: Floats
    bias: Floats


def descend(
    problem: Problem,
    shapes: Floats,
    watch: Watch,
    *,
    move_scales: bool,
    rounds: int,
    progress: Callable[[float], None],
) -> tuple[Floats, int]:
    """Steps until they gain nothing, and how many were made."""
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
                break  # past the lowest point
        if not best < loss:
            break
        small = best > loss * (1 - (1e-4 if move_scales else 1e-3))
        shapes, scales, loss = found, found_scales, best
        progress(loss)
        if small:
            break
    return shapes, done


def _towards(
    problem: Problem,
    shapes: Floats,
    scales: Floats,
    kept: Ints,
    work: Ints,
    watch: Watch,
    move_scales: bool,
) -> tuple[Floats | None, Ints]:
    """The shapes that the linearized problem likes best, and the pairs that it needed."""
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


def _point(problem: Problem, shapes: Floats, scales: Floats, kept: Ints) -> _Point:
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
    """Rows in units of their ranges, biases in their units, growth of the scales; None where the solver gives up.

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
        """Rows `sum of value * variable <= limit`; each term gives row numbers, variables and values."""
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
    """The pairs with the largest loads, without those that have none."""
    top = np.argsort(-loads, kind="stable")[:count]
    return top[loads[top] > 0].astype(np.int64)


def _off(fan: list[Floats], at: Floats) -> Floats:
    """How much the tangents are below the squares, relatively to those and to 1."""
    gaps = [value**2 - max(float((2 * t * value - t * t).max()), 0.0) for t, value in zip(fan, at, strict=True)]
    return np.array(gaps) / np.maximum(at**2, 1.0)
