"""From arrays to whole numbers: explicit rows on grids that suit them, and as they were written."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from dxprivacy.errors import QuestionError
from dxprivacy.exact.answer_grid import Grid, grid_of_rows, to_grid
from dxprivacy.exact.arrays import Ints
from dxprivacy.queries.kinds.matrix_query import Matrix

_EXACT_FLOATS = 1 << 53


def on_grids(rows: Any) -> list[Matrix]:
    """Rows as whole numbers: one matrix, or several, where rows are of very different sizes.

    >>> [(m.whole.tolist(), m.factor) for m in on_grids([[0, Fraction(1, 3)]])]
    [([[0, 1]], Fraction(1, 3))]
    """
    entries = _Sparse.of(rows) if hasattr(rows, "tocsc") else _Dense.of(rows)
    runs = grid_of_rows(entries.lines) if entries.floats else [(0, entries.count, to_grid(entries.everything))]
    return [entries.matrix(start, stop, grid) for start, stop, grid in runs]


@dataclass(frozen=True, eq=False)
class _Dense:
    entries: Any  # of floats, or of fractions where floats do not hold them

    @classmethod
    def of(cls, rows: Any) -> "_Dense":
        entries = _numbers(rows)
        entries = entries[None, :] if entries.ndim == 1 else entries
        if entries.ndim != 2 or not entries.size:
            raise QuestionError(f"a question matrix of shape {entries.shape}; rows of numbers are needed")
        return cls(entries)

    @property
    def floats(self) -> bool:
        return bool(self.entries.dtype == np.float64)

    @property
    def count(self) -> int:
        return int(self.entries.shape[0])

    @property
    def lines(self) -> Sequence[Any]:
        return list(self.entries)

    @property
    def everything(self) -> list[Fraction]:
        return list(self.entries.ravel())

    def matrix(self, start: int, stop: int, grid: Grid) -> Matrix:
        whole = grid.whole.reshape(stop - start, -1)
        return Matrix(whole, grid.unit, grid.bias, written=self.entries[start:stop] if grid.bias else None)


@dataclass(frozen=True, eq=False)
class _Sparse:
    rows: Any  # in scipy's CSR form

    @classmethod
    def of(cls, rows: Any) -> "_Sparse":
        sparse = rows.tocsr(copy=True)
        sparse.sum_duplicates()
        sparse.eliminate_zeros()
        entries = _numbers(sparse.data)
        if entries.dtype != np.float64:
            raise QuestionError("a sparse question matrix holds numbers that float64 can hold", hints=["a dense one"])
        sparse = sparse.astype(np.float64)
        sparse.data = entries
        return cls(sparse)

    floats = True

    @property
    def count(self) -> int:
        return int(self.rows.shape[0])

    @property
    def lines(self) -> Sequence[Any]:
        ends = self.rows.indptr.tolist()
        return [self.rows.data[a:b] for a, b in pairwise(ends)]

    @property
    def everything(self) -> list[Fraction]:
        return [Fraction(x) for x in self.rows.data.tolist()]

    def matrix(self, start: int, stop: int, grid: Grid) -> Matrix:
        some = self.rows[start:stop]
        whole = some.astype(np.int64)
        whole.data = grid.whole
        return Matrix(whole, grid.unit, grid.bias, written=some if grid.bias else None)


def _numbers(rows: Any) -> Any:
    """Real numbers only, as they are: float64, or fractions in an array of objects; no dates, no complex, no text."""
    try:
        given = np.asarray(rows)
        kind = given.dtype.kind
        if kind == "b" or (kind == "f" and given.dtype.itemsize <= 8):
            return np.array(given, dtype=np.float64)
        if kind in "iu":
            small = _fits_floats(given)
            return np.array(given, dtype=np.float64) if small else _fractions(given)
        if kind not in "fO":
            raise ValueError("kind")
        fractions = _fractions(given)
        floats = np.array(fractions, dtype=np.float64)
        same = all(Fraction(f) == x for f, x in zip(floats.ravel().tolist(), fractions.ravel(), strict=True))
        return floats if same else fractions
    except (TypeError, ValueError, OverflowError):
        raise QuestionError(
            "a question matrix must be rows of real numbers, all of one length: no NaN, no infinity, no text"
        ) from None


def _fits_floats(given: Ints) -> bool:
    return not given.size or max(int(given.max()), -int(given.min())) <= _EXACT_FLOATS


def _fractions(given: Any) -> Any:
    out = np.empty(given.shape, dtype=object)
    out.ravel()[:] = [_fraction(x) for x in given.ravel().tolist()]
    return out


def _fraction(x: Any) -> Fraction:
    if isinstance(x, np.longdouble):
        return Fraction(*x.as_integer_ratio())
    if not isinstance(x, (bool, int, float, Decimal, Fraction, np.number)) or isinstance(x, complex):
        raise TypeError("no real number")
    return Fraction(x.item() if isinstance(x, np.number) else x)
