"""What a run of MWEM will do, decided without data: rounds, and the noise of every choice and every measurement.

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

from dxprivacy.accounting.certificate import Certificate, certify
from dxprivacy.accounting.costs import LaplaceCost, SelectionCost
from dxprivacy.errors import NotCertified, QuestionError, TooLarge, UsageError
from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.exact.grid import fits_scores, require_room
from dxprivacy.files.canonical import digest_of
from dxprivacy.mechanisms.laplace.plan import LARGEST_SCALE
from dxprivacy.mechanisms.laplace.planner import parse_share
from dxprivacy.mechanisms.mwem.bound import ErrorBound, best_rounds, error_bound
from dxprivacy.mechanisms.mwem.row_scales import certified_scales, row_ratios, row_spans
from dxprivacy.mechanisms.synthesis.projection import Projection
from dxprivacy.metrics import Metric
from dxprivacy.model.workload import Workload
from dxprivacy.questions.grouping import require_honest
from dxprivacy.questions.questions import Asked, Stack, gather
from dxprivacy.questions.strategy_rows import Picked
from dxprivacy.wording import digits, percent, plural

USUAL_ROUNDS = 20
PASSES = 100  # over all past measurements after each round
FEWER_PASSES = 30  # in large universes
LARGE_CELLS = 50_000
MOST_ROUNDS = 10_000
_SHARE_GRID = 1 << 60  # that of the ledger: shares on it add up without being rounded up again


@dataclass(frozen=True, eq=False)
class MwemPlan:
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
    dataset: str = ""

    @property
    def part(self) -> Fraction:
        """What one step may take of the policy."""
        return step_part(self.share, self.rounds)

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
        most = SelectionCost(self.workload, np.minimum(self.scales, self.choice_scales))
        return replace(certify(most, self.metric), norm="linf")

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
        """What theory promises; None for what it does not speak about.

        It is about the average over the rounds, one update in each, all rows open to every choice, on one scale.
        """
        alike = np.ptp((self.choice_scales / np.where(self.spans > 0, self.spans, 1.0))[self.candidates]) == 0
        if self.passes or not self.averaged or not self.again or self.start is not None or not alike:
            return None
        c = _unit_sensitivity(self.scales[self.candidates] * float(self.part), self.spans[self.candidates], self.share)
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

    @property
    def name(self) -> str:
        """The first digits of the digest."""
        return self.request[:4]

    def lines(self) -> list[str]:
        """The plan in words; depends on nothing private."""
        rows = len(self.candidates)
        noise = self.scales[self.candidates] * np.array([float(u) for u in self.workload.units])[self.candidates]
        spread = sorted({digits(float(x)) for x in (noise.min(initial=np.inf), noise.max(initial=0.0))}) if rows else []
        steps = plural(2 * self.rounds, "step")
        out = [
            f"MWEM plan {self.name} · {plural(self.rounds, 'round')} ({self.why}) · nothing spent, no data read",
            f"{steps} of at most {percent(float(self.part))} of the policy each; noise scale of a measurement "
            + (" to ".join(spread) or "0"),
        ]
        if self.passes:
            out.append(f"after each round {plural(self.passes, 'pass')} over all measurements so far")
        if self.bound is not None:
            out.append(str(self.bound))
        return out

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def to_dict(self) -> dict[str, Any]:
        """For JSON: what was decided."""
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


def plan_mwem(
    questions: Any,
    metric: Metric,
    *,
    records: int,
    rounds: int | str | None = None,
    share: object = 1,
    passes: int | None = None,
    averaged: bool = False,
    again: bool = False,
    alike: bool = True,
    start: object = None,
    dataset: str = "",
) -> MwemPlan:
    """A certified run of MWEM over `records` records, a public number.

    `rounds` is a number, `"bound"` for the one with the least error bound, or None for a usual one.  `passes` over all
    past measurements follow each round; 0 is Algorithm 2 with its one update.  `averaged` takes the average of the
    histograms instead of the last one, `again` lets a row be measured twice.  `alike` chooses on one scale for all rows
    in a unit range; otherwise each row's error counts relative to its own noise, which costs the same and was worse
    wherever budgets differ much (docs/benchmarks.md).  `start` is a public histogram to begin with, in place of the
    uniform one.

    >>> from dxprivacy import metrics
    >>> plan = plan_mwem([[1, 0, 0], [1, 1, 0]], metrics.constant(3, 1), records=100, rounds=2)
    >>> plan.scales.tolist(), plan.part
    ([4.0, 4.0], Fraction(1, 4))
    """
    if not isinstance(metric, Metric):
        raise UsageError(f"a metric is needed, not {type(metric).__name__}", hints=["dx.metrics.constant(n, 1)"])
    require_public_records(metric, records)
    granted, asked = parse_share(share), gather(questions)
    require_honest(asked, metric.universe)
    workload = asked.on(metric.universe)
    require_room(workload.largest, records, where="mwem")
    passes = _passes(passes, metric.universe.cells)
    ratios, spans = row_ratios(workload, metric), row_spans(workload)
    noisy = (ratios > 0) & (spans > 0)
    rows = int(noisy.sum())
    if not rows:
        raise QuestionError(
            "there is nothing to choose: no answer needs noise under this policy",
            hints=[('method="direct"', "takes the exact answers")],
        )
    count, why = _rounds(rounds, rows, records, metric, ratios[noisy], spans[noisy], granted, again=again)
    scales = certified_scales(workload, metric, step_part(granted, count), ratios)
    if scales.max() >= min(LARGEST_SCALE, max(workload.largest, 1) * max(records, 1) * 2.0**20):
        raise NotCertified(
            f"{plural(count, 'round')} leave so little of the policy for each that the noise drowns every answer",
            hints=["fewer rounds, or a larger share"],
        )
    choice = scales
    if alike:
        common = float((scales[noisy] / spans[noisy]).max())
        choice = np.where(noisy, np.maximum(common * spans, scales), scales)
    if not fits_scores(2 * workload.largest * records, float(choice[noisy].min())):
        raise TooLarge("the questions' numbers are too large to be chosen among exactly", hints=["use larger units"])
    return MwemPlan(
        asked, workload, metric, records, count, granted, scales, choice, why, passes, averaged, again,
        public_start(start, metric.universe.cells), dataset,
    )  # fmt: skip


def require_public_records(metric: Metric, records: object) -> None:
    """Refuse what cannot work where n is private, or where there is nobody."""
    if metric.universe.absent is not None:
        raise UsageError(
            "the number of records is private under this policy, and MWEM needs it",
            hints=[("--method direct", 'fits a histogram without it; in Python method="direct"')],
        )
    if isinstance(records, bool) or not isinstance(records, (int, np.integer)) or records < 0:
        raise UsageError(f"records is {records!r}; the number of records is a whole number")
    if records == 0:
        raise UsageError("there are no records: nothing to make a synthetic histogram from")


def public_start(start: object, cells: int) -> Floats | None:
    """A public histogram to begin with: one number of at least 0 for each cell, not all 0."""
    if start is None:
        return None
    try:
        given = np.array(start, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise UsageError("start must be numbers, one for each cell") from None
    if given.shape != (cells,) or not np.isfinite(given).all() or given.min() < 0 or not given.sum() > 0:
        raise UsageError(f"start needs {cells:,} numbers of at least 0, not all 0", hints=["leave start out: uniform"])
    given /= given.max()  # sizes do not matter, and sums of huge numbers would
    given.setflags(write=False)
    return given


def _rounds(
    rounds: int | str | None,
    rows: int,
    records: int,
    metric: Metric,
    ratios: Floats,
    spans: Floats,
    share: Fraction,
    *,
    again: bool,
) -> tuple[int, str]:
    """How many rounds, and who says so."""
    most = MOST_ROUNDS if again else min(MOST_ROUNDS, rows)
    if rounds is None:
        return min(USUAL_ROUNDS, most), "a usual number"
    if rounds == "bound":
        c = _unit_sensitivity(ratios, spans, share)
        best = best_rounds(records, metric.universe.cells, rows, c)
        return min(best, most), "the error bound is least" if best <= most else "as many as there are answers"
    if isinstance(rounds, bool) or not isinstance(rounds, (int, np.integer)) or rounds < 1:
        raise UsageError(f"rounds is {rounds!r}; at least one round is needed", hints=["rounds=20"])
    if rounds > most:
        why = f"{plural(rows, 'answer')} can be measured, each once" if most == rows else f"at most {most:,} are made"
        raise UsageError(f"{rounds:,} rounds are too many: {why}", hints=[f"rounds={most}"])
    return int(rounds), "as asked for"


def _unit_sensitivity(ratios: Floats, spans: Floats, share: Fraction) -> float:
    """The theorem's c: how far a row in a unit range may change, in parts of what is granted of the policy."""
    return float((ratios / spans).max()) / float(share)


def _passes(passes: int | None, cells: int) -> int:
    """As given, or a usual number."""
    if passes is None:
        return PASSES if cells <= LARGE_CELLS else FEWER_PASSES
    if isinstance(passes, bool) or not isinstance(passes, (int, np.integer)) or not 0 <= passes <= 10_000:
        raise UsageError(f"passes is {passes!r}; a whole number from 0 is needed", hints=["passes=30"])
    return int(passes)
