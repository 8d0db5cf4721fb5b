"""Small stars, and the distribution of their noise by enumeration."""

import itertools

import numpy as np

from dxprivacy.universe.hierarchy import NO_ROW, Nest, star_of


def star(values: int, groups: tuple[int, ...]) -> Nest:
    """The margin's rows first, then each table's, cells of a value beside one another."""
    tables, first = [], values
    for m in groups:
        tables.append(first + np.arange(values * m).reshape(values, m))
        first += values * m
    return star_of(np.arange(values), tables)


def points(values: int, groups: tuple[int, ...], reach: int) -> np.ndarray:
    """All noises of the rows that agree, free ones within the reach."""
    free = range(-reach, reach + 1)
    out = []
    for first in itertools.product(free, repeat=values - 1):
        margin = [*first, -sum(first)]
        ways = []
        for m in groups:
            for u in margin:
                ways.append([(*z, u - sum(z)) for z in itertools.product(free, repeat=m - 1)])
        for chosen in itertools.product(*ways):
            out.append([*margin, *itertools.chain(*chosen)])
    return np.array(out, dtype=np.int64)


def distribution(z: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Of these points, as if there were no others."""
    logs = -(np.abs(z) / scales).sum(axis=1)
    p = np.exp(logs - logs.max())
    return p / p.sum()


def records(values: int, groups: tuple[int, ...]) -> np.ndarray:
    """What each possible record adds to the rows."""
    out = []
    for x, *cells in itertools.product(range(values), *(range(m) for m in groups)):
        row, first = np.zeros(values + values * sum(groups), dtype=np.int64), values
        row[x] = 1
        for m, y in zip(groups, cells, strict=True):
            row[first + x * m + y] = 1
            first += values * m
        out.append(row)
    return np.array(out)


def counts_of(nest: Nest, rows: np.ndarray) -> dict[int, int]:
    """The noise of every count of a nest, those that nobody makes included."""
    out = {k: int(rows[r]) for k, r in enumerate(nest.row.tolist()) if r != NO_ROW}
    for whole, left, right in nest.divided[::-1].tolist():
        out.setdefault(whole, out[left] + out[right])
    return out
