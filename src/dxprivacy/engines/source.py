"""Define what every engine offers: a public schema, a number of rows, and a histogram.

Invariant of this package: **each row is mapped to a possible record by a function of that row alone**. Changing one row
therefore moves one unit of the histogram, whatever the row contains. Only the public schema (column names and types)
can cause a refusal. An entry of a single row that does not fit counts as the attribute's `other`.
"""

import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol, TypeVar, runtime_checkable

from dxprivacy.engines.contribution_bounding import KeptRows, KeyedRows
from dxprivacy.errors import one_line
from dxprivacy.histogram import Histogram
from dxprivacy.universe.universe import Universe

T = TypeVar("T")


class Source(Protocol):
    """Data that can be counted.  `rows` is public: replacing one row does not change it."""

    name: str
    has_schema: bool
    """False if the columns are unknown until rows are read (JSON lines); then any column may exist."""

    def columns(self) -> "list[Column]":
        """Return the schema: names and types; reads no row."""

    def check(self, universe: Universe) -> None:
        """Refuse a schema that does not fit; reads no row."""

    def rows(self) -> int:
        """Return the number of rows."""

    def count(self, universe: Universe) -> Histogram:
        """Count the rows of each possible record."""

    def people(self, universe: Universe) -> int:
        """Return the number of people; public if the policy says so, otherwise never part of an output."""

    def keyed(self, universe: Universe) -> KeyedRows:
        """Count the rows by person and possible record, so that sources with rows of the same people can be merged."""

    def kept(self, universe: Universe, axes: Sequence[int], *, by_person: bool = False) -> KeptRows:
        """Count the kept rows of each person by the values of some attributes, and by person if `by_person`."""

    def distinct(self, column: str, max_rows: int) -> set[str] | None:
        """Return the texts of one column in the form that is compared with `values`; None if there are too many.

        Too many means more than `max_rows`. Not private: only for columns that their curator declared public.
        """

    def others(self, universe: Universe, max_rows: int | None) -> "list[Others]":
        """List for each attribute the entries that count as `other`; for the curator only, never for a release.

        At most `max_rows` entries are listed, the most frequent first; None lists all.
        """


@runtime_checkable
class Changing(Protocol):
    """A source whose rows may change during a run, and that can provide a snapshot of them."""

    def in_snapshot(self, action: Callable[[Source], T]) -> T:
        """Run an action on one state of the rows and return its result."""


def in_snapshot(source: Source, action: Callable[[Source], T]) -> T:
    """Run an action on one state of a source and return its result; files and frames are assumed not to change."""
    return source.in_snapshot(action) if isinstance(source, Changing) else action(source)


class ColumnKind(StrEnum):
    """What a column of a declared type can hold, in the words of error messages."""

    WHOLE = "whole numbers"
    FLOAT = "floating-point numbers"
    DECIMAL = "decimal numbers"
    TRUTH = "true or false"
    TEXT = "text"
    UNTYPED = "untyped text"
    OBJECT = "untyped entries"
    DATE = "dates"
    CLOCK = "points in time"
    INSTANT = "points in time with a zone"
    TIME = "times of day"
    NOTHING = "always empty"


@dataclass(frozen=True)
class Column:
    """One column of the schema; `kind` is None if no attribute can use its type, `native` is the engine's own type."""

    name: str
    kind: ColumnKind | None
    words: str = ""
    native: str = ""
    inferred: bool = False  # the type was inferred from all rows, so one row may have caused others to be rounded

    def __str__(self) -> str:
        return self.words or str(self.kind or "of an unknown type")


Entry = tuple[str | None, ...]


@dataclass(frozen=True)
class Others:
    """The entries that count as `other` for one attribute; this is data and is not private.

    `entries` holds the most frequent ones with their number of rows. An entry has one text for each column that the
    attribute reads, None if it is empty.
    """

    attribute: str
    columns: tuple[str, ...]
    rows: int = field(repr=False)
    distinct: int = field(repr=False)
    entries: tuple[tuple[Entry, int], ...] = field(repr=False)

    @classmethod
    def of(cls, attribute: str, columns: tuple[str, ...], rows: Mapping[Entry, int], max_rows: int | None) -> "Others":
        """Build from the number of rows of each entry."""
        ordered = sorted(rows.items(), key=lambda item: (-item[1], [text or "" for text in item[0]]))
        return cls(attribute, columns, sum(rows.values()), len(rows), tuple(ordered[:max_rows]))


# -- Notices for a user who waits: never about data, and shown in one place only ---------------------------------------
# A notice goes to the logger `dxprivacy.notices` if it or an ancestor has a handler, otherwise to stderr.


_LOG = logging.getLogger("dxprivacy.notices")
_LOG.addHandler(logging.NullHandler())  # otherwise Python's last-resort handler would print it, too


def notice(text: str) -> None:
    """Log a notice; print it to stderr if no handler is installed."""
    _LOG.warning("%s", one_line(text))
    if not _is_heard(_LOG):
        with suppress(OSError):  # a count must not fail because stderr is closed
            print(one_line(text), file=sys.stderr)


def _is_heard(logger: logging.Logger | None) -> bool:
    while logger is not None:
        if any(not isinstance(handler, logging.NullHandler) for handler in logger.handlers):
            return True
        logger = logger.parent if logger.propagate else None
    return False
