"""Arrow tables, datasets, batches, streams, and files in Arrow's own format.

pyarrow is imported only if it is needed: an object of pyarrow implies that it is loaded, a file or a stream of another
library does not.
"""

import importlib
import importlib.util
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from dxprivacy.engines.frames.arrow_columns import declared_by_arrow, handed_over
from dxprivacy.engines.frames.frame import Declared, Wanted, guessed
from dxprivacy.engines.source import ColumnKind
from dxprivacy.errors import DataError

# -- A pyarrow Table as a frame ----------------------------------------------------------------------------------------


class ArrowTable:
    """A pyarrow Table."""

    def __init__(self, table: Any) -> None:
        self.name = "an Arrow table"
        self.columns = list(table.column_names)
        self._table = table

    def height(self) -> int:
        """Return the number of rows."""
        return int(self._table.num_rows)

    def declared(self, position: int) -> Declared:
        """Return the kind for null and instant columns only; the engine determines the others."""
        return declared_by_arrow(self._table.schema.field(position).type)

    def take(self, wanted: Sequence[Wanted], *, rows: bool) -> object:
        """Return the wanted columns as c0, c1, ...; none has objects."""
        table = self._table if rows else self._table.slice(0, 0)
        columns = [handed_over(table.column(w.position)) for w in wanted]
        return type(self._table).from_arrays(columns, names=[f"c{k}" for k in range(len(columns))])


# -- Arrow data beyond tables ------------------------------------------------------------------------------------------


ENDINGS = (".arrow", ".feather", ".ipc")


class ArrowDataset:
    """A pyarrow Dataset: many files as one table, read in batches.

    One of text is refused: its types would be guessed from the first rows, and an entry that does not fit would stop
    the rest.
    """

    def __init__(self, dataset: Any) -> None:
        self.name = "an Arrow dataset"
        text = _text_format(dataset)
        if text:
            raise guessed(self.name, text)
        self.columns = list(dataset.schema.names)
        self._dataset = dataset

    def height(self) -> int:
        """Return the number of rows."""
        return int(self._dataset.count_rows())

    def declared(self, position: int) -> Declared:
        """Return the kind for null and instant columns only; the engine determines the others."""
        found = declared_by_arrow(self._dataset.schema.field(position).type)
        other = self._read_as_another(self.columns[position])
        return Declared(None, f"{found.words}, and in some of its files {other}") if other else found

    def _read_as_another(self, name: str) -> str:
        """Return a type of the column in some file with entries that do not fit its type in the dataset; else empty.

        Arrow converts each file to the type of the dataset, and fails at an entry for which this is not exact: then one
        row would decide whether there is a release.
        """
        declared = self._dataset.schema.field(name).type
        return next((str(t) for t in self._types.get(name, []) if not _always_fits(t, declared)), "")

    @cached_property
    def _types(self) -> dict[str, list[Any]]:
        """Return the types of each column in the files; reads no row."""
        types: dict[str, list[Any]] = {}
        for schema in _schemas(self._dataset):
            for field in schema:
                known = types.setdefault(field.name, [])
                if field.type not in known:
                    known.append(field.type)
        return types

    def take(self, wanted: Sequence[Wanted], *, rows: bool) -> object:
        """Return the wanted columns as c0, c1, ..., as a stream of batches."""
        arrow = pyarrow("")
        names = [self.columns[w.position] for w in wanted]
        if any(map(self._read_as_another, names)):
            raise TypeError("the files of the dataset have different types")
        distinct = list(dict.fromkeys(names))
        at = [replace(w, position=distinct.index(name)) for w, name in zip(wanted, names, strict=True)]
        schema = arrow.schema([self._dataset.schema.field(wanted[names.index(name)].position) for name in distinct])
        nothing = arrow.Table.from_arrays([_no_entries(field.type) for field in schema], schema=schema)
        empty: Any = ArrowTable(nothing).take(at, rows=False)
        if not rows:
            return empty

        def batches() -> Iterator[Any]:
            for batch in self._dataset.to_batches(columns=distinct):
                part: Any = ArrowTable(arrow.Table.from_batches([batch])).take(at, rows=True)
                yield from part.to_batches()

        return arrow.RecordBatchReader.from_batches(empty.schema, batches())


def _no_entries(declared: Any) -> Any:
    """Return a column without rows; it fails for types that a dataset cannot convert, so that these are refused."""
    arrow = pyarrow("")
    if declared_by_arrow(declared)[0] is ColumnKind.NOTHING:  # a column of NULL alone is always read, in any encoding
        return arrow.chunked_array([], declared)
    return arrow.chunked_array([arrow.array([], declared)], declared)


def _schemas(dataset: Any) -> Iterator[Any]:
    """Yield the schema of each file; data in memory has that of its dataset."""
    for part in getattr(dataset, "children", ()):
        yield from _schemas(part)
    for file in getattr(dataset, "files", ()):
        yield dataset.format.inspect(file, dataset.filesystem)


def _always_fits(stored: Any, declared: Any) -> bool:
    """Whether every entry of one Arrow type is also an entry of another type."""
    types = pyarrow("").types
    if types.is_dictionary(stored):
        return bool(stored.equals(declared)) or _always_fits(stored.value_type, declared)
    if types.is_integer(stored) and types.is_integer(declared):
        unsigned = types.is_unsigned_integer(stored)
        if unsigned == types.is_unsigned_integer(declared):
            return bool(stored.bit_width <= declared.bit_width)
        return bool(unsigned and stored.bit_width < declared.bit_width)
    if types.is_floating(stored) and types.is_floating(declared):
        return bool(stored.bit_width <= declared.bit_width)
    texts = types.is_string(stored) and types.is_large_string(declared)
    return bool(texts or types.is_null(stored) or stored.equals(declared))


def _text_format(dataset: Any) -> str:
    """The format of text files in a dataset, or in one of those that it unites; empty if there is none."""
    parts = getattr(dataset, "children", None)
    if parts is not None:
        return next(filter(None, map(_text_format, parts)), "")
    found = type(getattr(dataset, "format", None)).__name__
    return {"CsvFileFormat": "CSV", "JsonFileFormat": "JSON"}.get(found, "")


def table_of(data: Any) -> ArrowTable:
    """Read a table from a batch, or from anything that exports itself as one or as a stream of them.

    A stream can be read only once, but the number of rows is needed before they are counted: so it is read here.
    """
    arrow = pyarrow(f"a {type(data).__name__}")
    try:
        if not hasattr(data, "__arrow_c_stream__"):
            return ArrowTable(arrow.Table.from_batches([arrow.record_batch(data)]))
        return ArrowTable(arrow.RecordBatchReader.from_stream(data).read_all())
    except Exception:
        pass
    raise DataError(f"cannot read the Arrow stream of a {type(data).__name__}")


def read_arrow_file(path: Path) -> ArrowTable:
    """Read a file in Arrow's own format (such as Feather), random access or stream; mapped, to keep memory free."""
    arrow = pyarrow(path.name)
    ipc = importlib.import_module("pyarrow.ipc")
    for read in (ipc.open_file, ipc.open_stream):
        try:
            table = read(arrow.memory_map(str(path), "r")).read_all()
            table.validate()  # that offsets lie within the file; does not check entries
        except Exception:
            continue
        frame = ArrowTable(table)
        frame.name = path.name
        return frame
    raise DataError("cannot be read: it is not an Arrow file, or it is damaged or cut off", where=path.name)


def pyarrow(what: str) -> Any:
    """Import pyarrow, or raise an error that names what needs it."""
    require_pyarrow(what)
    return importlib.import_module("pyarrow")


def require_pyarrow(what: str) -> None:
    """Refuse what needs pyarrow if it is not installed; does not import it."""
    if importlib.util.find_spec("pyarrow") is not None:
        return
    raise DataError(
        "is read with pyarrow, which is not installed",
        where=what,
        hints=[("pip install pyarrow", ""), "or convert it to Parquet, which needs nothing more"],
    )
