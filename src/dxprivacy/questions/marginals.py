"""Marginals: all tables of so many attributes, of all there are or of some that are named."""

import re
from dataclasses import dataclass
from itertools import combinations

from dxprivacy.errors import QuestionError
from dxprivacy.model.blocks import Block
from dxprivacy.model.universe import Universe
from dxprivacy.model.workload import Answer, Workload
from dxprivacy.questions.counts import Count, answers_of
from dxprivacy.questions.grouped import Grouped
from dxprivacy.questions.question import Question


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
        answers: list[Answer] = []
        blocks: list[Block] = []
        rows = 0
        for names in combinations(among, order):
            table = Grouped.of(Count(by=names, within=self.within), universe)
            blocks.append(table.block())
            answers += answers_of(table, first=rows, called=f"{', '.join(names)}: ")
            rows += blocks[-1].rows
        return Workload(universe, tuple(blocks), tuple(answers), (str(self),))
