"""Answers that are cells of a map: how they are called, and which of them people look at first."""

import math
from dataclasses import replace
from typing import Any

from dxprivacy.releases.answer_tables import AnswerTable

DEGREES, PLANE = ("latitude", "longitude"), ("x", "y")


def is_map(table: AnswerTable[Any]) -> bool:
    """Whether answers are cells by two coordinates, perhaps within groups."""
    sides = table.columns[-2:]
    return sides in (DEGREES, PLANE) and all(between(text) for text in table.groups[0][-2:])


def is_clear(row: Any, cells: int) -> bool:
    """Whether a cell stands out of the noise of so many: hardly any of all of them does so by chance."""
    return bool(row.value > 0 and row.value >= clear_from(float(row.value - row.low), cells))


def clear_from(half_width: float, cells: int) -> float:
    """How much a cell must hold to stand out of the noise of so many, of which this covers 95 % in each.

    Noise of 95 % width h is beyond h ln(2 cells / 0.05) / ln 20 in one of them with a probability of 2.5 % at most.
    """
    return half_width * math.log(40 * cells) / math.log(20)


def fullest_first(table: AnswerTable[Any]) -> AnswerTable[Any]:
    """The same cells, those that hold most first."""
    order = sorted(range(len(table)), key=lambda k: -table.answers[k].value)
    return replace(
        table,
        groups=tuple(table.groups[k] for k in order),
        answers=tuple(table.answers[k] for k in order),
        places=tuple(table.places[k] for k in order),
    )


def clear_cells(table: AnswerTable[Any]) -> int:
    """How many of its cells stand out of the noise."""
    return sum(is_clear(row, len(table)) for row in table.answers)


def between(text: str) -> tuple[float, float] | None:
    """`48.1 to 48.2`, as cells of a map are called; None for anything else.

    >>> between("-1.5 to 0.25"), between("1/3 to 2/3"), between("B to C"), between("2 to 1")
    ((-1.5, 0.25), (0.3333333333333333, 0.6666666666666666), None, None)
    """
    first, found, last = text.partition(" to ")
    try:
        low, high = number_of(first), number_of(last)
    except (ValueError, ZeroDivisionError):
        return None
    return (low, high) if found and math.isfinite(low) and math.isfinite(high) and low < high else None


def number_of(text: str) -> float:
    """A number as labels have it, perhaps a fraction."""
    above, found, below = text.partition("/")
    return float(above) / float(below) if found else float(text)
