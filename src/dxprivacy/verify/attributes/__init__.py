"""Attributes from their specs, a file for each kind (docs/formats.md, section 2)."""

from typing import Any

from dxprivacy.verify.attributes.base import Attribute, Property
from dxprivacy.verify.attributes.dates import Dates
from dxprivacy.verify.attributes.integers import Integers
from dxprivacy.verify.attributes.located import Grid, Nearest
from dxprivacy.verify.attributes.numbers import Numbers
from dxprivacy.verify.attributes.ordered import Ordered
from dxprivacy.verify.attributes.points import Points
from dxprivacy.verify.attributes.series import Series
from dxprivacy.verify.attributes.times import Times
from dxprivacy.verify.attributes.values import Values
from dxprivacy.verify.attributes.weekdays import Weekdays
from dxprivacy.verify.reading import refuse

__all__ = ["Attribute", "Property", "attribute"]

_Kind = type[Values | Ordered | Integers | Numbers | Dates | Weekdays | Times | Points | Nearest | Grid | Series]
_KINDS: dict[str, _Kind] = {
    "values": Values,
    "ordered": Ordered,
    "integers": Integers,
    "numbers": Numbers,
    "dates": Dates,
    "weekdays": Weekdays,
    "times": Times,
    "points": Points,
    "nearest": Nearest,
    "grid": Grid,
    "series": Series,
}


def attribute(spec: Any, where: str) -> Attribute:
    """An attribute from its spec."""
    kind = spec.get("kind") if isinstance(spec, dict) else None
    if not isinstance(kind, str) or kind not in _KINDS:
        raise refuse(f"an attribute of unknown kind {str(kind)[:40]!r}", where)
    made = _KINDS[kind](spec, where)
    if made.listed < 1:
        raise refuse("has no values", where)
    return made
