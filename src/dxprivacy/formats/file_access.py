"""Read files that a user names (only regular files of a sensible size), write files, recognize server addresses.

A device never ends, and a pipe may never begin: neither is waited for.
"""

import hashlib
import os
import re
import secrets
import stat
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from dxprivacy.errors import Hint, UsageError
from dxprivacy.formats import canonical as versions
from dxprivacy.log import Log

MOST_BYTES = 512 << 20
"""Maximum bytes of a policy, a plan or a file of points: a few times the largest usable one."""


_CHUNK = 1 << 20


class NotReadable(OSError):
    """A file that exists, but is not read; `strerror` says why."""


def read_text(path: str | Path, *, encoding: str = "utf-8-sig") -> str:
    """Return the text of a regular file; raise OSError, UnicodeDecodeError, or ValueError for an invalid name.

    >>> read_text("/dev/zero")
    Traceback (most recent call last):
    dxprivacy.formats.file_access.NotReadable: [Errno 22] it is not a regular file: '/dev/zero'
    """
    at = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    with os.fdopen(at, "rb") as file:
        found = os.fstat(at)
        if stat.S_ISDIR(found.st_mode):
            raise IsADirectoryError(21, "Is a directory", str(path))
        if not stat.S_ISREG(found.st_mode):
            raise NotReadable(22, "it is not a regular file", str(path))
        if found.st_size > MOST_BYTES:
            raise NotReadable(27, f"it has more than {MOST_BYTES >> 20} MB", str(path))
        content = bytearray()
        while len(content) <= MOST_BYTES and (chunk := file.read(_CHUNK)):  # one large read would take that much memory
            content += chunk
    if len(content) > MOST_BYTES:  # it has grown since, or does not report its size
        raise NotReadable(27, f"it has more than {MOST_BYTES >> 20} MB", str(path))
    return content.decode(encoding)


# -- The one place that opens files for writing ------------------------------------------------------------------------
# An attacker who can write to the folder may have planted links, names or files in it.  So a file is created under a
# name that cannot be guessed, without following links, and gets its own name only when it is complete.  An existing
# file is replaced only if its contents show that we wrote it, and that it is of the same kind.  Inputs of a command (a
# ledger, a policy, data) are never replaced, whatever they contain.


_LOG = Log("files")
_BEGINNING = 1 << 16
_BLOCK = 1 << 20
_LEDGER = ("", ".witness", "-wal", "-shm", "-journal")


@dataclass(frozen=True)
class FileKind:
    """A kind of file that we write: its name in messages, and how it is recognized."""

    noun: str
    ours: Callable[[BinaryIO], bool]

    @classmethod
    def beginning(cls, noun: str, pattern: bytes) -> "FileKind":
        """Recognize a file by its first bytes."""
        begins = re.compile(pattern, re.DOTALL)
        return cls(noun, lambda file: begins.match(file.read(_BEGINNING)) is not None)

    @classmethod
    def listed(cls, noun: str, digests: Collection[str]) -> "FileKind":
        """Recognize a file by its SHA-256: exactly as it was written, and not changed since."""

        def ours(file: BinaryIO) -> bool:
            found = hashlib.sha256()
            while block := file.read(_BLOCK):
                found.update(block)
            return found.hexdigest() in digests

        return cls(noun, ours)

    def or_else(self, other: "FileKind") -> "FileKind":
        """Recognize a file in either way."""

        def ours(file: BinaryIO) -> bool:
            if self.ours(file):
                return True
            file.seek(0)
            return other.ours(file)

        return FileKind(self.noun, ours)


def _json(of: versions.Format) -> FileKind:
    """Recognize a JSON file by its format, in any version."""
    return FileKind.beginning(of.noun, rb'\{\s*"format":\s*"dxprivacy-' + of.name.encode() + rb"/")


PLAN = _json(versions.PLAN)
RELEASE = _json(versions.RELEASE)
SELECTION = _json(versions.SELECTION)
REPORT = _json(versions.REPORT)
ANSWERS = FileKind.beginning("table of released answers", rb"[^\r\n]*\bvalue,low,high,unit,note,label\r?\n")
MARKDOWN = FileKind.beginning("page of Markdown", rb"<!-- made by dxprivacy -->")
LATEX = FileKind.beginning("page of LaTeX", rb"% made by dxprivacy;")
DEPLOYMENT = FileKind.beginning("entry for a registry", rb"# made by dxprivacy: an entry")
GEOJSON = FileKind.beginning("map", rb'\{\s*"type":\s*"FeatureCollection",\s*"generator":\s*"dxprivacy"')
PAGE = FileKind.beginning("page", rb'<!DOCTYPE html>.{0,400}<meta name="generator" content="dxprivacy">')
MANUAL = FileKind.beginning("manual page", rb'\.\\" made by dxprivacy\n')
POLICY = FileKind.beginning("policy", rb"# How distinguishable may answers make any two records\?")
PICTURES = {
    ".png": FileKind.beginning("picture", rb"\x89PNG\r\n\x1a\n.{0,64}tEXtSoftware\x00dxprivacy"),
    ".svg": FileKind.beginning("picture", rb'<svg data-from="dxprivacy"'),
    ".html": PAGE,
    ".json": FileKind.beginning("picture", rb'\{\s*"\$schema":\s*"[^"]*",\s*"usermeta":\s*\{\s*"from":\s*"dxprivacy"'),
}
NEVER = FileKind("file", lambda _: False)  # an existing file is never replaced


def real_path(path: Path) -> Path:
    """Return a path without links; for links in a circle, a part of them, which fails when it is opened.

    `Path.resolve` ends with a RuntimeError at such links.
    """
    return Path(os.path.realpath(path))


def ledger_files(ledger: str | Path) -> list[Path]:
    """Return the paths of a ledger, its witness file, and SQLite's files next to it, whether they exist or not.

    >>> [path.name for path in ledger_files("ledger.db")]
    ['ledger.db', 'ledger.db.witness', 'ledger.db-wal', 'ledger.db-shm', 'ledger.db-journal']
    """
    path = Path(ledger)
    there = [path.with_name(path.name + end) for end in _LEDGER]
    real = real_path(path)  # a link's target is where SQLite works
    return there + ([] if real == path.absolute() else [real.with_name(real.name + end) for end in _LEDGER])


def require_place(
    path: str | Path, kind: FileKind, *, inputs: Iterable[str | Path] = (), overwrite: bool = True, note: str = ""
) -> Path:
    """Refuse what `write_file` would refuse, before anything is spent."""
    target = Path(path)
    with _in_plain_words(target, note), _folder(target) as folder:
        _refuse(target, folder, kind, inputs, overwrite, note)
        if not os.access(".", os.W_OK | os.X_OK, dir_fd=folder):
            raise PermissionError(13, "Permission denied")
    return target


def write_file(
    path: str | Path,
    content: str | bytes,
    kind: FileKind,
    *,
    inputs: Iterable[str | Path] = (),
    overwrite: bool = True,
    private: bool = False,
    note: str = "",
) -> Path:
    """Write a whole file; see `file_to_write`."""
    with file_to_write(path, kind, inputs=inputs, overwrite=overwrite, private=private, note=note) as file:
        for start in range(0, len(content), _BLOCK):
            part = content[start : start + _BLOCK]
            file.write(part.encode("utf-8", "replace") if isinstance(part, str) else part)
    return Path(path)


@contextmanager
def file_to_write(
    path: str | Path,
    kind: FileKind,
    *,
    inputs: Iterable[str | Path] = (),
    overwrite: bool = True,
    private: bool = False,
    note: str = "",
) -> Iterator[BinaryIO]:
    """Open a file to write, which appears under its name when it is complete; a failure leaves nothing.

    `inputs` are what the command reads. Without `overwrite`, no existing file is replaced; with it, only a file of the
    same kind that we wrote. Everyone may read a file, as far as the umask allows; a `private` one only its owner.
    `note` is added to error messages.
    """
    target, read = Path(path), list(inputs)
    part = f".{secrets.token_hex(8)}.part"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with _in_plain_words(target, note), _folder(target) as folder:
        _refuse(target, folder, kind, read, overwrite, note)
        made = os.open(part, flags, 0o600 if private else 0o644, dir_fd=folder)
        try:
            with os.fdopen(made, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            _name(part, target, folder, replace=_refuse(target, folder, kind, read, overwrite, note))
            _LOG.event("file written", file=target, kind=kind.noun)
        finally:
            with suppress(OSError):
                os.unlink(part, dir_fd=folder)


def _name(part: str, target: Path, folder: int, *, replace: bool) -> None:
    """Give a finished file its name; a file that appeared meanwhile is not replaced."""
    if not replace:
        try:
            os.link(part, target.name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
        except FileExistsError:
            raise
        except OSError:  # a file system without links
            pass
        else:
            return
    os.replace(part, target.name, src_dir_fd=folder, dst_dir_fd=folder)


@contextmanager
def _folder(target: Path) -> Iterator[int]:
    """Open the folder and hold its descriptor, because its name may come to mean another folder meanwhile."""
    if target.name in ("", ".."):
        raise IsADirectoryError(21, "Is a directory")
    try:
        folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        raise UsageError(f"cannot write {target}: there is no such folder") from None
    try:
        yield folder
    finally:
        os.close(folder)


def _refuse(
    target: Path, folder: int, kind: FileKind, inputs: Iterable[str | Path], overwrite: bool, note: str
) -> bool:
    """Return whether a file of ours exists, which may be replaced; raise if nothing may be written."""
    try:
        there = os.stat(target.name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        there = None
    for read in inputs:
        if _same(target, there, Path(read)):
            raise _refusal(f"{target} is a file that this command works with, not a place for its output", note)
    if there is None:
        return False
    if stat.S_ISDIR(there.st_mode):
        raise _refusal(f"cannot write {target}: it is a folder", note)
    if not stat.S_ISREG(there.st_mode):
        what = "a link, and links are not followed" if stat.S_ISLNK(there.st_mode) else "not an ordinary file"
        raise _refusal(f"cannot write {target}: it is {what}", note)
    if not overwrite:
        hints = [] if kind is NEVER else [("--overwrite", f"replaces a {kind.noun} that dxp wrote")]
        raise _refusal(f"{target} is there already", note, *hints)
    found = os.open(target.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    with os.fdopen(found, "rb") as file:
        if not kind.ours(file):
            raise _refusal(
                f"{target} is there already, and is no {kind.noun} that dxp wrote",
                note,
                ("remove it yourself", "if it is not needed; only files that dxp wrote are replaced"),
            )
    return True


def _same(target: Path, there: os.stat_result | None, read: Path) -> bool:
    """Whether two paths are one file, or would be if both existed."""
    try:
        if there is not None and os.path.samestat(there, read.stat()):
            return True
    except (OSError, ValueError):
        pass
    try:
        place = real_path(target.parent) / target.name
        return place in (real_path(read), real_path(read.parent) / read.name)
    except (OSError, ValueError):
        return False


def _refusal(what: str, note: str, *hints: Hint) -> UsageError:
    return UsageError(what, details=[note] if note else [], hints=[*hints, ("another name", "for what is written")])


@contextmanager
def _in_plain_words(target: Path, note: str) -> Iterator[None]:
    details = [note] if note else []
    try:
        yield
    except FileExistsError:
        raise _refusal(f"{target} is there already", note) from None
    except OSError as error:
        why = error.strerror or "the disk may be full"
        raise UsageError(f"cannot write {target}: {why}", details=details) from None
    except ValueError as error:
        if "\x00" not in str(target):
            raise
        raise UsageError(f"{str(target)!r} cannot be a file name", details=details) from error


# -- Addresses: texts in place of a file that name a table of a server or a cluster ------------------------------------


POSTGRES = ("postgresql:", "postgres:")
SPARK = "spark:"
SPARK_CONNECT = "sc:"
_KEYWORDS = re.compile(  # keywords of libpq, any of which may be first
    r"\s*(service|host|hostaddr|port|dbname|user|pass\w+|options|application_name|fallback_application_name|"
    r"(ssl|gss|krb|keepalives|tcp_|client_|connect_|target_|channel_|require_|load_balance_|min_|max_|scram_|oauth_)\w*|"
    r"replication|requirepeer)\s*=.*::",
    re.IGNORECASE | re.DOTALL,
)
_WITH_USER = re.compile(r"\s*[\w+.:-]*//[^/@\s]*:[^@]*@", re.IGNORECASE)
_SECRET = re.compile(r"(passw|secret|token|authorization|api[-_]?key)[\w-]*\s*=", re.IGNORECASE)


def is_postgres(text: str) -> bool:
    """Test whether a text names a table of a PostgreSQL server.

    >>> [is_postgres(x) for x in ("postgresql://h/db::t", "service=survey::t", "people.parquet", "service.csv")]
    [True, True, False, False]
    """
    return text.strip().lower().startswith(POSTGRES) or _KEYWORDS.match(text) is not None


def is_spark(text: str) -> bool:
    """Test whether a text names a table or files of Spark.

    >>> [is_spark(x) for x in ("spark:survey.people", "sc://host/::people", "spark.csv")]
    [True, True, False]
    """
    return text.strip().lower().startswith((SPARK, SPARK_CONNECT))


def is_address(text: str) -> bool:
    """Test whether a text is an address instead of the name of a file."""
    return is_postgres(text) or is_spark(text)


def has_secret(text: str) -> bool:
    """Test whether a text seems to be an address with a password or a token; in doubt, it does.

    >>> has_secret("postgresql://anna:pa?ss@host/db::t"), has_secret("postgresql://anna@host:5432/db::tokens")
    (True, False)
    >>> has_secret("user=anna password=hunter2"), has_secret("jdbc:postgresql://anna:pw@host/db"), has_secret("a.csv")
    (True, True, False)
    """
    if _SECRET.search(text) or _WITH_USER.match(text):
        return True
    return is_address(text) and ":" in text.strip().partition(":")[2].rpartition("@")[0]
