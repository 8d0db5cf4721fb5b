"""Synthetic records from a mechanism's result: rounded, and compared with the released answers (post-processing).

With every method, data is read only inside steps whose cost was reserved.  So a run that was interrupted between two
steps can be resumed, and executing the same plan again gives the same records at no cost.
"""

from dataclasses import dataclass, field
from typing import Any

from dxprivacy.engines.fields import fields_of
from dxprivacy.errors import TooLarge, UsageError
from dxprivacy.exact.rounding import is_whole
from dxprivacy.formats.canonical import software
from dxprivacy.ledger import Ledger
from dxprivacy.mechanisms.synthesis.plan import SynthesisPlan
from dxprivacy.mechanisms.synthesis.synthetic_data import Made, Synthetic
from dxprivacy.policy import Policy
from dxprivacy.privacy import largest_loss
from dxprivacy.releases import Release
from dxprivacy.releases.guarantee import guarantee_of
from dxprivacy.session.recorded_steps import Outcome
from dxprivacy.synthetic.synthesis_report import Report, compare
from dxprivacy.synthetic.synthetic_records import Records
from dxprivacy.universe.universe import Universe

MOST_RECORDS = 1_000_000_000


@dataclass(frozen=True, eq=False)
class Synthesis:
    """Synthetic records, the report on them, and the released numbers that they were made from."""

    name: str
    method: str
    records: Records
    report: Report = field(repr=False)
    synthetic: Synthetic = field(repr=False)
    guarantee: tuple[str, ...] = field(repr=False)
    entries: tuple[int, ...]  # entries of the ledger
    replayed: bool  # answered before: nothing was spent
    release: Release | None = field(default=None, repr=False)  # the release of a direct fit

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON data; `repeated` if nothing was spent."""
        return self.report.to_dict() | {"repeated": self.replayed}

    def __str__(self) -> str:
        return str(self.report)


def require_records(universe: Universe, records: object) -> None:
    """Refuse universes without synthetic records, and invalid numbers of records."""
    fields_of(universe)
    if universe.is_wide:
        raise TooLarge(
            "synthetic records are numbered, and there are at most 2^62 numbers",
            details=[" × ".join(f"{a.name} {a.size:,}" for a in sorted(universe.attributes, key=lambda a: -a.size))],
            hints=[("a policy with fewer attributes", "columns that it does not name are never read")],
        )
    if records is None:
        return
    if not is_whole(records) or not 0 < records <= MOST_RECORDS:
        raise UsageError(f"records is {records!r}; a whole number from 1 to {MOST_RECORDS:,} is needed")


def synthesis_of(
    plan: SynthesisPlan, outcome: Outcome[Made], policy: Policy, ledger: Ledger, *, people: int, records: int | None
) -> Synthesis:
    """Round a mechanism's result to records, and report on them; `people` is the public number in the guarantee."""
    made, synthetic, name = outcome.made, outcome.made.synthetic, plan.made.name
    # If the number of records is private, use the sum of the histogram.
    counted = round(float(synthetic.histogram.sum())) if synthetic.records is None else synthetic.records
    rounded = Records.of(synthetic.universe, synthetic.histogram, counted if records is None else records)
    if made.release is not None:
        guarantee = made.release.guarantee
    else:
        worst = largest_loss(synthetic.cost)[0] if synthetic.cost.costs else 0.0
        guarantee = guarantee_of(policy.metric, worst, people, ledger.path.name, ledger.worst_case())
    facts = {
        "name": name,
        "method": plan.method,
        "policy": {"title": policy.title, "dataset": policy.dataset, "digest": policy.digest},
        "ledger": {"file": ledger.path.name, "entries": list(outcome.entries)},
        "guarantee": list(guarantee),
        "software": software(),
        **made.facts,
    }
    report = compare(synthetic.workload, made.released, rounded.counts, counted, **facts)
    whole = policy.universe.present
    unasked = [name for name in whole.names if name not in synthetic.universe.names]
    return Synthesis(
        name=name,
        method=plan.method,
        records=rounded.filled_up(whole) if unasked else rounded,
        report=report,
        synthetic=synthetic,
        guarantee=guarantee,
        entries=outcome.entries,
        replayed=outcome.replayed,
        release=made.release,
    )
