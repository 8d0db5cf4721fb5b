"""Proportions of records, and ratios of sums: one noisy answer over another, by groups and under conditions."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

from dxprivacy.errors import QueryError
from dxprivacy.exact.answer_grid import AnswerGrid, shifted_grid
from dxprivacy.queries.conditions import Conditions
from dxprivacy.queries.grouped import Grouped
from dxprivacy.queries.grouping import Reference, resolve
from dxprivacy.queries.kinds.counts import Count
from dxprivacy.queries.kinds.sums import ZERO, OfNumbers, over_all
from dxprivacy.queries.query import Query
from dxprivacy.queries.text.written_names import quoted
from dxprivacy.universe.answers import Linear, Ratio, Recipe
from dxprivacy.universe.blocks import OneHot
from dxprivacy.universe.universe import Universe
from dxprivacy.universe.workload import Answer, Workload

_COUNT = Count.ask
_NONE = Fraction(0)


@dataclass(frozen=True)
class Proportion(Query):
    """The proportion of records that fulfil the conditions, among all, by groups, or among records of a condition."""

    ask = "proportion"
    takes_of = False
    also = ("among",)

    among: Conditions = ()

    @property
    def measure(self) -> str:
        return "proportion"

    def settled(self) -> "Proportion":
        if not self.where:
            raise QueryError(
                "a proportion of the records that are what?", hints=[("proportion where delay=15..60 by carrier", "")]
            )
        return self

    def names(self, universe: Universe) -> list[str]:
        return [*super().names(universe), *(name for name, _ in self.among)]

    def require_honest(self, universe: Universe) -> None:
        super().require_honest(universe)
        self._whole.require_honest(universe)

    @property
    def _whole(self) -> Count:
        """The count in the denominator."""
        return Count(by=self.by, where=self.among)

    def rows_on(self, universe: Universe) -> Workload:
        """Return counts of the numerator and the denominator; only the numerator if the denominator is public."""
        whole = Grouped.of(self._whole, universe)
        found = Grouped.of(replace(self, where=(*self.among, *self.where)), universe)
        found.require_unit("")
        inside, one = found.block(), Fraction(1)
        labels = replace(found, query=self).labels
        if not whole.groups and universe.absent is None:
            recipes: list[Recipe] = [Linear(0, one, per_record=True, ends=(_NONE, one))]
            blocks: tuple[OneHot, ...] = (inside,)
        else:
            blocks = (inside, whole.block())
            recipes = [
                Ratio(k, inside.rows + k, one, _NONE, _NONE, one, part=whole.part, called="proportions")
                for k in range(inside.rows)
            ]
        answers = [Answer(label, 0, r, "", self.within) for label, r in zip(labels, recipes, strict=True)]
        return Workload(universe, blocks, found.in_groups(answers), (str(self),))


@dataclass(frozen=True)
class RatioOf(OfNumbers):
    """A sum divided by a count, or by another sum: of all records, or of each group.

    Over a count, missing numbers count as 0, as in any sum; `mean` leaves them out.  Over a sum, whose numbers must all
    be positive, only records with a valid number in the denominator count.
    """

    ask = "ratio"
    also = ("to",)
    missing_as = ZERO

    to: str = ""

    @property
    def called(self) -> str:
        return f"sum {self.of} / " + (f"sum {self.to}" if self.to else _COUNT)

    def about(self) -> str:
        return f"ratio of sum {quoted(self.of)} to " + (f"sum {quoted(self.to)}" if self.to else _COUNT)

    def names(self, universe: Universe) -> list[str]:
        return [*super().names(universe), *([self.to] if self.to else [])]

    def is_ratio(self, filtered: bool) -> bool:
        return filtered

    def recipes(
        self, sums: OneHot, weights: AnswerGrid, ref: Reference, ends: tuple[Fraction, Fraction]
    ) -> list[Recipe]:
        """Return recipes that divide each sum by the public number of records."""
        return over_all(sums, weights, ref, ends)

    def rows_on(self, universe: Universe) -> Workload:
        return self._over_sum(universe) if self.to else super().rows_on(universe)

    def _over_sum(self, universe: Universe) -> Workload:
        """Return the rows of both sums for each group."""
        found = Grouped.of(self, universe)
        found.require_unit("")
        labels = found.labels
        top, bottom = self._numbers(self.of, universe), self._numbers(self.to, universe, divisor=True)
        found.leave_out_other(bottom.ref)
        if bottom.least <= 0:
            raise QueryError(
                f"{bottom.ref.name} may be 0 or less, so its sum cannot be a divisor",
                where=f"query “{self}”",
                hints=[(f"sum {self.of}", "and"), (f"sum {self.to}", "by themselves")],
            )
        corners = [x / y for x in (top.least, top.most) for y in (bottom.least, bottom.most)]
        low, high = min(corners), max(corners)
        steepest = max(abs(low), abs(high))
        hidden, bias = (
            (x + y * steepest) / bottom.least
            for x, y in ((max(top.ref.hides), max(bottom.ref.hides)), (top.grid.bias, bottom.grid.bias))
        )
        sums, under = (
            found.block({n.ref.axis: n.grid.whole}, unit=n.grid.unit, bias=n.grid.bias) for n in (top, bottom)
        )
        factor, each = top.grid.unit / bottom.grid.unit, (bottom.least + bottom.most) / 2 / bottom.grid.unit
        recipes = [
            Ratio(k, sums.rows + k, factor, _NONE, low, high, bias, hidden, hidden, found.part, "ratios", each)
            for k in range(sums.rows)
        ]
        answers = [Answer(label, 0, r, "", self.within) for label, r in zip(labels, recipes, strict=True)]
        return Workload(universe, (sums, under), found.in_groups(answers), (str(self),))

    def _numbers(self, name: str, universe: Universe, *, divisor: bool = False) -> "_Numbers":
        """Return the numbers of an attribute on their grid; missing numbers count as 0."""
        ref = resolve(name, universe)
        if ref.numbers is None:
            raise QueryError(
                f"{ref.name} has no numbers to add up",
                where=f"query “{self}”",
                hints=ref.instead_of_numbers or [(f"count by {ref.name}", "how many have each value")],
            )
        missing = [_NONE] if ref.attribute.has_other else []
        valid = ref.ends([])
        counted = valid if divisor else (min(*missing, *valid), max(*missing, *valid))
        return _Numbers(ref, shifted_grid(ref.numbers, _NONE, missing), *counted)


class _Numbers(NamedTuple):
    """An attribute's numbers, and the range of the numbers that count."""

    ref: Reference
    grid: AnswerGrid
    least: Fraction
    most: Fraction
