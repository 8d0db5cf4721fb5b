"""What every engine offers: a schema that is public, a number of rows, and a histogram.

The rule behind this package: **a row goes to its cell by a function of that row alone**.  So changing one row moves one
unit of the histogram, whatever is written in it.  Only the public schema (column names and types) can be refused;
what does not fit in a single row counts as the attribute's `other`.
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
    """False where no column is known without reading rows (JSON lines): then every column may be there."""

    def columns(self) -> "list[Column]":
        """The schema: names and types; reads no row."""

    def check(self, universe: Universe) -> None:
        """Refuse a schema that does not fit; reads no row."""

    def rows(self) -> int:
        """The number of rows."""

    def count(self, universe: Universe) -> Histogram:
        """How many rows fall into each cell."""

    def people(self, universe: Universe) -> int:
        """The number of people; public where the policy says so, and never an output otherwise."""

    def keyed(self, universe: Universe) -> KeyedRows:
        """All rows by person and cell, for whoever has further rows of the same people."""

    def kept(self, universe: Universe, axes: Sequence[int], *, by_person: bool = False) -> KeptRows:
        """The rows that are kept of each person, by cell of some attributes; by person too if that is asked for."""

    def distinct(self, column: str, max_rows: int) -> set[str] | None:
        """The texts of one column, as `values` are compared with them; None if there are more.

        Not private: only for columns that their curator declared public.
        """

    def others(self, universe: Universe, max_rows: int | None) -> "list[Others]":
        """For each attribute, which entries count as `other`: for the curator alone, never for a release.

        At most so many entries are listed, the most frequent first; None lists all.
        """


@runtime_checkable
class Changing(Protocol):
    """A source whose rows others may change meanwhile, and that can hold one state of them."""

    def in_snapshot(self, action: Callable[[Source], T]) -> T:
        """What an action finds out from one state of the rows."""


def in_snapshot(source: Source, action: Callable[[Source], T]) -> T:
    """What an action finds out from one state of a source; files and frames are taken to stay as they are."""
    return source.in_snapshot(action) if isinstance(source, Changing) else action(source)


class ColumnKind(StrEnum):
    """What a column's declared type lets it hold, in the words of our messages."""

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
    """One column of the schema; `kind` is None for types that no attribute can use, `native` the engine's own type."""

    name: str
    kind: ColumnKind | None
    words: str = ""
    native: str = ""
    inferred: bool = False  # the type was inferred from all rows together, so that one may have rounded the others

    def __str__(self) -> str:
        return self.words or str(self.kind or "of an unknown type")


Entry = tuple[str | None, ...]


@dataclass(frozen=True)
class Others:
    """What counts as `other` in one attribute: data, and not private.

    `entries` holds the most frequent ones with their number of rows; an entry has one text for each column that the
    attribute reads, None where nothing is written.
    """

    attribute: str
    columns: tuple[str, ...]
    rows: int = field(repr=False)
    distinct: int = field(repr=False)
    entries: tuple[tuple[Entry, int], ...] = field(repr=False)

    @classmethod
    def of(cls, attribute: str, columns: tuple[str, ...], rows: Mapping[Entry, int], max_rows: int | None) -> "Others":
        """From the number of rows of each entry."""
        ordered = sorted(rows.items(), key=lambda item: (-item[1], [text or "" for text in item[0]]))
        return cls(attribute, columns, sum(rows.values()), len(rows), tuple(ordered[:max_rows]))


# -- What somebody who waits should know, from inside a source: never about data, and never twice ----------------------
# Whoever listens to the log `dxprivacy.notices`, or to one above it, hears it there; otherwise it is told on stderr.


_LOG = logging.getLogger("dxprivacy.notices")
_LOG.addHandler(logging.NullHandler())  # or Python tells it by itself


def notice(text: str) -> None:
    """Tell it once."""
    _LOG.warning("%s", one_line(text))
    if not _is_heard(_LOG):
        with suppress(OSError):  # a count must not fail because nobody can be told
            print(one_line(text), file=sys.stderr)


def _is_heard(logger: logging.Logger | None) -> bool:
    while logger is not None:
        if any(not isinstance(handler, logging.NullHandler) for handler in logger.handlers):
            return True
        logger = logger.parent if logger.propagate else None
    return False
