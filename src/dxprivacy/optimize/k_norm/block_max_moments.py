"""Variances of block-max noise: tables with the joint distribution exp(-max over tables of N(z) / scale).

A level t has a density proportional to e^-t V(t); given t, each table is uniform among those with N <= t scale
(mechanisms/sampling/block_max_noise.py draws it in this way).  All terms are positive, so floats keep their digits.
With `d + 1` counts, the numbers S(r) of tables of size r, and B(r) of size at most r, follow from

    S(r + 1) / B(r) = (r^2 S(r) / B(r) + d (d + 1)) / (r + 1)^2.

A number M divided uniformly into k parts >= 0 has parts of mean square 2 M (M - 1) / (k (k + 1)) + M / k.  In a table
of size r with p positive counts, r - p is divided among these, and r among the others.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints

_FADED = 60.0  # e^-60 is negligible in floats
_MOST = 1 << 24  # limit on levels, and on sizes times counts
_AT_ONCE = 1 << 20  # entries of one array


@dataclass(frozen=True)
class _MomentKind:
    """Tables with one number of counts and one scale: logarithms of B, and the mean of |z|^2, by their size."""

    cells: int
    scale: float
    places: Floats
    counts: Floats
    squares: Floats


@dataclass(frozen=True)
class BlockMaxSpread:
    """The noise of one count: its variance; for a table of two counts also the probabilities of larger noise."""

    variance: float
    beyond: tuple[float, ...] = ()  # P(|z| > h) for h = 0, 1, ...


def spreads(cells: Sequence[int], scales: Sequence[float]) -> list[BlockMaxSpread]:
    """Return the noise of one count, for each table.

    >>> found = spreads([2] * 5, [1.0] * 5)
    >>> round(found[0].variance, 2), round(found[0].beyond[7], 3)
    (13.92, 0.042)
    """
    often = Counter(zip(cells, scales, strict=True))
    free = sum(n - 1 for n in cells)
    end = free + 14 * math.sqrt(free + 1) + _FADED + 3 / min(scales)
    work = sum((end * s + 1) * max(n, 2) for n, s in often)
    if not work < _MOST:  # so wide that discreteness does not matter
        return [
            BlockMaxSpread((free + 1) * (free + 2) * s * s * _of_ball(n)) for n, s in zip(cells, scales, strict=True)
        ]
    kinds = {key: _kind(*key, end) for key in often}
    places: Floats = np.unique(np.concatenate([kind.places for kind in kinds.values()]))
    radii = {key: np.searchsorted(kind.places, places, side="right") - 1 for key, kind in kinds.items()}
    logs: Floats = -places[:-1] + np.log(-np.expm1(-np.diff(places)))
    for key, kind in kinds.items():
        logs += often[key] * kind.counts[radii[key][:-1]]
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    found = {key: _spread(kind, radii[key][:-1], weights) for key, kind in kinds.items()}
    return [found[key] for key in zip(cells, scales, strict=True)]


def _spread(kind: _MomentKind, radii: Ints, levels: Floats) -> BlockMaxSpread:
    """Return the noise from the probabilities of levels; two counts are z and -z, uniform up to a radius R."""
    weights: Floats = np.zeros(int(radii.max()) + 1)
    np.add.at(weights, radii, levels)
    variance = float(weights @ kind.squares[: len(weights)]) / kind.cells
    if kind.cells > 2:
        return BlockMaxSpread(variance)
    sizes = np.arange(len(weights))
    each = weights * 2 / (2 * sizes + 1)
    # The sum over R > h of each (R - h) is the sum over k >= h of the tail beyond k.
    behind = np.append(np.cumsum(each[::-1])[::-1], 0.0)[1:]
    return BlockMaxSpread(variance, tuple(np.cumsum(behind[::-1])[::-1].tolist()))


def _of_ball(n: int) -> float:
    """Return the mean square of a count, uniform on real tables of size at most 1."""
    return 8 * (n - 1) * (2 * n - 1) / ((2 * n + 2) * n * (n + 1)) / n


def _kind(n: int, scale: float, end: float) -> _MomentKind:
    most = int(end * scale) + 1
    d, part = n - 1, 0.0  # part is S / B, replaced by 0 for r = 0
    counts, squares = np.zeros(most + 1), np.zeros(most + 1)
    step = max(_AT_ONCE // n, 1)
    parts = [np.arange(a, min(a + step, most + 1)) for a in range(1, most + 1, step)]
    shells = np.concatenate([_shells(n, part) for part in parts]).tolist()
    for r in range(most):
        more = (r * r * part + d * (d + 1)) / (r + 1) ** 2
        part = more / (1 + more)
        counts[r + 1] = counts[r] + math.log1p(more)
        squares[r + 1] = squares[r] / (1 + more) + part * shells[r]
    return _MomentKind(n, scale, np.arange(most + 1) / scale, counts, squares)


def _shells(n: int, r: Ints) -> Floats:
    """Return the mean of |z|^2 over all tables of each size r > 0."""
    p, r = np.arange(1, n)[None, :], r[:, None]
    with np.errstate(divide="ignore"):
        steps = np.log((n - p) * np.maximum(r - p, 0) * (n - p - 1.0) / ((p + 1) * p * (n - p + r - 1.0)))
    logs = np.concatenate([np.zeros((len(r), 1)), np.cumsum(steps[:, :-1], axis=1)], axis=1)
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    rest, others = np.maximum(r - p, 0).astype(np.float64), n - p
    up = 2 * rest * (rest - 1) / (p + 1) + rest + 2 * rest + p  # for parts >= 1
    down = 2.0 * r * (r - 1) / (others + 1) + r
    return np.asarray((weights * (up + down)).sum(axis=1) / weights.sum(axis=1), dtype=np.float64)
