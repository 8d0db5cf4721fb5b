"""The histogram of nearly maximum entropy that fits noisy answers, for many possible records: L-BFGS on the dual.

    minimize f(y) + t KL(y, even)    over y >= 0 (sum y = n where n is public),    f half the weighted squared misfit

With m the answers and V their variances, the minimum is y = even exp(-A'u), scaled to n, where u minimizes the smooth

    t/2 u'V u + m'u + n log sum(even exp(-A'u))        (sum(even exp(-A'u)) where n is free).

The dual has one variable for each answer.  A few hundred evaluations reach what projected gradients over the records
do not reach in thousands, and the entropy keeps what was not measured even.  t is lowered step by step, each from the
last solution, until the misfit cannot matter beside the noise (f is at least 0, so the misfit bounds the gap).
"""

from dataclasses import dataclass

import numpy as np

from dxprivacy.exact.arrays import Floats
from dxprivacy.mechanisms.synthesis.histogram_answers import Projection

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
