"""Counts, sums and means, by groups and under conditions (docs/formats.md, section 4)."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, ClassVar

from dxprivacy.verify import reading
from dxprivacy.verify.blocks import PeopleTable, Table
from dxprivacy.verify.grouping import Grouping, Named, fulfil, group, resolve
from dxprivacy.verify.logic import Wanted
from dxprivacy.verify.queries.answers import Asked, Each, Groups, Recipe
from dxprivacy.verify.queries.base import MOST_ROWS, by_recipe, each_row
from dxprivacy.verify.queries.grid import ends_of, grid
from dxprivacy.verify.queries.notes import (
    clamped,
    in_cells,
    left_out,
    missing_in_both,
    missing_in_means,
    missing_in_sums,
)
from dxprivacy.verify.queries.worded import Worded
from dxprivacy.verify.reading import refuse
from dxprivacy.verify.universe import Universe


@dataclass(frozen=True)
class Grouped:
    """The group of each value, per attribute that matters, how many there are, and what the answers are called."""

    groups: dict[int, list[int]]
    sizes: dict[int, int]
    labels: Collection[str]
    named: Collection[Groups]
    part: Fraction  # of all records, if all groups and all values of conditions are equally frequent

    @property
    def ones(self) -> dict[int, list[int]]:
        """Everybody counts once."""
        return {axis: [1] * len(g) for axis, g in self.groups.items()}

    def counts(self) -> Table:
        """How many are in each."""
        return Table(self.groups, self.ones, self.sizes)


class ByGroups(Worded):
    """By groups, where conditions hold."""

    def grouped(self, conditions: "Sequence[tuple[str, Wanted]] | None" = None) -> Grouped:
        """The groups, and who is in none; under other conditions than its own, if these are given."""
        universe = self.universe
        groupings = sorted(
            (group(by, universe, self.where, edition=self.edition) for by in self.by), key=lambda g: g.axis
        )
        groups = {g.axis: g.groups for g in groupings}
        if len(groups) < len(groupings):
            raise refuse("groups an attribute twice", self.where)
        sizes = {g.axis: len(g.labels) for g in groupings}
        part, fulfilling = Fraction(1, math.prod(sizes.values())), dict[int, set[int]]()
        for name, wanted in self.conditions if conditions is None else conditions:
            axis, kept = fulfil(name, wanted, universe, self.where, edition=self.edition)
            fulfilling[axis] = fulfilling.get(axis, kept) & kept
            sizes.setdefault(axis, 1)
            old = groups.get(axis, [0] * universe.shape[axis])
            groups[axis] = [g if v in kept else -1 for v, g in enumerate(old)]
        if self.edition > 2:
            part = math.prod(
                (self._part(axis, groups[axis], fulfilling.get(axis)) for axis in groups), start=Fraction(1)
            )
        if math.prod(sizes.values()) > MOST_ROWS:
            raise refuse("asks for too many rows", self.where)
        pairs = [[(g.column, label) for label in g.labels] for g in groupings]
        named = Each(math.prod(map(len, pairs)), lambda: product(*pairs))
        return Grouped(groups, sizes, self._labels(groupings), named, part)

    def _part(self, axis: int, groups: Sequence[int], kept: set[int] | None) -> Fraction:
        """Of all records those of one group along an attribute, if all values that fulfil conditions are as frequent.

        And so are all groups that any of them is in.
        """
        listed = self.universe.attributes[axis].listed
        left = max(len({g for g in groups[:listed] if g >= 0}), 1)
        return Fraction(1, left) if kept is None else Fraction(max(sum(v < listed for v in kept), 1), listed * left)

    def _labels(self, groupings: Sequence[Grouping]) -> Collection[str]:
        if not groupings:
            if not self.conditions:
                return [self.called]
            return [self.words(goals=False, cells=self.edition > 2)]
        begin = f"{self.called}, " if self.of else ""
        parts = [g.labels for g in groupings]
        return Each(math.prod(map(len, parts)), lambda: (begin + ", ".join(chosen) for chosen in product(*parts)))

    def leave_out_other(self, found: Grouped, axis: int) -> None:
        """Invalid entries are in no group."""
        groups = found.groups.get(axis, [0] * self.universe.shape[axis])
        found.groups[axis] = [*groups[:-1], -1]
        if max(found.groups[axis]) < 0:
            raise refuse(f"is a {self.ask} over invalid entries", self.where)
        found.sizes.setdefault(axis, 1)

    def require_unit(self, unit: str) -> None:
        """A target is in the unit of the answer."""
        if self.units and self.unit and self.unit != unit:
            raise refuse(f"its target is in {self.unit[:20]!r}, the answer in {unit[:20]!r}", self.where)


class CountPeople(ByGroups):
    """`people`: who has at least one row."""

    ask = "count people"
    needed = ()
    optional = ("by", "where", *Worded.optional)

    def bound(self) -> Asked:
        if self.universe.people is None:
            raise refuse("counts people where nobody has several rows", self.where)
        found = self.grouped()
        self.require_unit("")
        block = PeopleTable(found.groups, found.ones, found.sizes)
        notes = [*clamped(self), *left_out(self)]
        return self.asked([block], found.labels, found.named, each_row(block), notes=notes)


class OfNumbers(ByGroups):
    """Of the numbers of an attribute or of one of its properties."""

    optional = ("by", "where", *Worded.optional, "missing")
    missing_is: ClassVar[str]

    def __init__(self, data: dict[str, Any], universe: Universe, where: str, *, edition: int, units: bool) -> None:
        super().__init__(data, universe, where, edition=edition, units=units)
        self.missing = reading.text(data.get("missing", ""), where)
        if "missing" in data and self.missing != self.missing_is:
            raise refuse("does not say how missing entries count", where)

    @property
    def touched(self) -> list[str]:
        return [*super().touched, self.of]

    def separating(self) -> list[str]:
        """What it groups by, or has in conditions."""
        return super().touched

    def numbers_of(self) -> tuple[Named, Sequence[Fraction], str]:
        """What the numbers are of, the numbers, and their unit."""
        of = resolve(self.of, self.universe, self.where)
        if of.numbers is None:
            raise refuse(f"{self.of} has no numbers", self.where)
        unit = of.unit(self.universe)
        self.require_unit(unit)
        return of, of.numbers, unit

    def hidden(self, of: Named, numbers: Sequence[Fraction], counted: Sequence[Fraction]) -> dict[str, Any]:
        """What cells hide on either side, and the least and the largest that an answer can be; not in edition 2."""
        low, high = ends_of(counted)
        if self.edition == 2:
            return {"low": low, "high": high}
        below, above = of.attribute.hides(of.name)
        least, largest = ends_of(numbers)
        ends = {"low": min(low, least - below), "high": max(high, largest + above)}
        return {**ends, "below": below, "above": above}

    def said(self, of: Named, value: Fraction, unit: str) -> list[str]:
        """How missing numbers count, unless groups or conditions leave them out; and what belongs to cells and ends."""
        used = [resolve(name, self.universe, self.where).axis for name in self.separating()]
        counted = self.missing_said(of, value, unit) if of.attribute.other and of.axis not in used else []
        return [*counted, *in_cells(of, unit, self.edition), *clamped(self), *left_out(self)]

    def missing_said(self, of: Named, value: Fraction, unit: str) -> list[str]:
        """How missing numbers count."""
        return missing_in_both(of, value, unit, f"{self.ask} {self.of}")

    def table(self, found: Grouped, axis: int, whole: list[int], unit: Fraction, bias: Fraction) -> Table:
        """Each record counts its number instead of 1."""
        return weighed(found, {axis: whole}, unit, bias)


class Sum(OfNumbers):
    """`sum`."""

    ask = "sum"
    missing_is = "zero"

    def missing_said(self, of: Named, value: Fraction, unit: str) -> list[str]:
        return missing_in_sums(of, value, unit) if self.missing else super().missing_said(of, value, unit)

    def bound(self) -> Asked:
        found = self.grouped()
        of, numbers, unit = self.numbers_of()
        counted = of.attribute.in_sums(numbers, zero=bool(self.missing))
        whole, step, bias = grid(counted)
        sums = self.table(found, of.axis, whole, step, bias)
        sources = by_recipe(Recipe(step, bias, **self.hidden(of, numbers, counted)), sums.rows)
        notes = self.said(of, counted[-1], unit)
        return self.asked([sums], found.labels, found.named, sources, unit=unit, notes=notes)


class Mean(OfNumbers):
    """`mean`."""

    ask = "mean"
    missing_is = "left out"

    def missing_said(self, of: Named, value: Fraction, unit: str) -> list[str]:
        return missing_in_means(of, value, unit) if self.missing else super().missing_said(of, value, unit)

    def bound(self) -> Asked:
        """A sum over all records, divided by their public number; or sums from the middle, and counts."""
        found = self.grouped()
        of, numbers, unit = self.numbers_of()
        weighed = of.attribute.in_sums(numbers, zero=False)
        notes = self.said(of, weighed[-1], unit)
        counted, none = weighed, list[Fraction]()
        if self.missing and of.attribute.other and not of.attribute.complete:
            counted, none = list(numbers), [Fraction(0)]
            self.leave_out_other(found, of.axis)
        hidden = self.hidden(of, numbers, counted)
        if not found.groups and self.universe.absent is None:
            whole, step, bias = grid(counted)
            sums = self.table(found, of.axis, whole, step, bias)
            sources = by_recipe(Recipe(step, bias, over_all=True, ended=self.edition > 2, **hidden), 1)
            return self.asked([sums], found.labels, found.named, sources, unit=unit, notes=notes)
        center = sum(ends_of(counted), Fraction(0)) / 2
        moved = {x: x - center for x in set(counted)}
        whole, step, bias = grid([*(moved[x] for x in counted), *none])
        sums = self.table(found, of.axis, whole, step, bias)
        recipe = Recipe(step, bias, ratio=True, center=center, part=found.part, **hidden)
        sources = by_recipe(recipe, sums.rows)
        return self.asked([sums, found.counts()], found.labels, found.named, sources, unit=unit, notes=notes)


def weighed(found: Grouped, weights: dict[int, list[int]], unit: Fraction, bias: Fraction) -> Table:
    """Each record counts the product of its numbers instead of 1."""
    groups = {axis: [0] * len(whole) for axis, whole in weights.items()} | found.groups
    return Table(groups, {**found.ones, **weights}, dict.fromkeys(weights, 1) | found.sizes, unit, bias)
