"""Costs of maps: a certified fraction of the distances between places, from the width of the Gaussian blur.

Two places x standard deviations apart differ, over the whole map and on every grid, by at most g(x) = 2 (2 Phi(x / 2) -
1) of a record: the grid cell is a function of the position of a blurred record, so it separates no more than the
position does (data processing inequality; docs/theorems.md).  g is concave, so g(x) / x is largest for the closest
pair.  Roundings add `rounding` steps for each place.  Where distances are bounded (by a cap, `other` or absence), far
places differ by at most two records.

A record may also leave the map or move to another group of the table that the map is crossed with.  These groups have
hard borders, so the cost of such a move is that of a table of counts.
"""

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from dxprivacy.errors import NotCertified
from dxprivacy.exact.normal import STEPS, apart_at_most
from dxprivacy.exact.rounding import Exact
from dxprivacy.metrics import Extreme, Metric
from dxprivacy.metrics.closed_forms import Constant
from dxprivacy.metrics.derived_metrics import Capped, CombinedMetric, Scaled
from dxprivacy.metrics.distances import RADIUS_KM
from dxprivacy.metrics.place_metrics import Places
from dxprivacy.metrics.with_other import WithAbsent, WithOther, present
from dxprivacy.privacy.costs import LaplaceCost
from dxprivacy.privacy.proportional_loss import PRESENCE, ProportionalLoss
from dxprivacy.privacy.search.max_ratio import max_ratio
from dxprivacy.privacy.search.value_classes import restricted_to
from dxprivacy.privacy.strictest_pair import strictest_pair
from dxprivacy.trees.embedding import Embedding
from dxprivacy.universe.blocks import Blurred
from dxprivacy.universe.workload import Workload

REACH = 4
"""In standard deviations: places further apart are charged the maximum of two records."""
_SLACK = Fraction(1, 1 << 40)  # more than all roundings of distances in floats


@lru_cache(maxsize=64)
def unit_part(block: Blurred, metric: Metric) -> ProportionalLoss:
    """Return the fraction of distances that noise of scale 1 in every row uses."""
    if block.is_constant:
        return ProportionalLoss()
    soft, hard = _of_places(block, metric), _of_groups(block, metric)
    if present(metric).axes is None:
        return ProportionalLoss(max(soft, hard.most))
    along = {axis: part for axis, part in hard.along.items() if part}
    along[block.axis] = max(soft, along.get(block.axis, Fraction(0)))
    return ProportionalLoss(along=along)


def closest_places(block: Blurred, metric: Metric) -> Extreme | None:
    """Return the closest two records that the map separates."""
    groups = strictest_pair(Workload(block.universe, (block.groups,), ()), metric)
    axes = metric.by_attribute
    near = None if axes is None else axes[block.axis].closest
    if near is not None:
        stride = block.universe.strides[block.axis]
        near = Extreme(near.distance, (near.pair[0] * stride, near.pair[1] * stride))
    found = [x for x in (groups, near) if x is not None]
    return min(found, key=lambda x: x.distance) if found else None


def _of_places(block: Blurred, metric: Metric) -> Exact:
    # The fraction of the distance of two places, for records that agree in all other attributes.
    axes = metric.by_attribute
    along = present(metric) if axes is None else axes[block.axis]
    if isinstance(along, Constant):  # any two places may change the map by two records
        if along.universe.size < 2:
            return Fraction(0)
        return Fraction(2 * block.most) / along.epsilon if along.epsilon else math.inf
    space = along.embedding if axes is not None else None
    if space is None or not _fits(space, block):
        raise no_plane(block)
    near = (places := _places_of(along)).closest
    if near is None or not block.most:
        return Fraction(0)
    bell, per = block.bell, Fraction(space.slope) * (1 - _SLACK)
    if space.arc:  # the slope is per radian
        per /= RADIUS_KM
    cap = Fraction(space.cap) * (1 - _SLACK) if space.cap < math.inf else None
    if isinstance(metric, WithAbsent):
        cap = min([2 * Fraction(metric.radius), *([] if cap is None else [cap])])
    length = Fraction(near.distance) / places.per_unit * (1 - _SLACK - 4 * Fraction(places.error))
    least = max(length, Fraction(space.floor) * (1 - _SLACK) / per)
    least = least if cap is None else min(least, cap / per)
    reach = REACH * bell.width
    stretch = bell.plane.stretch(reach) * _longer(space)
    near_by = STEPS * apart_at_most(stretch * least / bell.width) + 2 * bell.rounding
    found = [min(near_by, Fraction(2 * block.most)) / (per * least)]
    if space.arc:
        found.append(2 * block.most / (per * max(reach, least)))
    if cap is not None:
        found.append(2 * block.most / cap)
    return max(found) * (1 + _SLACK)


def _places_of(metric: Metric) -> Places:
    # The places under a metric with an embedding; a map shows two places with equal coordinates as one.
    while not isinstance(metric, Places):
        if isinstance(metric, CombinedMetric):
            metric = next(part for part in metric.parts if not isinstance(part, Constant))
        else:
            assert isinstance(metric, Scaled | Capped | WithOther)
            metric = metric.base
    return metric


def _longer(space: Embedding) -> Fraction:
    # Upper bound on the ratio of the Euclidean length to the p-norm in the plane: at most the square root of 2.
    return Fraction(1) if space.p <= 2 else Fraction(1414213563, 10**9)


def _fits(space: Embedding, block: Blurred) -> bool:
    # Whether the metric measures distances between the same places that the map shows.
    plane = block.bell.plane
    if space.arc != plane.earth or space.size < len(block.inside) or len(space.keys) != 2:
        return False
    mine = space.keys[:, : len(block.inside)][:, block.inside >= 0]
    return bool(np.array_equal(mine, plane.coordinates.T + 0.0))


def no_plane(block: Blurred) -> NotCertified:
    """Build the error for a map of an attribute without distances in a plane or on the Earth."""
    name = block.universe.names[block.axis]
    return NotCertified(
        f"a map of {name} needs distances between its places, in a plane or on the Earth",
        hints=[('metric = "great-circle"', "or euclidean, manhattan, chebyshev"), (f"count by {name}", "without them")],
    )


def _of_groups(block: Blurred, metric: Metric) -> ProportionalLoss:
    # Fractions along all attributes for records that leave the map or their group, which changes a whole record.
    groups = block.groups
    rows = Workload(block.universe, (groups,), ())
    cost = LaplaceCost(rows, np.ones(groups.rows))
    if present(metric).axes is None:
        return ProportionalLoss(along={block.axis: max_ratio(cost, metric).upper * block.most})
    moving = [axis for axis in groups.axes if groups.moving(axis).any()]
    parts = {axis: max_ratio(cost, restricted_to(metric, (axis,))).upper * block.most for axis in moving}
    if isinstance(metric, WithAbsent):
        parts[PRESENCE] = Fraction(block.most) / Fraction(metric.radius)
    return ProportionalLoss(along=parts)
