"""Comparisons, and conditions made of others: how files write them, what they hold for (docs/formats.md, section 4)."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dxprivacy.verify import days, reading
from dxprivacy.verify.orders import Condition, End
from dxprivacy.verify.reading import refuse

_DEEPEST = 10
_SIGNS = {"above": ">", "from": ">=", "below": "<", "to": "<="}


@dataclass(frozen=True)
class Comparison:
    """On one side of an end."""

    sign: str
    end: End


@dataclass(frozen=True)
class Denied:
    """All other values."""

    inner: "Wanted"


@dataclass(frozen=True)
class Joined:
    """Any of several, or all of them."""

    every: bool
    parts: "list[Wanted]"


Wanted = Condition | Comparison | Denied | Joined


def read(data: Any, where: str, deep: int = _DEEPEST, *, names: bool = False) -> Wanted:
    """A condition as it stands in a file; `names`: ends of ranges may name values."""
    if not isinstance(data, dict):
        values = reading.each(data, where, reading.text)
        if not values:
            raise refuse("a condition wants nothing", where)
        return values
    if len(data) != 1:
        ends = reading.members(data, where, ("from", "to"))
        first, last = (days.day(reading.text(ends[end], where)) for end in ("from", "to"))
        if first and last:
            return first, last
        if names:
            return reading.numbers_or_names(ends["from"], ends["to"], where)
        return reading.fraction(ends["from"], where), reading.fraction(ends["to"], where)
    ((key, inner),) = data.items()
    if key in _SIGNS:
        text = reading.text(inner, where)
        return Comparison(_SIGNS[key], days.day(text) or reading.fraction(text, where))
    if key not in ("not", "any", "all") or not deep:
        raise refuse(f"a condition with {key[:40]!r}", where)
    if key == "not":
        denied = read(inner, where, deep - 1, names=names)
        if isinstance(denied, Denied):
            raise refuse("a condition that denies a denial", where)
        return Denied(denied)
    parts = [read(part, where, deep - 1, names=names) for part in reading.items(inner, where)]
    every = key == "all"
    again = any(isinstance(part, Joined) and part.every == every for part in parts)
    lists = not every and all(isinstance(part, list) for part in parts)
    outside = every and deep == _DEEPEST
    if len(parts) < 2 or again or lists or outside:
        raise refuse("a condition that could be written in fewer words", where)
    return Joined(every, parts)


def fulfilled(wanted: Wanted, plain: Callable[[Condition | Comparison], set[int]], size: int) -> set[int]:
    """The values that fulfil a condition, given those that fulfil its parts."""
    if isinstance(wanted, Denied):
        return set(range(size)) - fulfilled(wanted.inner, plain, size)
    if isinstance(wanted, Joined):
        found = [fulfilled(part, plain, size) for part in wanted.parts]
        return set.intersection(*found) if wanted.every else set.union(*found)
    return plain(wanted)


def holds(sign: str, at: Fraction, low: Fraction, high: Fraction, *, with_high: bool) -> bool | None:
    """Whether a comparison holds for all that lies between two numbers, or for nothing of it; None for a part of it.

    >>> [holds("<", Fraction(5), Fraction(0), Fraction(high), with_high=False) for high in (4, 5, 6)]
    [True, True, None]
    """
    beneath = high < at or (high == at and not with_high)
    match sign:
        case ">":
            return True if low > at else False if high <= at else None
        case ">=":
            return True if low >= at else False if beneath else None
        case "<":
            return True if beneath else False if low >= at else None
        case _:
            return True if high <= at else False if low > at else None
