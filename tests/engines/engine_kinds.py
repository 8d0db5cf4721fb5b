"""One table in every form that we read, and a slow reference that says where each row belongs."""

import gzip
import itertools
import json
import math
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet as pq

from dxprivacy.universe.attributes.attribute import Attribute
from dxprivacy.universe.attributes.binned_numbers import Numbers
from dxprivacy.universe.attributes.dates import Dates
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.attributes.series_of_numbers import Series
from dxprivacy.universe.universe import Universe
from engines.servers import postgres_table, spark_frame

FRAMES = ["pandas", "polars", "arrow", "lazy", "dataset", "stream", "capsule", "batch"]
FILES = ["parquet", "feather", "duckdb", "pattern"]
SERVERS = ["postgres"]
TYPED = [*FRAMES, *FILES, *SERVERS]
KINDS = ["csv", *TYPED]
EVERY = [*KINDS, "csv.gz", "jsonl"]
"""KINDS have a schema; JSON lines have none."""

Columns = dict[str, tuple[pa.DataType, list[object]]]
_fresh = itertools.count()


def csv_text(value: object) -> str:
    """How a table writes an entry into a CSV file."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def csv_line(entries: list[object]) -> str:
    texts = [csv_text(entry) for entry in entries]
    return ",".join('"' + t.replace('"', '""') + '"' if any(c in t for c in ',"') else t for t in texts)


def json_line(names: list[str], entries: list[object]) -> str:
    """How a table writes a row into a file of JSON lines; what is missing is left out."""
    parts = []
    for name, entry in zip(names, entries, strict=True):
        if isinstance(entry, (date, datetime)):
            parts.append(f"{json.dumps(name)}: {json.dumps(str(entry))}")
        elif isinstance(entry, Decimal):
            parts.append(f"{json.dumps(name)}: {entry}")
        elif entry is not None:
            parts.append(f"{json.dumps(name)}: {json.dumps(entry, ensure_ascii=False)}")
    return "{" + ", ".join(parts) + "}"


class Capsule:
    """A frame of a library that we do not know, but that speaks Arrow."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


def build(kind: str, columns: Columns, folder: Path) -> object:
    """The table as a file or a frame of this kind."""
    folder = folder / f"data{next(_fresh)}"
    folder.mkdir()
    if kind not in (*TYPED, "spark"):
        path = folder / f"people.{kind}"
        rows = zip(*(entries for _, entries in columns.values()), strict=True)
        if kind == "jsonl":
            lines = [json_line(list(columns), list(row)) for row in rows]
        else:
            lines = [csv_line(list(columns)), *(csv_line(list(row)) for row in rows)]
        content = "".join(line + "\n" for line in lines).encode()
        path.write_bytes(gzip.compress(content) if kind.endswith(".gz") else content)
        return path
    arrays = [pa.array(entries, type=declared) for declared, entries in columns.values()]
    table = pa.Table.from_arrays(arrays, names=list(columns))
    return from_arrow(kind, table, folder)


def from_arrow(kind: str, table: pa.Table, folder: Path) -> object:
    """An Arrow table as a file or a frame of this kind."""
    match kind:
        case "parquet":
            pq.write_table(table, folder / "people.parquet", row_group_size=3)
            return folder / "people.parquet"
        case "pattern":
            pq.write_table(table.slice(0, 2), folder / "a.parquet")
            pq.write_table(table.slice(2).select(table.column_names[::-1]), folder / "b.parquet")
            return folder / "*.parquet"
        case "feather":
            pa.feather.write_feather(table, folder / "people.feather", compression="uncompressed")
            return folder / "people.feather"
        case "duckdb":
            with duckdb.connect(folder / "survey.duckdb") as con:
                con.register("table_", table)
                con.execute("CREATE TABLE people AS SELECT * FROM table_")
            return f"{folder / 'survey.duckdb'}::people"
        case "postgres":
            return postgres_table(table)
        case "spark":
            return spark_frame(table)
        case "pandas":
            return table.to_pandas()
        case "polars":
            return pl.from_arrow(table)
        case "lazy":
            return pl.from_arrow(table).lazy()
        case "arrow":
            return table
        case "dataset":
            return pa.dataset.dataset(table)
        case "stream":
            return table.to_reader(max_chunksize=3)
        case "capsule":
            return Capsule(table)
        case "batch":
            return (
                table.combine_chunks().to_batches()[0] if len(table) else pa.RecordBatch.from_pylist([], table.schema)
            )
    raise AssertionError(kind)


def whole(value: object) -> int | None:
    """The whole number behind an entry, by rules written differently from those under test."""
    if isinstance(value, str):
        text = value.strip(" \t")
        sign = text[:1] if text[:1] in ("+", "-") else ""
        digits, _, zeros = text[len(sign) :].partition(".")
        if not digits or set(digits) - set("0123456789") or set(zeros) - {"0"}:
            return None
        return int(Fraction(Decimal(sign + digits)))
    if value is None or isinstance(value, (bool, date)) or (isinstance(value, float) and not math.isfinite(value)):
        return None
    number = Fraction(value)  # type: ignore[arg-type]
    return int(number) if number.denominator == 1 else None


def number(value: object) -> Fraction | None:
    """The number behind an entry, as the float64 next to it."""
    if isinstance(value, str):
        try:
            value = None if "_" in value else float(value)
        except ValueError:
            return None
    if value is None or isinstance(value, (bool, date)) or (isinstance(value, float) and not math.isfinite(value)):
        return None
    return Fraction(float(value))  # type: ignore[arg-type]


def day(value: object) -> date | None:
    """The day behind an entry."""
    if isinstance(value, str):
        try:
            return date.fromisoformat(value[:10])
        except ValueError:
            return None
    return value.date() if isinstance(value, datetime) else value if isinstance(value, date) else None


def expected_index(attribute: Attribute, *values: object) -> int:
    """Where one entry belongs; of a series, one for each column."""
    other, value = attribute.listed, values[0]
    if isinstance(attribute, Series):
        entries = [expected_index(attribute.entry, entry) for entry in values]
        radix = int(
            np.ravel_multi_index([e % attribute.entry.listed for e in entries], [attribute.entry.listed] * len(values))
        )
        return other if attribute.entry.listed in entries else radix
    if isinstance(attribute, Integers):
        found = whole(value)
        if found is not None and attribute.clamp and abs(found) < 10**24:
            found = min(max(found, attribute.low), attribute.high)
        return found - attribute.low if found is not None and attribute.low <= found <= attribute.high else other
    if isinstance(attribute, Numbers):
        at = number(value)
        edges = [Fraction(float(attribute.start(k))) for k in range(other + 1)]
        if at is None or not edges[0] <= at <= edges[-1]:
            return other
        return min(sum(edge <= at for edge in edges) - 1, other - 1)
    if isinstance(attribute, Dates):
        found_day = day(value)
        if found_day is not None and attribute.clamp:
            found_day = min(max(found_day, attribute.first), attribute.last)
        if found_day is None or not attribute.first <= found_day <= attribute.last:
            return other
        return sum(attribute.day(k) <= found_day for k in range(other)) - 1
    known = list(attribute.values) if isinstance(attribute, Values) else list(attribute.ids)
    if isinstance(value, bool):
        text = "true" if value else "false"
    else:
        text = value if isinstance(value, str) else str(whole(value))
    return known.index(text) if value is not None and text in known else other


def expected(universe: Universe, kind: str, columns: Columns) -> np.ndarray:
    """The histogram, one row after the other."""
    counts = np.zeros(universe.shape, dtype=np.int64)
    wanted = [zip(*(columns[column][1] for column in a.reads), strict=True) for a in universe.attributes]
    for row in zip(*wanted, strict=True):
        seen = [[csv_text(e) for e in entries] if kind.startswith("csv") else entries for entries in row]
        counts[tuple(expected_index(a, *v) for a, v in zip(universe.attributes, seen, strict=True))] += 1
    return counts.ravel()


def moved(before: np.ndarray, after: np.ndarray) -> tuple[int, int] | None:
    """From which cell to which the one unit went; None if nothing changed.  Anything else is a failure."""
    change = after - before
    if not change.any():
        return None
    assert sorted(change[change != 0].tolist()) == [-1, 1]
    return int(np.argmin(change)), int(np.argmax(change))
