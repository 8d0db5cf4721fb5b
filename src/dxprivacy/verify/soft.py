"""Soft tables: along one attribute a value counts in several parts, beside groups of others (docs/formats.md, 4, 6)."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property

from dxprivacy.verify.blocks import Block, Column, Table


class Soft(Block):
    """Rows `beside x parts`: `columns` has, for each value of the attribute, its parts and how much it counts there."""

    kind = "soft"

    def __init__(
        self, axis: int, parts: int, columns: Sequence[dict[int, int]], beside: Table, unit: Fraction, bias: Fraction
    ) -> None:
        super().__init__(beside.rows * parts, sorted((axis, *beside.axes)), unit, bias)
        self.axis, self.parts, self.beside = axis, parts, beside
        self.columns = [{part: x for part, x in sorted(column.items()) if x} for column in columns]

    def column(self, values: Sequence[int]) -> Column:
        return {
            self.first + row * self.parts + part: weight * x
            for row, weight in self.beside.column(values).items()
            for part, x in self.columns[values[self.axis]].items()
        }

    @cached_property
    def _classes(self) -> list[int]:
        known: dict[tuple[tuple[int, int], ...], int] = {}
        return [known.setdefault(tuple(column.items()), len(known)) for column in self.columns]

    def moving(self, axis: int, value: int) -> object:
        return self._classes[value] if axis == self.axis else self.beside.moving(axis, value)

    def line(self, axis: int, value: int) -> tuple[object, int]:
        return super().line(axis, value) if axis == self.axis else self.beside.line(axis, value)

    def context(self, axis: int, value: int, uniform: bool) -> object:
        """Where all scales are alike, only how much a value counts in all, and how much in one part."""
        if axis != self.axis:
            return self.beside.context(axis, value, uniform)
        if not uniform:
            return self._classes[value]
        sizes = [abs(x) for x in self.columns[value].values()]
        return sum(sizes), max(sizes, default=0)

    def strength(self, axis: int, value: int, uniform: bool) -> tuple[object, int]:
        if axis != self.axis:
            return self.beside.strength(axis, value, uniform)
        return self.context(axis, value, uniform), int(bool(self.columns[value]))

    def arrays(self) -> Iterator[Sequence[int]]:
        """Rows, attribute, parts; where each column starts, its parts and numbers; then those of what is beside."""
        yield [self.rows, self.axis, self.parts]
        starts = [0]
        for column in self.columns:
            starts.append(starts[-1] + len(column))
        yield starts
        yield [part for column in self.columns for part in column]
        yield [x for column in self.columns for x in column.values()]
        yield from self.beside.arrays()

    def spreads(self, *, absent: bool) -> Iterator[tuple[int, int]]:
        ends = [(0, 0)] * self.parts
        seen = [0] * self.parts
        for column in self.columns:
            for part, x in column.items():
                low, high = ends[part] if seen[part] else (x, x)
                ends[part], seen[part] = (min(low, x), max(high, x)), seen[part] + 1
        ends = [
            (low, high) if many == len(self.columns) else (min(low, 0), max(high, 0))
            for (low, high), many in zip(ends, seen, strict=True)
        ]
        for row, low, high in self.beside.ends(absent=absent):
            for part, (least, most) in enumerate(ends):
                corners = [x * y for x in (low, high) for y in (least, most)]
                if max(corners) > min(corners):
                    yield self.first + row * self.parts + part, max(corners) - min(corners)

    def reach(self, weights: Sequence[float], *, absent: bool) -> float:
        """Twice what a record shows at most, over all of its parts."""
        if not any(True for _ in self.spreads(absent=absent)):
            return 0.0
        largest = max((max(abs(low), abs(high)) for _, low, high in self.beside.ends(absent=True)), default=0)
        most = 0.0
        for row, low, high in self.beside.ends(absent=True):
            start = self.first + row * self.parts
            if low or high:
                shown = (sum(weights[start + part] * abs(x) for part, x in column.items()) for column in self.columns)
                most = max(most, *shown)
        return 2 * most * largest

    def row(self, k: int) -> "Soft":
        group, part = divmod(k, self.parts)
        columns = [{0: column[part]} if part in column else {} for column in self.columns]
        return Soft(self.axis, 1, columns, self.beside.row(group), self.unit, self.bias)
