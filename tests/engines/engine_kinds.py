"""One table in every form that we read, and a slow reference that says where each row belongs."""

import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from dxprivacy.model.attributes import Attribute, Integers, Values
from dxprivacy.model.universe import Universe

KINDS = ["csv", "parquet", "pandas", "polars", "arrow"]
Columns = dict[str, tuple[pa.DataType, list[object]]]


def csv_text(value: object) -> str:
    """How a table writes an entry into a CSV file."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def csv_line(entries: list[object]) -> str:
    texts = [csv_text(entry) for entry in entries]
    return ",".join('"' + t.replace('"', '""') + '"' if any(c in t for c in ',"') else t for t in texts)


def build(kind: str, columns: Columns, folder: Path) -> object:
    """The table as a file or a frame of this kind."""
    if kind == "csv":
        path = folder / "people.csv"
        rows = zip(*(entries for _, entries in columns.values()), strict=True)
        lines = [csv_line(list(columns)), *(csv_line(list(row)) for row in rows)]
        path.write_bytes("".join(line + "\n" for line in lines).encode())
        return path
    table = pa.table({name: pa.array(entries, type=declared) for name, (declared, entries) in columns.items()})
    if kind == "parquet":
        path = folder / "people.parquet"
        pq.write_table(table, path)
        return path
    if kind == "pandas":
        return table.to_pandas()
    return pl.from_arrow(table) if kind == "polars" else table


def whole(value: object) -> int | None:
    """The whole number behind an entry, by rules written differently from those under test."""
    if isinstance(value, str):
        text = value.strip(" \t")
        sign = text[:1] if text[:1] in ("+", "-") else ""
        digits, _, zeros = text[len(sign) :].partition(".")
        if not digits or set(digits) - set("0123456789") or set(zeros) - {"0"}:
            return None
        return int(Fraction(Decimal(sign + digits)))
    if value is None or isinstance(value, bool) or (isinstance(value, float) and not math.isfinite(value)):
        return None
    number = Fraction(value)  # type: ignore[arg-type]
    return int(number) if number.denominator == 1 else None


def expected_index(attribute: Attribute, value: object) -> int:
    """Where one entry belongs."""
    if isinstance(attribute, Integers):
        number = whole(value)
        inside = number is not None and attribute.low <= number <= attribute.high
        return number - attribute.low if inside else attribute.listed
    known = list(attribute.values) if isinstance(attribute, Values) else list(attribute.ids)
    if isinstance(value, bool):
        text = "true" if value else "false"
    else:
        text = value if isinstance(value, str) else str(whole(value))
    return known.index(text) if value is not None and text in known else attribute.listed


def expected(universe: Universe, kind: str, columns: Columns) -> np.ndarray:
    """The histogram, one row after the other."""
    counts = np.zeros(universe.shape, dtype=np.int64)
    wanted = [columns[attribute.column][1] for attribute in universe.attributes]
    for row in zip(*wanted, strict=True):
        seen = [csv_text(entry) for entry in row] if kind == "csv" else row
        counts[tuple(expected_index(a, v) for a, v in zip(universe.attributes, seen, strict=True))] += 1
    return counts.ravel()


def moved(before: np.ndarray, after: np.ndarray) -> tuple[int, int] | None:
    """From which cell to which the one unit went; None if nothing changed.  Anything else is a failure."""
    change = after - before
    if not change.any():
        return None
    assert sorted(change[change != 0].tolist()) == [-1, 1]
    return int(np.argmin(change)), int(np.argmax(change))
