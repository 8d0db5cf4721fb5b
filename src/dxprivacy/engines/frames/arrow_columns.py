"""Convert Arrow columns to forms that the engine reads entry by entry, whatever their encoding.

Arrow encodes repeated entries as a dictionary and places in it, or as runs, and allows named types (extension types).
The types and entries behind all of these are inspected. The engine would still fail at an instant out of range inside a
dictionary, and would read the places in a dictionary inside runs as entries.

pyarrow is not imported: an Arrow column implies that it is loaded.
"""

import sys
from typing import Any

import numpy as np

from dxprivacy.engines.frames.frame import Declared
from dxprivacy.engines.source import ColumnKind


def declared_by_arrow(declared: Any) -> Declared:
    """Return what `Frame.declared` reports for an Arrow type."""
    entry = _behind(declared)
    kind = ColumnKind.NOTHING if str(entry) == "null" else ColumnKind.INSTANT if getattr(entry, "tz", None) else None
    return Declared(kind, f"of type {declared}")


def handed_over(column: Any) -> Any:
    """Convert an Arrow column to a form that the engine reads entry by entry, whatever its encoding.

    Instants become points in time in UTC without a zone. Decimals get the maximum number of digits: for an entry with
    more digits than its type declares, the engine would use the value that its memory held before.
    """
    arrow = sys.modules["pyarrow"]
    while not _is_read(column.type):
        _require_taking(_within(column.type))
        column = arrow.chunked_array([_one_less(chunk) for chunk in column.chunks], _within(column.type))
    if getattr(column.type, "tz", None):
        return column.cast(arrow.int64()).cast(arrow.timestamp(column.type.unit))
    return _wide_decimals(column) if arrow.types.is_decimal(column.type) else column


def _behind(declared: Any) -> Any:
    """Return the type of the entries, behind dictionaries, runs and named types."""
    while (inner := _within(declared)) is not None:
        declared = inner
    return declared


def _within(declared: Any) -> Any | None:
    """Return the type one step behind a dictionary, runs or a named type; None for a plain type."""
    types = sys.modules["pyarrow"].types
    if types.is_dictionary(declared) or types.is_run_end_encoded(declared):
        return declared.value_type
    return getattr(declared, "storage_type", None)


def _is_read(declared: Any) -> bool:
    """Whether the engine itself reads a type, including any type behind it.

    It does for texts in a dictionary, which need much more memory outside of it, and for named types: it knows some.
    """
    types = sys.modules["pyarrow"].types
    inner = _within(declared)
    if inner is None:
        return True
    if types.is_dictionary(declared) or types.is_run_end_encoded(declared):
        return bool(types.is_dictionary(declared) and (types.is_string(inner) or types.is_large_string(inner)))
    entry = _behind(inner)
    return _within(inner) is None and not getattr(entry, "tz", None) and not types.is_decimal(entry)


def _require_taking(entry: Any) -> None:
    """Refuse entries that pyarrow cannot copy by their places; decided by type alone, with or without rows."""
    arrow = sys.modules["pyarrow"]
    while hasattr(entry, "storage_type"):
        entry = entry.storage_type
    arrow.nulls(0, entry).take(arrow.array([], arrow.int64()))


def _one_less(chunk: Any) -> Any:
    """Return the entries of a chunk without its outermost encoding."""
    arrow = sys.modules["pyarrow"]
    if arrow.types.is_dictionary(chunk.type):
        return chunk.dictionary.take(chunk.indices)
    if not arrow.types.is_run_end_encoded(chunk.type):
        return chunk.storage
    rows = np.arange(chunk.offset, chunk.offset + len(chunk))
    runs = np.searchsorted(chunk.run_ends.to_numpy(), rows, side="right")
    return chunk.values.take(arrow.array(runs, arrow.int64()))


def _wide_decimals(column: Any) -> Any:
    arrow = sys.modules["pyarrow"]
    scale, width = column.type.scale, column.type.bit_width
    if width > 128 or not 0 <= scale <= 38:
        raise TypeError("the engine has no such decimals")
    wide = arrow.decimal128(38, scale)
    chunks = column.chunks
    if width < 128:
        whole = arrow.int32() if width == 32 else arrow.int64()
        chunks = [chunk.view(whole).cast(arrow.decimal128(38, 0)) for chunk in chunks]
    return arrow.chunked_array([chunk.view(wide) for chunk in chunks], wide)
