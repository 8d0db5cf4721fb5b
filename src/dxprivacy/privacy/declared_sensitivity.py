"""A declared sensitivity as a loss: `D(i, j) / c`, to be compared with a policy.

For rows, the change of a score when record i is replaced by j is computed.  For any other score the caller declares it
and is responsible for it; the declared sensitivity is certified against the policy in the same way.
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

# -- Differences of declared rows between two records: the numbers as written, not rounded to a grid -------------------
# Answers are computed on an integer grid, and numbers that do not fit it are rounded (`exact.answer_grid`).  The
# sensitivity is that of the numbers as declared.  So floats are read as exact rationals, fractions as themselves, and
# numbers that are known only after rounding are charged the largest possible rounding error.


class Piece(Protocol):
    """Some rows with their exact differences."""

    @property
    def rows(self) -> Rows:
        """The rows that bounds are computed from."""

    @property
    def weights(self) -> Floats:
        """The approximate size of one step of each row."""

    @property
    def hidden(self) -> bool:
        """Whether the piece holds only possible rounding errors, not known differences."""

    def exact(self, i: int, j: int, *, largest: bool) -> Fraction:
        """Return the sum of the differences of two columns, or the largest of them."""

    def keys(self, i: Ints, j: Ints) -> Ints:
        """Return integers that are equal for equal differences."""


@dataclass(frozen=True, eq=False)
class OnGrid:
    """Rows that fit the grid, or whose numbers are known only on the grid."""

    rows: Block
    hidden: bool = False

    @property
    def weights(self) -> Floats:
        return np.full(self.rows.rows, float(self.rows.unit))

    def exact(self, i: int, j: int, *, largest: bool) -> Fraction:
        """Count integer steps and multiply by the unit."""
        _, row, amount = self.rows.differences(np.array([i]), np.array([j]))
        by_row: dict[int, int] = {}
        for r, a in zip(row.tolist(), amount.tolist(), strict=True):
            by_row[r] = by_row.get(r, 0) + a
        return self.rows.unit * (max(by_row.values(), default=0) if largest else sum(by_row.values()))

    def keys(self, i: Ints, j: Ints) -> Ints:
        """Return sum and largest difference; if the sum may overflow, the pair itself."""
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
    """Rows of floats or exact numbers; differences of floats are rounded once, and only in the search."""

    rows: MatrixRows
    hidden: bool = False

    @property
    def weights(self) -> Floats:
        return np.ones(self.rows.rows)

    def exact(self, i: int, j: int, *, largest: bool) -> Fraction:
        first, second = (self._column(cell) for cell in (i, j))
        apart = [abs(Fraction(a) - Fraction(b)) for a, b in zip(first, second, strict=True) if a != b]
        return max(apart, default=Fraction(0)) if largest else sum(apart, Fraction(0))

    def _column(self, cell: int) -> list[Any]:
        some = self.rows.matrix[:, [cell]]
        return list(np.asarray(some.todense() if self.rows.sparse else some).ravel().tolist())

    def keys(self, i: Ints, j: Ints) -> Ints:
        """Return the classes of the two columns."""
        a, b = self.rows.column_classes[i], self.rows.column_classes[j]
        return np.stack([np.minimum(a, b), np.maximum(a, b)], axis=1)


class _AnyDifference(Rows):
    """A row that may differ by up to its weight between any two records that differ in one of the given attributes."""

    def __init__(self, block: Block) -> None:
        self.universe, self.rows, self._axes = block.universe, 1, block.axes

    @property
    def axes(self) -> tuple[int, ...]:
        """The attributes of the rounded rows."""
        return self._axes

    def moving(self, axis: int) -> Ints:
        n = self.universe.shape[axis]
        return np.arange(n, dtype=np.int64) if axis in self._axes else np.zeros(n, dtype=np.int64)

    def context(self, axis: int, *, uniform: bool) -> Ints:  # noqa: ARG002
        return np.zeros(self.universe.shape[axis], dtype=np.int64)

    def differs(self, i: Ints, j: Ints) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
        """Return which pairs may differ."""
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
        """Return None: no two records are known to differ most."""


@dataclass(frozen=True, eq=False)
class Rounding:
    """Possible rounding errors of the differences of a block: each entry is off by at most the bias."""

    block: Block
    largest: bool
    hidden: bool = True

    @cached_property
    def rows(self) -> _AnyDifference:
        """One row represents all rows of the block."""
        return _AnyDifference(self.block)

    @property
    def _most(self) -> Fraction:
        # Twice the bias in each row that can change.
        changed = 1 if self.largest else min(self.block.rows, self.block.width)
        return 2 * self.block.bias * changed

    @property
    def weights(self) -> Floats:
        return np.array([float(self._most)])

    def exact(self, i: int, j: int, *, largest: bool) -> Fraction:  # noqa: ARG002
        """Return the full possible rounding error, or 0 if the records do not differ."""
        return self._most if self.rows.differs(np.array([i]), np.array([j]))[0] else Fraction(0)

    def keys(self, i: Ints, j: Ints) -> Ints:
        """Return whether each pair may differ."""
        return self.rows.differs(i, j).astype(np.int64)[:, None]


class DeclaredRows:
    """The sum of |q_ki - q_kj| over all rows, or the largest, as a pseudometric; never below the declared differences.

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
        """Read queries, rows, or a workload (of which only the rounded rows are known)."""
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
        """The universe of possible records."""
        return self._universe

    @property
    def error(self) -> float:
        """Relative rounding error: a difference, a product and a sum for each row, each rounded once."""
        return (sum(p.rows.rows for p in self.pieces) + 8) * 2.0**-52

    @cached_property
    def terms(self) -> Terms:
        """One term per piece; for a largest row, one term of all known differences and one of the rounding errors."""
        seen, hidden = self._split()
        if not self.largest:
            return tuple(Term((part,)) for part in self._parts)
        return tuple(Term(tuple(parts)) for parts in (seen, hidden) if parts)

    def _split(self) -> tuple[list[LossPart], list[LossPart]]:
        found = list(zip(self.pieces, self._parts, strict=True))
        return [part for p, part in found if not p.hidden], [part for p, part in found if p.hidden]

    @cached_property
    def alternatives(self) -> tuple[Terms, ...]:
        """For a largest row without rounding errors, each part by itself; else all terms together."""
        seen, hidden = self._split()
        if not self.largest or hidden:
            return (self.terms,)
        return tuple((Term((part,)),) for part in seen)

    def pairwise(self, i: Ints, j: Ints) -> Floats:
        """Approximate losses of many pairs."""
        return np.asarray(sum((term.pairwise(i, j) for term in self.terms), np.zeros(len(i))), dtype=np.float64)

    def keys(self, i: Ints, j: Ints) -> Ints:
        """Return the keys of all pieces side by side."""
        return np.hstack([p.keys(i, j) for p in self.pieces])

    def exact(self, i: int, j: int) -> Fraction:
        """Return an upper bound on the declared difference."""
        return self._seen(i, j) + self._hidden(i, j)

    def at_least(self, i: int, j: int) -> Fraction:
        """Return a lower bound on the declared difference."""
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
    """A pseudometric divided by a scale, rounded up."""

    base: PseudoMetric
    scale: Fraction
    slack: ClassVar[Fraction] = Fraction(0)  # `exact` includes the slack of the base
    terms: ClassVar[Terms] = ()
    alternatives: ClassVar[None] = None

    @property
    def universe(self) -> Universe:
        """The universe of possible records."""
        return self.base.universe

    @property
    def error(self) -> float:
        """Relative rounding error: that of the base, and one division."""
        return self.base.error + 2.0**-50

    def pairwise(self, i: Ints, j: Ints) -> Floats:
        """Return approximate losses of many pairs."""
        return np.asarray(self.base.pairwise(i, j) / float(self.scale), dtype=np.float64)

    def exact(self, i: int, j: int) -> Exact:
        """Return the loss of one pair; distances round down, so their slack is added back."""
        value = self.base.exact(i, j)
        if value == float("inf"):
            return value
        return Fraction(value) * (1 + self.base.slack) / self.scale

    def keys(self, i: Ints, j: Ints) -> Ints:
        """Return the keys of the base."""
        return self.base.keys(i, j)


def declared(sensitivity: Any, metric: Metric) -> PseudoMetric:
    """Return a declared sensitivity as a pseudometric: from a number, rows, queries, or a pseudometric.

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
        raise UsageError("the sensitivity is declared over other records than those of the policy")
    return loss
