"""The embedded database: in memory, opened on first use, cut off from network and files, cleaned up with its owner.

Opening and closing one takes longer than counting a million rows.  One that read nothing but frames holds nothing once
its connections are closed, and is locked as the next would be: it is kept for that one.
"""

import glob
import os
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dxprivacy.engines.spill import Spill

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

_MOST_SPARES = 2


class Database:
    """A database in memory, shared by the parts of one source; it fetches nothing, and what it spills is deleted.

    `spill=False` keeps rows off the disk: then a count that needs more memory than there is fails.
    `only_frames` says that no file will be opened in it.
    """

    def __init__(self, *, spill: bool = True, memory: str = "", only_frames: bool = False) -> None:
        self._spill, self._memory, self._only_frames = spill, memory, only_frames
        self._opened: _Opened | None = None

    def cursor(self) -> "Connection":
        """A connection of its own, with its own temporary tables; safe beside other threads."""
        if self._opened is None:
            spare = _spare(spill=self._spill) if self._only_frames and not self._memory else None
            self._opened = spare or _Opened(spill=self._spill, memory=self._memory)
            weakref.finalize(self, _release, self._opened)
        return self._opened.root.cursor()

    def lock(self, files: Sequence[Path]) -> None:
        """No other file than these and the databases that are attached already, and no other setting, from now on.

        Where nothing was opened there is nothing to lock.
        """
        opened = self._opened
        if opened is None or opened.is_locked:
            return
        # As they are called, and as patterns that match nothing else: the engine asks for both.
        names = [name for file in files for name in (str(file.absolute()), glob.escape(str(file.absolute())))]
        allowed = ", ".join("'" + name.replace("'", "''") + "'" for name in names)
        opened.root.execute(f"SET allowed_paths = [{allowed}]")
        opened.root.execute("SET allowed_configs = ['enable_progress_bar']")
        opened.root.execute("SET enable_external_access = false")
        opened.root.execute("SET lock_configuration = true")
        opened.is_locked = True
        opened.may_be_kept = self._only_frames and not files and not self._memory

    def distrust(self) -> None:
        """Something went wrong in it: nobody else is to use it."""
        if self._opened is not None:
            self._opened.may_be_kept = False


class _Opened:
    """A database that is open: its first connection, and the folder that it may spill into."""

    def __init__(self, *, spill: bool, memory: str) -> None:
        import duckdb

        self.spill = Spill() if spill else None
        self.is_locked = self.may_be_kept = False
        config: dict[str, Any] = {
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "allow_persistent_secrets": "false",
            "python_enable_replacements": "false",
            "pandas_analyze_sample": "0",
            "temp_directory": str(self.spill.path) if self.spill else "",
        }
        if memory:
            config["memory_limit"] = memory
        self.root = duckdb.connect(":memory:", config=config)
        weakref.finalize(self, _close, self.root, self.spill)

    def wakes(self) -> bool:
        """Whether it can be used once more."""
        try:
            self.root.execute("SELECT 1").fetchall()
        except Exception:
            return False
        return self.spill is None or self.spill.make_again()


_spares: list[_Opened] = []


def _spare(*, spill: bool) -> _Opened | None:
    """One that was kept, if any is sound; those that are not end here."""
    for opened in list(_spares):
        if (opened.spill is not None) == spill:
            try:
                _spares.remove(opened)
            except ValueError:  # another thread was faster
                continue
            if opened.wakes():
                return opened
    return None


def _release(opened: _Opened) -> None:
    """Keep it for the next owner; or not, and then it is closed when we return."""
    if not opened.may_be_kept or len(_spares) >= _MOST_SPARES:
        return
    if opened.spill is not None:
        if opened.spill.was_used():
            return
        opened.spill.remove()
    _spares.append(opened)


def _close(root: "Connection", spill: Spill | None) -> None:
    root.close()
    if spill:
        spill.remove()


# The threads of a database do not go with a copy of the process.
os.register_at_fork(before=_spares.clear)
