"""The different values of one column, for a curator who declares them public.

This is the only way in which something is read from rows without the ledger, so it stands alone: it is called for
columns that were named with `dxp init --public`, never otherwise.  Errors may depend on such a column, but never quote
an entry.
"""

import re

from dxprivacy.engines.fit import numbered_places
from dxprivacy.engines.source import Column, Kind, Source
from dxprivacy.errors import DataError, UsageError, did_you_mean
from dxprivacy.universe.attributes.attribute import OTHER
from dxprivacy.wording import UNPRINTABLE, quoted

MOST_VALUES = 1_000
LONGEST_VALUE = 200
_LISTABLE = (Kind.TEXT, Kind.UNTYPED, Kind.OBJECT, Kind.WHOLE)
_BY_HAND = ('values = ["…", "…"]', "lists what you want to ask for")


def public_values(source: Source, column: str) -> tuple[str | int, ...]:
    """The values of a column that its curator declares public, sorted; whole numbers as numbers.

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
    if found.kind is Kind.WHOLE:
        return tuple(sorted(int(text) for text in usable))
    return tuple(sorted(usable, key=_by_number))


def _by_number(text: str) -> tuple[bool, int, str]:
    """Numbers in their order, then texts in theirs.

    >>> sorted(["b", "10", "9"], key=_by_number)
    ['9', '10', 'b']
    """
    number = re.fullmatch(r"-?[0-9]{1,18}", text)
    return number is None, int(text) if number else 0, text


def _listable(source: Source, column: str) -> Column:
    """The column in the schema, if its kind has values to list."""
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
