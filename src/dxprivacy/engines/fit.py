"""Whether a schema fits a universe: which columns are wanted, where they are, what they must be able to hold.

Everything here is decided by column names and types, which are public; no row is looked at.
"""

import re
from collections.abc import Sequence
from typing import assert_never

from dxprivacy.engines.entries import MOST_DIGITS, is_fraction
from dxprivacy.engines.source import Column, Kind
from dxprivacy.errors import DataError, Hint, did_you_mean
from dxprivacy.universe.attributes.attribute import Attribute
from dxprivacy.universe.attributes.attribute_kinds import is_known
from dxprivacy.universe.people import People
from dxprivacy.universe.reading.codecs import (
    Codec,
    Coordinate,
    Days,
    DaysOfTheWeek,
    ListedTexts,
    NumbersInCells,
    TimesOfDay,
    WholeNumbers,
)
from dxprivacy.universe.universe import Universe

_SHOWN_COLUMNS = 30
_NUMBERS = (Kind.WHOLE, Kind.FLOAT, Kind.DECIMAL)
_DAYS = (Kind.DATE, Kind.CLOCK, Kind.INSTANT)
_KEYS = (*_NUMBERS, Kind.TEXT, Kind.UNTYPED, Kind.OBJECT, Kind.NOTHING)
_UNDECLARED = (Kind.UNTYPED, Kind.OBJECT, Kind.NOTHING)
_LONG = re.compile(f"-?[1-9][0-9]{{{MOST_DIGITS},}}")


def require_countable(where: str, universe: Universe) -> None:
    """Refuse a universe in which some row would have no cell."""
    for attribute in universe.attributes:
        if not attribute.has_other:
            raise DataError(
                f"attribute {attribute.name} has no “other”, so rows that fit no value would have no cell",
                where=where,
                hints=[("has_other=True", f"lets {attribute.name} count such rows as “other”")],
            )
        if not is_known(attribute):
            raise DataError(f"attribute {attribute.name} is of a kind that cannot be counted yet", where=where)


def find_columns(
    where: str,
    names: Sequence[str],
    universe: Universe,
    *,
    list_names: bool = True,
    hints: Sequence[Hint | str] = (),
) -> list[list[int]]:
    """The positions of each attribute's columns, found by their exact names.

    `list_names=False` keeps the names out of the message, for when they may not be names at all.
    """
    require_countable(where, universe)
    return [
        [_find(where, names, column, list_names=list_names, more=hints) for column in attribute.reads]
        for attribute in universe.attributes
    ]


def _find(where: str, names: Sequence[str], column: str, *, list_names: bool, more: Sequence[Hint | str]) -> int:
    hits = [position for position, name in enumerate(names) if name == column]
    if len(hits) == 1:
        return hits[0]
    if hits:
        raise DataError(
            f"{len(hits)} columns are named “{column}”: columns {numbered_places(hits)}",
            where=where,
            hints=[f"rename all but one of the {column} columns"],
        )
    shown = [name[:60] for name in names[:_SHOWN_COLUMNS]]
    rest = f" and {len(names) - _SHOWN_COLUMNS:,} more" if len(names) > _SHOWN_COLUMNS else ""
    near = did_you_mean(column, shown) if list_names else []
    raise DataError(
        f"no column “{column}”",
        where=where,
        details=[f"{where} has: {', '.join(shown)}{rest}"] if list_names else [],
        hints=[*near, *more],
    )


def numbered_places(positions: Sequence[int]) -> str:
    """Positions as people count columns, from 1.

    >>> numbered_places([1, 4, 6])
    '2, 5 and 7'
    """
    told = [f"{position + 1:,}" for position in positions]
    return " and ".join([*([", ".join(told[:-1])] if len(told) > 1 else []), told[-1]])


def check_kinds(where: str, universe: Universe, columns: Sequence[Sequence[Column]]) -> None:
    """Refuse columns whose declared type cannot hold what the attribute lists."""
    for attribute, read in zip(universe.attributes, columns, strict=True):
        for column, entry in zip(read, attribute.entries_read, strict=True):
            needs = _misfit(entry.codec, column.kind)
            if needs:
                raise DataError(
                    f"column {column.name} is {column}, the policy needs {needs}",
                    where=f"{where} does not fit",
                    details=[
                        f"Only the schema was read. Single bad rows ({attribute.bad_example}, NULL) never stop a "
                        "release: they",
                        "count as “other”, and how many there are is private.",
                    ],
                    hints=_mend(attribute, column, needs),
                )


def find_keys(where: str, names: Sequence[str], people: People) -> list[int]:
    """The positions of the columns that tell whose row it is."""
    return [_find(where, names, column, list_names=True, more=()) for column in people.key]


def key_notes(columns: Sequence[Column]) -> list[str]:
    """What entries of key columns of numbers mean, for columns whose type does not hold every whole number."""
    notes = []
    for column in columns:
        rounded = column.kind is Kind.FLOAT or (column.inferred and column.kind is Kind.WHOLE)
        if not rounded and column.kind is not Kind.DECIMAL:
            continue
        note = (
            f"key column {column.name} holds {column}: whole numbers {'below 2^53' if rounded else 'only'} are keys. "
            "Rows with any other number belong to one person together. Rows without a number have no key."
        )
        if rounded:
            note += f" If {column.name} has larger ids, store it as integers or text"
            how = f'with dtype={{"{column.name}": "Int64"}}' if column.inferred else "where it is written"
            note += f", {how}: converting it afterwards keeps what was rounded."
        notes.append(note)
    return notes


def check_keys(where: str, columns: Sequence[Column]) -> None:
    """Refuse keys whose declared type has no text that is the same in every source."""
    for column in columns:
        if column.kind not in _KEYS:
            raise DataError(
                f"column {column.name} is {column}; a key is text or whole numbers",
                where=f"{where} does not fit",
                details=["Only the schema was read."],
                hints=[(f"store {column.name} as text, or name another key under [people]", "")],
            )


def _misfit(codec: Codec, kind: Kind | None) -> str:
    """What an attribute that is read so needs instead of this kind of column, or nothing."""
    if kind in _UNDECLARED:
        return ""
    match codec:
        case Days():
            # Dates written as text are common in typed tables too, and read strictly: 2026-01-31, or as declared.
            return "" if kind in (*_DAYS, Kind.TEXT) else "dates"
        case DaysOfTheWeek():
            return "" if kind in (*_DAYS, Kind.TEXT) else "dates"
        case TimesOfDay():
            if kind in _NUMBERS and codec.whole_hours:
                return ""
            return "" if kind in (Kind.TIME, Kind.CLOCK, Kind.INSTANT, Kind.TEXT) else "times of day"
        case WholeNumbers() | NumbersInCells() | Coordinate():
            # Numbers written as text may be read in several ways: the policy must say in which.
            fits = kind in _NUMBERS or (kind is Kind.TEXT and bool(codec.format))
            return "" if fits else "whole numbers" if isinstance(codec, WholeNumbers) else "numbers"
        case ListedTexts():
            texts = codec.places
            # Numbers can never hold M or F: better refused than a release in which everybody is “other”.
            if kind is Kind.TRUTH:
                return "" if {"true", "false"} & set(texts) else "text"
            if kind in _NUMBERS:
                if any(map(_LONG.fullmatch, texts)):  # engines end at different numbers of this size
                    return f"text, for values of more than {MOST_DIGITS} digits"
                decimals = kind is not Kind.WHOLE and any(map(is_fraction, texts))
                return "" if decimals or any(re.fullmatch("-?[0-9]+", text) for text in texts) else "text"
            return "" if kind is Kind.TEXT else "text"
        case _:
            assert_never(codec)


def _mend(attribute: Attribute, column: Column, needs: str) -> list[Hint]:
    hints = [(f"store {column.name} as {needs}, or name another column in the policy", "")]
    if column.kind is Kind.TEXT and needs.endswith("numbers"):
        hints.append(('format = "1234.5"', f"in the policy, if {attribute.name} is written as text: say how"))
    return hints
