"""The embedded database: in memory, opened on first use, cut off from network and files, cleaned up with its owner."""

import glob
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dxprivacy.engines.spill import Spill

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection


class Database:
    """A database in memory, shared by the parts of one source; it fetches nothing, and what it spills is deleted.

    `spill=False` keeps rows off the disk: then a count that needs more memory than there is fails.
    """

    def __init__(self, *, spill: bool = True, memory: str = "") -> None:
        self._spill, self._memory = spill, memory
        self._root: Connection | None = None

    def cursor(self) -> "Connection":
        """A connection of its own, with its own temporary tables; safe beside other threads."""
        if self._root is None:  # opening takes as long as counting a million rows
            self._root = self._open()
        return self._root.cursor()

    def lock(self, files: Sequence[Path]) -> None:
        """No other file than these and the databases that are attached already, and no other setting, from now on.

        Where nothing was opened there is nothing to lock.
        """
        if self._root is None:
            return
        # As they are called, and as patterns that match nothing else: the engine asks for both.
        names = [name for file in files for name in (str(file.absolute()), glob.escape(str(file.absolute())))]
        allowed = ", ".join("'" + name.replace("'", "''") + "'" for name in names)
        self._root.execute(f"SET allowed_paths = [{allowed}]")
        self._root.execute("SET allowed_configs = ['enable_progress_bar']")
        self._root.execute("SET enable_external_access = false")
        self._root.execute("SET lock_configuration = true")

    def _open(self) -> "Connection":
        import duckdb

        spill = Spill() if self._spill else None
        config: dict[str, Any] = {
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "allow_persistent_secrets": "false",
            "python_enable_replacements": "false",
            "pandas_analyze_sample": "0",
            "temp_directory": str(spill.path) if spill else "",
        }
        if self._memory:
            config["memory_limit"] = self._memory
        root = duckdb.connect(":memory:", config=config)
        weakref.finalize(self, _discard, root, spill)
        return root


def _discard(root: "Connection", spill: Spill | None) -> None:
    root.close()
    if spill:
        spill.remove()
