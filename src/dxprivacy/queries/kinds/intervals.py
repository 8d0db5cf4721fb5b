"""Prefixes and ranges: counts of intervals of an ordered attribute."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dxprivacy.errors import QuestionError
from dxprivacy.queries.grouped import in_groups
from dxprivacy.queries.grouping import group
from dxprivacy.queries.query import Question
from dxprivacy.universe.answers import Linear
from dxprivacy.universe.blocks import AlongAxis
from dxprivacy.universe.universe import Universe
from dxprivacy.universe.workload import Answer, Workload

MAX_RANGES = 300


@dataclass(frozen=True)
class Intervals(Question):
    """Counts of intervals of an ordered attribute."""

    whole = True

    @abstractmethod
    def spans(self, values: int) -> list[tuple[int, int]]:
        """The intervals, by their first and last value."""

    def grouped(self) -> tuple[str, ...]:
        return (self.of,)

    def rows_on(self, universe: Universe) -> Workload:
        grouping = group(self.of, universe)
        spans = self.spans(len(grouping.labels))
        groups = grouping.groups
        matrix = np.array([(groups >= a) & (groups <= b) for a, b in spans], dtype=np.int64)
        block = AlongAxis(universe, grouping.axis, matrix)
        labels = [grouping.from_to(a, b) for a, b in spans]
        answers = [Answer(label, 0, Linear(k, Fraction(1)), "", self.within) for k, label in enumerate(labels)]
        spanned = replace(grouping, labels=tuple(labels))
        return Workload(universe, (block,), in_groups(answers, [spanned], universe), (str(self),))


@dataclass(frozen=True)
class Prefixes(Intervals):
    """From the first value up to each."""

    ask = "prefixes"

    def spans(self, values: int) -> list[tuple[int, int]]:
        return [(0, k) for k in range(values)]


@dataclass(frozen=True)
class Ranges(Intervals):
    """Between any two values."""

    ask = "ranges"

    def spans(self, values: int) -> list[tuple[int, int]]:
        if values > MAX_RANGES:
            raise QuestionError(
                f"all ranges of {values:,} values are too many",
                where=f"question “{self}”",
                hints=[(f"{self.ask} {self.of}/10", "fewer, wider steps"), "prefixes"],
            )
        return [(a, b) for a in range(values) for b in range(a, values)]
