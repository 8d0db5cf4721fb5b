"""Find the strictest pair: the closest two records with different answers.

Its distance is the ε at which standard DP would be as strict as the policy for this workload.

Only generating pairs are searched.  "The answers differ" is a 0/1 pseudometric: on a shortest path between two records
with different answers, at least one step changes the answers, and no step is longer than the path.  For a sum over
attributes, generating pairs differ in one attribute, and their distance does not depend on the others.
"""

import math
from collections.abc import Iterator

import numpy as np

from dxprivacy.exact.arrays import Bools, Floats, Ints
from dxprivacy.metrics import Extreme, Metric
from dxprivacy.metrics.closed_forms import Constant
from dxprivacy.metrics.metric import Pairs
from dxprivacy.metrics.with_other import WithAbsent, WithOther
from dxprivacy.privacy.search.tree_search import closest_separated
from dxprivacy.privacy.search.value_classes import closest_between
from dxprivacy.universe.blocks import Block, joint_classes
from dxprivacy.universe.blocks.block import pieces
from dxprivacy.universe.workload import Workload

_BLOCK = 1 << 14


def strictest_pair(workload: Workload, metric: Metric) -> Extreme | None:
    """Return the closest two records at finite distance whose answers differ, or None.

    Under add-remove neighbors, `absent` counts as a record.

    >>> from dxprivacy import metrics
    >>> from dxprivacy.queries.asking import gather
    >>> line = metrics.euclidean([[0], [1], [6], [7]], epsilon_per_unit=1)
    >>> strictest_pair(gather([[1, 1, 0, 0]]).on(line.universe), line)
    Extreme(distance=5.0, pair=(1, 2))
    """
    if isinstance(metric, WithAbsent):
        near, radius = _among(workload, metric.base), float(metric.radius)
        if near is not None and near.distance <= radius:
            return near
        there = _counted(workload)
        if there is not None and math.isfinite(radius):
            return Extreme(radius, (there, metric.last))
        return near
    return _among(workload, metric)


def _among(workload: Workload, metric: Metric) -> Extreme | None:
    """Among the records that are there."""
    best, pair = math.inf, None
    for i, j, d in _candidates(workload, metric):
        at = int(d.argmin())
        if d[at] < best:
            best, pair = float(d[at]), (int(i[at]), int(j[at]))
    return None if pair is None else Extreme(best, pair)


def _candidates(workload: Workload, metric: Metric) -> Iterator[tuple[Ints, Ints, Floats]]:
    # Pairs with different answers at finite distance, among which the closest is found.
    universe = metric.universe
    axes = metric.axes
    if axes is None and not isinstance(metric, Constant):
        for i, j in metric.generators(_BLOCK):
            shown = _shown(workload, i, j)
            yield from _finite(metric, (i[shown], j[shown]), 1)
        return
    for axis in range(len(universe.shape)):
        touching = [block for block in workload.blocks if axis in block.axes]
        moving = joint_classes([block.moving(axis) for block in touching], universe.shape[axis])
        if not moving.any():
            continue
        stride = universe.strides[axis]
        if axes is None:  # all distances are equal: any pair is the closest
            other = int(np.flatnonzero(moving != moving[0])[0]) * stride
            yield from _finite(metric, (universe.numbered([0]), universe.numbered([other])), 1)
        elif (few := _one_of_each(axes[axis], moving)) is not None:
            yield from _finite(axes[axis], few, stride)
        else:
            for pairs in closest_separated(axes[axis], moving) or closest_between(axes[axis], moving):
                yield from _finite(axes[axis], pairs, stride)


def _one_of_each(along: Metric, moving: Ints) -> Pairs | None:
    # If all listed values have one distance: a separated pair of them, and one with `other`.  None for other metrics.
    base = along.base if isinstance(along, WithOther) else along
    if not isinstance(base, Constant):
        return None
    listed = base.universe.size
    pairs = [(0, int(v)) for v in np.flatnonzero(moving[:listed] != moving[0])[:1]]
    pairs += [(int(u), listed) for u in np.flatnonzero(moving[:listed] != moving[-1])[:1] if listed < len(moving)]
    first, second = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return first, second


def _finite(metric: Metric, pairs: Pairs, stride: int) -> Iterator[tuple[Ints, Ints, Floats]]:
    d = metric.pairwise(*pairs)
    limited = np.isfinite(d)
    if limited.any():
        wide = object if stride >= 1 << 31 else np.int64
        yield pairs[0][limited].astype(wide) * stride, pairs[1][limited].astype(wide) * stride, d[limited]


def _counted(workload: Workload) -> int | None:
    # A record that some row counts: if a row is not zero, its smallest or largest entry is not 0.
    for block in workload.blocks:
        ends = block.ends(absent=False)
        if ends is not None:
            cells = np.array(list(dict.fromkeys(np.concatenate(ends).tolist())), dtype=np.int64)
            found = np.flatnonzero(_shown(block, cells, np.full(len(cells), block.universe.absent)))
            if len(found):
                return int(cells[found[0]])
    return None


def _shown(rows: Block | Workload, i: Ints, j: Ints) -> Bools:
    # Whether any row differs between i and j.
    out = np.zeros(len(i), dtype=bool)
    for some in pieces(rows.width, len(i)):
        out[rows.differences(i[some], j[some])[0] + some.start] = True
    return out
