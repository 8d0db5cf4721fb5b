"""Lengths of differences, a line of numbers for each coordinate, and the norm that belongs to a gradient.

Relative errors, u = 2^-53: a difference costs u, a sum of non-negative terms u for each, a square or a root u, a power
by `**` less than 4 u (p <= 64).  `error_of` is more than twice what all that adds up to.
"""

import math
from collections.abc import Sequence

import numpy as np

from dxprivacy.exact.arrays import Floats

U = 2.0**-53
_TAME = (1e-120, 1e140)  # coordinates between have differences whose squares keep all digits


def error_of(p: float, dimensions: int) -> float:
    """A bound on the relative error of `length`."""
    power = 0.0 if p in (1, math.inf) else 4.0 * (2 if p == 2 else p)
    return (16 + 2 * dimensions + power) * U


def tame(points: Floats) -> bool:
    """Whether squares of differences of coordinates neither overflow nor lose digits."""
    size = np.abs(points)
    return bool(((size == 0) | ((size > _TAME[0]) & (size < _TAME[1]))).all())


def length(parts: Sequence[Floats], p: float, *, tame: bool) -> Floats:
    """The p-norm of differences (or of gaps), one array for each coordinate.

    >>> length([np.array([3.0]), np.array([-4.0])], 2, tame=True)
    array([5.])
    """
    if len(parts) == 1:
        return np.abs(parts[0])
    if p == math.inf:
        out = np.abs(parts[0])
        for part in parts[1:]:
            np.maximum(out, np.abs(part), out=out)
        return out
    if p == 1:
        out = np.abs(parts[0])
        for part in parts[1:]:
            out += np.abs(part)
        return out
    if p == 2 and tame:
        out = parts[0] * parts[0]
        for part in parts[1:]:
            out += part * part
        return np.asarray(np.sqrt(out, out=out))
    top = length(parts, math.inf, tame=tame)
    unit = np.where(top > 0, top, 1.0)
    total = np.zeros_like(top)
    for part in parts:
        total += (np.abs(part) / unit) ** p
    return np.asarray(top * total ** (1 / p))


def dual(parts: Sequence[Floats], p: float) -> Floats:
    """The norm of a gradient g for which |g x| <= dual(g) length(x): Hölder, 1/p + 1/q = 1."""
    q = math.inf if p == 1 else 1.0 if p == math.inf else p / (p - 1)
    return length(parts, q, tame=False) if q != 2 else length(parts, 2, tame=all(tame(x) for x in parts))
