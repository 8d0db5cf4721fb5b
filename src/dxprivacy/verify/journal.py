"""The ledger's journal: its rows, their chain, and the witness beside it (docs/formats.md, section 8)."""

import hashlib
import json
import os
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dxprivacy.errors import LedgerError
from dxprivacy.verify import reading
from dxprivacy.verify.reading import refuse

_KINDS = ("open", "policy", "reserve", "finish")
_PIECE = 1 << 20
_COLUMNS = "seq, kind, request, body, content, at, previous, hash"


@dataclass(frozen=True)
class Row:
    """One row of the journal."""

    seq: int
    kind: str
    request: str
    body: str
    content: str
    at: str
    previous: str
    hash: str

    def digest(self) -> str:
        """What its hash must be."""
        before, after = [self.seq, self.kind, self.request, self.body], [self.at, self.previous]
        out = hashlib.sha256((json.dumps(before, separators=(",", ":"))[:-1] + ',"').encode("ascii"))
        for start in range(0, len(self.content), _PIECE):  # a release may be very long
            out.update(json.dumps(self.content[start : start + _PIECE])[1:-1].encode("ascii"))
        out.update(('",' + json.dumps(after, separators=(",", ":"))[1:]).encode("ascii"))
        return out.hexdigest()


def read_rows(path: Path) -> list[Row]:
    """All rows; the file is only read."""
    if not path.exists():
        raise LedgerError("no ledger here", where=str(path))
    for suffix in ("", ".witness", "-wal", "-shm", "-journal"):
        part = _real(path).with_name(_real(path).name + suffix)
        if part.exists() and not part.is_file():  # to open or read a FIFO or a device may never return
            raise LedgerError(f"{path.name}{suffix} is not a regular file", where=str(path))
    waiting = path.with_name(path.name + "-wal")
    # A reader of a write-ahead log needs a place for its index; a file without such a log can do without.
    quiet = not waiting.exists() or not waiting.stat().st_size
    for mode in ("mode=ro", *(("mode=ro&immutable=1",) if quiet else ())):
        try:
            database = sqlite3.connect(f"{_real(path).as_uri()}?{mode}", uri=True, timeout=30)
            try:
                found = database.execute(f"SELECT {_COLUMNS} FROM journal ORDER BY seq").fetchall()
            finally:
                database.close()
        except (sqlite3.Error, UnicodeError):
            continue
        if not all(isinstance(r[0], int) and all(isinstance(x, str) for x in r[1:]) for r in found):
            raise refuse("has a row of wrong types", f"ledger {path.name}")
        return [Row(*r) for r in found]
    raise LedgerError("not a ledger, or it cannot be read", where=str(path))


def check_chain(rows: list[Row], path: Path) -> None:
    """Every row has its hash and continues the one before; the witness has seen them all."""
    where = f"ledger {path.name}"
    previous, reserved, finished = "0" * 64, set[str](), set[str]()
    for number, row in enumerate(rows, 1):
        if row.seq != number:
            raise refuse(f"row {number} is missing", where)
        if row.previous != previous:
            raise refuse(f"row {number} does not continue the row before", where)
        try:
            digest = row.digest()
        except UnicodeError:
            digest = ""
        if digest != row.hash:
            raise refuse(f"row {number} was changed", where)
        if row.kind not in _KINDS or (row.kind == "open") != (number == 1) or (number == 2 and row.kind != "policy"):
            raise refuse(f"row {number} is of an unknown kind, or in the wrong place", where)
        if row.kind == "reserve":
            if row.request in reserved:
                raise refuse(f"row {number} repeats a request", where)
            reserved.add(row.request)
        if row.kind == "finish":
            if row.request not in reserved or row.request in finished:
                raise refuse(f"row {number} answers what was not reserved", where)
            finished.add(row.request)
        previous = row.hash
    if not rows:
        raise refuse("is empty", where)
    real = _real(path)
    witness = real.with_name(real.name + ".witness")
    try:
        lines = witness.read_bytes().decode("ascii", "replace").split("\n")[:-1]
    except OSError:
        raise refuse(f"{witness.name} is missing; only it shows that no row was cut off", where) from None
    if not len(rows) - 1 <= len(lines) <= len(rows):
        raise refuse(f"has {len(rows)} rows, its witness {len(lines)}", where)
    for row, line in zip(rows, lines, strict=False):
        if line != f"{row.seq} {row.hash}":
            raise refuse(f"row {row.seq} is not the one that the witness recorded", where)


def json_object(row: Row, where: str) -> dict[str, Any]:
    """The content of a row that holds an object."""
    data = reading.parse(row.content)
    if not isinstance(data, dict):
        raise refuse("a row holds no object", where)
    return data


def _real(path: Path) -> Path:
    """A path without links; of links that go round in a circle what is left, which cannot be opened."""
    return Path(os.path.realpath(path))
