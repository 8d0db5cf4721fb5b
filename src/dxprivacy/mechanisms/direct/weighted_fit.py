"""Fit the histogram closest to noisy answers: weighted least squares over y >= 0.

    minimize f(y) = 1/2 sum_k (A_k y - m_k)^2 / var_k    over y >= 0, sum y = n   (or sum y <= the declared maximum)

The fit is deterministic, and A is never dense. The optimality gap is known at every point (Frank-Wolfe gap: f is
convex, so f(y) - f* <= g.(y - y*) <= g.y - n min g; and f* >= 0). The search stops once the gap is small compared with
the noise: f is half a chi-square, whose value at the truth is about half the number of rows. Small problems start at
the solution of an active-set method, evened out among the histograms with its answers, and continue with accelerated
projected gradients. Large ones are fitted with nearly maximum entropy (below), which needs far fewer steps.
"""

from dataclasses import dataclass

import numpy as np

from dxprivacy.exact.arrays import Floats
from dxprivacy.mechanisms.direct.evening import evened
from dxprivacy.mechanisms.synthesis.histogram_answers import Projection

# -- The fit of nearly maximum entropy, for many possible records: L-BFGS on the dual ----------------------------------
#     minimize f(y) + t KL(y, even)    over y >= 0 (sum y = n if n is public),    f half the weighted squared misfit
#
# Let m be the answers and V their variances. The minimum is y = even exp(-A'u), scaled to n, where u minimizes the
# smooth
#
#     t/2 u'V u + m'u + n log sum(even exp(-A'u))        (sum(even exp(-A'u)) if n is free).
#
# The dual has one variable for each answer. A few hundred evaluations reach a misfit that projected gradients over the
# records do not reach in thousands, and the entropy keeps unmeasured parts even. t is lowered step by step, each from
# the last solution, until the misfit is small compared with the noise (f is at least 0, so the misfit bounds the gap).


_WEIGHTS = (1.0, 0.1, 0.01, 0.001, 0.0001)  # weights t of the entropy, relative to half a chi-square
_ENOUGH = 0.01  # a smaller weight is used only if the misfit is too large
_MEMORY = 20  # correction pairs of L-BFGS
_LOWEST = -700.0  # logarithms below this are 0 in floats


@dataclass(frozen=True, eq=False)
class Dual:
    """The dual problem; `total` is the public number of records, None if it is free."""

    rows: Projection
    measured: Floats
    variances: Floats
    even: Floats
    total: float | None

    def histogram(self, u: Floats) -> tuple[float, Floats]:
        """Return the dual's term (the sum, or n times its logarithm), and y."""
        exponent = -self.rows.back(u)
        if self.total is None:
            y = self.even * np.exp(np.minimum(exponent, -_LOWEST))
            return float(y.sum()), y
        top = float(exponent.max())
        y = self.even * np.exp(np.maximum(exponent - top, _LOWEST))
        size = float(y.sum())
        return self.total * (np.log(size) + top), y * (self.total / size)

    def solved(self, close: float, most: int) -> tuple[Floats, int]:
        """Return the histogram, once its misfit is at most `close` or after `most` evaluations, and the number of
        evaluations.
        """
        from scipy.optimize import minimize

        u, used = np.zeros(len(self.measured)), 0
        for weight in _WEIGHTS:
            # Scaled by an estimate of each answer's curvature, so that answers of any noise converge alike.
            unit = 1 / np.sqrt(weight * self.variances + np.maximum(self.measured, 1.0))

            def value(x: Floats, weight: float = weight, unit: Floats = unit) -> tuple[float, Floats]:
                u = x * unit
                size, y = self.histogram(u)
                spread = weight * self.variances * u
                slope = spread + self.measured - self.rows.answers(y)
                return 0.5 * float(u @ spread) + float(u @ self.measured) + size, slope * unit

            room = {"maxiter": most - used, "maxfun": most - used, "maxcor": _MEMORY, "ftol": 1e-10, "gtol": 0.02}
            found = minimize(value, u / unit, jac=True, method="L-BFGS-B", options=room)
            u, used = found.x * unit, used + int(found.nfev)
            if used >= most or (weight <= _ENOUGH and self.misfit(self.histogram(u)[1]) <= close):
                break
        return self.histogram(u)[1], used

    def misfit(self, y: Floats) -> float:
        """f, half the weighted squared misfit."""
        off = self.rows.answers(y) - self.measured
        return 0.5 * float(off @ (off / self.variances))


# -- The weighted least squares fit ------------------------------------------------------------------------------------


CLOSE = 1e-3  # times the number of rows: the gap at which to stop
CONVERGED = 0.1  # times the number of rows: a gap of a fifth of what the noise itself adds to f
MOST_WORK = 2_000_000_000  # possible records and rows, over all steps
MOST_STEPS = 5_000
LEAST_STEPS = 50
SMALL = 200_000  # rows times possible records
_EVERY = 10
_HEAVY = 1e3
_ROOM = 1e-3


@dataclass(frozen=True, eq=False)
class Fit:
    """The histogram, half its weighted squared misfit, and an upper bound on the gap to the least misfit."""

    y: Floats
    misfit: float
    gap: float
    steps: int
    rows: int

    @property
    def converged(self) -> bool:
        """Whether the gap is small compared with the noise."""
        return self.gap <= CONVERGED * max(self.rows, 1)

    def to_dict(self) -> dict[str, float | int | bool]:
        """Return chi-square per noisy count, and the part of it that a longer fit could save at most."""
        per_row = 2 / max(self.rows, 1)
        facts = {"misfit": self.misfit * per_row, "gap": self.gap * per_row}
        return {**facts, "steps": self.steps, "converged": self.converged}


def fit(rows: Projection, measured: Floats, variances: Floats, total: float, *, free: bool = False) -> Fit:
    """Fit a histogram with `total` records, or with at most `total` if `free`.

    >>> from dxprivacy.queries.asking import gather
    >>> from dxprivacy.universe.universe import Universe
    >>> rows = Projection(gather([[1, 0, 0], [0, 1, 0]]).on(Universe.listed("abc")))
    >>> fit(rows, np.array([30.0, -9.0]), np.ones(2), 100.0).y.round(3).tolist()
    [30.0, 0.0, 70.0]
    """
    task = _FitTask(rows, measured, 1.0 / variances, total, free)
    if rows.cells * (rows.workload.rows + 1) > SMALL:
        return task.large()
    y = task.start()
    step = 1.0 / task.curvature()
    most = max(LEAST_STEPS, min(MOST_STEPS, MOST_WORK // (rows.cells + rows.workload.rows)))
    ahead, momentum = y, 1.0
    value, best_gap = task.value(y), task.gap(y)
    if best_gap <= CLOSE * rows.workload.rows:
        return Fit(y, value, best_gap, 0, len(measured))
    steps = 0
    while steps < most:
        steps += 1
        nearby, slope = task.at(ahead)
        after = task.project(ahead - step * slope)
        move = after - ahead
        reached = task.value(after)
        if reached > nearby + float(slope @ move) + float(move @ move) / (2 * step) * (1 + 1e-9) + 1e-9:
            step /= 2  # the curvature was underestimated
            continue
        if reached > value:  # too much momentum: restart from the best point
            if momentum == 1.0:
                break
            ahead, momentum = y, 1.0
            continue
        faster = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = after + (momentum - 1) / faster * (after - y)
        y, value, momentum = after, reached, faster
        if steps % _EVERY == 0 and (best_gap := task.gap(y)) <= CLOSE * rows.workload.rows:
            break
    return Fit(y, value, min(best_gap, task.gap(y)), steps, len(measured))


@dataclass(frozen=True, eq=False)
class _FitTask:
    rows: Projection
    measured: Floats
    precision: Floats
    total: float
    free: bool

    def start(self) -> Floats:
        """The active-set solution, evened out: gradients alone are slow if rows are nearly collinear."""
        even = self._even()
        found = self._active_set(even)
        return even if found is None else self.project(found)

    def large(self) -> Fit:
        """The fit of nearly maximum entropy."""
        dual = Dual(self.rows, self.measured, 1 / self.precision, self._even(), None if self.free else self.total)
        most = max(LEAST_STEPS, min(MOST_STEPS, MOST_WORK // (self.rows.cells + self.rows.workload.rows)))
        y, steps = dual.solved(CONVERGED * self.rows.workload.rows, most)
        y = self.project(y)
        return Fit(y, self.value(y), self.gap(y), steps, len(self.measured))

    def _even(self) -> Floats:
        """The most uniform start. If the number of records is free, it is fitted, and records that no row
        counts get 0.
        """
        flat = np.ones(self.rows.cells)
        if not self.free:
            return flat * (self.total / self.rows.cells)
        uneven = 1.0 + np.arange(self.rows.workload.rows) % 97 / 101.0  # uneven weights, so that rows do not cancel out
        flat[self.rows.back(uneven) == 0] = 0.0
        direction = self.rows.answers(flat)
        size = float(direction @ (self.precision * direction))
        best = float(direction @ (self.precision * self.measured)) / size if size > 0 else 0.0
        return flat * min(max(best, 0.0), self.total / self.rows.cells)

    def _active_set(self, even: Floats) -> Floats | None:
        """Nonnegative least squares (Lawson and Hanson), the total as one heavy row, then evened out; None
        if it fails.
        """
        from scipy.optimize import nnls

        roots = np.sqrt(self.precision)
        A: Floats = np.asarray(self.rows.workload.dense()[:, : self.rows.cells] * roots[:, None], dtype=np.float64)
        m = self.measured * roots
        if not self.free:
            heavy = _HEAVY * max(float(np.abs(A).max(initial=0.0)), 1e-9)
            A, m = np.vstack([A, np.full(A.shape[1], heavy)]), np.append(m, heavy * self.total)
        try:
            found = np.asarray(nnls(A, m)[0], dtype=np.float64)
        except RuntimeError:
            return None
        room = np.full(len(m), _ROOM)  # in standard deviations of the noise
        if not self.free:
            A, room = np.vstack([A[:-1], np.ones(A.shape[1])]), np.append(room[:-1], 1e-9 * max(self.total, 1.0))
        return evened(A, found, even, room)

    def value(self, y: Floats) -> float:
        """f at y."""
        residuals = self.rows.answers(y) - self.measured
        return 0.5 * float(residuals @ (self.precision * residuals))

    def at(self, y: Floats) -> tuple[float, Floats]:
        """f and its gradient at y."""
        residuals = self.rows.answers(y) - self.measured
        weighted = self.precision * residuals
        return 0.5 * float(residuals @ weighted), self.rows.back(weighted)

    def curvature(self) -> float:
        """The largest eigenvalue of A' P A, by power iterations from a fixed start, plus a safety margin."""
        direction = 1.0 + np.arange(self.rows.cells) % 7 / 10.0
        size = 1.0
        for _ in range(25):
            direction /= np.linalg.norm(direction)
            direction = self.rows.back(self.precision * self.rows.answers(direction))
            size = float(np.linalg.norm(direction))
            if size == 0:
                return 1.0
        return size * 1.05

    def gap(self, y: Floats) -> float:
        """An upper bound on f's distance from its least value."""
        value, slope = self.at(y)
        least = float(slope.min())
        return min(max(float(slope @ y) - self.total * (min(least, 0.0) if self.free else least), 0.0), value)

    def project(self, v: Floats) -> Floats:
        """The nearest feasible histogram."""
        if self.free:
            positive = np.maximum(v, 0.0)
            if float(positive.sum()) <= self.total:
                return positive
        return to_simplex(v, self.total)


def to_simplex(v: Floats, total: float) -> Floats:
    """Return the nearest y >= 0 with the given sum: max(v - t, 0), where Michelot's algorithm finds t.

    >>> to_simplex(np.array([3.0, 1.0, -5.0]), 3.0).tolist()
    [2.5, 0.5, 0.0]
    """
    kept = v
    threshold = (float(kept.sum()) - total) / len(kept)
    while True:
        kept = kept[kept > threshold]
        if not len(kept):
            break  # rounding: everything is at the threshold
        higher = (float(kept.sum()) - total) / len(kept)
        if higher <= threshold:
            break
        threshold = higher
    out = np.maximum(v - threshold, 0.0)
    size = float(out.sum())
    return out * (total / size) if size > 0 else np.full(len(v), total / len(v))
