"""Records with typed columns, as Parquet or for whoever reads Arrow: DuckDB repeats each cell and decodes it then.

One thread keeps the order of the cells and needs little memory, however many records there are.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dxprivacy.engines.fields import Field, whole_texts
from dxprivacy.engines.placement import entry_at
from dxprivacy.engines.sql.duckdb.duckdb_dialect import DUCKDB
from dxprivacy.errors import UsageError
from dxprivacy.exact.arrays import Ints
from dxprivacy.universe.reading.codecs import Coordinate, ListedTexts

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection
    from duckdb import DuckDBPyRelation as Relation

_PIECE = 1 << 12  # records of one cell that are made together


def require_parquet(fields: Sequence[Field]) -> None:
    """Refuse, before anything is spent, what cannot be written as Parquet (nor as Arrow)."""
    known: dict[str, str] = {}
    for field in fields:
        twin = known.setdefault(field.name.lower(), field.name)
        if twin != field.name:
            raise UsageError(
                f"columns {twin} and {field.name} differ in capitals only, which Parquet files cannot hold here",
                hints=[("--out synthetic.csv", "can")],
            )
        try:
            "".join((field.name, *field.entry.texts)).encode("utf-8")
        except UnicodeEncodeError:
            raise UsageError(f"column {field.name[:60]!r} has a text that is not Unicode") from None


def write_parquet_records(path: Path, fields: Sequence[Field], cells: Ints, counts: Ints) -> None:
    """`counts[k]` equal records for each of the cells, in their order; raises OSError where that is not possible."""
    import duckdb

    try:
        with _connected() as con:
            rows = _rows(con, fields, cells, counts)
            target = DUCKDB.quoted(str(path.absolute()))
            con.execute(f"COPY ({rows}) TO {target} (FORMAT parquet, COMPRESSION zstd)")
    except duckdb.Error as error:
        raise OSError(None, "the engine could not write the file") from error


def records_relation(fields: Sequence[Field], cells: Ints, counts: Ints) -> "Relation":
    """The same records as a relation, made while it is read."""
    con = _connected()
    return con.sql(_rows(con, fields, cells, counts))


def _connected() -> "Connection":
    import duckdb

    config: dict[str, Any] = {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "threads": "1",
    }
    con = duckdb.connect(":memory:", config=config)
    con.execute("SET enable_progress_bar = false")
    return con


def _rows(con: "Connection", fields: Sequence[Field], cells: Ints, counts: Ints) -> str:
    """The SELECT of all records."""
    pieces = -(-counts // _PIECE)
    cell = np.repeat(cells, pieces)
    # All pieces of a cell are full but its last.
    last = np.cumsum(pieces)[pieces > 0] - 1
    n = np.full(len(cell), _PIECE, dtype=np.int64)
    n[last] = (counts - (pieces - 1) * _PIECE)[pieces > 0]
    con.register("counted", {"cell": cell, "n": n})
    columns = ", ".join(f"{_column(con, field, k)} AS {_name(field.name)}" for k, field in enumerate(fields))
    return f"SELECT {columns} FROM (SELECT cell, unnest(range(n)) FROM counted)"


def _column(con: "Connection", field: Field, k: int) -> str:
    """The SQL of one column: the entry from the cell, NULL where it is `other`."""
    entry = field.entry
    whole = f"(cell // {field.stride} % {field.size})"
    place = f"({whole} // {field.step} % {entry.listed})"
    codec = entry.codec
    if isinstance(codec, Coordinate):
        value = _looked_up(con, "DOUBLE", codec.along, place, k)
    else:
        value = (
            _listed(con, field, place, k)
            if isinstance(codec, ListedTexts)
            else f"({DUCKDB.sql(entry_at(codec), place)})"
        )
    return f"CASE WHEN {whole} <> {field.other} THEN {value} END"


def _listed(con: "Connection", field: Field, place: str, k: int) -> str:
    """A listed text, looked up by its place; numbers where all texts are whole ones, true and false as such."""
    texts = list(field.entry.texts)
    numbers = whole_texts(field.entry)
    kind = "BIGINT" if numbers is not None else "BOOLEAN" if {*texts} <= {"true", "false"} else "VARCHAR"
    return _looked_up(con, kind, numbers or texts, place, k)


def _looked_up(con: "Connection", kind: str, entries: Sequence[object], place: str, k: int) -> str:
    con.execute(f"CREATE TEMP TABLE listed_{k} AS SELECT $texts::{kind}[] AS texts", {"texts": list(entries)})
    return f"(SELECT texts FROM listed_{k})[{place} + 1]"


def _name(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'
