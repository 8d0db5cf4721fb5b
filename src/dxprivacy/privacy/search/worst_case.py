"""The worst-case ε of a sum of costs: the largest loss over all pairs of records, updated as costs are added.

A loss is a sum of terms, each of which depends on some attributes:

*components*   attributes that no term links are independent: two records may differ as much as possible in all of them,
               so the largest loss is the sum of the largest losses of the components;
*classes*      within a component, values that no term separates form a class; the losses between all combinations of
               classes are a table, to which each further cost is added;
*closed forms* if a table would be too large and the component has one term: a table of counts, or the largest of rows,
               has its largest loss between known records;
*lines*        otherwise, for values on a line the ends are enough (`value_classes.line_ends`);
*bounds*       if these are still too many: the change if two records lie in different rows of all tables
               (`candidate_pairs.spread_bound`), or the largest losses of the terms.

For printing, so in floats: below the true value by rounding errors at most.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.privacy.search.candidate_pairs import spread_bound
from dxprivacy.privacy.search.value_classes import line_ends
from dxprivacy.universe.blocks import AlongAxis, OneHot, joint_classes
from dxprivacy.universe.loss_terms import LossPart, Term
from dxprivacy.universe.universe import Universe

MOST_COMBINATIONS = 2_500
_MOST_ENDS = 2_500
_MOST_LOSSES = 25_000_000  # between ends, computed again with every cost


@dataclass(frozen=True, eq=False)
class _Component:
    """Attributes linked by terms, their value classes, and the losses between all combinations of classes."""

    universe: Universe
    terms: tuple[Term, ...]
    classes: dict[int, Ints] = field(default_factory=dict)
    table: Floats | None = None
    gone: Floats | None = None  # losses against absence, under add-remove neighbors

    @cached_property
    def count(self) -> int:
        """The number of combinations of classes."""
        return math.prod(int(c.max(initial=0)) + 1 for c in self.classes.values())

    @cached_property
    def cells(self) -> Ints:
        """One record for each combination, with all other attributes at their first value; last attribute fastest."""
        out = self.universe.numbered([0])
        for axis, classes in self.classes.items():
            first = np.unique(classes, return_index=True)[1].astype(np.int64)
            out = (out[:, None] + self.universe.offsets(axis, first)).ravel()
        return out

    def place(self, of: "_Component") -> Ints:
        """Return, for each combination of a finer component, the combination here that contains it."""
        at = np.zeros(len(of.cells), dtype=np.int64)
        for axis, classes in self.classes.items():
            at = at * (int(classes.max(initial=0)) + 1) + classes[self.universe.along(axis, of.cells)]
        return at

    @cached_property
    def _ends(self) -> Ints | None:
        # Records among which two have the largest loss; None if there are too many.
        chosen = {axis: line_ends(self.terms, axis, self.universe.shape[axis]) for axis in self.classes}
        count = math.prod(map(len, chosen.values()))
        if count > _MOST_ENDS or count**2 * len(self.terms) > _MOST_LOSSES:
            return None
        out = self.universe.numbered([0])
        for axis, values in chosen.items():
            out = (out[:, None] + self.universe.offsets(axis, values)).ravel()
        return out

    def most(self) -> tuple[float, tuple[int, int] | None]:
        """Return the largest loss between present records, and its pair (None if it is only bounded)."""
        if self.table is not None:
            i, j = np.unravel_index(int(self.table.argmax()), self.table.shape)
            return float(self.table[i, j]), (int(self.cells[i]), int(self.cells[j]))
        pairs = _closed_form(self.terms, absent=False)
        if pairs is None and self._ends is not None:
            table = np.sum([_losses(term, self._ends) for term in self.terms], axis=0)
            i, j = np.unravel_index(int(table.argmax()), table.shape)
            return float(table[i, j]), (int(self._ends[i]), int(self._ends[j]))
        if pairs is None:
            reach, most = sum(term.reach() for term in self.terms), spread_bound(self.terms, self.universe)
            return (reach if most is None else min(reach, most)), None
        loss = self.terms[0].pairwise(*pairs)
        at = int(loss.argmax()) if len(loss) else 0
        return (float(loss[at]), (int(pairs[0][at]), int(pairs[1][at]))) if len(loss) else (0.0, None)

    def most_gone(self) -> tuple[float, int | None]:
        """Return the largest loss between a record and its absence, and the record (None if it is only bounded)."""
        if self.gone is not None:
            at = int(self.gone.argmax())
            return float(self.gone[at]), int(self.cells[at])
        if self._ends is not None:
            nobody = np.full(len(self._ends), self.universe.absent, dtype=self._ends.dtype)
            gone = np.sum([term.pairwise(self._ends, nobody) for term in self.terms], axis=0)
            return float(gone.max()), int(self._ends[gone.argmax()])
        return sum(term.reach() for term in self.terms), None


class WorstCase:
    """The worst-case ε of all costs added so far.

    >>> from dxprivacy.privacy.costs import LaplaceCost
    >>> from dxprivacy.queries.asking import gather
    >>> u = Universe.listed("abc")
    >>> worst = WorstCase(u).plus(LaplaceCost(gather([[1, 0, 0]]).on(u), [2.0]).terms)
    >>> worst.value, worst.plus(LaplaceCost(gather([[0, 1, 0]]).on(u), [4.0]).terms).value
    (0.5, 0.75)
    """

    def __init__(self, universe: Universe, components: Sequence[_Component] = ()) -> None:
        self.universe = universe
        self._components = tuple(components)

    def plus(self, terms: Sequence[Term]) -> "WorstCase":
        """Return a new value with these terms added."""
        components = list(self._components)
        for together in _linked(terms):
            axes = {axis for term in together for axis in term.axes}
            mine = [c for c in components if axes & set(c.classes)]
            components = [c for c in components if not axes & set(c.classes)]
            components.append(self._joined(mine, together))
        return WorstCase(self.universe, components)

    def _joined(self, parts: Sequence[_Component], terms: Sequence[Term]) -> _Component:
        # Merge the components that new terms link, and add the terms.
        axes = sorted({a for c in parts for a in c.classes} | {a for term in terms for a in term.axes})
        classes = {}
        for axis in axes:
            known = [c.classes[axis] for c in parts if axis in c.classes]
            seen = [term.moving(axis) for term in terms if axis in term.axes]
            found = joint_classes([*known, *seen], self.universe.shape[axis])
            if found.any():
                classes[axis] = found
        every = sum((c.terms for c in parts), ()) + tuple(terms)
        bare = _Component(self.universe, every, classes)
        tables = [(c, c.table) for c in parts if c.table is not None]
        if bare.count > MOST_COMBINATIONS or len(tables) < len(parts):
            return bare
        table = np.zeros((bare.count, bare.count))
        gone = None if self.universe.absent is None else np.zeros(bare.count)
        for c, losses in tables:
            at = c.place(bare)
            table += losses[np.ix_(at, at)]
            if gone is not None and c.gone is not None:
                gone += c.gone[at]
        for term in terms:
            table += _losses(term, bare.cells)
            if gone is not None:
                nobody = np.full(bare.count, self.universe.absent, dtype=bare.cells.dtype)
                gone += term.pairwise(bare.cells, nobody)
        return _Component(self.universe, every, classes, table, gone)

    @property
    def value(self) -> float:
        """The largest loss, or an upper bound."""
        return self.found[0]

    @cached_property
    def found(self) -> tuple[float, tuple[int, int] | None]:
        """The largest loss and its pair; the pair is None if the loss is only bounded.

        If people have several rows, it is that of a whole person: all their rows may be such a pair.
        """
        loss, pair = self._of_rows()
        return loss * self.universe.rows_each, pair

    def _of_rows(self) -> tuple[float, tuple[int, int] | None]:
        value, pair = self._present()
        if self.universe.absent is None or not self._components:
            return value, pair
        alone = [c.most_gone() for c in self._components]
        total = math.fsum(loss for loss, _ in alone)
        if total <= value:
            return value, pair
        if any(who is None for _, who in alone):
            return total, None
        return total, (sum(who for _, who in alone if who is not None), self.universe.absent)

    def _present(self) -> tuple[float, tuple[int, int] | None]:
        each = [c.most() for c in self._components]
        total = math.fsum(loss for loss, _ in each)
        if not total or any(pair is None for loss, pair in each if loss):
            return total, None
        first, second = (sum(pair[side] for _, pair in each if pair is not None) for side in (0, 1))
        return total, (min(first, second), max(first, second))


def _linked(terms: Sequence[Term]) -> list[list[Term]]:
    # Group terms that share attributes.  A term without attributes counts every record: it shows only presence.
    groups: list[tuple[set[int], list[Term]]] = []
    for term in terms:
        axes = set(term.axes)
        mine = [g for g in groups if g[0] & axes]
        groups = [g for g in groups if not g[0] & axes]
        groups.append((axes.union(*(g[0] for g in mine)), [t for g in mine for t in g[1]] + [term]))
    return [members for _, members in groups]


def _losses(term: Term, cells: Ints) -> Floats:
    # The losses of a term between all pairs of some records.
    out: Floats | None = None
    for part in term.parts:
        table = _part_losses(part, cells)
        out = table if out is None else np.maximum(out, table)
    return np.zeros((len(cells), len(cells))) if out is None else out


def _part_losses(part: LossPart, cells: Ints) -> Floats:
    finite = bool(np.isfinite(part.weights).all())
    if isinstance(part.block, OneHot) and not part.largest and finite:
        row, value = part.block.place(cells)
        weight = part.weights[np.where(value == 0, 0, row)]
        size = weight * np.abs(value)
        same = (row[:, None] == row) & (value != 0)[:, None] & (value != 0)
        within = weight[:, None] * np.abs(value[:, None] - value)
        return np.asarray(np.where(same, within, size[:, None] + size), dtype=np.float64)
    if isinstance(part.block, AlongAxis) and not part.largest and finite:
        from scipy.spatial.distance import pdist, squareform

        columns = part.block.columns(cells).T.astype(np.float64)
        return np.asarray(squareform(pdist(columns, "cityblock", w=part.weights)), dtype=np.float64)
    first, second = np.triu_indices(len(cells), 1)
    out = np.zeros((len(cells), len(cells)))
    out[first, second] = out[second, first] = part.pairwise(cells[first], cells[second])
    return out


def _closed_form(terms: Sequence[Term], *, absent: bool) -> tuple[Ints, Ints] | None:
    # Pairs among which a single block has its largest loss; None if unknown.
    if len(terms) != 1 or len(terms[0].parts) != 1:
        return None
    (part,) = terms[0].parts
    return part.block.ends(absent=absent) if part.largest else part.block.widest(part.weights, absent=absent)
