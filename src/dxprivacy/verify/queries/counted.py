"""Rows that plans and adaptive mechanisms put to the data in place of what was asked: tallies and steps."""

import math
from abc import abstractmethod
from itertools import accumulate
from typing import Any

from dxprivacy.verify import reading
from dxprivacy.verify.blocks import Block, Stepped, Table
from dxprivacy.verify.queries.answers import Asked
from dxprivacy.verify.queries.base import MOST_ROWS, Query, each_row
from dxprivacy.verify.reading import refuse

_LARGEST_ENTRY = 1 << 53


class _Counted(Query):
    """One block, whose rows are numbered."""

    @abstractmethod
    def block(self) -> Block:
        """The rows."""

    def bound(self) -> Asked:
        block = self.block()
        labels = [f"row {k + 1}" for k in range(block.rows)]
        return self.asked([block], labels, [() for _ in labels], each_row(block))

    def axis(self, name: Any) -> int:
        """Which attribute it is."""
        if reading.text(name, self.where) not in self.universe.names:
            raise refuse(f"no attribute {name[:40]!r}", self.where)
        return self.universe.names.index(name)


class Tally(_Counted):
    """`tally`: weighted counts by groups of the values of several attributes."""

    needed = ("over",)

    def words(self, *, goals: bool = True) -> str:  # noqa: ARG002
        return "tally of " + ", ".join(("±" if min(p["weights"]) < 0 else "") + p["of"] for p in self.data["over"])

    def block(self) -> Table:
        groups: dict[int, list[int]] = {}
        weights: dict[int, list[int]] = {}
        for part in reading.items(self.data["over"], self.where):
            given = reading.members(part, self.where, ("of", "groups", "weights"))
            axis = self.axis(given["of"])
            size = self.universe.shape[axis]
            if axis in groups:
                raise refuse("counts by an attribute twice", self.where)
            groups[axis] = reading.each(given["groups"], self.where, lambda x, w: reading.whole(x, w, -1, MOST_ROWS))
            weights[axis] = reading.each(given["weights"], self.where, _entry)
            if not len(groups[axis]) == len(weights[axis]) == size or max(groups[axis]) < 0:
                raise refuse("its groups do not fit the attribute", self.where)
        if not groups or math.prod(max(g) + 1 for g in groups.values()) > MOST_ROWS:
            raise refuse("counts by nothing, or by too much", self.where)
        return Table(groups, weights, {axis: max(g) + 1 for axis, g in groups.items()})


class Steps(_Counted):
    """`steps`: rows along one attribute."""

    needed = ("of", "shape", "rows", "values", "jumps", "factor")

    def words(self, *, goals: bool = True) -> str:  # noqa: ARG002
        return f"{self.data['shape'][0]} rows along {self.data['of']}"

    def block(self) -> Stepped:
        data, where = self.data, self.where
        axis = self.axis(data["of"])
        shape = reading.each(data["shape"], where, lambda x, w: reading.whole(x, w, 1, MOST_ROWS))
        if len(shape) != 2 or shape[1] != self.universe.shape[axis]:
            raise refuse("its rows do not fit the attribute", where)
        rows = reading.each(data["rows"], where, lambda x, w: reading.whole(x, w, 0, shape[0] - 1))
        values = reading.each(data["values"], where, lambda x, w: reading.whole(x, w, 0, shape[1] - 1))
        jumps = reading.each(data["jumps"], where, reading.whole)
        if not len(rows) == len(values) == len(jumps) or len(set(zip(rows, values, strict=True))) < len(rows):
            raise refuse("its jumps are damaged", where)
        matrix = [[0] * shape[1] for _ in range(shape[0])]
        for row, value, jump in zip(rows, values, jumps, strict=True):
            matrix[row][value] = jump
        summed = [list(accumulate(row)) for row in matrix]
        if any(abs(x) >= _LARGEST_ENTRY for row in summed for x in row):
            raise refuse("numbers beyond 53 bits", where)
        return Stepped(axis, summed, reading.positive(data["factor"], where))


def _entry(value: Any, where: str) -> int:
    return reading.whole(value, where, 1 - _LARGEST_ENTRY, _LARGEST_ENTRY - 1)
