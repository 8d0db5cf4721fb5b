"""Marginals: all tables of so many attributes, of all there are or of some that are named."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from dxprivacy.errors import QuestionError
from dxprivacy.queries.grouped import MAX_ROWS, Grouped
from dxprivacy.queries.grouping import group
from dxprivacy.queries.kinds.counts import Count, answers_of
from dxprivacy.queries.query import Question
from dxprivacy.universe.blocks import Block
from dxprivacy.universe.universe import Universe
from dxprivacy.universe.workload import Answer, Workload


@dataclass(frozen=True)
class Marginals(Question):
    """All tables of so many attributes, as `of` says; `by` names those to choose from, in groups where it says so."""

    ask = "marginals"
    whole = True
    listing = "of"

    def names(self, universe: Universe) -> list[str]:
        return super().names(universe) if self.by else list(universe.names)

    def rows_on(self, universe: Universe) -> Workload:
        order = int(self.of) if re.fullmatch("[0-9]{1,9}", self.of) else 0  # isdigit() is also true of ²
        among = self.by or universe.names
        if not 1 <= order <= len(among):
            raise QuestionError(
                f"{self.of}-way tables of {len(among)} attributes do not exist",
                where=f"question “{self}”",
            )
        self._require_few([len(group(name, universe).labels) for name in among], order)
        answers: list[Answer] = []
        blocks: list[Block] = []
        rows = 0
        for names in combinations(among, order):
            table = Grouped.of(Count(by=names, within=self.within), universe)
            blocks.append(table.block())
            in_order = sorted(zip((g.axis for g in table.groupings), names, strict=True))  # as labels have their values
            answers += answers_of(table, first=rows, called=f"{', '.join(name for _, name in in_order)}: ")
            rows += blocks[-1].rows
        return Workload(universe, tuple(blocks), tuple(answers), (str(self),))

    def _require_few(self, sizes: Sequence[int], order: int) -> None:
        """Refuse more answers than one question may have, from the sizes alone."""
        totals = [1, *[0] * order]  # of the tables of 0, 1, … of the attributes so far
        for size in sizes:
            for k in range(order, 0, -1):
                totals[k] += totals[k - 1] * size
        if totals[order] > MAX_ROWS:
            raise QuestionError(
                f"{totals[order]:,} answers are more than {MAX_ROWS:,}",
                where=f"question “{self}”",
                hints=[
                    (f"marginals {self.of} of …", "names those that matter, in groups where that is enough: age/10")
                ],
            )
