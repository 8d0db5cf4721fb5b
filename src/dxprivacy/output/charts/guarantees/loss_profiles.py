"""What a plan guarantees against distance: for each attribute, the worst pair at each distance.

On a sum of attributes the pairs that differ in one attribute generate the metric, so there is one profile per attribute
(UX, "Large N").  A profile has few points, each a real pair: the worst of its band of distances.  Where an attribute
has more pairs than can be looked at, the profile says so; where the other attributes multiply beyond measure, the loss
is bounded by the certificate instead.  Nothing here is ever N x N in the picture.
"""

import math
from dataclasses import dataclass

import numpy as np

from dxprivacy.exact.arrays import Floats
from dxprivacy.mechanisms.linear.plan import Plan
from dxprivacy.metrics import Metric
from dxprivacy.metrics.with_other import WithAbsent, along
from dxprivacy.output.charts.distance_bands import BANDS, Ruler, bands, ruler
from dxprivacy.output.charts.guarantees.attribute_moves import Moves, presence, sample
from dxprivacy.privacy import proportional_loss as parts
from dxprivacy.privacy.costs import SumCost

PRESENCE = "presence"


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
        flat = plan.cost.flat
        used = used * each + float(flat.most if axis is None else flat.along_axis(axis)) * d[usable]

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
        point = Point(radius, radius, min(radius * float(plan.certificate.ratio), worst), (0, absent))
    else:
        used = found[0] * plan.metric.universe.rows_each + float(plan.cost.flat.along_axis(parts.PRESENCE)) * radius
        point = Point(radius, radius, used, (found[1], absent))
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
