"""What a run of MWEM knows, decided without data: rounds, and the noise of every selection and every measurement.

The fraction of the policy that is granted is split evenly over 2T steps, T selections and T measurements.  A selection
among rows costs the largest of their losses (Theorem 3 of the paper), so each row keeps the least scale that its own
pairs allow, and one certificate covers all steps: `max_k |A_ki - A_kj| / s_k <= part * d(i, j)` is the loss of a
selection with weights exp(u_k / (2 s_k)), and not below that of any one row measured with scale s_k.  2T such steps
stay within the budget, on every pair, whatever is chosen (Theorem 7, adaptively).
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

# -- The error bound of MWEM (Theorem 8 of the paper, corrected), and the number of rounds that makes it least ---------
# For rows in a unit range, of which every one changes by at most c d(i, j), T rounds of Algorithm 2 as corrected (one
# update each, from the uniform histogram, the average of the histograms before each round) answer every row within `2 n
# sqrt(ln N / T) + 10 T c ln |Q|`, except with probability `2 T / |Q|` (Hardt, Ligett, McSherry 2012, Theorem 2.2).
#
# Corrected: the printed T makes the two terms equal, which is not the minimum; T is a whole number; and where 2 T / |Q|
# is 1 or more the statement says nothing, so that none is made.


@dataclass(frozen=True)
class ErrorBound:
    """The guarantee of theory: every answer within `error` range units, except with probability `failure`."""

    error: float
    failure: float
    records: int

    @property
    def vacuous(self) -> bool:
        """Whether it says nothing: it may fail always, or any histogram answers within n."""
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
    """The bound for so many rounds.

    >>> round(error_bound(1_000_000, 100, 1000, 1.0, 50).error)
    610425
    """
    return ErrorBound(_bound(records, cells, rows, c, rounds), 2 * rounds / rows, records)


def _bound(records: int, cells: int, rows: int, c: float, rounds: int) -> float:
    return 2 * records * math.sqrt(math.log(cells) / rounds) + 10 * rounds * c * math.log(rows)


def best_rounds(records: int, cells: int, rows: int, c: float) -> int:
    """The whole number of rounds with the least bound.

    The bound falls, then rises: its derivative is 0 at T = (n sqrt(ln N) / (10 c ln |Q|))^(2/3), and the best whole
    number is beside it.

    >>> best_rounds(1_000_000, 100, 1000, 1.0)
    988
    """
    if rows < 2 or cells < 2 or not c > 0:
        return 1  # one row is measured once; nothing to find out about one cell
    best = (records * math.sqrt(math.log(cells)) / (10 * c * math.log(rows))) ** (2 / 3)
    beside = {max(1, math.floor(best)), max(1, math.ceil(best))}
    return int(min(beside, key=lambda t: (_bound(records, cells, rows, c, t), t)))


# -- What a run of MWEM knows, decided without data --------------------------------------------------------------------


_BUDGET_GRID = 1 << 60  # that of the ledger: budgets on it add up without being rounded up again


@dataclass(frozen=True, eq=False, kw_only=True)
class MwemFacts(Facts):
    """A certified run of MWEM: nothing is spent by making it."""

    queries: Stack
    workload: Workload
    metric: Metric = field(repr=False)
    records: int
    rounds: int
    budget: Fraction
    scales: Floats = field(repr=False)  # per row, on the grid; 0 where the policy leaves the row free
    selection_scales: Floats = field(repr=False)
    why: str  # so many rounds
    passes: int = 0
    averaged: bool = False
    again: bool = False  # whether a row may be measured twice
    start: Floats | None = field(default=None, repr=False)
    title: str = ""
    dataset: str = ""

    @property
    def part(self) -> Fraction:
        """What one step may take of the policy."""
        return step_part(self.budget, self.rounds)

    @property
    def granted(self) -> Fraction:
        return self.part

    @property
    def steps(self) -> int:
        """Selections and measurements together."""
        return 2 * self.rounds

    @cached_property
    def spans(self) -> Floats:
        """The range of each row."""
        return row_spans(self.workload)

    @cached_property
    def candidates(self) -> Ints:
        """Rows that have to be measured with noise; those that never vary tell nothing, and the rest is free."""
        return np.flatnonzero((self.scales > 0) & (self.spans > 0))

    @cached_property
    def public(self) -> Ints:
        """Rows that vary only where the policy calls the difference public: known exactly, at no cost."""
        return np.flatnonzero((self.scales == 0) & (self.spans > 0))

    @cached_property
    def selection(self) -> SelectionCost:
        """What each selection costs."""
        return SelectionCost(self.workload, self.selection_scales)

    @cached_property
    def certificate(self) -> Certificate:
        """The proof that every step, choice or measurement, stays within its part; computed from these very scales.

        A measurement is the loss of one row, a selection the largest of all rows: no step exceeds the largest loss of a
        row on the smaller of its two scales.
        """
        return replace(certify(self.dearest_step, self.metric), norm="linf")

    @cached_property
    def dearest_step(self) -> SelectionCost:
        """Not less than any step: a selection among all rows, each on the smaller of its scales."""
        return SelectionCost(self.workload, np.minimum(self.scales, self.selection_scales))

    @cached_property
    def projection(self) -> Projection:
        """The rows, for histograms in floats."""
        return Projection(self.workload)

    def pick(self, row: int) -> Picked:
        """One row as a query of its own."""
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
        """What measuring one row costs."""
        return LaplaceCost(self.workload.row(row), self.scales[row : row + 1])

    @cached_property
    def bound(self) -> ErrorBound | None:
        """The guarantee of theory; None for what it does not speak about.

        It is about the average over the rounds, one update in each, all rows open to every selection, on one scale.
        """
        alike = np.ptp((self.selection_scales / np.where(self.spans > 0, self.spans, 1.0))[self.candidates]) == 0
        if self.passes or not self.averaged or not self.again or self.start is not None or not alike:
            return None
        c = unit_sensitivity(self.scales[self.candidates] * float(self.part), self.spans[self.candidates], self.budget)
        return error_bound(self.records, self.metric.universe.cells, max(len(self.candidates), 1), c, self.rounds)

    @cached_property
    def request(self) -> str:
        """The plan's own name: a digest of everything that matters to its steps and their outcome."""
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
    """The part of the policy of one of 2T steps, on the ledger's grid, rounded down.

    >>> step_part(Fraction(1), 2), 40 * step_part(Fraction(1), 20) <= 1
    (Fraction(1, 4), True)
    """
    return Fraction(int(budget * _BUDGET_GRID / (2 * rounds)), _BUDGET_GRID)


def unit_sensitivity(ratios: Floats, spans: Floats, budget: Fraction) -> float:
    """The theorem's c: how far a row in a unit range may change, in parts of what is granted of the policy."""
    return float((ratios / spans).max()) / float(budget)
