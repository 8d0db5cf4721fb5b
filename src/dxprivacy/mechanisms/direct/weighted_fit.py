"""The histogram that fits noisy answers best: weighted least squares over y >= 0.

    minimize f(y) = 1/2 sum_k (A_k y - m_k)^2 / var_k    over y >= 0, sum y = n   (or sum y <= the declared most)

Deterministic; A is never dense.  How far f is above its least value is known at every point (Frank and Wolfe's gap:
f is convex, so f(y) - f* <= g.(y - y*) <= g.y - n min g; and f* >= 0), and the search stops where that cannot matter
beside the noise: f is half a chi square, whose value at the truth is about half the number of rows.  Small problems
begin where an active-set method ends, at the most even histogram with its answers, and go on by accelerated projected
gradients.  Large ones are fitted with nearly maximum entropy (the maximum-entropy fit below), which needs far fewer
steps.
"""

from dataclasses import dataclass

import numpy as np

from dxprivacy.exact.arrays import Floats
from dxprivacy.mechanisms.direct.evening import evened
from dxprivacy.mechanisms.synthesis.histogram_answers import Projection

# -- The histogram of nearly maximum entropy that fits noisy answers, for many possible records: L-BFGS on the dual ----
#     minimize f(y) + t KL(y, even)    over y >= 0 (sum y = n where n is public),    f half the weighted squared misfit
#
# With m the answers and V their variances, the minimum is y = even exp(-A'u), scaled to n, where u minimizes the smooth
#
#     t/2 u'V u + m'u + n log sum(even exp(-A'u))        (sum(even exp(-A'u)) where n is free).
#
# The dual has one variable for each answer.  A few hundred evaluations reach what projected gradients over the records
# do not reach in thousands, and the entropy keeps what was not measured even.  t is lowered step by step, each from the
# last solution, until the misfit cannot matter beside the noise (f is at least 0, so the misfit bounds the gap).


_WEIGHTS = (1.0, 0.1, 0.01, 0.001, 0.0001)  # of the entropy, beside half a chi square
_ENOUGH = 0.01  # of the entropy: a smaller weight only where the misfit asks for it
_MEMORY = 20  # corrections that L-BFGS keeps
_LOWEST = -700.0  # logarithms below this are 0 in floats


@dataclass(frozen=True, eq=False)
class Dual:
    """The dual problem; `total` is the public number of records, None where it is free."""

    rows: Projection
    measured: Floats
    variances: Floats
    even: Floats
    total: float | None

    def histogram(self, u: Floats) -> tuple[float, Floats]:
        """The logarithm of the sum, or the sum, that the dual holds; and y."""
        exponent = -self.rows.back(u)
        if self.total is None:
            y = self.even * np.exp(np.minimum(exponent, -_LOWEST))
            return float(y.sum()), y
        top = float(exponent.max())
        y = self.even * np.exp(np.maximum(exponent - top, _LOWEST))
        size = float(y.sum())
        return self.total * (np.log(size) + top), y * (self.total / size)

    def solved(self, close: float, most: int) -> tuple[Floats, int]:
        """The histogram, once its misfit is at most `close`, or after `most` evaluations; and how many there were."""
        from scipy.optimize import minimize

        u, used = np.zeros(len(self.measured)), 0
        for weight in _WEIGHTS:
            # In units of what an answer's curvature may be, so that answers of any noise converge alike.
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
        """f."""
        off = self.rows.answers(y) - self.measured
        return 0.5 * float(off @ (off / self.variances))


# -- The histogram that fits noisy answers best ------------------------------------------------------------------------


CLOSE = 1e-3  # times the number of rows: the gap at which to stop
CONVERGED = 0.1  # likewise: a gap that is a fifth of what the noise itself adds to f
MOST_WORK = 2_000_000_000  # cells and rows looked at, over all steps
MOST_STEPS = 5_000
LEAST_STEPS = 50
SMALL = 200_000  # rows times cells
_EVERY = 10
_HEAVY = 1e3
_ROOM = 1e-3


@dataclass(frozen=True, eq=False)
class Fit:
    """The histogram, half the weighted squared misfit, and how far that is above the least, at most."""

    y: Floats
    misfit: float
    gap: float
    steps: int
    rows: int

    @property
    def converged(self) -> bool:
        """Whether a better fit could not matter beside the noise."""
        return self.gap <= CONVERGED * max(self.rows, 1)

    def to_dict(self) -> dict[str, float | int | bool]:
        """For a report: chi square per noisy count, and how much of it a longer fit could save at most."""
        per_row = 2 / max(self.rows, 1)
        facts = {"misfit": self.misfit * per_row, "gap": self.gap * per_row}
        return {**facts, "steps": self.steps, "converged": self.converged}


def fit(rows: Projection, measured: Floats, variances: Floats, total: float, *, free: bool = False) -> Fit:
    """Fit a histogram with `total` records, or with at most so many where `free`.

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
            step /= 2  # the curvature was taken too small
            continue
        if reached > value:  # too much momentum: begin again from the best point
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
        """What an active-set method finds, evened: gradients are slow where rows are nearly alike."""
        even = self._even()
        found = self._active_set(even)
        return even if found is None else self.project(found)

    def large(self) -> Fit:
        """With nearly maximum entropy."""
        dual = Dual(self.rows, self.measured, 1 / self.precision, self._even(), None if self.free else self.total)
        most = max(LEAST_STEPS, min(MOST_STEPS, MOST_WORK // (self.rows.cells + self.rows.workload.rows)))
        y, steps = dual.solved(CONVERGED * self.rows.workload.rows, most)
        y = self.project(y)
        return Fit(y, self.value(y), self.gap(y), steps, len(self.measured))

    def _even(self) -> Floats:
        """As uniform as it can be; where the number of records is free, as many as fit best, and nobody in cells that
        no row counts: nothing speaks for anyone there.
        """
        flat = np.ones(self.rows.cells)
        if not self.free:
            return flat * (self.total / self.rows.cells)
        uneven = 1.0 + np.arange(self.rows.workload.rows) % 97 / 101.0  # whatever rows hold does not cancel out
        flat[self.rows.back(uneven) == 0] = 0.0
        direction = self.rows.answers(flat)
        size = float(direction @ (self.precision * direction))
        best = float(direction @ (self.precision * self.measured)) / size if size > 0 else 0.0
        return flat * min(max(best, 0.0), self.total / self.rows.cells)

    def _active_set(self, even: Floats) -> Floats | None:
        """Lawson and Hanson's method, the total as one heavy row, then evened; None if it does not end."""
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
        """f."""
        residuals = self.rows.answers(y) - self.measured
        return 0.5 * float(residuals @ (self.precision * residuals))

    def at(self, y: Floats) -> tuple[float, Floats]:
        """f and its slope."""
        residuals = self.rows.answers(y) - self.measured
        weighted = self.precision * residuals
        return 0.5 * float(residuals @ weighted), self.rows.back(weighted)

    def curvature(self) -> float:
        """The largest eigenvalue of A' P A, by power iterations from a fixed start; a little more, to be safe."""
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
        """How far f is above its least value, at most."""
        value, slope = self.at(y)
        least = float(slope.min())
        return min(max(float(slope @ y) - self.total * (min(least, 0.0) if self.free else least), 0.0), value)

    def project(self, v: Floats) -> Floats:
        """The nearest histogram."""
        if self.free:
            positive = np.maximum(v, 0.0)
            if float(positive.sum()) <= self.total:
                return positive
        return to_simplex(v, self.total)


def to_simplex(v: Floats, total: float) -> Floats:
    """The nearest y >= 0 with the given sum: v - t where that is positive, t found by Michelot's steps.

    >>> to_simplex(np.array([3.0, 1.0, -5.0]), 3.0).tolist()
    [2.5, 0.5, 0.0]
    """
    kept = v
    threshold = (float(kept.sum()) - total) / len(kept)
    while True:
        kept = kept[kept > threshold]
        if not len(kept):
            break  # roundings: everything is at the threshold
        higher = (float(kept.sum()) - total) / len(kept)
        if higher <= threshold:
            break
        threshold = higher
    out = np.maximum(v - threshold, 0.0)
    size = float(out.sum())
    return out * (total / size) if size > 0 else np.full(len(v), total / len(v))
