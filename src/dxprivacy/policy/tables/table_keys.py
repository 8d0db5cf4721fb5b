"""Read the keys of one attribute's table in a policy file; every error names its line."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from dxprivacy.errors import DxError, Hint, UsageError
from dxprivacy.exact.rounding import Exact, exact
from dxprivacy.policy.toml_file import UNPRINTABLE, PolicyFile
from dxprivacy.universe.reading.text_formats import Written

# Wide enough for every sane policy; within these limits, sums and quotients of floats neither overflow nor underflow.
EPSILONS = (Fraction(1, 10**9), Fraction(10**9))
MOST_VALUES = 5_000_000
"""The most values of an ordered attribute: counted in a second, planned in two minutes."""
MOST_LISTED = 1_000_000
"""The most values that may be listed by their texts: loaded in five seconds, counted in two, in 0.6 GB."""
LENGTHS = (Fraction(1, 10**15), Fraction(10**15))
DAYS = {"day": Fraction(1), "days": Fraction(1), "week": Fraction(7), "weeks": Fraction(7)}
HOURS = {
    unit: Fraction(1, parts)
    for word, parts in (("hour", 1), ("minute", 60), ("second", 3600))
    for unit in (word, f"{word}s")
}
MONTHS = {
    unit: Fraction(months)
    for word, months in (("month", 1), ("quarter", 3), ("year", 12), ("decade", 120))
    for unit in (word, f"{word}s")
}


@dataclass(frozen=True)
class Keys:
    """One `[attributes.NAME]` table, or another table with its name.

    If `rows_each` rows of each person count, the file gives ε for a person, and a row gets ε / `rows_each`.
    """

    file: PolicyFile
    name: str
    table: Mapping[str, Any]
    rows_each: int = 1
    section_name: str = ""
    other_each: Exact | None = None  # distance between `other` and a row, if the policy gives none

    @property
    def section(self) -> str:
        """The table's section; empty for the top of the file."""
        return f"attributes.{self.name}" if self.name else self.section_name

    def __contains__(self, key: str) -> bool:
        return key in self.table

    def __getitem__(self, key: str) -> Any:
        return self.table[key]

    def error(
        self, what: str, key: str = "", hints: Iterable[Hint | str] = (), details: tuple[str, ...] = ()
    ) -> DxError:
        """Return an error at the line of a key."""
        return self.file.error(what, section=self.section, key=key, hints=hints, details=details)

    def common(self) -> dict[str, Any]:
        """Return the arguments of every attribute: name, column, unit, format, complete."""
        out: dict[str, Any] = {"name": self.name}
        for key, example in (("column", "inc_eur"), ("unit", "years")):
            if key in self:
                out[key] = self.text(key, example)
        if "format" in self:
            out["format"] = self._format()
        if "complete" in self:
            if not isinstance(self["complete"], bool):
                hint = ("complete = true", "every record has a valid entry: means are sums over the public number")
                raise self.error("complete is true or false", "complete", [hint])
            out["complete"] = self["complete"]
        return out

    def one_of(self, key: str, meanings: Mapping[str, str], usual: str) -> str:
        """Read one of some words; `meanings` explains each in the error."""
        given = self.table.get(key, usual)
        if not isinstance(given, str) or given not in meanings:
            hints = [(f'{key} = "{word}"', meaning) for word, meaning in meanings.items()]
            raise self.error(f"{key} is {str(given)[:40]!r}", key, hints)
        return given

    def text(self, key: str, example: str) -> str:
        """Read a name or another short text."""
        given = self[key]
        if not isinstance(given, str) or not given.strip() or UNPRINTABLE.search(given):
            what = "a text" if key in ("format", "timezone") else "a name"
            raise self.error(f"{key} must be {what}", key, [f'{key} = "{example}"'])
        return given

    def _format(self) -> Written:
        """Read the format of entries; for days and times perhaps several, tried in order."""
        given = self["format"]
        if not isinstance(given, list):
            return self.text("format", "1.234,5")
        if not given or not all(isinstance(x, str) and x.strip() and not UNPRINTABLE.search(x) for x in given):
            raise self.error("format must be a text, or a list of texts", "format", ['format = ["iso", "%d.%m.%Y"]'])
        return tuple(given)

    def path(self, key: str, example: str) -> Path:
        """Return the path of a file, relative to the policy."""
        return (self.file.path.parent if self.file.path else Path()) / self.text(key, example)

    def other(self, *, numbers: bool = False) -> tuple[Exact | None, Fraction | None]:
        """Return the distance and the value of `other`; None where the policy gives none."""
        other = self.table.get("other", {})
        example = "other = { epsilon = 5, value = 0 }" if numbers else "other = { epsilon = 5 }"
        if not isinstance(other, dict):
            raise self.error("other is a table", "other", [example])
        self.file.only(other, ("epsilon", "value"), self.section, "other")
        epsilon = (
            self.parse_epsilon(other["epsilon"], "other", "other's epsilon") if "epsilon" in other else self.other_each
        )
        if "value" not in other:
            return epsilon, None
        if not numbers:
            raise self.error(
                "only integers and numbers have a value for other in sums, and values with places; no series has",
                "other",
                [(example, "without value")],
            )
        return epsilon, self.number(other["value"], "other", "other's value", (-LENGTHS[1], LENGTHS[1]))

    def parse_epsilon(self, given: Any, key: str = "epsilon", what: str = "epsilon") -> Exact:
        """Read an epsilon: 0, infinity, or a number of a sane size; divided by `rows_each`."""
        if isinstance(given, (dict, list)):
            raise self.error(f"{what} is one number here", key, ["epsilon = 1.0"])
        if isinstance(given, (int, Decimal)) and not isinstance(given, bool) and given in (0, math.inf):
            return math.inf if given else Fraction(0)
        hints: list[Hint | str] = [("epsilon = 1.0", ""), ("epsilon = inf", "for public")]
        limits = (max(EPSILONS[0], Fraction(self.rows_each, 10**9)), EPSILONS[1])
        return self.number(given, key, what, limits, hints) / self.rows_each

    def epsilon(self) -> Exact:
        """Read the attribute's epsilon."""
        return self.parse_epsilon(self["epsilon"])

    def cap(self, epsilon: Exact, step: Exact = 0) -> Fraction | None:
        """Read `max_epsilon`, the cap of all distances; `step` is the smallest distance of two values, if known."""
        if "max_epsilon" not in self:
            return None
        cap = self.parse_epsilon(self["max_epsilon"], "max_epsilon", "max_epsilon")
        if not 0 < cap < math.inf or epsilon == 0:
            raise self.error("max_epsilon must be positive and finite", "max_epsilon", ["max_epsilon = 3"])
        if cap < step:
            raise self.error(
                f"max_epsilon is below one step (ε {float(step * self.rows_each):.4g}): per would mean nothing",
                "max_epsilon",
                [
                    (f"max_epsilon = {float(3 * step * self.rows_each):.4g}", "more than one step"),
                    ("values = […]", "the same ε for every two values"),
                ],
            )
        return Fraction(cap)

    def per(self, hint: Hint) -> Any:
        """Return the value of `per`; refuse a table without it."""
        if "per" not in self:
            hints: list[Hint | str] = [(f"add   {hint[0]}".ljust(28), hint[1])]
            raise self.error(f"{self.name} has a distance but no unit", "epsilon", hints)
        return self["per"]

    def number(
        self,
        given: Any,
        key: str,
        what: str = "",
        limits: tuple[Fraction, Fraction] = LENGTHS,
        hints: Iterable[Hint | str] = (),
    ) -> Fraction:
        """Read an exact number within limits."""
        what = what or key
        wrong = ""
        if isinstance(given, str):
            wrong = f"{what} is the text {given[:40]!r}; a number is written without quotes"
        elif isinstance(given, bool) or not isinstance(given, (int, Decimal)):
            wrong = f"{what} is {str(given)[:40]}; a number is needed"
        if not wrong:
            try:
                number = Fraction(exact(given, what=what))
            except UsageError as error:
                wrong = error.what
            else:
                if limits[0] <= number <= limits[1]:
                    return number
                sign = "positive" if number <= 0 < limits[0] else f"from {_power(limits[0])} to {_power(limits[1])}"
                wrong = f"{what} is {given}; it must be {sign}"
        raise self.error(wrong, key, hints)

    def length(self, given: Any, key: str, units: Mapping[str, Fraction], example: str) -> Fraction:
        """Read a length with its unit, such as "100 km" or "7 days"."""
        text = given if isinstance(given, str) else ""
        match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?|\.[0-9]+)\s*([A-Za-z]+)\s*", text)
        if match is None or match.group(2) not in units:
            kind = "a time" if units.keys() & {"days", "months", "hours"} else "a distance"
            raise self.error(
                f"{key} is {str(given)[:40]!r}; {kind} with its unit is needed",
                key,
                [f'{key} = "{example}"', f"units: {', '.join(u for u in units if u not in ('mi', 'mile'))}"],
            )
        number = self.number(Decimal(match.group(1)), key, key, LENGTHS, [f'{key} = "{example}"'])
        return number * units[match.group(2)]


def _power(limit: Fraction) -> str:
    return re.sub(r"e([+-])0*", lambda m: "e" + m[1].strip("+"), f"{float(limit):g}")


def divide(epsilon: Exact, unit: Fraction) -> Exact:
    """Return epsilon per unit."""
    return math.inf if epsilon == math.inf else Fraction(epsilon) / unit
