"""A pyarrow Table as a frame."""

from collections.abc import Sequence
from typing import Any

from dxprivacy.engines.frames.arrow_columns import declared_by_arrow, handed_over
from dxprivacy.engines.frames.frame import Declared, Wanted


class ArrowTable:
    """A pyarrow Table."""

    def __init__(self, table: Any) -> None:
        self.name = "an Arrow table"
        self.columns = list(table.column_names)
        self._table = table

    def height(self) -> int:
        """The number of rows."""
        return int(self._table.num_rows)

    def declared(self, position: int) -> Declared:
        """Arrow says the kind, except of columns that hold nothing."""
        return declared_by_arrow(self._table.schema.field(position).type)

    def take(self, wanted: Sequence[Wanted], *, rows: bool) -> object:
        """The wanted columns as c0, c1, ...; none has objects."""
        table = self._table if rows else self._table.slice(0, 0)
        columns = [handed_over(table.column(w.position)) for w in wanted]
        return type(self._table).from_arrays(columns, names=[f"c{k}" for k in range(len(columns))])
