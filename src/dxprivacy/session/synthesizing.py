"""Synthetic records through the ledger: reserved, counted, made, rounded, compared - in that order.

Whatever the method, the data is looked at only inside steps whose cost was reserved; everything else is
post-processing of what they kept.  So a run that was interrupted is taken up again, and the same plan again gives the
same records at no cost.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np

from dxprivacy.bounds import largest_loss, max_ratio
from dxprivacy.engines.fields import fields_of
from dxprivacy.errors import BudgetExceeded, UsageError
from dxprivacy.mechanisms import Noise
from dxprivacy.model.costs import SelectionCost, SumCost
from dxprivacy.planning import Plan
from dxprivacy.release import Release, Row
from dxprivacy.release.build import promise_of
from dxprivacy.session.recorded import Recorded
from dxprivacy.synthesis.direct import fit_histogram
from dxprivacy.synthesis.measured_rows import measured_rows
from dxprivacy.synthesis.mwem import run_mwem
from dxprivacy.synthesis.mwem_plan import MwemPlan
from dxprivacy.synthesis.records import Records
from dxprivacy.synthesis.report import Report, compare
from dxprivacy.synthesis.synthesis_plan import SynthesisPlan
from dxprivacy.synthesis.synthetic import Synthetic
from dxprivacy.wording import percent

if TYPE_CHECKING:
    from dxprivacy.session.session import Session

Progress = Callable[[int, int], None]
MOST_RECORDS = 1_000_000_000


@dataclass(frozen=True, eq=False)
class Synthesis:
    """Synthetic records, the report on them, and what they were made from: released numbers only."""

    name: str
    method: str
    synthetic: Synthetic = field(repr=False)
    records: Records
    report: Report = field(repr=False)
    promise: tuple[str, ...] = field(repr=False)
    entries: tuple[int, ...]  # of the ledger
    replayed: bool  # made before: nothing was spent
    release: Release | None = field(default=None, repr=False)  # of a direct fit

    def to_dict(self) -> dict[str, Any]:
        """For JSON: the report, with where it came from."""
        return self.report.to_dict() | {"repeated": self.replayed}

    def __str__(self) -> str:
        return str(self.report)


def synthesize(
    session: "Session",
    plan: SynthesisPlan,
    noise: Noise,
    *,
    request: str = "",
    records: int | None = None,
    progress: Progress | None = None,
) -> Synthesis:
    """Make synthetic records by a plan; everything that can be refused is refused before anything is spent."""
    if not isinstance(plan, SynthesisPlan):
        hints = [("session.plan_synthesis(…)", "shows first what to expect, and costs nothing")]
        raise UsageError("a plan of synthetic records is needed", hints=hints)
    policy, chosen = session.policy, plan.chosen
    if chosen.metric.digest != policy.digest or chosen.dataset != policy.dataset:
        raise UsageError("the plan was made for another policy", hints=["session.plan_synthesis(…)"])
    fields_of(policy.universe)
    _require_records(records)
    if isinstance(chosen, Plan):
        return _direct(session, chosen, request, records)
    return _mwem(session, chosen, noise, request, records, progress)


def _direct(session: "Session", plan: Plan, request: str, records: int | None) -> Synthesis:
    """An ordinary release, and a histogram that fits it."""
    outcome = session.answer(plan, request=request)
    release = outcome.release
    synthetic = fit_histogram(plan, release)
    made = _rounded(synthetic, records)
    facts = _facts(plan.name, "direct", session, (outcome.entry,), release.promise)
    rows = _people(synthetic)
    report = compare(plan.workload, release.answers, made.counts, rows, **facts)
    return Synthesis(
        plan.name, "direct", synthetic, made, report, release.promise, (outcome.entry,), outcome.replayed, release
    )


def _mwem(
    session: "Session", plan: MwemPlan, noise: Noise, request: str, records: int | None, progress: Progress | None
) -> Synthesis:
    """Step by step, each an entry of its own in the ledger."""
    ledger, universe = session.ledger, session.policy.universe
    if plan.records != session.rows:
        raise UsageError(
            f"the plan was made for {plan.records:,} records, and there are {session.rows:,}",
            hints=["session.plan_synthesis(…)"],
        )
    name = _run_name(plan, request)
    before = _steps(session, name)
    if not before:
        _require_budget(session, plan)
    synthetic = run_mwem(plan, lambda: session.source.count(universe), Recorded(ledger, name), noise, progress=progress)
    entries = _steps(session, name)
    worst = largest_loss(synthetic.cost)[0]
    promise = promise_of(plan.metric, worst, plan.records, ledger.path.name, ledger.worst_case())
    made = _rounded(synthetic, records)
    facts = _facts(plan.name, "mwem", session, entries, promise) | {
        "plan": plan.to_dict(),
        "measurements": [
            {"row": m.row, "label": m.label, "noisy": m.noisy, "scale": m.scale.hex()} for m in synthetic.measurements
        ],
    }
    released: list[Row | None] = measured_rows(plan.workload, synthetic.measurements, plan.records)
    report = compare(plan.workload, released, made.counts, plan.records, **facts)
    return Synthesis(plan.name, "mwem", synthetic, made, report, promise, entries, len(before) == len(entries))


def _require_budget(session: "Session", plan: MwemPlan) -> None:
    """Refuse a run that the ledger would stop half-way: what its first steps spent would be lost."""
    ledger, metric = session.ledger, plan.metric
    entries = ledger.entries()
    used = sum((e.share for e in entries), Fraction(0))
    if used + plan.share <= 1:
        return
    # Whatever is chosen, a step costs at most what a choice among all rows would on the scale of its measurement.
    steps = 2 * plan.rounds
    scales = np.nextafter(np.minimum(plan.scales, plan.choice_scales) / steps, 0)
    most = SelectionCost(plan.workload, scales)
    if max_ratio(SumCost(metric.universe, [*(e.cost for e in entries), most]), metric).upper <= 1:
        return
    left = float(1 - used)
    hints = [(f"--share {int(1000 * left) / 10:g}%", "fits")] if left > 0.001 else []
    raise BudgetExceeded(
        "nothing spent, no data read",
        where="budget exceeded",
        details=[
            f"{percent(float(used))} of the policy is spent on the most used pair at most; this plan needs "
            f"{percent(float(plan.share))} in {steps} steps."
        ],
        hints=[*hints, ("--method direct", "can use what is left pair by pair")],
    )


def _run_name(plan: MwemPlan, request: str) -> str:
    """What the entries of a run begin with: one word, by which the ledger shows them together."""
    return f"synth-{plan.request[:16]}" + (f"-{quote(request, safe='')}" if request else "")


def _steps(session: "Session", name: str) -> tuple[int, ...]:
    """The entries that a run has in the ledger."""
    return tuple(e.number for e in session.ledger.entries() if e.request.startswith(f"{name} "))


def _require_records(records: object) -> None:
    if records is None:
        return
    if isinstance(records, bool) or not isinstance(records, (int, np.integer)) or not 0 < records <= MOST_RECORDS:
        raise UsageError(f"records is {records!r}; a whole number from 1 to {MOST_RECORDS:,} is needed")


def _rounded(synthetic: Synthetic, records: int | None) -> Records:
    """As many records as asked for, as there are, or, where that is private, as the histogram sums up to."""
    number = records if records is not None else synthetic.records
    if number is None:
        number = round(float(synthetic.histogram.sum()))
    return Records.of(synthetic.universe, synthetic.histogram, number)


def _people(synthetic: Synthetic) -> int:
    """How many people the records stand for."""
    if synthetic.records is not None:
        return synthetic.records
    return round(float(synthetic.histogram.sum()))


def _facts(
    name: str, method: str, session: "Session", entries: tuple[int, ...], promise: tuple[str, ...]
) -> dict[str, Any]:
    """What a report says about where the records came from."""
    import importlib.metadata

    policy = session.policy
    return {
        "name": name,
        "method": method,
        "policy": {"title": policy.title, "dataset": policy.dataset, "digest": policy.digest},
        "ledger": {"file": session.ledger.path.name, "entries": list(entries)},
        "promise": list(promise),
        "software": f"dxprivacy {importlib.metadata.version('dxprivacy')}",
    }
