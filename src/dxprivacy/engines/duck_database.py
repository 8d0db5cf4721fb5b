"""The embedded database: in memory, opened on first use, cut off from the network, and cleaned up with its owner."""

import shutil
import tempfile
import weakref
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection


class Database:
    """A database in memory, shared by the parts of one source; it fetches nothing, and what it spills is deleted."""

    def __init__(self) -> None:
        self._root: Connection | None = None

    def cursor(self) -> "Connection":
        """A connection of its own, with its own temporary tables; safe beside other threads."""
        if self._root is None:  # opening takes as long as counting a million rows
            self._root = self._open()
        return self._root.cursor()

    def _open(self) -> "Connection":
        import duckdb

        spill = tempfile.mkdtemp(prefix="dxprivacy-")
        config: dict[str, Any] = {
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "allow_persistent_secrets": "false",
            "python_enable_replacements": "false",
            "pandas_analyze_sample": "0",
            "temp_directory": spill,
        }
        root = duckdb.connect(":memory:", config=config)
        weakref.finalize(self, _discard, root, spill)
        return root


def _discard(root: "Connection", spill: str) -> None:
    root.close()
    shutil.rmtree(spill, ignore_errors=True)
