"""One end of a range, as a question writes it: a number, a day, or the name of a value."""

from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import TypeAlias


@dataclass(frozen=True)
class Name:
    """The name of a value as an end of a range: `rarely` in `rarely..often`.

    No plain text, since two texts in a condition mean either of two values.

    >>> str(Name("rarely"))
    'rarely'
    """

    text: str

    def __str__(self) -> str:
        return self.text


End: TypeAlias = Fraction | date | str | Name
"""One end of a range, as it was written."""
