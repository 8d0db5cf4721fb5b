"""Conditions: any of some values, or a range of numbers, days or named values with both ends included."""

from collections.abc import Mapping
from datetime import date
from fractions import Fraction
from typing import Any, TypeAlias

from dxprivacy.attributes.base import as_text
from dxprivacy.attributes.calendar import days_named
from dxprivacy.attributes.ends import Name
from dxprivacy.attributes.text_formats import as_date, hours_of
from dxprivacy.errors import UsageError
from dxprivacy.exact.numbers import exact, written_fraction

Condition: TypeAlias = tuple[str, ...] | tuple[Fraction, Fraction] | tuple[date, date] | tuple[Name, Name]
"""Any of these values, or a range of numbers, days or named values with both ends included."""
Conditions: TypeAlias = tuple[tuple[str, Condition], ...]
"""What is to hold, each by the name that it is about."""


def conditions(where: Mapping[str, object] | None) -> Conditions:
    """One for each name."""
    return tuple((name, condition(wanted)) for name, wanted in (where or {}).items())


def condition(wanted: object) -> Condition:
    """A condition from what was written: a pair is a range of numbers, days or names, a list any of its values."""
    if isinstance(wanted, tuple):
        if len(wanted) != 2:
            raise UsageError("a range needs two ends", hints=["age=(18, 65)"])
        first, last = (days_named(as_text(x) if isinstance(x, int) else x) for x in wanted)
        if (
            first and last and any(not _is_year(x) for x in wanted)
        ):  # two years may be numbers: what they are asked of says it
            if first[0] > last[1]:
                raise UsageError(f"the range {wanted[0]}..{wanted[1]} is empty")
            return first[0], last[1]
        names = [x for x in wanted if isinstance(x, str) and x.strip() and not _is_number(x)]
        if names and all(isinstance(x, (str, int)) and as_text(x).strip() for x in wanted):  # `1..3+` names two values
            return Name(as_text(wanted[0])), Name(as_text(wanted[1]))
        low, high = (_number(x) for x in wanted)
        if low > high:
            raise UsageError(f"the range {wanted[0]}..{wanted[1]} is empty")
        return low, high
    values = tuple(as_text(v) for v in (wanted if isinstance(wanted, (list, set, frozenset)) else [wanted]))
    if not values:
        raise UsageError("a condition needs at least one value")
    return values


def _number(end: object) -> Fraction:
    """A number, or a time of day in hours."""
    hours = hours_of(end)
    return Fraction(exact(end, what="end of a range")) if hours is None else hours


def _is_number(end: object) -> bool:
    try:
        _number(end)
    except UsageError:
        return False
    return True


def _is_year(end: object) -> bool:
    return not isinstance(end, date) and "-" not in str(end)


def written_condition(text: str) -> Condition:
    """A condition as it stands in a question: `18..65` is a range, everything else a value.

    >>> written_condition("18..65"), written_condition("F")
    ((Fraction(18, 1), Fraction(65, 1)), ('F',))
    """
    low, dots, high = text.partition("..")
    return condition((low, high) if dots else text)


def is_range(condition: Condition) -> bool:
    """Whether a condition is a range."""
    return not isinstance(condition[0], str)


def condition_to_dict(condition: Condition) -> Any:
    """For JSON."""
    return {"from": str(condition[0]), "to": str(condition[1])} if is_range(condition) else list(condition)


def condition_from_dict(data: Any) -> Condition:
    """Back from JSON."""
    if isinstance(data, Mapping):
        days = as_date(data["from"]), as_date(data["to"])
        if days[0] and days[1]:
            return condition((days[0], days[1]))
        try:
            return written_fraction(data["from"]), written_fraction(data["to"])
        except ValueError:  # what has names in an order, when it is asked of, says whether these are two of them
            if not all(isinstance(end, str) and end.strip() for end in (data["from"], data["to"])):
                raise
            return Name(data["from"]), Name(data["to"])
    if not data or not all(isinstance(value, str) for value in data):
        raise ValueError("a condition needs at least one value")
    return tuple(data)
