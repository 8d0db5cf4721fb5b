"""Facts of an MWEM run, decided without data: the rounds, and the noise of every selection and measurement.

The budget is divided evenly into 2T steps: T selections and T measurements. A selection among rows costs the largest of
their losses (Theorem 3 of the paper). So each row has the least scale that its own pairs allow, and one certificate
covers all steps: `max_k |A_ki - A_kj| / s_k <= part * d(i, j)` is the loss of a selection with weights exp(u_k / (2
s_k)), and an upper bound on the loss of measuring any one row with scale s_k. 2T such steps stay within the budget on
every pair, whatever is selected (Theorem 7, adaptively).
"""

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.formats.canonical import digest_of
from dxprivacy.mechanisms.mwem.weights import row_spans
from dxprivacy.mechanisms.planned import Facts
from dxprivacy.mechanisms.synthesis.histogram_answers import Projection
from dxprivacy.metrics import Metric
from dxprivacy.privacy.certificate import Certificate, certify
from dxprivacy.privacy.costs import LaplaceCost, SelectionCost
from dxprivacy.queries.asked import Asked, Stack
from dxprivacy.queries.strategy_rows import Picked
from dxprivacy.universe.workload import Workload
from dxprivacy.wording import digits

# -- The error bound of MWEM (Theorem 8 of the paper, corrected), and the number of rounds that minimizes it -----------
# Let rows have a unit range, and let each change by at most c d(i, j). Then T rounds of Algorithm 2 as corrected (one
# update each, from the uniform histogram, the average of the histograms before each round) answer every row within `2 n
# sqrt(ln N / T) + 10 T c ln |Q|`, except with probability `2 T / |Q|` (Hardt, Ligett, McSherry 2012, Theorem 2.2).
#
# Corrected: the printed T makes the two terms equal, which is not the minimum; T is an integer; and if 2 T / |Q| is at
# least 1, the statement is vacuous, so none is made.


@dataclass(frozen=True)
class ErrorBound:
    """The theorem's guarantee: every answer is within `error` range units, except with probability `failure`."""

    error: float
    failure: float
    records: int

    @property
    def vacuous(self) -> bool:
        """Whether it is vacuous: it may always fail, or any histogram answers within n."""
        return self.failure >= 1 or self.error >= self.records

    def __str__(self) -> str:
        if self.failure >= 1:
            return f"no error bound: the theorem's would fail with probability {digits(self.failure)}, so says nothing"
        if self.error >= self.records:
            return f"no error bound: the theorem's, {digits(self.error)}, is above the number of records"
        return (
            f"every answer is within {digits(self.error)} times its range "
            f"(with probability {digits(1 - self.failure)}, by theorem)"
        )


def error_bound(records: int, cells: int, rows: int, c: float, rounds: int) -> ErrorBound:
    """Return the bound for this number of rounds.

    >>> round(error_bound(1_000_000, 100, 1000, 1.0, 50).error)
    610425
    """
    return ErrorBound(_bound(records, cells, rows, c, rounds), 2 * rounds / rows, records)


def _bound(records: int, cells: int, rows: int, c: float, rounds: int) -> float:
    return 2 * records * math.sqrt(math.log(cells) / rounds) + 10 * rounds * c * math.log(rows)


def best_rounds(records: int, cells: int, rows: int, c: float) -> int:
    """Return the integer number of rounds with the least bound.

    The bound falls, then rises: its derivative is 0 at T = (n sqrt(ln N) / (10 c ln |Q|))^(2/3), and the best integer
    is next to it.

    >>> best_rounds(1_000_000, 100, 1000, 1.0)
    988
    """
    if rows < 2 or cells < 2 or not c > 0:
        return 1  # one row is measured once; one possible record leaves nothing to find out
    best = (records * math.sqrt(math.log(cells)) / (10 * c * math.log(rows))) ** (2 / 3)
    beside = {max(1, math.floor(best)), max(1, math.ceil(best))}
    return int(min(beside, key=lambda t: (_bound(records, cells, rows, c, t), t)))


# -- Facts of an MWEM run, decided without data ------------------------------------------------------------------------


_BUDGET_GRID = 1 << 60  # the ledger's grid: budgets on it add up without rounding


@dataclass(frozen=True, eq=False, kw_only=True)
class MwemFacts(Facts):
    """A certified run of MWEM; making it spends nothing."""

    queries: Stack
    workload: Workload
    metric: Metric = field(repr=False)
    records: int
    rounds: int
    budget: Fraction
    scales: Floats = field(repr=False)  # per row, on the grid; 0 if the policy sets no limit
    selection_scales: Floats = field(repr=False)
    why: str  # the reason for the number of rounds
    passes: int = 0
    averaged: bool = False
    again: bool = False  # whether a row may be measured twice
    start: Floats | None = field(default=None, repr=False)
    title: str = ""
    dataset: str = ""

    @property
    def part(self) -> Fraction:
        """The fraction of the policy that one step may use."""
        return step_part(self.budget, self.rounds)

    @property
    def granted(self) -> Fraction:
        return self.part

    @property
    def steps(self) -> int:
        """The number of selections and measurements."""
        return 2 * self.rounds

    @cached_property
    def spans(self) -> Floats:
        """The range of each row."""
        return row_spans(self.workload)

    @cached_property
    def candidates(self) -> Ints:
        """Rows that need noise to be measured; constant rows carry no information, and the others are public."""
        return np.flatnonzero((self.scales > 0) & (self.spans > 0))

    @cached_property
    def public(self) -> Ints:
        """Rows that vary only where the policy makes the difference public: they are known exactly, at no cost."""
        return np.flatnonzero((self.scales == 0) & (self.spans > 0))

    @cached_property
    def selection(self) -> SelectionCost:
        """The cost of each selection."""
        return SelectionCost(self.workload, self.selection_scales)

    @cached_property
    def certificate(self) -> Certificate:
        """The proof that every step, selection or measurement, stays within its part; computed from the scales
        themselves.

        A measurement has the loss of one row, and a selection the largest loss of all rows. So no step exceeds the
        largest loss of a row at the smaller of its two scales.
        """
        return replace(certify(self.dearest_step, self.metric), norm="linf")

    @cached_property
    def dearest_step(self) -> SelectionCost:
        """An upper bound on the cost of any step: a selection among all rows, each at the smaller of its scales."""
        return SelectionCost(self.workload, np.minimum(self.scales, self.selection_scales))

    @cached_property
    def projection(self) -> Projection:
        """The rows as a map on float histograms."""
        return Projection(self.workload)

    def pick(self, row: int) -> Picked:
        """Return one row as a query of its own."""
        query, first = self._asked[int(np.searchsorted(self._firsts, row, side="right")) - 1]
        return query if isinstance(query, Picked) else Picked(query, row - first)

    @cached_property
    def _asked(self) -> tuple[tuple[Asked, int], ...]:
        """The queries, and the first row of each."""
        out, first = [], 0
        for query in self.queries.queries:
            out.append((query, first))
            first += query.on(self.metric.universe).rows
        return tuple(out)

    @cached_property
    def _firsts(self) -> Ints:
        return np.array([first for _, first in self._asked], dtype=np.int64)

    def measurement(self, row: int) -> LaplaceCost:
        """Return the cost of measuring one row."""
        return LaplaceCost(self.workload.row(row), self.scales[row : row + 1])

    @cached_property
    def bound(self) -> ErrorBound | None:
        """The theorem's guarantee; None for runs that it does not cover.

        It covers the average over the rounds, with one update in each, all rows open to every selection, and one scale.
        """
        alike = np.ptp((self.selection_scales / np.where(self.spans > 0, self.spans, 1.0))[self.candidates]) == 0
        if self.passes or not self.averaged or not self.again or self.start is not None or not alike:
            return None
        c = unit_sensitivity(self.scales[self.candidates] * float(self.part), self.spans[self.candidates], self.budget)
        return error_bound(self.records, self.metric.universe.cells, max(len(self.candidates), 1), c, self.rounds)

    @cached_property
    def request(self) -> str:
        """The plan's identifier: a digest of everything that matters to its steps and their outcome."""
        return digest_of(
            {
                "method": "mwem",
                "metric": self.metric.digest,
                "dataset": self.dataset,
                "workload": self.workload.digest,
                "queries": [{k: v for k, v in q.items() if k != "title"} for q in self.queries.to_dict()],
                "scales": digest_of([s.hex() for s in self.scales.tolist()]),
                "selections": digest_of([s.hex() for s in self.selection_scales.tolist()]),
                "records": self.records,
                "rounds": self.rounds,
                "budget": str(self.budget),
                "passes": self.passes,
                "averaged": self.averaged,
                "again": self.again,
                "start": None if self.start is None else digest_of([s.hex() for s in self.start.tolist()]),
            }
        )

    def payload(self) -> dict[str, Any]:
        return {
            "method": "mwem",
            "name": self.name,
            "request": self.request,
            "rounds": self.rounds,
            "why": self.why,
            "budget": str(self.budget),
            "passes": self.passes,
            "averaged": self.averaged,
            "again": self.again,
            "records": self.records,
            "queries": self.queries.to_dict(),
            "workload": self.workload.digest,
        }


def step_part(budget: Fraction, rounds: int) -> Fraction:
    """Return the fraction of the policy of one of 2T steps, on the ledger's grid, rounded down.

    >>> step_part(Fraction(1), 2), 40 * step_part(Fraction(1), 20) <= 1
    (Fraction(1, 4), True)
    """
    return Fraction(int(budget * _BUDGET_GRID / (2 * rounds)), _BUDGET_GRID)


def unit_sensitivity(ratios: Floats, spans: Floats, budget: Fraction) -> float:
    """Return the theorem's c: the largest change of a row in a unit range, relative to the granted distance."""
    return float((ratios / spans).max()) / float(budget)
