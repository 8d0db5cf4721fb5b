"""The interface of data frames of all libraries: names, height, kinds, and some of the columns."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from dxprivacy.engines.entries import Reader, clean_text
from dxprivacy.engines.source import ColumnKind
from dxprivacy.errors import DataError


@dataclass(frozen=True)
class Wanted:
    """A column to select.  If its entries are objects, `reader` gives the place of each, or else `text` its text."""

    position: int
    reader: Reader | None = None
    text: Callable[[object], str | None] = clean_text
    by_text: bool = False  # entries are compared as texts; a number that may be rounded is unreadable


class Declared(NamedTuple):
    """What a frame declares of a column: its kind if only the frame knows it, and the name of its type."""

    kind: ColumnKind | None
    words: str
    inferred: bool = False  # from all rows together


class Frame(Protocol):
    """The interface that the engine needs of a frame."""

    name: str
    columns: list[str]

    def height(self) -> int:
        """Return the number of rows."""

    def declared(self, position: int) -> Declared:
        """Return the type of one column."""

    def take(self, wanted: Sequence[Wanted], *, rows: bool) -> object:
        """Return the wanted columns as c0, c1, ...; `rows=False` for the schema alone."""


def guessed(name: str, text: str) -> DataError:
    """Return the refusal of text that another library reads: it would guess the types from some rows."""
    given = {"CSV": "people.csv", "JSON": "people.jsonl"}[text]
    return DataError(
        f"reads {text} with types guessed from the rows, so that one row could change how others are read",
        where=name,
        hints=[(f'"{given}"', "give the file itself: each entry is read alone, as the policy says")],
    )
