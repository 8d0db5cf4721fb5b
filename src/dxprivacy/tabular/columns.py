"""Typed columns, and the same as a relation of the engine, which hands them to whoever reads Arrow.

Types are declared by whoever makes the columns: none is inferred from what stands in them.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from duckdb import DuckDBPyRelation as Relation

TEXT, NUMBER = "VARCHAR", "DOUBLE"


@dataclass(frozen=True)
class Columns:
    """Names and types of columns, and what stands in each; nothing stands where there is None.

    >>> Columns.of([("sex", TEXT), ("value", NUMBER)], [["M", 3], ["F", 4.5]]).values
    (('M', 'F'), (3, 4.5))
    """

    names: tuple[str, ...]
    types: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]

    @classmethod
    def of(cls, head: Sequence[tuple[str, str]], rows: Iterable[Sequence[Any]]) -> "Columns":
        """From rows."""
        values = tuple(zip(*rows, strict=True)) or ((),) * len(head)
        return cls(tuple(name for name, _ in head), tuple(kind for _, kind in head), values)

    def rows(self) -> list[dict[str, Any]]:
        """As dictionaries, row by row."""
        return [dict(zip(self.names, row, strict=True)) for row in zip(*self.values, strict=True)]

    def by_name(self) -> dict[str, list[Any]]:
        """As lists, column by column; a number that is not there is none: NaN."""
        told = zip(self.names, self.types, self.values, strict=True)
        return {name: [_absent(kind) if x is None else x for x in column] for name, kind, column in told}

    def relation(self) -> "Relation":
        """As a relation of the engine, in a database of its own, which lives as long as it is used."""
        import duckdb

        con = duckdb.connect(":memory:", config={"threads": "1", "python_enable_replacements": "false"})
        con.execute("SET enable_progress_bar = false")
        # As numbered columns and parameters: names and entries are anybody's text.
        parts = ", ".join(f"unnest($c{k}::{kind}[]) AS c{k}" for k, kind in enumerate(self.types))
        given = {f"c{k}": list(map(_unicode, column)) for k, column in enumerate(self.values)}
        con.execute(f"CREATE TEMP TABLE held AS SELECT {parts}", given)
        named = ", ".join(f"c{k} AS {identifier(name)}" for k, name in enumerate(self.names))
        return con.sql(f"SELECT {named} FROM held")


def identifier(name: str) -> str:
    """A name in the engine's SQL; no name has a NUL, which ends one there.

    >>> identifier('a "b"')
    '"a ""b\"""'
    """
    return '"' + str(_unicode(name)).replace("\x00", "\ufffd").replace('"', '""') + '"'


def _absent(kind: str) -> float | None:
    return math.nan if kind == NUMBER else None


def _unicode(entry: Any) -> Any:
    """Halves of characters, which files can hold, have no form outside of Python."""
    return entry.encode("utf-8", "replace").decode() if isinstance(entry, str) and not entry.isascii() else entry
