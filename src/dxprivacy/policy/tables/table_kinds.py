"""The kinds of attribute tables in a policy file: their keys, and the function that builds attribute and metric."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dxprivacy.errors import Hint, UsageError
from dxprivacy.metrics import Metric
from dxprivacy.policy.tables.listed_kinds import EXAMPLE as ORDER
from dxprivacy.policy.tables.listed_kinds import graph, grid, order, points, values
from dxprivacy.policy.tables.number_kinds import dates, hours, integers, numbers, weekdays
from dxprivacy.policy.tables.table_keys import Keys
from dxprivacy.universe.attributes.attribute import Attribute

COMMON = ("column", "epsilon", "other", "unit", "was", "was_column", "from")
"""The keys that every table may have."""


_SPELLING = ("trim", "fold_case", "aliases")
_BY_COORDINATES = ("coordinates", "format")
_READ_STRICTLY = dict.fromkeys(
    _SPELLING,
    (
        "numbers, dates and times have blanks around them already, and no other spelling",
        ('format = "1.234,5"', "how the data writes them"),
    ),
)


@dataclass(frozen=True)
class PolicyTable:
    """A kind of table, identified by a key of the same name."""

    build: Callable[[Keys], tuple[Attribute, Metric]]
    example: str
    keys: tuple[str, ...] = ()
    meaningless: Mapping[str, tuple[str, Hint]] = field(default_factory=dict)  # refused keys, and why
    names_a_file: bool = False  # a text as its value names a file, which no output may overwrite


TABLES: dict[str, PolicyTable] = {
    "values": PolicyTable(
        values,
        'values = ["M", "F"]',
        ("between", "declared_public", "id", "units", "complete", *_SPELLING),
        names_a_file=True,
        meaningless={
            "per": (
                "values have no distances, so per means nothing",
                ("integers = [0, 120]", "whole numbers have distances"),
            )
        },
    ),
    "order": PolicyTable(
        order,
        ORDER,
        ("per", "max_epsilon", "places", "declared_public", "complete", *_SPELLING),
        meaningless={
            "spacing": (
                "values are positioned by places, not by the space between them",
                ("places = [0, 1, 4]", "1 from the first to the second, 3 from there to the third"),
            )
        },
    ),
    "integers": PolicyTable(
        integers,
        "integers = [0, 120]",
        ("per", "max_epsilon", "format", "columns", "outside", "complete"),
        _READ_STRICTLY,
    ),
    "numbers": PolicyTable(
        numbers,
        "numbers = [0, 200000]",
        ("per", "max_epsilon", "format", "columns", "step", "outside", "bin_value", "complete"),
        _READ_STRICTLY,
    ),
    "dates": PolicyTable(
        dates,
        'dates = ["2026-01-01", "2026-12-31"]',
        ("per", "max_epsilon", "format", "columns", "timezone", "step", "outside"),
        _READ_STRICTLY,
    ),
    "weekdays": PolicyTable(weekdays, "weekdays = true", ("per", "max_epsilon", "format", "timezone"), _READ_STRICTLY),
    "hours": PolicyTable(
        hours, "hours = [0, 24]", ("per", "max_epsilon", "format", "timezone", "step", "circle"), _READ_STRICTLY
    ),
    "points": PolicyTable(
        points,
        'points = "cities.csv"',
        ("per", "metric", "id", "units", "threshold", "max_epsilon", "complete", *_BY_COORDINATES, "reach", *_SPELLING),
        names_a_file=True,
    ),
    "grid": PolicyTable(
        grid,
        'grid = "5 km"',
        ("box", "per", "metric", "threshold", "max_epsilon", "complete", *_BY_COORDINATES),
        _READ_STRICTLY,
    ),
    "graph": PolicyTable(graph, 'graph = "friends.csv"', _SPELLING, names_a_file=True),
}
"""Each kind by its key."""


def register(kind: str, table: PolicyTable) -> None:
    """Register a further kind of table; its key must be new.

    >>> register("step", TABLES["graph"])
    Traceback (most recent call last):
    dxprivacy.errors.UsageError: “step” means something in a policy already
    """
    taken = {*COMMON, *(key for known in TABLES.values() for key in known.keys)}
    if kind in taken or TABLES.setdefault(kind, table) is not table:
        raise UsageError(f"“{kind[:40]}” means something in a policy already")


def files_named(table: Mapping[str, Any]) -> list[str]:
    """Return the files that a table names."""
    named = [table.get(kind) for kind, known in TABLES.items() if known.names_a_file]
    return [name for name in named if isinstance(name, str)]
