"""Explicit rows: any linear questions, dense or sparse, on the integer grid."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from dxprivacy.errors import QuestionError
from dxprivacy.queries.asked import Asked
from dxprivacy.queries.query import announced, placed
from dxprivacy.universe.answers import Linear
from dxprivacy.universe.blocks import Block, Explicit, Factor, OneHot
from dxprivacy.universe.universe import Universe
from dxprivacy.universe.workload import Answer, Workload


@dataclass(frozen=True, eq=False)
class Matrix(Asked):
    """Explicit rows, dense or sparse, on the integer grid.

    Where they were rounded to fit it (`bias`), `written` holds them as they were: a sensitivity is asked for those.
    """

    whole: Any
    factor: Fraction = Fraction(1)
    bias: Fraction = Fraction(0)
    labels: tuple[str, ...] = ()
    within: Fraction | None = None
    weight: Fraction = Fraction(1)
    written: Any = None

    def on(self, universe: Universe) -> Workload:
        """These rows over a universe; where each record counts in at most one row, the structure is used."""
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

    def rows_only(self) -> "Matrix":
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
    """One more column, for the record of somebody who is not there: no question counts it."""
    if universe.absent is None:
        return whole
    if whole.shape[1] != universe.cells:  # a column for `absent` could hide what the presence of a record changes
        raise QuestionError(
            f"a question matrix of shape {whole.shape}; it needs {universe.cells:,} columns, and none for `absent`"
        )
    nobody = np.zeros((whole.shape[0], 1), dtype=whole.dtype)
    if isinstance(whole, np.ndarray):
        return np.hstack([whole, nobody])
    from scipy.sparse import csr_array, hstack

    return hstack([whole, csr_array(nobody)], format="csr", dtype=whole.dtype)


def _one_hot(question: Matrix, universe: Universe) -> OneHot | None:
    """A matrix with at most one entry per column, over one attribute, is a table."""
    from scipy.sparse import coo_array

    entries = coo_array(question.whole)
    entries.sum_duplicates()
    entries.eliminate_zeros()
    alone = len(universe.attributes) == 1 and question.whole.shape[1] == universe.cells
    if not alone or len(np.unique(entries.col)) != entries.nnz or not entries.nnz:
        return None
    groups = np.full(universe.cells, -1, dtype=np.int64)
    values = np.zeros(universe.cells, dtype=np.int64)
    groups[entries.col], values[entries.col] = entries.row, entries.data
    sizes = {0: question.whole.shape[0]}
    return OneHot(universe, {0: Factor(groups, values)}, sizes, unit=question.factor, bias=question.bias)
