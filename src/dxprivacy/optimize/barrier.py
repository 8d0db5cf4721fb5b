"""Minimize an error objective of w = 1/scale under `sum_k w_k |A_ki - A_kj| <= limit(i, j)`: a convex problem.

The objective is sum_k a_k w_k^-p (p = 2: squared error, p = 1: absolute error) or -sum_k a_k log w_k (p = 0: the
geometric mean).  A primal-dual interior-point method (or a barrier method, if that stalls) solves it for few pairs at a
time; violated pairs are added until there are none (constraint generation).  Any nonnegative multipliers of the pairs
give a lower bound on the objective by weak duality.  So every result comes with a valid gap, whatever the solver did.
The result is a proposal: it keeps every pair in floats, and is certified elsewhere.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.optimize.deadline import Watch
from dxprivacy.optimize.pair_constraints import Pairs

_ROUNDS = 60
_NEWTON = 60
_STEPS = 400
_ALIKE = 1e-5
_PRIMAL_DUAL = 120
_LATE = 15  # steps without progress
_MANY_ENTRIES = 50_000
_THIN = 0.05  # largest fraction of nonzero entries for which sparse products are used

Rows = Any  # an array, or a sparse one of scipy's, which has no types


@dataclass(frozen=True, eq=False)
class Optimum:
    """The best w found, its objective (`loss`), and a lower bound on the objective of any feasible w."""

    w: Floats
    loss: float
    lower_bound: float
    gap: float
    rounds: int


def objective_of(w: Floats, a: Floats, p: int) -> float:
    """Return the objective that is minimized."""
    return float(-(a @ np.log(w))) if p == 0 else float(a @ w**-p)


def lower_bound(rows: Rows, multipliers: Floats, a: Floats, p: int) -> float:
    """Return a lower bound on the objective of any w with `rows @ w <= 1` (weak duality), for multipliers >= 0."""
    total = float(multipliers.sum())
    if not total > 0:
        return -np.inf
    u = rows.T @ multipliers / total
    if p == 0:
        everything = float(a.sum())
        with np.errstate(divide="ignore"):
            return float(np.sum(a * np.log(everything * u / a)))
    return float(np.sum(a ** (1 / (p + 1)) * u ** (p / (p + 1))) ** (p + 1))


def optimize(
    pairs: Pairs, a: Floats, p: int, caps: Floats, *, tolerance: float = 1e-9, watch: Watch | None = None
) -> Optimum:
    """Minimize the objective; `caps` are upper bounds on w, infinite if there are none.

    Every variable must be limited by a pair or by its cap, and every `a` must be positive.  If the time is up, the best
    w so far is returned, with its gap.
    """
    own, at = pairs.own()
    scale = np.minimum(own, caps)  # then all variables run from 0 to 1
    weights = a * scale**-p if p else a
    shift = objective_of(scale, a, 0) if p == 0 else 0.0
    unit = float(weights.max())
    weights = weights / unit if p else weights
    capped = np.flatnonzero(caps < np.inf)
    bounds = np.zeros((len(capped), len(a)))
    bounds[np.arange(len(capped)), capped] = scale[capped] / caps[capped]
    work = anchors = np.unique(at[own <= caps])
    size = float(weights.sum())
    v = np.ones(len(a))
    many = max(20, 2 * len(a))
    used = pairs.used(v * scale)
    w = v / max(float(used.max(initial=0.0)), float((bounds @ v).max(initial=0.0)))
    loss, floor, rounds = objective_of(w, weights, p), -np.inf, 0
    for turn in range(1, _ROUNDS + 1):
        if watch is not None and watch.over:
            break
        rounds = turn
        work = np.union1d(work, _most(used, work, many if turn == 1 else max(many // 2, 10)))
        rows = np.vstack([pairs.rows(work) * scale, bounds])
        start = 0.9 * v / max(float((rows @ v).max()), 1e-300)
        with np.errstate(all="ignore"):  # overflow gives NaN, which never compares as better
            v, multipliers = _solved(_thin(rows), weights, p, start, tolerance * 1e-2, watch)
        floor = max(floor, lower_bound(rows, multipliers, weights, p))
        used = pairs.used(v * scale)
        everything = max(float(used.max(initial=0.0)), float((bounds @ v).max(initial=0.0)))
        feasible = v / everything
        if (here := objective_of(feasible, weights, p)) < loss:
            w, loss = feasible, here
        gap = gap_of(loss, floor, size, p)
        if watch is not None:
            watch.gap(gap)
        if gap <= tolerance or everything <= 1 + 1e-13:
            break
        slack = rows[: len(work)] @ v
        work = work[(multipliers[: len(work)] > 1e-9 * multipliers.max()) | (slack > 0.9)]
        work = np.union1d(work, anchors)  # each variable needs a limit, or it would diverge
    back = unit if p else 1.0
    return Optimum(w * scale, loss * back + shift, floor * back + shift, gap_of(loss, floor, size, p), rounds)


def evened(pairs: Pairs, w: Floats, block: Ints) -> Floats:
    """Replace nearly equal values within a block by their mean, and rescale w to keep every pair.

    Rows with the same role have equal w at the optimum; a solver's results differ in the last digits.  Equal values
    are cheaper to check and to add up in a ledger, and easier to read.
    """
    order = np.lexsort((w, block))
    sorted_w, sorted_block = w[order], block[order]
    new = np.append(True, (np.diff(sorted_block) > 0) | (np.diff(sorted_w) > _ALIKE * sorted_w[:-1]))
    group = np.cumsum(new) - 1
    mean = np.bincount(group, weights=sorted_w) / np.bincount(group)
    out = np.empty(len(w))
    out[order] = mean[group]
    return np.asarray(out / max(float(pairs.used(out).max(initial=0.0)), 1.0), dtype=np.float64)


def gap_of(loss: float, floor: float, size: float, p: int) -> float:
    """Return the gap of an objective value to its lower bound: relative, or per weight for p = 0 (a logarithm)."""
    if p == 0:
        return max((loss - floor) / size, 0.0)
    return max(loss / floor - 1.0, 0.0) if floor > 0 else np.inf


def _most(used: Floats, known: Ints, count: int) -> Ints:
    """Return the pairs with the largest use that are not known; only violated ones if there are any."""
    fresh = used.copy()
    fresh[known] = 0.0
    top = np.argpartition(-fresh, min(count, len(fresh) - 1))[:count]
    return top[fresh[top] > (1 + 1e-13 if len(known) and (fresh > 1 + 1e-13).any() else 0)].astype(np.int64)


def _solved(rows: Rows, a: Floats, p: int, v: Floats, tolerance: float, watch: Watch | None) -> tuple[Floats, Floats]:
    """Return v and multipliers by the primal-dual method; if it stalls, by the barrier method, which converges."""
    gap, found, multipliers = _primal_dual(rows, a, p, v, tolerance * 1e-3, watch)
    if gap <= tolerance or (watch is not None and watch.over):
        return found, multipliers
    return _barrier(rows, a, p, v, tolerance, watch)


def _primal_dual(
    rows: Rows, a: Floats, p: int, v: Floats, tolerance: float, watch: Watch | None
) -> tuple[float, Floats, Floats]:
    """Solve the problem for v and multipliers jointly: Newton's method on the perturbed optimality conditions.

    The conditions are a f'(v) - mu / v + rows' y = 0 and y (1 - rows v) = mu, for mu that decreases faster with longer
    steps.  The term mu / v keeps variables of negligible weight accurate, too.  It takes tens of steps, where the
    barrier takes hundreds.  Convergence is not proved, so the best v so far is returned with its gap.
    """
    a = a / (objective_of(v, a, p) if p else float(a.sum()))
    left = 1 - rows @ v
    y = 1 / left
    y *= (p or 1.0) / float(y @ (rows @ v))  # then y'(rows v) = -v'a f'(v), as at the optimum
    best, late = (np.inf, v, y), 0
    centering = 0.5
    for _ in range(_PRIMAL_DUAL):
        if late >= _LATE or (watch is not None and watch.over):
            break
        mu = centering * float(left @ y) / len(left)
        slope, bend = _slopes(a, v, p)
        pull, weight = slope - mu / v + rows.T @ (mu / left), bend + mu / v**2
        step = _direction(rows, np.sqrt(left / y), np.sqrt(y / left), pull, weight)
        along = rows @ step
        turn = mu / left - y + y / left * along
        forward = min(1.0, 0.99 * _room(v, step), 0.99 * _room(left, -along))
        upward = min(1.0, 0.99 * _room(y, turn))
        v, y = v + forward * step, y + upward * turn
        left = 1 - rows @ v
        if not (left.min() > 0 and v.min() > 0 and y.min() > 0):  # also true for NaN
            break
        primal = objective_of(v / float((rows @ v).max()), a, p)
        gap = (primal - lower_bound(rows, y, a, p)) / (primal if p else 1.0)
        best, late = ((gap, v, y), 0) if gap < 0.9 * best[0] else (best, late + 1)
        if gap < tolerance:
            break
        shorter = min(forward, upward)
        centering = 0.1 if shorter > 0.9 else 0.3 if shorter > 0.5 else 0.7
    return best


def _slopes(a: Floats, v: Floats, p: int) -> tuple[Floats, Floats]:
    """Return the first and the second derivatives of the objective."""
    return (-a / v, a / v**2) if p == 0 else (-p * a * v ** (-p - 1), p * (p + 1) * a * v ** (-p - 2))


def _room(x: Floats, step: Floats) -> float:
    """Return the largest multiple of `step` for which x stays nonnegative."""
    down = step < 0
    return float((-x[down] / step[down]).min()) if down.any() else np.inf


def _barrier(rows: Rows, a: Floats, p: int, v: Floats, tolerance: float, watch: Watch | None) -> tuple[Floats, Floats]:
    """Minimize sum a f(v) under rows @ v <= 1, v > 0 by a barrier method; return v and multipliers of the rows.

    t f(v) - sum log(1 - rows v) - sum log v is self-concordant up to a constant, so damped Newton converges globally.
    """
    m, n = rows.shape
    a = a / (objective_of(v, a, p) if p else float(a.sum()))
    t = float(m + n)
    best = (np.inf, v, np.ones(m))
    steps = stalled = 0
    while steps < _STEPS and stalled < 3 and not (watch is not None and watch.over):
        for _ in range(_NEWTON):
            steps += 1
            moved = _newton(rows, a, p, v, t)
            if moved is None:
                break
            v, small = moved
            if small:
                break
        left = 1 - rows @ v
        multipliers = 1 / (t * left)
        primal = objective_of(v / float((rows @ v).max()), a, p)
        gap = (primal - lower_bound(rows, multipliers, a, p)) / (primal if p else 1.0)
        if gap < best[0]:
            best, stalled = (gap, v, multipliers), 0
        else:
            stalled += 1
        if gap < tolerance:
            break
        t *= 30.0
    return best[1], best[2]


def _newton(rows: Rows, a: Floats, p: int, v: Floats, t: float) -> tuple[Floats, bool] | None:
    """Return v after one damped Newton step, and whether the step was small; None if no step helps."""
    left = 1 - rows @ v
    push = 1 / left
    slope, bend = _slopes(a, v, p)
    gradient = t * slope + rows.T @ push - 1 / v
    diagonal = t * bend + 1 / v**2
    step = _direction(rows, left, push, gradient, diagonal)
    decrease = -float(gradient @ step)
    if not np.isfinite(decrease) or decrease < 1e-9:
        return None
    along = rows @ step
    length = 1.0
    if (along > 0).any():
        length = min(length, 0.99 * float((left[along > 0] / along[along > 0]).min()))
    if (step < 0).any():
        length = min(length, 0.99 * float((-v[step < 0] / step[step < 0]).min()))
    here = _barrier_value(rows, a, p, v, t)
    while length > 1e-12:
        there = _barrier_value(rows, a, p, v + length * step, t)
        if there <= here - 0.1 * length * decrease + 1e-12 * abs(here):
            return v + length * step, length == 1.0 and decrease < 3e-5
        length *= 0.5
    return None


def _direction(rows: Rows, left: Floats, push: Floats, gradient: Floats, diagonal: Floats) -> Floats:
    """Return the Newton direction by the smaller of two equivalent systems, scaled for numerical stability."""
    m, n = rows.shape
    if m < n:
        system = _gram(rows.T, 1 / diagonal)
        system[np.diag_indices(m)] += left * left
        first = -gradient / diagonal
        return np.asarray(first - (rows.T @ _solve(system, rows @ first)) / diagonal, dtype=np.float64)
    system = _gram(rows, push * push)
    system[np.diag_indices(n)] += diagonal
    return _solve(system, -gradient)


def _thin(rows: Floats) -> Rows:
    """Return the rows as a sparse matrix if most entries are zero."""
    if rows.size < _MANY_ENTRIES or np.count_nonzero(rows) > _THIN * rows.size:
        return rows
    from scipy.sparse import csr_array

    return csr_array(rows)


def _gram(rows: Rows, weights: Floats) -> Floats:
    """Return rows' diag(weights) rows."""
    if isinstance(rows, np.ndarray):
        return np.asarray((rows.T * weights) @ rows, dtype=np.float64)
    from scipy.sparse import diags_array

    return np.asarray((rows.T @ (diags_array(weights) @ rows)).toarray(), dtype=np.float64)


def _solve(system: Floats, right: Floats) -> Floats:
    """Solve a positive definite system with Jacobi scaling; regularize if it is singular in floats."""
    scale = 1 / np.sqrt(np.diag(system))
    scaled = system * scale[:, None] * scale
    for touch in (0.0, 1e-14, 1e-11, 1e-8):
        if touch:
            scaled[np.diag_indices(len(scaled))] += touch
        try:
            found = np.linalg.solve(scaled, right * scale)
        except np.linalg.LinAlgError:
            continue
        if np.isfinite(found).all():
            return np.asarray(scale * found, dtype=np.float64)
    return np.zeros(len(right))


def _barrier_value(rows: Rows, a: Floats, p: int, v: Floats, t: float) -> float:
    left = 1 - rows @ v
    if not (left.min(initial=1.0) > 0 and v.min() > 0):
        return np.inf
    return t * objective_of(v, a, p) - float(np.log(left).sum()) - float(np.log(v).sum())
