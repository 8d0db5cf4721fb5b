"""Build the metric of one attribute, `other` included; the policy compiler uses these functions."""

from collections.abc import Iterable, Mapping
from fractions import Fraction

import numpy as np

from dxprivacy.errors import MetricError, did_you_mean
from dxprivacy.exact.rounding import Exact, exact, in_range
from dxprivacy.metrics.attribute_sum import half_reach
from dxprivacy.metrics.closed_forms import Constant, Graph, LineMetric, Matrix, both_values_table, per_value_table
from dxprivacy.metrics.derived_metrics import AttributeMax, Capped, CombinedMetric
from dxprivacy.metrics.metric import Metric
from dxprivacy.metrics.place_metrics import PLACES
from dxprivacy.metrics.place_metrics import within as pairs_within
from dxprivacy.metrics.with_other import WithOther
from dxprivacy.universe.attributes.attribute import Attribute
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.attributes.listed_points import Points
from dxprivacy.universe.universe import Universe


def discrete(alone: Universe, epsilon: Exact, other: Exact | None = None) -> Metric:
    """Build equal distances; `other` is one more value, unless it has a distance of its own."""
    (attribute,) = alone.attributes
    if other is None or not attribute.has_other:
        return Constant(alone, epsilon)
    return WithOther(alone, Constant(without_other(attribute.listed), epsilon), other)


def stepped(
    alone: Universe,
    attribute: Attribute,
    per_step: Exact,
    other: Exact | None = None,
    cap: Fraction | None = None,
) -> Metric:
    """Build steps on a line, capped; `other` is half the largest distance away."""
    base = LineMetric(without_other(attribute.listed), attribute.positions, per_step)
    return _star(alone, _capped(base, cap), per_step, other)


def ring(
    alone: Universe,
    attribute: Attribute,
    per_step: Exact,
    other: Exact | None = None,
    cap: Fraction | None = None,
) -> Metric:
    """Build steps on a ring: the last value is next to the first one."""
    n = attribute.listed
    edges = [(k, (k + 1) % n, per_step) for k in range(n)] if n > 1 else []
    return _star(alone, _capped(Graph.from_edges(without_other(n), edges), cap), per_step, other)


def series(
    alone: Universe, attribute: Attribute, per_step: Exact, other: Exact | None = None, cap: Fraction | None = None
) -> Metric:
    """Build the l_inf distance of series: the largest difference over their entries."""
    high = attribute.each_entry.listed - 1
    steps = [Integers(name=column, low=0, high=high, has_other=False) for column in attribute.reads]
    base = AttributeMax(Universe(steps), [LineMetric(Universe([s]), range(s.size), per_step) for s in steps])
    return _star(alone, _capped(base, cap), per_step, other)


def valued(
    alone: Universe,
    attribute: Attribute,
    budgets: Mapping[str, Exact],
    other: Exact | None = None,
    *,
    how: str = "smaller",
) -> Matrix:
    """Build distances from one epsilon per value; `other` has the largest of them unless it has its own.

    Two values get the smaller epsilon, closed to a metric, or (`how="sum"`) the sum.
    """
    for value in budgets:
        if value not in attribute.texts:
            raise MetricError(f"{attribute.name} has no value {value!r}", hints=did_you_mean(value, attribute.texts))
    missing = [v for v in attribute.texts if v not in budgets]
    if missing:
        raise MetricError(f"{attribute.name}: no epsilon for {', '.join(missing)}", hints=["unknown means refuse"])
    listed = [budgets[v] for v in attribute.texts]
    if attribute.has_other:
        listed.append(max(listed) if other is None else other)
    table = both_values_table if how == "sum" else per_value_table
    return Matrix.of(alone, as_objects(table(listed)))


def placed(
    alone: Universe,
    attribute: Points,
    kind: str,
    per_unit: Fraction,
    other: Exact | None = None,
    cap: Fraction | None = None,
) -> Metric:
    """Build distances of points, capped; `other` is half the largest distance away."""
    base = PLACES[kind](without_other(attribute.listed), attribute.coordinates, per_unit)
    return _star(alone, _capped(base, cap), per_unit, other)


def thresholded(
    alone: Universe,
    attribute: Points,
    kind: str,
    base: str,
    epsilon: Fraction,
    reach: Fraction,
    other: Exact | None = None,
    cap: Fraction | None = None,
) -> Metric:
    """Build a Blowfish or smooth metric: `epsilon` up to the distance `reach`, measured by the metric `base`."""
    inner = without_other(attribute.listed)
    if kind == "blowfish":
        i, j = pairs_within(PLACES[base](inner, attribute.coordinates, Fraction(1)), reach)
        edges = [(a, b, epsilon) for a, b in zip(i.tolist(), j.tolist(), strict=True)]
        metric: Metric = Graph.from_edges(inner, edges)
    else:
        places = PLACES[base](inner, attribute.coordinates, in_range(epsilon / reach, what="epsilon per unit"))
        metric = CombinedMetric("max", [Constant(inner, epsilon), places])
    return _star(alone, _capped(metric, cap), epsilon, other)


def linked(
    alone: Universe, attribute: Attribute, edges: Iterable[tuple[str, str, Exact]], other: Exact | None = None
) -> Metric:
    """Build shortest-path distances of a graph; `other` is half the largest distance away."""
    at = {value: k for k, value in enumerate(attribute.texts)}
    numbered = [(at[a], at[b], w) for a, b, w in edges]
    shortest = min((w for _, _, w in numbered), default=Fraction(1))
    return _star(alone, Graph.from_edges(without_other(attribute.listed), numbered), shortest, other)


def _capped(metric: Metric, cap: Fraction | None) -> Metric:
    return metric if cap is None else Capped(metric, cap)


def _star(alone: Universe, base: Metric, fallback: Exact, other: Exact | None) -> Metric:
    (attribute,) = alone.attributes
    if not attribute.has_other:
        return base.over(alone)
    radius = half_reach(base) if other is None else other
    return WithOther(alone, base, radius if radius or other is not None else fallback)


def without_other(n: int) -> Universe:
    """Return a universe of n elements, without `other`."""
    return Universe([Integers(name="element", low=0, high=n - 1, has_other=False)])


def as_objects(rows: object) -> "np.ndarray[tuple[int, ...], np.dtype[np.object_]]":
    """Return a nested list as an array of exact numbers."""
    try:
        given = [[exact(v, allow_infinite=True) for v in row] for row in rows]  # type: ignore[attr-defined]
    except TypeError:
        raise MetricError("distances must be rows of numbers") from None
    if not given or any(len(row) != len(given) for row in given):
        raise MetricError(f"distances must be square: {len(given)} rows of {len(given[0]) if given else 0}")
    out = np.empty((len(given), len(given)), dtype=object)
    for k, row in enumerate(given):
        out[k] = row
    return out
