"""Conditions on one attribute: any of some values, a range with both ends included, a comparison; or composed of these.

Composed conditions have a normal form, so that a query and its words correspond one to one: `sex=F or sex=X` becomes
`sex=F|X`, and double negations cancel.  Two conditions on one attribute are listed separately: both must hold.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import Any, TypeAlias

from dxprivacy.errors import Hint, QueryError, UsageError
from dxprivacy.exact.rounding import exact, written_fraction
from dxprivacy.universe.attributes.attribute import as_text
from dxprivacy.universe.ordering.order import Name
from dxprivacy.universe.reading.calendar import days_named
from dxprivacy.universe.reading.text_formats import as_date, hours_of

MOST_DEEP = 10  # levels of nested conditions
_SIGNS = {">": "above", ">=": "from", "<": "below", "<=": "to"}  # sign: key in files


@dataclass(frozen=True)
class Compared:
    """A comparison (above, from, below, up to) with a number or a day."""

    sign: str
    end: Fraction | date


@dataclass(frozen=True)
class Not:
    """Every value that does not fulfil a condition, including `other`."""

    inner: "Condition"

    def __post_init__(self) -> None:
        _require_shallow(self)


@dataclass(frozen=True)
class AnyOf:
    """At least one of several conditions on the same attribute."""

    parts: "tuple[Condition, ...]"

    def __post_init__(self) -> None:
        _require_shallow(self)


@dataclass(frozen=True)
class AllOf:
    """All of several conditions on the same attribute, inside another condition."""

    parts: "tuple[Condition, ...]"

    def __post_init__(self) -> None:
        _require_shallow(self)


Plain: TypeAlias = tuple[str, ...] | tuple[Fraction, Fraction] | tuple[date, date] | tuple[Name, Name]
"""Any of these values, or a range of numbers, days or named values with both ends included."""
Condition: TypeAlias = Plain | Compared | Not | AnyOf | AllOf
Conditions: TypeAlias = tuple[tuple[str, Condition], ...]
"""Conditions that must all hold, each with the name of its attribute."""


def _require_shallow(condition: Condition) -> None:
    if _depth(condition) > MOST_DEEP:
        raise UsageError(f"conditions are nested more than {MOST_DEEP} levels deep", hints=["simpler ones"])


def _depth(condition: Condition) -> int:
    """Return the nesting depth of a condition; it is bounded, because inner conditions were checked before."""
    match condition:
        case Not(inner):
            return 1 + _depth(inner)
        case AnyOf(parts) | AllOf(parts):
            return 1 + max(map(_depth, parts))
        case _:
            return 0


def conditions(where: Mapping[str, object] | None) -> Conditions:
    """Make a condition for each name."""
    return tuple((name, condition(wanted)) for name, wanted in (where or {}).items())


def condition(wanted: object) -> Condition:
    """Make a condition: a pair is a range of numbers, days or names; a list means any of its values."""
    if isinstance(wanted, (Compared, Not, AnyOf, AllOf)):
        return wanted
    if isinstance(wanted, tuple):
        if len(wanted) != 2:
            raise UsageError("a range needs two ends", hints=["age=(18, 65)"])
        first, last = (days_named(as_text(x) if isinstance(x, int) else x) for x in wanted)
        if (
            first and last and any(not _is_year(x) for x in wanted)
        ):  # two years may also be numbers: the attribute decides
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
    """Read a number, or a time of day in hours."""
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
    """Read a condition as written in a query: `18..65` is a range, everything else a value.

    >>> written_condition("18..65"), written_condition("F")
    ((Fraction(18, 1), Fraction(65, 1)), ('F',))
    """
    low, dots, high = text.partition("..")
    return condition((low, high) if dots else text)


def above(end: object) -> Compared:
    """Make the condition "more than a number" or "later than a day": `dx.count(age=dx.above(30))`.

    >>> above(30), above("2026-03").end.isoformat()
    (Compared(sign='>', end=Fraction(30, 1)), '2026-03-31')
    """
    return compared(">", end)


def at_least(end: object) -> Compared:
    """Make the condition "a number or more" or "a day or later".

    >>> at_least(30)
    Compared(sign='>=', end=Fraction(30, 1))
    """
    return compared(">=", end)


def below(end: object) -> Compared:
    """Make the condition "less than a number" or "earlier than a day".

    >>> below("2026-03").end.isoformat()
    '2026-03-01'
    """
    return compared("<", end)


def at_most(end: object) -> Compared:
    """Make the condition "a number or less" or "a day or earlier".

    >>> at_most(40)
    Compared(sign='<=', end=Fraction(40, 1))
    """
    return compared("<=", end)


def none_of(*wanted: object) -> Condition:
    """Make the condition "none of these", which includes `other`: `dx.count(sex=dx.none_of("F"))`.

    >>> none_of("F", "X"), none_of(above(30))
    (Not(inner=('F', 'X')), Not(inner=Compared(sign='>', end=Fraction(30, 1))))
    """
    return negated(any_of(*wanted))


def any_of(*wanted: object) -> Condition:
    """Make the condition "at least one of these": `dx.count(age=dx.any_of(dx.below(18), dx.above(65)))`.

    >>> any_of("F", "X"), any_of(7)
    (('F', 'X'), ('7',))
    """
    if not wanted:
        raise UsageError("a condition needs at least one value")
    return either([condition(each) for each in wanted])


def compared(sign: str, end: object) -> Compared:
    """Make a comparison; a month or year stands for its first or last day, depending on the sign."""
    days = days_named(as_text(end) if isinstance(end, int) else end)
    if days is not None and not _is_year(end):
        return Compared(sign, days[1] if sign in (">", "<=") else days[0])
    try:
        return Compared(sign, _number(end))
    except UsageError:
        what = f"“{sign}” compares with a number, a day or a time of day; {str(end)[:40]!r} is not one"
        ends = f"…={str(end)[:40]}..LAST" if sign in (">", ">=") else f"…=FIRST..{str(end)[:40]}"
        hints: list[Hint | str] = ["age>30", "visit>=2026-03-01", (ends, "of names in an order, both ends included")]
        raise UsageError(what, hints=hints) from None


def negated(wanted: Condition) -> Condition:
    """Return the negation of a condition, in normal form."""
    return wanted.inner if isinstance(wanted, Not) else Not(wanted)


def either(parts: Sequence[Condition]) -> Condition:
    """Return the disjunction of some conditions, in normal form."""
    flat = [each for part in parts for each in (part.parts if isinstance(part, AnyOf) else (part,))]
    values = [each for each in flat if isinstance(each, tuple) and isinstance(each[0], str)]
    if len(values) == len(flat):
        return tuple(str(v) for each in values for v in each)
    return flat[0] if len(flat) == 1 else AnyOf(tuple(flat))


def together(parts: Sequence[Condition]) -> Condition:
    """Return the conjunction of some conditions, in normal form."""
    flat = [each for part in parts for each in (part.parts if isinstance(part, AllOf) else (part,))]
    return flat[0] if len(flat) == 1 else AllOf(tuple(flat))


def opposite(where: Conditions) -> Conditions:
    """Return the negation of conditions, which must be on one attribute."""
    return ((_one_name(where, "not"), negated(together([wanted for _, wanted in where]))),)


def alternatives(selections: Sequence[Conditions]) -> Conditions:
    """Return the disjunction of several sets of conditions, which must be on one attribute."""
    if len(selections) == 1:
        return selections[0]
    name = _one_name([each for where in selections for each in where], "or")
    return ((name, either([together([wanted for _, wanted in where]) for where in selections])),)


def _one_name(where: Sequence[tuple[str, Condition]], word: str) -> str:
    names = list(dict.fromkeys(name for name, _ in where))
    if len(names) > 1:
        hints = [(f"({names[0]}=… or {names[0]}=…) and {names[1]}=…", "“and” joins different ones")]
        if word == "not":
            hints = [(f"not {names[0]}=…", "each attribute by itself")]
        raise QueryError(f"“{word}” is about one attribute; {names[0]} and {names[1]} are two", hints=hints)
    return names[0]


def is_range(condition: Condition) -> bool:
    """Whether a condition is a range."""
    return isinstance(condition, tuple) and not isinstance(condition[0], str)


def plain_parts(condition: Condition) -> Iterator[Plain | Compared]:
    """Yield the values, ranges and comparisons inside a condition."""
    match condition:
        case Not(inner):
            yield from plain_parts(inner)
        case AnyOf(parts) | AllOf(parts):
            for part in parts:
                yield from plain_parts(part)
        case _:
            yield condition


def condition_to_dict(condition: Condition) -> Any:
    """Write a condition as JSON data."""
    match condition:
        case Compared(sign, end):
            return {_SIGNS[sign]: str(end)}
        case Not(inner):
            return {"not": condition_to_dict(inner)}
        case AnyOf(parts):
            return {"any": [condition_to_dict(part) for part in parts]}
        case AllOf(parts):
            return {"all": [condition_to_dict(part) for part in parts]}
        case _:
            whole = is_range(condition)
            return {"from": str(condition[0]), "to": str(condition[1])} if whole else list(condition)


def condition_from_dict(data: Any) -> Condition:
    """Read a condition from JSON; composed conditions must be in normal form."""
    found = _from_dict(data, MOST_DEEP)
    if isinstance(found, AllOf):
        raise ValueError("conditions that must all hold are listed separately")
    return found


def _from_dict(data: Any, deep: int) -> Condition:
    if not isinstance(data, Mapping):
        if not isinstance(data, list) or not data or not all(isinstance(value, str) for value in data):
            raise ValueError("a condition needs at least one value")
        return tuple(data)
    if set(data) == {"from", "to"}:
        first, last = (as_date(data[key]) for key in ("from", "to"))
        if first and last:
            return condition((first, last))
        return _ends_from_dict(data["from"], data["to"])
    ((key, inner),) = data.items()
    for sign, named in _SIGNS.items():
        if key == named:
            return Compared(sign, _end_from_dict(inner))
    if deep < 1:
        raise ValueError("conditions are nested too deeply")
    if key == "not":
        wanted = _from_dict(inner, deep - 1)
        return _as_written(negated(wanted), Not(wanted))
    parts = tuple(_from_dict(part, deep - 1) for part in inner)
    if key == "any":
        return _as_written(either(parts), AnyOf(parts))
    if key != "all":
        raise ValueError("an unknown condition")
    return _as_written(together(parts), AllOf(parts))


def _as_written(ours: Condition, theirs: Condition) -> Condition:
    if ours != theirs:
        raise ValueError("a condition that is not in normal form")
    return ours


def _end_from_dict(text: Any) -> Fraction | date:
    return as_date(text) or written_fraction(text)


def _ends_from_dict(first: Any, last: Any) -> Condition:
    """Read two numbers, or two names; an attribute with an order later checks whether it has the names."""
    try:
        return written_fraction(first), written_fraction(last)
    except ValueError:
        if not all(isinstance(end, str) and end.strip() for end in (first, last)):
            raise
        return Name(first), Name(last)
