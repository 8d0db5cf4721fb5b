"""What every engine offers, and what they share: which columns are wanted, whether they fit, how text is read.

The rule behind this package: a row goes to its cell by a function of that row alone.  So changing one row moves one
unit of the histogram, whatever is written in it.  Only the public schema (column names and types) can be refused;
what does not fit in a single row counts as the attribute's `other`.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from dxprivacy.errors import DataError, did_you_mean
from dxprivacy.histogram import Histogram
from dxprivacy.model.attributes import Attribute, Integers, Points, Values
from dxprivacy.model.reading import listed_texts
from dxprivacy.model.universe import Universe

WHOLE_NUMBER = r"[ \t]*[+-]?[0-9]+(\.0*)?[ \t]*"
"""A whole number written as text.  Strict, and the same in Python and in SQL: SQL casts would round 1.5 to 2."""

_SHOWN_COLUMNS = 30
_LONGEST_NUMBER = 19  # digits; more than any bound of an attribute has


class Source(Protocol):
    """Data that can be counted.  `rows` is public: replacing one row does not change it."""

    name: str

    def columns(self) -> "list[Column]":
        """The schema: names and types; reads no row."""

    def check(self, universe: Universe) -> None:
        """Refuse a schema that does not fit; reads no row."""

    def rows(self) -> int:
        """The number of rows."""

    def count(self, universe: Universe) -> Histogram:
        """How many rows fall into each cell."""

    def distinct(self, column: str, at_most: int) -> set[str] | None:
        """The texts of one column, as `values` are compared with them; None if there are more.

        Not private: only for columns that their curator declared public.
        """


class Kind(StrEnum):
    """What a column's declared type lets it hold, in the words of our messages."""

    WHOLE = "whole numbers"
    FLOAT = "floating-point numbers"
    DECIMAL = "decimal numbers"
    TRUTH = "true or false"
    TEXT = "text"
    UNTYPED = "untyped text"
    NOTHING = "always empty"


@dataclass(frozen=True)
class Column:
    """One column of the schema; `kind` is None for types that no attribute can use."""

    name: str
    kind: Kind | None
    words: str = ""

    def __str__(self) -> str:
        return self.words or str(self.kind or "of an unknown type")


def find_columns(
    where: str, names: Sequence[str], universe: Universe, *, list_names: bool = True, hint: str = ""
) -> list[int]:
    """The position of each attribute's column, found by its exact name.

    `list_names=False` keeps the names out of the message, for when they may not be names at all.
    """
    for attribute in universe.attributes:
        if not attribute.has_other:
            raise DataError(
                f"attribute {attribute.name} has no “other”, so rows that fit no value would have no cell",
                where=where,
                hints=[("has_other=True", f"lets {attribute.name} count such rows as “other”")],
            )
        if not isinstance(attribute, (Values, Integers, Points)):
            raise DataError(f"attribute {attribute.name} is of a kind that cannot be counted yet", where=where)
    return [_find(where, names, a.column, list_names=list_names, hint=hint) for a in universe.attributes]


def _find(where: str, names: Sequence[str], column: str, *, list_names: bool, hint: str) -> int:
    hits = [position for position, name in enumerate(names) if name == column]
    if len(hits) == 1:
        return hits[0]
    if hits:
        raise DataError(
            f"{len(hits)} columns are named “{column}”",
            where=where,
            hints=[f"rename all but one of the {column} columns"],
        )
    shown = [name[:60] for name in names[:_SHOWN_COLUMNS]]
    more = f" and {len(names) - _SHOWN_COLUMNS:,} more" if len(names) > _SHOWN_COLUMNS else ""
    hints = did_you_mean(column, shown) if list_names else []
    raise DataError(
        f"no column “{column}”",
        where=where,
        details=[f"{where} has: {', '.join(shown)}{more}"] if list_names else [],
        hints=[*hints, *([hint] if hint else [])],
    )


def check_kinds(where: str, universe: Universe, columns: Sequence[Column]) -> None:
    """Refuse columns whose declared type cannot hold what the attribute lists."""
    for attribute, column in zip(universe.attributes, columns, strict=True):
        needs = _misfit(attribute, column.kind)
        if needs:
            example = (
                f"{attribute.name} {attribute.high + 1}" if isinstance(attribute, Integers) else "an unlisted value"
            )
            raise DataError(
                f"column {attribute.column} is {column}, the policy needs {needs}",
                where=f"{where} does not fit",
                details=[
                    f"Only the schema was read. Single bad rows ({example}, NULL) never stop a release: they",
                    "count as “other”, and how many there are is private.",
                ],
                hints=[f"store {attribute.column} as {needs}, or name another column in the policy"],
            )


def _misfit(attribute: Attribute, kind: Kind | None) -> str:
    """What the attribute needs instead of this kind of column, or nothing."""
    if kind is Kind.NOTHING:
        return ""
    if isinstance(attribute, Integers):
        return "" if kind in (Kind.WHOLE, Kind.FLOAT, Kind.DECIMAL, Kind.UNTYPED) else "whole numbers"
    if kind is None:
        return "text"
    # A column of numbers can never hold M or F: better refused than a release in which everybody is “other”.
    texts = listed_texts(attribute)
    if kind is Kind.TRUTH:
        return "" if {"true", "false"} & set(texts) else "text"
    if kind in (Kind.WHOLE, Kind.FLOAT, Kind.DECIMAL):
        return "" if any(re.fullmatch("-?[0-9]+", text) for text in texts) else "text"
    return ""


def text_reader(attribute: Attribute) -> Callable[[str], int]:
    """The index of a text: exact match for values and points, the strict pattern for whole numbers.

    >>> read = text_reader(Integers(name="age", low=0, high=120))
    >>> [read(text) for text in ["17", " +17.0 ", "17.5", "1e1", "", "121"]]
    [17, 17, 121, 121, 121, 121]
    """
    other = attribute.listed
    if isinstance(attribute, Integers):
        low, high = attribute.low, attribute.high
        whole = re.compile(WHOLE_NUMBER).fullmatch

        def read(text: str) -> int:
            if not whole(text):
                return other
            digits = text.strip(" \t").partition(".")[0]
            size = digits.lstrip("+-").lstrip("0") or "0"
            if len(size) > _LONGEST_NUMBER:  # int() refuses thousands of digits, and one row must never raise
                return other
            number = -int(size) if digits.startswith("-") else int(size)
            return number - low if low <= number <= high else other

        return read
    position = {text: k for k, text in enumerate(listed_texts(attribute))}
    return lambda text: position.get(text, other)
