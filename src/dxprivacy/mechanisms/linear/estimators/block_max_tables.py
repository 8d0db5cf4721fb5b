"""Tables with block-max noise: a record changes all of them, each gets the whole budget, and one distribution covers
all.

Release B_g x + z_g for tables g over different attributes, where z_g is integer, sum z_g = 0 (the number of records is
public), and P(z) is proportional to exp(-max_g N(z_g) / s_g), N(z) = |z|_1 / 2. The normalizing factor does not depend
on x, and N satisfies the triangle inequality. Replacing a record i by j moves one unit in every table that separates
the two, so N = 1, and changes nothing in the others. So the probability of any output changes by at most

    L(i, j) = max over the tables that separate i and j of 1 / s_g = max over all rows k of |B_ki - B_kj| / s_k,

which is the largest loss of a table, not the sum (`BlockMaxCost`; the K-norm mechanism of the norm max N / s). The
noise of each table grows with the dimension of all. So if budgets of attributes add up, or there is only one table,
independent noise for each table is better.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from dxprivacy.errors import NotCertified
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.mechanisms.linear.estimators.least_squares import Component, components, rows_of
from dxprivacy.mechanisms.linear.estimators.measured import Measured
from dxprivacy.mechanisms.linear.noise.noise_distributions import Agreeing, Known, Laplace, Peaked
from dxprivacy.mechanisms.linear.strategies.separated_records import representatives
from dxprivacy.mechanisms.sampling.block_max_noise import BlockMax, TooLong, block_max
from dxprivacy.mechanisms.sampling.system_noise import Noise
from dxprivacy.metrics import Metric
from dxprivacy.optimize.k_norm.block_max_moments import spreads
from dxprivacy.privacy.costs import BlockMaxCost
from dxprivacy.queries.asked import Stack
from dxprivacy.universe.answers import Distribution
from dxprivacy.universe.workload import Workload

MOST_CELLS = 1_500
_LEAST = 1e-3  # smaller scales count as no noise: sampling would need too many digits
_ROOM = 1 << 62


class BlockMaxTables(Measured):
    """Tables with block-max noise; the workload consists of sums of their bins."""

    how = "block-max"
    note = "answers are sums of noisy cells, and those of one attribute add up: they are whole"

    def __init__(self, asked: Workload, queries: Stack) -> None:
        super().__init__(asked, queries)
        if asked.universe.absent is not None or asked.universe.people is not None:
            raise NotCertified(
                "block-max noise needs a public number of records, and one row for each person",
                hints=['method="optimal"'],
            )

    def cost(self, scales: Sequence[float] | Floats, metric: Metric) -> BlockMaxCost:  # noqa: ARG002
        """The largest loss of a table."""
        self._scales([float(s) for s in scales])
        return BlockMaxCost(self.workload, scales)

    @cached_property
    def tables(self) -> "tuple[_BlockTable, ...]":
        """One table per component of attributes that rows connect; every measured row is a bin of one."""
        found = tuple(_BlockTable.of(self, part) for part in components(self.asked.blocks, self.workload.blocks))
        if sum(len(table.counted) for table in found) != self.workload.rows:
            raise NotCertified(
                "block-max noise is for counts that separate records: the number of all records is public"
            )
        if len(found) < 2:
            raise NotCertified(
                "block-max noise needs at least two tables",
                hints=[('method="k-norm"', "noise of one table that adds up")],
            )
        return found

    def distributions(self, scales: Sequence[float]) -> tuple[Distribution, ...]:
        """The noise distributions of sums over bins; constant rows have none.

        The bins of a table are exchangeable and add up to 0: a sum of p of n bins has the variance v p (n - p) / (n -
        1). For two bins the whole distribution is known; for more, widths follow from the variance.
        """
        own = self._scales(scales)
        kind = Agreeing if len(set(own)) == 1 else Peaked
        out: list[Distribution] = [Laplace(0.0)] * self.asked.rows
        known: dict[tuple[float, int, int], Distribution] = {}
        for table, noise in zip(self.tables, spreads([t.cells for t in self.tables], own), strict=True):
            for row, (step, p) in zip(table.asked.tolist(), table.sums, strict=True):
                spread = noise.variance * step**2 * p * (table.cells - p) / (table.cells - 1)
                spread = float(f"{spread:.10g}")  # late digits are rounding errors: equal variances shall compare equal
                key = spread, step, len(noise.beyond)
                if step and key not in known:
                    known[key] = Known(spread, noise.beyond, step) if noise.beyond else kind(spread, step, step)
                if step:
                    out[row] = known[key]
        return tuple(out)

    def noises(self, scales: Sequence[float]) -> list[float]:
        """The variance of every bin, which is larger than independent noise of its scale would have."""
        out = [0.0] * self.workload.rows
        found = spreads([table.cells for table in self.tables], self._scales(scales))
        for table, noise in zip(self.tables, found, strict=True):
            for row in table.counted.tolist():
                out[row] = noise.variance
        return out

    def estimate(self, noisy: Ints, scales: Sequence[float], records: int) -> "list[int | float | Fraction]":  # noqa: ARG002
        """Sums of noisy bins; a constant row gives a multiple of the number of records."""
        first = self.asked.columns(np.zeros(1, dtype=np.int64))[:, 0]
        out: list[int | float | Fraction] = [int(x) * records for x in first.tolist()]
        for table in self.tables:
            for row, value in zip(table.asked.tolist(), table.added(noisy), strict=True):
                out[row] = value
        return out

    def drawn(self, scales: Floats, noise: Noise) -> Ints:
        """The noise of every bin: exactly sampled from one distribution for all tables."""
        self.prepare(scales.tolist())  # usually cached
        out = np.zeros(self.workload.rows, dtype=np.int64)
        out[np.concatenate([table.counted for table in self.tables])] = noise.together(
            self._distribution(scales.tolist())
        )
        return out

    def prepare(self, scales: Sequence[float]) -> None:
        """Build the table of levels that noise is drawn from, before anything is spent."""
        try:
            self._distribution(scales).prepare()
        except TooLong:
            raise too_wide() from None

    def _distribution(self, scales: Sequence[float]) -> BlockMax:
        return block_max(tuple(table.cells for table in self.tables), tuple(self._scales(scales)))

    def _scales(self, scales: Sequence[float]) -> list[float]:
        """The scale of each table; raises if its rows have different ones."""
        out: list[float] = []
        for table in self.tables:
            mine = {scales[row] for row in table.counted.tolist()}
            if len(mine) > 1 or not all(_LEAST < s < math.inf for s in mine):
                raise NotCertified(
                    "block-max noise needs one positive scale for each table", hints=['method="optimal"']
                )
            out += mine
        return out


def too_wide() -> NotCertified:
    """Return the error for noise with too many levels."""
    return NotCertified(
        "block-max noise would be so wide that its table of levels gets too long",
        hints=[('method="matrix"', "independent noise, of any scale")],
    )


@dataclass(frozen=True, eq=False)
class _BlockTable:
    """A component: its workload rows over its bins, and the measured row that counts each bin."""

    asked: Ints
    counted: Ints  # by bin
    wanted: Ints

    @classmethod
    def of(cls, whole: BlockMaxTables, part: Component) -> "_BlockTable":
        asked = [whole.asked.blocks[b] for b in part.asked]
        counted = [whole.workload.blocks[b] for b in part.counted]
        if not counted:
            raise NotCertified("no measured row belongs to these queries", hints=['method="optimal"'])
        cells = representatives([*asked, *counted], part.axes)
        if len(cells) > MOST_CELLS:
            raise NotCertified("too many bins for block-max noise", hints=['method="optimal"'])
        rows = np.vstack([b.columns(cells) for b in counted])
        counts = ((rows == 0) | (rows == 1)).all() and all(b.unit == 1 for b in counted)
        if not counts or (rows.sum(axis=0) != 1).any() or (rows.sum(axis=1) != 1).any():
            raise NotCertified("block-max noise needs tables that count every bin once, and nothing else")
        wanted = np.vstack([np.zeros((0, len(cells)), dtype=np.int64), *(b.columns(cells) for b in asked)])
        found = cls(
            rows_of(whole.asked, part.asked), rows_of(whole.workload, part.counted)[rows.argmax(axis=0)], wanted
        )
        if any(len(set(row)) > 2 for row in wanted.tolist()):
            raise NotCertified(
                "block-max noise answers counts: rows with other numbers need independent noise",
                hints=['method="optimal"'],
            )
        return found

    @property
    def cells(self) -> int:
        """The number of bins."""
        return len(self.counted)

    @cached_property
    def sums(self) -> list[tuple[int, int]]:
        """For each workload row, the difference of its two entries, and the number of bins with the larger one."""
        low, high = self.wanted.min(axis=1), self.wanted.max(axis=1)
        return list(zip((high - low).tolist(), (self.wanted == high[:, None]).sum(axis=1).tolist(), strict=True))

    def added(self, noisy: Ints) -> list[int]:
        """The workload rows as sums of noisy bins, without rounding."""
        cells = noisy[self.counted]
        most = int(np.abs(self.wanted).max(initial=0)) * sum(abs(x) for x in cells.tolist())
        wanted = self.wanted if most < _ROOM else self.wanted.astype(object)
        return [int(x) for x in (wanted @ cells).tolist()]
