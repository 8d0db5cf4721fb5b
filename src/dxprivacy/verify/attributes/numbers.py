"""Numbers in half-open cells."""

from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

from dxprivacy.verify import reading
from dxprivacy.verify.attributes.base import OTHER, require_size, two
from dxprivacy.verify.attributes.ranged import Ranged
from dxprivacy.verify.orders import CellOrder
from dxprivacy.verify.reading import decimal, refuse
from dxprivacy.verify.words import number_text

_BIN_VALUES = {"low": Fraction(0), "middle": Fraction(1, 2), "high": Fraction(1)}  # from the start, in steps


class Numbers(Ranged):
    """Numbers in half-open cells."""

    optional = ("bin_value",)
    in_cells = True

    def __init__(self, spec: dict[str, Any], where: str) -> None:
        super().__init__(spec, where, ("range", "step", "outside"))
        self.low, self.high = two(spec["range"], where, reading.fraction)
        self.step = reading.positive(spec["step"], where)
        if spec["outside"] not in ("clamp", OTHER):
            raise refuse("outside is neither clamp nor other", where)
        self.clamp = spec["outside"] == "clamp"
        self.bin_value = spec.get("bin_value", "middle")
        if self.bin_value not in _BIN_VALUES or spec.get("bin_value") == "middle":
            raise refuse("bin_value is neither low nor high", where)
        cells = (self.high - self.low) / self.step
        if cells.denominator != 1:
            raise refuse("the range is no whole number of steps", where)
        self.listed = int(cells)
        require_size(self.listed, where)

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        """Of the first and the last cell."""
        return self.low, self.high

    @cached_property
    def numbers(self) -> Sequence[Fraction]:  # type: ignore[override]
        """What each cell counts as."""
        return [self.low + (k + _BIN_VALUES[self.bin_value]) * self.step for k in range(self.listed)]

    def hides(self, name: str) -> tuple[Fraction, Fraction]:  # noqa: ARG002
        below = _BIN_VALUES[self.bin_value] * self.step
        return below, self.step - below

    @cached_property
    def _edges(self) -> list[float]:
        return [float(self.low + k * self.step) for k in range(self.listed + 1)]

    def label(self, index: int) -> str:
        return f"{number_text(self.low + index * self.step)} to {number_text(self.low + (index + 1) * self.step)}"

    def place(self, written: str) -> int | None:
        read = decimal(written)
        if read is None:
            return None
        x, first, last = float(read), self._edges[0], self._edges[-1]
        if self.clamp:
            x = min(max(x, first), last)
        return min(bisect_right(self._edges, x) - 1, self.listed - 1) if first <= x <= last else None

    def order(self, where: str) -> CellOrder:
        return CellOrder(where, self.name, self.low, self.high, self.step)

    @property
    def cells(self) -> "Numbers":
        return self
