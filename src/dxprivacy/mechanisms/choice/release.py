"""A released choice: what was chosen, among what, and the promise; never a score."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dxprivacy.errors import UsageError
from dxprivacy.files.canonical import UNSEALED, sealed
from dxprivacy.files.formats import CHOICE, software
from dxprivacy.files.writing import CHOICE as CHOICE_FILE
from dxprivacy.files.writing import write_file
from dxprivacy.mechanisms.choice.facts import ChoiceFacts
from dxprivacy.release.booking import Booking
from dxprivacy.release.promise import promise_of
from dxprivacy.wording import json_text, shown

KEPT = "The choice is kept in the ledger; choosing again returns it, at no cost."


@dataclass(frozen=True)
class ChoiceRelease:
    """What was chosen, the promise that goes with it, and what is needed to check it."""

    name: str
    title: str
    chosen: str
    index: int
    promise: tuple[str, ...]
    records: int | None  # None where it is private
    facts: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """For JSON, sealed."""
        return sealed(
            {
                "format": CHOICE.written,
                "name": self.name,
                "title": self.title,
                "records": self.records,
                "chosen": {"label": self.chosen, "index": self.index},
                "promise": list(self.promise),
                **self.facts,
            }
        )

    def to_json(self) -> str:
        """The whole release as JSON text."""
        return json_text(self.to_dict())

    def save(self, path: str | Path) -> Path:
        """Write to a .json file."""
        target = Path(path)
        if target.suffix != ".json":
            raise UsageError(f"cannot write {target.name}", hints=["use a name that ends in .json"])
        return write_file(target, self.to_json(), CHOICE_FILE, note=KEPT)

    def __str__(self) -> str:
        return shown(self)


def build_choice(choice: ChoiceFacts, index: int, records: int, booking: Booking) -> ChoiceRelease:
    """The release of a chosen index."""
    facts: dict[str, Any] = {
        **{key: value for key, value in choice.essence().items() if key != "name"},
        "ledger": booking.to_dict(),
        "software": software(),
    }
    words = promise_of(choice.metric, choice.worst_epsilon, records, booking.ledger, booking.so_far)
    public = records if choice.metric.universe.absent is None else None
    label = choice.candidates.labels[index]
    return ChoiceRelease(choice.name, str(choice.pick), label, index, words, public, facts)


def rehearse_choice(choice: ChoiceFacts, records: int, booking: Booking) -> None:
    """Make the text of a release as if the first candidate, and that with the longest name, had been chosen: what can
    fail fails here.
    """
    labels = choice.candidates.labels
    for index in {0, max(range(len(labels)), key=lambda k: len(labels[k]))}:
        build_choice(choice, index, records, booking).to_json()


def choice_from_json(text: str) -> ChoiceRelease:
    """A released choice back from its JSON text."""
    data = json.loads(text)
    known = {"format", "name", "title", "records", "chosen", "promise", *UNSEALED}
    facts = {key: value for key, value in data.items() if key not in known}
    picked = data["chosen"]
    words = tuple(data["promise"])
    return ChoiceRelease(data["name"], data["title"], picked["label"], picked["index"], words, data["records"], facts)
