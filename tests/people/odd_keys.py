"""Key columns of every odd type, as every kind of source holds them, and a slow reading of their entries."""

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pandas as pd
import pyarrow as pa
from people_cases import kept_by_hand

from dxprivacy.engines.contribution_bounding import UNUSABLE
from engines.engine_kinds import Columns, build, csv_text
from engines.workbooks import workbook

SOURCES = ["csv", "jsonl", "xlsx", "parquet", "duckdb", "polars", "pandas", "objects", "nullable", "postgres"]
BIG = 2**53
BLOCKS = 8
"""People of a table: rows of the block b have the entry b of a key column."""

Entry = object
_NULLABLE = {
    pa.int8(): pd.Int8Dtype(),
    pa.int64(): pd.Int64Dtype(),
    pa.uint64(): pd.UInt64Dtype(),
    pa.float32(): pd.Float32Dtype(),
    pa.float64(): pd.Float64Dtype(),
    pa.string(): pd.StringDtype(),
}
_LONG = "x" * 1_024
_TEXT, _INT, _FLOAT = pa.string(), pa.int64(), pa.float64()
_WHOLE_DECIMALS = [Decimal(f"{k}.00") for k in (1, 2, 3, 17, 40, 500, 6000, 70_000, -8)]

ODD_KEYS: dict[str, tuple[pa.DataType, list[Entry]]] = {
    "text": (_TEXT, [f"p{k}" for k in range(9)]),
    "blanks": (_TEXT, ["p", " p", "p ", "P", "p  ", "\tp", "pp", "p p", "Pp"]),
    "empty": (_TEXT, ["", None, "a", "b", "", None, "c", "d", "e"]),
    "long": (_TEXT, [_LONG, _LONG + "x", _LONG[1:] + "é", "é" * 512, "é" * 513, "y" * 3_000, "z", _LONG[:-1], "w"]),
    "unusable_text": (_TEXT, [UNUSABLE, "?", UNUSABLE[1:], "??", "a", "b", "c", "d", "e"]),
    "unicode": (_TEXT, ["ü", "u\u0308", "ß", "ss", "İ", "i", "\u200b", "名", "ö"]),
    "damaged": (_TEXT, ["\ufffd", "a\ufffd", "b\ufffdc", "a", "b", None, "c", "d", "e"]),
    "numeric_text": (_TEXT, ["17", "17.0", "017", "+17", "1e3", "-17", "0x11", "１７", "18"]),
    "words": (_TEXT, ["NaN", "null", "None", "nan", "NULL", "inf", "NA", "<NA>", "true"]),
    "quotes": (_TEXT, ["a'b", 'a"b', "a,b", "a;b", "a\\b", "a|b", "a:b", "1:a", "$1"]),
    "int8": (pa.int8(), [0, 1, -1, 127, -128, 5, 6, 7, 8]),
    "int64": (_INT, list(range(100, 109))),
    "negative": (_INT, [-1, 1, -2, 2, 0, -BIG + 1, BIG - 1, 10, 11]),
    "int64_null": (_INT, [None, 1, 2, None, 3, 4, 5, 6, 7]),
    "big": (_INT, [BIG - 1, BIG, BIG + 1, BIG + 2, BIG + 3, -BIG, -BIG - 1, 2**63 - 1, 3]),
    "big_null": (_INT, [None, BIG, BIG + 1, BIG + 2, 2**62, 2**62 + 1, -(2**63), 7, 8]),
    "big_else": (_INT, [BIG + 1, BIG + 3, BIG + 5, BIG + 7, 1, 2, 3, 4, None]),
    "uint64": (pa.uint64(), [0, 1, 2**63, 2**63 + 1, 2**64 - 1, BIG, BIG + 1, 9, 10]),
    "float32": (pa.float32(), [1.0, 2.0, 0.5, 16_777_216.0, None, -3.0, 7.25, 8.0, 9.0]),
    "whole_float": (_FLOAT, [1.0, 2.0, 3.0, -0.0, 17.0, 1e15, -4.0, 5e3, 6.0]),
    "fractional": (_FLOAT, [101.1, 101.2, 101.3, 0.1, -0.5, 1e-300, 5.5, 7.0, 8.0]),
    "fractional_else": (_FLOAT, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 0.5]),
    "not_finite": (_FLOAT, [math.inf, -math.inf, math.nan, None, 1.0, 2.0, math.inf, 3.0, 4.0]),
    "big_float": (_FLOAT, [float(BIG), float(BIG - 1), 1e17, 1e300, -float(BIG), 1.0, 2.0**60, 3.0, 4.0]),
    "decimal": (pa.decimal128(10, 1), [Decimal(x) for x in ("1.0", "1.1", "2.0", "2.5", "-3.0", "0.1", "7", "8", "9")]),
    "whole_decimal": (pa.decimal128(20, 2), _WHOLE_DECIMALS),
    "big_decimal": (pa.decimal128(38, 0), [Decimal(10**37 + k) for k in range(8)] + [Decimal(5)]),
    "decimal_null": (pa.decimal128(12, 3), [None, Decimal("1.000"), None, *(Decimal(f"{k}.125") for k in range(6))]),
    "nothing": (pa.null(), [None] * 9),
    "category": (pa.dictionary(pa.int32(), _TEXT), ["a", "b", "", None, "c", "d", "e", "f", "g"]),
    "category_big": (pa.dictionary(pa.int32(), _INT), [BIG + 1, BIG + 2, None, 3, 4, 5, 6, 7, 8]),
}
COMPOSITE = [("text", "int64_null"), ("empty", "fractional"), ("big", "decimal")]
KEYS = [*((name,) for name in ODD_KEYS), *COMPOSITE]


def part(entry: Entry, source: str, declared: pa.DataType) -> str | None:
    """The text of an entry by the rules of docs/data.md, None where it is missing, `UNUSABLE` where it is that."""
    if source == "csv":
        entry = csv_text(entry)
    if entry is None or entry == "" or entry != entry:
        return None
    if isinstance(entry, str):
        return UNUSABLE if len(entry.encode()) > 1_024 or "\ufffd" in entry else entry
    if source == "jsonl" and isinstance(entry, Decimal):
        entry = float(entry) if "." in str(entry) else int(entry)
    if source == "xlsx":
        entry = float(entry)  # type: ignore[arg-type]
    if isinstance(entry, float) and math.isinf(entry):
        return UNUSABLE
    number = Fraction(entry)  # type: ignore[arg-type]
    rounded = isinstance(entry, float) or (source in ("pandas", "objects") and isinstance(entry, int))
    rounded |= source == "nullable" and pa.types.is_dictionary(declared)
    most = BIG - 1 if rounded else 10**38 - 1
    return str(number.numerator) if number.denominator == 1 and abs(number) <= most else UNUSABLE


def person(parts: list[str | None], no_key: str, row: int) -> str:
    """Whose row it is: a key, or one that no key equals."""
    if None in parts:
        return "" if no_key == "one" else f"\0own {row}"
    if UNUSABLE in parts:
        return "" if no_key == "one" else UNUSABLE
    texts = [text for text in parts if text is not None]
    return texts[0] if len(texts) == 1 else "".join(f"{len(text.encode())}:{text}" for text in texts)


def by_hand(whose: list[str], cells: list[int], max_rows: int, no_key: str) -> tuple[Counter[int], int]:
    """Kept rows by cell, and the number of people."""
    rows: dict[str, list[int]] = {}
    for who, cell in zip(whose, cells, strict=True):
        rows.setdefault(who, []).append(cell)
    total: Counter[int] = Counter()
    for who, mine in rows.items():
        total.update(mine if who.startswith("\0own") else kept_by_hand(who, mine, max_rows))
    return total, len(set(rows) | {"" if no_key == "one" else UNUSABLE})


def multisets(cells: int, most: int) -> Iterator[tuple[int, ...]]:
    """Every multiset of at most this many cells, one after the other, again and again."""
    every = [x for n in range(most + 1) for x in itertools.combinations_with_replacement(range(cells), n)]
    return itertools.cycle(every)


def held(source: str, columns: Columns, folder: Path) -> object:
    """The table in a source of this kind; a type that it lacks is skipped."""
    if source == "xlsx":
        rows = zip(*(map(_in_a_sheet, entries) for _, entries in columns.values()), strict=True)
        folder.mkdir(exist_ok=True)
        return workbook(folder / f"t{next(_fresh)}.xlsx", people=[tuple(columns), *rows])
    if source not in ("objects", "nullable"):
        return build(source, columns, folder)
    arrays = [pa.array(entries, type=declared) for declared, entries in columns.values()]
    table = pa.Table.from_arrays(arrays, names=list(columns))
    if source == "nullable":
        return table.to_pandas(types_mapper=_NULLABLE.get)
    return pd.DataFrame({name: pd.Series(entries, dtype=object) for name, (_, entries) in columns.items()})


_fresh = itertools.count()


def _in_a_sheet(entry: Entry) -> Entry:
    """A sheet has no infinite numbers: their error value is text that is not a number."""
    if isinstance(entry, float) and not math.isfinite(entry):
        return None if math.isnan(entry) else 0.5
    if isinstance(entry, str):
        return entry.replace("&", "&amp;").replace("<", "&lt;")
    return entry
