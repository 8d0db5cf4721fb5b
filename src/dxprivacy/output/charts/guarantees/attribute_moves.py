"""What a cost tells about moves along one attribute: the loss of two values, in the worst context of the others.

Pairs that differ in one attribute generate a sum of attributes, so these moves are what pictures show.  Contexts that
make no difference count once.  Where they multiply beyond measure, each question takes its own worst one: then the
numbers are bounds from above, and `bounded` says so.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.privacy import contexts_of
from dxprivacy.privacy.costs import LaplaceCost, SumCost
from dxprivacy.universe.loss_terms import Term

PAIRS = 1 << 20
WORK = 1 << 24  # entries of the workload to look at, for one attribute
_CHUNK = 1 << 21
_CONTEXTS = 1 << 10
_FEWEST = 500  # pairs, for a picture worth its name


@dataclass(frozen=True, eq=False)
class Moves:
    """Moves along an attribute, or between whole records where `axis` is None."""

    cost: LaplaceCost | SumCost
    axis: int | None
    terms: tuple[Term, ...]
    contexts: Ints | None  # offsets of the cell; None where they are too many

    @classmethod
    def along(cls, cost: LaplaceCost | SumCost, axis: int | None) -> "Moves":
        """With every context that makes a difference."""
        terms = tuple(t for t in cost.terms if axis is None or axis in t.axes)
        contexts: Ints | None = np.zeros(1, dtype=np.int64)
        if axis is not None:
            contexts = contexts_of(terms, _others(terms, axis), cost.universe, _CONTEXTS)
        if contexts is not None and len(contexts) * _width(terms) * _FEWEST > 4 * WORK:
            contexts = None
        return cls(cost, axis, terms, contexts)

    @property
    def bounded(self) -> bool:
        """Whether the losses are bounds only."""
        return self.contexts is None

    @property
    def budget(self) -> int:
        """How many pairs can be looked at in reasonable time."""
        contexts = 1 if self.contexts is None else len(self.contexts)
        return max(_FEWEST, min(PAIRS, WORK // _width(self.terms)) // contexts)

    @property
    def stride(self) -> int:
        """From one value to the next, in cells."""
        return 1 if self.axis is None else self.cost.universe.strides[self.axis]

    def worst(self, u: Ints, v: Ints) -> tuple[Floats, Ints]:
        """For pairs of values: the loss in the worst context, and that context."""
        if self.contexts is None:
            total = np.zeros(len(u))
            for term in self.terms:
                total += self._alone(term, u, v)
            return total, np.zeros(len(u), dtype=np.int64)
        if not self.terms and self.axis is not None and not self.cost.flat:
            return np.zeros(len(u)), np.zeros(len(u), dtype=np.int64)
        return _largest(self.cost, self._cells(u), self._cells(v), self.contexts, _width(self.terms))

    def _alone(self, term: Term, u: Ints, v: Ints) -> Floats:
        """One question in its own worst context; where even these are too many, the most it ever tells."""
        most, width = float(term.reach()), term.width
        if self.axis is None:
            return np.full(len(u), most)
        contexts = contexts_of([term], _others([term], self.axis), self.cost.universe, _CONTEXTS)
        if contexts is None or len(contexts) * width * len(u) > 16 * WORK:
            same = term.moving(self.axis)
            return np.where(same[u] == same[v], 0.0, most)
        return _largest(term, self._cells(u), self._cells(v), contexts, width)[0]

    def _cells(self, values: Ints) -> Ints:
        return self.cost.universe.numbered(values) * self.stride


def presence(cost: LaplaceCost | SumCost, absent: int) -> tuple[float, int] | None:
    """The most that a cost tells about whether some record is there at all, and that record; None where too many."""
    axes = sorted({a for t in cost.terms for a in t.axes})
    cells = contexts_of(cost.terms, axes, cost.universe, PAIRS // 4)
    width = _width(cost.terms)
    if cells is None or len(cells) * width > 4 * WORK:
        return None
    everywhere = np.zeros(1, dtype=np.int64)
    used, _ = _largest(cost, cells, np.full(len(cells), absent, dtype=cells.dtype), everywhere, width)
    k = int(used.argmax())
    return float(used[k]), int(cells[k])


def sample(size: int, budget: int, special: Sequence[int], *, ordered: bool, lags: int) -> tuple[Ints, Ints, bool]:
    """All pairs of values, or as many as the budget allows; and whether they are all.

    `special` values are never missed.  Of an ordered attribute a coarse sample would have no neighbors, which are its
    closest pairs: it gets pairs at many differences.
    """
    if size * (size - 1) // 2 <= budget:
        u, v = np.triu_indices(size, 1)
        return u.astype(np.int64), v.astype(np.int64), True
    many = max(8, math.isqrt(2 * budget) // (2 if ordered else 1))
    chosen = np.unique(np.append(np.linspace(0, size - 1, many), list(special)).astype(np.int64))
    first, second = np.triu_indices(len(chosen), 1)
    u, v = chosen[first], chosen[second]
    if ordered:
        start = np.unique(np.append(np.linspace(0, size - 2, many), list(special)).astype(np.int64))
        steps = np.unique(np.geomspace(1, size - 1, lags).astype(np.int64))
        a, b = np.repeat(start, len(steps)), (start[:, None] + steps).ravel()
        inside = b < size
        u, v = np.concatenate([u, a[inside]]), np.concatenate([v, b[inside]])
    return u, v, False


def _others(terms: Sequence[Term], axis: int) -> list[int]:
    return sorted({a for t in terms for a in t.axes} - {axis})


def _width(terms: Sequence[Term]) -> int:
    return sum(t.width for t in terms) or 1


def _largest(cost: LaplaceCost | SumCost | Term, i: Ints, j: Ints, contexts: Ints, width: int) -> tuple[Floats, Ints]:
    """The loss of each pair of cells in its worst context, and that context."""
    used, at = np.zeros(len(i)), np.zeros(len(i), dtype=np.int64)
    chunk = max(1, _CHUNK // (width * len(contexts)))
    for start in range(0, len(i), chunk):
        part = slice(start, start + chunk)
        a, b = ((cells[part, None] + contexts).ravel() for cells in (i, j))
        loss = cost.pairwise(a, b).reshape(-1, len(contexts))
        best = loss.argmax(axis=1)
        used[part], at[part] = loss[np.arange(len(best)), best], contexts[best]
    return used, at
