"""The order of named values: what groups, edges and ranges of `never`, `rarely`, `often` mean.

Values stand at their ranks 0, 1, 2, …, whatever their distances are; groups are called by the names at their ends.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from functools import cached_property

import numpy as np

from dxprivacy.errors import QuestionError, UsageError, did_you_mean
from dxprivacy.exact.evenly import Evenly
from dxprivacy.exact.rounding import exact, number_text
from dxprivacy.universe.ordering.order import Places, Scale
from dxprivacy.universe.ordering.range_ends import End


def from_to(first: str, last: str) -> str:
    """What the values from one name to another are called.

    >>> from_to("never", "often"), from_to("never", "never")
    ('never to often', 'never')
    """
    return first if first == last else f"{first} to {last}"


@dataclass(frozen=True)
class Ranks(Scale):
    """Named values in an order.

    >>> ranks = Ranks("smoking", ("never", "rarely", "often"))
    >>> list(ranks.inside("rarely", "often")), ranks.steps("2")[1]
    ([1, 2], ['never to rarely', 'often'])
    """

    name: str
    values: tuple[str, ...]

    @property
    def example(self) -> str:  # type: ignore[override]
        return ",".join(dict.fromkeys((self.values[0], self.values[len(self.values) // 2])))

    @cached_property
    def starts(self) -> Evenly:  # type: ignore[override]
        return Evenly(Fraction(0), Fraction(1), len(self.values))

    @cached_property
    def _rank(self) -> dict[str, int]:
        return {value: k for k, value in enumerate(self.values)}

    @cached_property
    def _rank_of_number(self) -> dict[Fraction, list[int]]:
        """The values that are numbers, however they are written."""
        found: dict[Fraction, list[int]] = {}
        for k, value in enumerate(self.values):
            try:
                found.setdefault(Fraction(exact(value)), []).append(k)
            except UsageError:
                continue
        return found

    def read(self, written: End) -> Fraction:
        """The rank of a name; a number stands for the value that is written so, or else for the only one that is it."""
        text = number_text(written) if isinstance(written, Fraction) else str(written)
        rank = self._rank.get(text)
        if rank is None and isinstance(written, Fraction) and len(alike := self._rank_of_number.get(written, [])) == 1:
            rank = alike[0]
        if rank is None:
            hints = did_you_mean(text, self.values) or [(f"{self.name}={self.values[0]}..{self.values[-1]}", "")]
            if isinstance(written, date):
                hints = [(f"{self.name}=…|…", "lists values that look like days one by one")]
            raise QuestionError(f"{self.name} has no value {text[:60]!r}", hints=hints)
        return Fraction(rank)

    def label(self, low: Fraction, high: Fraction | None) -> str:
        return from_to(self.values[int(low)], self.values[-1 if high is None else int(high) - 1])

    def inside(self, low: End, high: End) -> Sequence[int]:
        """The two and all between them, whichever comes first."""
        first, last = sorted((self.read(low), self.read(high)))
        return range(int(first), int(last) + 1)

    def steps(self, width: str) -> tuple[Places, list[str]]:
        """So many neighbors together, from the first one on."""
        size = int(width) if re.fullmatch("[0-9]{1,9}", width) else 0
        if size < 1:
            raise QuestionError(
                f"cannot group {self.name} by “{width}”",
                hints=[(f"{self.name}/2", "two neighbors together"), f"{self.name}[{self.example}]"],
            )
        listed = len(self.values)
        starts = range(0, listed, size)
        labels = [from_to(self.values[k], self.values[min(k + size, listed) - 1]) for k in starts]
        return np.arange(listed, dtype=np.int64) // size, labels
