"""A released choice: what was chosen, among what, and the guarantee; never a score."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dxprivacy.errors import UsageError
from dxprivacy.formats.versions import CHOICE, software
from dxprivacy.formats.writing_files import CHOICE as CHOICE_FILE
from dxprivacy.formats.writing_files import LATEX, MARKDOWN, write_file
from dxprivacy.mechanisms.selection.selection_facts import ChoiceFacts
from dxprivacy.releases.deployment import Made
from dxprivacy.releases.guarantee import guarantee_of, public_people
from dxprivacy.releases.ledger_reference import LedgerReference
from dxprivacy.releases.release_base import Released, common_of
from dxprivacy.tabular import NUMBER, TEXT, Columns, Printable, Tabular
from dxprivacy.wording import digits, plural

KEPT = "The choice is kept in the ledger; choosing again returns it, at no cost."


@dataclass(frozen=True, kw_only=True)
class ChoiceRelease(Released, Tabular, Printable):
    """What was chosen, the guarantee that goes with it, and what is needed to check it.

    >>> import tempfile, pandas, dxprivacy as dx
    >>> policy = dx.Policy.parse('''title = "Survey"
    ... dataset = "survey-2026"
    ... [attributes.sex]
    ... values = ["F", "M"]
    ... epsilon = 1''')
    >>> people = pandas.DataFrame({"sex": ["F", "M", "F", "F"] * 100})
    >>> folder = tempfile.TemporaryDirectory()
    >>> with folder as here, dx.Session(policy, people, ledger=f"{here}/ledger.db", new_ledger=True) as session:
    ...     released = session.choose(session.plan_choice("most common sex", share="100%"))
    >>> released.chosen in ("F", "M")
    True
    """

    title: str
    chosen: str
    index: int
    format: str = CHOICE.written

    def in_short(self) -> str:
        return f"{self.name!r}, {self.title!r}: {self.chosen!r}"

    def content(self) -> dict[str, Any]:
        """What was chosen."""
        chosen = {"label": self.chosen, "index": self.index}
        return {"title": self.title, "records": self.records, "chosen": chosen}

    def _columns(self) -> Columns:
        head = [("question", TEXT), ("chosen", TEXT), ("short_by_at_most_95", NUMBER), ("short_in", TEXT)]
        off = self.facts["short_by_at_most_95"]
        return Columns.of(head, [(self.title, self.chosen, off, self.facts["short_in"])])

    def made(self) -> Made:
        """A choice among candidates that were public; how far from the best it may be."""
        off = digits(float(self.facts["short_by_at_most_95"]))
        among = plural(len(self.facts.get("candidates", ())), "candidate")
        return Made(
            mechanism=f"{str(self.facts.get('mechanism', 'exponential')).capitalize()} mechanism among {among}",
            utility=f"What was chosen is at most {off} {self.facts['short_in']}, 95 % of the time.",
        )

    def save(self, path: str | Path) -> Path:
        """Write to a .json, .md or .tex file; one that is there is replaced only if we wrote such a file."""
        target = Path(path)
        made = {
            ".json": (self.to_json, CHOICE_FILE),
            ".md": (self.to_markdown, MARKDOWN),
            ".tex": (self.to_latex, LATEX),
        }
        if target.suffix not in made:
            raise UsageError(f"cannot write {target.name}", hints=[f"use a name that ends in {', '.join(made)}"])
        text, kind = made[target.suffix]
        return write_file(target, text(), kind, note=KEPT)


def build_choice(choice: ChoiceFacts, index: int, records: int, ledger_reference: LedgerReference) -> ChoiceRelease:
    """The release of a chosen index."""
    facts: dict[str, Any] = {
        **{key: value for key, value in choice.payload().items() if key != "name"},
        "ledger": ledger_reference.to_dict(),
        "software": software(),
        **public_people(choice.metric.universe, records),
    }
    words = guarantee_of(choice.metric, choice.worst_epsilon, records, ledger_reference.ledger, ledger_reference.so_far)
    public = records if choice.metric.universe.absent is None else None
    label = choice.candidates.labels[index]
    return ChoiceRelease(
        name=choice.name,
        title=str(choice.pick),
        chosen=label,
        index=index,
        guarantee=words,
        records=public,
        facts=facts,
    )


def dry_run_choice(choice: ChoiceFacts, records: int, ledger_reference: LedgerReference) -> None:
    """Make the text of a release as if the first candidate, and that with the longest name, had been chosen: what can
    fail fails here.
    """
    labels = choice.candidates.labels
    for index in {0, max(range(len(labels)), key=lambda k: len(labels[k]))}:
        build_choice(choice, index, records, ledger_reference).to_json()


def choice_from_json(text: str) -> ChoiceRelease:
    """A released choice back from its JSON text."""
    data = json.loads(text)
    picked, common = data["chosen"], common_of(data, "title", "records", "chosen")
    return ChoiceRelease(title=data["title"], chosen=picked["label"], index=picked["index"], **common)
