"""Building a release from noisy integers: post-processing only."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from dxprivacy.exact.arrays import Ints
from dxprivacy.formats.canonical import RELEASE, software
from dxprivacy.mechanisms.linear.plan_facts import PlanFacts
from dxprivacy.mechanisms.linear.planning.plan_notes import notes
from dxprivacy.releases.guarantee import LedgerReference, guarantee_of, public_people
from dxprivacy.releases.release import Release, Row, reached
from dxprivacy.universe.workload import Answer

_MANY = 2_000  # answers of a dry run that are made one by one
_FAR_TAIL = 1000  # scales; noise beyond it has probability e^-1000
_FARTHEST = 2.0**61  # what counts may reach, see `require_room`; with as much again for the noise they stay in 64 bits


def build_release(plan: PlanFacts, z: Ints, records: int, ledger_reference: LedgerReference) -> Release:
    """Answers, intervals and the guarantee."""
    return _release(plan, z, records, ledger_reference, plan.workload.answers, _facts(plan))


def _facts(plan: PlanFacts) -> dict[str, Any]:
    """What a release says of its plan, whatever came out."""
    return {key: value for key, value in plan.payload().items() if key != "name"} | {"notes": notes(plan)}


def _release(
    plan: PlanFacts,
    z: Ints,
    records: int,
    ledger_reference: LedgerReference,
    answers: Iterable[Answer],
    facts: Mapping[str, Any],
) -> Release:
    """Of these answers, which are all or some to be tried."""
    estimated, titles = plan.estimate(z, records), plan.workload.titles
    rows = []
    for answer in answers:
        value, low, high = plan.interval(answer, estimated, records)
        exact = plan.is_exact(answer)
        vague = answer.recipe.vague(low, high)
        title = titles[answer.query]
        missed = answer.within is not None and not exact and not reached(answer.within, value, low, high)
        marks = (answer.groups, missed, answer.blur_bias)
        rows.append(Row(answer.label, title, value, low, high, answer.unit, exact, vague, *marks))
    payload = {key: value for key, value in facts.items() if key != "notes"}
    more = {"noisy": z.tolist(), "ledger": ledger_reference.to_dict(), "notes": facts["notes"], "software": software()}
    more |= public_people(plan.metric.universe, records)
    return Release(
        name=plan.name,
        answers=tuple(rows),
        guarantee=guarantee(plan, records, ledger_reference),
        records=records if plan.metric.universe.absent is None else None,
        facts=payload | more,
        format=plan.format(RELEASE),
    )


def dry_run(plan: PlanFacts, records: int, ledger_reference: LedgerReference) -> None:
    """Make the whole text of a release from invented counts: whatever can fail from public numbers fails here.

    First the counts of a table in which all records are the first possible one: they agree with one another.  Then
    counts as high and as low as no table and no noise will ever make them; rows without noise stay as they are.
    """
    counts = plan.counted.columns(np.zeros(1, dtype=np.int64))[:, 0] * records
    scales = np.array(plan.scales)
    most = plan.counted.largest * max(records, 1)
    far = np.where(scales > 0, np.minimum(most + _FAR_TAIL * scales, _FARTHEST), 0).astype(np.int64)
    answers, facts = _different(plan), _facts(plan)
    for z in (counts, counts + far, counts - far):
        made = _release(plan, z, records, ledger_reference, answers, facts)
        made.to_json()
        made.to_csv()


def _different(plan: PlanFacts) -> list[Answer]:
    """Of very many answers some of each kind: those of one query, block and noise are worked out alike."""
    answers = plan.workload.answers
    if len(answers) <= _MANY:
        return list(answers)
    block_of, distributions = plan.workload.block_of.tolist(), plan.distributions
    found: dict[object, Answer] = {}
    for answer in answers:
        found.setdefault((answer.query, *((block_of[r], id(distributions[r])) for r in answer.rows)), answer)
    return [*answers[:_MANY], *found.values()]


def guarantee(plan: PlanFacts, records: int, ledger_reference: LedgerReference) -> tuple[str, ...]:
    """The three sentences printed on every release of a plan."""
    return guarantee_of(plan.metric, plan.worst_epsilon, records, ledger_reference.ledger, ledger_reference.so_far)
