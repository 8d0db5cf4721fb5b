"""Which columns of a table to select as r0, r1, ..., and how the attributes of a universe read them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

from dxprivacy.engines.fit import check_keys, check_kinds, find_columns, find_keys
from dxprivacy.engines.placement import Read
from dxprivacy.engines.source import Column
from dxprivacy.universe.people import People
from dxprivacy.universe.universe import Universe


class Described(Protocol):
    """A column of an engine, with whatever that engine knows of it besides."""

    @property
    def column(self) -> Column:
        """As the schema has it."""

    @property
    def entry(self) -> str:
        """The SQL of its entries, in the type that we read them in."""


D = TypeVar("D", bound=Described)


def fitted(
    where: str, columns: Sequence[D], universe: Universe, most_joins: int, longest: int
) -> tuple[list[D], list[list[Read]]]:
    """The wanted columns, one after the other, and the reads of each attribute; refuses a schema that does not fit.

    Of more listed attributes than an engine joins, those with the fewest values, up to `longest`, are looked up alone.
    """
    positions = find_columns(where, [found.column.name for found in columns], universe)
    read = [[columns[position] for position in mine] for mine in positions]
    check_kinds(where, universe, [[found.column for found in mine] for mine in read])
    wanted: list[D] = []
    reads: list[list[Read]] = []
    for attribute, mine in zip(universe.attributes, read, strict=True):
        placed = []
        for found, entry in zip(mine, attribute.entries_read, strict=True):
            placed.append(Read(entry.codec, found.column, f"r{len(wanted)}"))
            wanted.append(found)
        if attribute.surroundings is not None:
            placed[0] = replace(placed[0], beside=placed[1])
        reads.append(placed)
    joined = [mine for mine in reads if mine[0].is_joined]
    for placed in sorted(joined, key=lambda mine: mine[0].codec.listed)[: max(len(joined) - most_joins, 0)]:
        placed[0] = replace(placed[0], alone=placed[0].codec.listed <= longest)
    return wanted, reads


def key_columns(where: str, columns: Sequence[D], people: People) -> list[D]:
    """The columns that tell whose row it is."""
    keys = [columns[position] for position in find_keys(where, [found.column.name for found in columns], people)]
    check_keys(where, [found.column for found in keys])
    return keys


def selected(wanted: Sequence[Described], rows: str) -> str:
    """SELECT of the wanted columns as r0, r1, ..."""
    return f"SELECT {', '.join(f'{found.entry} AS r{k}' for k, found in enumerate(wanted))} FROM {rows}"


def is_text(text: str) -> bool:
    """Whether a listed text can be written in UTF-8: what cannot stands in no table.

    >>> is_text("été"), is_text(chr(0xD800))
    (True, False)
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
