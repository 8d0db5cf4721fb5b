"""Variances, standard deviations, covariances and correlations, by groups and under conditions."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, NamedTuple

from dxprivacy.errors import QueryError
from dxprivacy.exact.answer_grid import AnswerGrid, ends_of, shifted_grid, to_grid
from dxprivacy.queries.grouped import Grouped
from dxprivacy.queries.grouping import Reference, resolve
from dxprivacy.queries.query import Query
from dxprivacy.queries.text.written_names import quoted
from dxprivacy.universe.answers.spread_answers import Kind, Spread, Total
from dxprivacy.universe.blocks import Block, OneHot
from dxprivacy.universe.universe import Universe
from dxprivacy.universe.workload import Answer, Workload

_TWO = 2


class _Centered(NamedTuple):
    """An attribute's valid numbers, relative to the middle of their range."""

    ref: Reference
    numbers: list[Fraction]  # `other` counts as 0 where it is left out
    grid: AnswerGrid

    @property
    def reach(self) -> Fraction:
        """Half of the range."""
        return max(map(abs, self.numbers), default=Fraction(0))

    @property
    def hides(self) -> Fraction:
        """The binning error of a standard deviation: half of the sum of a number's errors, down and up."""
        return sum(self.ref.hides, Fraction(0)) / _TWO


@dataclass(frozen=True)
class _Spreads(Query):
    """Base of statistics from averages of numbers, squares and products, over the records that have all numbers."""

    kind: ClassVar[Kind]

    @property
    def measure(self) -> str:
        return self.ask

    @property
    def _of(self) -> tuple[str, ...]:
        """The attributes or properties that are averaged: one or two."""
        return (self.of,)

    def of_numbers(self) -> str:
        return self.of

    def names(self, universe: Universe) -> list[str]:
        return [*super().names(universe), *self._of]

    def remarks(self, universe: Universe) -> list[str]:
        return [remark for name in self._of for remark in resolve(name, universe).left_out_of(self.called)]

    def rows_on(self, universe: Universe) -> Workload:
        found = Grouped.of(self, universe)
        labels = found.labels
        numbers = [self._centered(name, universe) for name in self._of]
        self._require_apart(numbers)
        unit = self._unit(numbers)
        found.require_unit(unit)
        for each in numbers:
            if each.ref.attribute.has_other and not each.ref.attribute.complete:
                found.leave_out_other(each.ref)
        blocks: list[Block] = []
        totals = [self._total(found, pair, blocks) for pair in self._products(numbers)]
        count = None
        if found.groups or universe.absent is not None:
            count = sum(block.rows for block in blocks)
            blocks.append(found.block())
        many = len(numbers)
        hides = (numbers[0].hides, numbers[-1].hides)
        first = Spread(
            self.kind, totals[0], tuple(totals[1 : 1 + many]), tuple(totals[1 + many :]), hides, count, found.part
        )
        answers = [Answer(label, 0, first.moved(k), unit, self.within) for k, label in enumerate(labels)]
        return Workload(universe, tuple(blocks), found.in_groups(answers), (str(self),))

    def _require_apart(self, numbers: list[_Centered]) -> None:
        """Refuse two equal attributes."""

    def _products(self, numbers: list[_Centered]) -> list[tuple[_Centered, ...]]:
        """Return the factors of each product that is summed."""
        return [(numbers[0], numbers[-1]), *((each,) for each in numbers)]

    def _unit(self, numbers: list[_Centered]) -> str:
        """Return the unit of a product: a squared unit, or two units."""
        units = [each.ref.unit for each in (numbers[0], numbers[-1])]
        if not all(units):
            return ""
        return f"{units[0]}²" if units[0] == units[1] else "·".join(units)

    def _centered(self, name: str, universe: Universe) -> _Centered:
        ref = resolve(name, universe)
        if ref.numbers is None:
            raise QueryError(
                f"{ref.name} has no numbers to average",
                where=f"query “{self}”",
                hints=ref.instead_of_numbers or [(f"count by {ref.name}", "how many have each value")],
            )
        least, most = ends_of(ref.numbers)
        center = (least + most) / _TWO
        counted = ref.attribute.complete  # then invalid entries count as declared; else they are left out
        declared = ref.attribute.other_in_sums(ref.numbers) - center if counted else Fraction(0)
        behind = [declared] if ref.attribute.has_other else []
        moved = [*(x - center for x in ref.numbers), *behind]
        return _Centered(ref, moved, shifted_grid(ref.numbers, center, behind))

    def _total(self, found: Grouped, factors: tuple[_Centered, ...], blocks: list[Block]) -> Total:
        """Append the sums of a product to `blocks`, and return where they are."""
        start = sum(block.rows for block in blocks)
        block, most, signed = _sums(found, factors)
        blocks.append(block)
        return Total(start, block.unit, block.bias, most, signed)


def _sums(found: Grouped, factors: tuple[_Centered, ...]) -> tuple[OneHot, Fraction, bool]:
    """Return a row of sums of a product for each group, the largest product, and whether a product may be negative."""
    first, last = factors[0], factors[-1]
    if len(factors) == 1:
        grid = first.grid
        return found.block({first.ref.axis: grid.whole}, unit=grid.unit, bias=grid.bias), first.reach, True
    if first.ref.axis == last.ref.axis:
        products = [x * y for x, y in zip(first.numbers, last.numbers, strict=True)]
        grid = to_grid(products)
        block = found.block({first.ref.axis: grid.whole}, unit=grid.unit, bias=grid.bias)
        return block, max(map(abs, products), default=Fraction(0)), min(products) < 0
    bias = first.grid.bias * last.reach + last.grid.bias * (first.reach + first.grid.bias)
    weights = {each.ref.axis: each.grid.whole for each in factors}
    return found.block(weights, unit=first.grid.unit * last.grid.unit, bias=bias), first.reach * last.reach, True


@dataclass(frozen=True)
class Variance(_Spreads):
    """The mean squared distance from the mean."""

    ask = "variance"
    kind = "variance"


@dataclass(frozen=True)
class Deviation(_Spreads):
    """The standard deviation: the square root of the variance."""

    ask = "sd"
    kind = "sd"

    def _unit(self, numbers: list[_Centered]) -> str:
        return numbers[0].ref.unit


@dataclass(frozen=True)
class _OfTwo(_Spreads):
    """Base of statistics of two numbers of each record."""

    also = ("beside",)

    beside: str = ""

    def settled(self) -> "_OfTwo":
        if not self.beside:
            raise QueryError(f"{self.ask} of {self.of} and what?", hints=[(f"{self.ask} {self.of}, income", "")])
        return self

    @property
    def called(self) -> str:
        return f"{self.ask} {self.of} & {self.beside}"

    def about(self) -> str:
        return f"{self.ask} {quoted(self.of)}, {quoted(self.beside)}"

    @property
    def _of(self) -> tuple[str, ...]:
        return self.of, self.beside

    def _require_apart(self, numbers: list[_Centered]) -> None:
        (axis, fact), other = ((each.ref.axis, each.ref.fact) for each in numbers)
        if (axis, fact) == other:
            raise QueryError(
                f"a {self.ask} is of two numbers; {self.of} with itself needs no query",
                where=f"query “{self}”",
                hints=[(f"variance {self.of}", "how far it spreads")],
            )


@dataclass(frozen=True)
class Covariance(_OfTwo):
    """The mean product of both distances from their means."""

    ask = "covariance"
    kind = "covariance"


@dataclass(frozen=True)
class Correlation(_OfTwo):
    """The covariance over both standard deviations: from -1 to 1."""

    ask = "correlation"
    kind = "correlation"

    def _products(self, numbers: list[_Centered]) -> list[tuple[_Centered, ...]]:
        return [*super()._products(numbers), *((each, each) for each in numbers)]

    def _unit(self, numbers: list[_Centered]) -> str:  # noqa: ARG002
        return ""
