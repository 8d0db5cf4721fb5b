"""A declared sensitivity as a loss: `D(i, j) / c`, to be compared with a policy.

How far a score moves when record i is replaced by j is known for rows; for any other score somebody has to declare it,
and answers for it.  What was declared is certified against the policy all the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np

from dxprivacy.errors import UsageError
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.exact.rounding import Exact, exact
from dxprivacy.metrics import Metric, PseudoMetric
from dxprivacy.metrics.closed_forms import Constant
from dxprivacy.privacy.costs import LaplaceCost, SelectionCost, SumCost
from dxprivacy.queries.asked import Stack
from dxprivacy.queries.asking import gather
from dxprivacy.queries.kinds.matrix_query import MatrixQuery, with_absent
from dxprivacy.queries.query import Query
from dxprivacy.universe.blocks import Block, MatrixRows, Rows
from dxprivacy.universe.blocks.block import pieces
from dxprivacy.universe.loss_terms import LossPart, Term, Terms
from dxprivacy.universe.universe import Universe
from dxprivacy.universe.workload import Workload

# -- How far rows move between two records, for what was declared: the numbers as they were written, on no grid --------
# Answers are computed on a grid of whole numbers, and numbers that do not fit it are rounded (`exact.answer_grid`).  A
# sensitivity is asked for what the caller declared, so here floats count as the exact rationals that they are,
# fractions as themselves, and whatever is known only after rounding is charged for the most that rounding can hide.


class Piece(Protocol):
    """Some rows with their exact differences."""

    @property
    def rows(self) -> Rows:
        """What bounds look at."""

    @property
    def weights(self) -> Floats:
        """What one step of a row counts, approximately."""

    @property
    def hidden(self) -> bool:
        """Whether it is only what rounding may hide, and not a difference that anybody has seen."""

    def exact(self, i: int, j: int, *, largest: bool) -> Fraction:
        """The sum of the differences of two columns, or the largest of them."""

    def keys(self, i: Ints, j: Ints) -> Ints:
        """Whole numbers, equal for equal differences."""


@dataclass(frozen=True, eq=False)
class OnGrid:
    """Rows that fit the grid, and those whose numbers are known only on it."""

    rows: Block
    hidden: bool = False

    @property
    def weights(self) -> Floats:
        """The unit."""
        return np.full(self.rows.rows, float(self.rows.unit))

    def exact(self, i: int, j: int, *, largest: bool) -> Fraction:
        """In whole steps, times the unit."""
        _, row, amount = self.rows.differences(np.array([i]), np.array([j]))
        by_row: dict[int, int] = {}
        for r, a in zip(row.tolist(), amount.tolist(), strict=True):
            by_row[r] = by_row.get(r, 0) + a
        return self.rows.unit * (max(by_row.values(), default=0) if largest else sum(by_row.values()))

    def keys(self, i: Ints, j: Ints) -> Ints:
        """Sum and largest difference; where the sum might wrap, the pair itself."""
        if self.rows.largest * 2 * self.rows.rows >= 1 << 62:
            return self.rows.universe.keys(i, j)
        out = np.zeros((len(i), 2), dtype=np.int64)
        for some in pieces(self.rows.width, len(i)):
            pair, _, amount = self.rows.differences(i[some], j[some])
            np.add.at(out[some, 0], pair, amount)
            np.maximum.at(out[some, 1], pair, amount)
        return out


@dataclass(frozen=True, eq=False)
class AsWritten:
    """Rows of floats, or of any exact numbers: a difference of two floats is rounded once, and only for searching."""

    rows: MatrixRows
    hidden: bool = False

    @property
    def weights(self) -> Floats:
        return np.ones(self.rows.rows)

    def exact(self, i: int, j: int, *, largest: bool) -> Fraction:
        """In fractions."""
        first, second = (self._column(cell) for cell in (i, j))
        apart = [abs(Fraction(a) - Fraction(b)) for a, b in zip(first, second, strict=True) if a != b]
        return max(apart, default=Fraction(0)) if largest else sum(apart, Fraction(0))

    def _column(self, cell: int) -> list[Any]:
        some = self.rows.matrix[:, [cell]]
        return list(np.asarray(some.todense() if self.rows.sparse else some).ravel().tolist())

    def keys(self, i: Ints, j: Ints) -> Ints:
        """The two columns."""
        a, b = self.rows.column_classes[i], self.rows.column_classes[j]
        return np.stack([np.minimum(a, b), np.maximum(a, b)], axis=1)


class _AnyDifference(Rows):
    """One row of which only this is known: it may differ by up to its weight wherever one of some attributes does."""

    def __init__(self, block: Block) -> None:
        self.universe, self.rows, self._axes = block.universe, 1, block.axes

    @property
    def axes(self) -> tuple[int, ...]:
        """Those of the rows that were rounded."""
        return self._axes

    def moving(self, axis: int) -> Ints:
        n = self.universe.shape[axis]
        return np.arange(n, dtype=np.int64) if axis in self._axes else np.zeros(n, dtype=np.int64)

    def context(self, axis: int, *, uniform: bool) -> Ints:  # noqa: ARG002
        return np.zeros(self.universe.shape[axis], dtype=np.int64)

    def differs(self, i: Ints, j: Ints) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
        """Which pairs do."""
        out = np.zeros(len(i), dtype=bool)
        for axis in self._axes:
            out |= self.universe.along(axis, i) != self.universe.along(axis, j)
        if self.universe.absent is not None:
            out |= (i == self.universe.absent) != (j == self.universe.absent)
        return out

    def loads(self, i: Ints, j: Ints, weights: Floats) -> Floats:
        return np.where(self.differs(i, j), weights[0], 0.0)

    def peaks(self, i: Ints, j: Ints, weights: Floats) -> Floats:
        return self.loads(i, j, weights)

    def reach(self, weights: Floats) -> float:
        return float(weights[0])

    def ends(self, *, absent: bool) -> None:
        """Any two records; none is the least."""


@dataclass(frozen=True, eq=False)
class Rounding:
    """What rounding may hide of the differences of a block: each entry is off by at most the bias."""

    block: Block
    largest: bool
    hidden: bool = True

    @cached_property
    def rows(self) -> _AnyDifference:
        """One row stands for all."""
        return _AnyDifference(self.block)

    @property
    def _most(self) -> Fraction:
        """Twice the bias in each row that can change."""
        changed = 1 if self.largest else min(self.block.rows, self.block.width)
        return 2 * self.block.bias * changed

    @property
    def weights(self) -> Floats:
        return np.array([float(self._most)])

    def exact(self, i: int, j: int, *, largest: bool) -> Fraction:  # noqa: ARG002
        """All of it, or nothing."""
        return self._most if self.rows.differs(np.array([i]), np.array([j]))[0] else Fraction(0)

    def keys(self, i: Ints, j: Ints) -> Ints:
        """Whether it counts."""
        return self.rows.differs(i, j).astype(np.int64)[:, None]


class DeclaredRows:
    """The sum of |q_ki - q_kj| over all rows, or the largest, as a pseudometric; never below what was declared.

    >>> from dxprivacy.metrics import constant
    >>> DeclaredRows.of([[2.0**45, 2.0**45 + 1]], constant(2, 1).universe, largest=True).exact(0, 1)
    Fraction(1, 1)
    """

    slack = Fraction(0)  # its fractions are exact

    def __init__(self, universe: Universe, pieces: Sequence[Piece], *, largest: bool) -> None:
        self._universe, self.pieces, self.largest = universe, tuple(pieces), largest
        self._parts = tuple(LossPart.of(p.rows, p.weights, largest=largest) for p in self.pieces)

    @classmethod
    def of(cls, queries: Any, universe: Universe, *, largest: bool) -> "DeclaredRows":
        """Of queries, rows, or a workload (of which only the rounded rows are known)."""
        if isinstance(queries, Workload):
            return cls(universe, _on_grid(queries, largest), largest=largest)
        pieces: list[Piece] = []
        for asked in gather(queries).queries:
            if isinstance(asked, MatrixQuery) and asked.bias and asked.written is not None:
                pieces.append(AsWritten(MatrixRows(universe, with_absent(asked.written, universe))))
            else:
                pieces += _on_grid(asked.on(universe), largest)
        return cls(universe, pieces, largest=largest)

    @property
    def universe(self) -> Universe:
        """The records it speaks about."""
        return self._universe

    @property
    def error(self) -> float:
        """A difference, a product and a sum for each row, each rounded once."""
        return (sum(p.rows.rows for p in self.pieces) + 8) * 2.0**-52

    @cached_property
    def terms(self) -> Terms:
        """A sum of all, or one term whose largest part counts; what rounding hides comes on top."""
        seen, hidden = self._split()
        if not self.largest:
            return tuple(Term((part,)) for part in self._parts)
        return tuple(Term(tuple(parts)) for parts in (seen, hidden) if parts)

    def _split(self) -> tuple[list[LossPart], list[LossPart]]:
        found = list(zip(self.pieces, self._parts, strict=True))
        return [part for p, part in found if not p.hidden], [part for p, part in found if p.hidden]

    @cached_property
    def alternatives(self) -> tuple[Terms, ...]:
        """Of a largest one, its parts one by one."""
        seen, hidden = self._split()
        if not self.largest or hidden:
            return (self.terms,)
        return tuple((Term((part,)),) for part in seen)

    def pairwise(self, i: Ints, j: Ints) -> Floats:
        """Approximate losses of many pairs."""
        return np.asarray(sum((term.pairwise(i, j) for term in self.terms), np.zeros(len(i))), dtype=np.float64)

    def keys(self, i: Ints, j: Ints) -> Ints:
        """Those of all pieces."""
        return np.hstack([p.keys(i, j) for p in self.pieces])

    def exact(self, i: int, j: int) -> Fraction:
        """Never below the difference that was declared."""
        return self._seen(i, j) + self._hidden(i, j)

    def at_least(self, i: int, j: int) -> Fraction:
        """Never above it."""
        return max(self._seen(i, j) - self._hidden(i, j), Fraction(0))

    def _seen(self, i: int, j: int) -> Fraction:
        return self._total([p.exact(i, j, largest=self.largest) for p in self.pieces if not p.hidden])

    def _hidden(self, i: int, j: int) -> Fraction:
        return self._total([p.exact(i, j, largest=self.largest) for p in self.pieces if p.hidden])

    def _total(self, values: list[Fraction]) -> Fraction:
        return max(values, default=Fraction(0)) if self.largest else sum(values, Fraction(0))


def _on_grid(workload: Workload, largest: bool) -> list[Piece]:
    pieces: list[Piece] = []
    for block in workload.blocks:
        pieces.append(OnGrid(block))
        if block.bias:
            pieces.append(Rounding(block, largest))
    return pieces


# -- A declared sensitivity as a loss ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ScaledLoss:
    """A pseudometric over a scale, rounded up."""

    base: PseudoMetric
    scale: Fraction
    slack: ClassVar[Fraction] = Fraction(0)  # it is added already
    terms: ClassVar[Terms] = ()
    alternatives: ClassVar[None] = None

    @property
    def universe(self) -> Universe:
        """The records it speaks about."""
        return self.base.universe

    @property
    def error(self) -> float:
        """One division more."""
        return self.base.error + 2.0**-50

    def pairwise(self, i: Ints, j: Ints) -> Floats:
        """Approximate losses."""
        return np.asarray(self.base.pairwise(i, j) / float(self.scale), dtype=np.float64)

    def exact(self, i: int, j: int) -> Exact:
        """The loss of one pair; distances round down, so that their slack is added back."""
        value = self.base.exact(i, j)
        if value == float("inf"):
            return value
        return Fraction(value) * (1 + self.base.slack) / self.scale

    def keys(self, i: Ints, j: Ints) -> Ints:
        """Those of what it scales."""
        return self.base.keys(i, j)


def declared(sensitivity: Any, metric: Metric) -> PseudoMetric:
    """How far scores move, as a pseudometric: from a number, rows, queries, or a pseudometric over the records.

    >>> from dxprivacy import metrics
    >>> d = metrics.constant(3, 1)
    >>> declared(2, d).exact(0, 1), declared([[0, 1, 3]], d).exact(0, 2)
    (Fraction(2, 1), Fraction(3, 1))
    """
    if sensitivity is None:
        raise UsageError(
            "how far can the scores move? Their sensitivity must be declared",
            details=["A number for every pair, rows whose differences bound it, or a pseudometric over the records."],
            hints=["sensitivity=1", "sensitivity=Q", "sensitivity=dx.metrics.from_matrix(D)"],
        )
    if isinstance(sensitivity, (Metric, LaplaceCost, SelectionCost, SumCost, ScaledLoss)):
        return _same_universe(sensitivity, metric)
    if isinstance(sensitivity, Workload):
        return _same_universe(DeclaredRows.of(sensitivity, sensitivity.universe, largest=True), metric)
    if isinstance(sensitivity, (Query, MatrixQuery, Stack, np.ndarray, list, tuple)) or hasattr(sensitivity, "tocsc"):
        return DeclaredRows.of(sensitivity, metric.universe, largest=True)
    number = Fraction(exact(sensitivity, what="sensitivity"))
    if number < 0:
        raise UsageError(f"sensitivity is {sensitivity}; it is at least 0")
    return Constant(metric.universe, number)


def _same_universe(loss: PseudoMetric, metric: Metric) -> PseudoMetric:
    if loss.universe != metric.universe:
        raise UsageError("the sensitivity is declared over other records than the policy's")
    return loss
