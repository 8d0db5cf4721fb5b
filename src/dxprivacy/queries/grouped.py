"""Groups and conditions of a query over a universe: their rows, and the labels of their answers."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import TypeAlias

import numpy as np

from dxprivacy.errors import QueryError
from dxprivacy.exact.arrays import Bools, Ints, changed
from dxprivacy.queries.grouping import Grouping, Reference, group, selected
from dxprivacy.queries.query import Query
from dxprivacy.universe.blocks import Factor, OneHot
from dxprivacy.universe.universe import Universe
from dxprivacy.universe.workload import Answer

MAX_ROWS = 2_000_000
Groups: TypeAlias = tuple[tuple[str, str], ...]


@dataclass
class Grouped:
    """The groups of a query: for each attribute that it uses, the group of every value (-1: in none)."""

    query: Query
    universe: Universe
    groupings: list[Grouping]
    groups: dict[int, Ints]
    sizes: dict[int, int]
    part: Fraction  # the fraction of all records in one group, if all groups and values were equally frequent

    @classmethod
    def of(cls, query: Query, universe: Universe) -> "Grouped":
        """Resolve the groups and conditions of a query over a universe."""
        groupings = [group(spec, universe) for spec in query.by]
        axes = [g.axis for g in groupings]
        if len(set(axes)) != len(axes):
            raise QueryError("one attribute can be grouped only once", where=f"query “{query}”")
        groups: dict[int, Ints] = {g.axis: g.groups.copy() for g in groupings}
        sizes = {g.axis: len(g.labels) for g in groupings}
        masks: dict[int, Bools] = {}
        for name, wanted in query.where:
            axis, mask = selected(name, wanted, universe)
            masks[axis] = masks.get(axis, True) & mask
            sizes.setdefault(axis, 1)
            current = groups.setdefault(axis, np.zeros(universe.shape[axis], dtype=np.int64))
            current[~mask] = -1
        if (rows := math.prod(sizes.values())) > MAX_ROWS:
            largest = max((universe.attributes[g.axis] for g in groupings), key=lambda a: a.listed)
            hints = [(largest.coarser, "counts many values together")] if largest.coarser else []
            raise QueryError(f"{rows:,} answers are more than {MAX_ROWS:,}", where=f"query “{query}”", hints=hints)
        part = math.prod((_part(universe, axis, groups[axis], masks.get(axis)) for axis in groups), start=Fraction(1))
        return cls(query, universe, groupings, groups, sizes, part)

    @property
    def labels(self) -> list[str]:
        """One label per row, in the order of the rows: attributes in the universe's order, the last fastest."""
        query, named = self.query, {g.axis: g.labels for g in self.groupings}
        if not named:
            return [query.called if not query.where else query.words(goals=False, universe=self.universe)]
        labels = [""]
        for axis in sorted(self.sizes):
            if axis in named:
                labels = [f"{before}, {label}" if before else label for before in labels for label in named[axis]]
        return [f"{query.called}, {label}" for label in labels] if query.of else labels

    def block(
        self,
        weights: Mapping[int, Ints] | None = None,
        *,
        unit: Fraction = Fraction(1),
        bias: Fraction = Fraction(0),
    ) -> OneHot:
        """Return a row for each group; a record counts as the product of the weights of its values, 1 by default."""
        sizes, factors = dict(self.sizes), dict[int, Factor]()
        for axis, groups in self.groups.items():
            factors[axis] = Factor(groups.copy(), np.ones(len(groups), dtype=np.int64))
        for axis, amounts in (weights or {}).items():
            placed = factors[axis].groups if axis in factors else np.zeros(len(amounts), dtype=np.int64)
            factors[axis] = Factor(placed, amounts.copy())
            sizes.setdefault(axis, 1)
        return OneHot(self.universe, factors, sizes, unit=unit, bias=bias)

    def leave_out_other(self, ref: Reference) -> None:
        """Count valid entries only: put `other` in no group of its attribute."""
        valid = self.groups.setdefault(ref.axis, np.zeros(self.universe.shape[ref.axis], dtype=np.int64))
        valid[ref.attribute.listed :] = -1
        self.sizes.setdefault(ref.axis, 1)
        if (valid < 0).all():
            ask = self.query.ask
            raise QueryError(
                f"a {ask} is over valid entries, and {ref.name}=other has none",
                hints=[f"count where {ref.name}=other"],
            )

    @property
    def places(self) -> Iterator[Groups]:
        """The groups of each row, in the order of the labels."""
        return places(self.groupings, self.universe)

    def in_groups(self, answers: list[Answer]) -> tuple[Answer, ...]:
        """Return the answers, in the order of the labels, each with its groups."""
        return in_groups(answers, self.groupings, self.universe)

    def require_unit(self, unit: str) -> None:
        """Refuse a target whose unit is not the answer's."""
        query = self.query
        if query.unit and query.unit != unit:
            raise QueryError(
                f"the target is in {query.unit}, but "
                + (f"the answer is in {unit}" if unit else "the answer has no unit"),
                where=f"query “{query}”",
            )


def _part(universe: Universe, axis: int, groups: Ints, fulfilling: Bools | None) -> Fraction:
    """Estimate the fraction of all records in one group along an attribute, among those that fulfil its conditions.

    It assumes that all values, and all groups that the conditions leave, are equally frequent.
    """
    listed = universe.attributes[axis].listed
    inside = groups[:listed]
    left = max(len(np.unique(inside[inside >= 0])), 1)
    return Fraction(1, left) if fulfilling is None else Fraction(max(int(fulfilling[:listed].sum()), 1), listed * left)


def in_groups(answers: list[Answer], groupings: list[Grouping], universe: Universe) -> tuple[Answer, ...]:
    """Return the answers, in the order of the labels, each with its groups."""
    placed = zip(answers, places(groupings, universe), strict=True)
    return tuple(changed(a, groups=groups) for a, groups in placed)


def places(groupings: list[Grouping], universe: Universe) -> Iterator[Groups]:
    """Return all combinations of groups, each as pairs of column and label.

    Combinations come in the order of the rows, with attributes in the universe's order.  Each combination lists its
    columns in the order of the query.
    """
    ordered = sorted(groupings, key=lambda g: g.axis)
    combined = product(*([(_column(g.name, universe), label) for label in g.labels] for g in ordered))
    axes = [g.axis for g in ordered]
    asked = [axes.index(g.axis) for g in groupings]
    return combined if asked == sorted(asked) else (tuple([row[k] for k in asked]) for row in combined)


def _column(name: str, universe: Universe) -> str:
    """Shorten `home.state` to `state` if nothing else has this name."""
    short = name.rpartition(".")[2]
    facts = [fact for attribute in universe.attributes for fact in attribute.properties]
    return short if short != name and facts.count(short) == 1 and short not in universe.names else name
