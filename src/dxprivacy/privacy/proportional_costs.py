"""The cost of noise on what is accounted as a whole (counts of people, maps), beside noise on other rows."""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.exact.rounding import Exact
from dxprivacy.metrics import Metric
from dxprivacy.metrics.with_other import WithAbsent, present
from dxprivacy.privacy.costs import LaplaceCost, RowsCost
from dxprivacy.privacy.proportional_blocks import whole_of
from dxprivacy.privacy.proportional_loss import PRESENCE, Flat
from dxprivacy.universe.loss_terms import Part, Terms
from dxprivacy.universe.workload import Workload


class WholesCost(RowsCost):
    """Discrete Laplace noise on a workload of which some blocks are accounted as a whole.

    Those take certified parts of distances, so the loss depends on the policy: L(i, j) of the other rows, and these
    parts of d(i, j).
    """

    largest = False
    may_have_wholes = True

    def __init__(self, workload: Workload, scales: Sequence[float] | Floats, metric: Metric) -> None:
        super().__init__(workload, scales)
        self.metric = metric
        rows = workload.by_pairs
        self._rows = None if rows is None else LaplaceCost(rows, self.scales[~workload.in_wholes])

    def with_scales(self, scales: Floats) -> "WholesCost":
        return WholesCost(self.workload, scales, self.metric)

    @property
    def wholes(self) -> frozenset[str]:
        return frozenset(whole_of(block).called for block, _ in self.workload.wholes)

    @property
    def by_pairs(self) -> LaplaceCost | None:
        return self._rows

    @cached_property
    def flat(self) -> Flat:
        """The parts of distances that counts of people and maps take."""
        return self._part(self.metric)

    def flat_under(self, metric: Metric) -> Flat:
        return self.flat if metric.digest == self.metric.digest else self._part(metric)

    def _part(self, metric: Metric) -> Flat:
        parts = [whole_of(block).part(self._of(block.rows, start), metric) for block, start in self.workload.wholes]
        return sum(parts, Flat())

    @cached_property
    def of_wholes(self) -> float:
        return math.fsum(whole_of(b).reading(self._of(b.rows, start)) for b, start in self.workload.wholes)

    def _of(self, rows: int, start: int) -> Floats:
        return self.scales[start : start + rows]

    @property
    def error(self) -> float:
        """The rows', and two roundings for each attribute."""
        return (
            (0.0 if self._rows is None else self._rows.error)
            + self.metric.error
            + 2.0**-50 * (1 + len(self.flat.along))
        )

    @property
    def parts(self) -> tuple[Part, ...]:
        return () if self._rows is None else self._rows.parts

    @property
    def terms(self) -> Terms:
        """Those of the rows: what is accounted as a whole adds the same part of every distance along an attribute."""
        return () if self._rows is None else self._rows.terms

    @property
    def alternatives(self) -> tuple[Terms, ...]:
        return (self.terms,)

    def pairwise(self, i: Ints, j: Ints) -> Floats:
        own = np.zeros(len(i)) if self._rows is None else self._rows.pairwise(i, j)
        return own + taken(self.flat, self.metric, i, j)

    def keys(self, i: Ints, j: Ints) -> Ints:
        return self.universe.keys(i, j)

    def exact(self, i: int, j: int) -> Exact:
        own = Fraction(0) if self._rows is None else self._rows.exact(i, j)
        flat = self.flat
        if i == j:
            return own
        total = own + (flat.everywhere * self.metric.exact(i, j) if flat.everywhere else 0)
        return total + self._along(i, j) if flat.along else total

    def per_person(self, i: int, j: int) -> Exact:
        """A whole is charged a part of every distance, but it never loses more than its own reading."""
        own = Fraction(0) if self._rows is None else self._rows.exact(i, j)
        if i == j or own == math.inf:
            return own
        each, most = self.universe.rows_each, self.of_wholes
        charged = (self.exact(i, j) - own) * each
        return own * each + min(charged, most if most == math.inf else Fraction(most))

    def _along(self, i: int, j: int) -> Exact:
        along, absent = self.flat.along, self.universe.absent
        once = (
            along.get(PRESENCE, Fraction(0)) * self.metric.radius if isinstance(self.metric, WithAbsent) else math.inf
        )
        if absent in (i, j):
            return once
        total: Exact = Fraction(0)
        for axis, metric in enumerate(present(self.metric).axes or ()):
            stride, size = self.universe.strides[axis], self.universe.shape[axis]
            if along.get(axis):
                total += along[axis] * metric.exact(i // stride % size, j // stride % size)
        return min(total, 2 * once)

    @cached_property
    def identity(self) -> tuple[str, str, bytes]:
        name, digest, scales = super().identity
        return name, f"{digest} {self.metric.digest}", scales


def taken(flat: Flat, metric: Metric, i: Ints, j: Ints) -> Floats:
    """What parts of distances come to for many pairs."""
    universe, absent = metric.universe, metric.universe.absent
    total = _times(float(flat.everywhere), metric.pairwise(i, j))
    if not flat.along:
        return total
    there = np.arange(len(i)) if absent is None else np.flatnonzero((i != absent) & (j != absent))
    more = np.zeros(len(i))
    for axis, own in enumerate(present(metric).axes or ()):
        u, v = (universe.along(axis, x[there]) for x in (i, j))
        more[there] += _times(float(flat.along.get(axis, 0)), own.pairwise(u, v))
    if isinstance(metric, WithAbsent):
        once = float(flat.along.get(PRESENCE, 0)) * float(metric.radius)
        more = np.minimum(more, 2 * once)
        more[(i == absent) != (j == absent)] = once
    return total + more


def _times(part: float, distances: Floats) -> Floats:
    """Nothing of an infinite distance is nothing."""
    return np.asarray(part * distances if part else np.zeros(len(distances)), dtype=np.float64)


def laplace_cost(workload: Workload, scales: Sequence[float] | Floats, metric: Metric) -> LaplaceCost | WholesCost:
    """What noise of these scales costs under a policy."""
    return WholesCost(workload, scales, metric) if workload.wholes else LaplaceCost(workload, scales)
