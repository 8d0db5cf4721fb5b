"""Several small tables and their noise, by brute force: every outcome of a box."""

import itertools
import math


def tables(cells, most):
    """All tables of this size at most, which add up to 0."""
    for head in itertools.product(range(-most, most + 1), repeat=cells - 1):
        z = (*head, -sum(head))
        if sum(map(abs, z)) <= 2 * most:
            yield z


def size(z):
    """What the positive cells add up to."""
    return sum(map(abs, z)) // 2


def outcomes(cells, scales, reach=16):
    """Every outcome within so many times the scales, and its weight."""
    each = [list(tables(n, math.ceil(reach * s))) for n, s in zip(cells, scales, strict=True)]
    for z in itertools.product(*each):
        yield z, math.exp(-max(size(t) / s for t, s in zip(z, scales, strict=True)))
