"""Counts: how many records are in each group, or how many people."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from dxprivacy.errors import QuestionError
from dxprivacy.exact.numbers import number_text
from dxprivacy.model.blocks import PeopleTable
from dxprivacy.model.recipes import Linear
from dxprivacy.model.universe import Universe
from dxprivacy.model.workload import Answer, Workload
from dxprivacy.questions.grouped import Grouped
from dxprivacy.questions.lines import STRETCH
from dxprivacy.questions.question import Question
from dxprivacy.questions.soft_counts import soft_counts, soft_line


@dataclass(frozen=True)
class Count(Question):
    """How many records fulfil the conditions, possibly by groups; with a `blur`, borders between numbers are soft."""

    ask = "count"
    takes_of = False
    also = ("blur",)

    blur: Fraction | None = None

    def settled(self) -> "Count":
        if self.blur is not None and self.blur < 0:
            raise QuestionError("a blur is not negative", hints=[("blur 0", "borders as they are")])
        return replace(self, blur=None) if self.blur == 0 else self

    def remarks(self, universe: Universe) -> list[str]:
        """How far soft borders reach."""
        if self.blur is None:
            return []
        ref = soft_line(self, Grouped.of(self, universe)).ref
        wide = f"{number_text(STRETCH / 2 * self.blur)} {ref.unit}".rstrip()
        about = f"who is within {wide} of a border counts in part on both sides; intervals are for these counts"
        return [f"{self.name}: {about}"]

    def rows_on(self, universe: Universe) -> Workload:
        found = Grouped.of(self, universe)
        found.require_unit("")
        if self.blur is not None:
            return soft_counts(self, found, self.blur)
        return Workload(universe, (found.block(),), tuple(answers_of(found)), (str(self),))


@dataclass(frozen=True)
class CountPeople(Question):
    """How many people have at least one row that fulfils the conditions, possibly by groups; of those that are kept."""

    ask = "people"
    said = "count people"
    takes_of = False

    def rows_on(self, universe: Universe) -> Workload:
        if universe.people is None:
            raise QuestionError(
                "people are counted where they may have several rows",
                where=f"question “{self}”",
                hints=[("count", "counts records"), ('[people] key = "patient"', "in the policy: whose row it is")],
            )
        found = Grouped.of(self, universe)
        found.require_unit("")
        return Workload(universe, (PeopleTable(found.block()),), tuple(answers_of(found)), (str(self),))


def answers_of(found: Grouped, *, first: int = 0, called: str = "") -> Iterator[Answer]:
    """A count for each group; its rows begin with `first` among others, its labels with what they are `called`.

    Each is made once, as it will be: a table may have hundreds of thousands.
    """
    one, within = Fraction(1), found.question.within
    for row, (label, groups) in enumerate(zip(found.labels, found.places, strict=True), first):
        yield Answer(called + label, 0, Linear(row, one), "", within, one, groups)
