"""Marginals (all k-way tables of all attributes or of named ones), prefixes and ranges."""

import re
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations

import numpy as np

from dxprivacy.errors import QueryError
from dxprivacy.queries.grouped import MAX_ROWS, Grouped, in_groups
from dxprivacy.queries.grouping import group
from dxprivacy.queries.kinds.counts import Count, answers_of
from dxprivacy.queries.query import Query
from dxprivacy.universe.answers import Linear
from dxprivacy.universe.blocks import AlongAxis, Block
from dxprivacy.universe.universe import Universe
from dxprivacy.universe.workload import Answer, Workload

# -- Prefixes and ranges: counts of intervals of an ordered attribute --------------------------------------------------


MAX_RANGES = 300


@dataclass(frozen=True)
class Intervals(Query):
    """Base of counts of intervals of an ordered attribute."""

    whole = True

    @abstractmethod
    def spans(self, values: int) -> list[tuple[int, int]]:
        """Return the first and last value of each interval."""

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
    """Counts from the first value up to each value."""

    ask = "prefixes"

    def spans(self, values: int) -> list[tuple[int, int]]:
        return [(0, k) for k in range(values)]


@dataclass(frozen=True)
class Ranges(Intervals):
    """Counts between any two values."""

    ask = "ranges"

    def spans(self, values: int) -> list[tuple[int, int]]:
        if values > MAX_RANGES:
            raise QueryError(
                f"all ranges of {values:,} values are too many",
                where=f"query “{self}”",
                hints=[(f"{self.ask} {self.of}/10", "fewer, wider steps"), "prefixes"],
            )
        return [(a, b) for a in range(values) for b in range(a, values)]


# -- Marginals ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Marginals(Query):
    """All k-way tables, k given by `of`; `by` restricts the attributes, possibly in groups such as age/10."""

    ask = "marginals"
    whole = True
    listing = "of"

    def names(self, universe: Universe) -> list[str]:
        return super().names(universe) if self.by else list(universe.names)

    def rows_on(self, universe: Universe) -> Workload:
        order = int(self.of) if re.fullmatch("[0-9]{1,9}", self.of) else 0  # isdigit() is also true of ²
        among = self.by or universe.names
        if not 1 <= order <= len(among):
            raise QueryError(
                f"{self.of}-way tables of {len(among)} attributes do not exist",
                where=f"query “{self}”",
            )
        self._require_few([len(group(name, universe).labels) for name in among], order)
        answers: list[Answer] = []
        blocks: list[Block] = []
        rows = 0
        for names in combinations(among, order):
            table = Grouped.of(Count(by=names, within=self.within), universe)
            blocks.append(table.block())
            in_order = sorted(zip((g.axis for g in table.groupings), names, strict=True))  # the labels' order
            answers += answers_of(table, first=rows, called=f"{', '.join(name for _, name in in_order)}: ")
            rows += blocks[-1].rows
        return Workload(universe, tuple(blocks), tuple(answers), (str(self),))

    def _require_few(self, sizes: Sequence[int], order: int) -> None:
        """Refuse more answers than one query may have; computed from the sizes alone."""
        totals = [1, *[0] * order]  # answers in all 0-way, 1-way, … tables of the attributes so far
        for size in sizes:
            for k in range(order, 0, -1):
                totals[k] += totals[k - 1] * size
        if totals[order] > MAX_ROWS:
            raise QueryError(
                f"{totals[order]:,} answers are more than {MAX_ROWS:,}",
                where=f"query “{self}”",
                hints=[
                    (f"marginals {self.of} of …", "names those that matter, in groups where that is enough: age/10")
                ],
            )
