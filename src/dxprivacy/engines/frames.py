"""Data frames in memory: pandas, polars, Arrow.  None of them is imported; we only use the object that we were given.

A frame is handed to the engine with the wanted columns only, renamed c0, c1, ...: so names may be anything.  Entries of
pandas columns that can hold any object are turned into clean text here, one by one; the engine would guess a type from
a sample, and stop at the first entry that it cannot convert.
"""

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, Protocol

import numpy as np

from dxprivacy.engines.source import Kind
from dxprivacy.model.attributes import as_text


class Frame(Protocol):
    """What the engine needs of a frame."""

    name: str
    columns: list[str]

    def height(self) -> int:
        """The number of rows."""

    def declared(self, position: int) -> tuple[Kind | None, str]:
        """The column's kind where the frame itself must say it, and the name of its type."""

    def take(self, positions: Sequence[int], *, rows: bool) -> object:
        """The columns at these positions as c0, c1, ...; `rows=False` for the schema alone."""


class PandasFrame:
    """A pandas DataFrame; entries of object, Python-string and categorical columns are read as text."""

    def __init__(self, frame: Any) -> None:
        self.name = "a pandas DataFrame"
        self.columns = [str(column) for column in frame.columns]
        self._frame = frame

    def height(self) -> int:
        """The number of rows."""
        return len(self._frame)

    def declared(self, position: int) -> tuple[Kind | None, str]:
        """`object` and `str` are what pandas infers for want of a type; `string` and `category` are declared."""
        dtype = str(self._frame.dtypes.iloc[position])
        kinds = {"object": Kind.UNTYPED, "str": Kind.UNTYPED, "category": Kind.TEXT}
        return kinds.get(dtype), f"of type {dtype}"

    def take(self, positions: Sequence[int], *, rows: bool) -> object:
        """The columns at these positions as c0, c1, ..."""
        frame = self._frame if rows else self._frame.iloc[:0]
        part = frame.iloc[:, list(positions)].set_axis([f"c{k}" for k in range(len(positions))], axis=1)
        texts = {}
        for k, dtype in enumerate(part.dtypes):
            column = part.iloc[:, k]
            if str(dtype) == "category":
                # The last entry is for code -1, which stands for no category.
                entries = np.array([*(clean_text(c) for c in column.cat.categories), None], dtype=object)
                texts[f"c{k}"] = entries[column.cat.codes.to_numpy()]
            elif str(dtype) == "object" or getattr(dtype, "storage", "") == "python":
                texts[f"c{k}"] = np.fromiter((clean_text(x) for x in column.array), dtype=object, count=len(column))
        return part.assign(**texts) if texts else part


class PolarsFrame:
    """A polars DataFrame, through Arrow."""

    def __init__(self, frame: Any) -> None:
        self.name = "a polars DataFrame"
        self.columns = list(frame.columns)
        self._frame = frame

    def height(self) -> int:
        """The number of rows."""
        return int(self._frame.height)

    def declared(self, position: int) -> tuple[Kind | None, str]:
        """Arrow says the kind, except of columns that hold nothing."""
        dtype = str(self._frame.dtypes[position])
        return Kind.NOTHING if dtype == "Null" else None, f"of type {dtype}"

    def take(self, positions: Sequence[int], *, rows: bool) -> object:
        """The columns at these positions as c0, c1, ..."""
        part = self._frame.select([self._frame.to_series(p).alias(f"c{k}") for k, p in enumerate(positions)])
        table: object = (part if rows else part.head(0)).to_arrow()
        return table


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
        declared = str(self._table.schema.field(position).type)
        return Kind.NOTHING if declared == "null" else None, f"of type {declared}"

    def take(self, positions: Sequence[int], *, rows: bool) -> object:
        """The columns at these positions as c0, c1, ..."""
        columns = [self._table.column(p) for p in positions]
        part = type(self._table).from_arrays(columns, names=[f"c{k}" for k in range(len(columns))])
        return part if rows else part.slice(0, 0)


FRAMES: dict[tuple[str, str], Callable[[Any], Frame]] = {
    ("pandas", "DataFrame"): PandasFrame,
    ("polars", "DataFrame"): PolarsFrame,
    ("pyarrow", "Table"): ArrowTable,
}


def as_frame(data: object) -> Frame | None:
    """The frame behind an object, told by the names of its classes, so that nothing has to be imported."""
    for cls in type(data).__mro__:
        make = FRAMES.get((cls.__module__.partition(".")[0], cls.__name__))
        if make:
            return make(data)
    return None


def clean_text(value: object) -> str | None:
    """The text of one entry, or None where it has none; never raises, whatever the object does.

    >>> [clean_text(x) for x in ["M", 1.0, True, Decimal("2.00"), float("nan"), None]]
    ['M', '1', 'true', '2', None, None]
    """
    if type(value) is str and value.isascii():
        return value
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    try:
        if isinstance(value, float | np.floating) and value != value:
            return None
        if isinstance(value, Decimal) and value.is_finite() and value.adjusted() < 40 and value == int(value):
            return str(int(value))  # as in a column of decimals, where 2.00 is 2
        # Half a surrogate pair has no UTF-8; the engine would refuse the whole column.
        return as_text(value).encode("utf-8", errors="replace").decode()
    except Exception:
        return None
