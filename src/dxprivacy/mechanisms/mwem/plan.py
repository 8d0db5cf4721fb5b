"""Planned MWEM runs: how they are made and executed."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dxprivacy.errors import NotCertified, QueryError, TooLarge, UsageError
from dxprivacy.exact.answer_grid import fits_scores, require_room
from dxprivacy.exact.arrays import Floats, read_only
from dxprivacy.exact.rounding import is_whole
from dxprivacy.mechanisms.linear.plan_facts import LARGEST_SCALE
from dxprivacy.mechanisms.mwem.mwem_facts import MwemFacts, best_rounds, step_part, unit_sensitivity
from dxprivacy.mechanisms.mwem.run import PASSES, run_mwem
from dxprivacy.mechanisms.mwem.weights import certified_scales, row_ratios, row_spans
from dxprivacy.mechanisms.planned import SYNTHESIS, Count, Planned, Progress, require_number
from dxprivacy.mechanisms.sampling import Noise
from dxprivacy.mechanisms.spending import Spending
from dxprivacy.mechanisms.synthesis.histogram_answers import require_all_cells
from dxprivacy.mechanisms.synthesis.synthetic_data import Made, measured_rows
from dxprivacy.metrics import Metric
from dxprivacy.privacy.costs import Cost, RowsCost, SelectionCost
from dxprivacy.privacy.repair import parse_budget, require_spent
from dxprivacy.queries.asking import gather
from dxprivacy.releases.guarantee import LedgerReference
from dxprivacy.wording import json_text, plural, shown

USUAL_ROUNDS = 20
FEWER_PASSES = 30  # in large universes
LARGE_CELLS = 50_000
MOST_ROUNDS = 10_000


@dataclass(frozen=True, eq=False, kw_only=True)
class MwemPlan(MwemFacts, Planned[Made]):
    """A certified run of MWEM; making it spends nothing."""

    told = SYNTHESIS
    in_steps = True

    @property
    def entries(self) -> int:
        """One ledger entry for each step, and one for all public answers."""
        return self.steps + bool(len(self.public))

    def cost_of_steps(self, steps: int) -> RowsCost:
        """The cost of this many of the most expensive step, an upper bound whatever is selected."""
        return SelectionCost(self.workload, np.nextafter(self.dearest_step.scales / steps, 0))

    @property
    def asks(self) -> tuple[tuple[int, ...], ...]:
        return self.workload.asks

    def dry_run(self, records: int, ledger_reference: LedgerReference) -> None:  # noqa: ARG002
        """Refuse another number of records; check that the report's facts can be written."""
        require_number(self.records, records)
        json_text(self.payload())

    def run(self, count: Count, noise: Noise, spend: Spending, *, progress: Progress | None = None) -> Made:
        """Run all rounds; every step has a ledger entry of its own."""
        synthetic = run_mwem(self, count, spend, noise, progress=progress)
        measured = [
            {"row": m.row, "label": m.label, "noisy": m.noisy, "scale": m.scale.hex()} for m in synthetic.measurements
        ]
        released = measured_rows(self.workload, synthetic.measurements, self.records)
        return Made(synthetic, released, {"plan": self.payload(), "measurements": measured})

    def __str__(self) -> str:
        return shown(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return self.payload()


def plan_mwem(
    queries: Any,
    metric: Metric,
    *,
    n_records: int,
    rounds: int | str | None = None,
    budget: object = "100%",
    passes: int | None = None,
    averaged: bool = False,
    again: bool = False,
    alike: bool = True,
    start: object = None,
    spent: Cost | None = None,
    dataset: str = "",
) -> MwemPlan:
    """Plan a certified run of MWEM over `n_records` records, a public number.

    `rounds` is a number, `"bound"` for the one with the least error bound, or None for a default. `passes` over all
    past measurements follow each round; 0 is Algorithm 2 with its one update. `averaged` takes the average of the
    histograms instead of the last one, and `again` lets a row be measured twice. `alike` selects at one scale for all
    rows in a unit range. Otherwise each row's error counts relative to its own noise, which costs the same and was
    worse wherever budgets differ much (docs/benchmarks.md). `start` is a public histogram to begin with, instead of the
    uniform one. `spent` is what was released before; the run then fits next to it on every pair.

    >>> from dxprivacy import metrics
    >>> plan = plan_mwem([[1, 0, 0], [1, 1, 0]], metrics.constant(3, 1), n_records=100, rounds=2)
    >>> plan.scales.tolist(), plan.part
    ([4.0, 4.0], Fraction(1, 4))
    """
    if not isinstance(metric, Metric):
        raise UsageError(f"a metric is needed, not {type(metric).__name__}", hints=["dx.metrics.constant(n, 1)"])
    require_public_records(metric, n_records)
    require_all_cells(metric.universe, "MWEM")
    granted, asked = parse_budget(budget), gather(queries)
    asked.require_honest(metric.universe)
    workload = asked.on(metric.universe)
    require_room(workload.largest, n_records, where="mwem")
    passes = _passes(passes, metric.universe.cells)
    ratios, spans = row_ratios(workload, metric), row_spans(workload)
    noisy = (ratios > 0) & (spans > 0)
    rows = int(noisy.sum())
    if not rows:
        raise QueryError(
            "there is nothing to choose: no answer needs noise under this policy",
            hints=[('method="direct"', "takes the exact answers")],
        )
    count, why = _rounds(rounds, rows, n_records, metric, ratios[noisy], spans[noisy], granted, again=again)
    before = require_spent(spent, metric)
    scales = certified_scales(workload, metric, step_part(granted, count), ratios, steps=2 * count, spent=before)
    if scales.max() >= min(LARGEST_SCALE, max(workload.largest, 1) * max(n_records, 1) * 2.0**20):
        raise NotCertified(
            f"{plural(count, 'round')} leave so little of the policy for each that the noise exceeds every answer",
            hints=["fewer rounds, or a larger budget"],
        )
    selection = scales
    if alike:
        common = float((scales[noisy] / spans[noisy]).max())
        selection = np.where(noisy, np.maximum(common * spans, scales), scales)
    if not fits_scores(2 * workload.largest * n_records, float(selection[noisy].min())):
        raise TooLarge("the queries' numbers are too large for exact selection", hints=["use larger units"])
    return MwemPlan(
        queries=asked,
        workload=workload,
        metric=metric,
        records=n_records,
        rounds=count,
        budget=granted,
        scales=read_only(scales),
        selection_scales=read_only(selection),
        why=why,
        passes=passes,
        averaged=averaged,
        again=again,
        start=public_start(start, metric.universe.cells),
        dataset=dataset,
    )


def require_public_records(metric: Metric, records: object) -> None:
    """Refuse a private number of records, and an empty data set."""
    if metric.universe.absent is not None:
        raise UsageError(
            "the number of records is private under this policy, and MWEM needs it",
            hints=[("--method direct", 'fits a histogram without it; in Python method="direct"')],
        )
    if not is_whole(records) or records < 0:
        raise UsageError(f"records is {records!r}; the number of records is a whole number")
    if records == 0:
        raise UsageError("there are no records: nothing to make a synthetic histogram from")


def public_start(start: object, cells: int) -> Floats | None:
    """Validate a public histogram to start from: one number of at least 0 for each possible record, not all 0."""
    if start is None:
        return None
    try:
        given = np.array(start, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise UsageError("start must be numbers, one for each possible record") from None
    if given.shape != (cells,) or not np.isfinite(given).all() or given.min() < 0 or not given.sum() > 0:
        raise UsageError(f"start needs {cells:,} numbers of at least 0, not all 0", hints=["leave start out: uniform"])
    given /= given.max()  # only proportions matter, and sums of huge numbers would overflow
    given.setflags(write=False)
    return given


def _rounds(
    rounds: int | str | None,
    rows: int,
    records: int,
    metric: Metric,
    ratios: Floats,
    spans: Floats,
    budget: Fraction,
    *,
    again: bool,
) -> tuple[int, str]:
    """Return the number of rounds, and the reason for it."""
    most = MOST_ROUNDS if again else min(MOST_ROUNDS, rows)
    if rounds is None:
        return min(USUAL_ROUNDS, most), "a usual number"
    if rounds == "bound":
        c = unit_sensitivity(ratios, spans, budget)
        best = best_rounds(records, metric.universe.cells, rows, c)
        return min(best, most), "the error bound is least" if best <= most else "as many as there are answers"
    if not is_whole(rounds) or rounds < 1:
        raise UsageError(f"rounds is {rounds!r}; at least one round is needed", hints=["rounds=20"])
    if rounds > most:
        why = f"{plural(rows, 'answer')} can be measured, each once" if most == rows else f"at most {most:,} are made"
        raise UsageError(f"{rounds:,} rounds are too many: {why}", hints=[f"rounds={most}"])
    return int(rounds), "as asked for"


def _passes(passes: int | None, cells: int) -> int:
    """Return the given number of passes, or a default."""
    if passes is None:
        return PASSES if cells <= LARGE_CELLS else FEWER_PASSES
    if not is_whole(passes) or not 0 <= passes <= 10_000:
        raise UsageError(f"passes is {passes!r}; a whole number from 0 is needed", hints=["passes=30"])
    return int(passes)
