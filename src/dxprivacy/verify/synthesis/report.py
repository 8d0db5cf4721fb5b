"""What every report on synthetic records says: answers beside released ones, and where these came from (12)."""

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from dxprivacy.verify import reading
from dxprivacy.verify.certificate import largest_loss
from dxprivacy.verify.entries import together, worst_case
from dxprivacy.verify.guarantee import check_sentences, sentences_for
from dxprivacy.verify.ledger import Book
from dxprivacy.verify.privacy import Check, Policy
from dxprivacy.verify.queries import Answer
from dxprivacy.verify.reading import refuse
from dxprivacy.verify.versions import Version

_MEMBERS = (
    *("format", "records", "name", "method", "policy", "ledger", "guarantee", "software", "summary", "inside"),
    *("compared", "answers"),
)
_PRINTED = ("file", "file_sha256", "repeated", "planned", "files")
_ANSWER = ("label", "query", "unit", "synthetic", "released", "low", "high", "inside")
_CLOSE = 1e-9  # of the ends of an interval
_MOST = 1 << 62

Interval = tuple[float, float, float]
"""A value and both ends."""


class Report(ABC):
    """A report of one method."""

    members: ClassVar[tuple[str, ...]] = ()
    optional: ClassVar[tuple[str, ...]] = ()

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = reading.members(data, "report", (*_MEMBERS, *self.members), (*_PRINTED, *self.optional))
        reading.whole(data["records"], "records", 0, _MOST)
        for name in ("name", "software", *(name for name in ("file",) if name in data)):
            reading.text(data[name], name)
        if ("file" in data) != ("file_sha256" in data):
            raise refuse("names a file without its digest", "file")
        if "file_sha256" in data:
            reading.hash_text(data["file_sha256"], "file_sha256")
        policy = reading.members(data["policy"], "policy", ("title", "dataset", "digest"))
        reading.text(policy["title"], "policy title")
        self.dataset = reading.text(policy["dataset"], "policy dataset")
        self.policy = reading.hash_text(policy["digest"], "policy digest")
        ledger = reading.members(data["ledger"], "ledger", ("file", "entries"))
        self.file = reading.text(ledger["file"], "ledger file")
        self.entries = reading.each(ledger["entries"], "ledger entries", lambda x, w: reading.whole(x, w, 1))
        if sorted(set(self.entries)) != self.entries:
            raise refuse("are not in order, or one stands twice", "ledger entries")
        sentences_for(data["guarantee"], self.file)

    def checks(self) -> Iterator[Check]:
        """What the report says of itself."""
        compared, inside = self._compared()
        yield Check(
            "answers", f"{len(self.data['answers']):,}; {inside:,} of {compared:,} compared lie inside, as is said"
        )

    @abstractmethod
    def by_ledger(self, book: Book) -> Iterator[Check]:
        """What the ledger says of it."""

    def _compared(self) -> tuple[int, int]:
        """How many answers were compared, and how many lie inside, each as it says."""
        compared = inside = 0
        for k, given in enumerate(reading.items(self.data["answers"], "answers")):
            where = f"answer {k + 1}"
            reading.members(given, where, _ANSWER)
            for name in ("label", "query", "unit"):
                reading.text(given[name], f"{where} {name}")
            value = reading.number(given["synthetic"], f"{where} synthetic")
            found = None
            if any(given[name] is not None for name in ("released", "low", "high")):
                _, low, high = stated_interval(given, where)
                room = _CLOSE * max(abs(low), abs(high), 1.0)
                found = low - room <= value <= high + room
                compared, inside = compared + 1, inside + found
            if given["inside"] is not found:
                raise refuse("inside does not follow from its numbers", where)
        for name, count in (("compared", compared), ("inside", inside)):
            if reading.whole(self.data[name], name) != count:
                raise refuse(f"is not {count:,}", name)
        if self.data["summary"] != _summary(compared, inside):
            raise refuse("does not follow from the answers", "summary")
        return compared, inside

    def check_labels(self, answers: Sequence[Answer], version: Version) -> None:
        """Every answer is called as its query says."""
        given = self.data["answers"]
        if len(given) != len(answers):
            raise refuse(f"{len(given):,} instead of {len(answers):,}", "answers")
        for k, (stated, answer) in enumerate(zip(given, answers, strict=True)):
            named = [("label", answer.label), ("query", answer.title)]
            for name, wanted in (*named, *([("unit", answer.unit)] if version.has_units else [])):
                if stated[name] != wanted:
                    raise refuse(f"{name} is not {wanted[:60]!r}", f"answer {k + 1}")

    def check_released(self, expected: Sequence[list[Interval]]) -> None:
        """What was released of each answer is one of what may be stated, nothing where nothing may be."""
        for k, (stated, options) in enumerate(zip(self.data["answers"], expected, strict=True)):
            where = f"answer {k + 1}"
            found = None if stated["released"] is None else stated_interval(stated, where)
            if (found is None) != (not options) or (found is not None and found not in options):
                raise refuse("what was released is not what the ledger holds", where)

    def check_guarantee(self, book: Book, version: Version, records: int) -> None:
        """The sentences follow from the ledger: this run by itself, and everything so far when it was written."""
        policy = Policy(version.universe, version.metric, version.digest, self.dataset)
        own = [book.entries[number - 1] for number in self.entries]
        worst = largest_loss(together(own)) if own else 0.0
        complete, so_far = True, set[float]()
        for until in range(max(self.entries, default=0), len(book.entries) + 1):
            before = book.entries[:until]
            found, whole = worst_case(before, book.versions, largest_loss(before[-1].loss)) if before else (0.0, True)
            complete &= whole
            so_far.add(found)
        check_sentences(self.data["guarantee"], policy, records, self.file, worst, sorted(so_far) if complete else None)


def stated_interval(given: dict[str, Any], where: str) -> Interval:
    """A released value between its ends."""
    value, low, high = (reading.number(given[name], f"{where} {name}") for name in ("released", "low", "high"))
    if not low <= high:
        raise refuse("has an interval that is none", where)
    return value, low, high


def _summary(compared: int, inside: int) -> str:
    if not compared:
        return "nothing was released to compare with"
    if compared == 1:
        return f"the synthetic answer lies {'within' if inside else 'outside'} the released 95 % interval"
    how_many = f"all {compared:,}" if inside == compared else f"{inside:,} of {compared:,}"
    return f"{how_many} synthetic answers lie within the released 95 % intervals"


class Run(Report):
    """A run of steps, each an entry of its own, under one word."""

    def named(self, plan: dict[str, Any]) -> str:
        """The plan's request, from which its names follow."""
        request = reading.hash_text(plan["request"], "plan request")
        if not plan["name"] == self.data["name"] == request[:4]:
            raise refuse("is not the beginning of the request", "name")
        return request

    def steps(self, book: Book, request: str, names: Sequence[str]) -> None:
        """The run's entries are these steps in their order, and there are no others."""
        listed = [book.reserved[number - 1].request for number in self.entries]
        word = listed[0].partition(" ")[0] if listed else f"synth-{request[:16]}"
        if not re.fullmatch(rf"synth-{request[:16]}(-\S+)?", word):
            raise refuse("are those of another plan", "ledger entries")
        if listed != [f"{word} {name}" for name in names]:
            raise refuse("are not the steps of this run", "ledger entries")
        others = [row for row in book.reserved if row.request.startswith(f"{word} ")]
        if len(others) != len(listed):
            raise refuse("are not all steps of this run", "ledger entries")

    def opened(self, book: Book) -> Iterator[Check]:
        """The chain, and the version of the policy."""
        yield book.chain
        book.require_dataset(self.dataset)
        book.check_file(self.file, "report")

    def version(self, book: Book) -> tuple[Version, Check]:
        """Under which all steps were reserved; of a run without steps any version with this digest."""
        if self.entries:
            return book.require_version(self.entries, self.policy, "report")
        mine = next((version for version in book.versions if version.digest == self.policy), None)
        if mine is None:
            raise refuse("has no version of the policy that the report names", book.where)
        return mine, Check("policy", f"version {mine.number} of {len(book.versions)}, the one that the report names")


def same_number(stated: Any, found: float, where: str) -> None:
    """A float64 that was worked out in floats."""
    if not math.isclose(reading.number(stated, where), found, rel_tol=1e-9, abs_tol=1e-300):
        raise refuse(f"is not {found:.6g}", where)
