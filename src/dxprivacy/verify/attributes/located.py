"""Places that rows find by two columns of coordinates: the nearest of a list, or the cells of a grid."""

import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from dxprivacy.verify import reading
from dxprivacy.verify.attributes.base import Attribute, Property
from dxprivacy.verify.attributes.points import Points
from dxprivacy.verify.orders import Condition, SideOrder
from dxprivacy.verify.reading import decimal, refuse
from dxprivacy.verify.words import number_text, rough_text

_MOST_CELLS = 250_000
_EXACT = 1 << 100
_NAMES = {True: ("latitude", "longitude"), False: ("x", "y")}


def _two_columns(spec: dict[str, Any], where: str) -> None:
    columns = reading.each(spec["columns"], f"{where} columns", reading.text)
    if len(columns) != 2 or len(set(columns)) != 2 or not all(column.strip() for column in columns):
        raise refuse("needs two columns of coordinates", where)


class Nearest(Points):
    """Listed places; which one is nearest concerns those who count, not those who verify."""

    optional = ("columns", "earth", "reach")

    def __init__(self, spec: dict[str, Any], where: str) -> None:
        super().__init__(spec, where)
        if not all(key in spec for key in self.optional):
            raise refuse("does not say how places are found", where)
        _two_columns(spec, where)
        self.earth = earth = reading.flag(spec["earth"], f"{where} earth")
        self.reach = None if spec["reach"] is None else reading.positive(spec["reach"], f"{where} reach")
        rows = reading.coordinates(spec["coordinates"], where)
        if len(rows[0]) != 2:
            raise refuse("has places that are not found by two numbers", where)
        named = {fact.name for fact in self.properties}
        own = [Property(name, [_shortest(row[k]) for row in rows]) for k, name in enumerate(_NAMES[earth])]
        self._own = {fact.name for fact in own} - named
        self.properties = [*(fact for fact in own if fact.name in self._own), *self.properties]

    def stands_for(self, fact: str) -> str:
        """Coordinates are those of the list."""
        if fact not in self._own:
            return ""
        far = "" if self.reach is None else f", at most {number_text(self.reach)}{' km' if self.earth else ''} away"
        return f"that of the nearest listed place{far}"


def _shortest(number: Any) -> str:
    """The fewest digits that tell a float64 from all others, without an exponent."""
    value = float(number)
    return str(int(value)) if value == math.floor(value) else format(Decimal(repr(value)), "f")


class Grid(Attribute):
    """The cells of a box, called by their middles."""

    def __init__(self, spec: dict[str, Any], where: str) -> None:
        super().__init__(spec, where, ("columns", "box", "cells", "earth"))
        _two_columns(spec, where)
        self.earth = earth = reading.flag(spec["earth"], f"{where} earth")
        box = reading.each(spec["box"], f"{where} box", reading.fraction)
        cells = reading.each(spec["cells"], f"{where} cells", lambda x, w: reading.whole(x, w, 1, _MOST_CELLS))
        if len(box) != 4 or len(cells) != 2 or not (box[0] < box[2] and box[1] < box[3]):
            raise refuse("is no box of cells", where)
        step = [(box[2] - box[0]) / cells[0], (box[3] - box[1]) / cells[1]]
        whole = math.lcm(*(x.denominator for x in (*box, *step)))
        if whole >= _EXACT or any(abs(x) * whole >= _EXACT for x in box):
            raise refuse("its box has too many digits for its cells", where)
        if earth and (max(abs(box[0]), abs(box[2])) > 90 or max(abs(box[1]), abs(box[3])) > 360):
            raise refuse("its box is none of latitudes and longitudes", where)
        self.listed = cells[0] * cells[1]
        if self.listed > _MOST_CELLS:
            raise refuse("has too many cells", where)
        self._sides = [(box[0], box[2], cells[0]), (box[1], box[3], cells[1])]
        self._texts = [_middles(*side) for side in self._sides]
        self.box = box
        first, second = self._texts
        self.coordinates = [[float(Fraction(a)), float(Fraction(b))] for a in first for b in second]
        columns = [text for text in first for _ in second], second * len(first)
        self.properties = [Property(name, texts) for name, texts in zip(_NAMES[earth], columns, strict=True)]

    def label(self, index: int) -> str:
        row, column = divmod(index, len(self._texts[1]))
        return f"{self._texts[0][row]}, {self._texts[1][column]}"

    def place(self, written: str) -> int | None:
        """Two decimal numbers with a comma between them, in float64, each in its half-open step of a side."""
        numbers = [decimal(part) for part in written.split(",")]
        if len(numbers) != 2:
            return None
        index = 0
        for number, (low, high, steps) in zip(numbers, self._sides, strict=True):
            step = None if number is None else _step(float(number), low, high, steps)
            if step is None:
                return None
            index = index * steps + step
        return index

    def told(self, name: str, condition: Condition, where: str) -> str | None:
        """By the cells that coordinates lie in."""
        if isinstance(condition, tuple):
            return None
        return f"{name} {' or '.join(map(self.show, sorted({self.find(text, where) for text in condition})))}"

    def unit_of(self, fact: str) -> str:
        return f"{self.name}.{fact}"

    def _side(self, fact: str) -> int:
        return _NAMES[self.earth].index(fact)

    def order_of(self, fact: str, where: str) -> SideOrder:
        """The steps of a side, from which nothing cuts a part."""
        which, columns = self._side(fact), len(self._texts[1])
        places = [divmod(k, columns)[which] for k in range(self.listed)]
        return SideOrder(f"{self.name}.{fact}", self._sides[which], places, where)

    def told_of(self, fact: str, name: str, condition: Condition, where: str) -> str | None:
        """A range from one end of a step to below another."""
        return f"{name} {self.order_of(fact, where).told(*condition)}" if isinstance(condition, tuple) else None

    def hides(self, name: str) -> tuple[Fraction, Fraction]:
        """Half a step, and a fortieth, by which a middle may be rounded."""
        if name not in _NAMES[self.earth]:
            return super().hides(name)
        low, high, steps = self._sides[self._side(name)]
        most = (high - low) / steps * Fraction(21, 40)
        return most, most

    def counts_as(self, name: str) -> tuple[str, str, str] | None:
        if name not in _NAMES[self.earth]:
            return None
        low, high, steps = self._sides[self._side(name)]
        return "middle", rough_text((high - low) / steps), rough_text(self.hides(name)[0])


def _step(number: float, low: Fraction, high: Fraction, steps: int) -> int | None:
    """In which of equal steps a number lies; the last one has both ends."""

    def edge(k: int) -> float:
        return float(low + k * (high - low) / steps)

    if not edge(0) <= number <= edge(steps):
        return None
    guess = min(max(int((Fraction(number) - low) * steps / (high - low)), 0), steps - 1)
    near: Sequence[int] = range(max(guess - 1, 0), min(guess + 2, steps))
    return max(k for k in near if edge(k) <= number)


def _middles(low: Fraction, high: Fraction, steps: int) -> list[str]:
    """The middle of each step, with the fewest decimals of which a unit is a twentieth of the step or less."""
    step, scale = (high - low) / steps, 1
    while step * scale < 20:
        scale *= 10
    return [number_text(Fraction(round((low + k * step + step / 2) * scale), scale)) for k in range(steps)]
