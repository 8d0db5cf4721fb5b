"""Costs of counts of people: a certified fraction of the policy for whole people, not for pairs of rows.

A count of people (1 for each person with at least one kept row in a group) is not a sum over rows.  Let D be the
distance of two people: the largest distance in the best matching of their kept rows.  Let s_g be the least distance of
a row in group g from a row outside of it, `absent` included.  Whether a person counts in g can change only if s_g <= D,
and each of the m matched pairs of rows affects at most two groups.  So noise of scales c_g has a privacy loss of at
most the sum of the 2m largest 1/c_g over groups with s_g <= D.  The fraction of the policy is the largest such sum
divided by its s_g.  Fractions of several tables add up, also with the fraction of D that sums over rows use
(docs/theorems.md): two counts that two different rows of a person change lose both, which no single pair of rows shows.
"""

import heapq
import math
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

import numpy as np

from dxprivacy.errors import NotCertified
from dxprivacy.exact.arrays import Floats
from dxprivacy.exact.rounding import Exact
from dxprivacy.metrics import Extreme, Metric
from dxprivacy.metrics.closed_forms import Constant
from dxprivacy.metrics.with_other import present
from dxprivacy.privacy.search.generating_pairs import MAX_ALL_PAIRS
from dxprivacy.privacy.strictest_pair import strictest_pair
from dxprivacy.universe.blocks import PeopleTable
from dxprivacy.universe.workload import Workload

_MOST_GROUPS = 3_000  # searched one by one; if there are more, the closest pair of all groups is used for each
_MOST_PAIRS = 300_000_000  # over all groups


def part_of_people(block: PeopleTable, scales: Floats, metric: Metric) -> Exact:
    """Return the fraction of the policy, for whole people, that noise of these scales uses; may be infinite."""
    apart = least_distances(block, metric)
    most: Exact = Fraction(0)
    kept: list[Fraction] = []  # the largest 1/c of the groups so far, as a heap
    total = Fraction(0)
    order = sorted((k for k, near in enumerate(apart) if near is not None), key=lambda k: _distance(apart[k]))
    for k in order:
        if scales[k] == 0 or _distance(apart[k]) == 0:
            return math.inf
        weight = 1 / Fraction(float(scales[k]))
        heapq.heappush(kept, weight)
        total += weight
        if len(kept) > most_groups(block):
            total -= heapq.heappop(kept)
        most = max(most, total / _distance(apart[k]))
    return most


def most_groups(block: PeopleTable) -> int:
    """Return the largest number of groups that one person can change.

    Two for each row.  Two in all if groups are formed by attributes of the table of people: a person has one entry
    there, so they leave one group and enter another.
    """
    universe = block.universe
    table = None if universe.people is None else universe.people.table
    parted = {universe.names[axis] for axis, size in block.groups.sizes.items() if size > 1}
    return 2 if parted <= set(() if table is None else table.attributes) else 2 * universe.rows_each


def people_reading(block: PeopleTable, scales: Floats) -> float:
    """Return the worst-case ε: the largest privacy loss by replacing a whole person."""
    counted = scales[block.peak_of_row > 0]
    if not counted.size:
        return 0.0
    with np.errstate(divide="ignore"):
        return math.fsum(np.sort(1.0 / counted)[::-1][: most_groups(block)].tolist()) * (1 + 2.0**-50)


def closest_groups(block: PeopleTable, metric: Metric) -> Extreme | None:
    """Return the closest two rows of which one is in a group and the other is not."""
    found = [near for near in closest_pairs(block, metric) if near is not None]
    return min(found, key=lambda near: near.distance) if found else None


def least_distances(block: PeopleTable, metric: Metric) -> tuple[Fraction | None, ...]:
    """Return, per group, a lower bound on the distance for people of a row inside from one outside; None if empty."""
    each, slack = metric.universe.rows_each, Fraction(4 * metric.error + 2.0**-44)
    return tuple(
        None if near is None else Fraction(metric.exact(*near.pair)) * each * (1 - slack)
        for near in closest_pairs(block, metric)
    )


@lru_cache(maxsize=64)
def closest_pairs(block: PeopleTable, metric: Metric) -> tuple[Extreme | None, ...]:
    """Return, for each group that a record can be in, the closest pair that it separates; None for other groups."""
    filled = block.peak_of_row.tolist()
    if block.rows * _pairs_each(metric) > _MOST_PAIRS or block.rows > _MOST_GROUPS:
        near = strictest_pair(Workload(block.universe, (block.groups,), ()), metric)
        return tuple(near if peak else None for peak in filled)
    one = (Workload(block.universe, (block.groups.row(k),), ()) if peak else None for k, peak in enumerate(filled))
    return tuple(None if alone is None else strictest_pair(alone, metric) for alone in one)


def _pairs_each(metric: Metric) -> int:
    # The number of pairs to compare for one group; raises NotCertified if there are too many.
    base = present(metric)
    if base.axes is not None or isinstance(base, Constant):
        return 1
    if base.generator_count > MAX_ALL_PAIRS:
        raise NotCertified(
            f"{base.universe.size:,} possible records have too many pairs to check one by one",
            hints=["use attributes that add up, or fewer records"],
        )
    return base.generator_count


def _distance(apart: Fraction | None) -> Fraction:
    assert apart is not None
    return apart


def best_scales(block: PeopleTable, metric: Metric) -> Floats:
    """Propose scales of least total squared error that use the whole policy; certification and budget come later.

    With groups ordered by distance, the precisions w of the first k add up to at most s_k (for at most 2m groups).
    Under these constraints the minimum of sum 1/w^2 follows the lower convex hull of the points (k, s_k).
    """
    apart = least_distances(block, metric)
    order = sorted((k for k, s in enumerate(apart) if s is not None), key=lambda k: _distance(apart[k]))
    scales = np.zeros(block.rows)
    if not order:
        return scales
    limits = [float(_distance(apart[k])) for k in order]
    together = most_groups(block)
    even = max(min(k + 1, together) / s if s else math.inf for k, s in enumerate(limits))
    hull = _hull(limits) if len(order) <= together else []
    scales[order] = [1 / w if w else math.inf for w in hull] if hull else even
    return scales


def _hull(limits: Iterable[float]) -> list[float]:
    """Return the slopes of the lower convex hull through the origin, one per point.

    >>> _hull([1.0, 1.5, 6.0])
    [0.75, 0.75, 4.5]
    """
    points = [(0, 0.0)]
    for k, s in enumerate(limits, 1):
        while len(points) > 1 and _slope(points[-2], points[-1]) >= _slope(points[-1], (k, s)):
            points.pop()
        points.append((k, s))
    return [_slope(a, b) for a, b in pairwise(points) for _ in range(b[0] - a[0])]


def _slope(a: tuple[int, float], b: tuple[int, float]) -> float:
    return (b[1] - a[1]) / (b[0] - a[0])
