"""Profiles of a plan: for each attribute, the pair with the largest privacy loss at each distance.

On a sum of attributes, the pairs that differ in one attribute generate the metric, so there is one profile per
attribute. A profile has few points, each a real pair: the one with the largest loss in its band of distances. If an
attribute has too many pairs, a sample is used and `complete` is False. If the other attributes have too many
combinations of values, the certificate's bound replaces the losses and `bounded` is True. No picture holds all pairs.
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

# -- The loss of a cost for two values of one attribute, in the worst context of the others ----------------------------
# Pairs that differ in one attribute generate a sum of attributes, so pictures show these pairs.  A context is a
# combination of values of the other attributes; contexts with the same losses are evaluated once.  If there are too
# many, each query is maximized over its own contexts and the maxima are added: an upper bound, marked by `bounded`.


PAIRS = 1 << 20
WORK = 1 << 24  # entries of the workload that are evaluated for one attribute
_CHUNK = 1 << 21
_CONTEXTS = 1 << 10
_FEWEST = 500  # pairs in a useful picture


@dataclass(frozen=True, eq=False)
class Moves:
    """Pairs that differ in one attribute, or pairs of whole records if `axis` is None."""

    cost: LaplaceCost | SumCost
    axis: int | None
    terms: tuple[Term, ...]
    contexts: Ints | None  # offsets that are added to a record's index; None if there are too many

    @classmethod
    def along(cls, cost: LaplaceCost | SumCost, axis: int | None) -> "Moves":
        """Collect the queries that separate values of the attribute, and their contexts."""
        terms = tuple(t for t in cost.terms if axis is None or axis in t.axes)
        contexts: Ints | None = np.zeros(1, dtype=np.int64)
        if axis is not None:
            contexts = contexts_of(terms, _others(terms, axis), cost.universe, _CONTEXTS)
        if contexts is not None and len(contexts) * _width(terms) * _FEWEST > 4 * WORK:
            contexts = None
        return cls(cost, axis, terms, contexts)

    @property
    def bounded(self) -> bool:
        """Whether the losses are upper bounds."""
        return self.contexts is None

    @property
    def budget(self) -> int:
        """The number of pairs that can be evaluated in reasonable time."""
        contexts = 1 if self.contexts is None else len(self.contexts)
        return max(_FEWEST, min(PAIRS, WORK // _width(self.terms)) // contexts)

    @property
    def stride(self) -> int:
        """The step of a record's index from one value to the next."""
        return 1 if self.axis is None else self.cost.universe.strides[self.axis]

    def worst(self, u: Ints, v: Ints) -> tuple[Floats, Ints]:
        """Return for each pair of values the loss in the worst context, and that context."""
        if self.contexts is None:
            total = np.zeros(len(u))
            for term in self.terms:
                total += self._alone(term, u, v)
            return total, np.zeros(len(u), dtype=np.int64)
        if not self.terms and self.axis is not None and not self.cost.proportional_loss:
            return np.zeros(len(u)), np.zeros(len(u), dtype=np.int64)
        return _largest(self.cost, self._records(u), self._records(v), self.contexts, _width(self.terms))

    def _alone(self, term: Term, u: Ints, v: Ints) -> Floats:
        """Return the losses of one query in its own worst context; its largest loss if there are too many contexts."""
        most, width = float(term.reach()), term.width
        if self.axis is None:
            return np.full(len(u), most)
        contexts = contexts_of([term], _others([term], self.axis), self.cost.universe, _CONTEXTS)
        if contexts is None or len(contexts) * width * len(u) > 16 * WORK:
            same = term.moving(self.axis)
            return np.where(same[u] == same[v], 0.0, most)
        return _largest(term, self._records(u), self._records(v), contexts, width)[0]

    def _records(self, values: Ints) -> Ints:
        return self.cost.universe.numbered(values) * self.stride


def presence(cost: LaplaceCost | SumCost, absent: int) -> tuple[float, int] | None:
    """Return the largest loss between a record and its absence, and the record; None if there are too many."""
    axes = sorted({a for t in cost.terms for a in t.axes})
    records = contexts_of(cost.terms, axes, cost.universe, PAIRS // 4)
    width = _width(cost.terms)
    if records is None or len(records) * width > 4 * WORK:
        return None
    everywhere = np.zeros(1, dtype=np.int64)
    used, _ = _largest(cost, records, np.full(len(records), absent, dtype=records.dtype), everywhere, width)
    k = int(used.argmax())
    return float(used[k]), int(records[k])


def sample(size: int, budget: int, special: Sequence[int], *, ordered: bool, lags: int) -> tuple[Ints, Ints, bool]:
    """Return all pairs of values, or a sample of about `budget` pairs; and whether they are all.

    A sample contains the `special` values.  For an ordered attribute it contains pairs at many differences: evenly
    spaced values alone would leave out neighbors, which are the closest pairs.
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
    """Return the loss of each pair of records in its worst context, and that context."""
    used, at = np.zeros(len(i)), np.zeros(len(i), dtype=np.int64)
    chunk = max(1, _CHUNK // (width * len(contexts)))
    for start in range(0, len(i), chunk):
        part = slice(start, start + chunk)
        a, b = ((records[part, None] + contexts).ravel() for records in (i, j))
        loss = cost.pairwise(a, b).reshape(-1, len(contexts))
        best = loss.argmax(axis=1)
        used[part], at[part] = loss[np.arange(len(best)), best], contexts[best]
    return used, at


# -- Profiles of a plan: ε against distance ----------------------------------------------------------------------------


PRESENCE = "presence"


@dataclass(frozen=True)
class ProfilePoint:
    """A pair: its distance, its ε in the policy, and the privacy loss of the plan."""

    x: float
    policy: float
    used: float
    pair: tuple[int, int]


@dataclass(frozen=True)
class Profile:
    """The worst pairs along one attribute by increasing distance; `unit` is empty if the distance is the policy's ε."""

    name: str
    unit: str
    measured: bool
    points: tuple[ProfilePoint, ...]
    ends: tuple[ProfilePoint, ...]  # the closest and the farthest pair; empty if no distance is positive and finite
    below: int  # pairs whose ε in the policy is below the plan's worst-case ε
    pairs: int  # number of evaluated pairs
    public: int  # those of them without a limit
    complete: bool
    bounded: bool
    unplaced: bool = False  # `other` is left out, because it has no distance in the attribute's unit

    @property
    def rate(self) -> float:
        """The policy's ε per unit of distance, at the shortest distance."""
        return self.ends[0].policy / self.ends[0].x if self.ends else math.nan


def profiles(plan: Plan) -> list[Profile]:
    """Return one profile per attribute, and one for presence under add-remove neighbors."""
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
    """Return the profile along one attribute, or over whole records if the metric has no attributes."""
    universe = plan.metric.universe
    attribute = universe.attributes[axis] if axis is not None else None
    own = ruler(metric, attribute)
    size = own.size if own else metric.universe.size - (metric.universe.absent is not None)
    moves = Moves.along(_by_pairs(plan), axis)
    stride, ordered = moves.stride, isinstance(own, Ruler) and own.unit != ""
    u, v, complete = sample(size, moves.budget, _special(plan, stride, size), ordered=ordered, lags=BANDS)
    each = universe.rows_each  # all rows of a person may differ like this
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
        int((d < worst * (1 - 1e-9)).sum()),  # the worst-case ε is rounded up
        len(d),
        int(np.isinf(d).sum()),
        complete,
        moves.bounded,
        attribute is not None and own is not None and own.size < attribute.size,
    )


def _by_pairs(plan: Plan) -> SumCost:
    """Return the part of a plan's cost that is not proportional: all but counts of people and maps."""
    rows = plan.cost.by_pairs
    return SumCost(plan.metric.universe, [] if rows is None else [rows])


def _presence(plan: Plan, radius: float, absent: int) -> Profile:
    """Return the profile of presence: every record against its absence."""
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
    """Return the values that every sample must contain: those of the witness, the worst and the closest pair."""
    near = plan.metric.closest
    pairs = [plan.certificate.witness, plan.worst_case[1], near.pair if near else None]
    return [c // stride % size for pair in pairs if pair is not None for c in pair]


def _worst_of_bands(x: Floats, used: Floats) -> list[int]:
    """Return the worst pair of each distance, or of each band if there are many distances; by increasing distance."""
    if not len(x):
        return []
    band = bands(x)
    order = np.lexsort((-x, used, band))  # the last of each band is its worst; the closest among equals
    last = np.flatnonzero(np.append(np.diff(band[order]) > 0, True))
    return sorted((int(k) for k in order[last]), key=lambda k: float(x[k]))
