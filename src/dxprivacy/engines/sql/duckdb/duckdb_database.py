"""The embedded database: in memory, opened on first use, without network and files, cleaned up with its owner.

Opening and closing one takes longer than counting a million rows. A database that read only frames is empty once its
connections are closed, and has the locked settings that the next one needs. So it is kept and reused.
"""

import glob
import os
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dxprivacy.engines.fields import Field, whole_texts
from dxprivacy.engines.placement import entry_at
from dxprivacy.engines.spill import Spill
from dxprivacy.engines.sql.duckdb.duckdb_dialect import DUCKDB
from dxprivacy.errors import UsageError
from dxprivacy.exact.arrays import Ints
from dxprivacy.universe.reading.codecs import Coordinate, ListedTexts

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection
    from duckdb import DuckDBPyRelation as Relation

_MOST_SPARES = 2


class Database:
    """A database in memory, shared by the parts of one source; it fetches nothing, and what it spills is deleted.

    `spill=False` keeps rows off the disk; a count that needs more memory than there is then fails. `only_frames`
    declares that no file will be opened in it.
    """

    def __init__(self, *, spill: bool = True, memory: str = "", only_frames: bool = False) -> None:
        self._spill, self._memory, self._only_frames = spill, memory, only_frames
        self._opened: _Opened | None = None

    def cursor(self) -> "Connection":
        """Return a new connection with its own temporary tables; safe to use next to other threads."""
        if self._opened is None:
            spare = _spare(spill=self._spill) if self._only_frames and not self._memory else None
            self._opened = spare or _Opened(spill=self._spill, memory=self._memory)
            weakref.finalize(self, _release, self._opened)
        return self._opened.root.cursor()

    def lock(self, files: Sequence[Path]) -> None:
        """Allow only these files and attached databases from now on, and no change of settings.

        Does nothing if no database was opened.
        """
        opened = self._opened
        if opened is None or opened.is_locked:
            return
        # Both the plain path and an escaped pattern that matches nothing else: the engine checks both.
        names = [name for file in files for name in (str(file.absolute()), glob.escape(str(file.absolute())))]
        allowed = ", ".join("'" + name.replace("'", "''") + "'" for name in names)
        opened.root.execute(f"SET allowed_paths = [{allowed}]")
        opened.root.execute("SET allowed_configs = ['enable_progress_bar']")
        opened.root.execute("SET enable_external_access = false")
        opened.root.execute("SET lock_configuration = true")
        opened.is_locked = True
        opened.may_be_kept = self._only_frames and not files and not self._memory

    def distrust(self) -> None:
        """Exclude the database from reuse, because something went wrong in it."""
        if self._opened is not None:
            self._opened.may_be_kept = False


class _Opened:
    """An open database: its first connection, and the folder that it may spill into."""

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
        """Return whether the database can be used again."""
        try:
            self.root.execute("SELECT 1").fetchall()
        except Exception:
            return False
        return self.spill is None or self.spill.make_again()


_spares: list[_Opened] = []


def _spare(*, spill: bool) -> _Opened | None:
    """Return a kept database that still works, or None; those that do not work are closed."""
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
    """Keep a database for the next owner if possible; otherwise it is closed on return."""
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


# A forked process does not have the threads of a database.
os.register_at_fork(before=_spares.clear)


# -- Records with typed columns ----------------------------------------------------------------------------------------
# Written as Parquet, or read as Arrow.  DuckDB repeats each possible record and then decodes it.  One thread keeps the
# order and needs little memory, however many records there are.


_PIECE = 1 << 12  # equal records that are made together


def require_parquet(fields: Sequence[Field]) -> None:
    """Refuse what cannot be written as Parquet or Arrow, before anything is spent."""
    known: dict[str, str] = {}
    for field in fields:
        twin = known.setdefault(field.name.lower(), field.name)
        if twin != field.name:
            raise UsageError(
                f"columns {twin} and {field.name} differ in capitals only, which Parquet files cannot hold here",
                hints=[("--out synthetic.csv", "can")],
            )
        try:
            "".join((field.name, *field.entry.texts)).encode("utf-8")
        except UnicodeEncodeError:
            raise UsageError(f"column {field.name[:60]!r} has a text that is not Unicode") from None


def write_parquet_records(path: Path, fields: Sequence[Field], cells: Ints, counts: Ints) -> None:
    """Write `counts[k]` equal records for each possible record, in their order; raise OSError on failure."""
    import duckdb

    try:
        with _connected() as con:
            rows = _rows(con, fields, cells, counts)
            target = DUCKDB.quoted(str(path.absolute()))
            con.execute(f"COPY ({rows}) TO {target} (FORMAT parquet, COMPRESSION zstd)")
    except duckdb.Error as error:
        raise OSError(None, "the engine could not write the file") from error


def records_relation(fields: Sequence[Field], cells: Ints, counts: Ints) -> "Relation":
    """Return the same records as a relation that is computed while it is read."""
    con = _connected()
    return con.sql(_rows(con, fields, cells, counts))


def _connected() -> "Connection":
    import duckdb

    config: dict[str, Any] = {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "threads": "1",
    }
    con = duckdb.connect(":memory:", config=config)
    con.execute("SET enable_progress_bar = false")
    return con


def _rows(con: "Connection", fields: Sequence[Field], cells: Ints, counts: Ints) -> str:
    """Return the SELECT of all records."""
    pieces = -(-counts // _PIECE)
    cell = np.repeat(cells, pieces)
    # All pieces of a possible record are full, except its last.
    last = np.cumsum(pieces)[pieces > 0] - 1
    n = np.full(len(cell), _PIECE, dtype=np.int64)
    n[last] = (counts - (pieces - 1) * _PIECE)[pieces > 0]
    con.register("counted", {"cell": cell, "n": n})
    columns = ", ".join(f"{_column(con, field, k)} AS {_name(field.name)}" for k, field in enumerate(fields))
    return f"SELECT {columns} FROM (SELECT cell, unnest(range(n)) FROM counted)"


def _column(con: "Connection", field: Field, k: int) -> str:
    """Return the SQL of one column: the entry of the possible record, NULL where it is `other`."""
    entry = field.entry
    whole = f"(cell // {field.stride} % {field.size})"
    place = f"({whole} // {field.step} % {entry.listed})"
    codec = entry.codec
    if isinstance(codec, Coordinate):
        value = _looked_up(con, "DOUBLE", codec.along, place, k)
    else:
        value = (
            _listed(con, field, place, k)
            if isinstance(codec, ListedTexts)
            else f"({DUCKDB.sql(entry_at(codec), place)})"
        )
    return f"CASE WHEN {whole} <> {field.other} THEN {value} END"


def _listed(con: "Connection", field: Field, place: str, k: int) -> str:
    """Return the SQL of a listed text by its place: a number if all are whole, a boolean if all are true or false."""
    texts = list(field.entry.texts)
    numbers = whole_texts(field.entry)
    kind = "BIGINT" if numbers is not None else "BOOLEAN" if {*texts} <= {"true", "false"} else "VARCHAR"
    return _looked_up(con, kind, numbers or texts, place, k)


def _looked_up(con: "Connection", kind: str, entries: Sequence[object], place: str, k: int) -> str:
    con.execute(f"CREATE TEMP TABLE listed_{k} AS SELECT $texts::{kind}[] AS texts", {"texts": list(entries)})
    return f"(SELECT texts FROM listed_{k})[{place} + 1]"


def _name(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'
