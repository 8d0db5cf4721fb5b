"""Least squares in fractions, straight from its definition: the oracle for everybody who solves it in floats."""

from fractions import Fraction

import numpy as np


def solved(wanted, counted, noises, noisy, records):
    """Estimates and variances of the wanted rows, exactly; None where the counted rows do not tell them.

    min sum (noisy - counted x)^2 / noises, with the total and the rows without noise kept exactly.

    >>> solved(np.eye(2, dtype=int), np.array([[1, -1]]), [2.0], [3], 5)
    ([Fraction(4, 1), Fraction(1, 1)], [Fraction(1, 2), Fraction(1, 2)])
    """
    size = wanted.shape[1]
    A, B = ([[Fraction(int(x)) for x in row] for row in rows] for rows in (wanted, counted))
    exact = [[Fraction(1)] * size + [Fraction(int(records))]]
    exact += [[*B[k], Fraction(int(noisy[k]))] for k, v in enumerate(noises) if v == 0]
    reduced, pivots = _echelon(exact, size)
    assert not any(row[size] for row in reduced[len(pivots) :]), "exact rows contradict one another"
    start = [Fraction(0)] * size
    for row, pivot in zip(reduced, pivots, strict=False):
        start[pivot] = row[size]
    open_ = []
    for free in (k for k in range(size) if k not in pivots):
        basis = [Fraction(int(k == free)) for k in range(size)]
        for row, pivot in zip(reduced, pivots, strict=False):
            basis[pivot] = -row[free]
        open_.append(basis)
    known = [k for k, v in enumerate(noises) if v > 0]
    seen = {k: [_dot(B[k], u) for u in open_] for k in known}
    asked = [[_dot(a, u) for u in open_] for a in A]
    system = []
    for i in range(len(open_)):
        pulls = {k: seen[k][i] / Fraction(float(noises[k])) for k in known if seen[k][i]}
        line = [sum((w * seen[k][j] for k, w in pulls.items()), Fraction(0)) for j in range(len(open_))]
        line.append(sum((w * (int(noisy[k]) - _dot(B[k], start)) for k, w in pulls.items()), Fraction(0)))
        system.append(line + [a[i] for a in asked])
    n = len(open_)
    reduced, pivots = _echelon(system, n)
    if any(any(row[n:]) for row in reduced[len(pivots) :]):
        return None
    ways = [[Fraction(0)] * n for _ in range(1 + len(A))]
    for row, pivot in zip(reduced, pivots, strict=False):
        for k, way in enumerate(ways):
            way[pivot] = row[n + k]
    estimates = [_dot(a, start) + _dot(b, ways[0]) for a, b in zip(A, asked, strict=True)]
    return estimates, [_dot(b, way) for b, way in zip(asked, ways[1:], strict=True)]


def wild_rows(rng, cells):
    """Counted rows of all kinds and sizes, many of them dependent, with noises from nothing to beyond all bounds."""
    kinds = [
        rng.integers(0, 2, cells),
        rng.integers(-3, 4, cells),
        rng.integers(0, 2**20, cells),
        np.cumsum(rng.integers(0, 2, cells)),
        np.eye(cells, dtype=np.int64)[rng.integers(cells)],
    ]
    rows = [kinds[rng.integers(len(kinds))] for _ in range(rng.integers(1, 2 * cells))]
    rows += [rows[a] + int(rng.integers(-2, 3)) * rows[b] for a, b in rng.integers(0, len(rows), (3, 2))]
    counted = np.array(rows, dtype=np.int64)
    spread = rng.choice([1, 10, 100, 300])
    noises = 10.0 ** np.clip(rng.uniform(-spread, spread, len(counted)), -300, 31)
    noises[rng.random(len(counted)) < 0.2] = 0.0
    return counted, noises


def _dot(a, b):
    return sum((x * y for x, y in zip(a, b, strict=True) if x and y), Fraction(0))


def _echelon(rows, size):
    rows, pivots = [list(row) for row in rows], []
    for column in range(size):
        at = next((k for k in range(len(pivots), len(rows)) if rows[k][column]), None)
        if at is None:
            continue
        top = len(pivots)
        rows[top], rows[at] = rows[at], rows[top]
        rows[top] = [x / rows[top][column] for x in rows[top]]
        for k, row in enumerate(rows):
            if k != top and row[column]:
                factor = row[column]
                rows[k] = [x - factor * y if y else x for x, y in zip(row, rows[top], strict=True)]
        pivots.append(column)
    return rows, pivots
