"""The journal as JSON lines, for archives and auditors: every row with its hash, checkable without this software.

The first line describes the file:

    {"format": "dxprivacy journal", "version": 1, "rows": 9, "head": "5e0c…"}

Each further line is one row, oldest first, with the fields in this order:

    {"seq": 4, "kind": "reserve", "request": "7f3a…", "body": "9b1d…", "content": "{…}",
     "at": "2026-11-03T10:12:00.123+00:00", "previous": "…", "hash": "…"}

`kind` is `open` (the dataset), `policy` (a version of the policy: its title, the whole universe, the metric, and the
shares of earlier costs), `reserve` (a cost: questions, scales, share) or `finish` (the release).  `content` is JSON as
text, since the hash is over its exact characters.  `hash` is the SHA-256, in hexadecimal, of the JSON list of the seven
fields before it, without spaces and with everything beyond ASCII escaped; `previous` is the hash of the row before, 64
zeros for the first.  `head` is the hash of the last row.  In Python:

    sha256(json.dumps([seq, kind, request, body, content, at, previous], separators=(",", ":")).encode()).hexdigest()

There are no true answers in a journal, so there are none in the file.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from dxprivacy.errors import LedgerError
from dxprivacy.formats.versions import JOURNAL, JOURNAL_VERSION
from dxprivacy.formats.writing_files import NEVER, file_to_write, ledger_files
from dxprivacy.ledger.journal import Journal, Row
from dxprivacy.wording import json_text


@dataclass(frozen=True)
class Exported:
    """What was written: how many rows, and the hash of the last one."""

    rows: int
    head: str


def export(ledger: str | Path, file: str | Path) -> Exported:
    """Write the rows of a verified ledger to a new file, for its owner alone."""
    with Journal.read(ledger) as journal:
        journal.verify()
        rows = journal.rows()
    kept = ledger_files(ledger)
    with file_to_write(file, NEVER, inputs=kept, overwrite=False, private=True) as out:
        out.writelines(f"{line}\n".encode() for line in to_lines(rows))
    return Exported(len(rows), rows[-1].hash)


def to_lines(rows: list[Row]) -> Iterator[str]:
    """The lines of an export."""
    head = rows[-1].hash if rows else "0" * 64
    yield json.dumps({"format": JOURNAL, "version": JOURNAL_VERSION, "rows": len(rows), "head": head})
    for row in rows:
        yield json_text(asdict(row), indent=None)


def from_lines(lines: Iterable[str]) -> list[Row]:
    """The rows of an export, each checked against the chain; raises LedgerError at the first that does not fit."""
    found = iter(lines)
    try:
        header = json.loads(next(found))
        if (header["format"], header["version"]) != (JOURNAL, JOURNAL_VERSION):
            raise ValueError("format")
        expected, head = int(header["rows"]), str(header["head"])
    except (StopIteration, ValueError, KeyError, TypeError):
        raise LedgerError("is no export of a ledger that this version knows") from None
    rows: list[Row] = []
    previous = "0" * 64
    for number, line in enumerate(found, 1):
        try:
            row = Row(**json.loads(line))
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
