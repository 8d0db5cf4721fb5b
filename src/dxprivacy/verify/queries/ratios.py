"""Proportions of records, and ratios of sums (docs/formats.md, section 4)."""

from fractions import Fraction
from typing import Any

from dxprivacy.verify import reading
from dxprivacy.verify.blocks import Block
from dxprivacy.verify.grouping import resolve
from dxprivacy.verify.queries.answers import Asked, Recipe
from dxprivacy.verify.queries.base import by_recipe
from dxprivacy.verify.queries.grid import ends_of, grid
from dxprivacy.verify.queries.grouped import ByGroups, OfNumbers, weighed
from dxprivacy.verify.queries.notes import clamped, left_out, missing_in_sums
from dxprivacy.verify.queries.worded import Worded
from dxprivacy.verify.queries.written import quoted
from dxprivacy.verify.reading import refuse
from dxprivacy.verify.universe import Universe

_ONE, _NONE = Fraction(1), Fraction(0)


class Proportion(ByGroups):
    """`proportion`: a count over another, under further conditions."""

    ask = "proportion"
    needed = ("where",)
    optional = ("by", "among", *Worded.optional)

    def __init__(self, data: dict[str, Any], universe: Universe, where: str, *, edition: int, units: bool) -> None:
        super().__init__(data, universe, where, edition=edition, units=units)
        self.among = self.read_conditions("among")
        if not self.conditions:
            raise refuse("is a proportion of nothing", where)

    def further(self, *, cells: bool = False) -> list[str]:
        return ["among " + self.said_together(self.among, cells=cells)] if self.among else []

    @property
    def touched(self) -> list[str]:
        return [*super().touched, *(name for name, _ in self.among)]

    def bound(self) -> Asked:
        self.require_unit("")
        whole, inside = self.grouped(self.among), self.grouped([*self.among, *self.conditions])
        notes = [*clamped(self), *left_out(self)]
        top = inside.counts()
        if not whole.groups and self.universe.absent is None:
            blocks: list[Block] = [top]
            recipe = Recipe(_ONE, _NONE, over_all=True, low=_NONE, high=_ONE, ended=True)
        else:
            blocks = [top, whole.counts()]
            recipe = Recipe(_ONE, _NONE, ratio=True, low=_NONE, high=_ONE, part=whole.part, noun="proportions")
        return self.asked(blocks, inside.labels, inside.named, by_recipe(recipe, top.rows), notes=notes)


class Ratio(OfNumbers):
    """`ratio`: a sum over a count, or over a sum of positive numbers."""

    ask = "ratio"
    missing_is = "zero"
    optional = ("by", "where", "to", "missing", *Worded.optional)

    def __init__(self, data: dict[str, Any], universe: Universe, where: str, *, edition: int, units: bool) -> None:
        super().__init__(data, universe, where, edition=edition, units=units)
        self.to = reading.text(data.get("to", ""), where)
        if self.missing != self.missing_is:
            raise refuse("does not say how missing entries count", where)

    def about(self) -> str:
        return f"ratio of sum {quoted(self.of)} to " + (f"sum {quoted(self.to)}" if self.to else "count")

    @property
    def called(self) -> str:
        return f"sum {self.of} / " + (f"sum {self.to}" if self.to else "count")

    @property
    def touched(self) -> list[str]:
        return [*super().touched, *([self.to] if self.to else [])]

    def bound(self) -> Asked:
        return self._over_sum() if self.to else self._over_count()

    def _over_count(self) -> Asked:
        """As a mean, in which missing numbers count as 0."""
        found = self.grouped()
        of, numbers, unit = self.numbers_of()
        counted = of.attribute.in_sums(numbers, zero=True)
        notes = self.said(of, counted[-1], unit)
        hidden = self.hidden(of, numbers, counted)
        if not found.groups and self.universe.absent is None:
            whole, step, bias = grid(counted)
            recipe = Recipe(step, bias, over_all=True, ended=True, **hidden)
            block = self.table(found, of.axis, whole, step, bias)
            return self.asked([block], found.labels, found.named, by_recipe(recipe, 1), unit=unit, notes=notes)
        center = sum(ends_of(counted), _NONE) / 2
        whole, step, bias = grid([x - center for x in counted])
        sums = self.table(found, of.axis, whole, step, bias)
        recipe = Recipe(step, bias, ratio=True, center=center, part=found.part, **hidden)
        sources = by_recipe(recipe, sums.rows)
        return self.asked([sums, found.counts()], found.labels, found.named, sources, unit=unit, notes=notes)

    def missing_said(self, of: Any, value: Fraction, unit: str) -> list[str]:
        return missing_in_sums(of, value, unit)

    def _over_sum(self) -> Asked:
        self.require_unit("")
        found = self.grouped()
        parts = []
        for name in (self.of, self.to):
            of = resolve(name, self.universe, self.where)
            if of.numbers is None:
                raise refuse(f"{name} has no numbers", self.where)
            zero = [_NONE] if of.attribute.other else []
            below, above = of.attribute.hides(of.name)
            least, most = ends_of(of.numbers)
            parts.append((of, grid([*of.numbers, *zero]), (least - below, most + above), zero, max(below, above)))
        (top, above_line, ends, zero, hx), (bottom, below_line, divisors, _, hy) = parts
        if divisors[0] <= 0:
            raise refuse(f"divides by a sum of {self.to}, which may be 0", self.where)
        notes = self.said(top, _NONE, top.unit(self.universe))
        if bottom.attribute.other:
            self.leave_out_other(found, bottom.axis)
        corners = [x / y for x in (min(ends[0], *zero, ends[1]), max(ends[1], *zero, ends[0])) for y in divisors]
        steepest = max(abs(x) for x in corners)
        lines = ((top, above_line), (bottom, below_line))
        blocks: list[Block] = [weighed(found, {of.axis: whole}, unit, bias) for of, (whole, unit, bias) in lines]
        hidden, bias = ((x + y * steepest) / divisors[0] for x, y in ((hx, hy), (above_line[2], below_line[2])))
        recipe = Recipe(
            above_line[1] / below_line[1],
            bias,
            ratio=True,
            low=min(corners),
            high=max(corners),
            below=hidden,
            above=hidden,
            part=found.part,
            noun="ratios",
            each=sum(divisors, _NONE) / 2 / below_line[1],
        )
        sources = by_recipe(recipe, blocks[0].rows)
        return self.asked(blocks, found.labels, found.named, sources, notes=notes)
