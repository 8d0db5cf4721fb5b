"""Many rows as one problem over shapes X = P / c, whose privacy constraint is `sum_k |X_ki - X_kj| <= d(i, j)`.

The shapes determine everything: the best scale of each is a convex problem in one number, and shifting a shape within a
class costs nothing.  So every method here moves from feasible shapes to better feasible ones, and may be stopped at any
time.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.optimize.biased.closed_pairs import ClosedPairs

# -- Biased plans: rows to measure instead of the workload rows, and the noise of each ---------------------------------


@dataclass(frozen=True, eq=False)
class Biased:
    """A plan to measure `rows @ x` with Laplace noise of `scales`, and to report this as the answer to the workload.

    The worst-case squared error of answer k over all data sets of n records is exactly `bias[k]^2 + 2 scales[k]^2`,
    because the noise has mean 0.  The objective `loss` is their weighted sum (for absolute errors, that of `bias[k] +
    scales[k]`).  A row of scale 0 is constant on every class of elements at finite distance: its answer costs nothing.
    """

    rows: Floats
    scales: Floats
    bias: Floats
    loss: float
    name: str
    rounds: int


# -- Many rows as one problem over shapes ------------------------------------------------------------------------------


_STEPS = 60


@dataclass(frozen=True, eq=False)
class BiasedProblem:
    """Minimize `sum_k a_k (n^2 max_i (P_ki - Q_ki)^2 + 2 c_k^2)`; every row of Q differs on some pair."""

    Q: Floats
    pairs: ClosedPairs
    n: float
    weights: Floats

    @cached_property
    def _order(self) -> tuple[Ints, Ints]:
        order = np.argsort(self.pairs.classes, kind="stable")
        _, starts = np.unique(self.pairs.classes[order], return_index=True)
        return order.astype(np.int64), starts.astype(np.int64)

    @cached_property
    def ranges(self) -> Floats:
        """The largest range of each row within a class."""
        return 2 * self.half(self.Q)

    def half(self, error: Floats) -> Floats:
        """Return the largest error if each class is shifted optimally: half its range."""
        order, starts = self._order
        error = error[:, order]
        spread = np.maximum.reduceat(error, starts, axis=1) - np.minimum.reduceat(error, starts, axis=1)
        return np.asarray(spread.max(axis=1) / 2, dtype=np.float64)

    def within(self, shapes: Floats) -> Floats:
        """Return the shapes, scaled to be as large as the distances allow."""
        load = float(self.pairs.loads(shapes).max(initial=0.0))
        return shapes / load if load > 0 else shapes

    def settle(self, shapes: Floats) -> tuple[Floats, float]:
        """Return the best scale of each shape (0 if a constant answer is best), and the objective.

        Half the range of `c X - Q` is the maximum of many lines in c, so `n^2 half^2 + 2 c^2` is convex.  Between two
        scales that enclose the best one, the next point is the minimum for their two lines; each evaluation adds a new
        line, or no line is above and the point is exact.
        """
        n2 = self.n * self.n
        low = np.zeros(len(shapes))
        low_at, low_slope = self._line(shapes, low)
        least, best = n2 * low_at**2, low
        high = self.n * low_at / 2**0.5  # beyond it, 2 c^2 alone exceeds the cost of a constant
        high_at, high_slope = self._line(shapes, high)
        guess = np.clip(self._fit(shapes), low, high)
        for step in range(_STEPS):
            c = _lowest(n2, low, low_at, low_slope, high, high_at, high_slope) if step else guess
            if step and ((c <= low) | (c >= high)).all():
                break
            at, slope = self._line(shapes, c)
            value = n2 * at**2 + 2 * c * c
            better = value < least
            best, least = np.where(better, c, best), np.where(better, value, least)
            rising = n2 * at * slope + 2 * c > 0
            low, high = np.where(rising, low, c), np.where(rising, c, high)
            low_at, high_at = np.where(rising, low_at, at), np.where(rising, at, high_at)
            low_slope, high_slope = np.where(rising, low_slope, slope), np.where(rising, slope, high_slope)
        return best, float(self.weights @ least)

    def _fit(self, shapes: Floats) -> Floats:
        """Return the least-squares scale, which is exact if the row has the shape."""
        order, starts = self._order
        counts = np.diff(np.append(starts, len(order)))
        parts = []
        for rows in (shapes, self.Q):
            sorted_rows = rows[:, order]
            means = np.add.reduceat(sorted_rows, starts, axis=1) / counts
            parts.append(sorted_rows - np.repeat(means, counts, axis=1))
        x, q = parts
        below = np.einsum("ki,ki->k", x, x)
        fit = np.einsum("ki,ki->k", x, q)
        fits: Floats = np.divide(fit, below, out=np.zeros(len(x)), where=below > 0)
        return np.maximum(fits, 0.0)

    def _line(self, shapes: Floats, c: Floats) -> tuple[Floats, Floats]:
        """Return half the largest range of `c X - Q` within a class, and its derivative by c."""
        order, starts = self._order
        error = (c[:, None] * shapes - self.Q)[:, order]
        if len(starts) > 1:
            spread = np.maximum.reduceat(error, starts, axis=1) - np.minimum.reduceat(error, starts, axis=1)
            chosen = self.pairs.classes[order][starts][spread.argmax(axis=1)]
            widest = chosen[:, None] == self.pairs.classes[order]
            top, bottom = np.where(widest, error, -np.inf), np.where(widest, error, np.inf)
        else:
            top = bottom = error
        rows = np.arange(len(error))
        high, low = order[top.argmax(axis=1)], order[bottom.argmin(axis=1)]
        slope = (shapes[rows, high] - shapes[rows, low]) / 2
        return (top.max(axis=1) - bottom.min(axis=1)) / 2, slope


def _lowest(
    n2: float, low: Floats, low_at: Floats, low_slope: Floats, high: Floats, high_at: Floats, high_slope: Floats
) -> Floats:
    """Return the minimizer of `n^2 h^2 + 2 c^2` from low to high, h being the larger of the two lines."""
    first = -low_slope * (low_at - low_slope * low) / (low_slope**2 + 2 / n2)
    last = -high_slope * (high_at - high_slope * high) / (high_slope**2 + 2 / n2)
    turn = high_slope - low_slope
    gap = low_at - high_at + high_slope * (high - low)  # measured from low, to limit the rounding error
    cross = low + np.divide(gap, turn, out=high - low, where=turn > 0)
    return np.clip(np.where(first <= cross, first, np.maximum(last, cross)), low, high)
