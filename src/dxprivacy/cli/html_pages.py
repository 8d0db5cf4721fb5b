"""`--html`: what must be there before anybody waits for a page, where pages go, and the command to repeat one."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from dxprivacy.formats.table_addresses import has_secret
from dxprivacy.wording import quoted


def require_pages(folder: Path = Path()) -> None:
    """Refuse before any work what could not be drawn, or written there."""
    from dxprivacy.errors import UsageError
    from dxprivacy.output.charts.rendering import require_rendering

    require_rendering()
    if not folder.is_dir():
        raise UsageError(f"cannot write to {folder}: there is no such folder")


def page_name(kind: str, name: str, otherwise: str) -> Path:
    """A file name from any text, here.

    >>> page_name("check", "town/1: ~x", "7f3a").name, page_name("check", "!", "7f3a").name
    ('check-town-1-x.html', 'check-7f3a.html')
    """
    plain = re.sub(r"[^\w-]+", "-", name)[:60].strip("-")
    return Path(f"{kind}-{plain or otherwise}.html")


def write_page(text: str, target: Path, read: Sequence[Path] = (), *, private: bool = False) -> Path:
    """Write a page; one of ours that is there under that name is replaced."""
    from dxprivacy.formats.writing_files import PAGE, write_file

    return write_file(target, text, PAGE, inputs=read, private=private)


def command_line() -> str:
    """The command as it was given, ready to be copied; but no address that may hold a password."""
    return " ".join(["dxp", *("…" if has_secret(word) else quoted(word) for word in sys.argv[1:])])
