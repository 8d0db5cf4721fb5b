"""The independent verifier: certificates, digests and ledger entries, checked again from the files alone.

It shares no code with the planner (an import contract keeps it so), uses the standard library only (and numpy, loaded
where there are many places), and was written from docs/formats.md.  Things that hold are told one by one; the first
that does not raises `NotVerified`.  What cannot be decided here raises `Undecided`: nothing is then said about it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dxprivacy.errors import LedgerError, NotVerified, Undecided, UsageError
from dxprivacy.verify import reading
from dxprivacy.verify.ledger import Book, verify_entry
from dxprivacy.verify.plan import PLANS, verify_plan
from dxprivacy.verify.privacy import Check
from dxprivacy.verify.release import RELEASES, verify_release
from dxprivacy.verify.selection import SELECTION_PLANS, SELECTIONS, verify_selection, verify_selection_plan
from dxprivacy.verify.synthesis import REPORTS, verify_report
from dxprivacy.verify.unchecked import Unchecked, not_checked

__all__ = ["Check", "File", "Unchecked", "not_checked", "read", "read_file", "verify", "verify_data", "verify_file"]

_MOST_BYTES = 1 << 30


@dataclass(frozen=True)
class File:
    """A file as strict JSON, and the digest of its text as it is written."""

    data: Any
    digest: str


def read(path: str | Path) -> Any:
    """A file as strict JSON."""
    return read_file(path).data


def read_file(path: str | Path) -> File:
    """A file, whose text is not kept."""
    try:
        file = Path(path)
        if file.exists() and not (file.is_file() and file.stat().st_size <= _MOST_BYTES):  # a device has no end
            raise UsageError(f"is no file of at most {_MOST_BYTES >> 20} MB", where=str(path))
        text = file.read_bytes().decode("utf-8")
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", where=str(path)) from None
    except UnicodeDecodeError:
        raise NotVerified("not JSON in UTF-8", where="format") from None
    return File(reading.parse(text), reading.text_digest(text))


def verify(path: str | Path, ledger: str | Path | None = None) -> Iterator[Check]:
    """Check a file, one that spent also against its ledger; `not_checked` names what is left out."""
    yield from verify_file(read_file(path), ledger)


def verify_data(data: Any, ledger: str | Path | None = None) -> Iterator[Check]:
    """Check a plan, release, selection or report given as parsed JSON."""
    yield from verify_file(File(data, ""), ledger)


def verify_file(file: File, ledger: str | Path | None = None) -> Iterator[Check]:
    """Check a plan, release, selection or report that was read."""
    data = file.data
    kind = data.get("format") if isinstance(data, dict) else None
    known = (*PLANS, *RELEASES, *SELECTION_PLANS, *SELECTIONS, *REPORTS)
    if not isinstance(kind, str) or kind not in known:
        raise NotVerified("neither a plan nor a release of this version", where="format")
    if kind in (*PLANS, *SELECTION_PLANS) and ledger is not None:
        raise UsageError("a plan spends nothing, so no ledger knows it", hints=["verify the release"])
    try:
        yield from _checks(file, kind, ledger)
    except (NotVerified, Undecided, LedgerError):
        raise
    except MemoryError:
        raise Undecided("too large for the memory of this machine", where="verify") from None
    except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError, RecursionError):
        # Whatever the file made us stumble over, it is not as specified.
        raise NotVerified("not as docs/formats.md says", where="format") from None


def _checks(file: File, kind: str, ledger: str | Path | None) -> Iterator[Check]:
    data = file.data
    if kind in PLANS:
        yield from verify_plan(data)
    elif kind in SELECTION_PLANS:
        yield from verify_selection_plan(data)
    elif kind in REPORTS:
        yield from verify_report(data, ledger)
    else:
        spent, kept = yield from verify_release(data) if kind in RELEASES else verify_selection(data)
        if ledger is not None:
            yield from verify_entry(data, spent, kept, Book(Path(ledger)), written=file.digest)
