"""Values that no question tells apart are one class; of two classes only the closest pairs matter."""

from collections.abc import Iterator

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.metrics import Metric
from dxprivacy.metrics.closed_forms import Constant
from dxprivacy.metrics.metric import BLOCK, Pairs
from dxprivacy.privacy.search.tree_search import closest_in_space

_DENSE_CLASSES = 2_000
_FEW_CLASSES = 256


def representatives(classes: Ints) -> Ints:
    """One value of each class: its first."""
    return np.unique(classes, return_index=True)[1].astype(np.int64)


def reducible(classes: Ints) -> bool:
    """Whether the values fall into so few classes that closest pairs are worth searching for."""
    count = int(classes.max()) + 1
    return count <= _DENSE_CLASSES and 4 * count < len(classes)


def in_space(classes: Ints) -> bool:
    """Whether points are better walked over than the closest of every two classes looked for."""
    return not reducible(classes) or int(classes.max()) >= _FEW_CLASSES


def closest_between(metric: Metric, classes: Ints) -> Iterator[Pairs]:
    """Generator pairs that cross classes; of each two classes only those that may be the closest."""
    count = int(classes.max()) + 1
    reduce = reducible(classes)
    if not in_space(classes) and (found := closest_in_space(metric, classes)) is not None:
        yield found
        return
    if reduce and isinstance(metric, Constant):  # one pair is as close as all others: 41,000 values have 840 million
        if not metric.has_infinite:
            one, (a, b) = representatives(classes), np.triu_indices(count, 1)
            yield one[a], one[b]
        return
    best = np.full(count * count if reduce else 0, np.inf)
    if reduce:
        for _, _, code, d in _crossing(metric, classes, count):
            np.minimum.at(best, code, d)
    tolerance = 1.0 + 8.0 * metric.error
    kept: list[tuple[Ints, Ints, Ints]] = []
    for u, v, code, d in _crossing(metric, classes, count):
        if not reduce:
            yield u, v
            continue
        near = np.flatnonzero(d <= best[code] * tolerance)
        if len(near):
            kept.append((u[near], v[near], np.column_stack([code[near], metric.keys(u[near], v[near])])))
            if sum(len(k[0]) for k in kept) > 4 * BLOCK:
                kept = [_distinct(kept)]
    if kept:
        u, v, _ = _distinct(kept)
        yield u, v


def _distinct(kept: list[tuple[Ints, Ints, Ints]]) -> tuple[Ints, Ints, Ints]:
    keys = np.concatenate([k for _, _, k in kept])
    first = np.unique(keys, axis=0, return_index=True)[1]
    return np.concatenate([u for u, _, _ in kept])[first], np.concatenate([v for _, v, _ in kept])[first], keys[first]


def _crossing(metric: Metric, classes: Ints, count: int) -> Iterator[tuple[Ints, Ints, Ints, Floats]]:
    for u, v in metric.generators():
        a, b = classes[u], classes[v]
        across = a != b
        d = metric.pairwise(u[across], v[across])
        finite = np.isfinite(d)  # an infinite distance asks for nothing
        u, v, a, b = (x[across][finite] for x in (u, v, a, b))
        if len(u):
            yield u, v, np.minimum(a, b) * count + np.maximum(a, b), d[finite]
