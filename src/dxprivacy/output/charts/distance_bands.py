"""How far two values of an attribute are apart in its own unit, and bands of such distances."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.metrics import Metric
from dxprivacy.metrics.closed_forms import Line
from dxprivacy.metrics.derived_metrics import AttributeMax, Capped, Scaled
from dxprivacy.metrics.place_metrics import Places
from dxprivacy.metrics.with_other import WithOther
from dxprivacy.universe.attributes.attribute import Attribute

BANDS = 24


@dataclass(frozen=True)
class Ruler:
    """How far two values of an attribute are apart, in its own unit; only the first `size` values have a place."""

    unit: str
    size: int
    lengths: Callable[[Ints, Ints], Floats]


def ruler(metric: Metric, attribute: Attribute | None) -> Ruler | None:
    """The own distance under a metric; None where the metric is all there is.

    >>> from dxprivacy import metrics
    >>> ruler(metrics.line(5, 1), None).unit, ruler(metrics.constant(5, 1), None)
    ('steps', None)
    """
    metric = bare(metric)
    if isinstance(metric, Places):
        return Ruler(metric.unit, metric.universe.size, metric.lengths)
    unit = "steps" if attribute is None else attribute.length_unit
    step = 1.0 if attribute is None else float(attribute.each_entry.unit_step or 1)
    if attribute is not None and attribute.is_series and isinstance(metric, AttributeMax):
        lines = metric.by_attribute
        places = [m.positions.astype(np.float64) for m in lines if isinstance(m, Line)]
        strides, base = metric.universe.strides, metric.universe.size

        def largest(i: Ints, j: Ints) -> Floats:
            parts = [np.abs(p[i // s % len(p)] - p[j // s % len(p)]) for p, s in zip(places, strides, strict=True)]
            return np.asarray(np.max(parts, axis=0) * step)

        return Ruler(unit, base, largest) if len(places) == len(lines) else None
    if not isinstance(metric, Line):
        return None
    positions = metric.positions.astype(np.float64)
    return Ruler(unit, metric.universe.size, lambda i, j: np.abs(positions[i] - positions[j]) * step)


def apart(metric: Metric, i: int, j: int) -> float:
    """The ε of one pair, as it is drawn."""
    return float(metric.pairwise(np.array([i]), np.array([j]))[0])


def to_other(metric: Metric, attribute: Attribute) -> float | None:
    """How far `other` is from every listed value, where there is an `other`."""
    return apart(metric, 0, attribute.listed) if attribute.has_other else None


def bare(metric: Metric) -> Metric:
    """What lies under `other`, absence, caps and factors."""
    while isinstance(metric, (WithOther, Capped, Scaled)):
        metric = metric.base
    return metric


def bands(x: Floats) -> Ints:
    """The band of each distance: one for every distance where these are few, otherwise of equal width on a log axis.

    >>> bands(np.array([3.0, 1.0, 3.0])).tolist()
    [1, 0, 1]
    """
    distances = np.unique(x)
    if len(distances) <= BANDS:
        return np.searchsorted(distances, x).astype(np.int64)
    edges = np.geomspace(distances[0], distances[-1], BANDS + 1)
    return np.clip(np.searchsorted(edges, x, side="right") - 1, 0, BANDS - 1).astype(np.int64)
