"""Marginals: all tables of so many attributes."""

import re
from dataclasses import dataclass, replace
from itertools import combinations

from dxprivacy.errors import QuestionError
from dxprivacy.model.universe import Universe
from dxprivacy.model.workload import Workload, stack
from dxprivacy.questions.counts import Count
from dxprivacy.questions.question import Question


@dataclass(frozen=True)
class Marginals(Question):
    """All tables of so many attributes, as `of` says."""

    ask = "marginals"
    whole = True

    def names(self, universe: Universe) -> list[str]:
        """All attributes."""
        return list(universe.names)

    def rows_on(self, universe: Universe) -> Workload:
        """Table after table."""
        order = int(self.of) if re.fullmatch("[0-9]{1,9}", self.of) else 0  # isdigit() is also true of ²
        if not 1 <= order <= len(universe.attributes):
            raise QuestionError(
                f"{self.of}-way tables of {len(universe.attributes)} attributes do not exist",
                where=f"question “{self}”",
            )
        chosen = combinations(universe.names, order)
        tables = [Count(by=names, within=self.within).rows_on(universe) for names in chosen]
        whole = stack(tables)
        answers = tuple(
            replace(a, question=0, label=f"{', '.join(_by(tables, a.question))}: {a.label}") for a in whole.answers
        )
        return Workload(universe, whole.blocks, answers, (str(self),))


def _by(tables: list[Workload], question: int) -> tuple[str, ...]:
    return tuple(tables[question].universe.names[axis] for axis in tables[question].blocks[0].axes)
