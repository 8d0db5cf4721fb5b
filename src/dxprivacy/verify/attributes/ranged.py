"""What whole numbers and numbers in cells have in common: two ends, and how a condition on them is told."""

from abc import abstractmethod
from fractions import Fraction
from typing import ClassVar

from dxprivacy.verify.attributes.base import Attribute
from dxprivacy.verify.orders import Condition
from dxprivacy.verify.words import number_text


class Ranged(Attribute):
    """Numbers from one end to another."""

    step: Fraction = Fraction(1)
    in_cells: ClassVar[bool] = False

    @property
    @abstractmethod
    def ends(self) -> tuple[Fraction, Fraction]:
        """The least and the largest number."""

    @property
    def limits(self) -> tuple[str, str]:
        return number_text(self.ends[0]), number_text(self.ends[1])

    @property
    def range(self) -> str:
        return "..".join(map(number_text, self.ends))

    def told(self, name: str, condition: Condition, where: str) -> str | None:
        """In cells, and with all that lies beyond an end."""
        if not (self.in_cells or self.clamp):
            return None
        if isinstance(condition, tuple):
            low, high = (min(max(x, self.ends[0]), self.ends[1]) for x in condition if isinstance(x, Fraction))
            return f"{name} {self._from_to(low, high)}"
        found = sorted({self.find(text, where) for text in condition})
        width = self.step if self.in_cells else Fraction(0)
        starts = [self.ends[0] + k * self.step for k in found]
        told = [
            "other" if k == self.listed else self._from_to(start, start + width)
            for k, start in zip(found, starts, strict=True)
        ]
        return f"{name} {' or '.join(told)}"

    def _from_to(self, low: Fraction, high: Fraction) -> str:
        """Of cells half open, but for the last one; where the range clamps, without its own ends."""
        first, last = low <= self.ends[0] and self.clamp, high >= self.ends[1]
        if last and self.clamp:
            return "any number" if first else f"{number_text(low)} or more"
        if first:
            return f"below {number_text(high)}" if self.in_cells else f"{number_text(high)} or less"
        if low == high:
            return number_text(low)
        return f"{number_text(low)} to {'below ' if self.in_cells and not last else ''}{number_text(high)}"
