"""pandas data frames."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from dxprivacy.engines.entries import MOST_EXACT, UNREADABLE
from dxprivacy.engines.frames.arrow_columns import declared_by_arrow, handed_over
from dxprivacy.engines.frames.frame import Declared, Wanted
from dxprivacy.engines.source import ColumnKind


class PandasFrame:
    """A pandas DataFrame; entries of object columns are placed one by one, those of categories are read as text."""

    def __init__(self, frame: Any) -> None:
        self.name = "a pandas DataFrame"
        self.columns = [str(column) for column in frame.columns]
        self._frame = frame

    def height(self) -> int:
        """Return the number of rows."""
        return len(self._frame)

    def declared(self, position: int) -> Declared:
        """Return the type: pandas infers `object` and `str` if none is declared; `string` and `category` are declared.

        Types of numpy are inferred: one missing entry makes floats of whole numbers.
        """
        dtype = self._frame.dtypes.iloc[position]
        kinds = {"object": ColumnKind.OBJECT, "str": ColumnKind.UNTYPED, "category": ColumnKind.TEXT}
        if hasattr(dtype, "pyarrow_dtype"):
            return Declared(declared_by_arrow(dtype.pyarrow_dtype).kind, f"of type {dtype}")
        kind = ColumnKind.INSTANT if getattr(dtype, "tz", None) else kinds.get(str(dtype))
        return Declared(kind, f"of type {dtype}", inferred=isinstance(dtype, np.dtype))

    def take(self, wanted: Sequence[Wanted], *, rows: bool) -> object:
        """Return the wanted columns as c0, c1, ..."""
        frame = self._frame if rows else self._frame.iloc[:0]
        part = frame.iloc[:, [w.position for w in wanted]].set_axis([f"c{k}" for k in range(len(wanted))], axis=1)
        changed = {}
        for k, (dtype, want) in enumerate(zip(part.dtypes, wanted, strict=True)):
            column = part.iloc[:, k]
            if want.reader is not None:
                places = (want.reader(x) for x in _entries(column.array, want))
                changed[f"c{k}"] = np.fromiter(places, dtype=np.int64, count=len(column))
            elif str(dtype) == "category":
                # The last entry is for code -1, which stands for no category.
                values = _without_complex(column.cat.categories)
                entries = np.array([*map(want.text, _entries(values, want)), None], dtype=object)
                changed[f"c{k}"] = entries[column.cat.codes.to_numpy()]
            elif str(dtype) == "object" or getattr(dtype, "storage", "") == "python":
                texts = map(want.text, _entries(column.array, want))
                changed[f"c{k}"] = np.fromiter(texts, dtype=object, count=len(column))
            elif dtype == np.float16:  # DuckDB has no such type
                changed[f"c{k}"] = column.astype(np.float32)
            elif getattr(dtype, "tz", None):
                changed[f"c{k}"] = column.dt.tz_convert("UTC").dt.tz_localize(None)
        part = part.assign(**changed) if changed else part
        return _all_in_arrow(part) if any(map(_held_by_arrow, part.dtypes)) else part


def _entries(entries: Iterable[Any], want: Wanted) -> Iterator[object]:
    """Yield the entries of a column of objects or categories.

    One row decides whether pandas holds the others as int64, as float64, or as objects. It must not decide how they are
    read. So a number that float64 may have rounded is unreadable in all three, if it is compared as text.
    """
    return (UNREADABLE if want.by_text and _may_be_rounded(entry) else entry for entry in entries)


def _without_complex(categories: Any) -> Iterable[Any]:
    """Return the categories with real numbers as such: one complex entry makes all other numbers complex."""
    if getattr(categories.dtype, "kind", "") != "c":
        return categories  # type: ignore[no-any-return]
    return [UNREADABLE if entry.imag else entry.real for entry in categories]


def _may_be_rounded(entry: Any) -> bool:
    try:
        is_number = isinstance(entry, (int, float, np.integer, np.floating))
        return is_number and bool(entry > MOST_EXACT or entry < -MOST_EXACT)
    except Exception:  # an object may do anything, and one row must never stop a release
        return False


def _held_by_arrow(dtype: Any) -> bool:
    return getattr(dtype, "storage", "") == "pyarrow" or hasattr(dtype, "pyarrow_dtype")


def _all_in_arrow(frame: Any) -> Any:
    """Convert a frame in which Arrow holds some columns to an Arrow table.

    Given the frame itself, the engine would convert the entries of short ones to Python objects, and fail on text that
    is not UTF-8.
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
