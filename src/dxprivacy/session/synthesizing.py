"""Synthetic records through the ledger: reserved, counted, made, rounded, compared - in that order.

Whatever the method, the data is looked at only inside steps whose cost was reserved; everything else is
post-processing of what they kept.  So a run that was interrupted between two steps is taken up again, and the same plan
again gives the same records at no cost.
"""

import importlib.metadata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np

from dxprivacy.accounting import largest_loss, max_ratio
from dxprivacy.accounting.costs import SelectionCost, SumCost
from dxprivacy.engines.fields import fields_of
from dxprivacy.errors import BudgetExceeded, UsageError
from dxprivacy.mechanisms.direct.run import fit_histogram
from dxprivacy.mechanisms.laplace.answers import promise_of
from dxprivacy.mechanisms.laplace.plan import Plan
from dxprivacy.mechanisms.mwem.plan import MwemPlan
from dxprivacy.mechanisms.mwem.run import run_mwem
from dxprivacy.mechanisms.noise import Noise
from dxprivacy.mechanisms.smalldb.plan import SmallDbPlan
from dxprivacy.mechanisms.smalldb.run import small_database
from dxprivacy.mechanisms.smalldb.spread import small_histogram
from dxprivacy.mechanisms.synthesis.measured_rows import bounded_rows, measured_rows
from dxprivacy.mechanisms.synthesis.plan import SynthesisPlan
from dxprivacy.mechanisms.synthesis.synthetic import Synthetic
from dxprivacy.release.release import Release, Row
from dxprivacy.session.recorded import Recorded
from dxprivacy.synthetic.records import Records
from dxprivacy.synthetic.report import Report, compare
from dxprivacy.wording import json_text, percent

if TYPE_CHECKING:
    from dxprivacy.session.session import Session

Progress = Callable[[int, int], None]
MOST_RECORDS = 1_000_000_000


@dataclass(frozen=True, eq=False)
class Synthesis:
    """Synthetic records, the report on them, and what they were made from: released numbers only."""

    name: str
    method: str
    records: Records
    report: Report = field(repr=False)
    synthetic: Synthetic = field(repr=False)
    promise: tuple[str, ...] = field(repr=False)
    entries: tuple[int, ...]  # of the ledger
    replayed: bool  # answered before: nothing was spent
    release: Release | None = field(default=None, repr=False)  # of a direct fit

    def to_dict(self) -> dict[str, Any]:
        """For JSON: the report, and whether anything was spent."""
        return self.report.to_dict() | {"repeated": self.replayed}

    def __str__(self) -> str:
        return str(self.report)


@dataclass(frozen=True)
class _Made:
    """What a method hands on: a histogram, what was released of each answer, and where that stands in the ledger."""

    synthetic: Synthetic
    released: Sequence[Row | None]
    entries: tuple[int, ...]
    replayed: bool
    promise: tuple[str, ...]
    facts: dict[str, Any]
    release: Release | None = None


def synthesize(
    session: "Session",
    plan: SynthesisPlan,
    noise: Noise,
    *,
    request: str = "",
    records: int | None = None,
    progress: Progress | None = None,
) -> Synthesis:
    """Make synthetic records by a plan; what can be refused from public numbers is refused before anything is spent."""
    if not isinstance(plan, SynthesisPlan):
        hints = [("session.plan_synthesis(…)", "shows first what to expect, and costs nothing")]
        raise UsageError("a plan of synthetic records is needed", hints=hints)
    policy, chosen = session.policy, plan.made
    if chosen.metric.digest != policy.digest or chosen.dataset != policy.dataset:
        raise UsageError("the plan was made for another policy", hints=["session.plan_synthesis(…)"])
    fields_of(policy.universe)  # refuses what has no records
    _require_records(records)
    match chosen:
        case Plan():
            made = _direct(session, chosen, request)
        case MwemPlan():
            made = _mwem(session, chosen, noise, request, progress)
        case SmallDbPlan():
            made = _smalldb(session, chosen, noise, request)
    synthetic = made.synthetic
    # Where the number of people is private, they are as many as the histogram sums up to.
    people = round(float(synthetic.histogram.sum())) if synthetic.records is None else synthetic.records
    rounded = Records.of(synthetic.universe, synthetic.histogram, people if records is None else records)
    facts = _facts(chosen.name, plan.method, session, made) | made.facts
    report = compare(synthetic.workload, made.released, rounded.counts, people, **facts)
    return Synthesis(
        chosen.name, plan.method, rounded, report, synthetic, made.promise, made.entries, made.replayed, made.release
    )


def _direct(session: "Session", plan: Plan, request: str) -> _Made:
    """An ordinary release, and a histogram that fits it."""
    outcome = session.answer(plan, request=request)
    release = outcome.release
    synthetic = fit_histogram(plan, release)
    return _Made(synthetic, release.answers, (outcome.entry,), outcome.replayed, release.promise, {}, release)


def _mwem(session: "Session", plan: MwemPlan, noise: Noise, request: str, progress: Progress | None) -> _Made:
    """Round by round, every step an entry of its own."""
    _require_number(session, plan.records)
    json_text(plan.to_dict())  # what the report says of it can be said
    run = _Run(session, plan.request, request)
    if not run.before:
        _require_budget(session, plan)
    synthetic = run_mwem(plan, run.count, run.spend, noise, progress=progress)
    measured = [
        {"row": m.row, "label": m.label, "noisy": m.noisy, "scale": m.scale.hex()} for m in synthetic.measurements
    ]
    released = measured_rows(plan.workload, synthetic.measurements, plan.records)
    return run.made(synthetic, released, {"plan": plan.to_dict(), "measurements": measured})


def _smalldb(session: "Session", plan: SmallDbPlan, noise: Noise, request: str) -> _Made:
    """One choice among all small databases."""
    _require_number(session, plan.records)
    json_text(plan.to_dict())  # what the report says of it can be said
    run = _Run(session, plan.request, request)
    small = small_database(plan, run.count, noise, run.spend)
    released = bounded_rows(plan.workload, small.answers, plan.bounds)
    return run.made(small_histogram(small), released, {"plan": plan.to_dict()})


def run_name(digest: str, request: str) -> str:
    """One word, by which the ledger shows the steps of a run together."""
    return f"synth-{digest[:16]}" + (f"-{quote(request, safe='')}" if request else "")


class _Run:
    """The steps of one run in the ledger: what stands there already, and what is added."""

    def __init__(self, session: "Session", digest: str, request: str) -> None:
        self.name = run_name(digest, request)
        self.session = session
        session.ledger.verify_on_disk()
        self.spend = Recorded(session.ledger, self.name, session.pacing)
        self.before = self.entries()

    def entries(self) -> tuple[int, ...]:
        """The numbers of the run's entries."""
        return tuple(e.number for e in self.session.ledger.entries() if e.request.startswith(f"{self.name} "))

    def count(self) -> Any:
        """The data; called inside the first step that needs it, after its cost was reserved."""
        return self.session.source.count(self.session.policy.universe)

    def made(self, synthetic: Synthetic, released: Sequence[Row | None], facts: dict[str, Any]) -> _Made:
        """What the run came to."""
        ledger, metric = self.session.ledger, self.session.policy.metric
        worst = largest_loss(synthetic.cost)[0] if synthetic.cost.costs else 0.0
        promise = promise_of(metric, worst, self.session.rows, ledger.path.name, ledger.worst_case())
        entries = self.entries()
        return _Made(synthetic, released, entries, len(entries) == len(self.before), promise, facts)


def _require_number(session: "Session", records: int) -> None:
    if records != session.rows:
        raise UsageError(
            f"the plan was made for {records:,} records, and there are {session.rows:,}",
            hints=["session.plan_synthesis(…)"],
        )


def _require_budget(session: "Session", plan: MwemPlan) -> None:
    """Refuse a run that the ledger would stop half-way: what its first steps spent would be lost."""
    metric, entries = plan.metric, session.ledger.entries()
    used = sum((e.share for e in entries), Fraction(0))
    if used + plan.share <= 1:
        return
    # Whatever is chosen, no step costs more than a choice among all rows, each on the smaller of its scales.
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
            f"This run may need up to {percent(float(plan.share))} of the policy, in {steps} steps; what was released "
            "before leaves less on some pair."
        ],
        hints=[*hints, ("--method direct", "may fit, pair by pair"), ("dxp ledger …", "shows what is left")],
    )


def _require_records(records: object) -> None:
    if records is None:
        return
    if isinstance(records, bool) or not isinstance(records, (int, np.integer)) or not 0 < records <= MOST_RECORDS:
        raise UsageError(f"records is {records!r}; a whole number from 1 to {MOST_RECORDS:,} is needed")


def _facts(name: str, method: str, session: "Session", made: _Made) -> dict[str, Any]:
    """What a report says about where the records came from."""
    policy = session.policy
    return {
        "name": name,
        "method": method,
        "policy": {"title": policy.title, "dataset": policy.dataset, "digest": policy.digest},
        "ledger": {"file": session.ledger.path.name, "entries": list(made.entries)},
        "promise": list(made.promise),
        "software": f"dxprivacy {importlib.metadata.version('dxprivacy')}",
    }
