"""Find the histogram nearest to uniform among those with the same answers.

Many histograms fit noisy answers equally well, and an active-set method ends in a vertex of this set. There every age
might occur with a single sex only, because no answer contradicts it. Records should say no more than the answers do. So
the histogram nearest to a uniform start is taken, found by Dykstra's alternating projections: onto the answers, and
onto nonnegative histograms.
"""

import numpy as np

from dxprivacy.exact.arrays import Floats

MOST_STEPS = 2_000
_DEPENDENT = 1e-9


def evened(rows: Floats, found: Floats, start: Floats, room: Floats) -> Floats:
    """Return the histogram nearest to `start` whose answers are those of `found`, each within its `room`.

    If the steps do not suffice, the result is moved straight towards `found` until it fits.

    >>> rows = np.array([[1.0, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]])
    >>> evened(rows, np.array([6.0, 0, 0, 4]), np.full(4, 2.5), np.full(4, 1e-6)).round(3).tolist()
    [3.5, 2.5, 2.5, 1.5]
    """
    answers = rows @ found
    back = np.linalg.pinv(rows, rcond=_DEPENDENT)
    y, owed = start, np.zeros_like(start)
    for _ in range(MOST_STEPS):
        v = y - back @ (rows @ y - answers) + owed
        y = np.maximum(v, 0.0)
        owed = v - y
        if (np.abs(rows @ y - answers) <= room).all():
            return y
    off = np.abs(rows @ y - answers)
    # Towards `found`, every answer's distance shrinks in proportion.
    kept = float(np.min(np.divide(room, off, out=np.ones_like(off), where=off > room)))
    return kept * y + (1.0 - kept) * found
