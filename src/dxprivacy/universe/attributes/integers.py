"""Integers of a range, such as an age."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from dxprivacy.errors import PolicyError
from dxprivacy.exact.answer_grid import Evenly
from dxprivacy.exact.rounding import is_whole
from dxprivacy.universe.attributes.attribute import OTHER, Attribute, Shared, as_text
from dxprivacy.universe.ordering.order_of_names import range_words, round_starts
from dxprivacy.universe.reading.codecs import WholeNumbers
from dxprivacy.universe.reading.text_formats import NumberFormat

_WHOLE = re.compile("[+-]?[0-9]{1,24}")  # `int` would also accept 1_000 and digits of other scripts


@dataclass(frozen=True, kw_only=True)
class Integers(Attribute):
    """Integers from `low` to `high`, both included; with `clamp`, those outside count as the nearest end.

    >>> age = Integers(name="age", low=0, high=120, unit="years")
    >>> age.encode([0, "17", 17.5, 200]).tolist()
    [0, 17, 121, 121]
    >>> age.needed
    'a whole number from 0 to 120'
    """

    low: int
    high: int
    clamp: bool = False
    kind: str = field(init=False, default="integers")
    unit_step = Fraction(1)

    def __post_init__(self) -> None:
        if any(not is_whole(x) for x in (self.low, self.high)):
            raise PolicyError(f"{self.name} needs two whole numbers", hints=["integers = [0, 120]"])
        if self.high < self.low:
            raise PolicyError(f"{self.name} runs from {self.low} to {self.high}, which is empty")
        if self.high - self.low >= 1 << 26 or max(abs(self.low), abs(self.high)) >= 1 << 53:
            raise PolicyError(f"{self.name} has more values than we can hold", hints=["use fewer, wider steps"])
        NumberFormat.of(self.format)
        super().__post_init__()

    @property
    def listed(self) -> int:
        return self.high - self.low + 1

    def label(self, index: int) -> str:
        return str(self.low + index) if index < self.listed else OTHER

    def find(self, value: object) -> int:
        if self.has_other and value == OTHER:
            return self.listed
        text = as_text(value).strip()
        number = int(text) if _WHOLE.fullmatch(text) else None
        if number is not None and self.clamp:
            number = min(max(number, self.low), self.high)
        if number is None or not self.low <= number <= self.high:
            raise self._unknown(value)
        return number - self.low

    @cached_property
    def codec(self) -> WholeNumbers:
        return WholeNumbers(self.low, self.high, self.clamp, self.format)

    @property
    def clamps(self) -> bool:
        return self.clamp

    def beyond(self, value: object) -> bool:
        """Return whether a value is an integer outside a clamped range."""
        text = as_text(value).strip()
        return self.clamp and bool(_WHOLE.fullmatch(text)) and not self.low <= int(text) <= self.high

    @cached_property
    def numbers(self) -> Evenly:
        return Evenly(Fraction(self.low), Fraction(1), self.listed)

    @property
    def span(self) -> tuple[Fraction, Fraction]:
        return Fraction(self.low), Fraction(self.high)

    @property
    def limits(self) -> tuple[str, str]:
        return str(self.low), str(self.high)

    @property
    def counts_more(self) -> bool:
        """True for a clamped range: its ends include all numbers beyond them."""
        return self.clamp

    def range_words(self, low: Fraction, high: Fraction) -> str:
        return range_words((low, high), self.span, clamp=self.clamp)

    def value_words(self, index: int) -> str:
        number = Fraction(self.low + index)
        return self.range_words(number, number) if index < self.listed else OTHER

    def shared_with(self, other: Attribute) -> Shared:
        """Compare two ranges by their ends; numbers of one version alone are returned as ranges."""
        if not isinstance(other, Integers):
            return super().shared_with(other)
        low, high = max(self.low, other.low), min(self.high, other.high)
        both = np.arange(low, max(high, low - 1) + 1, dtype=np.int64)
        return Shared(both - self.low, both - other.low, self._without(other), other._without(self))

    def _without(self, other: "Integers") -> tuple[str, ...]:
        ends = [(self.low, min(self.high, other.low - 1)), (max(self.low, other.high + 1), self.high)]
        return tuple(dict.fromkeys(f"{x}..{y}" if x < y else f"{x}" for x, y in ends if x <= y))

    def spec(self) -> dict[str, Any]:
        outside = {"outside": "clamp"} if self.clamp else {}
        return self._base_spec() | {"range": [self.low, self.high]} | outside

    @classmethod
    def own_arguments(cls, spec: Mapping[str, Any]) -> dict[str, Any]:
        low, high = spec["range"]
        return {"low": low, "high": high, "clamp": spec.get("outside") == "clamp"}

    @property
    def needed(self) -> str:
        return f"a whole number{'' if self.clamp else f' from {self.low:,} to {self.high:,}'}{self._written}"

    @property
    def bad_example(self) -> str:
        """The first number that is too large."""
        return f"{self.name} {self.high + 1}"

    @property
    def neighbors(self) -> str:
        return self.unit or "values"

    @property
    def length_unit(self) -> str:
        return self.unit

    def coarse(self, most: int) -> list[int]:
        """Return groups that start at round numbers."""
        return round_starts(float(self.low), 1.0, self.listed, most) or super().coarse(most)

    def stretch(self, first: int, last: int) -> str:
        return "" if first == last else f"{self.label(first)} – {self.label(last)}"
