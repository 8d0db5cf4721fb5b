"""The path of a choice: planned, reserved, counted, chosen, kept - in that order, and in no other."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dxprivacy.errors import UsageError
from dxprivacy.ledger import Entry
from dxprivacy.mechanisms.choice.plan import Choice
from dxprivacy.mechanisms.choice.release import ChoiceRelease, build_choice, choice_from_json, rehearse_choice
from dxprivacy.mechanisms.choice.run import chosen
from dxprivacy.mechanisms.laplace.run import public_records
from dxprivacy.mechanisms.noise import Noise

if TYPE_CHECKING:
    from dxprivacy.session.session import Session


@dataclass(frozen=True)
class ChoiceOutcome:
    """A released choice, and whether it was made before (then nothing was spent)."""

    release: ChoiceRelease
    replayed: bool
    entry: int


def choose(session: "Session", choice: Choice, noise: Noise, *, request: str = "") -> ChoiceOutcome:
    """Reserve the cost, then count, then choose; the same choice again returns the stored one."""
    if not isinstance(choice, Choice):
        hints = [("session.plan_choice(…)", "shows how good it will be first, and costs nothing")]
        raise UsageError("a planned choice is needed", hints=hints)
    policy, ledger = session.policy, session.ledger
    if choice.metric.digest != policy.digest or choice.dataset != policy.dataset:
        raise UsageError("the choice was planned for another policy", hints=["session.plan_choice(…)"])
    choice.certificate.require(at_most=choice.share)
    # Everything that can fail from public numbers fails here, before anything is spent.
    choice.require_room(session.rows)
    name = f"{choice.request[:16]} {request}".strip()
    worst = ledger.worst_case(choice.cost)
    rehearse_choice(choice, session.rows, ledger=ledger.path.name, request=name, so_far=worst)
    ledger.verify_on_disk()
    entry = ledger.reserve(choice.cost, choice.candidates.questions, request=name)
    if not isinstance(entry, Entry):
        stored = choice_from_json(entry)
        return ChoiceOutcome(stored, True, int(stored.facts["ledger"]["entry"]))
    with session.pacing():
        histogram = session.source.count(policy.universe)
        index = chosen(choice, histogram, noise)
    release = build_choice(
        choice,
        index,
        public_records(histogram),
        ledger=ledger.path.name,
        entry=entry.number,
        at=entry.at,
        request=name,
        so_far=ledger.worst_case(),
    )
    ledger.finish(name, release.to_json())
    return ChoiceOutcome(release, False, entry.number)
