"""Times of day."""

from fractions import Fraction
from typing import Any

from dxprivacy.verify import reading
from dxprivacy.verify.attributes.base import Attribute, two
from dxprivacy.verify.orders import ClockOrder, Condition
from dxprivacy.verify.reading import decimal, refuse
from dxprivacy.verify.words import clock, clock_text


class Times(Attribute):
    """Half-open cells of times of day, in seconds since midnight."""

    several_formats = True

    def __init__(self, spec: dict[str, Any], where: str) -> None:
        super().__init__(spec, where, ("range", "step", "timezone"))
        reading.text(spec["timezone"], f"{where} timezone")
        self.low, self.high = two(spec["range"], where, reading.whole)
        self.step = reading.whole(spec["step"], f"{where} step", 1)
        if not 0 <= self.low < self.high <= 86_400 or (self.high - self.low) % self.step:
            raise refuse("is no whole number of steps of a day", where)
        self.listed = (self.high - self.low) // self.step

    def _at(self, index: int) -> Fraction:
        return Fraction(self.low + index * self.step, 3600)

    @property
    def limits(self) -> tuple[str, str] | None:
        if (self.low, self.high) == (0, 86_400):
            return None
        return clock_text(self._at(0)), clock_text(self._at(self.listed))

    def label(self, index: int) -> str:
        return f"{clock_text(self._at(index))}–{clock_text(self._at(index + 1))}"

    def place(self, written: str) -> int | None:
        """By a time in the cell, by hours, or by the label."""
        first, dash, _ = written.partition("–")
        hours = clock(first)
        hours = decimal(first) if hours is None else hours
        index = -1 if hours is None else int((hours * 3600 - self.low) // self.step)
        if not 0 <= index < self.listed or (dash and written != self.label(index)):
            return None
        return index

    def order(self, where: str) -> ClockOrder:
        return ClockOrder(where, self.name, self._at(0), self._at(self.listed), Fraction(self.step, 3600))

    def told(self, name: str, condition: Condition, where: str) -> str:
        """By cells."""
        if not isinstance(condition, tuple):
            found = sorted({self.find(text, where) for text in condition})
            return f"{name} {' or '.join(map(self.show, found))}"
        ends = [self.order(where).read(end) for end in condition]
        inside = [min(max(end, self._at(0)), self._at(self.listed)) for end in ends]
        return f"{name} {'–'.join(map(clock_text, inside))}"
