"""Which engine reads what: by the name of a file, or by the class of an object."""

from pathlib import Path

from dxprivacy.engines.source import Source
from dxprivacy.errors import DataError

_KNOWN = "a path to a .parquet, .csv, .tsv or .txt file, a pandas or polars DataFrame, or an Arrow table"


def open_source(data: object) -> Source:
    """The data behind a path or a frame, ready to be checked and counted; opens it, but reads no row."""
    if isinstance(data, (str, Path)):
        return _open_file(Path(data))
    from dxprivacy.engines.duck import DuckSource
    from dxprivacy.engines.duck_tables import FrameTable
    from dxprivacy.engines.frames import as_frame

    frame = as_frame(data)
    if frame is None:
        what = type(data).__name__
        hints = [("call .collect() first", "a LazyFrame holds no rows")] if what == "LazyFrame" else []
        raise DataError(f"cannot read data from a {what}", details=[f"Data is {_KNOWN}."], hints=hints)
    return DuckSource(FrameTable(frame))


def _open_file(path: Path) -> Source:
    from dxprivacy.engines.csv_lines import DELIMITERS, CsvFile

    _refuse_unreadable(path)
    suffix = path.suffix.lower()
    if suffix in DELIMITERS:
        return CsvFile(path, suffix)
    if suffix != ".parquet":
        raise DataError(
            f"the ending “{path.suffix}” is not known" if suffix else "the file has no ending that tells its format",
            where=path.name,
            details=[f"Data is {_KNOWN}."],
            hints=["convert it to Parquet"],
        )
    from dxprivacy.engines.duck import DuckSource
    from dxprivacy.engines.duck_tables import ParquetTable

    return DuckSource(ParquetTable(path))


def _refuse_unreadable(path: Path) -> None:
    """Say plainly what is wrong with a path, before an engine says it in its own way."""
    what, hints = "", []
    try:
        if not path.exists():
            what, hints = "there is no such file", [f"looked for {path.absolute()}"]
        elif path.is_dir():
            what, hints = "is a directory, not a file", ["give one file; several files are never read as one"]
        elif not path.is_file():
            what = "is not a regular file"
        else:
            with path.open("rb") as handle:
                if not handle.read(1):
                    what = "is empty"
    except PermissionError:
        what = "may not be read: permission denied"
    except (OSError, ValueError):  # ValueError: a NUL in the path
        what = "cannot be opened"
    if what:
        raise DataError(what, where=path.name or str(path), hints=hints)
