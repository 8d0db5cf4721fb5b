"""A released choice: what was chosen, among what, and the promise; never a score."""

import importlib.metadata
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dxprivacy.errors import UsageError
from dxprivacy.files.canonical import UNSEALED, sealed
from dxprivacy.files.writing import CHOICE, write_file
from dxprivacy.mechanisms.choice.plan import Choice
from dxprivacy.mechanisms.laplace.answers import promise_of
from dxprivacy.wording import json_text, shown

FORMAT = "dxprivacy-choice/1"
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
                "format": FORMAT,
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
        return write_file(target, self.to_json(), CHOICE, note=KEPT)

    def __str__(self) -> str:
        return shown(self)


def build_choice(
    choice: Choice, index: int, records: int, *, ledger: str, entry: int, at: str, request: str, so_far: float
) -> ChoiceRelease:
    """The release of a chosen index.

    `request` is the name of the ledger's entry; `so_far` the worst case of everything in the ledger, this included.
    """
    facts: dict[str, Any] = {
        **{key: value for key, value in choice.essence().items() if key != "name"},
        "ledger": {
            "file": ledger,
            "entry": entry,
            "at": at,
            "request": request,
            "worst_case_epsilon": so_far if math.isfinite(so_far) else None,
        },
        "software": f"dxprivacy {importlib.metadata.version('dxprivacy')}",
    }
    words = promise_of(choice.metric, choice.worst_epsilon, records, ledger, so_far)
    public = records if choice.metric.universe.absent is None else None
    label = choice.candidates.labels[index]
    return ChoiceRelease(choice.name, str(choice.pick), label, index, words, public, facts)


def rehearse_choice(choice: Choice, records: int, *, ledger: str, request: str, so_far: float) -> None:
    """Make the text of a release as if the first candidate, and that with the longest name, had been chosen: what can
    fail fails here.
    """
    now = "2000-01-01T00:00:00.000+00:00"
    labels = choice.candidates.labels
    for index in {0, max(range(len(labels)), key=lambda k: len(labels[k]))}:
        build_choice(choice, index, records, ledger=ledger, entry=1, at=now, request=request, so_far=so_far).to_json()


def choice_from_json(text: str) -> ChoiceRelease:
    """A released choice back from its JSON text."""
    data = json.loads(text)
    known = {"format", "name", "title", "records", "chosen", "promise", *UNSEALED}
    facts = {key: value for key, value in data.items() if key not in known}
    picked = data["chosen"]
    words = tuple(data["promise"])
    return ChoiceRelease(data["name"], data["title"], picked["label"], picked["index"], words, data["records"], facts)
