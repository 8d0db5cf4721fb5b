"""What a file says and nothing in it can confirm (docs/formats.md, section 9), by name.

Whoever edits one of these and seals the file again leaves a file that verifies.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_PLAIN_DP = "a comparison with standard DP, which takes a planner"
_TITLE = "words; the dataset's name and the digests identify the policy"
_SOFTWARE = "who wrote the file"
_LEDGER = "only the ledger can tell: --ledger LEDGER"


@dataclass(frozen=True)
class Unchecked:
    """A member that was read and not checked, and why not."""

    member: str
    why: str


def not_checked(data: Any, *, ledger: bool = False) -> list[Unchecked]:
    """The members of a verified file that are only its author's word; fewer where a ledger was at hand.

    >>> plan = {"policy": {"title": "Survey"}, "method": "auto", "answers": [], "queries": []}
    >>> [unchecked.member for unchecked in not_checked(plan)]
    ['policy.title', 'certificate.rule', 'method']
    """
    kind = str(data.get("format", "")).partition("/")[0]
    if kind == "dxprivacy-synthesis":
        return [Unchecked("policy.title", _TITLE), *_of_report(data, ledger=ledger)]
    return [Unchecked("policy.title", _TITLE), *_of_policy(data), *_of_answers(data), *_of_outcome(data, ledger=ledger)]


def _of_policy(data: Any) -> Iterator[Unchecked]:
    """What plans, releases and selections have in common."""
    if "file" in data["policy"]:
        yield Unchecked("policy.file", "where the policy lay when the plan was made")
    yield Unchecked("certificate.rule", "how the ratio was found; the ratio itself is checked")
    if any("title" in query for query in data["queries"]):
        yield Unchecked("queries.title", "what a query is called")
    if data.get("universe", {}).get("units"):
        yield Unchecked("universe.units", "names of units")
    told = {
        "method": "how the scales were found; what they keep is checked",
        "about": "words about the method",
        "gains": _PLAIN_DP,
        "software": _SOFTWARE,
    }
    yield from (Unchecked(name, why) for name, why in told.items() if name in data)


def _of_answers(data: Any) -> Iterator[Unchecked]:
    for name in ("gain", "standard_at_strictest_95", "standard_at_worst_case_95"):
        if any(name in answer for answer in data.get("answers", [])):
            yield Unchecked(f"answers.{name}", _PLAIN_DP)


def _of_outcome(data: Any, *, ledger: bool) -> Iterator[Unchecked]:
    """What came of it, in a release or a selection."""
    if "noisy" in data:
        yield Unchecked("noisy", "that it was drawn, and from this data: answers are checked to follow from it")
    if "chosen" in data:
        yield Unchecked("chosen", "that it was drawn, and from this data: it is checked to be one of the candidates")
    if "ledger" in data and not ledger:
        for name in ("file", "entry", "at", "request", "worst_case_epsilon"):
            yield Unchecked(f"ledger.{name}", _LEDGER)


def _of_report(data: Any, *, ledger: bool) -> Iterator[Unchecked]:
    """A report says little that can be seen without its ledger, and of the records themselves nothing."""
    yield Unchecked("software", _SOFTWARE)
    yield Unchecked("records", "how many there are: the file of records is not read")
    yield Unchecked("answers.synthetic", "what the records answer: the file of records is not read")
    if "fit" in data:
        yield Unchecked("fit", "how well the histogram fits: it is not worked out again")
    for name in ("file", "file_sha256", "planned", "files", "repeated"):
        if name in data:
            yield Unchecked(name, "which files were written, and what was said before")
    if not ledger:
        for name in ("policy.dataset", "policy.digest", "ledger", "guarantee", "answers.label", "answers.query"):
            yield Unchecked(name, _LEDGER)
        released = ("answers.unit", "answers.released", "answers.low", "answers.high", "name")
        for name in (*released, *(member for member in ("plan", "measurements") if member in data)):
            yield Unchecked(name, _LEDGER)
        return
    if data["method"] == "mwem":
        why = "how the histogram leaned towards the measurements: it is not worked out again"
        for name in ("passes", "averaged"):
            yield Unchecked(f"plan.{name}", why)
        yield Unchecked("plan.again", "whether a row might have been measured twice")
        yield Unchecked("plan.why", "why so many rounds")
        yield Unchecked("plan.budget", "no step takes more than its part; it may have been less")
        yield Unchecked(
            "plan.request", "covers the noise of rows that were never measured; the ledger has its beginning"
        )
        yield Unchecked("measurements.noisy", "that it was drawn, and from this data")
    if data["method"] == "smalldb":
        yield Unchecked("plan.route", "how it was drawn")
        yield Unchecked("plan.certificate.rule", "how the ratio was found; the ratio itself is checked")
        if not data["ledger"]["entries"]:
            why = "a database that was drawn without looking at the data is not kept"
            yield from (Unchecked(f"answers.{name}", why) for name in ("released", "low", "high"))
            yield Unchecked("plan.beta", "without a selection nothing can go wrong")
    if data["method"] != "direct":
        yield Unchecked("answers.unit", "names of units, where the ledger has none")
