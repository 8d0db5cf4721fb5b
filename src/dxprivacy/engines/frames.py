"""Data frames in memory: pandas, polars, Arrow.  None of them is imported; we only use the object that we were given.

A frame is handed to the engine with the wanted columns only, renamed c0, c1, ...: so names may be anything.

- Entries of columns that can hold any object are placed here, one by one, by a reader of `entries`: the engine would
  guess a type from a sample, and stop at the first entry that it cannot convert.
- Instants (points in time with a zone) are handed over without their zone, as of UTC: the engine would convert them to
  microseconds, and stop at the first one that is too far away.
"""

import re
import sys
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from dxprivacy.engines.arrow_columns import declared_by_arrow, handed_over
from dxprivacy.engines.entries import Reader, clean_text
from dxprivacy.engines.source import Kind


class Frame(Protocol):
    """What the engine needs of a frame."""

    name: str
    columns: list[str]

    def height(self) -> int:
        """The number of rows."""

    def declared(self, position: int) -> tuple[Kind | None, str]:
        """The column's kind where the frame itself must say it, and the name of its type."""

    def take(self, positions: Sequence[int], readers: Sequence[Reader | None], *, rows: bool) -> object:
        """The columns at these positions as c0, c1, ...; `rows=False` for the schema alone.

        Where a reader is given, the column holds the place of each entry; it is given for columns of objects only.
        """


class PandasFrame:
    """A pandas DataFrame; entries of object columns are placed one by one, those of categories are read as text."""

    def __init__(self, frame: Any) -> None:
        self.name = "a pandas DataFrame"
        self.columns = [str(column) for column in frame.columns]
        self._frame = frame

    def height(self) -> int:
        """The number of rows."""
        return len(self._frame)

    def declared(self, position: int) -> tuple[Kind | None, str]:
        """`object` and `str` are what pandas infers for want of a type; `string` and `category` are declared."""
        dtype = self._frame.dtypes.iloc[position]
        kinds = {"object": Kind.OBJECT, "str": Kind.UNTYPED, "category": Kind.TEXT}
        if hasattr(dtype, "pyarrow_dtype"):
            return declared_by_arrow(dtype.pyarrow_dtype)[0], f"of type {dtype}"
        return Kind.INSTANT if getattr(dtype, "tz", None) else kinds.get(str(dtype)), f"of type {dtype}"

    def take(self, positions: Sequence[int], readers: Sequence[Reader | None], *, rows: bool) -> object:
        """The columns at these positions as c0, c1, ..."""
        frame = self._frame if rows else self._frame.iloc[:0]
        part = frame.iloc[:, list(positions)].set_axis([f"c{k}" for k in range(len(positions))], axis=1)
        changed = {}
        for k, (dtype, reader) in enumerate(zip(part.dtypes, readers, strict=True)):
            column = part.iloc[:, k]
            if reader is not None:
                places = (reader(x) for x in column.array)
                changed[f"c{k}"] = np.fromiter(places, dtype=np.int64, count=len(column))
            elif str(dtype) == "category":
                # The last entry is for code -1, which stands for no category.
                entries = np.array([*(clean_text(c) for c in column.cat.categories), None], dtype=object)
                changed[f"c{k}"] = entries[column.cat.codes.to_numpy()]
            elif str(dtype) == "object" or getattr(dtype, "storage", "") == "python":
                changed[f"c{k}"] = np.fromiter((clean_text(x) for x in column.array), dtype=object, count=len(column))
            elif getattr(dtype, "tz", None):
                changed[f"c{k}"] = column.dt.tz_convert("UTC").dt.tz_localize(None)
        part = part.assign(**changed) if changed else part
        return _all_in_arrow(part) if any(map(_held_by_arrow, part.dtypes)) else part


def _held_by_arrow(dtype: Any) -> bool:
    return getattr(dtype, "storage", "") == "pyarrow" or hasattr(dtype, "pyarrow_dtype")


def _all_in_arrow(frame: Any) -> Any:
    """A frame of which Arrow holds some columns, as an Arrow table: handed over as a frame, the engine would turn the
    entries of short ones into Python's, and stop at text that is not UTF-8.
    """
    arrow = sys.modules["pyarrow"]  # where there is an Arrow column, there is pyarrow
    texts = {name: arrow.string() for name, dtype in frame.dtypes.items() if str(dtype) in ("object", "str", "string")}
    arrays = [
        arrow.array(column.array)
        if _held_by_arrow(column.dtype)
        else arrow.array(column, type=texts.get(name), from_pandas=True)
        for name, column in frame.items()
    ]
    table = arrow.table(arrays, names=list(frame.columns))
    return arrow.table([handed_over(column) for column in table.columns], names=table.column_names)


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
        return declared_by_polars(self._frame.dtypes[position])

    def take(self, positions: Sequence[int], readers: Sequence[Reader | None], *, rows: bool) -> object:
        """The columns at these positions as c0, c1, ..."""
        part = self._frame.select([self._frame.to_series(p).alias(f"c{k}") for k, p in enumerate(positions)])
        table = (part if rows else part.head(0)).to_arrow()
        return ArrowTable(table).take(range(len(positions)), readers, rows=True)


def declared_by_polars(dtype: Any) -> tuple[Kind | None, str]:
    """What `Frame.declared` says of a polars type."""
    kind = Kind.NOTHING if str(dtype) == "Null" else Kind.INSTANT if getattr(dtype, "time_zone", None) else None
    return kind, f"of type {dtype}"


class PolarsLazy:
    """A polars LazyFrame: asked for the wanted columns alone.

    Not one that scans text: see `ArrowDataset`.  Its plan says what it scans; nothing tells whether types were given.
    """

    def __init__(self, frame: Any) -> None:
        from dxprivacy.engines.arrow import guessed

        self.name = "a polars LazyFrame"
        scan = _TEXT_SCAN.search(frame.explain(optimized=False))
        if scan:
            raise guessed(self.name, "CSV" if scan.group(1).upper() == "CSV" else "JSON")
        self._schema = frame.collect_schema()
        self.columns = list(self._schema.names())
        self._frame = frame

    def height(self) -> int:
        """The number of rows."""
        return int(self._frame.select(sys.modules["polars"].len()).collect().item())

    def declared(self, position: int) -> tuple[Kind | None, str]:
        """Arrow says the kind, except of columns that hold nothing."""
        return declared_by_polars(self._schema.dtypes()[position])

    def take(self, positions: Sequence[int], readers: Sequence[Reader | None], *, rows: bool) -> object:
        """The columns at these positions as c0, c1, ..."""
        polars = sys.modules["polars"]  # where there is a LazyFrame, there is polars
        names = [self.columns[p] for p in positions]
        if rows:  # by selectors: a plain name could be a pattern
            part = self._frame.select(polars.selectors.by_name(list(dict.fromkeys(names)))).collect()
        else:
            part = polars.DataFrame(schema={name: self._schema[name] for name in names})
        return PolarsFrame(part).take([part.columns.index(name) for name in names], readers, rows=True)


_TEXT_SCAN = re.compile(r"^[^\w\n]*(CSV|NDJSON|JSON) SCAN\b", re.IGNORECASE | re.MULTILINE)
_Make = Callable[[Any], Frame]


def as_frame(data: object) -> Frame | None:
    """The frame behind an object, told by the names of its classes, so that nothing has to be imported."""
    from dxprivacy.engines.arrow import ArrowDataset, table_of

    known: dict[tuple[str, str], _Make] = {
        ("pandas", "DataFrame"): PandasFrame,
        ("polars", "DataFrame"): PolarsFrame,
        ("polars", "LazyFrame"): PolarsLazy,
        ("pyarrow", "Table"): ArrowTable,
        ("pyarrow", "Dataset"): ArrowDataset,
    }
    for cls in type(data).__mro__:
        make = known.get((cls.__module__.partition(".")[0], cls.__name__))
        if make:
            return make(data)
    offers_batches = hasattr(data, "__arrow_c_stream__") or type(data).__name__ == "RecordBatch"
    return table_of(data) if offers_batches and not isinstance(data, type) else None
