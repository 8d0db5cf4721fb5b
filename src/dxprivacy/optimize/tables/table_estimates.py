"""From noisy tables to consistent estimates of the asked ones: least squares, component by component.

Every measured table gives an unbiased estimate of each component that it informs (see `table_components`), and in one
component all tables have the same covariance up to a factor: so generalized least squares over everything that was
measured is the average of these estimates, weighted by `1 / (variance * rows)`.  An asked table is the sum of its
components; estimates of different tables therefore agree wherever they overlap.  The total is public, or, where it is
private, the component of no attributes, estimated like any other.  Nothing larger than a table is ever built.

By symmetry all cells of an asked table have the same distribution of noise: one variance, one excess kurtosis.
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

_NOTHING = 1e-40  # whole-number noise of such a variance is 0 but for a chance below it: it has no shape worth telling
_LARGEST = 1e60  # so that fourth powers stay within floats


class Reconstruction:
    """How the asked tables follow from the measured ones.

    `variances` and `cumulants` are the variance and the fourth cumulant of one draw of noise, per measured table; a
    variance of 0 is an exact table, which settles its components alone.  Where the noise of a table has another
    variance in each component, `by_component` tells it for a table and a component; infinite where others tell the
    same.  With `private_total` nothing is known of the number of records but what the tables tell.

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
            raise UsageError(f"variances above {_LARGEST:g} are not noise that anybody adds")
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
        """Per asked table the estimated counts, flat, in the order of its attributes as asked, the last one fastest.

        `total` is the public number of records, and must not be given where it is private.
        """
        if self.private_total == (total is not None):
            raise UsageError("a total is needed where it is public, and only there")
        known = 0 if total is None else whole_number(total, "the total")
        rows = self._checked_rows(noisy)
        sums: dict[Attributes, Floats] = {}
        for k, table in enumerate(self.tables):
            for s, fraction in self._sources[k]:
                found = fraction * self._component(table, rows[k], s)
                sums[s] = sums[s] + found if s in sums else found
        return [self._assembled(asked, sums, known) for asked in self.workload]

    def variance(self) -> list[float]:
        """Per asked table the variance of each cell's estimate."""
        found = []
        for asked in self.workload:
            table = self._proper(asked)
            parts = (math.prod(self.sizes[a] - 1 for a in s) * self._spread(s) for s in subsets(table, self._least))
            found.append(math.fsum(parts) / cells(self.sizes, table) ** 2)
        return found

    def excess(self) -> list[float]:
        """Per asked table the excess kurtosis of each cell's noise; 0 where there is none."""
        if self._cumulants is None:
            raise UsageError("the excess kurtosis needs the fourth cumulants of the noise")
        variances = self.variance()
        has = _memberships([t.attributes for t in self.tables], len(self.sizes))
        halves = _memberships([t.halved for t in self.tables], len(self.sizes))
        fourth = np.zeros(len(self.tables))
        for k, (table, v) in enumerate(zip(self.tables, self._variances, strict=True)):
            if (
                v > _NOTHING
            ):  # sum over the rows of (1 / (variance * rows))^4 times the cumulant, but for the cell's pattern
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
        """In increasing order, without attributes of one value."""
        return tuple(sorted(a for a in asked if self.sizes[a] > 1))

    def _weigh(self) -> tuple[list[list[tuple[Attributes, float]]], dict[Attributes, float]]:
        """Per table the components that it helps with and its budget in each; per component what is known of it."""
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
            raise QueryError(f"no measured table tells about {what}")
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
        """The components of the asked tables that a measured table tells about."""
        whole = tuple(a for a in table.whole if self.sizes[a] > 1)
        if 2.0 ** len(whole) > 4 * len(self._parts):  # a large table, of which few components are asked
            inside, least = set(table.attributes), set(table.halved)
            return [s for s in self._parts if least <= set(s) <= inside]
        found = (tuple(sorted(rest + table.halved)) for rest in subsets(whole))
        return [s for s in found if s in self._parts]

    def _spread(self, s: Attributes) -> float:
        """The inverse of what is known of a component."""
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
        """One component of one measured table, in the shape of the table over s."""
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
        """Of tables that share attributes with an asked one: a cell's coefficients to the fourth, summed over rows.

        A row's coefficient depends only on where it agrees with the cell, so 2^attributes cases stand for all rows; in
        units of the tables' weights to the fourth, and per row of the measured table.
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
        for k, a in enumerate(base):  # from (mean, contrast) along a to (another value, the cell's value)
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
