"""Arrow data beyond tables: datasets, batches, streams, and files in Arrow's own format.

pyarrow is imported only when it is needed: an object of pyarrow comes with it, a file or a stream of another library
asks for it.
"""

import importlib
import importlib.util
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dxprivacy.engines.frames.arrow_columns import declared_by_arrow
from dxprivacy.engines.frames.arrow_tables import ArrowTable
from dxprivacy.engines.frames.frame import Declared, Wanted, guessed
from dxprivacy.engines.source import Kind
from dxprivacy.errors import DataError

ENDINGS = (".arrow", ".feather", ".ipc")


class ArrowDataset:
    """A pyarrow Dataset: many files as one table, read in batches.

    Not of text: its types would be guessed from the first rows, and an entry that does not fit would stop the rest.
    """

    def __init__(self, dataset: Any) -> None:
        self.name = "an Arrow dataset"
        text = _text_format(dataset)
        if text:
            raise guessed(self.name, text)
        self.columns = list(dataset.schema.names)
        self._dataset = dataset

    def height(self) -> int:
        """The number of rows."""
        return int(self._dataset.count_rows())

    def declared(self, position: int) -> Declared:
        """Arrow says the kind, except of columns that hold nothing."""
        return declared_by_arrow(self._dataset.schema.field(position).type)

    def take(self, wanted: Sequence[Wanted], *, rows: bool) -> object:
        """The wanted columns as c0, c1, ..., as a stream of batches."""
        arrow = pyarrow("")
        names = [self.columns[w.position] for w in wanted]
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
    """A column without rows: it cannot be made of the types that a dataset cannot hand over, so these are refused."""
    arrow = pyarrow("")
    if declared_by_arrow(declared)[0] is Kind.NOTHING:  # nothing but NULL, in whatever form, is always read
        return arrow.chunked_array([], declared)
    return arrow.chunked_array([arrow.array([], declared)], declared)


def _text_format(dataset: Any) -> str:
    """The format of text files in a dataset, or in one of those that it unites; empty if there is none."""
    parts = getattr(dataset, "children", None)
    if parts is not None:
        return next(filter(None, map(_text_format, parts)), "")
    found = type(getattr(dataset, "format", None)).__name__
    return {"CsvFileFormat": "CSV", "JsonFileFormat": "JSON"}.get(found, "")


def table_of(data: Any) -> ArrowTable:
    """A table from a batch, or from anything that offers itself as one or as a stream of them.

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
    """A file in Arrow's own format (Feather is one), random access or stream; mapped, so that memory stays free."""
    arrow = pyarrow(path.name)
    ipc = importlib.import_module("pyarrow.ipc")
    for read in (ipc.open_file, ipc.open_stream):
        try:
            table = read(arrow.memory_map(str(path), "r")).read_all()
            table.validate()  # that offsets lie within the file; says nothing about entries
        except Exception:
            continue
        frame = ArrowTable(table)
        frame.name = path.name
        return frame
    raise DataError("cannot be read: it is no Arrow file, or it is damaged or cut off", where=path.name)


def pyarrow(what: str) -> Any:
    """The package, or an error that says what needs it."""
    require_pyarrow(what)
    return importlib.import_module("pyarrow")


def require_pyarrow(what: str) -> None:
    """Refuse what needs the package where it is not installed; does not load it."""
    if importlib.util.find_spec("pyarrow") is not None:
        return
    raise DataError(
        "is read with pyarrow, which is not installed",
        where=what,
        hints=[("pip install pyarrow", ""), "or convert it to Parquet, which needs nothing more"],
    )
