"""Minimize the bound of SmallDB and MWEM exactly: all rows have one scale c.

Their error is at most `n max_q ||q - P_q|| + kappa c^(1/3)`.  The first term is n/2 times an envelope of lines, and the
second is concave, so the sum is concave on each piece and its minimum lies on a corner.  If c = 0 is best, the answer
does not depend on the data; users must be informed of this.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dxprivacy.errors import UsageError
from dxprivacy.exact.arrays import Floats
from dxprivacy.optimize.biased.closed_pairs import close, enough, numbers, records
from dxprivacy.optimize.biased.envelope import pieces


@dataclass(frozen=True, eq=False)
class Envelope:
    """The best scale, its bound, the rows of this scale, and whether they are constant (independent of the data)."""

    c: float
    value: float
    rows: Floats
    constant: bool
    words: str


def surrogate(Q: Any, first: Any, second: Any, distances: Any, n: Any, kappa: Any) -> Envelope:
    """Minimize `n max_q ||q - P_q|| + kappa c^(1/3)` over c >= 0 and rows with `|P_i - P_j| <= c d(i, j)`.

    >>> surrogate([[0, 1]], [0], [1], [1.0], n=10, kappa=1).c
    1.0
    >>> surrogate([[0, 1]], [0], [1], [1.0], n=10, kappa=9).constant
    True
    """
    rows, price = numbers(Q, "a value of a row"), numbers(kappa, "kappa")
    if rows.ndim != 2 or not rows.size:
        raise UsageError("rows need one number for each element, and at least one row")
    if price.ndim or not price >= 0:
        raise UsageError("kappa is not a number of at least 0")
    pairs, count = close(rows.shape[1], first, second, distances), records(n)
    i, j, d = pairs.all
    delta = np.zeros(len(i))
    for row in rows:
        delta = np.maximum(delta, np.abs(row[i] - row[j]))
    found = pieces(delta, d)
    bounds = count / 2 * found.values + float(price) * np.cbrt(found.corners)
    best = int(np.argmin(bounds))
    c = float(found.corners[best])
    near = np.array([pairs.middle(row, c) for row in rows])
    if c > 0:
        c = max(c, *(float(enough(np.array([c]), row[None, :], pairs)[0]) for row in near))
    return Envelope(c, float(bounds[best]), near, c == 0, _words(c, best, len(bounds)))


def _words(c: float, best: int, corners: int) -> str:
    if corners == 1:
        return "no row differs between elements that are protected from each other: nothing is spent"
    if c == 0:
        return "the bound is best for a constant answer: with so few records the data would not help"
    if best == corners - 1:
        return "the rows are asked as they are"
    return "the rows are flattened a little, which costs less than the noise it saves"
