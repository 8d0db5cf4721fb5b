"""Rows given as a matrix, dense or scipy sparse: integers for answers, numbers as written for bounds."""

from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from dxprivacy.errors import QueryError, TooLarge
from dxprivacy.exact.arrays import Floats, Ints, read_only
from dxprivacy.universe.blocks.block import Block, Differences, Rows, classes_of_rows, largest_entry, require_exact
from dxprivacy.universe.occupied import Occupied
from dxprivacy.universe.universe import Universe

_LEAST_APART = 2.0**-1000  # smaller differences lose precision as floats, or vanish
_MOST_COMPARED = 20_000_000  # entries, to find equal columns


class MatrixRows(Rows):
    """Rows of a matrix with a column for each record; its entries are numbers of any type."""

    def __init__(self, universe: Universe, matrix: Any) -> None:
        if matrix.ndim != 2 or matrix.shape[1] != universe.size:
            raise QueryError(f"a query matrix of shape {matrix.shape}; it needs {universe.size:,} columns")
        self.universe = universe
        self.sparse = not isinstance(matrix, np.ndarray)
        self.matrix = matrix.tocsc() if self.sparse else read_only(matrix)
        self.rows = matrix.shape[0]
        self._moving: dict[int, Ints] = {}  # cached, because it is requested often and slow to compute

    @property
    def axes(self) -> tuple[int, ...]:
        return tuple(range(len(self.universe.attributes)))

    def moving(self, axis: int) -> Ints:
        """Return classes of values with equal slices of the matrix; singletons if it is too large to compare."""
        n = self.universe.shape[axis]
        if self.rows * self.universe.size > _MOST_COMPARED:
            return np.arange(n, dtype=np.int64)
        if axis not in self._moving:
            cube = self._codes[:, : self.universe.cells].reshape(self.rows, *self.universe.shape)
            self._moving[axis] = classes_of_rows(np.moveaxis(cube, axis + 1, 0).reshape(n, -1))
        return self._moving[axis]

    @property
    def _codes(self) -> Ints:
        """Integer codes of the entries, equal for equal entries."""
        entries = np.asarray(self.matrix.todense() if self.sparse else self.matrix)
        if entries.dtype == np.int64:
            return entries
        return np.unique(entries, return_inverse=True)[1].reshape(entries.shape).astype(np.int64)

    @cached_property
    def column_classes(self) -> Ints:
        """A class number for each record, equal for equal columns; all distinct if there are too many entries."""
        if self.rows * self.universe.size > _MOST_COMPARED:
            return np.arange(self.universe.size, dtype=np.int64)
        return classes_of_rows(np.ascontiguousarray(self._codes.T))

    def context(self, axis: int, *, uniform: bool) -> Ints:  # noqa: ARG002  (rows overlap: scales never help)
        return self.moving(axis)

    def entries_apart(self, i: Ints, j: Ints) -> tuple[Ints, Ints, Any]:
        """Return where columns of many pairs differ: the position of the pair, the row, and the amount."""
        if self.sparse:
            coo = abs(self.matrix[:, i] - self.matrix[:, j]).tocoo()
            keep = np.flatnonzero(coo.data)
            return coo.col[keep].astype(np.int64), coo.row[keep].astype(np.int64), coo.data[keep]
        amounts = np.abs(self.matrix[:, i] - self.matrix[:, j])
        row, pair = np.nonzero(amounts)
        return pair, row, amounts[row, pair]

    def loads(self, i: Ints, j: Ints, weights: Floats) -> Floats:
        """Return the weighted sums; dense float rows are compared at once, others entry by entry."""
        if self._dense_floats:
            return dense_loads(self._floats, i, j, weights)
        pair, row, amount = self.entries_apart(i, j)
        return np.asarray(
            np.bincount(pair, weights=_as_floats(amount) * weights[row], minlength=len(i)), dtype=np.float64
        )

    def peaks(self, i: Ints, j: Ints, weights: Floats) -> Floats:
        if self._dense_floats:
            return dense_loads(self._floats, i, j, weights, largest=True)
        pair, row, amount = self.entries_apart(i, j)
        out = np.zeros(len(i))
        np.maximum.at(out, pair, _as_floats(amount) * weights[row])
        return out

    @property
    def _dense_floats(self) -> bool:
        """Whether the entries are dense floats or integers, so that a difference is rounded at most once."""
        return not self.sparse and self.matrix.dtype != object

    def ends(self, *, absent: bool) -> tuple[Ints, Ints]:
        """Return the columns with the smallest and the largest entry of each row."""
        some = self.matrix if absent else self.matrix[:, : self.universe.cells]
        low, high = (np.asarray(at, dtype=np.int64).ravel() for at in (some.argmin(axis=1), some.argmax(axis=1)))
        return low, high

    @cached_property
    def _floats(self) -> Floats:
        """The transposed matrix in floats: one line per record."""
        return np.ascontiguousarray(self.matrix.T, dtype=np.float64)

    def reach(self, weights: Floats) -> float:
        """Add up the ranges of all rows, weighted."""
        top, bottom = self.matrix.max(axis=1), self.matrix.min(axis=1)
        if self.sparse:
            top, bottom = top.toarray().ravel(), bottom.toarray().ravel()
        spread = np.asarray(top - bottom, dtype=np.float64)
        return float(sum(w * s for w, s in zip(weights.tolist(), spread.tolist(), strict=True) if s))


def _as_floats(amounts: Any) -> Floats:
    """Convert nonzero differences to floats; raise TooLarge if fractions are so small that they would vanish."""
    out: Floats = np.asarray(amounts, dtype=np.float64)
    if amounts.dtype == object and (out < _LEAST_APART).any():
        raise TooLarge("two of a query's numbers are closer to one another than we work with")
    return out


class Explicit(MatrixRows, Block):
    """An explicit matrix of integers."""

    kind = "matrix"

    def __init__(self, universe: Universe, matrix: Any, *, unit: Fraction = Fraction(1), bias: Fraction = Fraction(0)):
        super().__init__(universe, matrix)
        self.unit, self.bias = unit, bias
        require_exact(self.largest)

    @cached_property
    def largest(self) -> int:
        return largest_entry(self.matrix.data if self.sparse else self.matrix)

    @cached_property
    def peak_of_row(self) -> Ints:
        """The largest absolute entry of each row."""
        most = abs(self.matrix).max(axis=1)
        return np.asarray(most.toarray() if self.sparse else most, dtype=np.int64).ravel()

    def differences(self, i: Ints, j: Ints) -> Differences:
        return self.entries_apart(i, j)

    def answer(self, counts: Occupied) -> Ints:
        whole = np.zeros(self.universe.size, dtype=np.int64)
        np.add.at(whole, counts.cells, counts.counts)
        return np.asarray(self.matrix @ whole, dtype=np.int64)

    def parts(self) -> tuple[Ints, ...]:
        """Return the nonzero entries, row by row."""
        from scipy.sparse import coo_array

        entries = coo_array(self.matrix)
        entries.sum_duplicates()
        entries.eliminate_zeros()
        order = np.lexsort((entries.col, entries.row))
        row, column, amount = (np.asarray(x, dtype=np.int64)[order] for x in (entries.row, entries.col, entries.data))
        return np.array([self.rows], dtype=np.int64), row, column, amount

    def columns(self, cells: Ints) -> Ints:
        some = self.matrix[:, cells]
        return np.asarray(some.todense() if self.sparse else some, dtype=np.int64)

    def extremes(self) -> tuple[Floats, Floats]:
        present = self.matrix[:, : self.universe.cells]
        low, high = present.min(axis=1), present.max(axis=1)
        if not isinstance(low, np.ndarray):  # sparse
            low, high = low.toarray().ravel(), high.toarray().ravel()
        return np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)

    def _row(self, k: int) -> "Explicit":
        """Return row k, dense or sparse like the whole matrix."""
        return Explicit(self.universe, self.matrix[k : k + 1], unit=self.unit, bias=self.bias)

    def dense(self) -> Ints:
        return np.asarray(self.matrix.todense() if self.sparse else self.matrix, dtype=np.int64)


_FEW_PAIRS = 500


def _among_few(lines: Floats, i: Ints, j: Ints, weights: Floats) -> Floats | None:
    """Compute the sums from a table of all pairs of distinct lines; None if that is much larger than the pairs."""
    from scipy.spatial.distance import cdist

    left, row = np.unique(i, return_inverse=True)
    right, column = np.unique(j, return_inverse=True)
    if len(left) * len(right) > 4 * len(i):
        return None
    table = cdist(lines[left], lines[right], "cityblock", w=weights)
    return np.asarray(table[row.reshape(-1), column.reshape(-1)], dtype=np.float64)


def dense_loads(lines: Floats, i: Ints, j: Ints, weights: Floats, *, largest: bool = False) -> Floats:
    """Return the sum (or the largest) of w_k |lines_ik - lines_jk| for pairs; each difference is rounded at most once.

    The work is done in pieces that fit into the processor's cache, ten times faster than at once.  If the pairs are
    about as many as all pairs of the lines that occur, compiled code (`cdist`) computes these without storing
    differences.  Infinite weights (of noise-free rows) count only where lines differ: 0 times infinity is 0.
    """
    if (endless := np.isinf(weights)).any():
        out = dense_loads(lines, i, j, np.where(endless, 0.0, weights), largest=largest)
        exact = np.ascontiguousarray(lines[:, endless])
        out[dense_loads(exact, i, j, np.ones(exact.shape[1]), largest=True) > 0] = np.inf
        return out
    if not largest and len(i) > _FEW_PAIRS and (found := _among_few(lines, i, j, weights)) is not None:
        return found
    out = np.empty(len(i))
    piece = max(16, (1 << 19) // max(lines.shape[1], 1))
    for start in range(0, len(i), piece):
        some = slice(start, start + piece)
        apart = lines.take(i[some], axis=0)
        apart -= lines.take(j[some], axis=0)
        np.abs(apart, out=apart)
        if largest:
            apart *= weights
            out[some] = apart.max(axis=1)
        else:
            out[some] = apart @ weights
    return out
