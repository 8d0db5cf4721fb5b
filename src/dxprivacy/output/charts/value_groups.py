"""Groups of an attribute's values for pictures: single values, or consecutive values if there are many.

A picture shows the worst pair of a group: nothing is averaged.  Numbers are grouped at round numbers, days by months,
quarters or years, all other values in the order of the policy; `other` is a group of its own.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dxprivacy.exact.arrays import Floats, Ints
from dxprivacy.metrics import Metric
from dxprivacy.metrics.closed_forms import LineMetric
from dxprivacy.metrics.derived_metrics import AttributeMax, Capped, Scaled
from dxprivacy.metrics.place_metrics import Places
from dxprivacy.metrics.with_other import WithOther
from dxprivacy.output.charts.chart_style import clean, distinct
from dxprivacy.universe.attributes.attribute import OTHER, Attribute

# -- The distance of two values in the attribute's own unit, and bands of such distances -------------------------------


BANDS = 24


@dataclass(frozen=True)
class Ruler:
    """The distance of two values in the attribute's own unit; only the first `size` values have one."""

    unit: str
    size: int
    lengths: Callable[[Ints, Ints], Floats]


def ruler(metric: Metric, attribute: Attribute | None) -> Ruler | None:
    """Return the distance in the attribute's own unit; None if the metric is not based on one.

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
        places = [m.positions.astype(np.float64) for m in lines if isinstance(m, LineMetric)]
        strides, base = metric.universe.strides, metric.universe.size

        def largest(i: Ints, j: Ints) -> Floats:
            parts = [np.abs(p[i // s % len(p)] - p[j // s % len(p)]) for p, s in zip(places, strides, strict=True)]
            return np.asarray(np.max(parts, axis=0) * step)

        return Ruler(unit, base, largest) if len(places) == len(lines) else None
    if not isinstance(metric, LineMetric):
        return None
    positions = metric.positions.astype(np.float64)
    return Ruler(unit, metric.universe.size, lambda i, j: np.abs(positions[i] - positions[j]) * step)


def apart(metric: Metric, i: int, j: int) -> float:
    """Return the ε of one pair as a float."""
    return float(metric.pairwise(np.array([i]), np.array([j]))[0])


def to_other(metric: Metric, attribute: Attribute) -> float | None:
    """Return the ε between `other` and every listed value; None if there is no `other`."""
    return apart(metric, 0, attribute.listed) if attribute.has_other else None


def bare(metric: Metric) -> Metric:
    """Return the metric without `other`, absence, caps and factors."""
    while isinstance(metric, (WithOther, Capped, Scaled)):
        metric = metric.base
    return metric


def bands(x: Floats) -> Ints:
    """Return the band of each distance: one per distance if these are few, otherwise of equal width on a log axis.

    >>> bands(np.array([3.0, 1.0, 3.0])).tolist()
    [1, 0, 1]
    """
    distances = np.unique(x)
    if len(distances) <= BANDS:
        return np.searchsorted(distances, x).astype(np.int64)
    edges = np.geomspace(distances[0], distances[-1], BANDS + 1)
    return np.clip(np.searchsorted(edges, x, side="right") - 1, 0, BANDS - 1).astype(np.int64)


# -- Groups of values --------------------------------------------------------------------------------------------------


MOST = 24  # up to this many values, each is a group of its own
BINS = 13  # largest number of groups for more values: few enough for a number in each field
_LABEL = 16
_STRETCH = 24


@dataclass(frozen=True)
class ValueGroups:
    """Groups of neighboring values: group k holds the values from starts[k] to starts[k + 1], that not included.

    >>> from dxprivacy.universe.attributes.integers import Integers
    >>> ValueGroups.of(Integers(name="age", low=0, high=100)).labels[:3]
    ('0 – 9', '10 – 19', '20 – 29')
    """

    starts: tuple[int, ...]
    size: int
    labels: tuple[str, ...]

    @classmethod
    def of(cls, attribute: Attribute, most: int = MOST) -> "ValueGroups":
        """Return one group per value if there are at most `most`, otherwise larger groups; `other` on its own."""
        starts = _starts(attribute, most)
        ends = [*starts[1:], attribute.listed]
        labels = [_label(attribute, a, b - 1) for a, b in zip(starts, ends, strict=True)]
        if attribute.has_other:
            starts, labels = [*starts, attribute.listed], [*labels, OTHER]
        return cls(tuple(starts), attribute.size, tuple(distinct(labels)))

    @property
    def coarse(self) -> bool:
        """Whether some group holds several values."""
        return len(self.starts) < self.size

    @cached_property
    def _edges(self) -> Ints:
        return np.array(self.starts, dtype=np.int64)

    def find(self, values: Ints) -> Ints:
        return (np.searchsorted(self._edges, values, side="right") - 1).astype(np.int64)


def _starts(attribute: Attribute, most: int) -> list[int]:
    if attribute.listed <= most:
        return list(range(attribute.listed))
    return attribute.coarse(min(most, BINS))


def _label(attribute: Attribute, first: int, last: int) -> str:
    words = attribute.stretch(first, last)
    if words:
        return clean(words, _STRETCH)
    if first == last:
        return clean(attribute.label(first), _LABEL)
    half = _LABEL // 2
    return f"{clean(attribute.label(first), half)} … {clean(attribute.label(last), half)}"


def runs(classes: Ints, groups: ValueGroups) -> Ints:
    """Return the first and the last value of each run of equal classes within each group.

    On a line no other value can be in the worst pair: all pairs of two runs have the same loss, and the closest ends of
    the runs are the closest of these pairs.
    """
    n = len(classes)
    if n < 2:
        return np.arange(n, dtype=np.int64)
    at = groups.find(np.arange(n, dtype=np.int64))
    change = np.flatnonzero((np.diff(classes) != 0) | (np.diff(at) != 0))
    return np.unique(np.concatenate([[0, n - 1], change, change + 1])).astype(np.int64)


def pairs_of(values: Ints, more: Sequence[int] = ()) -> tuple[Ints, Ints]:
    """Return all pairs of the given values, the smaller first.

    >>> [x.tolist() for x in pairs_of(np.array([1, 3]), [7])]
    [[1, 1, 3], [3, 7, 7]]
    """
    chosen = np.unique(np.append(values, np.array(list(more), dtype=np.int64)))
    first, second = np.triu_indices(len(chosen), 1)
    return chosen[first], chosen[second]
