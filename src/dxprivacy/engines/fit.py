"""Check whether a schema fits a universe: which columns are needed, where they are, which types they must have.

Everything here is decided by column names and types, which are public. Only `public_values` reads rows.
"""

import re
from collections.abc import Sequence
from typing import assert_never

from dxprivacy.engines.entries import MOST_DIGITS, is_fraction
from dxprivacy.engines.source import Column, ColumnKind, Source
from dxprivacy.errors import DataError, Hint, UsageError, did_you_mean
from dxprivacy.universe.attributes.attribute import OTHER, Attribute
from dxprivacy.universe.attributes.attribute_kinds import is_known
from dxprivacy.universe.people import People
from dxprivacy.universe.reading.codecs import (
    Codec,
    Coordinate,
    Days,
    DaysOfTheWeek,
    ListedTexts,
    NumbersInBins,
    TimesOfDay,
    WholeNumbers,
)
from dxprivacy.universe.universe import Universe
from dxprivacy.wording import UNPRINTABLE, quoted

_SHOWN_COLUMNS = 30
_NUMBERS = (ColumnKind.WHOLE, ColumnKind.FLOAT, ColumnKind.DECIMAL)
_DAYS = (ColumnKind.DATE, ColumnKind.CLOCK, ColumnKind.INSTANT)
_KEYS = (*_NUMBERS, ColumnKind.TEXT, ColumnKind.UNTYPED, ColumnKind.OBJECT, ColumnKind.NOTHING)
_UNDECLARED = (ColumnKind.UNTYPED, ColumnKind.OBJECT, ColumnKind.NOTHING)
_LONG = re.compile(f"-?[1-9][0-9]{{{MOST_DIGITS},}}")


def require_countable(where: str, universe: Universe) -> None:
    """Refuse a universe in which some row would match no possible record."""
    for attribute in universe.attributes:
        if not attribute.has_other:
            raise DataError(
                f"attribute {attribute.name} has no “other”, so rows that fit no value could not be counted",
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
    """Return the positions of each attribute's columns, found by their exact names.

    `list_names=False` keeps the names out of the message, in case they are not names but data.
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
    """Write positions as people count columns, from 1.

    >>> numbered_places([1, 4, 6])
    '2, 5 and 7'
    """
    numbers = [f"{position + 1:,}" for position in positions]
    return " and ".join([*([", ".join(numbers[:-1])] if len(numbers) > 1 else []), numbers[-1]])


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
                    hints=_fixes(attribute, column, needs),
                )


def find_keys(where: str, names: Sequence[str], people: People) -> list[int]:
    """Return the positions of the key columns."""
    return [_find(where, names, column, list_names=True, more=()) for column in people.key]


def key_notes(columns: Sequence[Column]) -> list[str]:
    """Explain numeric key columns whose type does not hold every whole number."""
    notes = []
    for column in columns:
        rounded = column.kind is ColumnKind.FLOAT or (column.inferred and column.kind is ColumnKind.WHOLE)
        if not rounded and column.kind is not ColumnKind.DECIMAL:
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
    """Refuse key columns whose declared type has no text that is the same in every source."""
    for column in columns:
        if column.kind not in _KEYS:
            raise DataError(
                f"column {column.name} is {column}; a key is text or whole numbers",
                where=f"{where} does not fit",
                details=["Only the schema was read."],
                hints=[(f"store {column.name} as text, or name another key under [people]", "")],
            )


def _misfit(codec: Codec, kind: ColumnKind | None) -> str:
    """Return what an attribute with this codec needs instead of this kind of column; empty if it fits."""
    if kind in _UNDECLARED:
        return ""
    match codec:
        case Days():
            # Dates written as text are common in typed tables too, and read strictly: 2026-01-31, or as declared.
            return "" if kind in (*_DAYS, ColumnKind.TEXT) else "dates"
        case DaysOfTheWeek():
            return "" if kind in (*_DAYS, ColumnKind.TEXT) else "dates"
        case TimesOfDay():
            if kind in _NUMBERS and codec.whole_hours:
                return ""
            return (
                ""
                if kind in (ColumnKind.TIME, ColumnKind.CLOCK, ColumnKind.INSTANT, ColumnKind.TEXT)
                else "times of day"
            )
        case WholeNumbers() | NumbersInBins() | Coordinate():
            # Numbers written as text may be read in several ways: the policy must declare one.
            fits = kind in _NUMBERS or (kind is ColumnKind.TEXT and bool(codec.format))
            return "" if fits else "whole numbers" if isinstance(codec, WholeNumbers) else "numbers"
        case ListedTexts():
            texts = codec.places
            # Numbers can never hold M or F: refusing is better than a release in which every record is “other”.
            if kind is ColumnKind.TRUTH:
                return "" if {"true", "false"} & set(texts) else "text"
            if kind in _NUMBERS:
                if any(map(_LONG.fullmatch, texts)):  # engines have different limits for numbers of this size
                    return f"text, for values of more than {MOST_DIGITS} digits"
                decimals = kind is not ColumnKind.WHOLE and any(map(is_fraction, texts))
                return "" if decimals or any(re.fullmatch("-?[0-9]+", text) for text in texts) else "text"
            return "" if kind is ColumnKind.TEXT else "text"
        case _:
            assert_never(codec)


def _fixes(attribute: Attribute, column: Column, needs: str) -> list[Hint]:
    hints = [(f"store {column.name} as {needs}, or name another column in the policy", "")]
    if column.kind is ColumnKind.TEXT and needs.endswith("numbers"):
        hints.append(('format = "1234.5"', f"in the policy, if {attribute.name} is written as text: say how"))
    return hints


# -- The distinct values of one column, for a curator who declares them public -----------------------------------------
# This is the only code that reads rows without the ledger.  It is called only for columns that were named with `dxp
# init --public`.  Errors may depend on such a column, but never quote an entry.


MOST_VALUES = 1_000
LONGEST_VALUE = 200
_LISTABLE = (ColumnKind.TEXT, ColumnKind.UNTYPED, ColumnKind.OBJECT, ColumnKind.WHOLE)
_BY_HAND = ('values = ["…", "…"]', "lists what you want to ask for")


def public_values(source: Source, column: str) -> tuple[str | int, ...]:
    """Return the sorted values of a column that its curator declares public; whole numbers as numbers.

    Entries that no policy can list are left out and count as “other”: empty ones, ones with control characters, and the
    text “other” itself.
    """
    found = _listable(source, column)
    texts = source.distinct(column, MOST_VALUES)
    hints = [("integers = [0, 100]", "for many numbers"), ('points = "places.csv"', "for many places")]
    if texts is None:
        what = f"column {column} has more than {MOST_VALUES:,} different values"
        raise DataError(
            what, where=source.name, hints=[*hints, ('values = ["…", "…"]', "lists what you want to ask for")]
        )
    if any(len(text) > LONGEST_VALUE for text in texts):
        what = f"column {column} has entries of more than {LONGEST_VALUE} characters"
        raise DataError(what, where=source.name, hints=[_BY_HAND])
    usable = [text for text in texts if text.strip() and text != OTHER and not UNPRINTABLE.search(text)]
    if not usable:
        raise DataError(f"column {column} has no values to list", where=source.name, hints=hints)
    if found.kind is ColumnKind.WHOLE:
        return tuple(sorted(int(text) for text in usable))
    return tuple(sorted(usable, key=_by_number))


def _by_number(text: str) -> tuple[bool, int, str]:
    """Sort key: numbers in numeric order, then texts.

    >>> sorted(["b", "10", "9"], key=_by_number)
    ['9', '10', 'b']
    """
    number = re.fullmatch(r"-?[0-9]{1,18}", text)
    return number is None, int(text) if number else 0, text


def _listable(source: Source, column: str) -> Column:
    """Return the column in the schema, if its kind has values to list."""
    columns = source.columns()
    named = [c for c in columns if c.name == column]
    if not named:
        names = [c.name for c in columns]
        every = (f"dxp init {quoted(source.name)}", "without --public shows all columns")
        hints = did_you_mean(column, names) or [every]
        raise DataError(f"no column “{column}”", where=source.name, hints=hints)
    if len(named) > 1:
        places = numbered_places([k for k, c in enumerate(columns) if c.name == column])
        what = f"{len(named)} columns are named “{column}”: columns {places}"
        raise DataError(what, where=source.name, hints=["rename all but one"])
    if named[0].kind not in _LISTABLE:
        raise UsageError(
            f"column {column} is {named[0]}; values are listed of text and of whole numbers",
            where=source.name,
            hints=[(f"without --public {column}", "the policy to fill in says what is possible")],
        )
    return named[0]
