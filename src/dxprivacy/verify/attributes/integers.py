"""Whole numbers."""

import re
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

from dxprivacy.verify import reading
from dxprivacy.verify.attributes.base import require_size, two
from dxprivacy.verify.attributes.ranged import Ranged
from dxprivacy.verify.reading import refuse


class Integers(Ranged):
    """Whole numbers."""

    optional = ("outside",)

    def __init__(self, spec: dict[str, Any], where: str) -> None:
        super().__init__(spec, where, ("range",))
        if spec.get("outside", "clamp") != "clamp":
            raise refuse("outside is not clamp", where)
        self.clamp = "outside" in spec
        self.low, self.high = two(spec["range"], where, reading.whole)
        self.listed = self.high - self.low + 1
        require_size(self.listed, where)

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        return Fraction(self.low), Fraction(self.high)

    @cached_property
    def numbers(self) -> Sequence[Fraction]:  # type: ignore[override]
        """The numbers themselves."""
        return [Fraction(v) for v in range(self.low, self.high + 1)]

    def label(self, index: int) -> str:
        return str(self.low + index)

    def place(self, written: str) -> int | None:
        if not re.fullmatch("[+-]?[0-9]{1,24}", written.strip()):
            return None
        value = int(written)
        if self.clamp:
            value = min(max(value, self.low), self.high)
        return value - self.low if self.low <= value <= self.high else None
