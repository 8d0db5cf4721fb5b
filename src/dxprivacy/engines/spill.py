"""Where the engine puts rows that do not fit into memory: a private folder, gone with its process.

What is spilled is raw rows, in clear.  So the folder is ours alone (0700: nobody else can reach the files in it), it is
removed when its owner ends, and what a killed process left is removed at the next start.  A folder is told to be alive
by a lock on a file in it, which the system lets go with the process, however that ends.
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
_NEW = "dxprivacy.new-"  # until it is locked: nothing is written to it before
_LOCK = "owner.lock"
_UNLOCKED_FOR = 86_400.0  # seconds after which a folder without a lock was left by a process that is gone


_alive: "weakref.WeakSet[Spill]" = weakref.WeakSet()


class Spill:
    """A folder for one database."""

    def __init__(self) -> None:
        made = self._new()
        self.path = made.rename(made.with_name(made.name.replace(_NEW, "dxprivacy-")))
        _alive.add(self)

    def _new(self) -> Path:
        """Locked before it gets its name: a folder of that name which nobody holds is nobody's, however young."""
        sweep()
        made = Path(tempfile.mkdtemp(prefix=_NEW))  # 0700
        self._lock = os.open(made / _LOCK, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        return made

    def was_used(self) -> bool:
        """Whether anything was ever spilled into it: the engine leaves a mark."""
        with contextlib.suppress(OSError):
            return [entry.name for entry in self.path.iterdir()] != [_LOCK]
        return True

    def make_again(self) -> bool:
        """After it was removed: the same folder for the same database; not where temporary files lie elsewhere now."""
        if self.path.parent != Path(tempfile.gettempdir()):
            return False
        made = self._new()
        try:
            made.rename(self.path)
        except OSError:  # somebody else's now
            shutil.rmtree(made, ignore_errors=True)
            self._let_go()
            return False
        return True

    def remove(self) -> None:
        """The folder and all in it; once, since its name and its lock may be another's afterwards."""
        if self._lock >= 0:
            shutil.rmtree(self.path, ignore_errors=True)
            self._let_go()

    def _let_go(self) -> None:
        with contextlib.suppress(OSError):
            os.close(self._lock)
        self._lock = -1


def remove_all() -> None:
    """Before a process ends that does not clean up by itself."""
    for spill in list(_alive):
        spill.remove()


def sweep() -> None:
    """Remove what killed processes of ours left: folders with our name, of this user, that nobody holds."""
    with contextlib.suppress(OSError):
        for folder in Path(tempfile.gettempdir()).iterdir():
            if _NAMED.fullmatch(folder.name):
                with contextlib.suppress(OSError):
                    _sweep(folder)


def _sweep(folder: Path) -> None:
    # Opened without following links, and looked at through what was opened: nobody can put another in its place.
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
            shutil.rmtree(folder, ignore_errors=True)  # follows no link either
    finally:
        os.close(at)


def _held(at: int, age: float) -> bool:
    """Whether the folder's owner lives."""
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
