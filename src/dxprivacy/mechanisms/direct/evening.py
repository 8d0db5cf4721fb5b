"""Of all histograms with the same answers, the most even one.

Many histograms fit noisy answers equally well, and a method that walks along corners ends in one of them: there every
age goes with a single sex, because nothing that was asked speaks against it.  Records should say no more than the
answers do, so of all histograms with these answers the one nearest to an even start is taken, found by Dykstra's
alternating projections: onto the answers, and onto what is not negative.
"""

import numpy as np

from dxprivacy.exact.arrays import Floats

MOST_STEPS = 2_000
_DEPENDENT = 1e-9


def evened(rows: Floats, found: Floats, start: Floats, room: Floats) -> Floats:
    """The histogram nearest to `start` whose answers are those of `found`, each within its `room`.

    Should the steps not suffice, the rest of the way towards `found` is gone straight: all in between fits as well.

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
    # Along the way to `found` every answer's distance shrinks in proportion.
    kept = float(np.min(np.divide(room, off, out=np.ones_like(off), where=off > room)))
    return kept * y + (1.0 - kept) * found
