"""A declared sensitivity as a loss: `D(i, j) / c`, to be compared with a policy.

How far a score moves when record i is replaced by j is known for rows; for any other score somebody has to declare it,
and answers for it.  What was declared is certified against the policy all the same.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from dxprivacy.errors import UsageError
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.exact.rounding import Exact, exact
from dxprivacy.metrics import Metric, PseudoMetric
from dxprivacy.metrics.closed_forms import Constant
from dxprivacy.privacy.costs import LaplaceCost, SelectionCost, SumCost
from dxprivacy.privacy.declared_rows import DeclaredRows
from dxprivacy.queries.asked import Stack
from dxprivacy.queries.kinds.matrix_query import Matrix
from dxprivacy.queries.query import Question
from dxprivacy.universe.loss_terms import Terms
from dxprivacy.universe.universe import Universe
from dxprivacy.universe.workload import Workload


@dataclass(frozen=True, eq=False)
class Scaled:
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
    """How far scores move, as a pseudometric: from a number, rows, questions, or a pseudometric over the records.

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
    if isinstance(sensitivity, (Metric, LaplaceCost, SelectionCost, SumCost, Scaled)):
        return _same_universe(sensitivity, metric)
    if isinstance(sensitivity, Workload):
        return _same_universe(DeclaredRows.of(sensitivity, sensitivity.universe, largest=True), metric)
    if isinstance(sensitivity, (Question, Matrix, Stack, np.ndarray, list, tuple)) or hasattr(sensitivity, "tocsc"):
        return DeclaredRows.of(sensitivity, metric.universe, largest=True)
    number = Fraction(exact(sensitivity, what="sensitivity"))
    if number < 0:
        raise UsageError(f"sensitivity is {sensitivity}; it is at least 0")
    return Constant(metric.universe, number)


def _same_universe(loss: PseudoMetric, metric: Metric) -> PseudoMetric:
    if loss.universe != metric.universe:
        raise UsageError("the sensitivity is declared over other records than the policy's")
    return loss
