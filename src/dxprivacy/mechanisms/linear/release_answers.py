"""Build a release from noisy integers. All of it is post-processing."""

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

_MANY = 2_000  # in a dry run of more answers than this, only some are built
_FAR_TAIL = 1000  # in scales; larger noise has probability e^-1000
_FARTHEST = 2.0**61  # limit of `require_room`; as much again for the noise stays within 64 bits


def build_release(plan: PlanFacts, z: Ints, records: int, ledger_reference: LedgerReference) -> Release:
    """Build the release: answers, intervals and the guarantee."""
    return _release(plan, z, records, ledger_reference, plan.workload.answers, _facts(plan))


def _facts(plan: PlanFacts) -> dict[str, Any]:
    """The plan's part of a release, which does not depend on the noisy values."""
    return {key: value for key, value in plan.payload().items() if key != "name"} | {"notes": notes(plan)}


def _release(
    plan: PlanFacts,
    z: Ints,
    records: int,
    ledger_reference: LedgerReference,
    answers: Iterable[Answer],
    facts: Mapping[str, Any],
) -> Release:
    """Build a release of the given answers: all of them, or a sample in a dry run."""
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
    """Build the complete text of a release from invented counts, so that failures show before anything is spent.

    The first counts are those of a table in which every record is the first possible one; they are consistent. The
    other two are higher and lower than any table and any noise can make them. Noise-free rows keep their value.
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
    """Return all answers, or, of very many, some of each kind: answers with equal query, block and noise are built
    alike.
    """
    answers = plan.workload.answers
    if len(answers) <= _MANY:
        return list(answers)
    block_of, distributions = plan.workload.block_of.tolist(), plan.distributions
    found: dict[object, Answer] = {}
    for answer in answers:
        found.setdefault((answer.query, *((block_of[r], id(distributions[r])) for r in answer.rows)), answer)
    return [*answers[:_MANY], *found.values()]


def guarantee(plan: PlanFacts, records: int, ledger_reference: LedgerReference) -> tuple[str, ...]:
    """Return the three guarantee sentences that every release of a plan states."""
    return guarantee_of(plan.metric, plan.worst_epsilon, records, ledger_reference.ledger, ledger_reference.so_far)
