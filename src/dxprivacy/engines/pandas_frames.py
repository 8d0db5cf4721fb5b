"""pandas data frames."""

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from dxprivacy.engines.arrow_columns import declared_by_arrow, handed_over
from dxprivacy.engines.entries import Reader, clean_text
from dxprivacy.engines.source import Kind


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
