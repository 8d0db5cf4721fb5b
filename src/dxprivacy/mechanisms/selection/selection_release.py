"""A released selection: the selected candidate, all candidates, and the guarantee; never a score."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dxprivacy.errors import UsageError
from dxprivacy.formats.canonical import SELECTION, software
from dxprivacy.formats.file_access import LATEX, MARKDOWN, write_file
from dxprivacy.formats.file_access import SELECTION as SELECTION_FILE
from dxprivacy.mechanisms.selection.selection_facts import SelectionFacts
from dxprivacy.releases.deployment import DeploymentFacts
from dxprivacy.releases.guarantee import LedgerReference, guarantee_of, public_people
from dxprivacy.releases.release_base import Released, common_of
from dxprivacy.tabular import NUMBER, TEXT, Columns, Printable, Tabular
from dxprivacy.wording import digits, plural

KEPT = "The selection is kept in the ledger; choosing again returns it, at no cost."


@dataclass(frozen=True, kw_only=True)
class SelectionRelease(Released, Tabular, Printable):
    """The selected candidate, its guarantee, and what is needed to check it.

    >>> import tempfile, pandas, dxprivacy as dx
    >>> policy = dx.Policy.parse('''title = "Survey"
    ... dataset = "survey-2026"
    ... [attributes.sex]
    ... values = ["F", "M"]
    ... epsilon = 1''')
    >>> people = pandas.DataFrame({"sex": ["F", "M", "F", "F"] * 100})
    >>> folder = tempfile.TemporaryDirectory()
    >>> with folder as here, dx.Session(policy, people, ledger=f"{here}/ledger.db", new_ledger=True) as session:
    ...     released = session.select(session.plan_selection("most common sex", budget="100%"))
    >>> released.chosen in ("F", "M")
    True
    """

    title: str
    chosen: str
    index: int
    format: str = SELECTION.written

    def in_short(self) -> str:
        return f"{self.name!r}, {self.title!r}: {self.chosen!r}"

    def content(self) -> dict[str, Any]:
        """Return the selected candidate."""
        chosen = {"label": self.chosen, "index": self.index}
        return {"title": self.title, "records": self.records, "chosen": chosen}

    def _columns(self) -> Columns:
        head = [("query", TEXT), ("chosen", TEXT), ("short_by_at_most_95", NUMBER), ("short_in", TEXT)]
        off = self.facts["short_by_at_most_95"]
        return Columns.of(head, [(self.title, self.chosen, off, self.facts["short_in"])])

    def made(self) -> DeploymentFacts:
        """Describe the mechanism and a bound on the distance from the best."""
        off = digits(float(self.facts["short_by_at_most_95"]))
        among = plural(len(self.facts.get("candidates", ())), "candidate")
        return DeploymentFacts(
            mechanism=f"{str(self.facts.get('mechanism', 'exponential')).capitalize()} mechanism among {among}",
            utility=f"What was chosen is at most {off} {self.facts['short_in']}, 95 % of the time.",
        )

    def save(self, path: str | Path) -> Path:
        """Write a .json, .md or .tex file. An existing file is replaced only if this package wrote it."""
        target = Path(path)
        made = {
            ".json": (self.to_json, SELECTION_FILE),
            ".md": (self.to_markdown, MARKDOWN),
            ".tex": (self.to_latex, LATEX),
        }
        if target.suffix not in made:
            raise UsageError(f"cannot write {target.name}", hints=[f"use a name that ends in {', '.join(made)}"])
        text, kind = made[target.suffix]
        return write_file(target, text(), kind, note=KEPT)


def build_selection(
    selection: SelectionFacts, index: int, records: int, ledger_reference: LedgerReference
) -> SelectionRelease:
    """Build the release of a selected index."""
    facts: dict[str, Any] = {
        **{key: value for key, value in selection.payload().items() if key != "name"},
        "ledger": ledger_reference.to_dict(),
        "software": software(),
        **public_people(selection.metric.universe, records),
    }
    words = guarantee_of(
        selection.metric, selection.worst_epsilon, records, ledger_reference.ledger, ledger_reference.so_far
    )
    public = records if selection.metric.universe.absent is None else None
    label = selection.candidates.labels[index]
    return SelectionRelease(
        name=selection.name,
        title=str(selection.pick),
        chosen=label,
        index=index,
        guarantee=words,
        records=public,
        facts=facts,
    )


def dry_run_selection(selection: SelectionFacts, records: int, ledger_reference: LedgerReference) -> None:
    """Build the release text for the first candidate and for the longest label, so that failures show
    before spending.
    """
    labels = selection.candidates.labels
    for index in {0, max(range(len(labels)), key=lambda k: len(labels[k]))}:
        build_selection(selection, index, records, ledger_reference).to_json()


def selection_from_json(text: str) -> SelectionRelease:
    """Load a released selection from its JSON text."""
    data = json.loads(text)
    picked, common = data["chosen"], common_of(data, "title", "records", "chosen")
    return SelectionRelease(title=data["title"], chosen=picked["label"], index=picked["index"], **common)
