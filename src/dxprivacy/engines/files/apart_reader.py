"""Main loop of the separate process: open files, answer queries about them, end with the process that started it."""

import contextlib
import json
import os
import pickle
import queue
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from dxprivacy.engines import spill
from dxprivacy.engines.fields import Packing
from dxprivacy.engines.files.apart import HEAD
from dxprivacy.engines.frames import arrow_data
from dxprivacy.engines.sql.duckdb.duckdb_database import Database
from dxprivacy.engines.sql.duckdb.duckdb_source import DuckSource
from dxprivacy.engines.sql.duckdb.duckdb_tables import DatabaseTable, DuckdbTable, FrameTable, ParquetTable
from dxprivacy.errors import DataError
from dxprivacy.exact.arrays import Ints

if TYPE_CHECKING:
    from dxprivacy.engines.source import Source


class _Files:
    """The open sources by number, and the databases that a group shares: one for frames, one for files."""

    def __init__(self) -> None:
        self.sources: dict[int, Source] = {}
        self._groups: dict[tuple[int, bool], tuple[Database, list[Path]]] = {}
        self._unlocked: set[tuple[int, bool]] = set()

    def open(self, number: int, file: str, part: str, group: int, spills: bool) -> None:
        path, ending = Path(file), Path(file).suffix.lower()
        shared = group, ending in arrow_data.ENDINGS
        if shared not in self._unlocked:  # the first of its group, or one that is opened again
            self._groups[shared] = (Database(spill=spills, only_frames=shared[1]), [])
            self._unlocked.add(shared)
        database, files = self._groups[shared]
        table: DuckdbTable
        if ending in arrow_data.ENDINGS:
            table = FrameTable(arrow_data.read_arrow_file(path))
        elif ending == ".parquet":
            table = ParquetTable(path)
            files.append(path)
        else:
            table = DatabaseTable(path, part)
        self.sources[number] = DuckSource(table, database)

    def lock(self) -> None:
        """Lock the databases: all sources of a group are open once one of them gets another query."""
        for shared in self._unlocked:
            database, files = self._groups[shared]
            database.lock(files)
        self._unlocked.clear()
        # Only the sources keep their database alive.
        self._groups.clear()

    def answer(self, number: int, what: str, given: tuple[Any, ...]) -> tuple[Any, bytes]:
        if what == "open":
            self.open(number, *given)
            return None, b""
        if what == "names":  # opening has read them
            return None, b""
        self.lock()
        source = self.sources[number]
        match what:
            case "columns":
                return [(c.name, str(c.kind or ""), c.words) for c in source.columns()], b""
            case "check":
                source.check(*given)
                return None, b""
            case "rows":
                return source.rows(), b""
            case "count":
                numbers, counts = Packing(given[0]).unfold(source.count(*given))
                return None, _sent([*numbers, counts])
            case "people":
                return source.people(*given), b""
            case "keyed":
                keyed = source.keyed(*given)
                return keyed.digests, _sent([keyed.person, *keyed.numbers, keyed.counts])
            case "kept":
                universe, axes, by_person = given
                kept = source.kept(universe, axes, by_person=by_person)
                who = [] if kept.person is None else [kept.person]
                return None, _sent([*kept.numbers, *who, kept.counts])
            case "distinct":
                found = source.distinct(*given)
                return None if found is None else sorted(found), b""
            case "others":
                return [(o.attribute, o.columns, o.rows, o.distinct, o.entries) for o in source.others(*given)], b""
        raise AssertionError(what)


def _sent(columns: Sequence[Ints]) -> bytes:
    return np.stack(columns).astype(np.int64).tobytes()


def main() -> None:
    """Answer queries until the pipe closes."""
    os.umask(0o077)  # files written here may hold rows: only their owner may read them
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # anything that a library prints is discarded
    queries: queue.Queue[bytes | None] = queue.Queue()
    threading.Thread(target=_listen, args=(sys.stdin.buffer, queries), daemon=True).start()
    files = _Files()
    while (query := queries.get()) is not None:
        number, what, given, forgotten = pickle.loads(query)
        for old in forgotten:
            files.sources.pop(old, None)
        numbers = b""
        try:
            answer, numbers = files.answer(number, what, given)
            told: dict[str, Any] = {"answer": answer}
        except DataError as error:
            told = {"error": _fields(error)}
        except Exception:  # its text may quote a record
            told = {"error": _fields(DataError("cannot be read"))}
        text = json.dumps(told).encode()
        with contextlib.suppress(BrokenPipeError):
            answers.write(HEAD.pack(len(text), len(numbers)) + text + numbers)
            answers.flush()


def _fields(error: DataError) -> dict[str, Any]:
    return {"what": error.what, "where": error.where, "details": error.details, "hints": error.hints}


def _listen(pipe: BinaryIO, queries: "queue.Queue[bytes | None]") -> None:
    """Put queries into the queue; when the pipe closes, the process that asked is gone, so end at once."""
    while len(size := pipe.read(8)) == 8:
        queries.put(pipe.read(int.from_bytes(size, "little")))
    spill.remove_all()
    os._exit(0)
