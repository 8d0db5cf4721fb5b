"""Consistent estimates of workload tables from noisy ones: generalized least squares, component by component.

Every measured table gives an unbiased estimate of each component that it informs (see `table_components`), and in one
component all tables have the same covariance up to a factor.  So generalized least squares over all measurements is the
average of these estimates, weighted by `1 / (variance * rows)`.  A workload table is the sum of its components;
therefore estimates of different tables agree where they overlap.  The total is public or, if it is private, the
component of no attributes, estimated like any other.  Nothing larger than a table is built.

By symmetry, all counts of a workload table have the same noise distribution: one variance, one excess kurtosis.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from dxprivacy.errors import QueryError, UsageError
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.optimize.tables.measured_table import (
    MeasuredTable,
    cells,
    checked_attributes,
    checked_positive,
    checked_sizes,
    whole_number,
)
from dxprivacy.optimize.tables.table_components import Attributes, components, subsets

_NOTHING = 1e-40  # integer noise of a smaller variance is 0 except with a smaller probability: its shape is irrelevant
_LARGEST = 1e60  # fourth powers of smaller numbers fit into floats


class Reconstruction:
    """The estimator of workload tables from measured tables.

    `variances` and `cumulants` are the variance and the fourth cumulant of one draw of noise, for each measured table.
    A table of variance 0 is exact and alone determines its components.  If the noise variance of a table differs
    between components, `by_component` returns it for a table and a component (infinite if other tables have the same
    information).  With `private_total`, the number of records is known only from the tables.

    >>> answers = Reconstruction((2, 3), [(0,), (0, 1)], [MeasuredTable((0,), (0,)), MeasuredTable((0, 1))], [1.0, 1.0])
    >>> [t.round(9).tolist() for t in answers.estimate([np.array([-2]), np.array([1, 0, 0, 0, 2, 1])], 4)]
    [[1.0, 3.0], [1.0, 0.0, 0.0, 0.0, 2.0, 1.0]]
    >>> [round(v, 4) for v in answers.variance()]
    [0.2143, 0.6905]
    >>> alone = Reconstruction((2,), [(0,), ()], [MeasuredTable((0,))], [1.0], private_total=True)
    >>> [t.tolist() for t in alone.estimate([np.array([3, 5])])], alone.variance()
    ([[3.0, 5.0], [8.0]], [1.0, 2.0])
    """

    def __init__(
        self,
        sizes: Sequence[int],
        workload: Sequence[Sequence[int]],
        tables: Sequence[MeasuredTable],
        variances: Sequence[float],
        cumulants: Sequence[float] | None = None,
        *,
        by_component: Callable[[int, Attributes], float] | None = None,
        private_total: bool = False,
    ) -> None:
        self.sizes = checked_sizes(sizes)
        self.workload = tuple(checked_attributes(t, self.sizes) for t in workload)
        self.tables = tuple(tables)
        for table in self.tables:
            table.check(self.sizes)
        spread = checked_positive(variances, "variances", len(self.tables), zero=True)
        if max(spread, default=0.0) > _LARGEST:
            raise UsageError(f"variances must be at most {_LARGEST:g}")
        self._variances = spread
        self._cumulants = None
        if cumulants is not None:
            self._cumulants = checked_positive(cumulants, "fourth cumulants", len(self.tables), zero=True)
        self._by_component = by_component
        self.private_total = private_total
        self._least = 0 if private_total else 1
        self._parts = frozenset(components([self._proper(w) for w in self.workload], self._least))
        self._sources, self._known = self._weigh()

    def estimate(self, noisy: Sequence[ArrayLike], total: int | None = None) -> list[Floats]:
        """Return the estimated counts of each workload table, flat, in the order of its attributes, the last fastest.

        `total` is the public number of records; it must not be given if that is private.
        """
        if self.private_total == (total is not None):
            raise UsageError("a total must be given if it is public, and only then")
        known = 0 if total is None else whole_number(total, "the total")
        rows = self._checked_rows(noisy)
        sums: dict[Attributes, Floats] = {}
        for k, table in enumerate(self.tables):
            for s, fraction in self._sources[k]:
                found = fraction * self._component(table, rows[k], s)
                sums[s] = sums[s] + found if s in sums else found
        return [self._assembled(asked, sums, known) for asked in self.workload]

    def variance(self) -> list[float]:
        """Return for each workload table the variance of one estimated count."""
        found = []
        for asked in self.workload:
            table = self._proper(asked)
            parts = (math.prod(self.sizes[a] - 1 for a in s) * self._spread(s) for s in subsets(table, self._least))
            found.append(math.fsum(parts) / cells(self.sizes, table) ** 2)
        return found

    def excess(self) -> list[float]:
        """Return for each workload table the excess kurtosis of the noise of one count; 0 without noise."""
        if self._cumulants is None:
            raise UsageError("the excess kurtosis needs the fourth cumulants of the noise")
        variances = self.variance()
        has = _memberships([t.attributes for t in self.tables], len(self.sizes))
        halves = _memberships([t.halved for t in self.tables], len(self.sizes))
        fourth = np.zeros(len(self.tables))
        for k, (table, v) in enumerate(zip(self.tables, self._variances, strict=True)):
            if (
                v > _NOTHING
            ):  # sum over the rows of (1 / (variance * rows))^4 times the cumulant, without the count's pattern
                n = table.rows(self.sizes)
                fourth[k] = self._cumulants[k] / (v * n) ** 4 * n
        found = []
        for asked, variance in zip(self.workload, variances, strict=True):
            proper = self._proper(asked)
            use = (halves[:, list(proper)].sum(axis=1) == halves.sum(axis=1)) & (fourth > 0)
            bits = 1 << np.arange(len(proper))
            code = has[:, list(proper)] @ bits + (halves[:, list(proper)] @ bits << len(proper))
            patterns, which = np.unique(code[use], return_inverse=True)
            amounts = np.bincount(which, fourth[use], minlength=len(patterns))
            parts = [
                amount * self._fourth_powers(proper, int(pattern))
                for pattern, amount in zip(patterns, amounts, strict=True)
            ]
            found.append(math.fsum(parts) / variance**2 if variance > _NOTHING else 0.0)
        return found

    def _proper(self, asked: Attributes) -> Attributes:
        """Return the attributes in increasing order, without those of one value."""
        return tuple(sorted(a for a in asked if self.sizes[a] > 1))

    def _weigh(self) -> tuple[list[list[tuple[Attributes, float]]], dict[Attributes, float]]:
        """Return for each table its components with its weight in each, and for each component the total precision."""
        informs: dict[Attributes, list[tuple[int, float, bool]]] = {}
        for k, table in enumerate(self.tables):
            n = table.rows(self.sizes)
            for s in self._informed(table):
                v = self._variances[k] if self._by_component is None else self._by_component(k, s)
                if v == math.inf:
                    continue
                informs.setdefault(s, []).append((k, 1 / n if v == 0 else 1 / (v * n), v == 0))
        missing = sorted(self._parts.difference(informs), key=lambda s: (len(s), s))
        if missing:
            what = f"the attributes {missing[0]} together" if missing[0] else "the number of records"
            raise QueryError(f"no measured table informs {what}")
        sources: list[list[tuple[Attributes, float]]] = [[] for _ in self.tables]
        known = {}
        for s, found in informs.items():
            exact = any(e for _, _, e in found)
            used = [(k, weight) for k, weight, e in found if e or not exact]
            everything = math.fsum(weight for _, weight in used)
            known[s] = math.inf if exact else everything
            for k, weight in used:
                sources[k].append((s, weight / everything))
        return sources, known

    def _informed(self, table: MeasuredTable) -> list[Attributes]:
        """Return the components of workload tables that a measured table informs."""
        whole = tuple(a for a in table.whole if self.sizes[a] > 1)
        if 2.0 ** len(whole) > 4 * len(self._parts):  # a large table, few of whose components matter
            inside, least = set(table.attributes), set(table.halved)
            return [s for s in self._parts if least <= set(s) <= inside]
        found = (tuple(sorted(rest + table.halved)) for rest in subsets(whole))
        return [s for s in found if s in self._parts]

    def _spread(self, s: Attributes) -> float:
        """Return the variance factor of a component: the inverse of its precision."""
        return 1 / self._known[s]

    def _checked_rows(self, noisy: Sequence[ArrayLike]) -> list[Floats]:
        if len(noisy) != len(self.tables):
            raise UsageError(f"{len(self.tables)} measured tables are needed, {len(noisy)} were given")
        found = []
        for table, given in zip(self.tables, noisy, strict=True):
            try:
                rows = np.asarray(given, dtype=np.float64)
            except (TypeError, ValueError):
                raise UsageError(f"the rows of the table over {table.attributes} must be numbers") from None
            if rows.size != table.rows(self.sizes):
                wanted = table.rows(self.sizes)
                raise UsageError(f"the table over {table.attributes} has {wanted} rows, {rows.size} were given")
            if not np.isfinite(rows).all():
                raise UsageError(f"the rows of the table over {table.attributes} must be finite")
            found.append(rows.reshape([1 if a in table.halved else self.sizes[a] for a in table.attributes]))
        return found

    def _component(self, table: MeasuredTable, rows: Floats, s: Attributes) -> Floats:
        """Return one component of a measured table, in the shape of the table over s."""
        axis = {a: k for k, a in enumerate(table.attributes)}
        part = rows.sum(axis=tuple(axis[a] for a in table.attributes if a not in s), keepdims=True)
        for a in s:
            if a in table.halved:
                part = np.concatenate([part / 2, -part / 2], axis=axis[a])
            else:
                part = part - part.mean(axis=axis[a], keepdims=True)
        return np.asarray(part.reshape([self.sizes[a] for a in s]), dtype=np.float64)

    def _assembled(self, asked: Attributes, sums: dict[Attributes, Floats], total: int) -> Floats:
        table = self._proper(asked)
        n = cells(self.sizes, table)
        found = np.full([self.sizes[a] for a in table], total / n)
        for s in subsets(table, self._least):
            shape = [self.sizes[a] if a in s else 1 for a in table]
            found = found + sums[s].reshape(shape) * (cells(self.sizes, s) / n)
        order = [table.index(a) for a in asked if self.sizes[a] > 1]
        return np.ascontiguousarray(found.transpose(order)).reshape(-1)

    def _fourth_powers(self, asked: Attributes, pattern: int) -> float:
        """Return the sum over rows of the fourth power of a count's coefficients, for tables with shared attributes.

        A coefficient depends only on the attributes in which the row agrees with the count, so 2^attributes cases cover
        all rows.  The result is in units of the fourth power of the tables' weights, per row of the measured table.
        """
        inside = [a for k, a in enumerate(asked) if pattern >> k & 1]
        halves = tuple(a for k, a in enumerate(asked) if pattern >> len(asked) + k & 1)
        base = tuple(a for a in inside if a not in halves)
        n = cells(self.sizes, asked) * 2 ** len(halves)
        values = np.zeros(1 << len(base))
        for at in range(len(values)):
            s = tuple(a for a in inside if a in halves or at >> base.index(a) & 1)
            if s or self.private_total:
                values[at] = self._spread(s) * cells(self.sizes, s) / n
        counts = np.ones(1)
        for k, a in enumerate(base):  # from (mean, contrast) along a to (another value, the count's value)
            both = values.reshape(-1, 2, 1 << k)
            both[:, 0] -= both[:, 1] / self.sizes[a]
            both[:, 1] += both[:, 0]
            counts = np.concatenate([counts * (1 - 1 / self.sizes[a]), counts / self.sizes[a]])
        return float(values**4 @ counts)


def _memberships(sets: Sequence[Attributes], attributes: int) -> Ints:
    found = np.zeros((len(sets), attributes), dtype=np.int64)
    for k, members in enumerate(sets):
        found[k, list(members)] = 1
    return found
