"""What a run of MWEM knows, decided without data: rounds, and the noise of every choice and every measurement.

The share of the policy that is granted is split evenly over 2T steps, T choices and T measurements.  A choice among
rows costs the largest of their losses (Theorem 3 of the paper), so each row keeps the least scale that its own pairs
allow, and one certificate covers all steps: `max_k |A_ki - A_kj| / s_k <= part * d(i, j)` is the loss of a choice with
weights exp(u_k / (2 s_k)), and not below that of any one row measured with scale s_k.  2T such steps stay within the
share, on every pair, whatever is chosen (Theorem 7, adaptively).
"""

from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.formats.canonical import digest_of
from dxprivacy.mechanisms.known_facts import Facts
from dxprivacy.mechanisms.mwem.mwem_bound import ErrorBound, error_bound
from dxprivacy.mechanisms.mwem.row_scales import row_spans
from dxprivacy.mechanisms.synthesis.histogram_answers import Projection
from dxprivacy.metrics import Metric
from dxprivacy.privacy.certificate import Certificate, certify
from dxprivacy.privacy.costs import LaplaceCost, SelectionCost
from dxprivacy.queries.asked import Asked, Stack
from dxprivacy.queries.strategy_rows import Picked
from dxprivacy.universe.workload import Workload

_SHARE_GRID = 1 << 60  # that of the ledger: shares on it add up without being rounded up again


@dataclass(frozen=True, eq=False, kw_only=True)
class MwemFacts(Facts):
    """A certified run of MWEM: nothing is spent by making it."""

    questions: Stack
    workload: Workload
    metric: Metric = field(repr=False)
    records: int
    rounds: int
    share: Fraction
    scales: Floats = field(repr=False)  # per row, on the grid; 0 where the policy leaves the row free
    choice_scales: Floats = field(repr=False)
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
        return step_part(self.share, self.rounds)

    @property
    def granted(self) -> Fraction:
        return self.part

    @property
    def steps(self) -> int:
        """Choices and measurements together."""
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
    def choice(self) -> SelectionCost:
        """What each choice costs."""
        return SelectionCost(self.workload, self.choice_scales)

    @cached_property
    def certificate(self) -> Certificate:
        """The proof that every step, choice or measurement, stays within its part; computed from these very scales.

        A measurement is the loss of one row, a choice the largest of all rows: no step exceeds the largest loss of a
        row on the smaller of its two scales.
        """
        return replace(certify(self.dearest_step, self.metric), norm="linf")

    @cached_property
    def dearest_step(self) -> SelectionCost:
        """Not less than any step: a choice among all rows, each on the smaller of its scales."""
        return SelectionCost(self.workload, np.minimum(self.scales, self.choice_scales))

    @cached_property
    def projection(self) -> Projection:
        """The rows, for histograms in floats."""
        return Projection(self.workload)

    def pick(self, row: int) -> Picked:
        """One row as a question of its own."""
        question, first = self._asked[int(np.searchsorted(self._firsts, row, side="right")) - 1]
        return question if isinstance(question, Picked) else Picked(question, row - first)

    @cached_property
    def _asked(self) -> tuple[tuple[Asked, int], ...]:
        """The questions, and the first row of each."""
        out, first = [], 0
        for question in self.questions.questions:
            out.append((question, first))
            first += question.on(self.metric.universe).rows
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

        It is about the average over the rounds, one update in each, all rows open to every choice, on one scale.
        """
        alike = np.ptp((self.choice_scales / np.where(self.spans > 0, self.spans, 1.0))[self.candidates]) == 0
        if self.passes or not self.averaged or not self.again or self.start is not None or not alike:
            return None
        c = unit_sensitivity(self.scales[self.candidates] * float(self.part), self.spans[self.candidates], self.share)
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
                "questions": [{k: v for k, v in q.items() if k != "title"} for q in self.questions.to_dict()],
                "scales": digest_of([s.hex() for s in self.scales.tolist()]),
                "choices": digest_of([s.hex() for s in self.choice_scales.tolist()]),
                "records": self.records,
                "rounds": self.rounds,
                "share": str(self.share),
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
            "share": str(self.share),
            "passes": self.passes,
            "averaged": self.averaged,
            "again": self.again,
            "records": self.records,
            "questions": self.questions.to_dict(),
            "workload": self.workload.digest,
        }


def step_part(share: Fraction, rounds: int) -> Fraction:
    """The part of the policy of one of 2T steps, on the ledger's grid, rounded down.

    >>> step_part(Fraction(1), 2), 40 * step_part(Fraction(1), 20) <= 1
    (Fraction(1, 4), True)
    """
    return Fraction(int(share * _SHARE_GRID / (2 * rounds)), _SHARE_GRID)


def unit_sensitivity(ratios: Floats, spans: Floats, share: Fraction) -> float:
    """The theorem's c: how far a row in a unit range may change, in parts of what is granted of the policy."""
    return float((ratios / spans).max()) / float(share)
