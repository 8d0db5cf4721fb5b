"""Data frames in memory: pandas, polars, Arrow, relations of DuckDB.

None of these libraries is imported; only the given object is used.

The engine gets the wanted columns only, renamed c0, c1, ..., so that names may be anything.

- Entries of columns that can hold any object are placed here, one by one, by a reader of `entries`: the engine would
  guess a type from a sample, and fail at the first entry that it cannot convert.
- Instants (points in time with a zone) are passed without their zone, in UTC: the engine would convert them to
  microseconds, and fail at the first one that is out of range.
"""

from collections.abc import Callable
from typing import Any

from dxprivacy.engines.frames.arrow_data import ArrowDataset, ArrowTable, table_of
from dxprivacy.engines.frames.duckdb_relations import relation_table
from dxprivacy.engines.frames.frame import Frame
from dxprivacy.engines.frames.pandas_frames import PandasFrame
from dxprivacy.engines.frames.polars_frames import PolarsFrame, PolarsLazy
from dxprivacy.errors import DataError

_Make = Callable[[Any], Frame]


def as_frame(data: object) -> Frame | None:
    """Return the frame behind an object, or None; classes are recognized by name, so that nothing is imported."""
    known: dict[tuple[str, str], _Make] = {
        ("pandas", "DataFrame"): PandasFrame,
        ("polars", "DataFrame"): PolarsFrame,
        ("polars", "LazyFrame"): PolarsLazy,
        ("pyarrow", "Table"): ArrowTable,
        ("pyarrow", "Dataset"): ArrowDataset,
        ("duckdb", "DuckDBPyRelation"): relation_table,
        ("_duckdb", "DuckDBPyRelation"): relation_table,
        ("narwhals", "DataFrame"): _inside,
        ("narwhals", "LazyFrame"): _inside,
    }
    for cls in type(data).__mro__:
        make = known.get((cls.__module__.partition(".")[0], cls.__name__))
        if make:
            return make(data)
    offers_batches = any(hasattr(data, offer) for offer in _OFFERS) or type(data).__name__ == "RecordBatch"
    return table_of(data) if offers_batches and not isinstance(data, type) else None


_OFFERS = ("__arrow_c_stream__", "__arrow_c_array__")


def _inside(wrapped: Any) -> Frame:
    """Return the frame that narwhals wraps: its own conversion to Arrow would guess the types of objects."""
    native = wrapped.to_native()
    frame = None if type(native) is type(wrapped) else as_frame(native)
    if frame is None:
        raise DataError(f"cannot read data from a {type(native).__name__} inside a frame of narwhals")
    return frame
