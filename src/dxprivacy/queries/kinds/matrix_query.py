"""Explicit rows: any linear queries, dense or sparse, on the integer grid."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from dxprivacy.errors import QueryError
from dxprivacy.exact.answer_grid import AnswerGrid, grid_of_rows, to_grid
from dxprivacy.exact.arrays import Ints
from dxprivacy.queries.asked import Asked
from dxprivacy.queries.query import announced, placed
from dxprivacy.universe.answers import Linear
from dxprivacy.universe.blocks import Block, Explicit, Factor, OneHot
from dxprivacy.universe.universe import Universe
from dxprivacy.universe.workload import Answer, Workload


@dataclass(frozen=True, eq=False)
class MatrixQuery(Asked):
    """Explicit rows, dense or sparse, on the integer grid.

    If the rows were rounded to the grid (`bias`), `written` holds the original rows, from which sensitivities are
    computed.
    """

    whole: Any
    factor: Fraction = Fraction(1)
    bias: Fraction = Fraction(0)
    labels: tuple[str, ...] = ()
    within: Fraction | None = None
    weight: Fraction = Fraction(1)
    written: Any = None

    def on(self, universe: Universe) -> Workload:
        """Bind the rows to a universe; if each record counts in at most one row, the rows become a table."""
        with placed(self):
            whole = with_absent(self.whole, universe)
            block: Block = Explicit(universe, whole, unit=self.factor, bias=self.bias)
        block = _one_hot(self, universe) or block
        labels = self.labels or tuple(f"row {k + 1}" for k in range(block.rows))
        answers = tuple(
            Answer(label, 0, Linear(k, block.unit, block.bias), "", self.within, groups=(("row", label),))
            for k, label in enumerate(labels)
        )
        return announced(Workload(universe, (block,), answers), str(self), self.weight)

    def rows_only(self) -> "MatrixQuery":
        return replace(self, within=None, weight=Fraction(1))

    def __str__(self) -> str:
        return f"{self.whole.shape[0]} explicit rows"

    def to_dict(self) -> dict[str, Any]:
        from scipy.sparse import coo_array

        entries = coo_array(self.whole)
        entries.sum_duplicates()
        return {
            "ask": "matrix",
            "shape": list(self.whole.shape),
            "rows": entries.row.tolist(),
            "columns": entries.col.tolist(),
            "entries": entries.data.tolist(),
            "factor": str(self.factor),
            "bias": str(self.bias),
            "labels": list(self.labels),
            **({} if self.within is None else {"within": str(self.within)}),
            **({} if self.weight == 1 else {"weight": str(self.weight)}),
        }


def with_absent(whole: Any, universe: Universe) -> Any:
    """Append a zero column for the record `absent`, if the universe has one: no query counts it."""
    if universe.absent is None:
        return whole
    if whole.shape[1] != universe.cells:  # a column for `absent` could hide what the presence of a record changes
        raise QueryError(
            f"a query matrix of shape {whole.shape}; it needs {universe.cells:,} columns, and none for `absent`"
        )
    zeros = np.zeros((whole.shape[0], 1), dtype=whole.dtype)
    if isinstance(whole, np.ndarray):
        return np.hstack([whole, zeros])
    from scipy.sparse import csr_array, hstack

    return hstack([whole, csr_array(zeros)], format="csr", dtype=whole.dtype)


def _one_hot(query: MatrixQuery, universe: Universe) -> OneHot | None:
    """Return a matrix over one attribute with at most one entry per column as a table; None for other matrices."""
    from scipy.sparse import coo_array

    entries = coo_array(query.whole)
    entries.sum_duplicates()
    entries.eliminate_zeros()
    alone = len(universe.attributes) == 1 and query.whole.shape[1] == universe.cells
    if not alone or len(np.unique(entries.col)) != entries.nnz or not entries.nnz:
        return None
    groups = np.full(universe.cells, -1, dtype=np.int64)
    values = np.zeros(universe.cells, dtype=np.int64)
    groups[entries.col], values[entries.col] = entries.row, entries.data
    sizes = {0: query.whole.shape[0]}
    return OneHot(universe, {0: Factor(groups, values)}, sizes, unit=query.factor, bias=query.bias)


# -- From arrays to integers: explicit rows on integer grids -----------------------------------------------------------


_EXACT_FLOATS = 1 << 53


def on_grids(rows: Any) -> list[MatrixQuery]:
    """Convert rows to integer matrices: one, or several if the rows have very different sizes.

    >>> [(m.whole.tolist(), m.factor) for m in on_grids([[0, Fraction(1, 3)]])]
    [([[0, 1]], Fraction(1, 3))]
    """
    entries = _Sparse.of(rows) if hasattr(rows, "tocsc") else _Dense.of(rows)
    runs = grid_of_rows(entries.lines) if entries.floats else [(0, entries.count, to_grid(entries.everything))]
    return [entries.matrix(start, stop, grid) for start, stop, grid in runs]


@dataclass(frozen=True, eq=False)
class _Dense:
    entries: Any  # float64, or fractions if float64 cannot hold them exactly

    @classmethod
    def of(cls, rows: Any) -> "_Dense":
        entries = _numbers(rows)
        entries = entries[None, :] if entries.ndim == 1 else entries
        if entries.ndim != 2 or not entries.size:
            raise QueryError(f"a query matrix of shape {entries.shape}; rows of numbers are needed")
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

    def matrix(self, start: int, stop: int, grid: AnswerGrid) -> MatrixQuery:
        whole = grid.whole.reshape(stop - start, -1)
        return MatrixQuery(whole, grid.unit, grid.bias, written=self.entries[start:stop] if grid.bias else None)


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
            raise QueryError("a sparse query matrix holds numbers that float64 can hold", hints=["a dense one"])
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

    def matrix(self, start: int, stop: int, grid: AnswerGrid) -> MatrixQuery:
        some = self.rows[start:stop]
        whole = some.astype(np.int64)
        whole.data = grid.whole
        return MatrixQuery(whole, grid.unit, grid.bias, written=some if grid.bias else None)


def _numbers(rows: Any) -> Any:
    """Return real numbers exactly, as float64 or as an object array of fractions; refuse dates, complex and text."""
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
        raise QueryError(
            "a query matrix must be rows of real numbers, all of one length: no NaN, no infinity, no text"
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
        raise TypeError("not a real number")
    return Fraction(x.item() if isinstance(x, np.number) else x)
