"""The registry of attribute kinds, and attributes from their specs.

A spec is public JSON.  A spec is refused if it cannot be read, or if `spec()` of the resulting attribute differs from
it; so digests are preserved.  Units are not part of a spec, because they do not change answers.
"""

import inspect
from collections.abc import Mapping

from dxprivacy.errors import DxError, PolicyError, UsageError
from dxprivacy.universe.attributes.attribute import Attribute
from dxprivacy.universe.attributes.binned_numbers import Numbers
from dxprivacy.universe.attributes.dates import Dates
from dxprivacy.universe.attributes.grid import Grid
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.attributes.listed_points import Points
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.attributes.nearest_place import Nearest
from dxprivacy.universe.attributes.ordered_values import Ordered
from dxprivacy.universe.attributes.series_of_numbers import Series
from dxprivacy.universe.attributes.times import Times, Weekdays

OURS = (Values, Ordered, Integers, Numbers, Dates, Weekdays, Times, Series, Points, Grid, Nearest)
"""The kinds of this package."""

KINDS: dict[str, type[Attribute]] = {kind.kind: kind for kind in OURS}
"""Each kind by its name in specs."""


def register(kind: type[Attribute]) -> type[Attribute]:
    """Register a further kind, so that its specs are read, its entries counted and its versions compared.

    >>> register(Values) is Values
    True
    >>> class Colors(Values): kind = "values"
    >>> register(Colors)
    Traceback (most recent call last):
    dxprivacy.errors.UsageError: another kind of attribute is called “values” already
    """
    if not (inspect.isclass(kind) and issubclass(kind, Attribute)) or inspect.isabstract(kind):
        raise UsageError("a kind of attribute must be a class that implements all abstract methods of Attribute")
    if not kind.kind:
        raise UsageError(f"{kind.__name__} needs a kind: its name in specs")
    if KINDS.setdefault(kind.kind, kind) is not kind:
        raise UsageError(f"another kind of attribute is called “{kind.kind[:40]}” already")
    return kind


def is_known(attribute: Attribute) -> bool:
    """Return whether an attribute is of a registered kind; callers that depend on the kind refuse all others."""
    return KINDS.get(attribute.kind) is type(attribute)


def attribute_from_spec(spec: object) -> Attribute:
    """Return the attribute that a spec describes; the exact inverse of `Attribute.spec`.

    >>> sex = Values(name="sex", values=("M", "F"))
    >>> attribute_from_spec(sex.spec()) == sex
    True
    >>> attribute_from_spec({"kind": "colors", "name": "hair"})
    Traceback (most recent call last):
    dxprivacy.errors.PolicyError: an attribute of kind “colors” is not known to this version
    """
    if not isinstance(spec, Mapping) or not isinstance(spec.get("kind"), str):
        raise _damaged()
    kind = KINDS.get(spec["kind"])
    if kind is None:
        raise PolicyError(f"an attribute of kind “{spec['kind'][:40]}” is not known to this version")
    try:
        attribute = kind.from_spec(spec)
        back = attribute.spec()
    except (DxError, KeyError, ValueError, TypeError, AttributeError, ArithmeticError):
        raise _damaged() from None
    if back != dict(spec):
        raise _damaged()
    return attribute


def _damaged() -> PolicyError:
    return PolicyError("the description of an attribute is damaged")
