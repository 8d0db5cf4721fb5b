"""polars data frames, and lazy ones."""

import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dxprivacy.engines.frames.arrow_data import ArrowTable, require_pyarrow
from dxprivacy.engines.frames.frame import Declared, Wanted, guessed
from dxprivacy.engines.source import ColumnKind


class PolarsFrame:
    """A polars DataFrame, through Arrow."""

    def __init__(self, frame: Any) -> None:
        self.name = "a polars DataFrame"
        require_pyarrow(self.name)
        self.columns = list(frame.columns)
        self._frame = frame

    def height(self) -> int:
        """Return the number of rows."""
        return int(self._frame.height)

    def declared(self, position: int) -> Declared:
        """Return the kind for null and instant columns only; the engine determines the others."""
        return declared_by_polars(self._frame.dtypes[position])

    def take(self, wanted: Sequence[Wanted], *, rows: bool) -> object:
        """Return the wanted columns as c0, c1, ..."""
        part = self._frame.select([self._frame.to_series(w.position).alias(f"c{k}") for k, w in enumerate(wanted)])
        table = (part if rows else part.head(0)).to_arrow()
        return ArrowTable(table).take([replace(w, position=k) for k, w in enumerate(wanted)], rows=True)


def declared_by_polars(dtype: Any) -> Declared:
    """Return what `Frame.declared` reports for a polars type."""
    kind = (
        ColumnKind.NOTHING
        if str(dtype) == "Null"
        else ColumnKind.INSTANT
        if getattr(dtype, "time_zone", None)
        else None
    )
    return Declared(kind, f"of type {dtype}")


class PolarsLazy:
    """A polars LazyFrame: only the wanted columns are collected.

    One that scans text is refused: see `ArrowDataset`. Its plan shows what it scans, but not whether types were given.
    """

    def __init__(self, frame: Any) -> None:
        self.name = "a polars LazyFrame"
        require_pyarrow(self.name)
        scan = _TEXT_SCAN.search(frame.explain(optimized=False))
        if scan:
            raise guessed(self.name, "CSV" if scan.group(1).upper() == "CSV" else "JSON")
        self._schema = frame.collect_schema()
        self.columns = list(self._schema.names())
        self._frame = frame

    def height(self) -> int:
        """Return the number of rows."""
        return int(self._frame.select(sys.modules["polars"].len()).collect().item())

    def declared(self, position: int) -> Declared:
        """Return the kind for null and instant columns only; the engine determines the others."""
        return declared_by_polars(self._schema.dtypes()[position])

    def take(self, wanted: Sequence[Wanted], *, rows: bool) -> object:
        """Return the wanted columns as c0, c1, ..."""
        polars = sys.modules["polars"]  # where there is a LazyFrame, there is polars
        names = [self.columns[w.position] for w in wanted]
        if rows:  # by selectors: a plain name could be a pattern
            part = self._frame.select(polars.selectors.by_name(list(dict.fromkeys(names)))).collect()
        else:
            part = polars.DataFrame(schema={name: self._schema[name] for name in names})
        at = [replace(w, position=part.columns.index(name)) for w, name in zip(wanted, names, strict=True)]
        return PolarsFrame(part).take(at, rows=True)


_TEXT_SCAN = re.compile(r"^[^\w\n]*(CSV|NDJSON|JSON) SCAN\b", re.IGNORECASE | re.MULTILINE)
