"""Moves between values that are all equally far apart, such as 41,000 ZIP codes: of those that change alike, one pair.

Along an attribute whose values have one distance, the largest loss decides.  A table counts a record in one row at
most, with a weight; from value u to v it changes by |x_u| + |x_v| where these lie in different rows, and by no more
where they lie in one.  So of all values with the same weights in all tables (and rows of the same scale), two that
every table puts into different rows stand for all: no other two of these change more, in any context.

Tables that put all values into one row, such as sums, change by |x_u - x_v|: values that differ in nothing else lie on
lines (lines.py), of which the ends stand for all.

Where all records have one distance, the same holds for all attributes at once: two records of given kinds of values
change most if they lie in different rows of every table, which they do if they differ so in one of its attributes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement, product

import numpy as np

from dxprivacy.exact.arrays import Ints
from dxprivacy.metrics.metric import Pairs
from dxprivacy.privacy.search.line_ends import ends_of
from dxprivacy.universe.blocks import OneHot, joint_classes
from dxprivacy.universe.blocks.block import classes_of_rows
from dxprivacy.universe.loss_terms import Part, Term
from dxprivacy.universe.universe import Universe

_MOST_KINDS = 60
_MOST_RECORDS = 1_000_000  # pairs of them
_MOST_AMOUNTS = 400
_TRIED = 12  # values of a kind, in different classes; never one, which would look like the only one


def standing_pairs(listed: int, axis: int, terms: Sequence[Term], moving: Ints) -> Pairs | None:
    """Pairs of values of an attribute that stand for all; None where nothing of the kind is known.

    `moving` are the classes of values that no term tells apart; the first `listed` values have one distance.
    """
    kinds = _Kinds.along(listed, axis, terms, moving)
    if kinds is None:
        return None
    first, second = [], []
    for a, b in combinations_with_replacement(range(len(kinds.members)), 2):
        if a == b and len(kinds.members[a]) == 1:
            continue  # nothing to move between; and where others lie on its line, its ends are farther apart
        found = kinds.between(a, b)
        if found is None:
            return None
        first.append(found[0])
        second.append(found[1])
    return np.array(first, dtype=np.int64), np.array(second, dtype=np.int64)


def standing_records(terms: Sequence[Term], universe: Universe) -> Pairs | None:
    """Pairs of records that stand for all, where all have one distance; None where nothing of the kind is known."""
    i = j = universe.numbered([0])
    for axis in sorted({axis for term in terms for axis in term.axes}):
        size = universe.shape[axis]
        touching = [term for term in terms if axis in term.axes]
        moving = joint_classes([term.moving(axis) for term in touching], size)
        kinds = _Kinds.along(size, axis, touching, moving)
        if kinds is None:
            return None
        found = [kinds.between(a, b) for a, b in product(kinds.strongest(), repeat=2)]
        pairs = [pair for pair in found if pair is not None]
        if len(pairs) < len(found) or len(pairs) * len(i) > _MOST_RECORDS:
            return None
        u, v = (universe.offsets(axis, np.array(side, dtype=np.int64)) for side in zip(*pairs, strict=True))
        i, j = (i[:, None] + u).ravel(), (j[:, None] + v).ravel()
    differ = np.flatnonzero(i != j)
    return i[differ], j[differ]


def never_more(terms: Sequence[Term], universe: Universe) -> float | None:
    """Not less than any two records are told apart by tables of one scale each, up to roundings; None: not known.

    What it would be if all records lay in different rows of every table that has several.
    """
    parts = [part for term in terms for part in term.parts]
    tables = [part.block for part in parts if isinstance(part.block, OneHot) and part.uniform and not part.largest]
    precision = np.array([part.weights[0] for part in parts])
    if len(tables) < len(parts) or len(parts) > len(terms) or not np.isfinite(precision).all():
        return None
    amounts = np.ones((1, len(tables)), dtype=np.int64)
    for axis in sorted({axis for table in tables for axis in table.axes}):
        factors = [table.factors[axis].values if axis in table.factors else None for table in tables]
        scattered = [np.abs(x) for x, t in zip(factors, tables, strict=True) if x is not None and t.sizes[axis] > 1]
        together = [x for x, t in zip(factors, tables, strict=True) if x is not None and t.sizes[axis] == 1]
        size = universe.shape[axis]
        alike = classes_of_rows(np.stack(scattered, axis=1)) if scattered else np.zeros(size, dtype=np.int64)
        values = ends_of(alike, together)
        if len(values) * len(amounts) > _MOST_AMOUNTS:
            return None
        weights = np.stack([np.ones(len(values), dtype=np.int64) if x is None else x[values] for x in factors], axis=1)
        amounts = (amounts[:, None] * weights).reshape(-1, len(tables))
    several = np.array([table.rows > 1 for table in tables])
    size_of = np.abs(amounts)
    most = 0.0
    for own, sizes in zip(amounts, size_of, strict=True):
        moved = np.where(several, size_of + sizes, np.abs(amounts - own))
        most = max(most, float((moved @ precision).max()))
    return most


class _Kinds:
    """Values of an attribute that change alike, kind by kind; of those on a line, its ends."""

    def __init__(self, members: Sequence[Ints], whole: Sequence[bool], rows: Ints, seen: "_Seen") -> None:
        self.members = members  # some of each kind
        self._whole = whole  # whether no others of its line are left out
        self._rows = rows  # of each value, table by table; different where it counts in none
        self._seen = seen

    @classmethod
    def along(cls, listed: int, axis: int, terms: Sequence[Term], moving: Ints) -> "_Kinds | None":
        """None where a table is not known to change alike, or there are too many kinds.

        Of `listed` values; one more, `other`, has a distance of its own and so is a kind of its own.
        """
        parts = [part for term in terms for part in term.parts if axis in part.block.axes]
        if not all(_is_simple(part, axis) for part in parts):
            return None
        seen = _Seen.of(parts, axis, len(moving))
        alike = classes_of_rows(np.hstack([seen.sizes, seen.scales]))
        alike[listed:] = alike.max() + 1
        ends = ends_of(alike, list(seen.summed.T))
        if len(ends) > _MOST_KINDS:
            return None
        points = classes_of_rows(np.column_stack([alike, seen.summed]))
        members = [np.flatnonzero(points == points[end]) for end in ends.tolist()]
        kept, often = np.zeros(int(alike.max()) + 1, dtype=np.int64), np.bincount(alike)
        for kind, values in zip(alike[ends].tolist(), members, strict=True):
            kept[kind] += len(values)
        rows = np.where(seen.sizes > 0, seen.groups, -1 - np.arange(len(moving))[:, None])
        some = [_some(values, moving) for values in members]
        return cls(some, (kept == often)[alike[ends]].tolist(), rows, seen.among(ends))

    def between(self, a: int, b: int) -> tuple[int, int] | None:
        """Two values of two kinds that every table puts into different rows, or the only two there are."""
        mine, theirs = self.members[a].tolist(), self.members[b].tolist()
        only = len(mine) == len(theirs) == 1 and self._whole[a] and self._whole[b]
        return self._apart(mine, theirs) or ((mine[0], theirs[0]) if only else None)

    def _apart(self, mine: list[int], theirs: list[int]) -> tuple[int, int] | None:
        """Two values that every table puts into different rows."""
        for u in mine:
            for v in theirs:
                if bool((self._rows[u] != self._rows[v]).all()):
                    return u, v
        return None

    def strongest(self) -> list[int]:
        """Kinds without those that another one beats: no value of it changes more, whatever it is compared with."""
        kept = list(range(len(self.members)))
        for weak in kept.copy():
            if any(self._beats(strong, weak, kept) for strong in kept if strong != weak):
                kept.remove(weak)
        return kept

    def _beats(self, strong: int, weak: int, others: Sequence[int]) -> bool:
        """Whether a kind weighs as much as another in every table, and lies in other rows than any that there is."""
        if not self._seen.weaker(weak, strong):
            return False
        mine = self.members[strong].tolist()
        return all(self._apart(mine, self.members[other].tolist()) is not None for other in others)


@dataclass(frozen=True)
class _Seen:
    """What tables see of each value: those that scatter values over rows, and those that put all into one."""

    groups: Ints  # a column for each table that scatters
    sizes: Ints  # of the weights there
    scales: Ints  # numbers for the scales of the rows, -1 where it counts in none
    summed: Ints  # weights, a column for each table of one row

    @classmethod
    def of(cls, parts: Sequence[Part], axis: int, size: int) -> "_Seen":
        """Along an attribute of so many values."""
        scattered = [_weighed(part, axis) for part in parts if not _in_one_row(part, axis)]
        summed = [x for part in parts if _in_one_row(part, axis) and (x := part.block.lines(axis)[1]) is not None]
        groups, sizes, scales = ([columns[k] for columns in scattered] for k in range(3))
        nothing = np.zeros((size, 0), dtype=np.int64)
        return cls(*(np.stack(x, axis=1) if x else nothing for x in (groups, sizes, scales, summed)))

    def among(self, values: Ints) -> "_Seen":
        """Of some values."""
        return _Seen(self.groups[values], self.sizes[values], self.scales[values], self.summed[values])

    def weaker(self, weak: int, strong: int) -> bool:
        """Whether every table that scatters changes less, or the same, by a value; and the others the same."""
        sizes, scales = self.sizes, self.scales
        less = (sizes[weak] == 0) | ((scales[weak] == scales[strong]) & (sizes[weak] <= sizes[strong]))
        return bool(less.all() and (self.summed[weak] == self.summed[strong]).all())


def _is_simple(part: Part, axis: int) -> bool:
    """Whether a record counts in one row, and which one makes no difference, or follows from the value alone."""
    block = part.block
    if not isinstance(block, OneHot) or not (part.uniform or block.axes == (axis,) or _in_one_row(part, axis)):
        return False
    return not part.largest or all(bool((f.values >= 0).all()) for f in block.factors.values())


def _in_one_row(part: Part, axis: int) -> bool:
    """Whether all values lead to the same row, if to any."""
    return isinstance(part.block, OneHot) and part.block.sizes[axis] == 1


def _weighed(part: Part, axis: int) -> tuple[Ints, Ints, Ints]:
    """The group of each value, the size of its weight, and a number for the scale of its row."""
    groups, sizes = part.block.strengths(axis, uniform=False)
    if part.uniform:
        return groups, sizes, np.zeros_like(sizes)
    scales = np.unique(part.weights, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return groups, sizes, np.where(sizes > 0, scales[np.maximum(groups, 0)], -1)


def _some(values: Ints, moving: Ints) -> Ints:
    """A few values, in as many different classes as there are."""
    order = np.unique(moving[values], return_index=True)[1]
    return np.concatenate([values[order[:_TRIED]], np.delete(values, order)[:1]])
