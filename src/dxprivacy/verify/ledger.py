"""Checking a file against its ledger (docs/formats.md, section 8): chain, version, entry, what is stored, budget."""

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from dxprivacy.verify import reading
from dxprivacy.verify.entries import (
    Entry,
    check_budget,
    check_stored_fraction,
    proportional_kind,
    read_entry,
    worst_case_instead_of,
)
from dxprivacy.verify.journal import Row, check_chain, json_object, read_rows
from dxprivacy.verify.privacy import Check, Kept, Spent, infinite_as_null
from dxprivacy.verify.reading import refuse
from dxprivacy.verify.versions import Version, read_versions


class Book:
    """A ledger whose chain holds: its versions of the policy, its entries, and what was stored under them."""

    def __init__(self, path: Path) -> None:
        self.path, self.where = path, f"ledger {path.name}"
        self.rows = read_rows(path)
        check_chain(self.rows, path)
        self.reserved = [row for row in self.rows if row.kind == "reserve"]
        self._stored = {row.request: row for row in self.rows if row.kind == "finish"}

    @property
    def chain(self) -> Check:
        """That no row was changed or is missing."""
        found = f"{len(self.rows):,} rows of {self.path.name}, each continuing the one before, as the witness says"
        return Check("chain", found)

    @cached_property
    def versions(self) -> list[Version]:
        """All versions of the policy."""
        return read_versions(self.rows, self.path)

    @cached_property
    def entries(self) -> list[Entry]:
        """All costs."""
        known: dict[tuple[int, str], Entry] = {}  # adaptive mechanisms reserve the same again and again
        return [read_entry(row, self.version_of(row), f"{self.where}, row {row.seq}", known) for row in self.reserved]

    def version_of(self, row: Row) -> Version:
        """The last one before a row; row 2 is one."""
        return [version for version in self.versions if version.seq < row.seq][-1]

    def require_dataset(self, dataset: str) -> None:
        """Refuse a ledger of other data."""
        if json_object(self.rows[0], self.where) != {"dataset": dataset}:
            raise refuse("belongs to another dataset", self.where)

    def require_version(self, numbers: list[int], digest: str, word: str) -> tuple[Version, Check]:
        """The version under which all these entries were reserved; its distances have this digest."""
        for number in numbers:
            if not 1 <= number <= len(self.reserved):
                raise refuse(f"has no entry {number}", self.where)
            mine = self.version_of(self.reserved[number - 1])
            if mine.digest != digest:
                raise refuse(f"entry {number} was reserved under another policy, or another version of it", self.where)
        return mine, Check("policy", f"version {mine.number} of {len(self.versions)}, the one that the {word} names")

    def stored(self, number: int, word: str) -> str:
        """What was stored under an entry, which must be the answer to it."""
        entry = self.reserved[number - 1]
        finish = self._stored.get(entry.request)
        if finish is None:
            raise refuse(f"entry {number} was never answered", self.where)
        if finish.body != entry.body:
            raise refuse(f"holds another {word} under this entry", self.where)
        return finish.content

    def check_budgets(self) -> None:
        """Every budget is the largest ratio of its cost."""
        for entry in self.entries:
            check_stored_fraction(entry.budget, entry.under(entry.version), f"{self.where}, row {entry.row.seq}")

    def check_file(self, named: str, word: str) -> None:
        """The name by which a file knows its ledger."""
        if named != self.path.name:
            raise refuse(f"the {word} names {named[:60]!r}, this is {self.path.name!r}", "ledger file")

    def budget(self, mine: Version) -> Check:
        """Under every version, all costs together."""
        return check_budget(self.entries, self.versions, mine, self.where)


def verify_entry(data: dict[str, Any], spent: Spent, kept: Kept, book: Book, *, written: str = "") -> Iterator[Check]:
    """The entry of a release or selection is in the ledger, with this content, and nothing there exceeds the policy.

    `written` is the digest of the text that the data was read from, where that is known.
    """
    yield book.chain
    book.require_dataset(spent.policy.dataset)
    number, word = data["ledger"]["entry"], spent.word
    mine, named = book.require_version([number], spent.policy.digest, word)
    yield named
    entry = book.entries[number - 1]
    if entry.loss.scales == spent.loss.scales and bool(entry.loss.selections) == bool(spent.loss.selections):
        entry.found[mine.number] = kept.tightest  # its queries are compared next
    _check_entry(entry, data, spent, book, written)
    found = f"{number} of {len(book.entries)}, reserved {data['ledger']['at']}; the stored {word} is this one"
    yield Check("entry", found)
    book.check_budgets()
    _check_so_far(data["ledger"], book, kept)
    book.check_file(data["ledger"]["file"], word)
    yield book.budget(mine)


def _check_entry(entry: Entry, data: dict[str, Any], spent: Spent, book: Book, written: str) -> None:
    """The entry says what the file says, and the file is stored under it."""
    facts, number = data["ledger"], data["ledger"]["entry"]
    content = json_object(entry.row, book.where)
    for name, stated, found in (
        ("kind of cost", proportional_kind(spent.loss) or spent.cost, content["kind"]),
        ("request", facts["request"], entry.row.request),
        ("time", facts["at"], entry.row.at),
        ("queries", data["queries"], content.get("asked", content["queries"])),
        ("counted rows", data.get("measured", data)["queries"], content["queries"]),
        ("scales", spent.loss.scales, entry.loss.scales),
    ):
        if stated != found:
            raise refuse(f"entry {number} has other {name} than the {spent.word}", book.where)
    stored = book.stored(number, spent.word)
    if "repeated" not in data and written == reading.text_digest(stored):
        return  # the same text, so the same content
    shown = {name: value for name, value in data.items() if name != "repeated"}
    if reading.digest(reading.parse(stored)) != reading.digest(shown):
        raise refuse(f"holds another {spent.word} under this entry", book.where)


def _check_so_far(facts: Any, book: Book, kept: Kept) -> None:
    """The worst case of everything up to this release; where not all costs are known, not less than of the known."""
    entries = book.entries[: facts["entry"]]
    stated = infinite_as_null(facts["worst_case_epsilon"], "ledger worst_case_epsilon")
    so_far = worst_case_instead_of(stated, entries, book.versions, kept.worst_case)
    if so_far is not None:
        raise refuse(f"is not that of the first {len(entries)} entries, {so_far:.6g}", "ledger worst_case_epsilon")
