"""Counts: how many records are in each group."""

from dataclasses import dataclass
from fractions import Fraction

from dxprivacy.exact.values import changed
from dxprivacy.model.recipes import Linear
from dxprivacy.model.universe import Universe
from dxprivacy.model.workload import Answer, Workload
from dxprivacy.questions.grouped import Grouped
from dxprivacy.questions.question import Question


@dataclass(frozen=True)
class Count(Question):
    """How many records fulfil the conditions, possibly by groups."""

    ask = "count"
    takes_of = False

    def rows_on(self, universe: Universe) -> Workload:
        found = Grouped.of(self, universe)
        found.require_unit("")
        first = Answer("", 0, Linear(0, Fraction(1)), "", self.within)
        answers = [changed(first, label=label, recipe=first.recipe.moved(k)) for k, label in enumerate(found.labels)]
        return Workload(universe, (found.block(),), found.in_groups(answers), (str(self),))
