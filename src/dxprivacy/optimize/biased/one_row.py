"""Optimize a single row exactly: the best trade-off between bias and noise.

A row of scale c differs from q by at least `error(c) = max (|q_i - q_j| - c d(i, j))_+ / 2` somewhere, and one row
attains this.  So the least worst-case squared error is the minimum of `n^2 error(c)^2 + 2 c^2`, and the least
worst-case absolute error that of `n error(c) + c`.  Both are convex in c and minimized on the pieces of an envelope.
"""

from typing import Any

import numpy as np

from dxprivacy.errors import UsageError
from dxprivacy.exact.arrays import Floats
from dxprivacy.optimize.biased.closed_pairs import ClosedPairs, close, enough, numbers, records
from dxprivacy.optimize.biased.envelope import least_absolute, least_squares, pieces
from dxprivacy.optimize.biased.shapes import Biased
from dxprivacy.optimize.objectives import SQUARED, Objective


def single(q: Any, first: Any, second: Any, distances: Any, n: Any, *, objective: Objective = SQUARED) -> Biased:
    """Return the row to measure instead of q, and its noise, with the least worst-case error over n records.

    The error is squared, or absolute for `objective=ABSOLUTE`.

    >>> found = single([0.0, 1.0], [0], [1], [1.0], n=1)
    >>> round((found.loss / 2) ** 0.5, 6)  # against a scale of 1 without bias
    0.333333
    """
    row = numbers(q, "a value of the row")
    if row.ndim != 1 or not len(row):
        raise UsageError("a row needs one number for each element")
    pairs, count = close(len(row), first, second, distances), records(n)
    found, scale = nearest(row, pairs, count, objective)
    bias = count * float(np.abs(found - row).max())
    plain = unbiased_scale(row, pairs)
    least, simple = _error(bias, scale, objective), _error(0.0, plain, objective)
    if simple <= least:  # no gain, up to float rounding
        found, scale, bias, least = row.copy(), plain, 0.0, simple
    return Biased(found[None, :], np.array([scale]), np.array([bias]), least, "exact", 1)


def nearest(row: Floats, pairs: ClosedPairs, n: float, objective: Objective = SQUARED) -> tuple[Floats, float]:
    """Return the row and scale of the exact optimum, corrected for rounding."""
    first, second, d = pairs.all
    lines = pieces(np.abs(row[first] - row[second]), d)
    c = least_absolute(lines, n) if objective.absolute else least_squares(lines, n)[0]
    found = pairs.middle(row, c)
    scale = c if c == 0 else float(enough(np.array([c]), found[None, :], pairs)[0])
    return found, scale


def _error(bias: float, scale: float, objective: Objective) -> float:
    """Return the worst-case expected error: noise has mean 0 and mean absolute value `scale`."""
    return bias + scale if objective.absolute else bias * bias + 2 * scale * scale


def unbiased_scale(row: Floats, pairs: ClosedPairs) -> float:
    """Return the smallest scale at which the row itself may be answered."""
    scale = float(pairs.loads(row[None, :]).max(initial=0.0))
    return float(enough(np.array([scale]), row[None, :], pairs)[0])
