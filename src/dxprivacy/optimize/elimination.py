"""Whole rows as combinations of a few of them: Gaussian elimination whose noughts are exact.

The rows become `of_rows @ U`, with as many rows in U as are independent (directions).  Sizes are floats, but whether a
number is nought is decided beside them, modulo a prime: roundings are never taken for something.  That matters where
rows count unequally, since what roundings leave of a row with hardly any noise would outweigh a row with much noise.

Rows are taken in the order of how much they say (complete pivoting on weighted rows), so that each follows from rows
that say at least as much: |of_rows_ij| weight_i <= weight of the row that gave direction j.  Scaled so, `of_rows` is a
unit triangle with further rows below it and no entry above 1, whatever the weights (Peters and Wilkinson 1970).
"""

from dataclasses import dataclass

import numpy as np

from dxprivacy.exact.arrays import Bools, Floats, Ints

PRIME = 2**31 - 1  # products of two remainders fit into 64 bits
_HALF = 16  # bits of a remainder, and of a whole number, at a time: sums of so small products are exact in floats
_DIGIT = 20
_ACCIDENT = 1e-6  # of a row's size: a number that is larger is not nought, even if the prime divides it


@dataclass(frozen=True, eq=False)
class Directions:
    """Independent directions among some rows.

    `rows` are those that gave them, the first `preferred` of them preferred ones; `of_rows` says how each row follows
    from the directions, `of_cells` how each cell does, and `unseen` what they do not tell of each cell.
    """

    rows: Ints
    preferred: int
    of_rows: Floats
    of_cells: "_Numbers"
    unseen: "_Numbers"

    def parts(self, wanted: Ints) -> tuple[Floats, Bools]:
        """Other rows as combinations of the directions, and which of them are none.

        >>> found = directions(np.array([[1, 1, 1], [1, 2, 0]]), 1, np.ones(1))
        >>> parts, missing = found.parts(np.array([[3, 4, 2], [1, 0, 0]]))
        >>> parts[0].tolist(), missing.tolist()
        ([3.0, 1.0], [False, True])
        """
        found, nought = self.of_cells.combined(wanted)
        found[nought] = 0.0
        return found, np.asarray((~self.unseen.combined(wanted)[1]).any(axis=1), dtype=np.bool_)


@dataclass(frozen=True, eq=False)
class _Numbers:
    """Numbers for each cell, as floats and as remainders."""

    sizes: Floats
    remainders: Ints

    def combined(self, wanted: Ints) -> tuple[Floats, Bools]:
        """Sums over the cells of rows, and where they are nought."""
        found = np.asarray(wanted.astype(np.float64) @ self.sizes)
        room = _ACCIDENT * (np.abs(wanted).astype(np.float64) @ np.abs(self.sizes))
        return found, np.asarray((_product(wanted, self.remainders) == 0) & (np.abs(found) <= room))


def directions(rows: Ints, preferred: int, weights: Floats) -> Directions:
    """The directions of whole rows: of the first `preferred` ones before all others, which have weights."""
    m = len(rows)
    work = _Elimination(rows)
    work.take(np.arange(preferred), np.ones(preferred))
    first = len(work.given)
    work.take(np.arange(preferred, m), weights)
    rank = len(work.given)
    return Directions(
        np.array(work.given, dtype=np.int64),
        first,
        work.lower[:m, :rank],
        _Numbers(work.lower[m:, :rank], work.remainders[m:, :rank]),
        _Numbers(work.sizes[m:, work.columns], work.left[m:, work.columns]),
    )


class _Elimination:
    """The rows, with one more for each single cell, which comes along but gives no direction.

    `sizes` and `left` are what is not yet told of each row, as floats and as remainders.
    """

    def __init__(self, rows: Ints) -> None:
        m, n = rows.shape
        self.sizes = np.vstack([rows.astype(np.float64), np.eye(n)])
        self.left = np.vstack([rows % PRIME, np.eye(n, dtype=np.int64)])
        self.room = _ACCIDENT * np.abs(self.sizes).max(axis=1, initial=0.0)
        self.lower = np.zeros((m + n, n))
        self.remainders = np.zeros((m + n, n), dtype=np.int64)
        self.open = np.ones(m + n, dtype=bool)
        self.columns: Ints = np.arange(n, dtype=np.int64)
        self.given: list[int] = []

    def take(self, rows: Ints, weights: Floats) -> None:
        """Directions from some rows, until they tell nothing more."""
        weight = np.zeros(len(self.open))
        weight[rows] = weights
        says = np.zeros(len(self.open))
        says[rows] = self._largest(rows) * weights
        while says.max(initial=0.0) > 0:
            row = int(says.argmax())
            changed = self._step(row)
            says[row] = 0.0
            changed = changed[weight[changed] > 0]
            says[changed] = self._largest(changed) * weight[changed]

    def _largest(self, rows: Ints) -> Floats:
        """The largest number of each row that is certainly not nought."""
        place = np.ix_(rows, self.columns)
        return np.asarray((np.abs(self.sizes[place]) * (self.left[place] != 0)).max(axis=1, initial=0.0))

    def _step(self, row: int) -> Ints:
        """One more direction, along what a row's largest number stands for; returns the rows that say less now."""
        step = len(self.given)
        at = int((np.abs(self.sizes[row, self.columns]) * (self.left[row, self.columns] != 0)).argmax())
        pivot, columns = self.columns[at], np.delete(self.columns, at)
        self.given.append(row)
        self.open[row] = False
        self.columns = columns
        touched = np.flatnonzero(self.open & ((self.left[:, pivot] != 0) | (self.sizes[:, pivot] != 0)))
        factor = self.sizes[touched, pivot] / self.sizes[row, pivot]
        remainder = self.left[touched, pivot] * pow(int(self.left[row, pivot]), -1, PRIME) % PRIME
        self.lower[row, step] = self.remainders[row, step] = 1
        self.lower[touched, step], self.remainders[touched, step] = factor, remainder
        place = np.ix_(touched, columns)
        left = (self.left[place] - remainder[:, None] * self.left[row, columns]) % PRIME
        sizes = self.sizes[place] - factor[:, None] * self.sizes[row, columns]
        sizes[(left == 0) & (np.abs(sizes) <= self.room[touched, None])] = 0.0
        self.left[place], self.sizes[place] = left, sizes
        return touched


def _product(whole: Ints, remainders: Ints) -> Ints:
    """whole @ remainders modulo the prime, by exact products of floats.

    >>> _product(np.array([[-3, 2**40]]), np.array([[PRIME - 1], [5]])).tolist() == [[(3 + 5 * 2**40) % PRIME]]
    True
    """
    halves = [(remainders >> shift & (1 << _HALF) - 1).astype(np.float64) for shift in (0, _HALF)]
    out: Ints = np.zeros((len(whole), remainders.shape[1]), dtype=np.int64)
    place, rest = 0, np.abs(whole)
    while rest.any():
        digit = (np.sign(whole) * (rest & (1 << _DIGIT) - 1)).astype(np.float64)
        for half, shift in zip(halves, (0, _HALF), strict=True):
            part = (digit @ half).astype(np.int64) % PRIME
            out = (out + part * pow(2, place + shift, PRIME)) % PRIME
        place, rest = place + _DIGIT, rest >> _DIGIT
    return out
