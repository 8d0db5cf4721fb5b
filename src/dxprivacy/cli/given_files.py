"""The files that commands read and write: `--data` (file, pattern or address), outputs and pages."""

import glob
import hashlib
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from dxprivacy.formats.file_access import has_secret, is_address, ledger_files
from dxprivacy.wording import quoted

if TYPE_CHECKING:
    from dxprivacy.policy import Policy


class DataName(click.types.StringParamType):
    """Any text; Tab completes file names."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        """Let the shell complete files."""
        return [CompletionItem(incomplete, type="file")]


DATA = DataName()


# -- What a command reads: files that no output may ever replace -------------------------------------------------------


def policy_files(file: Path | None, policy: "Policy | None" = None) -> list[Path]:
    """Return the file of a policy, and the files that it names."""
    if file is None:
        return []
    if policy is None:
        return [file]
    from dxprivacy.policy.tables.table_kinds import files_named

    tables = policy.file.tables.get("attributes", {}).values()
    named = [name for table in tables if isinstance(table, dict) for name in files_named(table)]
    people = [] if policy.people_data is None else data_files([str(policy.people_data)])
    return [file, *(file.parent / name for name in named), *people]


def data_files(data: Iterable[str]) -> list[Path]:
    """Return the files of `--data`: paths, patterns, tables of databases.

    >>> [str(path) for path in data_files(["people.csv", "survey.duckdb::people"])]
    ['people.csv', 'survey.duckdb::people', 'survey.duckdb', 'survey.duckdb.wal']
    """
    found: list[Path] = []
    for text in data:
        if is_address(text) and not Path(text).exists():
            continue  # a table of a server: no file here
        found += [Path(text), *map(Path, glob.glob(text, recursive=True))]  # noqa: PTH207 - it may be absolute
        database, mark, _ = text.rpartition("::")
        if mark:
            found += [Path(database), Path(f"{database}.wal")]
    return found


def command_files(
    policy: Path | None = None,
    loaded: "Policy | None" = None,
    *,
    ledger: Path | None = None,
    data: Iterable[str] = (),
    more: Iterable[Path] = (),
) -> list[Path]:
    """Return all files that a command reads."""
    book = [] if ledger is None else ledger_files(ledger)
    return [*policy_files(policy, loaded), *book, *data_files(data), *more]


# -- Folders that a command writes to: `--out` of a release, a selection, a demo is a folder, and must be writable -----


_LONGEST = 40
_FILES = (".json", ".csv", ".html")


def require_folder(folder: Path, option: str = "--out", files: str = "release-NAME.json and .csv") -> None:
    """Create the output folder before anything is spent; refuse a name that looks like a file."""
    import tempfile

    from dxprivacy.errors import UsageError

    require_folder_name(folder, option, files)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except (OSError, ValueError) as error:
        raise UsageError(
            f"cannot write to {folder}: {getattr(error, 'strerror', None) or 'no such name'}",
            details=["Nothing spent, no data read."],
            hints=[(f"{option} FOLDER", f"where {files} may be written")],
        ) from None


def require_folder_name(folder: Path, option: str, files: str) -> None:
    """Refuse a folder whose name looks like a file."""
    from dxprivacy.errors import UsageError
    from dxprivacy.wording import quoted

    if folder.suffix.lower() in _FILES:
        raise UsageError(
            f"{option} is a folder, and {folder} looks like a file",
            details=["Nothing spent, no data read."],
            hints=[(f"{option} {quoted(folder.parent)}", f"{files} are written there, under their own names")],
        )


def stem(kind: str, name: str, request: str) -> str:
    """Return a file name without its ending, from the name of a plan and a request.

    >>> stem("release", "7f3a", ""), stem("release", "7f3a", "for the press/2"), stem("selection", "7f3a", "../../x")
    ('release-7f3a', 'release-7f3a-for-the-press-2', 'selection-7f3a-x')
    """
    words = re.sub(r"[^\w-]+", "-", request).strip("-")
    if len(words) > _LONGEST:  # a file system takes 255 bytes
        words = f"{words[:_LONGEST]}-{hashlib.sha256(request.encode('utf-8', 'replace')).hexdigest()[:8]}"
    return f"{kind}-{name}" + (f"-{words}" if words else "")


# -- `--html`: early checks, file names of pages, and the command that repeats one -------------------------------------


def require_pages(folder: Path = Path()) -> None:
    """Refuse, before any work, a page that could not be drawn or written."""
    from dxprivacy.errors import UsageError
    from dxprivacy.output.charts.picture import require_rendering

    require_rendering()
    if not folder.is_dir():
        raise UsageError(f"cannot write to {folder}: there is no such folder")


def page_name(kind: str, name: str, otherwise: str) -> Path:
    """Return a file name for a page, from any text.

    >>> page_name("check", "town/1: ~x", "7f3a").name, page_name("check", "!", "7f3a").name
    ('check-town-1-x.html', 'check-7f3a.html')
    """
    plain = re.sub(r"[^\w-]+", "-", name)[:60].strip("-")
    return Path(f"{kind}-{plain or otherwise}.html")


def write_page(text: str, target: Path, read: Sequence[Path] = (), *, private: bool = False) -> Path:
    """Write a page; an earlier page of ours with that name is replaced."""
    from dxprivacy.formats.file_access import PAGE, write_file

    return write_file(target, text, PAGE, inputs=read, private=private)


def command_line() -> str:
    """Return the command as it was given, without addresses that may hold a password."""
    return " ".join(["dxp", *("…" if has_secret(word) else quoted(word) for word in sys.argv[1:])])
