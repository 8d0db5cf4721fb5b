"""What a file says and nothing in it can confirm (docs/formats.md, section 9), by name.

Whoever edits one of these and seals the file again leaves a file that verifies.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_PLAIN_DP = "a comparison with plain DP, which takes a planner"


@dataclass(frozen=True)
class Unchecked:
    """A member that was read and not checked, and why not."""

    member: str
    why: str


def not_checked(data: Any, *, ledger: bool = False) -> list[Unchecked]:
    """The members of a verified plan or release that are only its author's word; fewer where a ledger was at hand.

    >>> plan = {"policy": {"title": "Survey"}, "method": "auto", "answers": [], "questions": []}
    >>> [unchecked.member for unchecked in not_checked(plan)]
    ['policy.title', 'certificate.rule', 'method']
    """
    return list(_listed(data, ledger=ledger))


def _listed(data: Any, *, ledger: bool) -> Iterator[Unchecked]:
    yield Unchecked("policy.title", "words; the dataset's name and the digests identify the policy")
    if "file" in data["policy"]:
        yield Unchecked("policy.file", "where the policy lay when the plan was made")
    yield Unchecked("certificate.rule", "how the ratio was found; the ratio itself is checked")
    if any("title" in question for question in data["questions"]):
        yield Unchecked("questions.title", "what a question is called")
    if data.get("universe", {}).get("units"):
        yield Unchecked("universe.units", "names of units")
    told = {
        "method": "how the scales were found; what they keep is checked",
        "about": "words about the method",
        "gains": _PLAIN_DP,
        "software": "who wrote the file",
    }
    yield from (Unchecked(name, why) for name, why in told.items() if name in data)
    for name in ("gain", "plain_as_strict_95", "plain_at_worst_case_95"):
        if any(name in answer for answer in data["answers"]):
            yield Unchecked(f"answers.{name}", _PLAIN_DP)
    if "noisy" in data:
        yield Unchecked("noisy", "that it was drawn, and from this data: answers are checked to follow from it")
        if not ledger:
            for name in ("file", "entry", "at", "request", "worst_case_epsilon"):
                yield Unchecked(f"ledger.{name}", "only the ledger can tell: --ledger LEDGER")
