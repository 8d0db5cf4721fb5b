"""Manage the private folder to which the engine spills rows that do not fit into memory.

Spilled rows are raw and not encrypted. So only their owner can access the folder (mode 0700), it is removed when its
process ends, and a folder left by a killed process is removed at the next start. A lock on a file in the folder shows
that its owner is alive; the system releases the lock when the process ends, however it ends.
"""

import contextlib
import fcntl
import os
import re
import shutil
import stat
import tempfile
import time
import weakref
from pathlib import Path

_NAMED = re.compile(r"dxprivacy(\.new)?-[A-Za-z0-9_]+")  # as tempfile.mkdtemp makes them
_NEW = "dxprivacy.new-"  # the name until it is locked; nothing is written to it before
_LOCK = "owner.lock"
_UNLOCKED_FOR = 86_400.0  # seconds after which a folder without a lock file is abandoned


_alive: "weakref.WeakSet[Spill]" = weakref.WeakSet()


class Spill:
    """A folder for one database."""

    def __init__(self) -> None:
        made = self._new()
        self.path = made.rename(made.with_name(made.name.replace(_NEW, "dxprivacy-")))
        _alive.add(self)

    def _new(self) -> Path:
        """Create a folder and lock it before it gets its final name: an unlocked folder of that name is abandoned."""
        sweep()
        made = Path(tempfile.mkdtemp(prefix=_NEW))  # 0700
        self._lock = os.open(made / _LOCK, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        return made

    def was_used(self) -> bool:
        """Return whether anything was ever spilled: the engine leaves an entry in the folder."""
        with contextlib.suppress(OSError):
            return [entry.name for entry in self.path.iterdir()] != [_LOCK]
        return True

    def make_again(self) -> bool:
        """Create the removed folder again; False if its path is taken or temporary files are elsewhere now."""
        if self.path.parent != Path(tempfile.gettempdir()):
            return False
        made = self._new()
        try:
            made.rename(self.path)
        except OSError:  # the path is taken
            shutil.rmtree(made, ignore_errors=True)
            self._let_go()
            return False
        return True

    def remove(self) -> None:
        """Remove the folder and its contents, only once: its name and lock may belong to another owner afterwards."""
        if self._lock >= 0:
            shutil.rmtree(self.path, ignore_errors=True)
            self._let_go()

    def _let_go(self) -> None:
        with contextlib.suppress(OSError):
            os.close(self._lock)
        self._lock = -1


def remove_all() -> None:
    """Remove all folders of this process, before it ends without cleaning up."""
    for spill in list(_alive):
        spill.remove()


def sweep() -> None:
    """Remove folders left by killed processes: with our name, of this user, and not locked."""
    with contextlib.suppress(OSError):
        for folder in Path(tempfile.gettempdir()).iterdir():
            if _NAMED.fullmatch(folder.name):
                with contextlib.suppress(OSError):
                    _sweep(folder)


def _sweep(folder: Path) -> None:
    # Opened without following links, and inspected through the descriptor, so that it cannot be replaced meanwhile.
    at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        found = os.fstat(at)
        if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
            return
        age = time.time() - found.st_mtime
        if _held(at, age) or (folder.name.startswith(_NEW) and age < _UNLOCKED_FOR):
            return
        with os.scandir(at) as inside:
            ours = all(entry.name == _LOCK or entry.name.startswith("duckdb_temp") for entry in inside)
        if ours:
            shutil.rmtree(folder, ignore_errors=True)  # does not follow links either
    finally:
        os.close(at)


def _held(at: int, age: float) -> bool:
    """Whether the process that owns the folder is alive."""
    try:
        lock = os.open(_LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at)
    except FileNotFoundError:
        return age < _UNLOCKED_FOR
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False
