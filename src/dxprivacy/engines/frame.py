"""What a data frame must tell, whoever made it: names, height, kinds, and some of its columns."""

from collections.abc import Sequence
from typing import Protocol

from dxprivacy.engines.entries import Reader
from dxprivacy.engines.source import Kind
from dxprivacy.errors import DataError


class Frame(Protocol):
    """What the engine needs of a frame."""

    name: str
    columns: list[str]

    def height(self) -> int:
        """The number of rows."""

    def declared(self, position: int) -> tuple[Kind | None, str]:
        """The column's kind where the frame itself must say it, and the name of its type."""

    def take(self, positions: Sequence[int], readers: Sequence[Reader | None], *, rows: bool) -> object:
        """The columns at these positions as c0, c1, ...; `rows=False` for the schema alone.

        Where a reader is given, the column holds the place of each entry; it is given for columns of objects only.
        """


def guessed(name: str, text: str) -> DataError:
    """The refusal of text that another library reads: it would guess the types from some rows."""
    given = {"CSV": "people.csv", "JSON": "people.jsonl"}[text]
    return DataError(
        f"reads {text} with types guessed from the rows, so that one row could change how others are read",
        where=name,
        hints=[(f'"{given}"', "give the file itself: each entry is read alone, as the policy says")],
    )
