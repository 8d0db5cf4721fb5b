"""Folders that a command writes to: `--out` of a release, a choice, a demo is a folder, and must be writable."""

import hashlib
import re
from pathlib import Path

_LONGEST = 40
_FILES = (".json", ".csv", ".html")


def require_folder(folder: Path, option: str = "--out", files: str = "release-NAME.json and .csv") -> None:
    """Before anything is spent: a name that was meant for a file is refused, and the folder made."""
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
    """Refuse a folder that is called like a file."""
    from dxprivacy.errors import UsageError
    from dxprivacy.wording import quoted

    if folder.suffix.lower() in _FILES:
        raise UsageError(
            f"{option} is a folder, and {folder} looks like a file",
            details=["Nothing spent, no data read."],
            hints=[(f"{option} {quoted(folder.parent)}", f"{files} are written there, under their own names")],
        )


def stem(kind: str, name: str, request: str) -> str:
    """A file name without its ending, from our own name of a plan and the words of a request.

    >>> stem("release", "7f3a", ""), stem("release", "7f3a", "for the press/2"), stem("choice", "7f3a", "../../x")
    ('release-7f3a', 'release-7f3a-for-the-press-2', 'choice-7f3a-x')
    """
    words = re.sub(r"[^\w-]+", "-", request).strip("-")
    if len(words) > _LONGEST:  # a file system takes 255 bytes
        words = f"{words[:_LONGEST]}-{hashlib.sha256(request.encode('utf-8', 'replace')).hexdigest()[:8]}"
    return f"{kind}-{name}" + (f"-{words}" if words else "")
