"""Receipts: short texts about one release, to be kept with the publication; and the export of a ledger.

A receipt names the row of the journal and the head of the hash chain.  With it, the holder of the ledger can show later
that the release is in it and that no earlier row was changed, and the holder of the receipt notices a rollback.
"""

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from dxprivacy.errors import DxError, LedgerError, UsageError
from dxprivacy.formats.canonical import JOURNAL, JOURNAL_VERSION
from dxprivacy.formats.file_access import NEVER, file_to_write, ledger_files
from dxprivacy.ledger.history import Entry, History, title_of
from dxprivacy.ledger.journal import Journal, JournalRow
from dxprivacy.ledger.ledger_budget import certified_budget, checked_budget, worst_of
from dxprivacy.privacy.costs import SumCost
from dxprivacy.queries.stored_queries import from_dict
from dxprivacy.wording import digits, json_text, percent, plural, quoted, tag, wrap

# -- The journal as JSON lines, for archives and auditors: every row with its hash, checkable without this software ----
# The first line describes the file:
#
#     {"format": "dxprivacy journal", "version": 1, "rows": 9, "head": "5e0c…"}
#
# Each further line is one row, oldest first, with the fields in this order:
#
#     {"seq": 4, "kind": "reserve", "request": "7f3a…", "body": "9b1d…", "content": "{…}",
#      "at": "2026-11-03T10:12:00.123+00:00", "previous": "…", "hash": "…"}
#
# `kind` is `open` (the dataset), `policy` (a version of the policy: its title, the whole universe, the metric, and the
# fractions of earlier costs), `reserve` (a cost: queries, scales, budget) or `finish` (the release).  `content` is JSON
# as text, since the hash is over its exact characters.  `hash` is the SHA-256, in hexadecimal, of the JSON list of the
# seven fields before it, without spaces and with everything beyond ASCII escaped; `previous` is the hash of the row
# before, 64 zeros for the first.  `head` is the hash of the last row.  In Python:
#
#     sha256(json.dumps([seq, kind, request, body, content, at, previous], separators=(",", ":")).encode()).hexdigest()
#
# There are no true answers in a journal, so there are none in the file.


@dataclass(frozen=True)
class Exported:
    """The number of exported rows, and the hash of the last one."""

    rows: int
    head: str


def export(ledger: str | Path, file: str | Path) -> Exported:
    """Write the rows of a verified ledger to a new file that only its owner can read."""
    with Journal.read(ledger) as journal:
        journal.verify()
        rows = journal.rows()
    kept = ledger_files(ledger)
    with file_to_write(file, NEVER, inputs=kept, overwrite=False, private=True) as out:
        out.writelines(f"{line}\n".encode() for line in to_lines(rows))
    return Exported(len(rows), rows[-1].hash)


def to_lines(rows: list[JournalRow]) -> Iterator[str]:
    """Yield the lines of an export."""
    head = rows[-1].hash if rows else "0" * 64
    yield json.dumps({"format": JOURNAL, "version": JOURNAL_VERSION, "rows": len(rows), "head": head})
    for row in rows:
        yield json_text(asdict(row), indent=None)


def from_lines(lines: Iterable[str]) -> list[JournalRow]:
    """Read the rows of an export, each checked against the chain; raises LedgerError at the first bad row."""
    found = iter(lines)
    try:
        header = json.loads(next(found))
        if (header["format"], header["version"]) != (JOURNAL, JOURNAL_VERSION):
            raise ValueError("format")
        expected, head = int(header["rows"]), str(header["head"])
    except (StopIteration, ValueError, KeyError, TypeError):
        raise LedgerError("is not an export of a ledger that this version knows") from None
    rows: list[JournalRow] = []
    previous = "0" * 64
    for number, line in enumerate(found, 1):
        try:
            row = JournalRow(**json.loads(line))
            fits = row.seq == number and row.previous == previous and row.digest() == row.hash
        except (ValueError, TypeError):
            fits = False
        if not fits:
            raise LedgerError(f"row {number} of the export was changed, or is damaged")
        rows.append(row)
        previous = row.hash
    if len(rows) != expected or previous != head:
        raise LedgerError(f"the export has {len(rows)} rows, not {expected} as it says")
    return rows


# -- A receipt ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Receipt:
    """The facts about one entry, under the version of the policy for which it was released."""

    entry: int
    dataset: str
    policy: str
    policy_digest: str
    at: str
    request: str
    released: tuple[str, ...]
    budget: float
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
    """Make the receipt of an entry from a verified ledger; needs no policy file and spends nothing."""
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
        budget=float(_budget(history, original)),
        worst_case_epsilon=worst_of(SumCost(original.cost.universe, [original.cost])),
        row=row.seq,
        row_hash=row.hash,
        answer_hash=answered.hash if answered else None,
        head=rows[-1].seq,
        head_hash=rows[-1].hash,
    )


def _budget(history: History, entry: Entry) -> Fraction:
    """Return the budget computed from the cost, or the stored one if the ledger does not hold all distances."""
    try:
        metric = history.metric(entry.policy)
    except DxError:
        return entry.budget
    return checked_budget(entry, partial(certified_budget, metric=metric), history.where)


def _released(content: dict[str, Any]) -> tuple[str, ...]:
    # Titles of the workload queries, also if other queries were measured.
    return tuple(title_of(content["kind"], [from_dict(q)]) for q in content.get("asked", content["queries"]))


def receipt_lines(r: Receipt, ledger: str) -> list[str]:
    """Return the text of a receipt."""
    fields = [
        ("dataset", r.dataset),
        ("policy", r.policy),
        ("", f"digest {r.policy_digest}"),
        ("date", r.at),
        ("request", r.request),
        *(("released" if k == 0 else "", title) for k, title in enumerate(r.released)),
        ("budget", f"{percent(r.budget)} of what the policy allows, on the pair most used"),
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
