"""The way back that a file carries: checked by products, with nothing solved again (docs/formats.md, section 10)."""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from dxprivacy.verify import reading
from dxprivacy.verify.blocks import Block
from dxprivacy.verify.least_squares import Component, Estimator
from dxprivacy.verify.reading import refuse

_WHERE = "reconstruction"
_MOST_ENTRIES = 200_000
_MOST_CELLS = 1_500
_LARGEST = 1 << 62


class WayBack:
    """R and r over one denominator: whole numbers for each row that was asked for."""

    def __init__(self, data: Any, asked: int, counted: int) -> None:
        given = reading.members(data, _WHERE, ("denominator", "rows", "columns", "entries", "constants"))
        self.denominator = reading.whole(given["denominator"], _WHERE, 1, _LARGEST)
        rows = reading.each(given["rows"], _WHERE, lambda x, w: reading.whole(x, w, 0, asked - 1))
        columns = reading.each(given["columns"], _WHERE, lambda x, w: reading.whole(x, w, 0, counted - 1))
        entries = reading.each(given["entries"], _WHERE, reading.whole)
        self.constants = reading.each(given["constants"], _WHERE, reading.whole)
        places = list(zip(rows, columns, strict=True))
        if len(entries) != len(places) or len(self.constants) != asked or len(places) > _MOST_ENTRIES:
            raise refuse("its lists are of different lengths, or too long", _WHERE)
        if places != sorted(set(places)) or not all(entries):
            raise refuse("its entries are out of order, twice there, or zero", _WHERE)
        self.rows: list[dict[int, int]] = [{} for _ in range(asked)]
        for (row, column), entry in zip(places, entries, strict=True):
            self.rows[row][column] = entry
        if math.gcd(self.denominator, *entries, *self.constants) > 1:
            raise refuse("its denominator is not the least", _WHERE)

    def estimates(self, noisy: Sequence[int], records: int) -> list[Fraction]:
        """Every row, without any rounding."""
        sums = (
            constant * records + sum(x * noisy[column] for column, x in row.items())
            for row, constant in zip(self.rows, self.constants, strict=True)
        )
        return [Fraction(total, self.denominator) for total in sums]

    def spreads(self, noises: Sequence[float]) -> list[float]:
        """The variance of each row, from those of the counted ones."""
        return [
            math.fsum((x / self.denominator) ** 2 * noises[column] for column, x in row.items()) for row in self.rows
        ]

    def check(self, estimator: Estimator) -> None:
        """R B + r 1' = W: cell by cell, every row from the counted rows of its own component.

        Where the number of records is private, the last cell is `absent`: nothing is counted there, so r is 0.
        """
        inside = set[int]()
        for part in estimator.components:
            asked = _numbers(part.asked)
            inside |= asked
            self._check_part(part, asked, _numbers(part.counted))
        for row in set(range(estimator.rows)) - inside:
            if self.rows[row] or self.constants[row] != estimator.first.get(row, 0) * self.denominator:
                raise refuse("does not tell what is asked", _WHERE)

    def _check_part(self, part: Component, asked: set[int], counted: set[int]) -> None:
        if math.prod(map(len, part.firsts.values())) > _MOST_CELLS:
            raise refuse("is over more cells than a file carries one for", _WHERE)
        if any(not self.rows[row].keys() <= counted for row in asked):
            raise refuse("takes rows that have nothing to do with what is asked", _WHERE)
        by_column: dict[int, list[tuple[int, int]]] = {}
        for row in asked:
            for column, x in self.rows[row].items():
                by_column.setdefault(column, []).append((row, x))
        # From cell to cell only what changes has to agree; at the first one everything, with the constants.
        left = {row: self.constants[row] for row in asked}
        before: tuple[Mapping[int, int], Mapping[int, int]] = ({}, {})
        for values in part.cells():
            now = _column(part.counted, values), _column(part.asked, values)
            for column, change in _changes(before[0], now[0]):
                for row, x in by_column.get(column, ()):
                    left[row] += x * change
            for row, change in _changes(before[1], now[1]):
                left[row] -= self.denominator * change
            if any(left.values()):
                raise refuse("does not tell what is asked", _WHERE)
            before = now


def _numbers(blocks: Sequence[Block]) -> set[int]:
    return {row for block in blocks for row in range(block.first, block.first + block.rows)}


def _column(blocks: Sequence[Block], values: Sequence[int] | None) -> dict[int, int]:
    """The numbers of a record; of an absent one there are none."""
    if values is None:
        return {}
    return {row: x for block in blocks for row, x in block.column(values).items()}


def _changes(before: Mapping[int, int], now: Mapping[int, int]) -> list[tuple[int, int]]:
    """Where two columns differ, and by how much."""
    rows = before.keys() | now.keys()
    return [(row, change) for row in rows if (change := now.get(row, 0) - before.get(row, 0))]
