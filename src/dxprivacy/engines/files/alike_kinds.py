"""Kinds of attributes from elsewhere, as ones of ours that read every entry alike: for the process apart."""

from typing import Any, assert_never

from dxprivacy.errors import DataError
from dxprivacy.universe.attributes.attribute import Attribute
from dxprivacy.universe.attributes.attribute_kinds import OURS, is_known
from dxprivacy.universe.attributes.binned_numbers import Numbers
from dxprivacy.universe.attributes.dates import Dates
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.attributes.times import Times
from dxprivacy.universe.attributes.weekdays import Weekdays
from dxprivacy.universe.reading.codecs import (
    Coordinate,
    Days,
    DaysOfTheWeek,
    ListedTexts,
    NumbersInCells,
    TimesOfDay,
    WholeNumbers,
)
from dxprivacy.universe.universe import Universe


def read_alike(universe: Universe, where: str) -> Universe:
    """A universe with the same cells for every row, of kinds that the package brings; unknown kinds are refused."""
    if all(type(attribute) in OURS for attribute in universe.attributes):
        return universe
    return universe.like(_alike(a, where) for a in universe.attributes)


def _alike(attribute: Attribute, where: str) -> Attribute:
    if type(attribute) in OURS:
        return attribute
    if not is_known(attribute) or len(attribute.reads) > 1:
        raise DataError(f"attribute {attribute.name} is of a kind that cannot be counted yet", where=where)
    same: dict[str, Any] = {"name": attribute.name, "column": attribute.column, "has_other": attribute.has_other}
    match attribute.codec:
        case ListedTexts(texts, spelling):
            return Values(values=texts, spelling=spelling, **same)
        case WholeNumbers(low, high, clamp, written):
            return Integers(low=low, high=high, clamp=clamp, format=written, **same)
        case NumbersInCells(low, high, step, clamp, written):
            return Numbers(low=low, high=high, step=step, clamp=clamp, format=written, **same)
        case Days(first, last, zone, written, step, clamp):
            return Dates(first=first, last=last, timezone=zone, format=written, step=step, clamp=clamp, **same)
        case DaysOfTheWeek(zone, written):
            return Weekdays(timezone=zone, format=written, **same)
        case TimesOfDay(first_second, end, width, zone, written):
            return Times(low=first_second, high=end, step=width, timezone=zone, format=written, **same)
        case Coordinate():
            raise DataError(f"attribute {attribute.name} is of a kind that cannot be counted yet", where=where)
        case unknown:
            assert_never(unknown)
