"""The witness: a second file with the hash of every row of the journal, so that lost rows are noticed.

The hash chain of the journal shows that no row was changed.  It does not show that the last rows were cut off, or that
an older copy was restored: then their budget would be spent twice.  The witness shows it.

Invariant: line k is `k hash`, for row k; the file has as many lines as the journal has rows, or one less.  It holds
because both files are written under one lock (flock on the witness), and row k + 1 is never committed before line k is
on the disk.  So a crash leaves at most one line unwritten or half written, and `settle` repairs exactly that.

It does not show that both files were restored from one old backup.  So keep the hash of a row elsewhere, too.
"""

import errno
import fcntl
import os
import sqlite3
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dxprivacy.errors import LedgerError

_PAUSE = 0.002  # seconds between two attempts to get the lock, which is held for about two fsyncs


class Witness:
    """The file `ledger.db.witness` next to `ledger.db`; `shown` is the ledger's path as the user wrote it."""

    def __init__(self, ledger: Path, shown: Path) -> None:
        self.path = ledger.with_name(ledger.name + ".witness")
        self.shown = shown

    def lines(self) -> list[str]:
        """Return all complete lines; a missing file has none.  An unfinished last line is left out."""
        with in_plain_words(self.shown):
            require_regular(self.path, self.shown)
            try:
                return self.path.read_bytes().decode("ascii", "replace").split("\n")[:-1]
            except FileNotFoundError:
                return []

    @contextmanager
    def locked(self, timeout: float, *, create: bool) -> Iterator[int]:
        """Hold the lock of all writers; yields the file descriptor to append to."""
        with in_plain_words(self.shown):
            require_regular(self.path, self.shown)
            flags = os.O_RDWR | os.O_APPEND | (os.O_CREAT if create else 0)
            try:
                opened = os.fdopen(os.open(self.path, flags, 0o600), "rb", buffering=0)
            except FileNotFoundError:
                raise self.lacks(1) from None
        with opened:  # closing it releases the lock, even after kill -9
            file = opened.fileno()
            with in_plain_words(self.shown):
                self._wait(file, time.monotonic() + timeout)
                if not os.path.samestat(os.fstat(file), self.path.stat()):
                    raise LedgerError("its witness was replaced while in use", where=str(self.shown))
                if create:
                    flush_directory(self.path.parent)
            yield file

    def _wait(self, file: int, deadline: float) -> None:
        while True:
            try:
                return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise _LOCKED.error(self.shown) from None
                time.sleep(_PAUSE)

    def settle(self, file: int, seq: int, row_hash: str, previous: str) -> None:
        """Under the lock: check that the last line is that of the journal's last row; write it after a crash."""
        with in_plain_words(self.shown):
            size = os.fstat(file).st_size
            tail = os.pread(file, 256, max(0, size - 256))  # longer than two lines
        whole, _, torn = tail.rpartition(b"\n")
        last = whole.rpartition(b"\n")[2].decode("ascii", "replace")
        number = int(start) if (start := last.partition(" ")[0]).isdecimal() else None
        if last == (f"{seq} {row_hash}" if seq else ""):
            if torn:  # a line is begun only after its row is on the disk, so that row was lost
                raise self.ahead(seq, seq + 1)
        elif last == (f"{seq - 1} {previous}" if seq > 1 else "") and seq:
            with in_plain_words(self.shown):
                os.ftruncate(file, size - len(torn))
            self.append(file, seq, row_hash)
        elif number is not None and number > seq:
            raise self.ahead(seq, number)
        elif number is not None and number < seq - 1:
            raise self.lacks(number + 1)
        else:
            raise self.differs(seq) if last else self.lacks(1)

    def append(self, file: int, seq: int, row_hash: str) -> None:
        """Under the lock: append a line; it is on the disk before this returns."""
        with in_plain_words(self.shown):
            line = f"{seq} {row_hash}\n".encode("ascii")
            if os.write(file, line) < len(line):
                raise OSError(errno.ENOSPC, "short write")  # the next writer repairs the torn line
            _flush(file)

    def ahead(self, rows: int, witnessed: int) -> LedgerError:
        """Return the error for a journal that is shorter than its witness."""
        return LedgerError(
            f"the ledger {f'ends at row {rows}' if rows else 'is gone'}, but its witness knows row {witnessed}",
            where=str(self.shown),
            details=["Rows were cut off, or an older copy was put back: their budget would be spent twice."],
            hints=[(f"restore {self.shown.name}", "the newest copy, with its -wal file if there is one")],
        )

    def lacks(self, row: int) -> LedgerError:
        """Return the error for a witness that is missing, or shorter than a crash can explain."""
        name = self.path.name
        return LedgerError(
            f"{name} lacks row {row} and later" if self.path.exists() else f"{name} is missing",
            where=str(self.shown),
            details=["Only the witness shows that no row was cut off the end of the ledger."],
            hints=[(f"restore {name}", "from the newest backup; the two files belong together")],
        )

    def differs(self, row: int) -> LedgerError:
        """Return the error for a row that differs from the witness."""
        return LedgerError(
            f"row {row} is not the row that {self.path.name} recorded",
            where=str(self.shown),
            details=["One of the two files was edited, or belongs to another ledger."],
            hints=[(f"restore {self.shown.name} and {self.path.name}", "the newest copies, taken together")],
        )


class _Trouble:
    """An error of either file, described without SQL and without contents."""

    def __init__(self, what: str, do: str, why: str = "") -> None:
        self.what, self.hint = what, (do, why)

    def error(self, path: Path) -> LedgerError:
        return LedgerError(self.what, where=str(path), hints=[self.hint])


_LOCKED = _Trouble("locked by another process", "try again", "when it has finished")
_FULL = _Trouble("the disk is full; no answer was released", "free some space", "then repeat; earlier answers are kept")
_DENIED = _Trouble("may not be read or written", "check the permissions of the file and of its directory")
_NO_PATH = _Trouble("no such file or directory", "make the directory, or correct the path")
_DISK = _Trouble("the disk reports an error; no answer was released", "check the disk", "earlier answers are kept")
_TOO_MANY = _Trouble(f"cannot be opened: {os.strerror(errno.EMFILE)}", "close some of them", "then repeat")
_NO_LOCKS = _Trouble(
    "the file system does not lock or map files; no answer was released", "move the ledger to a local disk"
)
_MEMORY = _Trouble("there is not enough memory; no answer was released", "free some memory", "then repeat")
_DAMAGED = _Trouble("not a ledger, or damaged", "restore the newest copy", "with its witness")
_TOO_LONG = _Trouble("cannot be opened: File name too long", "a shorter path")
_CLOSED = _Trouble("closed, or opened by another thread", "open it again")

_BY_ERRNO = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), _FULL),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), _DENIED),
    **dict.fromkeys((errno.ENOENT, errno.ENOTDIR), _NO_PATH),
    **dict.fromkeys((errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS), _NO_LOCKS),
    **dict.fromkeys((errno.EMFILE, errno.ENFILE), _TOO_MANY),
    **dict.fromkeys((errno.EIO, errno.ENXIO, errno.ENODEV, errno.ESTALE), _DISK),
    errno.ENAMETOOLONG: _TOO_LONG,
}
_BY_SQLITE_CODE = {  # extended codes, and below them their kinds
    **dict.fromkeys((sqlite3.SQLITE_IOERR_NOMEM, sqlite3.SQLITE_NOMEM), _MEMORY),
    **dict.fromkeys((sqlite3.SQLITE_IOERR_LOCK, sqlite3.SQLITE_IOERR_RDLOCK, sqlite3.SQLITE_IOERR_UNLOCK), _NO_LOCKS),
    **dict.fromkeys((sqlite3.SQLITE_IOERR_SHMLOCK, sqlite3.SQLITE_IOERR_SHMMAP), _NO_LOCKS),
    **dict.fromkeys((sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED), _LOCKED),
    **dict.fromkeys((sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN), _DENIED),
    sqlite3.SQLITE_FULL: _FULL,
    sqlite3.SQLITE_IOERR: _DISK,
}


@contextmanager
def in_plain_words(path: Path) -> Iterator[None]:
    """Turn errors of the file system and of SQLite into a LedgerError with a remedy."""
    try:
        yield
    except OSError as error:
        raise _BY_ERRNO.get(error.errno or 0, _refused_by_system(error)).error(path) from None
    except sqlite3.ProgrammingError:
        raise _CLOSED.error(path) from None
    except (sqlite3.Error, UnicodeError) as error:
        code = getattr(error, "sqlite_errorcode", 0)
        kind = _BY_SQLITE_CODE.get(code & 0xFF, _DAMAGED)  # the low byte is the kind, the rest the details
        raise _BY_SQLITE_CODE.get(code, kind).error(path) from None


def _refused_by_system(error: OSError) -> _Trouble:
    why = error.strerror or "the operating system gives no reason"
    return _Trouble(f"cannot be read or written: {why}; no answer was released", "remove the cause", "then repeat")


_NOT_REGULAR = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a FIFO (named pipe)"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISBLK, "a block device"),
)


def require_regular(path: Path, shown: Path) -> None:
    """Refuse a directory, FIFO, socket or device before it is opened: opening or reading it may never return."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: a NUL in the path
        return
    for is_kind, words in _NOT_REGULAR:
        if is_kind(mode):
            # The path that the user gave may be a link to `path`.
            name = "" if path.name in (shown.name, shown.resolve().name) else f"{path.name} "
            hint = ("name another file", "such as ledger.db") if not name else (f"move {path.name} away", "then repeat")
            raise LedgerError(f"{name}is {words}, not a regular file", where=str(shown), hints=[hint])


def flush_directory(path: Path) -> None:
    """Flush a directory: a new file survives a power cut only if its directory is on the disk, too."""
    directory = os.open(path, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _flush(file: int) -> None:
    if sys.platform == "darwin":  # there, fsync leaves the data in the drive's cache
        fcntl.fcntl(file, fcntl.F_FULLFSYNC)
    else:
        os.fsync(file)
