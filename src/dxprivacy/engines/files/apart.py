"""Read files in a separate process, so that a file that crashes its reader becomes one clear error.

Parquet files, databases and Arrow files are read by large libraries in C++. A damaged file can abort them, and with
them the whole process: a notebook, a service, a release whose cost was just reserved. So one separate process opens and
counts them, and returns names, types and counts. It is started at the first such file and used for all others. It ends
with our process, also if that is killed.

The queries that it gets are ours (pickled). Its answers are JSON and whole numbers, and the caller checks them.
"""

import atexit
import contextlib
import itertools
import json
import os
import pickle
import struct
import subprocess
import sys
import threading
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dxprivacy.engines.contribution_bounding import KeptRows, KeyedRows
from dxprivacy.engines.fields import Packing
from dxprivacy.engines.files.parquet import read_alike
from dxprivacy.engines.source import Column, ColumnKind, Others
from dxprivacy.errors import DataError
from dxprivacy.histogram import Histogram
from dxprivacy.universe.universe import Universe

HEAD = struct.Struct("<QQ")  # the lengths of the JSON and of the numbers behind it
_PATIENCE = 2.0  # seconds to end in, before the process is killed
_numbers = itertools.count(1)


class ApartSource:
    """A file that the separate process reads."""

    has_schema = True

    def __init__(self, path: Path, part: str, group: int, *, spill: bool) -> None:
        self.name = f"{path.name}::{part}" if part else path.name
        self._number = next(_numbers)
        self._opening = (str(path.absolute()), part, group, spill)
        self._reader: _RemoteReader | None = None
        self._ask("names")

    def columns(self) -> list[Column]:
        """Return the schema; reads no row."""
        return [
            Column(name, ColumnKind(kind) if kind else None, words) for name, kind, words in self._ask("columns")[0]
        ]

    def check(self, universe: Universe) -> None:
        """Refuse a schema that does not fit; reads no row."""
        self._ask("check", read_alike(universe, self.name))

    def rows(self) -> int:
        """Return the number of rows."""
        return int(self._ask("rows")[0])

    def count(self, universe: Universe) -> Histogram:
        """Count the rows of each possible record."""
        packing = Packing(universe)
        sent = self._ask("count", read_alike(universe, self.name))[1]
        *numbers, counts = np.frombuffer(sent, dtype=np.int64).reshape(len(packing.numbers) + 1, -1)
        return packing.histogram(numbers, counts)

    def people(self, universe: Universe) -> int:
        """Return the number of people."""
        return int(self._ask("people", read_alike(universe, self.name))[0])

    def keyed(self, universe: Universe) -> KeyedRows:
        """Count the rows by person and possible record."""
        digests, sent = self._ask("keyed", read_alike(universe, self.name))
        person, *numbers, counts = np.frombuffer(sent, dtype=np.int64).reshape(len(Packing(universe).numbers) + 2, -1)
        return KeyedRows(tuple(digests), person, tuple(numbers), counts)

    def kept(self, universe: Universe, axes: Sequence[int], *, by_person: bool = False) -> KeptRows:
        """Count the kept rows by the values of some attributes."""
        sent = self._ask("kept", read_alike(universe, self.name), tuple(axes), by_person)[1]
        columns = len(Packing(universe.onto(axes)).numbers) + 1 + by_person
        *numbers, counts = np.frombuffer(sent, dtype=np.int64).reshape(columns, -1)
        return KeptRows(numbers.pop() if by_person else None, tuple(numbers), counts)

    def distinct(self, column: str, max_rows: int) -> set[str] | None:
        """Return the distinct texts of one column (not private); None if there are more than `max_rows`."""
        found = self._ask("distinct", column, max_rows)[0]
        return None if found is None else set(found)

    def others(self, universe: Universe, max_rows: int | None) -> list[Others]:
        """List the entries that count as `other`."""
        found = self._ask("others", read_alike(universe, self.name), max_rows)[0]
        return [
            Others(name, tuple(columns), rows, distinct, tuple((tuple(texts), n) for texts, n in entries))
            for name, columns, rows, distinct, entries in found
        ]

    def _ask(self, what: str, *given: Any) -> tuple[Any, bytes]:
        reader = _reader()
        if reader is not self._reader:  # the first time, or the one before has ended
            reader.ask(self.name, self._number, "open", *self._opening)
            self._reader = reader
            weakref.finalize(self, reader.forget, self._number)
        return reader.ask(self.name, self._number, what, *given)


class _RemoteReader:
    """The separate process, and the only two pipes to it."""

    def __init__(self) -> None:
        # -P: imports nothing from the current folder, unless our own path has it.
        command = [sys.executable, "-P", "-c", "from dxprivacy.engines.files.apart_reader import main; main()"]
        paths = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
        self.owner = os.getpid()
        self.ended = False
        self._forgotten: list[int] = []
        self._lock = threading.Lock()
        # A session of its own: only we handle Ctrl-C.  Its error output is discarded: it may quote a record.
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": paths},
            start_new_session=True,
        )

    def forget(self, number: int) -> None:
        """Mark a source as no longer needed; the next query reports it."""
        self._forgotten.append(number)

    def ask(self, name: str, number: int, what: str, *given: Any) -> tuple[Any, bytes]:
        """Send one query and return its answer, JSON and numbers; raise the error that was raised there."""
        with self._lock:
            forgotten, self._forgotten = self._forgotten, []
            try:
                answer, numbers = self._exchange(pickle.dumps((number, what, given, forgotten)))
            except (OSError, EOFError):
                self.stop()
                answer = None
            except BaseException:  # Ctrl-C: the next query must not get this answer
                self.stop()
                raise
        if answer is None:
            raise DataError(
                "cannot be read: the process that read it came to an end",
                where=name,
                details=["The file is damaged, or there is not enough memory for it."],
            )
        if "error" in answer:
            raise DataError(**answer["error"] | {"hints": [tuple(hint) for hint in answer["error"]["hints"]]})
        return answer["answer"], numbers

    def _exchange(self, query: bytes) -> tuple[Any, bytes]:
        pipe_in, pipe_out = self._process.stdin, self._process.stdout
        assert pipe_in is not None
        assert pipe_out is not None
        pipe_in.write(len(query).to_bytes(8, "little") + query)
        pipe_in.flush()
        head = pipe_out.read(HEAD.size)
        if len(head) < HEAD.size:
            raise EOFError
        text, numbers = (pipe_out.read(size) for size in HEAD.unpack(head))
        return json.loads(text), numbers

    def stop(self) -> None:
        """End the process, by force if it does not end in time."""
        try:
            self.leave(_PATIENCE)
        finally:
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                self._process.kill()
                self._process.wait(timeout=_PATIENCE)

    def leave(self, seconds: float = 5.0) -> None:
        """Close the pipes: the process notices, removes what it spilled, and ends."""
        self.ended = True
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError, AttributeError):
                pipe.close()  # type: ignore[union-attr]
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=seconds)


_current: list[_RemoteReader] = []
_starting = threading.Lock()


def _reader() -> _RemoteReader:
    """Return the separate process; start one if there is none, it has ended, or it belongs to a parent of ours."""
    with _starting:
        if not _current or _current[0].ended or _current[0].owner != os.getpid():
            _current[:] = [_RemoteReader()]
        return _current[0]


@atexit.register
def _leave() -> None:
    if _current and _current[0].owner == os.getpid() and not _current[0].ended:
        with contextlib.suppress(KeyboardInterrupt):  # no traceback on Ctrl-C: the process ends by itself
            _current[0].leave()
