"""Lengths in questions: numbers, or kilometers, meters and miles on the Earth, however they were written."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dxprivacy.errors import QuestionError, UsageError
from dxprivacy.exact.lengths import KILOMETERS, UNITS, split_length
from dxprivacy.exact.rounding import exact
from dxprivacy.queries.further_fields import KM


@dataclass(frozen=True)
class Length:
    """A number, of kilometers where a unit was written; `unit` is the one that was."""

    number: Fraction
    unit: str = ""

    @classmethod
    def of(cls, written: object, unit: str, name: str) -> "Length":
        """A length from its number and its unit.

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
            raise UsageError(f"“{unit[:40]}” is no unit of a {name}", hints=hints)
        return cls(number * KILOMETERS[unit] if unit else number, unit)

    @classmethod
    def read(cls, given: object, name: str) -> "Length":
        """A number, or a text with a number and its unit.

        >>> Length.read("40km", "width")
        Length(number=Fraction(40, 1), unit='km')
        """
        return cls.of(*split_length(given), name) if isinstance(given, str) else cls.of(given, "", name)


_ALSO_CALLED = {"kilometer": "km", "kilometre": "km", "meter": "m", "metre": "m", "mile": "miles", "m": "m"}


def in_one_unit(lengths: Mapping[str, Length]) -> dict[str, Any]:
    """What a question has to say of its lengths: that they are kilometers, if any has a unit.

    One without a unit counts kilometers beside others in these; beside meters or miles nobody knows what it means.
    """
    units = {length.unit for length in lengths.values()}
    if units <= {""}:
        return {}
    for name, length in lengths.items():
        if not length.unit and not units <= {"", KM}:
            written = "" if length.number.denominator != 1 else f" {length.number}"
            hints = [(f"{name}{written or ' 5'} {unit}", "") for unit in sorted(units | {KM}) if unit]
            raise QuestionError(f"{name} is a number without its unit, beside one with a unit", hints=hints)
    return {"lengths": KM}
