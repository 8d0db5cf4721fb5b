"""Sums and means of numbers, by groups and under conditions."""

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction

from dxprivacy.errors import QueryError
from dxprivacy.exact.answer_grid import AnswerGrid, ends_of, shifted_grid
from dxprivacy.queries.grouped import Grouped
from dxprivacy.queries.grouping import Reference, resolve
from dxprivacy.queries.query import Query
from dxprivacy.universe.answers import Linear, Ratio, Recipe
from dxprivacy.universe.blocks import Block, OneHot
from dxprivacy.universe.universe import Universe
from dxprivacy.universe.workload import Answer, Workload

ZERO, LEFT_OUT = "zero", "left out"
"""How missing and invalid entries count: as 0 (unless the policy declares another value), or not at all."""


@dataclass(frozen=True)
class OfNumbers(Query):
    """Base of sums and means: numbers on a grid, and how missing numbers count."""

    @property
    def measure(self) -> str:
        return self.ask

    def of_numbers(self) -> str:
        return self.of

    def names(self, universe: Universe) -> list[str]:
        return [*super().names(universe), self.of]

    @abstractmethod
    def is_ratio(self, filtered: bool) -> bool:
        """Return whether a sum is divided by a noisy count; `filtered`: the number of records counted is private."""

    @abstractmethod
    def recipes(
        self, sums: OneHot, weights: AnswerGrid, ref: Reference, ends: tuple[Fraction, Fraction]
    ) -> list[Recipe]:
        """Return one recipe for each row of sums; used where the answer is not a ratio."""

    def rows_on(self, universe: Universe) -> Workload:
        """Return a row of sums for each group; a ratio also has a row of counts for each group."""
        found = Grouped.of(self, universe)
        labels = found.labels
        ref = resolve(self.of, universe)
        numbers = ref.numbers
        if numbers is None:
            raise QueryError(
                f"{ref.name} has no numbers to add up",
                where=f"query “{self}”",
                hints=ref.instead_of_numbers or [(f"count by {ref.name}", "how many have each value")],
            )
        found.require_unit(ref.unit)
        left_out = self.missing == LEFT_OUT and ref.attribute.has_other and not ref.attribute.complete
        if left_out:
            found.leave_out_other(ref)
        ratio = self.is_ratio(bool(found.groups) or universe.absent is not None)
        missing = Fraction(0) if self.missing == ZERO else None
        counts_too = ref.attribute.has_other and not left_out
        besides = [ref.attribute.other_in_sums(numbers, missing)] if counts_too else []  # may lie outside the range
        below, above = ref.hides
        ends = ref.ends(besides)
        least, largest = ends_of([*ends_of(numbers), *besides])
        center = (least + largest) / 2 if ratio else Fraction(0)
        weights = shifted_grid(numbers, center, [*(x - center for x in besides), *[Fraction(0)] * left_out])
        sums = found.block({ref.axis: weights.whole}, unit=weights.unit, bias=weights.bias)
        blocks: tuple[Block, ...] = (sums,)
        if ratio:
            recipes: list[Recipe] = [
                Ratio(k, sums.rows + k, weights.unit, center, *ends, weights.bias, below, above, found.part)
                for k in range(sums.rows)
            ]
            blocks = (sums, found.block())
        else:
            recipes = self.recipes(sums, weights, ref, ends)
        answers = [Answer(label, 0, r, ref.unit, self.within) for label, r in zip(labels, recipes, strict=True)]
        return Workload(universe, blocks, found.in_groups(answers), (str(self),))


@dataclass(frozen=True)
class Sum(OfNumbers):
    """The sum of a number over records."""

    ask = "sum"
    missing_as = ZERO

    def is_ratio(self, filtered: bool) -> bool:  # noqa: ARG002
        return False

    def recipes(
        self,
        sums: OneHot,
        weights: AnswerGrid,
        ref: Reference,
        ends: tuple[Fraction, Fraction],  # noqa: ARG002
    ) -> list[Recipe]:
        return [Linear(k, weights.unit, weights.bias, False, *ref.hides) for k in range(sums.rows)]


@dataclass(frozen=True)
class Mean(OfNumbers):
    """The mean of a number over the records that have a valid one."""

    ask = "mean"
    missing_as = LEFT_OUT

    def is_ratio(self, filtered: bool) -> bool:
        """Divide by a noisy count where the number of records is private."""
        return filtered

    def recipes(
        self, sums: OneHot, weights: AnswerGrid, ref: Reference, ends: tuple[Fraction, Fraction]
    ) -> list[Recipe]:
        return over_all(sums, weights, ref, ends)


def over_all(sums: OneHot, weights: AnswerGrid, ref: Reference, ends: tuple[Fraction, Fraction]) -> list[Recipe]:
    """Return recipes that divide each sum by the public number of records."""
    return [Linear(k, weights.unit, weights.bias, True, *ref.hides, ends) for k in range(sums.rows)]
