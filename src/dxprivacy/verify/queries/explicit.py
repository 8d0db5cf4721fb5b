"""Explicit rows, entry by entry."""

from dxprivacy.verify import reading
from dxprivacy.verify.blocks import Block, Column, Explicit, Table
from dxprivacy.verify.queries.answers import Asked
from dxprivacy.verify.queries.base import Query, each_row
from dxprivacy.verify.reading import refuse


class ExplicitRows(Query):
    """`matrix`."""

    needed = ("shape", "rows", "columns", "entries", "factor", "bias", "labels")
    optional = ("within", "weight")

    def words(self, *, goals: bool = True) -> str:  # noqa: ARG002
        return f"{self.data['shape'][0]} explicit rows"

    def bound(self) -> Asked:
        data, where, size = self.data, self.where, self.universe.cells
        shape = reading.each(data["shape"], where, lambda x, w: reading.whole(x, w, 1, 1 << 31))
        if len(shape) != 2 or shape[1] != size:
            raise refuse("its matrix does not fit the universe", where)
        rows = reading.each(data["rows"], where, lambda x, w: reading.whole(x, w, 0, shape[0] - 1))
        cells = reading.each(data["columns"], where, lambda x, w: reading.whole(x, w, 0, size - 1))
        entries = reading.each(data["entries"], where, reading.whole)
        if not len(rows) == len(cells) == len(entries) or len(set(zip(rows, cells, strict=True))) < len(rows):
            raise refuse("its entries are damaged", where)
        unit, bias = reading.positive(data["factor"], where), reading.fraction(data["bias"], where)
        labels = reading.each(data["labels"], where, reading.text) or [f"row {k + 1}" for k in range(shape[0])]
        if len(labels) != shape[0] or bias < 0:
            raise refuse("its labels or its bias are damaged", where)
        columns: dict[int, Column] = {}
        for row, cell, x in zip(rows, cells, entries, strict=True):
            if x:
                columns.setdefault(cell, {})[row] = x
        block: Block = Explicit(self.universe, shape[0], columns, unit, bias)
        if len(self.universe.shape) == 1 and columns and all(len(c) == 1 for c in columns.values()):
            groups, weights = [-1] * size, [0] * size
            for cell, column in columns.items():
                ((groups[cell], weights[cell]),) = column.items()
            block = Table({0: groups}, {0: weights}, {0: shape[0]}, unit, bias)
        return self.asked([block], labels, [(("row", label),) for label in labels], each_row(block))
