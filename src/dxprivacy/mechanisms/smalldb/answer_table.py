"""A dynamic programme over answer vectors: few rows with small numbers, any number of candidates.

`table[j][v]` counts the multisets of j cells with the answers v (rows shifted to start at 0), for the cells so far;
adding a cell adds the table of j - 1 shifted by its column.  All candidates with the same answers have the same
score, so an answer vector is chosen with probability proportional to its number times exp(-S rate), exactly, and then
one of its multisets uniformly, walking the table back: the last cell is used once more in `table[j-1][v - column]` of
`table[j][v]` cases.  Taking a cell out again is exact, since the counts are whole numbers.
"""

from math import comb

import numpy as np

from dxprivacy.exact.arrays import Ints
from dxprivacy.mechanisms.sampling.exact_selection import below
from dxprivacy.mechanisms.sampling.weighted_selection import WeightedChoice
from dxprivacy.mechanisms.smalldb.drawn_database import Draw


def by_answer_table(draw: Draw) -> Ints:
    """A small database, exactly from its law."""
    matrix = draw.workload.columns(np.arange(draw.cells, dtype=np.int64))
    lowest = matrix.min(axis=1)
    shifted = matrix - lowest[:, None]
    table = _filled(shifted, draw.size)
    counts = table[draw.size].ravel()
    present = np.flatnonzero(counts != 0)
    vectors = np.stack(np.unravel_index(present, table.shape[1:])).astype(np.int64)
    scores = draw.scores(vectors + draw.size * lowest[:, None])
    sizes = [int(count) for count in counts[present]]
    chosen = WeightedChoice(sizes, scores - scores.min(), draw.rate).draw(draw.entropy)
    return _walk_back(table, shifted, draw, vectors[:, chosen])


def _filled(shifted: Ints, size: int) -> "np.ndarray[tuple[int, ...], np.dtype[np.generic]]":
    """The table of all cells; Python integers where counts leave 64 bits."""
    shape = (size + 1, *(int(v) * size + 1 for v in shifted.max(axis=1)))
    long = comb(shifted.shape[1] + size - 1, size) >= 1 << 62
    table = np.zeros(shape, dtype=object if long else np.int64)
    table[(0,) * len(shape)] = 1
    for column in shifted.T:
        to, of = _shift(column)
        for j in range(1, size + 1):  # upwards: the cell may be used again
            table[j][to] += table[j - 1][of]
    return table


def _shift(column: Ints) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """Where the counts go when a cell is added, and where they come from."""
    to = tuple(slice(int(c), None) for c in column)
    of = tuple(slice(None, -int(c) if c else None) for c in column)
    return to, of


def _walk_back(
    table: "np.ndarray[tuple[int, ...], np.dtype[np.generic]]", shifted: Ints, draw: Draw, vector: Ints
) -> Ints:
    """One of the multisets with these answers, uniformly; uses the table up."""
    out: Ints = np.zeros(draw.cells, dtype=np.int64)
    left, rest = draw.size, vector.copy()
    for cell in range(draw.cells - 1, -1, -1):
        column = shifted[:, cell]
        while left:
            before = rest - column
            again = int(table[(left - 1, *before.tolist())]) if (before >= 0).all() else 0
            if below(int(table[(left, *rest.tolist())]), draw.entropy) >= again:
                break
            out[cell] += 1
            left, rest = left - 1, before
        to, of = _shift(column)
        for j in range(draw.size, 0, -1):
            table[j][to] -= table[j - 1][of]
    return out
