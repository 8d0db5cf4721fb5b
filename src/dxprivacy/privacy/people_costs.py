"""What counts of people cost: a certified part of the policy for whole people, and never pair by pair of rows.

A count of people (1 for whoever has at least one kept row in a group) is no sum over rows: rows of one person share it.
Let two people be D apart, the largest distance of the best matching of their kept rows, and s_g the least distance of a
row in group g from one outside of it, `absent` among these.  Whether somebody counts in g can change only if s_g <= D;
each of the m matched pairs of rows touches two groups at most.  So noise of scales c_g loses no more than the 2m
largest 1/c_g of the groups with s_g <= D, and the part of the policy that this takes is the largest such sum over its
s_g.  Parts of several tables add up, and so they do with the part that sums over rows take of D (docs/theorems.md): two
counts that two different rows of a person change lose both, which no single pair of rows would show.
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

_MOST_GROUPS = 3_000  # each of which is looked at by itself; of more, the closest pair of all counts for each
_MOST_PAIRS = 300_000_000  # in all of them


def part_of_people(block: PeopleTable, scales: Floats, metric: Metric) -> Exact:
    """The part of the policy that noise of these scales takes, for whole people; infinite where no noise is enough."""
    apart = least_apart(block, metric)
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
    """In how many groups one person can make a difference: two for each row, and two where all groups are people's own.

    Whoever stands in a table of people has one entry there, so they leave one group and enter another.
    """
    universe = block.universe
    table = None if universe.people is None else universe.people.table
    parted = {universe.names[axis] for axis, size in block.groups.sizes.items() if size > 1}
    return 2 if parted <= set(() if table is None else table.attributes) else 2 * universe.rows_each


def people_reading(block: PeopleTable, scales: Floats) -> float:
    """The standard-DP reading: the most that replacing a whole person can lose."""
    counted = scales[block.peak_of_row > 0]
    if not counted.size:
        return 0.0
    with np.errstate(divide="ignore"):
        return math.fsum(np.sort(1.0 / counted)[::-1][: most_groups(block)].tolist()) * (1 + 2.0**-50)


def closest_groups(block: PeopleTable, metric: Metric) -> Extreme | None:
    """The closest two rows, of which one is in a group and the other is not."""
    found = [near for near in closest_pairs(block, metric) if near is not None]
    return min(found, key=lambda near: near.distance) if found else None


def least_apart(block: PeopleTable, metric: Metric) -> tuple[Fraction | None, ...]:
    """For each group not more than the least distance, for people, of a row inside from one outside; None: empty."""
    each, slack = metric.universe.rows_each, Fraction(4 * metric.error + 2.0**-44)
    return tuple(
        None if near is None else Fraction(metric.exact(*near.pair)) * each * (1 - slack)
        for near in closest_pairs(block, metric)
    )


@lru_cache(maxsize=64)
def closest_pairs(block: PeopleTable, metric: Metric) -> tuple[Extreme | None, ...]:
    """For each group that anybody can be in the closest pair that it tells apart; None for any other."""
    filled = block.peak_of_row.tolist()
    if block.rows * _pairs_each(metric) > _MOST_PAIRS or block.rows > _MOST_GROUPS:
        near = strictest_pair(Workload(block.universe, (block.groups,), ()), metric)
        return tuple(near if peak else None for peak in filled)
    one = (Workload(block.universe, (block.groups.row(k),), ()) if peak else None for k, peak in enumerate(filled))
    return tuple(None if alone is None else strictest_pair(alone, metric) for alone in one)


def _pairs_each(metric: Metric) -> int:
    """How many pairs are looked at for a group: few where attributes are looked at one by one; refuses too many."""
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
    """Scales of least squares that take the whole policy, or a little more: to be certified, and to be shared out.

    Groups in the order of their distances: the precisions of the first k add up to at most s_k (of at most 2m of them).
    Under such bounds those of least sum 1/w^2 follow the lower convex hull of the points (k, s_k).
    """
    apart = least_apart(block, metric)
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
    """The slopes of the lower convex hull through the origin, one for each point.

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
