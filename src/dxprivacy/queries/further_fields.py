"""Further fields of some kinds of query, besides groups and conditions: how files and words write them.

A kind names its further fields in `Query.also`; `FURTHER` writes and reads each of them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dxprivacy.exact.rounding import number_text, written_fraction
from dxprivacy.queries.conditions import Conditions, condition_from_dict, condition_to_dict


@dataclass(frozen=True)
class Further:
    """One further field: to JSON and back, and its clause in words; empty if the field is written elsewhere."""

    to_json: Callable[[Any], Any]
    from_json: Callable[[Any], Any]
    words: Callable[[Any], str]


def _text(given: Any) -> str:
    if not isinstance(given, str) or not given:
        raise TypeError("a name is a text")
    return given


def _conditions_to_json(where: Conditions) -> list[Any]:
    return [[name, condition_to_dict(condition)] for name, condition in where]


def conditions_from_json(data: Any) -> Conditions:
    """Read conditions from JSON."""
    return tuple((_text(name), condition_from_dict(c)) for name, c in data)


def _levels_from_json(data: Any) -> tuple[Fraction, ...]:
    if not isinstance(data, list) or not data:
        raise TypeError("a list of numbers")
    return tuple(written_fraction(x) for x in data)


def _kilometers(given: Any) -> str:
    if given != KM:
        raise TypeError("lengths are kilometers on the Earth, or not given")
    return KM


def _length(name: str) -> Further:
    return Further(str, written_fraction, lambda x: "" if x is None else f"{name} {number_text(x)}")


KM = "km"
"""The value of a query's `lengths` if its lengths are on the Earth, between latitudes and longitudes."""
FURTHER: Mapping[str, Further] = {
    "among": Further(_conditions_to_json, conditions_from_json, lambda _: ""),
    "to": Further(str, _text, lambda _: ""),
    "beside": Further(str, _text, lambda _: ""),
    "at": Further(lambda x: list(map(str, x)), _levels_from_json, lambda _: ""),
    "width": _length("width"),
    "every": _length("every"),
    "blur": _length("blur"),
    "lengths": Further(str, _kilometers, lambda _: ""),
}
