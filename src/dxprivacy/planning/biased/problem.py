"""Many rows as one problem over shapes: X = P / c, whose privacy is linear (`sum_k |X_ki - X_kj| <= d(i, j)`).

The shapes decide everything: the best scale of each is a convex problem in one number, and shifting a shape within a
class costs nothing.  So every method here walks from shapes that keep the distances to better ones that keep them too,
and may be stopped at any time.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dxprivacy.model.arrays import Floats, Ints
from dxprivacy.planning.biased.pairs import ClosedPairs

_GOLDEN = (5**0.5 - 1) / 2
_STEPS = 80  # 0.618^80 is beyond the precision of floats


@dataclass(frozen=True, eq=False)
class Problem:
    """Minimise `sum_k a_k (n^2 max_i (P_ki - Q_ki)^2 + 2 c_k^2)`; every row of Q differs on some pair."""

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
        """The best scale of each shape, 0 where a constant is better than any, and the loss."""
        n2 = self.n * self.n

        def worst(c: Floats) -> Floats:
            return np.asarray(n2 * self.half(c[:, None] * shapes - self.Q) ** 2 + 2 * c * c, dtype=np.float64)

        zero = np.zeros(len(shapes))
        guess = self._fit(shapes)
        best, least = zero, worst(zero)
        low, high = zero, np.sqrt(np.minimum(worst(guess), least) / 2)  # 2 c^2 alone is above that beyond it
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        at_left, at_right = worst(left), worst(right)
        for _ in range(_STEPS):
            down = at_left <= at_right
            low, high = np.where(down, low, left), np.where(down, right, high)
            fresh = np.where(down, high - _GOLDEN * (high - low), low + _GOLDEN * (high - low))
            value = worst(fresh)
            left, right = np.where(down, fresh, right), np.where(down, left, fresh)
            at_left, at_right = np.where(down, value, at_right), np.where(down, at_left, value)
        for c in (guess, left, right):
            value = worst(c)
            best, least = np.where(value < least, c, best), np.minimum(value, least)
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
