"""The cost of noise on counts of people, beside noise on counts and sums of rows."""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np

from dxprivacy.accounting.costs import LaplaceCost, RowsCost
from dxprivacy.accounting.people import part_of_people, people_reading
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.exact.numbers import Exact
from dxprivacy.metrics import Metric
from dxprivacy.model.terms import Part, Terms
from dxprivacy.model.workload import Workload


class PeopleCost(RowsCost):
    """Discrete Laplace noise on a workload of which some rows count people.

    Those take the same certified part of every distance, so the loss depends on the policy: L(i, j) of the rows, and
    that part of d(i, j).
    """

    largest = False
    may_count_people = True

    def __init__(self, workload: Workload, scales: Sequence[float] | Floats, metric: Metric) -> None:
        super().__init__(workload, scales)
        self.metric = metric
        rows = workload.of_rows
        self._rows = None if rows is None else LaplaceCost(rows, self.scales[~workload.counts_people])

    def with_scales(self, scales: Floats) -> "PeopleCost":
        return PeopleCost(self.workload, scales, self.metric)

    @property
    def of_rows(self) -> LaplaceCost | None:
        return self._rows

    @cached_property
    def flat(self) -> Exact:
        """The part of every distance that counts of people take."""
        return self._part(self.metric)

    def flat_under(self, metric: Metric) -> Exact:
        return self.flat if metric.digest == self.metric.digest else self._part(metric)

    def _part(self, metric: Metric) -> Exact:
        parts = [part_of_people(block, self._of(block.rows, start), metric) for block, start in self.workload.people]
        return math.inf if math.inf in parts else sum((Fraction(part) for part in parts), Fraction(0))

    @cached_property
    def of_people(self) -> float:
        return math.fsum(people_reading(b, self._of(b.rows, start)) for b, start in self.workload.people)

    def _of(self, rows: int, start: int) -> Floats:
        return self.scales[start : start + rows]

    @property
    def error(self) -> float:
        """The rows', and two roundings."""
        return (0.0 if self._rows is None else self._rows.error) + self.metric.error + 2.0**-50

    @property
    def parts(self) -> tuple[Part, ...]:
        return () if self._rows is None else self._rows.parts

    @property
    def terms(self) -> Terms:
        """Those of the rows: what people add is the same part of every distance."""
        return () if self._rows is None else self._rows.terms

    @property
    def alternatives(self) -> tuple[Terms, ...]:
        return (self.terms,)

    def pairwise(self, i: Ints, j: Ints) -> Floats:
        own = np.zeros(len(i)) if self._rows is None else self._rows.pairwise(i, j)
        return np.asarray(own + float(self.flat) * self.metric.pairwise(i, j), dtype=np.float64)

    def keys(self, i: Ints, j: Ints) -> Ints:
        return self.universe.keys(i, j)

    def exact(self, i: int, j: int) -> Exact:
        own = Fraction(0) if self._rows is None else self._rows.exact(i, j)
        return own + self.flat * self.metric.exact(i, j) if i != j else own

    @cached_property
    def identity(self) -> tuple[str, str, bytes]:
        name, digest, scales = super().identity
        return name, f"{digest} {self.metric.digest}", scales


def laplace_cost(workload: Workload, scales: Sequence[float] | Floats, metric: Metric) -> LaplaceCost | PeopleCost:
    """What noise of these scales costs under a policy."""
    return PeopleCost(workload, scales, metric) if workload.people else LaplaceCost(workload, scales)
