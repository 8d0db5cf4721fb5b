"""`--html`: what must be there before anybody waits for a page, where pages go, and the command to repeat one."""

import re
import shlex
import sys
from pathlib import Path


def require_pages(folder: Path = Path()) -> None:
    """Refuse before any work what could not be drawn, or written there."""
    from dxprivacy.errors import UsageError
    from dxprivacy.plots.rendering import require_rendering

    require_rendering()
    if not folder.resolve().is_dir():
        raise UsageError(f"cannot write to {folder}: there is no such folder")


def page_name(kind: str, name: str, otherwise: str) -> Path:
    """A file name from any text, here.

    >>> page_name("check", "town/1: ~x", "7f3a").name, page_name("check", "!", "7f3a").name
    ('check-town-1-x.html', 'check-7f3a.html')
    """
    plain = re.sub(r"[^\w-]+", "-", name)[:60].strip("-")
    return Path(f"{kind}-{plain or otherwise}.html")


def write_page(text: str, target: Path) -> Path:
    """Write a page; what is there under that name is replaced."""
    from dxprivacy.errors import UsageError

    try:
        target.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"cannot write {target}: {error.strerror}") from None
    return target


def command_line() -> str:
    """The command as it was given, ready to be copied."""
    return shlex.join(["dxp", *sys.argv[1:]])
