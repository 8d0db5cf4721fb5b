"""Counts with soft borders: near a border, each side counts a fraction of the record."""

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np

from dxprivacy.errors import QueryError, TooLarge
from dxprivacy.exact.arrays import Ints
from dxprivacy.exact.rounding import number_text
from dxprivacy.queries.grouped import Grouped
from dxprivacy.queries.grouping import Reference, resolve
from dxprivacy.queries.kinds.quantiles import STRETCH, NumberLine, beside, between
from dxprivacy.queries.query import Query
from dxprivacy.universe.answers import Linear
from dxprivacy.universe.blocks import SoftTable
from dxprivacy.universe.blocks.soft_tables import MOST_ENTRIES
from dxprivacy.universe.ordering.order import Singles
from dxprivacy.universe.workload import Answer, Workload


def soft_line(query: Query, found: Grouped) -> NumberLine:
    """Return the only number line of the query: its groups and conditions get soft borders."""
    refs: dict[tuple[int, str], Reference] = {}
    for name in query.names(found.universe):
        ref = resolve(name, found.universe)
        refs[ref.axis, ref.name] = ref
    numbered = [ref for ref in refs.values() if ref.numbers is not None]
    if len(numbered) == 1 and _on_a_line(numbered[0]) and sum(axis == numbered[0].axis for axis, _ in refs) == 1:
        line = NumberLine(numbered[0], by_middles=True)
        if line.tick:
            return line
    names = ", ".join(ref.name for ref in numbered)
    what = "blur needs groups of ordered numbers, or a condition on some"
    what = f"blur is along one attribute, not several: {names}" if len(numbered) > 1 else what
    raise QueryError(what, where=f"query “{query}”", hints=[("count by age/10 blur 2", "for example")])


def _on_a_line(ref: Reference) -> bool:
    """Whether the values are single numbers or bins, not columns of a series and not named values."""
    series = ref.fact is not None and ref.entry is not None
    return not series and isinstance(ref.attribute.order(ref.fact), Singles)


def soft_counts(query: Query, found: Grouped, blur: Fraction) -> Workload:
    """Return a row for each combination of groups; the groups along the number line have soft borders."""
    line, universe = soft_line(query, found), found.universe
    axis = line.ref.axis
    if blur > line.ends[1] - line.ends[0]:
        raise QueryError(
            f"a blur of {number_text(blur)} is wider than the range of {line.ref.name}", where=f"query “{query}”"
        )
    parts, whole = _parts(line, found.groups[axis], found.sizes[axis], blur)
    around = beside(found, axis)
    block = SoftTable(axis, parts, around, unit=Fraction(1, whole))
    own = found.groups[axis][None, :] == np.arange(found.sizes[axis])[:, None]
    moved = [int(most) / whole for most in np.abs(parts - own * whole).max(axis=1)]
    return Workload(universe, (block,), soft_answers(found, axis, block.unit, moved), (str(query),))


def soft_answers(found: Grouped, axis: int, unit: Fraction, moved: Sequence[float]) -> tuple[Answer, ...]:
    """Return an answer for each combination of groups.

    `moved` has, for each soft group, the largest fraction of a record that blurring moves into or out of it.
    """
    within, one = found.query.within, Fraction(1)
    rows = zip(found.labels, soft_rows(found, axis), found.places, strict=True)
    return tuple(
        Answer(label, 0, Linear(row, unit), "", within, one, groups, moved[row % len(moved)])
        for label, row, groups in rows
    )


def soft_rows(found: Grouped, axis: int) -> list[int]:
    """Return the row of each combination of groups; the soft axis varies fastest."""
    axes = sorted(found.sizes)
    order = np.arange(math.prod(found.sizes.values()), dtype=np.int64).reshape([found.sizes[a] for a in axes])
    last = np.moveaxis(order, axes.index(axis), -1).ravel()
    rows = np.empty(len(last), dtype=np.int64)
    rows[last] = np.arange(len(last))
    return rows.tolist()


def _parts(line: NumberLine, groups: Ints, size: int, blur: Fraction) -> tuple[Ints, int]:
    """Return how many steps of each value lie in each group, and how many steps make up one record.

    Borders lie halfway between neighboring numbers of different groups; a group owns the stretches between them.
    """
    of = {number: int(group) for number, group in zip(line.numbers, groups.tolist(), strict=False)}
    ordered = sorted(of)
    borders = [(a + b) / 2 for a, b in pairwise(ordered) if of[a] != of[b]]
    owners = [of[ordered[0]], *(of[b] for a, b in pairwise(ordered) if of[a] != of[b])]
    if not borders:
        heights, whole = np.zeros((0, len(groups)), dtype=np.int64), 1
        stretches: Ints = np.ones((1, len(groups)), dtype=np.int64)
    else:
        if max(len(borders), size) * len(groups) > MOST_ENTRIES:
            raise TooLarge(
                f"soft borders between {len(borders) + 1:,} groups of {len(groups):,} values are too many",
                hints=["wider groups"],
            )
        heights, whole = line.below(borders, STRETCH * blur, len(groups))
        stretches = between(heights, whole)
    parts = np.zeros((size, len(groups)), dtype=np.int64)
    for owner, stretch in zip(owners, stretches, strict=True):
        if owner >= 0:
            parts[owner] += stretch
    parts[:, len(line.numbers) :] = 0
    for value in range(len(line.numbers), len(groups)):  # `other` has no place on the line: it counts fully
        if groups[value] >= 0:
            parts[groups[value], value] = whole
    return parts, whole
