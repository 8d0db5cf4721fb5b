"""A report on records fitted to a release, which is stored in the ledger and checked as one."""

from collections.abc import Iterator
from typing import Any

from dxprivacy.verify import reading
from dxprivacy.verify.ledger import Book, verify_entry
from dxprivacy.verify.privacy import Check
from dxprivacy.verify.reading import refuse
from dxprivacy.verify.release import RELEASES, verify_release
from dxprivacy.verify.synthesis.report import Report, stated_interval

_CONVERGED = 0.2  # of chi square per noisy count


class Direct(Report):
    """Records that fit the answers of an ordinary release."""

    optional = ("fit",)

    def __init__(self, data: dict[str, Any]) -> None:
        super().__init__(data)
        if "fit" in data:
            self._check_fit(data["fit"])
        if len(self.entries) != 1:
            raise refuse("a fit has one release", "ledger entries")

    def _check_fit(self, given: Any) -> None:
        fit = reading.members(given, "fit", ("misfit", "gap", "steps", "converged"))
        reading.whole(fit["steps"], "fit steps", 0)
        for name in ("misfit", "gap"):
            if reading.number(fit[name], f"fit {name}") < 0:
                raise refuse("is negative", f"fit {name}")
        if fit["converged"] is not (fit["gap"] <= _CONVERGED):
            raise refuse("is not what the gap says", "fit converged")

    def by_ledger(self, book: Book) -> Iterator[Check]:
        """The release behind it, and that the report says what it says."""
        (number,) = self.entries
        book.require_dataset(self.dataset)
        book.require_version([number], self.policy, "report")
        stored = reading.parse(book.stored(number, "release"))
        if not isinstance(stored, dict) or stored.get("format") not in RELEASES or stored["ledger"]["entry"] != number:
            raise refuse(f"entry {number} is no release", book.where)
        spent, kept = yield from verify_release(stored)
        yield from verify_entry(stored, spent, kept, book)
        self._check_same(stored)
        yield Check("report", f"says what release {stored['name']} says")

    def _check_same(self, stored: dict[str, Any]) -> None:
        for name, mine, theirs in (
            ("name", self.data["name"], stored["name"]),
            ("guarantee", self.data["guarantee"], stored["guarantee"]),
            ("ledger file", self.file, stored["ledger"]["file"]),
        ):
            if mine != theirs:
                raise refuse("is not that of the release", name)
        if len(self.data["answers"]) != len(stored["answers"]):
            raise refuse("are not those of the release", "answers")
        for k, (mine, theirs) in enumerate(zip(self.data["answers"], stored["answers"], strict=True)):
            where = f"answer {k + 1}"
            same = all(mine[name] == theirs[name] for name in ("label", "query", "unit"))
            numbers = tuple(float(theirs[name]) for name in ("value", "low", "high"))
            if not same or mine["released"] is None or stated_interval(mine, where) != numbers:
                raise refuse("is not that of the release", where)
