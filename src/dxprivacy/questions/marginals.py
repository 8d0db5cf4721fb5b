"""Marginals: all tables of so many attributes, of all there are or of some that are named."""

import re
from dataclasses import dataclass
from itertools import combinations

from dxprivacy.errors import QuestionError
from dxprivacy.exact.values import changed
from dxprivacy.model.universe import Universe
from dxprivacy.model.workload import Workload, stack
from dxprivacy.questions.counts import Count
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
        chosen = list(combinations(among, order))
        tables = [Count(by=names, within=self.within).rows_on(universe) for names in chosen]
        whole = stack(tables)
        answers = tuple(
            changed(a, question=0, label=f"{', '.join(chosen[a.question])}: {a.label}") for a in whole.answers
        )
        return Workload(universe, whole.blocks, answers, (str(self),))
