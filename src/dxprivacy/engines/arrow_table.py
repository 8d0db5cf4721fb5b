"""A pyarrow Table as a frame."""

from collections.abc import Sequence
from typing import Any

from dxprivacy.engines.arrow_columns import declared_by_arrow, handed_over
from dxprivacy.engines.entries import Reader
from dxprivacy.engines.source import Kind


class ArrowTable:
    """A pyarrow Table."""

    def __init__(self, table: Any) -> None:
        self.name = "an Arrow table"
        self.columns = list(table.column_names)
        self._table = table

    def height(self) -> int:
        """The number of rows."""
        return int(self._table.num_rows)

    def declared(self, position: int) -> tuple[Kind | None, str]:
        """Arrow says the kind, except of columns that hold nothing."""
        return declared_by_arrow(self._table.schema.field(position).type)

    def take(self, positions: Sequence[int], readers: Sequence[Reader | None], *, rows: bool) -> object:  # noqa: ARG002
        """The columns at these positions as c0, c1, ..."""
        table = self._table if rows else self._table.slice(0, 0)
        columns = [handed_over(table.column(p)) for p in positions]
        return type(self._table).from_arrays(columns, names=[f"c{k}" for k in range(len(columns))])
