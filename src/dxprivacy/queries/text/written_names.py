"""Write names, values and conditions in the words of a query, so that parsing the words gives them back."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import Any

from dxprivacy.errors import QueryError, UsageError
from dxprivacy.exact.rounding import KILOMETERS, UNITS, exact, number_text, split_length
from dxprivacy.queries.conditions import AllOf, AnyOf, Compared, Condition, Conditions, Not, Plain, is_range
from dxprivacy.queries.further_fields import KM
from dxprivacy.universe.ordering.order import End, Name

# -- Lengths in queries: numbers, or kilometers, meters and miles on the Earth -----------------------------------------


@dataclass(frozen=True)
class Length:
    """A number, in kilometers if a unit was written; `unit` is the unit as written."""

    number: Fraction
    unit: str = ""

    @classmethod
    def of(cls, written: object, unit: str, name: str) -> "Length":
        """Make a length from a number and a unit.

        >>> float(Length.of("40", "miles", "width").number), float(Length.of(500, "m", "width").number)
        (64.37376, 0.5)
        """
        try:
            number = Fraction(exact(written, what=name))
        except UsageError as error:
            raise UsageError(error.what, hints=[(f"{name} 5", "or with its unit on the Earth: 5 km")]) from None
        if unit and unit not in KILOMETERS:
            meant = _ALSO_CALLED.get(unit.lower().rstrip("s."), KM)
            hints = [(f"{name} {written} {meant}", f"units on the Earth: {UNITS}")]
            raise UsageError(f"“{unit[:40]}” is not a unit of a {name}", hints=hints)
        return cls(number * KILOMETERS[unit] if unit else number, unit)

    @classmethod
    def read(cls, given: object, name: str) -> "Length":
        """Read a length from a number, or from a text with a number and a unit.

        >>> Length.read("40km", "width")
        Length(number=Fraction(40, 1), unit='km')
        """
        return cls.of(*split_length(given), name) if isinstance(given, str) else cls.of(given, "", name)


_ALSO_CALLED = {"kilometer": "km", "kilometre": "km", "meter": "m", "metre": "m", "mile": "miles", "m": "m"}


def in_one_unit(lengths: Mapping[str, Length]) -> dict[str, Any]:
    """Return the query field `lengths`: "km" if any length has a unit, else no field.

    A length without a unit is in kilometers if all units are km.  Next to meters or miles it is ambiguous and refused.
    """
    units = {length.unit for length in lengths.values()}
    if units <= {""}:
        return {}
    for name, length in lengths.items():
        if not length.unit and not units <= {"", KM}:
            written = "" if length.number.denominator != 1 else f" {length.number}"
            hints = [(f"{name}{written or ' 5'} {unit}", "") for unit in sorted(units | {KM}) if unit]
            raise QueryError(f"{name} is a number without a unit, next to one with a unit", hints=hints)
    return {"lengths": KM}


# -- Written names -----------------------------------------------------------------------------------------------------


KEYWORDS = ("by", "where", "within", "and")
BARE = re.compile(r"""(?:\[[^\]]*\]|[^\s=|,'"])+""")
_MARKS = re.compile("[<>!()]")  # signs and brackets of composed conditions
_LOGIC = ("not", "or", "in")
_BRACKETS = re.compile(r"\[[^\]]*\]")


def in_words(where: Conditions, instead: Mapping[int, str] | None = None) -> str:
    """Write conditions joined by `and`; `instead` has other words for some of them, by position."""
    known = instead or {}
    words = [known.get(k) or named_condition(name, wanted) for k, (name, wanted) in enumerate(where)]
    if len(where) > 1:
        words = [f"({text})" if isinstance(c, AnyOf) else text for text, (_, c) in zip(words, where, strict=True)]
    return " and ".join(words)


def named_condition(name: str, wanted: Condition) -> str:
    """Write a condition with the name of its attribute.

    >>> named_condition("age", AnyOf((Compared("<", Fraction(18)), Not((Fraction(0), Fraction(65))))))
    'age<18 or not age=0..65'
    """
    if isinstance(wanted, tuple):
        return f"{_condition_name(name)}={write_condition(wanted)}"
    return _inner(name, wanted)


def _inner(name: str, wanted: Condition) -> str:
    """Write a condition inside another one, where more has to be quoted."""
    match wanted:
        case Compared(sign, end):
            return f"{quoted(name, logic=True)}{sign}{end_text(end)}"
        case Not(inner):
            denied = _inner(name, inner)
            return f"not ({denied})" if isinstance(inner, (AnyOf, AllOf)) else f"not {denied}"
        case AnyOf(parts) | AllOf(parts):
            words = [_inner(name, part) for part in parts]
            deeper = [isinstance(part, (AnyOf, AllOf)) for part in parts]
            joint = " or " if isinstance(wanted, AnyOf) else " and "
            return joint.join(f"({text})" if deep else text for text, deep in zip(words, deeper, strict=True))
        case _:
            return f"{quoted(name, logic=True)}={write_condition(wanted, logic=True)}"


def _condition_name(name: str) -> str:
    """Quote a name also if it would be read as a part of a comparison, or as `not`."""
    read_otherwise = name.startswith("(") or name.endswith(("<", ">", "!")) or name == "not"
    return quoted(name, logic=read_otherwise)


def write_condition(c: Plain, *, logic: bool = False) -> str:
    """Write the text after the equals sign; `logic`: inside another condition.

    >>> write_condition(("New Jersey", "Utah")), write_condition((Fraction(18), Fraction(65)))
    ("'New Jersey'|Utah", '18..65')
    """
    if is_range(c):
        return "..".join(map(end_text, c))
    alone = len(c) == 1  # among several values, two dots mean nothing
    return "|".join(quoted(str(v), dots=alone, logic=logic) for v in c)


def end_text(end: End) -> str:
    """Write an end of a range or of a comparison."""
    if isinstance(end, Name):
        return quoted(end.text, dots=True)
    return end.isoformat() if isinstance(end, date) else number_text(Fraction(end))


def quoted(text: str, *, dots: bool = False, logic: bool = False) -> str:
    """Write a name or value as one word, quoted if it would be read as several words or as something else."""
    bare = BARE.fullmatch(text) and text not in (*KEYWORDS, "of") and not (dots and ".." in text)
    if logic and (_MARKS.search(text) or text in _LOGIC):
        bare = None
    if bare and text.count("[") == text.count("]") == len(_BRACKETS.findall(text)):  # else it might join the next word
        return text
    mark = '"' if "'" in text and '"' not in text else "'"
    return mark + text.replace(mark, mark * 2) + mark
