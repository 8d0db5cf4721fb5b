"""The journal: the durable, append-only, hash-chained record under the privacy-budget ledger.

It does not know metrics: a callback decides whether the budget suffices.  It guarantees:

- *Reserve first.*  A `reserve` row is on the disk before `reserve` returns, so before any noise exists; `finish` stores
  the release before it leaves.  A crash in between costs budget, never privacy.
- *Never more than the budget.*  A row is appended only if `decide` accepted it against exactly the reserved rows that
  precede it.  `decide` runs outside the lock, because it may take seconds; inside the lock, its input is confirmed.
- *Never new noise for an answered request.*  It is replayed from the record.
- *One policy at a time.*  A `policy` row states the version of the policy for the rows after it.  It is appended like a
  reservation, decided against exactly the rows that precede it.
- *Tamper-evident.*  Each row holds the hash of the row before; `witness.py` records the hash of every row in a second
  file.
"""

import errno
import hashlib
import json
import os
import sqlite3
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self, TypeVar

from dxprivacy.errors import LedgerError
from dxprivacy.formats.file_access import real_path
from dxprivacy.ledger.witness import Witness, flush_directory, in_plain_words, require_regular

_SCHEMA = (
    """CREATE TABLE journal (
        seq INTEGER PRIMARY KEY CHECK (seq > 0),
        kind TEXT NOT NULL CHECK (kind IN ('open', 'policy', 'reserve', 'finish')),
        request TEXT NOT NULL, body TEXT NOT NULL, content TEXT NOT NULL, at TEXT NOT NULL,
        previous TEXT NOT NULL, hash TEXT NOT NULL, UNIQUE (kind, request)) STRICT""",
    "CREATE TRIGGER no_update BEFORE UPDATE ON journal BEGIN SELECT RAISE(ABORT, 'append-only'); END",
    "CREATE TRIGGER no_delete BEFORE DELETE ON journal BEGIN SELECT RAISE(ABORT, 'append-only'); END",
)
_SELECT = "SELECT seq, kind, request, body, content, at, previous, hash FROM journal "
Proposal = tuple[str, str, str]  # request, body and content of a row to append
T = TypeVar("T")
_STARTS_ONE = ("dxp release … --new-ledger", "starts one; in Python new_ledger=True")
_ATTEMPTS = 5  # decisions outside the lock before one is made inside it
_BATCH = 64  # rows read at a time; releases can be long
_PIECE = 1 << 20  # characters of a release that are hashed at once


@dataclass(frozen=True)
class JournalRow:
    """One row of the journal."""

    seq: int
    kind: str  # "open" | "policy" | "reserve" | "finish"
    request: str
    body: str  # SHA-256 (hex) of the request's content: the same request must mean the same plan
    content: str  # JSON text: the binding (open), the version (policy), the cost (reserve), the release (finish)
    at: str  # ISO time, UTC
    previous: str
    hash: str

    def digest(self) -> str:
        """Return the expected `hash`: SHA-256 over the canonical JSON of all other fields."""
        before = json.dumps([self.seq, self.kind, self.request, self.body], separators=(",", ":"))[:-1]
        after = json.dumps([self.at, self.previous], separators=(",", ":"))[1:]
        found = hashlib.sha256(f'{before},"'.encode("ascii"))
        for start in range(0, len(self.content), _PIECE):  # in pieces: no second copy of a long release
            found.update(json.dumps(self.content[start : start + _PIECE])[1:-1].encode("ascii"))
        found.update(f'",{after}'.encode("ascii"))
        return found.hexdigest()


_START = JournalRow(0, "", "", "", "", "", "", hash="0" * 64)  # the predecessor of row 1


@dataclass(frozen=True)
class Replay:
    """The stored answer of a request that was answered before; it costs nothing."""

    row: JournalRow  # the reserve row
    content: str  # of the finish row


def is_missing(path: str | os.PathLike[str]) -> bool:
    """Return whether nothing of a ledger is there: no file or an empty one, and no line of a witness."""
    shown = Path(path)
    with in_plain_words(shown):
        file = real_path(shown)
        require_regular(file, shown)
        if Witness(file, shown).lines():  # a ledger was here; opening it reports that it is gone
            return False
        return not any(f.exists() and f.stat().st_size for f in (file, file.with_name(f"{file.name}-wal")))


def no_ledger_yet(path: str | os.PathLike[str], hints: Sequence[tuple[str, str]]) -> LedgerError:
    """Return the error for a missing ledger; the hints name the option or argument that creates one."""
    return LedgerError(
        "there is no ledger yet; nothing spent, no data read",
        where=str(path),
        details=["A ledger counts everything that is released from a dataset; a second one would start at 0."],
        hints=hints,
    )


def require_writable(path: str | os.PathLike[str]) -> None:
    """Raise LedgerError if no ledger can be created at the path; creates nothing."""
    shown = Path(path)
    with in_plain_words(shown):
        file = real_path(shown)
        if not stat.S_ISDIR(file.parent.stat().st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        if not all(os.access(f, os.W_OK) for f in (file.parent, file) if f.exists()):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


class Journal:
    """An open journal, by `open` or `read`.  One object serves one thread; many processes may share the file.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as here, Journal.open(f"{here}/ledger.db", {"dataset": "demo"}) as journal:
    ...     entry = journal.reserve("first", "0" * 64, '{"budget": 0.5}', decide=lambda reserved: None)
    ...     done = journal.finish("first", '{"answer": 7}')
    ...     again = journal.reserve("first", "0" * 64, '{"budget": 0.5}', decide=lambda reserved: None)
    ...     entry.seq, done.seq, again.content, journal.verify()
    (2, 3, '{"answer": 7}', 3)
    """

    binding: dict[str, str]

    @classmethod
    def open(
        cls, path: str | os.PathLike[str], binding: Mapping[str, str], *, timeout: float = 30.0, create: bool = True
    ) -> Self:
        """Open and verify the ledger at `path`; with `create`, make a missing one, bound to `binding["dataset"]`.

        Afterwards `founded` is True if the ledger was created by this call.
        """
        journal = cls(Path(path), timeout, create=create)
        with journal._closed_on_error():
            if not journal._is_founded():
                if not create:
                    raise journal._refusal("holds no ledger", hint=_STARTS_ONE)
                with journal._writing(create=True) as witness:
                    if journal._tip is _START:  # otherwise another process was faster
                        journal._append(witness, "open", "", "", json.dumps(dict(binding), sort_keys=True))
                        journal.founded = True
            journal.verify()
            journal.binding = journal._stored_binding()
            if (theirs := journal.binding.get("dataset")) != (ours := binding.get("dataset")):
                hint = ("another ledger file", "one for each dataset")
                raise journal._refusal(f"belongs to dataset “{theirs}”, not “{ours}”", hint=hint)
            if len(journal._witness.lines()) < journal._tip.seq:
                with journal._writing():
                    pass  # `_writing` writes the witness line that a crash left out
        return journal

    @classmethod
    def read(cls, path: str | os.PathLike[str], *, timeout: float = 30.0) -> Self:
        """Open an existing ledger, whatever it is bound to.  Creates nothing; the caller verifies."""
        journal = cls(Path(path), timeout, create=False)
        with journal._closed_on_error():
            if not journal._is_founded():
                raise journal._refusal("holds no ledger", hint=_STARTS_ONE)
            journal.binding = journal._stored_binding()
        return journal

    def __init__(self, path: Path, timeout: float, *, create: bool) -> None:
        self.path, self._timeout, self.founded = path, timeout, False
        self._forget()
        with in_plain_words(path):
            self._file = real_path(path)  # SQLite keeps its -wal file there, so the witness is there, too
            self._witness = Witness(self._file, path)
            for suffix in ("", "-wal", "-shm", "-journal"):  # SQLite opens all of them
                require_regular(self._file.with_name(self._file.name + suffix), path)
            witnessed = self._witness.lines()  # before the ledger: another process may be creating both
            if not self._file.exists():
                if witnessed:  # a new ledger would not know what was spent
                    raise self._witness.ahead(0, len(witnessed))
                if not create:
                    raise self._refusal("no ledger here", hint=_STARTS_ONE)
                with suppress(FileExistsError):
                    os.close(os.open(self._file, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
                flush_directory(self._file.parent)
            self._identity = self._file.stat()
            address = f"{self._file.as_uri()}?mode=rw"  # never creates a file
            self._db = sqlite3.connect(address, uri=True, timeout=timeout, isolation_level=None)
        with self._closed_on_error():
            self._sql("PRAGMA synchronous=FULL")
            self._sql("PRAGMA fullfsync=ON")  # macOS only; elsewhere without effect

    def rows(self) -> list[JournalRow]:
        """Return all rows, oldest first, each checked against the chain."""
        return list(self._scan(_START))

    def reserved(self) -> list[JournalRow]:
        """Return the reserve rows, oldest first; only rows since the last call are read and checked."""
        self._catch_up()
        return list(self._reserved.values())

    @property
    def policies(self) -> list[JournalRow]:
        """The policy rows, oldest first, as far as the chain was read."""
        return list(self._policies.values())

    @property
    def tip(self) -> JournalRow:
        """The last row, as far as the chain was read: its hash is the head of the chain."""
        return self._tip

    def reserve(
        self, request: str, body: str, content: str, decide: Callable[[list[JournalRow]], None]
    ) -> JournalRow | Replay:
        """Append a reserve row if `decide(reserve rows so far)` does not raise; or replay an answered request."""

        def propose() -> Proposal | Replay:
            if answered := self._answered(request, body):
                return answered
            decide(list(self._reserved.values()))
            return request, body, content

        return self._append_decided("reserve", propose)

    def answered(self, request: str, body: str) -> Replay | None:
        """Return the stored answer of a request, or None."""
        self._catch_up()
        return self._answered(request, body)

    def adopt(
        self, decide: Callable[[list[JournalRow], list[JournalRow]], tuple[str, str] | None]
    ) -> JournalRow | None:
        """Append a policy row with the body and content that `decide(policy rows, reserve rows)` returns, if any."""

        def propose() -> Proposal | None:
            made = decide(self.policies, list(self._reserved.values()))
            return None if made is None else (f"policy {len(self._policies) + 1}", *made)

        return self._append_decided("policy", propose)

    def _append_decided(self, kind: str, propose: Callable[[], Proposal | T]) -> JournalRow | T:
        """Append the row that `propose` returns for the rows so far, or return its other result.

        Optimistic concurrency: `propose` runs outside the lock, and again if other rows came in between.  A refusal is
        final: the journal only grows, so the remaining budget only shrinks.
        """
        for _ in range(_ATTEMPTS):
            self._catch_up()
            seen = self._deciding
            proposal = propose()
            if not isinstance(proposal, tuple):
                return proposal
            with self._writing() as witness:
                if self._deciding == seen:  # append-only: the same number of rows means the same rows
                    return self._append(witness, kind, *proposal)
        with self._writing() as witness:  # others were faster each time: decide inside the lock
            proposal = propose()
            return self._append(witness, kind, *proposal) if isinstance(proposal, tuple) else proposal

    @property
    def _deciding(self) -> int:
        # The number of rows that decisions depend on.
        return len(self._reserved) + len(self._policies)

    def _forget(self) -> None:
        self._tip = _START  # the last checked row of the chain
        self._reserved, self._policies = dict[str, JournalRow](), dict[str, JournalRow]()
        self._answers = dict[str, tuple[int, str]]()  # row and hash of each request's release

    def finish(self, request: str, content: str) -> JournalRow:
        """Store the release of a reserved request, once, before it is returned to the user."""
        with self._writing() as witness:
            if (reserved := self._reserved.get(request)) is None:
                raise self._refusal(f"request “{request}” was never reserved")
            if self._finished(request):
                raise self._refusal(f"request “{request}” is finished already")
            return self._append(witness, "finish", request, reserved.body, content)

    def verify(self) -> int:
        """Check every row, its witness line and the file; return the number of rows.

        Raises LedgerError with the first bad row.
        """
        witnessed = self._witness.lines()  # before the rows: each witnessed row must be among them
        self._forget()
        self._catch_up(witnessed)
        if len(witnessed) > self._tip.seq:
            raise self._witness.ahead(self._tip.seq, len(witnessed))
        # Again after the rows: row k is written only after line k - 1, so at most one line may be missing.
        if (count := len(self._witness.lines())) < self._tip.seq - 1:
            raise self._witness.lacks(count + 1)
        self._require_whole_file()
        return self._tip.seq

    def verify_on_disk(self) -> None:
        """Check the file on the disk as it is now: this object may hold pages that were damaged since."""
        with type(self).read(self.path, timeout=self._timeout) as fresh:
            fresh.verify()
            if fresh._tip.seq < self._tip.seq:
                raise self._broken(f"row {self._tip.seq} is missing")

    def _require_whole_file(self) -> None:
        # If only the index is damaged, an answered request could be taken for a new one.
        found = self._sql("PRAGMA integrity_check(1)")
        if found != [("ok",)]:
            raise self._broken("the file is damaged")

    def close(self) -> None:
        """Close the file."""
        with in_plain_words(self.path):
            self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _answered(self, request: str, body: str) -> Replay | None:
        if (reserved := self._reserved.get(request)) is None:
            return None
        another = ("--request NAME", "repeat under another name; that spends again")
        if reserved.body != body:
            raise self._refusal(f"request id already used for another plan: “{request}”", hint=another)
        if (finished := self._finished(request)) is None:
            raise self._refusal(
                f"request “{request}” (row {reserved.seq}) was reserved but never answered",
                "A crash came in between, or it is being answered right now. Its budget is spent.",
                hint=another,
            )
        return Replay(reserved, finished.content)

    def _finished(self, request: str) -> JournalRow | None:
        # The row of a release, found by its position in the chain: the index may be damaged.
        if request not in self._answers:
            return None
        seq, known = self._answers[request]
        found = self._sql(_SELECT + "WHERE seq = ?", (seq,))
        if not found:
            raise self._broken(f"row {seq} is missing")
        row = self._read(found[0])
        if not row.digest() == row.hash == known:
            raise self._broken(f"row {seq} was changed")
        return row

    def _scan(self, tip: JournalRow) -> Iterator[JournalRow]:
        """Yield the rows after `tip`, each checked to continue the chain.

        In batches, not by one cursor: an abandoned cursor would keep its snapshot and block the lock.
        """
        with in_plain_words(self.path):
            if not os.path.samestat(self._file.stat(), self._identity):  # the open file is no longer at the path
                raise self._broken("the file was replaced while in use")
        while batch := self._sql(_SELECT + "WHERE seq > ? ORDER BY seq LIMIT ?", (tip.seq, _BATCH)):
            for row in map(self._read, batch):
                if row.seq != tip.seq + 1:
                    raise self._broken(f"row {tip.seq + 1} is missing")
                if row.previous != tip.hash:
                    raise self._broken(f"row {row.seq} does not continue row {tip.seq}")
                if row.digest() != row.hash:
                    raise self._broken(f"row {row.seq} was changed")
                yield (tip := row)

    def _read(self, fields: tuple[Any, ...]) -> JournalRow:
        # Checks the types: a damaged file may hold others.
        if not isinstance(fields[0], int) or not all(isinstance(x, str) for x in fields[1:]):
            raise self._broken(f"row {fields[0]} was changed" if isinstance(fields[0], int) else "the file is damaged")
        return JournalRow(*fields)

    def _catch_up(self, witnessed: Sequence[str] = ()) -> None:
        for row in self._scan(self._tip):
            if row.seq <= len(witnessed) and witnessed[row.seq - 1] != f"{row.seq} {row.hash}":
                raise self._witness.differs(row.seq)
            self._learn(row)

    def _learn(self, row: JournalRow) -> None:
        if row.kind == "reserve":
            self._reserved[row.request] = row
        elif row.kind == "policy":
            self._policies[row.request] = row
        elif row.kind == "finish":
            self._answers[row.request] = (row.seq, row.hash)
        self._tip = row  # last: after an interrupt before this line the row is read again, harmlessly

    def _stored_binding(self) -> dict[str, str]:
        for row in self._scan(_START):
            return dict(json.loads(row.content))
        raise self._broken("row 1 is missing")

    @contextmanager
    def _writing(self, *, create: bool = False) -> Iterator[int]:
        """Hold the writers' lock, with the chain read to its end and the witness settled."""
        with self._witness.locked(self._timeout, create=create or self._tip.seq == 1) as witness:
            if create:
                self._sql("PRAGMA journal_mode=WAL")  # not possible inside a transaction; stored in the file
            try:
                self._sql("BEGIN IMMEDIATE")
                if create and not self._is_founded():
                    for statement in _SCHEMA:
                        self._sql(statement)
                self._catch_up()
                self._witness.settle(witness, self._tip.seq, self._tip.hash, self._tip.previous)
                yield witness
            finally:
                with suppress(sqlite3.Error):  # the first error is the one to report
                    if self._db.in_transaction:
                        self._db.execute("ROLLBACK")

    def _append(self, witness: int, kind: str, request: str, body: str, content: str) -> JournalRow:
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        row = JournalRow(self._tip.seq + 1, kind, request, body, content, now, previous=self._tip.hash, hash="")
        row = replace(row, hash=row.digest())
        self._sql("INSERT INTO journal VALUES (?, ?, ?, ?, ?, ?, ?, ?)", astuple(row))
        self._sql("COMMIT")  # from here on the cost is spent, whatever happens
        self._witness.append(witness, row.seq, row.hash)
        self._learn(row)
        return row

    def _is_founded(self) -> bool:
        # Whether the table exists; the database of another program is refused.
        names = {name for (name,) in self._sql("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if names and "journal" not in names:
            raise self._refusal("is the database of another program, not a ledger")
        return bool(names)

    def _sql(self, statement: str, values: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        with in_plain_words(self.path):
            return self._db.execute(statement, values).fetchall()

    @contextmanager
    def _closed_on_error(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.close()
            raise

    def _refusal(self, what: str, *details: str, hint: tuple[str, str] | None = None) -> LedgerError:
        return LedgerError(what, where=str(self.path), details=details, hints=[hint] if hint else [])

    def _broken(self, what: str) -> LedgerError:
        hint = (f"restore {self.path.name} and {self._witness.path.name}", "the newest copies, taken together")
        return self._refusal(
            what, "It was edited or damaged after it was written; nothing is spent from it.", hint=hint
        )
