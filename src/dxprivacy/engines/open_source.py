"""Select the engine that reads given data, by file name or class of the object.  Opening reads no row."""

import glob
import itertools
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dxprivacy.engines.contribution_bounding import KeptRows, KeyedRows, required
from dxprivacy.engines.fields import Packing, together
from dxprivacy.engines.source import Column, Entry, Others, Source
from dxprivacy.errors import DataError, Hint
from dxprivacy.formats.file_access import has_secret, is_address, is_postgres, is_spark
from dxprivacy.histogram import Histogram
from dxprivacy.universe.file_format import PLAIN, FileFormat
from dxprivacy.universe.universe import Universe
from dxprivacy.wording import quoted

if TYPE_CHECKING:
    from dxprivacy.engines.sql.duckdb.duckdb_database import Database

# -- Several sources as one: rows are concatenated, histograms are summed ----------------------------------------------
# Each row is still mapped by itself, in its own source.  The conditions for that are public: all sources have the same
# columns, and no source is given twice, because then one record would be two rows.


class Joined:
    """Sources with the same columns; the order of sources and columns does not matter."""

    def __init__(self, name: str, sources: Sequence[Source]) -> None:
        self.name = name
        self.has_schema = all(source.has_schema for source in sources)
        self._sources = sources
        known = [source for source in sources if source.has_schema]
        names = [sorted(column.name for column in source.columns()) for source in known]
        for source, mine in zip(known, names, strict=True):
            if mine != names[0]:
                # The message lists no names: if the file has no header, its first line is a record.
                raise DataError(
                    f"has other columns than {known[0].name}",
                    where=source.name,
                    hints=["all files need the same column names; a CSV file needs them in its first line"],
                )

    def columns(self) -> list[Column]:
        """Return the schema of the first source; raise if one of the sources has no schema."""
        telling = [source for source in self._sources if source.has_schema == self.has_schema]
        return telling[0].columns()

    def check(self, universe: Universe) -> None:
        """Refuse if any of the schemas does not fit; reads no row."""
        for source in self._sources:
            source.check(universe)

    def rows(self) -> int:
        """Return the total number of rows."""
        return sum(source.rows() for source in self._sources)

    def count(self, universe: Universe) -> Histogram:
        """Count the rows of all sources for each possible record."""
        self.check(universe)  # all schemas, before the first source is counted
        return together(universe, [source.count(universe) for source in self._sources])

    def people(self, universe: Universe) -> int:
        """Return the number of people; a person with rows in several sources counts once."""
        return self.keyed(universe).people(required(universe))

    def keyed(self, universe: Universe) -> KeyedRows:
        """Count the rows of all sources by person and possible record."""
        self.check(universe)
        return KeyedRows.merged((source.keyed(universe) for source in self._sources), Packing(universe))

    def kept(self, universe: Universe, axes: Sequence[int], *, by_person: bool = False) -> KeptRows:  # noqa: ARG002
        """Count the kept rows by the values of some attributes."""
        return self.keyed(universe).kept(required(universe)).onto(universe, axes)

    def distinct(self, column: str, max_rows: int) -> set[str] | None:
        """Return the distinct texts of one column in all sources (not private); None if more than `max_rows`."""
        found: set[str] = set()
        for source in self._sources:
            texts = source.distinct(column, max_rows)
            if texts is None or len(found | texts) > max_rows:
                return None
            found |= texts
        return found

    def others(self, universe: Universe, max_rows: int | None) -> list[Others]:
        """List the entries that count as `other`."""
        every = [source.others(universe, None) for source in self._sources]
        return [_together(parts, max_rows) for parts in zip(*every, strict=True)]


def _together(parts: Sequence[Others], max_rows: int | None) -> Others:
    rows: Counter[Entry] = Counter()
    for part in parts:
        rows.update(dict(part.entries))
    return Others.of(parts[0].attribute, parts[0].columns, rows, max_rows)


# -- Which engine reads what -------------------------------------------------------------------------------------------


_KNOWN = [
    "Data is a path to a .parquet, .csv, .tsv, .txt, .jsonl, .arrow or .xlsx file (lines also as .gz, .bz2 or .xz),",
    "a pattern such as data/*.parquet, a list of paths, a table of a DuckDB database (survey.duckdb::people),",
    "of a PostgreSQL server (postgresql://user@host/database::people) or of Spark (spark:catalog.schema.people),",
    "a pandas, polars or Spark frame, a DuckDB relation, or an Arrow table, dataset or stream.",
]
_DATABASES = (".duckdb", ".db")
_TABLE = "::"


_groups = itertools.count(1)


@dataclass(frozen=True)
class _Together:
    """What all parts of one source share: a database for frames, and a group number in the separate process."""

    database: "Database"
    group: int
    spill: bool
    file: FileFormat


def open_source(data: object, *, file: FileFormat = PLAIN, spill: bool = True) -> Source:
    """Open the data behind a path, a list of paths or a frame; reads no row.

    `file` declares the format of text files, and whether text files and sheets have a header. `spill=False` keeps rows
    that do not fit into memory off the disk; counting them then fails.
    """
    from dxprivacy.engines.sql.duckdb.duckdb_database import Database

    together = _Together(Database(spill=spill, only_frames=True), next(_groups), spill, file)
    source = _open(data, together)
    together.database.lock([])
    return source


def open_data(data: object, universe: Universe, people: str | Path | None = None, *, spill: bool = True) -> Source:
    """Open the data of a policy: its rows and, if the policy names one, the table of people."""
    rows = open_source(data, file=universe.file, spill=spill)
    if universe.people is None or universe.people.table is None:
        return rows
    if people is None:
        hints = [("--policy FILE", "the policy's own file names it"), ("[people.table]", "has a key data")]
        raise DataError("the table of people is not given; a ledger does not store its path", hints=hints)
    from dxprivacy.engines.beside_people import BesidePeople

    # Declarations about servers apply to both tables; the rest of `[file]` applies to the rows only.
    return BesidePeople(rows, open_source(people, file=universe.file.of_servers, spill=spill))


def _open(data: object, together: _Together) -> Source:
    """Open data as `open_source` does; all parts that need a database share one, which opens on first use."""
    if isinstance(data, (str, os.PathLike)):
        return _open_path(os.fsdecode(data), together)
    if isinstance(data, (list, tuple)):
        return _open_several(list(_leaves(data)), together)
    if type(data).__module__.startswith("pyspark.sql.") and type(data).__name__ == "DataFrame":
        from dxprivacy.engines.sql.spark.spark_source import SparkSource

        return SparkSource(data, "Spark DataFrame")
    from dxprivacy.engines.frames.any_frame import as_frame
    from dxprivacy.engines.sql.duckdb.duckdb_source import DuckSource
    from dxprivacy.engines.sql.duckdb.duckdb_tables import FrameTable

    frame = as_frame(data)
    if frame is None:
        raise DataError(f"cannot read data from a {type(data).__name__}", details=_KNOWN)
    return DuckSource(FrameTable(frame), together.database)


def _open_path(given: str, together: _Together) -> Source:
    """Open a file, a table of a file or server, or all files of a pattern; an existing file of this exact name wins."""
    from dxprivacy.engines.files import sheets

    if not _is_file(given):
        if has_secret(given) and not is_address(given):
            raise DataError(
                "this looks like an address with a password, but of an unknown kind; it is not shown",
                where="--data",
                hints=[("postgresql://user@host/database::table", "an address; store the password in ~/.pgpass")],
            )
        served = _open_served(given, together.file)
        if served is not None:
            return served
        file, sign, part = given.rpartition(_TABLE)
        if sign and Path(file).suffix.lower() in (*_DATABASES, *sheets.ENDINGS):
            return _open_file(Path(file), part, together)
        if glob.has_magic(given):
            found = sorted(glob.glob(given, recursive=True))  # noqa: PTH207 - the pattern may be absolute
            if not found:
                raise DataError("no file matches", where=given, hints=[f"looked from {Path.cwd()}"])
            return _open_several(found, together, name=given)
    return _open_file(Path(given), "", together)


def _open_served(given: str, declared: FileFormat) -> Source | None:
    """Return the source of a table on a server or cluster if the text is an address, else None."""
    if is_postgres(given):
        from dxprivacy.engines.sql.postgres.postgres_failures import address
        from dxprivacy.engines.sql.postgres.postgres_source import PostgresSource

        return PostgresSource(address(given), declared)
    if is_spark(given):
        from dxprivacy.engines.sql.spark.spark_session import address as spark_address
        from dxprivacy.engines.sql.spark.spark_session import opened
        from dxprivacy.engines.sql.spark.spark_source import SparkSource

        at = spark_address(given)
        return SparkSource(opened(at, rows_are_records=declared.rows_are_records), at.name)
    return None


def _open_several(given: Sequence[object], together: _Together, name: str = "") -> Source:

    if not given:
        raise DataError("the list of files is empty", details=_KNOWN)
    _refuse_twice(given)
    sources = [_open(part, together) for part in given]
    count = f"{len(sources):,} files"
    return sources[0] if len(sources) == 1 else Joined(f"{name} ({count})" if name else count, sources)


def _leaves(given: Sequence[object]) -> Iterator[object]:
    """Flatten a list of paths, patterns and nested lists."""
    for part in given:
        if isinstance(part, (list, tuple)):
            yield from _leaves(part)
        elif isinstance(part, (str, os.PathLike)) and not _is_file(os.fsdecode(part)):
            text = os.fsdecode(part)
            may_match = glob.has_magic(text) and not is_address(text)
            found = sorted(glob.glob(text, recursive=True)) if may_match else []  # noqa: PTH207
            yield from found or [text]  # a pattern without a match is refused where it is opened
        else:
            yield part


def _refuse_twice(given: Sequence[object]) -> None:
    """Refuse a file that is given twice: every record would be two rows, and its privacy loss would double.

    Whether a table of a server holds the records of another table or file cannot be checked; it must be given alone.
    """
    if len(given) > 1 and any(map(_is_served, given)):
        raise DataError(
            "a table of a server or a cluster is given alone: another one may hold the same records",
            hints=["put the records into one table there"],
        )
    seen: dict[object, set[str]] = {}
    for part in given:
        file, table = _place(part)
        before = seen.setdefault(file, set())
        # Without a name the first sheet is read, which may be the one that is named elsewhere.
        if table in before or (before and (not table or "" in before)):
            where = Path(part).name if isinstance(part, (str, os.PathLike)) else type(part).__name__
            raise DataError("is given twice", where=where, hints=["each record must be in the data once"])
        before.add(table)


def _is_served(part: object) -> bool:
    """Whether a server or cluster counts the data, judged by its address or the module of its class."""
    if isinstance(part, (str, os.PathLike)):
        text = os.fsdecode(part)
        return is_address(text) and not _is_file(text)
    return type(part).__module__.partition(".")[0] == "pyspark"


def _place(part: object) -> tuple[object, str]:
    """Return the identity of a file (device and inode) and the table or sheet in it."""
    if not isinstance(part, (str, os.PathLike)):
        return id(part), ""
    text = os.fsdecode(part)
    file, sign, table = text.rpartition(_TABLE)
    at, table = (Path(file), table.lower()) if sign and not _is_file(text) else (Path(text), "")
    if table and "." not in table and at.suffix.lower() in _DATABASES:
        table = f"main.{table}"  # the default schema of DuckDB
    try:
        stat = at.stat()  # not the path: several links may lead to one file
    except (OSError, ValueError):
        return text, table
    return (stat.st_dev, stat.st_ino), table


def _open_file(path: Path, part: str, together: _Together) -> Source:
    from dxprivacy.engines.files import csv_lines, line_files, sheets
    from dxprivacy.engines.files import line_files as json_lines
    from dxprivacy.engines.frames import arrow_data

    ending = path.suffix.lower()
    # A file of JSON lines, or one without a header, may have no rows: if the number of rows is private, that must not
    # show.
    _refuse_unreadable(path, may_be_empty=ending in json_lines.ENDINGS or not together.file.has_header)
    if ending in line_files.COMPRESSIONS:
        ending = Path(path.stem).suffix.lower()
        if ending not in (*csv_lines.DELIMITERS, *json_lines.ENDINGS):
            raise _unknown(path, [(f"unpack it; of compressed files only lines are read: people.csv{path.suffix}", "")])
    if ending in csv_lines.DELIMITERS:
        return csv_lines.CsvFile(path, ending, together.file)
    if ending in json_lines.ENDINGS:
        return json_lines.JsonLines(path)
    if ending in sheets.ENDINGS:
        return sheets.Sheet(path, part, together.file)
    if ending in (".parquet", *_DATABASES, *arrow_data.ENDINGS):
        from dxprivacy.engines.files.apart import ApartSource

        if ending in arrow_data.ENDINGS:
            arrow_data.require_pyarrow(path.name)
        return ApartSource(path, part, together.group, spill=together.spill)
    hints: list[Hint] = [("convert it to Parquet", "")]
    if ending == ".json":
        hints = [("write one JSON object in each line", "and call the file .jsonl")]
    raise _unknown(path, hints)


def _unknown(path: Path, hints: list[Hint]) -> DataError:
    from dxprivacy.engines.files.line_files import COMPRESSIONS

    ending = "".join(path.suffixes[-2:]) if path.suffix.lower() in COMPRESSIONS else path.suffix
    what = f"the ending “{ending}” is not known" if ending else "the file has no ending that shows its format"
    return DataError(what, where=path.name, details=_KNOWN, hints=hints)


def _is_file(given: str) -> bool:
    try:
        return Path(given).exists()
    except (OSError, ValueError):  # ValueError: a NUL in the path
        return False


def _refuse_unreadable(path: Path, *, may_be_empty: bool) -> None:
    """Refuse an unreadable path with a plain message, before an engine fails on it."""
    what = ""
    hints: list[Hint | str] = []
    try:
        if not path.exists():
            what, hints = "there is no such file", [f"looked for {path.absolute()}"]
        elif path.is_dir():
            what, hints = "is a directory, not a file", [(quoted(path / "*.parquet"), "names the files in it")]
        elif not path.is_file():
            what = "is not a regular file"
        else:
            with path.open("rb") as handle:
                if not handle.read(1) and not may_be_empty:
                    what = "is empty"
    except PermissionError:
        what = "may not be read: permission denied"
    except (OSError, ValueError):
        what = "cannot be opened"
    if what:
        raise DataError(what, where=path.name or str(path), hints=hints)
