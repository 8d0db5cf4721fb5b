"""The components of a plan with consistent noise: counts nested in one another, stars of tables, or what has none.

Along one attribute, or over few cells, rows are nested (`universe/hierarchy.py`), and answers are sums of noisy cells.
Tables of several attributes come in stars: a table of one attribute, the margin, opens one, and the tables behind it
that belong to it have its attribute; their noises add up to that of the margin (docs/theorems.md).  What was asked is
then worked out by least squares, component by component of the tables (`optimize.tables`).  Rows that are neither keep
noise of their own, and what was asked follows by ordinary least squares.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dxprivacy.exact.arrays import Ints
from dxprivacy.universe.answers import Law
from dxprivacy.universe.hierarchy import Nest

DIGITS = 9  # of an estimate behind the point: the rest is rounding

Value = int | float | Fraction


class Part(ABC):
    """A component: which rows, by their numbers, and along which nests their noise is drawn."""

    whole: ClassVar[bool]  # whether answers are whole numbers, and add up
    most: float = 400.0  # the largest scale of a cell's noise: tables have a hundred times as many places

    def __init__(self, asked: Ints, counted: Ints) -> None:
        self.asked, self.counted = asked, counted

    @property
    @abstractmethod
    def nests(self) -> Sequence[tuple[Nest, Ints]]:
        """Nests that do not mind one another, each with the numbers of its rows."""

    @property
    def alone(self) -> Ints:
        """The rows whose noise is their own."""
        return np.zeros(0, dtype=np.int64)

    @abstractmethod
    def widest(self, scales: Sequence[float]) -> float:
        """The largest scale of single cells whose noise agrees, of those of all rows."""

    @abstractmethod
    def laws(self, scales: Sequence[float]) -> list[Law]:
        """Of each row that was asked for."""

    @abstractmethod
    def estimates(self, noisy: Ints, scales: Sequence[float], records: int) -> list[Value]:
        """Of each row that was asked for."""


def rounded(variance: float) -> float:
    """Late digits differ by rounding only: what is alike shall look so."""
    return float(f"{variance:.10g}")
