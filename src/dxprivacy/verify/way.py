"""From the rows that were counted to those that were asked for: what all ways have in common."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction

from dxprivacy.verify.blocks import Block
from dxprivacy.verify.noise import Distribution
from dxprivacy.verify.queries import Asked
from dxprivacy.verify.universe import Universe

Row = int | float | Fraction


class Way(ABC):
    """How rows that were asked for follow from those that were counted."""

    words = ""
    note = ""
    exact = True  # whether values and intervals follow without rounding
    rounded = False  # whether values do not
    largest = False  # whether not the sum of all rows' losses counts, but the largest

    def __init__(self, asked: Asked, counted: Asked, universe: Universe, scales: Sequence[float], edition: int) -> None:
        self.asked, self.counted, self.universe, self.scales = asked, counted, universe, scales
        self.edition = edition

    @abstractmethod
    def distributions(self) -> list[Distribution]:
        """The noise of each row that was asked for."""

    @abstractmethod
    def rows(self, noisy: Sequence[int], records: int) -> list[Row]:
        """The rows that were asked for."""

    def shifts(self) -> list[float]:
        """How far each is moved on purpose, per record."""
        return [0.0] * self.asked.rows


def rows_of(blocks: Sequence[Block]) -> list[int]:
    """The rows of some blocks, by their numbers."""
    return [row for block in blocks for row in range(block.first, block.first + block.rows)]
