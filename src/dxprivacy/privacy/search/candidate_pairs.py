"""Candidate pairs: pairs of values along one attribute, in contexts of the others; and what can only be bounded."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations_with_replacement, product

import numpy as np

from dxprivacy.exact.arrays import Ints, read_only
from dxprivacy.metrics import Metric
from dxprivacy.metrics.metric import BLOCK, Pairs
from dxprivacy.privacy.search.tree_search import TreeSearch
from dxprivacy.privacy.search.value_classes import ends_of
from dxprivacy.universe.blocks import OneHot, joint_classes
from dxprivacy.universe.blocks.block import classes_of_rows
from dxprivacy.universe.loss_terms import LossPart, Term, Terms
from dxprivacy.universe.universe import Universe


@dataclass(frozen=True)
class CandidatePairs:
    """Pairs of values of one attribute, in each of the given contexts (values of the other attributes)."""

    axis: int
    stride: int
    values: tuple[Pairs, ...]
    contexts: Ints

    @property
    def size(self) -> int:
        """The number of pairs of records."""
        return sum(len(u) for u, _ in self.values) * len(self.contexts)

    @property
    def key(self) -> tuple[int, bytes, bytes]:
        """A key that is equal for equal candidate pairs."""
        ends = b"".join(x.tobytes() for pair in self.values for x in pair)
        return self.axis, ends, self.contexts.tobytes()

    def cells(self, values: Ints) -> Ints:
        """Return the records of some values in every context."""
        wide = object if object in (values.dtype, self.contexts.dtype) else np.int64
        return (values.astype(wide)[:, None] * self.stride + self.contexts).ravel()

    def pairs(self, block: int = BLOCK) -> Iterator[Pairs]:
        """Yield the pairs of records, in blocks."""
        chunk = max(1, block // len(self.contexts))
        for u, v in self.values:
            for a in range(0, len(u), chunk):
                i, j = self.cells(u[a : a + chunk]), self.cells(v[a : a + chunk])
                for b in range(0, len(i), 4 * block):
                    yield i[b : b + 4 * block], j[b : b + 4 * block]


@dataclass(frozen=True)
class Loose:
    """Pairs along one attribute with too many contexts: each part of each term is bounded by its own worst context."""

    values: tuple[Pairs, ...]
    axis: int
    terms: tuple["Own", ...]

    @property
    def moves(self) -> tuple[CandidatePairs, ...]:
        """The candidate pairs of all parts, each once."""
        return tuple({move.key: move for own in self.terms for _, move in own}.values())

    def pairs(self, block: int = BLOCK) -> Iterator[Pairs]:
        """Yield the worst pairs of single queries; the worst pair of their sum may be another."""
        return _gathered((pair for move in self.moves for pair in move.pairs(block)), block)


Own = tuple[tuple[LossPart, CandidatePairs], ...]
"""The parts of a term, each with all pairs that it can separate by itself: the term's largest loss is among them."""


@dataclass(frozen=True)
class Cover:
    """A set of pairs that decides the largest ratio, and the rule that proves it.

    `moves`             candidate pairs along single attributes;
    `all_generators`    the metric whose own generating pairs are used instead;
    `presence`          records against their absence;
    `tree_searches`     searches along attributes of many points, for the pairs that matter to one loss;
    `symmetric`         attributes with value symmetry: one pair represents many rows.

    The others can only be bounded, each query by itself:
    `bounded_contexts`  attributes with too many contexts;
    `bounded_columns`   a constant metric with too many different columns (one entry per alternative);
    `bounded_presence`  the presence of too many different records (one entry per alternative);
    `bounded_pairs`     attributes with too many pairs to search.
    """

    rule: str
    moves: tuple[CandidatePairs, ...] = ()
    bounded_contexts: tuple[Loose, ...] = ()
    bounded_columns: tuple[Terms, ...] = ()
    all_generators: Metric | None = field(default=None)
    presence: CandidatePairs | None = None
    tree_searches: tuple[TreeSearch, ...] = ()
    bounded_presence: tuple[tuple[Own, ...], ...] = ()
    symmetric: tuple[int, ...] = ()
    bounded_pairs: tuple[tuple[Metric, Terms], ...] = ()

    @property
    def size(self) -> int:
        """Upper bound on the number of pairs to compare."""
        more = self.presence.size if self.presence is not None else 0
        if self.all_generators is not None:
            return self.all_generators.generator_count + more
        return sum(m.size for m in self.moves) + more

    @property
    def bounded(self) -> bool:
        """Whether some queries are only bounded."""
        return bool(self.bounded_contexts or self.bounded_columns or self.bounded_presence or self.bounded_pairs)

    @property
    def tight(self) -> bool:
        """Whether the pairs decide alone: without bounds and tree searches."""
        return not (self.bounded or self.tree_searches)

    def pairs(self, block: int = BLOCK) -> Iterator[Pairs]:
        """Yield all pairs except those that are only bounded."""
        if self.all_generators is not None:
            yield from self.all_generators.generators(block)
        yield from _gathered((pair for move in self.moves for pair in move.pairs(block)), block)
        if self.presence is not None:
            yield from self.presence.pairs(block)


def _gathered(pairs: Iterator[Pairs], block: int) -> Iterator[Pairs]:
    # The same pairs in larger groups: comparing many pairs costs little more than comparing few.
    waiting: list[Pairs] = []
    size = 0
    for pair in pairs:
        waiting.append(pair)
        size += len(pair[0])
        if size >= block:
            yield _joined(waiting)
            waiting, size = [], 0
    if waiting:
        yield _joined(waiting)


def _joined(pairs: Sequence[Pairs]) -> Pairs:
    # Read-only, because callers cache results by array identity.
    if len(pairs) == 1:
        return read_only(pairs[0][0]), read_only(pairs[0][1])
    return read_only(np.concatenate([i for i, _ in pairs])), read_only(np.concatenate([j for _, j in pairs]))


# -- Value symmetry: values with equal distances, such as 41,000 ZIP codes ---------------------------------------------
# If all values of an attribute have one distance, the largest loss decides.  A table counts a record in at most one
# row, with a weight.  From value u to v it changes by |x_u| + |x_v| if these lie in different rows, and by no more if
# they lie in one row.  So among values with the same weights in all tables (and rows of the same scale), two values
# that lie in different rows of every table represent all: no other two change more, in any context.
#
# Tables that put all values into one row, such as sums, change by |x_u - x_v|.  Values that differ in nothing else lie
# on lines (`value_classes.line_ends`), and the ends represent the line.
#
# If all records have one distance, the same holds for all attributes at once: two records with given kinds of values
# change most if they lie in different rows of every table.  They do if they differ in this way in one of its
# attributes.


_MOST_KINDS = 60
_MOST_RECORDS = 1_000_000  # pairs of them
_MOST_AMOUNTS = 400
_TRIED = 12  # values of a kind, in different classes; at least two, because one would look like the only one


def symmetric_pairs(listed: int, axis: int, terms: Sequence[Term], moving: Ints) -> Pairs | None:
    """Return pairs of values of an attribute that represent all pairs; None if value symmetry does not apply.

    `moving` are the value classes (no term separates two values of a class); the first `listed` values have one
    distance.
    """
    kinds = _Kinds.along(listed, axis, terms, moving)
    if kinds is None:
        return None
    first, second = [], []
    for a, b in combinations_with_replacement(range(len(kinds.members)), 2):
        if a == b and len(kinds.members[a]) == 1:
            continue  # only one value; if others lie on its line, the ends of the line are farther apart
        found = kinds.between(a, b)
        if found is None:
            return None
        first.append(found[0])
        second.append(found[1])
    return np.array(first, dtype=np.int64), np.array(second, dtype=np.int64)


def symmetric_record_pairs(terms: Sequence[Term], universe: Universe) -> Pairs | None:
    """Return pairs of records that represent all pairs under a constant metric; None if symmetry does not apply."""
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


def spread_bound(terms: Sequence[Term], universe: Universe) -> float | None:
    """Upper bound (up to rounding) on the loss if every table has one scale; None if not applicable.

    It is the loss if all records lay in different rows of every table with several rows.
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
    """Kinds of values: values of one kind have the same weights and scales; of values on a line, only its ends."""

    def __init__(self, members: Sequence[Ints], whole: Sequence[bool], rows: Ints, seen: "_Seen") -> None:
        self.members = members  # some values of each kind
        self._whole = whole  # whether the kind includes all values of its line
        self._rows = rows  # the row of each value in each table; a row of its own if the table does not count it
        self._seen = seen

    @classmethod
    def along(cls, listed: int, axis: int, terms: Sequence[Term], moving: Ints) -> "_Kinds | None":
        """Group the values by kind; None if a table lacks the symmetry, or there are too many kinds.

        The catch-all value `other`, behind the `listed` ones, has its own distance, so it is a kind of its own.
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
        """Return two values of two kinds in different rows of every table, or the only two that exist."""
        mine, theirs = self.members[a].tolist(), self.members[b].tolist()
        only = len(mine) == len(theirs) == 1 and self._whole[a] and self._whole[b]
        return self._apart(mine, theirs) or ((mine[0], theirs[0]) if only else None)

    def _apart(self, mine: list[int], theirs: list[int]) -> tuple[int, int] | None:
        # Two values in different rows of every table.
        for u in mine:
            for v in theirs:
                if bool((self._rows[u] != self._rows[v]).all()):
                    return u, v
        return None

    def strongest(self) -> list[int]:
        """Return the kinds that no other kind dominates: values of a dominated kind never change more."""
        kept = list(range(len(self.members)))
        for weak in kept.copy():
            if any(self._beats(strong, weak, kept) for strong in kept if strong != weak):
                kept.remove(weak)
        return kept

    def _beats(self, strong: int, weak: int, others: Sequence[int]) -> bool:
        # Whether a kind has at least the weight of another in every table, and lies in other rows than all kinds.
        if not self._seen.weaker(weak, strong):
            return False
        mine = self.members[strong].tolist()
        return all(self._apart(mine, self.members[other].tolist()) is not None for other in others)


@dataclass(frozen=True)
class _Seen:
    """The effect of each value on tables: those that spread values over rows, and those that put all into one row."""

    groups: Ints  # the row of each value; a column for each table that spreads values
    sizes: Ints  # absolute weights there
    scales: Ints  # indices of the scales of the rows, -1 for values that are not counted
    summed: Ints  # weights; a column for each table that puts all values into one row

    @classmethod
    def of(cls, parts: Sequence[LossPart], axis: int, size: int) -> "_Seen":
        """Collect the effects along an attribute of `size` values."""
        scattered = [_weighed(part, axis) for part in parts if not _in_one_row(part, axis)]
        summed = [x for part in parts if _in_one_row(part, axis) and (x := part.block.lines(axis)[1]) is not None]
        groups, sizes, scales = ([columns[k] for columns in scattered] for k in range(3))
        nothing = np.zeros((size, 0), dtype=np.int64)
        return cls(*(np.stack(x, axis=1) if x else nothing for x in (groups, sizes, scales, summed)))

    def among(self, values: Ints) -> "_Seen":
        """Return the effects of some values."""
        return _Seen(self.groups[values], self.sizes[values], self.scales[values], self.summed[values])

    def weaker(self, weak: int, strong: int) -> bool:
        """Return whether one value changes no spreading table more than another, and all other tables equally."""
        sizes, scales = self.sizes, self.scales
        less = (sizes[weak] == 0) | ((scales[weak] == scales[strong]) & (sizes[weak] <= sizes[strong]))
        return bool(less.all() and (self.summed[weak] == self.summed[strong]).all())


def _is_simple(part: LossPart, axis: int) -> bool:
    # Whether a record counts in one row, and its scale is the same for all rows or follows from the value alone.
    block = part.block
    if not isinstance(block, OneHot) or not (part.uniform or block.axes == (axis,) or _in_one_row(part, axis)):
        return False
    return not part.largest or all(bool((f.values >= 0).all()) for f in block.factors.values())


def _in_one_row(part: LossPart, axis: int) -> bool:
    # Whether all values lead to the same row, if to any.
    return isinstance(part.block, OneHot) and part.block.sizes[axis] == 1


def _weighed(part: LossPart, axis: int) -> tuple[Ints, Ints, Ints]:
    # For each value: its row, its absolute weight, and the index of the scale of its row.
    groups, sizes = part.block.strengths(axis, uniform=False)
    if part.uniform:
        return groups, sizes, np.zeros_like(sizes)
    scales = np.unique(part.weights, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return groups, sizes, np.where(sizes > 0, scales[np.maximum(groups, 0)], -1)


def _some(values: Ints, moving: Ints) -> Ints:
    # A few values from different classes, and one more from a class that is there already.
    order = np.unique(moving[values], return_index=True)[1]
    return np.concatenate([values[order[:_TRIED]], np.delete(values, order)[:1]])
