"""Many rows as one problem over shapes: X = P / c, whose privacy is linear (`sum_k |X_ki - X_kj| <= d(i, j)`).

The shapes decide everything: the best scale of each is a convex problem in one number, and shifting a shape within a
class costs nothing.  So every method here walks from shapes that keep the distances to better ones that keep them too,
and may be stopped at any time.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.optimize.biased.closed_pairs import ClosedPairs

# -- What a biased plan proposes: rows to measure instead of the asked ones, and the noise of each ---------------------


@dataclass(frozen=True, eq=False)
class Biased:
    """Measure `rows @ x` with Laplace noise of `scales` and report it as the answer to the rows that were asked.

    The worst squared error of answer k over all data sets of n records is exactly `bias[k]^2 + 2 scales[k]^2`, since
    the noise has mean 0; `loss` is their sum times the weights (for absolute errors that of `bias[k] + scales[k]`).  A
    row at scale 0 is constant on every class of elements that may not be told apart freely: its answer costs nothing.
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
        """How much each row differs within the classes."""
        return 2 * self.half(self.Q)

    def half(self, error: Floats) -> Floats:
        """The largest error that is left when each class is shifted for the best: half its range."""
        order, starts = self._order
        error = error[:, order]
        spread = np.maximum.reduceat(error, starts, axis=1) - np.minimum.reduceat(error, starts, axis=1)
        return np.asarray(spread.max(axis=1) / 2, dtype=np.float64)

    def within(self, shapes: Floats) -> Floats:
        """The same shapes, as large as the distances allow."""
        load = float(self.pairs.loads(shapes).max(initial=0.0))
        return shapes / load if load > 0 else shapes

    def settle(self, shapes: Floats) -> tuple[Floats, float]:
        """The best scale of each shape, 0 where a constant is better than any, and the loss.

        Half the range of `c X - Q` is the largest of many lines in c, so `n^2 half^2 + 2 c^2` is convex.  Between two
        scales that enclose the best one, take the lowest point under their two lines; each try brings a new line, or
        there is none above and the point is exact.
        """
        n2 = self.n * self.n
        low = np.zeros(len(shapes))
        low_at, low_slope = self._line(shapes, low)
        least, best = n2 * low_at**2, low
        high = self.n * low_at / 2**0.5  # beyond it 2 c^2 alone is more than a constant costs
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
        """The scale of least squares: what it is exactly where the row has the shape."""
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
        """Half the largest range of `c X - Q` within a class, and how it changes with c."""
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
    """The lowest point of `n^2 h^2 + 2 c^2` from low to high, h being the larger of the two lines."""
    first = -low_slope * (low_at - low_slope * low) / (low_slope**2 + 2 / n2)
    last = -high_slope * (high_at - high_slope * high) / (high_slope**2 + 2 / n2)
    turn = high_slope - low_slope
    gap = low_at - high_at + high_slope * (high - low)  # from low, so that a far end is not rounded into the crossing
    cross = low + np.divide(gap, turn, out=high - low, where=turn > 0)
    return np.clip(np.where(first <= cross, first, np.maximum(last, cross)), low, high)
