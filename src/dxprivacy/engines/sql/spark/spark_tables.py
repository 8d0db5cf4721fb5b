"""What Spark says of a frame: its columns and their types; reads no row."""

import re
from dataclasses import dataclass
from typing import Any

from dxprivacy.engines.source import Column, Kind

_KINDS = {
    "tinyint": Kind.WHOLE,
    "smallint": Kind.WHOLE,
    "int": Kind.WHOLE,
    "bigint": Kind.WHOLE,
    "float": Kind.FLOAT,
    "double": Kind.FLOAT,
    "decimal": Kind.DECIMAL,
    "boolean": Kind.TRUTH,
    "string": Kind.TEXT,
    "char": Kind.TEXT,
    "varchar": Kind.TEXT,
    "void": Kind.NOTHING,
    "date": Kind.DATE,
    "timestamp": Kind.INSTANT,
    "timestamp_ntz": Kind.CLOCK,
}
_WORDS = {
    "binary": "binary data",
    "array": "lists",
    "map": "nested maps",
    "struct": "nested records",
    "variant": "documents of any shape",
    "interval": "time spans",
    "time": "times of day, which must be stored as text or points in time here",
}
_PADDED = "__CHAR_VARCHAR_TYPE_STRING"  # where a table keeps that its text is char(n)


@dataclass(frozen=True)
class FrameColumn:
    """One column, and the SQL of its entries in the type that we read them in; named by its position."""

    column: Column
    entry: str


def described(schema: Any) -> list[FrameColumn]:
    """The columns of a frame's schema, in their order."""
    return [_described(field, f"c{k}") for k, field in enumerate(schema.fields)]


def _described(field: Any, at: str) -> FrameColumn:
    declared = str(field.dataType.simpleString())
    named = re.split(r"[ (<]", declared, maxsplit=1)[0]
    kind = _KINDS.get(named)
    if kind is None:
        return FrameColumn(Column(field.name, None, _WORDS.get(named, f"of type {named[:60]}")), at)
    if kind is not Kind.TEXT:
        return FrameColumn(Column(field.name, kind, native=named), at)
    entry = f"(CAST({at} AS STRING) COLLATE UTF8_BINARY)"  # equal texts are equal bytes, however they are sorted
    stored = str((field.metadata or {}).get(_PADDED, declared))
    if re.match(r"char\(", stored):  # the blanks that fill it up are not part of an entry
        entry = f"rtrim(' ', {entry})"
    return FrameColumn(Column(field.name, kind, native="string"), entry)
