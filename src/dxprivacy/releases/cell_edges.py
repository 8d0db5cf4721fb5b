"""Where cells of densities and maps begin and end, as numbers beside their labels: for those who calculate on."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from dxprivacy.releases.answer_tables import AnswerTable
from dxprivacy.releases.map_cells import DEGREES, between, is_map, number_of

_ON_EARTH = ("south", "west", "north", "east")


def edge_columns(tables: Sequence[AnswerTable[Any]], facts: Mapping[str, Any]) -> list[str]:
    """What the columns are called, for all tables that have any."""
    return list(dict.fromkeys(name for table in tables for name in _names(table, facts)))


def edges_of(table: AnswerTable[Any], facts: Mapping[str, Any]) -> Iterator[dict[str, float]]:
    """For each answer of a table the numbers in these columns."""
    columns, read = _names(table, facts), cache(_ends)
    for groups in table.groups:
        found = [read(text) for text in groups[-len(columns) // 2 :]] if columns else []
        if len(found) == 2:  # both columns of a map: first both lower ends
            found = [(found[0][0], found[1][0]), (found[0][1], found[1][1])]
        yield dict(zip(columns, (x for ends in found for x in ends), strict=True))


def _names(table: AnswerTable[Any], facts: Mapping[str, Any]) -> tuple[str, ...]:
    if len(table.columns) > 1 and is_map(table):
        sides = table.columns[-2:]
        return _ON_EARTH if sides == DEGREES else tuple(f"{side} {end}" for end in ("from", "to") for side in sides)
    if table.columns and table.columns[-1] in _along(facts) and all(_readable(groups[-1]) for groups in table.groups):
        return f"{table.columns[-1]} from", f"{table.columns[-1]} to"
    return ()


def _along(facts: Mapping[str, Any]) -> set[str]:
    """What densities of a release are about."""
    given = facts.get("questions")
    asked = [q for q in (given if isinstance(given, list) else []) if isinstance(q, Mapping)]
    names = [str(q.get("of")) for q in asked if q.get("ask") == "density"]
    return {part for name in names for part in (name, name.rpartition(".")[2])}


def _readable(text: str) -> bool:
    try:
        _ends(text)
    except ValueError:
        return False
    return True


def _ends(text: str) -> tuple[float, float]:
    """The numbers that a label names: of `5–9` whole numbers these, of a single one twice it.

    >>> _ends("2.5 to 5"), _ends("5–9"), _ends("-3–-1"), _ends("53")
    ((2.5, 5.0), (5.0, 9.0), (-3.0, -1.0), (53.0, 53.0))
    """
    found = between(text)
    if found is not None:
        return found
    first, _, last = text.partition("–")
    return number_of(first), number_of(last or first)
