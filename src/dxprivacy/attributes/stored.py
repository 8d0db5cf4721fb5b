"""Attributes back from their specs: the exact inverse of `Attribute.spec`, so that a ledger can know its universe.

A spec is public JSON.  What cannot be read, or does not come back as it was, is refused: `attribute.spec()` of the
result equals the spec given, hence every digest is the same.  Units are no part of a spec; they change no answer.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from dxprivacy.attributes.base import Attribute, Integers, Points, Property, Values
from dxprivacy.attributes.ordered import Dates, Numbers, Series
from dxprivacy.errors import DxError, PolicyError

Reader = Callable[[Mapping[str, Any], Mapping[str, Any]], Attribute]
"""From a spec and the arguments that all kinds share to the attribute."""


def _values(spec: Mapping[str, Any], shared: Mapping[str, Any]) -> Attribute:
    return Values(values=tuple(spec["values"]), **shared)


def _integers(spec: Mapping[str, Any], shared: Mapping[str, Any]) -> Attribute:
    low, high = spec["range"]
    return Integers(low=low, high=high, clamp=spec.get("outside") == "clamp", **shared)


def _points(spec: Mapping[str, Any], shared: Mapping[str, Any]) -> Attribute:
    import numpy as np

    rows = [[float.fromhex(c) for c in row] for row in spec["coordinates"]]
    facts = tuple(Property(name, tuple(entries)) for name, entries in spec["properties"])
    return Points(ids=tuple(spec["ids"]), coordinates=np.array(rows, dtype=np.float64), facts=facts, **shared)


def _numbers(spec: Mapping[str, Any], shared: Mapping[str, Any]) -> Attribute:
    low, high = (Fraction(x) for x in spec["range"])
    counts = {"cell_value": spec["cell_value"]} if "cell_value" in spec else {}
    clamp = spec["outside"] == "clamp"
    return Numbers(low=low, high=high, step=Fraction(spec["step"]), clamp=clamp, **counts, **shared)


def _dates(spec: Mapping[str, Any], shared: Mapping[str, Any]) -> Attribute:
    first, last = spec["range"]
    return Dates(first=first, last=last, timezone=spec["timezone"], **shared)


def _series(spec: Mapping[str, Any], shared: Mapping[str, Any]) -> Attribute:
    entry = attribute_from_spec(spec["entry"])
    if not isinstance(entry, (Integers, Numbers)):
        raise ValueError("entries")
    return Series(columns=tuple(spec["columns"]), entry=entry, **shared)


READERS: dict[str, Reader] = {
    "values": _values,
    "integers": _integers,
    "numbers": _numbers,
    "dates": _dates,
    "series": _series,
    "points": _points,
}
"""One reader for each kind of attribute; a new kind is a new line here."""


def attribute_from_spec(spec: object) -> Attribute:
    """The attribute that a spec describes.

    >>> sex = Values(name="sex", values=("M", "F"))
    >>> attribute_from_spec(sex.spec()) == sex
    True
    >>> attribute_from_spec({"kind": "colours", "name": "hair"})
    Traceback (most recent call last):
    dxprivacy.errors.PolicyError: an attribute of kind “colours” is not known to this version
    """
    if not isinstance(spec, Mapping) or not isinstance(spec.get("kind"), str):
        raise _damaged()
    reader = READERS.get(spec["kind"])
    if reader is None:
        raise PolicyError(f"an attribute of kind “{spec['kind'][:40]}” is not known to this version")
    try:
        value = spec["other_value"]
        shared: dict[str, Any] = {
            "name": spec["name"],
            "column": spec["column"],
            "has_other": spec["other"],
            "other_value": None if value is None else Fraction(value),
            **({"format": spec["format"]} if "format" in spec else {}),
            **({"complete": spec["complete"]} if "complete" in spec else {}),
        }
        attribute = reader(spec, shared)
        back = attribute.spec()
    except (DxError, KeyError, ValueError, TypeError, AttributeError, ArithmeticError):
        raise _damaged() from None
    if back != dict(spec):
        raise _damaged()
    return attribute


def _damaged() -> PolicyError:
    return PolicyError("the description of an attribute is damaged")
