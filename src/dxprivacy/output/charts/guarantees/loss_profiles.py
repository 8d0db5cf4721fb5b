"""What a plan guarantees against distance: for each attribute, the worst pair at each distance.

On a sum of attributes the pairs that differ in one attribute generate the metric, so there is one profile per attribute
(UX, "Large N").  A profile has few points, each a real pair: the worst of its band of distances.  Where an attribute
has more pairs than can be looked at, the profile says so; where the other attributes multiply beyond measure, the loss
is bounded by the certificate instead.  Nothing here is ever N x N in the picture.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.mechanisms.linear.plan import Plan
from dxprivacy.metrics import Metric
from dxprivacy.metrics.with_other import WithAbsent, along
from dxprivacy.output.charts.value_groups import BANDS, Ruler, bands, ruler
from dxprivacy.privacy import contexts_of
from dxprivacy.privacy import proportional_loss as parts
from dxprivacy.privacy.costs import LaplaceCost, SumCost
from dxprivacy.universe.loss_terms import Term

# -- What a cost tells about moves along one attribute: the loss of two values, in the worst context of the others -----
# Pairs that differ in one attribute generate a sum of attributes, so these moves are what pictures show.  Contexts that
# make no difference count once.  Where they multiply beyond measure, each query takes its own worst one: then the
# numbers are bounds from above, and `bounded` says so.


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
        if not self.terms and self.axis is not None and not self.cost.proportional_loss:
            return np.zeros(len(u)), np.zeros(len(u), dtype=np.int64)
        return _largest(self.cost, self._cells(u), self._cells(v), self.contexts, _width(self.terms))

    def _alone(self, term: Term, u: Ints, v: Ints) -> Floats:
        """One query in its own worst context; where even these are too many, the most it ever tells."""
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


# -- What a plan guarantees against distance ---------------------------------------------------------------------------


PRESENCE = "presence"


@dataclass(frozen=True)
class ProfilePoint:
    """A pair: how far apart, what the policy allows, and what the plan would use of it."""

    x: float
    policy: float
    used: float
    pair: tuple[int, int]


@dataclass(frozen=True)
class Profile:
    """The worst pairs along one attribute by rising distance; `unit` is empty where the distance is the policy's ε."""

    name: str
    unit: str
    measured: bool
    points: tuple[ProfilePoint, ...]
    ends: tuple[ProfilePoint, ...]  # the closest and the farthest pair; none where no distance is positive and finite
    below: int  # pairs that the policy allows less than the plan's worst case
    pairs: int  # looked at
    public: int  # of them without limit
    complete: bool
    bounded: bool
    unplaced: bool = False  # `other` has no place on the own scale of distances, and is left out

    @property
    def rate(self) -> float:
        """What the policy allows per unit of distance, for the shortest one."""
        return self.ends[0].policy / self.ends[0].x if self.ends else math.nan


def profiles(plan: Plan) -> list[Profile]:
    """One for each attribute, and one for presence where records may be absent."""
    metric, universe = plan.metric, plan.metric.universe
    axes = along(metric)
    if axes is None:
        found = [_profile(plan, metric, None)]
    else:
        found = [_profile(plan, each, axis) for axis, each in enumerate(axes)]
    if isinstance(metric, WithAbsent) and universe.absent is not None:
        found.append(_presence(plan, float(metric.radius) * universe.rows_each, universe.absent))
    return found


def _profile(plan: Plan, metric: Metric, axis: int | None) -> Profile:
    """Along one attribute, or over whole records where the metric knows no attributes."""
    universe = plan.metric.universe
    attribute = universe.attributes[axis] if axis is not None else None
    own = ruler(metric, attribute)
    size = own.size if own else metric.universe.size - (metric.universe.absent is not None)
    moves = Moves.along(_by_pairs(plan), axis)
    stride, ordered = moves.stride, isinstance(own, Ruler) and own.unit != ""
    u, v, complete = sample(size, moves.budget, _special(plan, stride, size), ordered=ordered, lags=BANDS)
    each = universe.rows_each  # of people with several rows all may differ so
    d = metric.pairwise(u, v) * each
    x = own.lengths(u, v) if own else d
    worst = plan.worst_epsilon
    usable = np.flatnonzero((d > 0) & np.isfinite(d) & (x > 0))
    if moves.bounded:
        used = np.minimum(d[usable] * float(plan.certificate.ratio), worst)
        at = np.zeros(len(usable), dtype=np.int64)
    else:
        used, at = moves.worst(u[usable], v[usable])
        flat = plan.cost.proportional_loss
        used = used * each + float(flat.most if axis is None else flat.along_axis(axis)) * d[usable]

    def point(k: int) -> ProfilePoint:
        pair = (int(u[usable[k]]) * stride + int(at[k]), int(v[usable[k]]) * stride + int(at[k]))
        return ProfilePoint(float(x[usable[k]]), float(d[usable[k]]), float(used[k]), pair)

    ends = (int(x[usable].argmin()), int(x[usable].argmax())) if len(usable) else ()
    return Profile(
        attribute.name if attribute is not None else "",
        own.unit if own else "",
        own is not None,
        tuple(point(k) for k in _worst_of_bands(x[usable], used)),
        tuple(point(k) for k in ends),
        int((d < worst * (1 - 1e-9)).sum()),  # the worst case is rounded up
        len(d),
        int(np.isinf(d).sum()),
        complete,
        moves.bounded,
        attribute is not None and own is not None and own.size < attribute.size,
    )


def _by_pairs(plan: Plan) -> SumCost:
    """What a plan tells by pairs, without counts of people and maps, which take the same part of every distance."""
    rows = plan.cost.by_pairs
    return SumCost(plan.metric.universe, [] if rows is None else [rows])


def _presence(plan: Plan, radius: float, absent: int) -> Profile:
    """Whether somebody is in the data at all: every different record against its absence."""
    worst = plan.worst_epsilon
    found = presence(_by_pairs(plan), absent)
    if found is None:
        point = ProfilePoint(radius, radius, min(radius * float(plan.certificate.ratio), worst), (0, absent))
    else:
        used = (
            found[0] * plan.metric.universe.rows_each
            + float(plan.cost.proportional_loss.along_axis(parts.PRESENCE)) * radius
        )
        point = ProfilePoint(radius, radius, used, (found[1], absent))
    below = int(radius < worst * (1 - 1e-9))
    return Profile(PRESENCE, "", False, (point,), (point, point), below, 1, 0, True, found is None)


def _special(plan: Plan, stride: int, size: int) -> list[int]:
    """Values that must not be missed: those of the tightest, the worst and the closest pair."""
    near = plan.metric.closest
    pairs = [plan.certificate.witness, plan.worst_case[1], near.pair if near else None]
    return [c // stride % size for pair in pairs if pair is not None for c in pair]


def _worst_of_bands(x: Floats, used: Floats) -> list[int]:
    """The worst pair of each distance, or of each band of distances where there are many; by rising distance."""
    if not len(x):
        return []
    band = bands(x)
    order = np.lexsort((-x, used, band))  # the last of each band is its worst; of equals the closest
    last = np.flatnonzero(np.append(np.diff(band[order]) > 0, True))
    return sorted((int(k) for k in order[last]), key=lambda k: float(x[k]))
