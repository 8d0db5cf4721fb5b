"""Prefixes and ranges: counts of intervals of an ordered attribute."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dxprivacy.errors import QuestionError
from dxprivacy.model.blocks import AlongAxis
from dxprivacy.model.recipes import Linear
from dxprivacy.model.universe import Universe
from dxprivacy.model.workload import Answer, Workload
from dxprivacy.questions.grouped import in_groups
from dxprivacy.questions.grouping import group
from dxprivacy.questions.question import Question

MAX_RANGES = 300


@dataclass(frozen=True)
class Intervals(Question):
    """Counts of intervals of an ordered attribute."""

    whole = True

    @abstractmethod
    def spans(self, values: int) -> list[tuple[int, int]]:
        """The intervals, by their first and last value."""

    def grouped(self) -> tuple[str, ...]:
        """What is ordered."""
        return (self.of,)

    def rows_on(self, universe: Universe) -> Workload:
        """A row for each interval."""
        grouping = group(self.of, universe)
        spans = self.spans(len(grouping.labels))
        groups = grouping.groups
        matrix = np.array([(groups >= a) & (groups <= b) for a, b in spans], dtype=np.int64)
        block = AlongAxis(universe, grouping.axis, matrix)
        labels = [joined(grouping.labels[a], grouping.labels[b]) for a, b in spans]
        answers = [Answer(label, 0, Linear(k, Fraction(1)), "", self.within) for k, label in enumerate(labels)]
        spanned = replace(grouping, labels=tuple(labels))
        return Workload(universe, (block,), in_groups(answers, [spanned], universe), (str(self),))


@dataclass(frozen=True)
class Prefixes(Intervals):
    """From the first value up to each."""

    ask = "prefixes"

    def spans(self, values: int) -> list[tuple[int, int]]:
        """As many as there are values."""
        return [(0, k) for k in range(values)]


@dataclass(frozen=True)
class Ranges(Intervals):
    """Between any two values."""

    ask = "ranges"

    def spans(self, values: int) -> list[tuple[int, int]]:
        """All of them."""
        if values > MAX_RANGES:
            raise QuestionError(
                f"all ranges of {values:,} values are too many",
                where=f"question “{self}”",
                hints=[(f"{self.ask} {self.of}/10", "fewer, wider steps"), "prefixes"],
            )
        return [(a, b) for a in range(values) for b in range(a, values)]


def joined(first: str, last: str) -> str:
    """`0–9` and `30–39` together are `0–39`; with `65+` they are `0+`; so are `0 to 10` and `10 to 20`."""
    if first == last:
        return first
    if " to " in first and last.endswith("+"):
        return f"{first.partition(' to ')[0]}+"
    if " to " in first and " to " in last:
        return f"{first.partition(' to ')[0]} to {last.partition(' to ')[2]}"
    start = first.partition("–")[0]
    return f"{start}+" if last.endswith("+") else f"{start}–{last.rpartition('–')[2]}"
