"""What a plan promises against distance: for each attribute, the worst pair at each distance.

On a sum of attributes the pairs that differ in one attribute generate the metric, so there is one profile per attribute
(UX, "Large N").  A profile has few points, each a real pair: the worst of its band of distances.  Where an attribute
has more pairs than can be looked at, the profile says so; where the other attributes multiply beyond measure, the loss
is bounded by the certificate instead.  Nothing here is ever N x N in the picture.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dxprivacy.bounds import contexts_of
from dxprivacy.model.arrays import Floats, Ints
from dxprivacy.model.attributes import Attribute
from dxprivacy.model.metrics import Capped, Line, Metric, Places, Scaled, WithAbsent, WithOther, along
from dxprivacy.model.ordered import Dates, Numbers
from dxprivacy.planning import Plan

BANDS = 24
PRESENCE = "presence"
PAIRS = 1 << 20
_WORK = 1 << 24  # entries of the workload to look at, for one profile
_CHUNK = 1 << 21
_CONTEXTS = 1 << 10
_FEWEST = 500  # pairs, for a profile worth its name


@dataclass(frozen=True)
class Point:
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
    points: tuple[Point, ...]
    ends: tuple[Point, ...]  # the closest and the farthest pair; none where no distance is positive and finite
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


@dataclass(frozen=True)
class Ruler:
    """How far two values of an attribute are apart, in its own unit; only the first `size` values have a place."""

    unit: str
    size: int
    lengths: Callable[[Ints, Ints], Floats]


def profiles(plan: Plan) -> list[Profile]:
    """One for each attribute, and one for presence where records may be absent."""
    metric, universe = plan.metric, plan.metric.universe
    axes = along(metric)
    if axes is None:
        found = [_profile(plan, metric, None)]
    else:
        found = [_profile(plan, each, axis) for axis, each in enumerate(axes)]
    if isinstance(metric, WithAbsent) and universe.absent is not None:
        found.append(_presence(plan, float(metric.radius), universe.absent))
    return found


def ruler(metric: Metric, attribute: Attribute | None) -> Ruler | None:
    """The own distance under a metric; None where the metric is all there is.

    >>> from dxprivacy.model import metrics
    >>> ruler(metrics.line(5, 1), None).unit, ruler(metrics.constant(5, 1), None)
    ('steps', None)
    """
    while isinstance(metric, (WithOther, Capped, Scaled)):
        metric = metric.base
    if isinstance(metric, Places):
        return Ruler(metric.unit, metric.universe.size, metric.lengths)
    if not isinstance(metric, Line):
        return None
    positions = metric.positions.astype(np.float64)
    step, unit = 1.0, "steps"
    if isinstance(attribute, Dates):
        unit = "days"
    elif attribute is not None and attribute.kind in ("integers", "numbers"):
        step = float(attribute.step) if isinstance(attribute, Numbers) else 1.0
        unit = attribute.unit
    return Ruler(unit, metric.universe.size, lambda i, j: np.abs(positions[i] - positions[j]) * step)


def _profile(plan: Plan, metric: Metric, axis: int | None) -> Profile:
    """Along one attribute, or over whole records where the metric knows no attributes."""
    universe = plan.metric.universe
    attribute = universe.attributes[axis] if axis is not None else None
    own = ruler(metric, attribute)
    size = own.size if own else metric.universe.size - (metric.universe.absent is not None)
    stride = universe.strides[axis] if axis is not None else 1
    terms = [t for t in plan.cost.terms if axis is None or axis in t.axes]
    contexts: Ints | None = np.zeros(1, dtype=np.int64)
    if axis is not None:
        others = sorted({a for t in terms for a in t.axes} - {axis})
        contexts = contexts_of(terms, others, universe, _CONTEXTS)
    width = sum(t.width for t in terms) or 1
    if contexts is not None and len(contexts) * width * _FEWEST > 4 * _WORK:
        contexts = None
    budget = max(_FEWEST, min(PAIRS, _WORK // width) // (1 if contexts is None else len(contexts)))
    u, v, complete = _pairs(size, budget, isinstance(own, Ruler) and own.unit != "", _special(plan, stride, size))
    d = metric.pairwise(u, v)
    x = own.lengths(u, v) if own else d
    worst = plan.baselines.worst_epsilon
    usable = np.flatnonzero((d > 0) & np.isfinite(d) & (x > 0))
    if contexts is None:
        used = np.minimum(d[usable] * float(plan.certificate.ratio), worst)
        at = np.zeros(len(usable), dtype=np.int64)
    else:
        used, at = _used(plan, u[usable] * stride, v[usable] * stride, contexts, width)

    def point(k: int) -> Point:
        pair = (int(u[usable[k]]) * stride + int(at[k]), int(v[usable[k]]) * stride + int(at[k]))
        return Point(float(x[usable[k]]), float(d[usable[k]]), float(used[k]), pair)

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
        contexts is None,
        attribute is not None and own is not None and own.size < attribute.size,
    )


def _presence(plan: Plan, radius: float, absent: int) -> Profile:
    """Whether somebody is in the data at all: every different record against its absence."""
    terms = plan.cost.terms
    axes = sorted({a for t in terms for a in t.axes})
    cells = contexts_of(terms, axes, plan.metric.universe, PAIRS // 4)
    width = sum(t.width for t in terms) or 1
    worst = plan.baselines.worst_epsilon
    bounded = cells is None or len(cells) * width > 4 * _WORK
    if cells is None or bounded:
        point = Point(radius, radius, min(radius * float(plan.certificate.ratio), worst), (0, absent))
    else:
        used, _ = _used(plan, cells, np.full(len(cells), absent, dtype=np.int64), np.zeros(1, dtype=np.int64), width)
        k = int(used.argmax())
        point = Point(radius, radius, float(used[k]), (int(cells[k]), absent))
    below = int(radius < worst * (1 - 1e-9))
    return Profile(PRESENCE, "", False, (point,), (point, point), below, 1, 0, True, bounded)


def _special(plan: Plan, stride: int, size: int) -> list[int]:
    """Values that must not be missed: those of the tightest, the worst and the closest pair."""
    near = plan.metric.closest
    pairs = [plan.certificate.witness, plan.baselines.worst_pair, near.pair if near else None]
    return [c // stride % size for pair in pairs if pair is not None for c in pair]


def _pairs(size: int, budget: int, ordered: bool, special: list[int]) -> tuple[Ints, Ints, bool]:
    """All pairs of values, or as many as the budget allows; and whether they are all."""
    if size * (size - 1) // 2 <= budget:
        u, v = np.triu_indices(size, 1)
        return u.astype(np.int64), v.astype(np.int64), True
    many = max(8, math.isqrt(2 * budget) // (2 if ordered else 1))
    chosen = np.unique(np.append(np.linspace(0, size - 1, many), special).astype(np.int64))
    first, second = np.triu_indices(len(chosen), 1)
    u, v = chosen[first], chosen[second]
    if ordered:  # neighbours are the closest pairs of an ordered attribute, and a coarse sample has none
        start = np.unique(np.append(np.linspace(0, size - 2, many), special).astype(np.int64))
        lags = np.unique(np.geomspace(1, size - 1, BANDS).astype(np.int64))
        a, b = np.repeat(start, len(lags)), (start[:, None] + lags).ravel()
        inside = b < size
        u, v = np.concatenate([u, a[inside]]), np.concatenate([v, b[inside]])
    return u, v, False


def _used(plan: Plan, i: Ints, j: Ints, contexts: Ints, width: int) -> tuple[Floats, Ints]:
    """The plan's loss on each pair in its worst context, and that context."""
    used, at = np.zeros(len(i)), np.zeros(len(i), dtype=np.int64)
    chunk = max(1, _CHUNK // (width * len(contexts)))
    for start in range(0, len(i), chunk):
        part = slice(start, start + chunk)
        a, b = ((cells[part, None] + contexts).ravel() for cells in (i, j))
        loss = plan.cost.pairwise(a, b).reshape(-1, len(contexts))
        best = loss.argmax(axis=1)
        used[part], at[part] = loss[np.arange(len(best)), best], contexts[best]
    return used, at


def _worst_of_bands(x: Floats, used: Floats) -> list[int]:
    """The worst pair of each distance, or of each band of distances where there are many; by rising distance."""
    if not len(x):
        return []
    distances = np.unique(x)
    if len(distances) <= BANDS:
        band = np.searchsorted(distances, x)
    else:
        edges = np.geomspace(distances[0], distances[-1], BANDS + 1)
        band = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, BANDS - 1)
    order = np.lexsort((-x, used, band))  # the last of each band is its worst; of equals the closest
    last = np.flatnonzero(np.append(np.diff(band[order]) > 0, True))
    return sorted((int(k) for k in order[last]), key=lambda k: float(x[k]))
