"""What queries ask for (docs/formats.md, sections 4 and 5): rows in blocks, labels, words, recipes, notes."""

from collections.abc import Iterator
from typing import Any

from dxprivacy.verify import reading
from dxprivacy.verify.blocks import Block
from dxprivacy.verify.queries.answers import Answer, Asked, Recipe
from dxprivacy.verify.queries.base import Query
from dxprivacy.verify.queries.kinds import KINDS, read_query
from dxprivacy.verify.queries.row import OneRow
from dxprivacy.verify.reading import refuse
from dxprivacy.verify.universe import Universe

__all__ = ["Answer", "Asked", "Recipe", "ask"]

_KINDS: dict[str, type[Query]] = {**KINDS, "row": OneRow}


def ask(data: Any, universe: Universe, *, edition: int = 5, units: bool = True) -> Asked:
    """All queries of a file; `units=False` where nothing says in which units the numbers were.

    In edition 2 labels said less about cells, and intervals nothing.
    """
    given = reading.items(data, "queries")
    if not given:
        raise refuse("nothing is asked", "queries")
    blocks: list[Block] = []
    parts: list[tuple[int, Asked]] = []  # with the numbers of their first rows
    start = 0
    words: list[str] = []
    names: list[str] = []
    notes: dict[str, None] = {}
    for k, query in enumerate(given):
        where = f"query {k + 1}"
        one = read_query(query, universe, where, _KINDS, edition=edition, units=units).bound()
        parts.append((start, one))
        for block in one.blocks:
            blocks.append(block.starting_at(start))
            start += block.rows
        words += one.words
        names += one.names
        notes |= dict.fromkeys(one.notes)

    def make(first: int) -> Iterator[Answer]:
        for at, one in parts:
            yield from one.make(first + at)

    return Asked(blocks, [kind for _, one in parts for kind in one.kinds], make, words, list(notes), names)
