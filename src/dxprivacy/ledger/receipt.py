"""A receipt: a short text about one release, to be kept with the publication.

It names the row of the journal and the head of the chain, so that whoever holds the ledger can show later that the
release is in it and that nothing before it was changed; and whoever holds receipts notices a ledger that was put back.
"""

import json
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from dxprivacy.errors import DxError, UsageError
from dxprivacy.ledger.history import Entry, History, title_of
from dxprivacy.ledger.journal import Journal
from dxprivacy.ledger.ledger_budget import certified_share, checked_share
from dxprivacy.ledger.worst_case_so_far import worst_of
from dxprivacy.privacy.costs import SumCost
from dxprivacy.queries.stored_queries import from_dict
from dxprivacy.wording import digits, percent, plural, quoted, tag, wrap


@dataclass(frozen=True)
class Receipt:
    """What a receipt says about one entry, as of the version of the policy under which it was released."""

    entry: int
    dataset: str
    policy: str
    policy_digest: str
    at: str
    request: str
    released: tuple[str, ...]
    share: float
    worst_case_epsilon: float
    row: int
    row_hash: str
    answer_hash: str | None  # of the row that holds the release; None if it was reserved and never answered
    head: int
    head_hash: str

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        worst = self.worst_case_epsilon if math.isfinite(self.worst_case_epsilon) else None
        return {**vars(self), "released": list(self.released), "worst_case_epsilon": worst}


def receipt(ledger: str | Path, entry: int) -> Receipt:
    """The receipt of an entry, from a verified ledger; it needs no policy file, and spends nothing."""
    with Journal.read(ledger) as journal:
        journal.verify()
        rows = journal.rows()
        history, dataset = History(journal.policies, str(ledger)), journal.binding.get("dataset", "")
    reserved = [row for row in rows if row.kind == "reserve"]
    if not 1 <= entry <= len(reserved):
        raise UsageError(
            f"there is no entry {entry}; the ledger has {plural(len(reserved), 'release')}",
            hints=[(f"dxp ledger {quoted(ledger)}", "lists them")],
        )
    row = reserved[entry - 1]
    original = history.original(row, entry)
    version = history.versions[original.policy - 1]
    answered = next((r for r in rows if r.kind == "finish" and r.request == row.request), None)
    return Receipt(
        entry=entry,
        dataset=dataset,
        policy=version.words,
        policy_digest=version.digest,
        at=row.at,
        request=row.request,
        released=_released(json.loads(row.content)),
        share=float(_share(history, original)),
        worst_case_epsilon=worst_of(SumCost(original.cost.universe, [original.cost])),
        row=row.seq,
        row_hash=row.hash,
        answer_hash=answered.hash if answered else None,
        head=rows[-1].seq,
        head_hash=rows[-1].hash,
    )


def _share(history: History, entry: Entry) -> Fraction:
    """Return the share computed from the cost, or the stored one if the ledger does not hold all distances."""
    try:
        metric = history.metric(entry.policy)
    except DxError:
        return entry.share
    return checked_share(entry, partial(certified_share, metric=metric), history.where)


def _released(content: dict[str, Any]) -> tuple[str, ...]:
    """What people asked, also where other questions were put to the data."""
    return tuple(title_of(content["kind"], [from_dict(q)]) for q in content.get("asked", content["questions"]))


def receipt_lines(r: Receipt, ledger: str) -> list[str]:
    """The text of a receipt."""
    fields = [
        ("dataset", r.dataset),
        ("policy", r.policy),
        ("", f"digest {r.policy_digest}"),
        ("date", r.at),
        ("request", r.request),
        *(("released" if k == 0 else "", title) for k, title in enumerate(r.released)),
        ("share", f"{percent(r.share)} of what the policy allows, on the pair most used"),
        ("worst case", f"ε {digits(r.worst_case_epsilon)} in standard-DP terms"),
        ("reserved", f"row {r.row}, hash {r.row_hash}"),
        (
            "answered",
            f"hash {r.answer_hash}" if r.answer_hash else "never: the cost was reserved, nothing was released",
        ),
        ("chain head", f"row {r.head}, hash {r.head_hash}"),
    ]
    lines = [tag("bold", f"Receipt for entry {r.entry} of {ledger}"), ""]
    for name, text in fields:
        first, *more = wrap(text, 96 - 14) or [""]
        lines += [f"  {name.ljust(12)}{first}", *(" " * 14 + line for line in more)]
    return [
        *lines,
        "",
        "  Each hash covers everything before it in the ledger. Keep this with the publication: it shows",
        "  later that the release is in the ledger and that nothing before it was changed.",
    ]
