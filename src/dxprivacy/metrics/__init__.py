"""Metrics: how distinguishable any two records may be.

Each function here builds a `Metric` from plain Python values; the classes are in the modules of this package.

>>> from dxprivacy import metrics
>>> d = metrics.euclidean([[0, 0], [3, 4]], epsilon_per_unit=0.01)
>>> d.exact(0, 1)
Fraction(1, 20)

In reading order: `metric`, `attribute_sum`, `closed_forms`, `derived_metrics`, `distances`, `place_metrics`,
`with_other`, `attribute_metrics`, `stored_metrics`.
"""

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction

import numpy as np

from dxprivacy.errors import MetricError, UsageError, did_you_mean
from dxprivacy.exact.arrays import Floats
from dxprivacy.exact.rounding import Exact, Number, exact, in_range, is_whole, parse_epsilon
from dxprivacy.metrics.attribute_metrics import as_objects, discrete, series, stepped, valued, without_other
from dxprivacy.metrics.attribute_sum import AttributeSum
from dxprivacy.metrics.closed_forms import (
    Constant,
    Graph,
    LineMetric,
    Matrix,
    Tightened,
    both_values_table,
    per_value_table,
    read_edges,
)
from dxprivacy.metrics.derived_metrics import AttributeMax, Capped, CombinedMetric, Restricted, Scaled
from dxprivacy.metrics.metric import Extreme, Metric, PseudoMetric
from dxprivacy.metrics.place_metrics import Euclidean, GreatCircle, Minkowski
from dxprivacy.metrics.place_metrics import within as pairs_within
from dxprivacy.metrics.stored_metrics import check_metric
from dxprivacy.metrics.with_other import WithAbsent
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.attributes.listed_points import Points
from dxprivacy.universe.people import People
from dxprivacy.universe.universe import Universe

__all__ = [
    "Extreme",
    "Metric",
    "People",
    "PseudoMetric",
    "Tightened",
    "attributes",
    "blowfish",
    "capped",
    "chebyshev",
    "check_metric",
    "constant",
    "dates",
    "euclidean",
    "from_matrix",
    "graph",
    "great_circle",
    "line",
    "manhattan",
    "maximum",
    "minkowski",
    "per_element",
    "per_value",
    "restricted",
    "scaled",
    "series_linf",
    "smooth",
    "summed",
    "with_absent",
]


def __dir__() -> list[str]:
    return __all__


def constant(universe: Universe | int, epsilon: Number) -> Constant:
    """Build the metric of standard DP: the same epsilon for every two records.

    >>> constant(3, 0.5).exact(0, 2)
    Fraction(1, 2)
    """
    return Constant(_universe(universe), parse_epsilon(epsilon))


def line(universe: Universe | int, epsilon: Number, *, per: Number = 1) -> LineMetric:
    """Build distances of records in order: `epsilon` for every `per` steps.

    >>> line(121, 0.5, per=10).exact(17, 18)
    Fraction(1, 20)
    """
    u = _universe(universe)
    return LineMetric(u, range(u.size), _per_unit(epsilon, per))


def per_value(budgets: Mapping[str, Number], *, name: str = "element") -> Matrix:
    """Build distances from one epsilon per value: two values get the smaller one, closed to a metric.

    >>> d = per_value({"asylum": 0.1, "citizen": 2, "resident": 2})
    >>> d.exact(1, 2), d.tightened[0].written
    (Fraction(1, 5), Fraction(2, 1))
    """
    table = per_value_table([parse_epsilon(e, what=f"epsilon of {v}") for v, e in budgets.items()])
    return Matrix.of(Universe.listed(budgets, name=name), as_objects(table))


def euclidean(points: object, *, epsilon_per_unit: Number) -> Euclidean:
    """Build the Euclidean distance times `epsilon_per_unit`.

    >>> float(euclidean([[0.0], [2.0]], epsilon_per_unit=0.5).exact(0, 1))
    1.0
    """
    u, coordinates = _points(points)
    return Euclidean(u, coordinates, _price(epsilon_per_unit))


def great_circle(points: object, *, epsilon_per_km: Number) -> GreatCircle:
    """Build great-circle distances between (latitude, longitude) in degrees, times `epsilon_per_km`.

    >>> round(float(great_circle([[41.85, -87.65], [43.04, -87.91]], epsilon_per_km=1).exact(0, 1)), 1)
    134.0
    """
    u, coordinates = _points(points)
    return GreatCircle(u, coordinates, _price(epsilon_per_km))


def manhattan(points: object, *, epsilon_per_unit: Number) -> Minkowski:
    """Build the Manhattan distance: the sum of the coordinates' differences.

    >>> manhattan([[0, 0], [3, 4]], epsilon_per_unit=1).exact(0, 1)
    Fraction(7, 1)
    """
    return minkowski(points, 1, epsilon_per_unit=epsilon_per_unit)


def chebyshev(points: object, *, epsilon_per_unit: Number) -> Minkowski:
    """Build the Chebyshev distance: the largest of the coordinates' differences (l_inf for series).

    >>> chebyshev([[0, 0], [3, 4]], epsilon_per_unit=1).exact(0, 1)
    Fraction(4, 1)
    """
    return minkowski(points, math.inf, epsilon_per_unit=epsilon_per_unit)


def minkowski(points: object, p: float, *, epsilon_per_unit: Number) -> Minkowski:
    """Build (sum |x_k - y_k|^p)^(1/p) for integer p from 1 to 64, or infinity.

    >>> round(float(minkowski([[0, 0], [3, 4]], 3, epsilon_per_unit=1).exact(0, 1)), 4)
    4.4979
    """
    u, coordinates = _points(points)
    return Minkowski(u, coordinates, _price(epsilon_per_unit), p)


def series_linf(levels: Iterable[int], epsilon: Number, *, per: Number = 1) -> AttributeMax:
    """Build the l_inf distance of time series with `levels[t]` values at time t.

    >>> series_linf([3, 3], 1).exact(0, 5)
    Fraction(2, 1)
    """
    steps = [Integers(name=f"t{k}", low=0, high=n - 1, has_other=False) for k, n in enumerate(levels)]
    axes = [LineMetric(Universe([s]), range(s.size), _per_unit(epsilon, per)) for s in steps]
    return AttributeMax(Universe(steps), axes)


def dates(first: str, last: str, epsilon: Number, *, per_days: Number) -> LineMetric:
    """Build distances of days, both ends included: `epsilon` for every `per_days` days (eps |u - v| / T).

    >>> dates("2026-01-01", "2026-12-31", 0.5, per_days=7).exact(0, 14)
    Fraction(1, 1)
    """
    from datetime import date, timedelta

    try:
        start, end = date.fromisoformat(first), date.fromisoformat(last)
    except (TypeError, ValueError):
        raise UsageError(f"{first!r} to {last!r}: dates are written 2026-01-31") from None
    if end < start:
        raise UsageError(f"no day lies between {first} and {last}")
    days = [(start + timedelta(k)).isoformat() for k in range((end - start).days + 1)]
    return LineMetric(Universe.listed(days, name="date"), range(len(days)), _per_unit(epsilon, per_days))


def graph(edges: object, epsilon: Number = 1) -> Graph:
    """Build shortest-path distances of edges (a, b) or (a, b, weight), or of a networkx graph.

    Edges without a weight have length `epsilon`.

    >>> graph([("ann", "bob"), ("bob", "cem", 2)], epsilon="0.5").exact(0, 2)
    Fraction(5, 2)
    """
    nodes, pairs = read_edges(edges, parse_epsilon(epsilon))
    if not nodes:
        raise MetricError("a graph needs at least one node")
    at = {node: k for k, node in enumerate(nodes)}
    return Graph.from_edges(Universe.listed(nodes, name="node"), [(at[a], at[b], w) for a, b, w in pairs])


def blowfish(points: object, epsilon: Number, *, threshold: Number) -> Graph:
    """Build a Blowfish policy with a distance threshold: `epsilon` for points within it, closed to a metric.

    (The printed form is not a metric.)  Points further apart get the sum along the shortest path; without a path their
    difference is public.

    >>> blowfish([[0.0], [1.0], [2.0], [9.0]], 1, threshold=1).exact(0, 2)
    Fraction(2, 1)
    """
    u, coordinates = _points(points)
    reach = exact(threshold, what="threshold")
    if reach <= 0:
        raise UsageError(f"threshold is {threshold}; a positive distance is needed")
    e = parse_epsilon(epsilon)
    i, j = pairs_within(Euclidean(u, coordinates, Fraction(1)), Fraction(reach))
    return Graph.from_edges(u, [(a, b, e) for a, b in zip(i.tolist(), j.tolist(), strict=True)])


def smooth(points: object, epsilon: Number, *, threshold: Number) -> CombinedMetric:
    """Build (epsilon / T) max(T, Euclid): like Blowfish up to the threshold T, growing with distance beyond.

    >>> smooth([[0.0], [1.0], [4.0]], 1, threshold=2).exact(0, 2)
    Fraction(2, 1)
    """
    u, coordinates = _points(points)
    step = _per_unit(epsilon, threshold)
    if step in (0, math.inf):
        raise MetricError("epsilon must be positive and finite")
    return CombinedMetric("max", [Constant(u, parse_epsilon(epsilon)), Euclidean(u, coordinates, Fraction(step))])


def per_element(budgets: Iterable[Number]) -> Matrix:
    """Build eps_i + eps_j: some individuals (elements) get more protection than others.

    >>> per_element([1, 2, "0.5"]).exact(0, 2)
    Fraction(3, 2)
    """
    listed = [parse_epsilon(e) for e in budgets]
    if not listed:
        raise MetricError("at least one budget is needed")
    return Matrix.of(without_other(len(listed)), as_objects(both_values_table(listed)))


def scaled(metric: Metric, factor: Number) -> Metric:
    """Multiply a metric by a number; under add-remove neighbors, presence is multiplied too.

    >>> scaled(constant(3, 1), "0.25").exact(0, 1)
    Fraction(1, 4)
    """
    times = Fraction(exact(factor, what="factor"))
    if isinstance(metric, WithAbsent) and 0 < times < math.inf:  # as a sum of attributes it stays one
        return WithAbsent(metric.universe, Scaled(metric.base, times), metric.radius * times)
    return Scaled(metric, times)


def summed(*parts: Metric) -> CombinedMetric:
    """Add metrics on one universe.

    >>> summed(constant(9, 1), line(9, 1)).exact(0, 8)
    Fraction(9, 1)
    """
    return CombinedMetric("sum", parts)


def maximum(*parts: Metric) -> CombinedMetric:
    """Take the largest of several metrics on one universe.

    It is a metric, but a weaker policy: each pair gets the largest of its distances.

    >>> maximum(constant(9, 3), line(9, 1)).exact(0, 8)
    Fraction(8, 1)
    """
    return CombinedMetric("max", parts)


def capped(metric: Metric, max_epsilon: Number) -> Capped:
    """Cap a metric: no pair gets more than `max_epsilon`.

    >>> capped(line(9, 1), 3).exact(0, 8)
    Fraction(3, 1)
    """
    return Capped(metric, Fraction(exact(max_epsilon, what="max_epsilon")))


def restricted(metric: Metric, records: Iterable[int]) -> Restricted:
    """Restrict a metric to some possible records.

    >>> restricted(line(9, 1), [0, 8]).exact(0, 1)
    Fraction(8, 1)
    """
    return Restricted(metric, list(records))


def with_absent(
    metric: Metric, presence: Number, *, max_records: int | None = None, people: People | None = None
) -> WithAbsent:
    """Extend a metric to add-remove neighbors: a record and its absence are `presence` apart, and n is private.

    With `people`, a record is one row of a person who may have up to `max_rows`; missing rows are absent.

    >>> d = with_absent(line(3, 1), "0.25", max_records=1000)
    >>> d.exact(0, 3), d.exact(0, 2)
    (Fraction(1, 4), Fraction(1, 2))
    """
    if (max_records is None) == (people is None):
        raise MetricError("how many may be absent?", hints=["max_records=1000000", "people=dx.metrics.People(…)"])
    alone = metric.universe
    universe = Universe(alone.attributes, max_records=max_records, people=people, file=alone.file)
    return WithAbsent(universe, metric, parse_epsilon(presence, what="presence"))


def from_matrix(matrix: object, *, universe: Universe | None = None, strict: bool = False) -> Matrix:
    """Build a metric from a symmetric table; closed by shortest paths (see `.tightened`), or refused with `strict`.

    >>> from_matrix([[0, 1, 5], [1, 0, 1], [5, 1, 0]]).exact(0, 2)
    Fraction(2, 1)
    """
    rows = as_objects(matrix) if isinstance(matrix, (list, tuple)) else np.asarray(matrix)
    n = rows.shape[0] if rows.ndim else 0
    if n < 1:
        raise MetricError("a matrix of distances needs at least one row")
    return Matrix.of(universe or without_other(n), rows, strict=strict)


def attributes(universe: Universe, epsilons: Mapping[str, Number | Mapping[str, Number]]) -> AttributeSum | Metric:
    """Build a sum over attributes: epsilon per attribute, per value (a mapping), or per distance (`{epsilon, per}`).

    >>> from dxprivacy.universe.attributes.listed_values import Values
    >>> u = Universe([Values(name="sex", values=("M", "F")), Integers(name="age", low=0, high=120)])
    >>> d = attributes(u, {"sex": 1, "age": {"epsilon": 0.5, "per": 10}})
    >>> i, j = u.index([{"sex": "M", "age": 30}, {"sex": "F", "age": 40}]).tolist()
    >>> d.exact(i, j)
    Fraction(3, 2)
    """
    for name in epsilons:
        if name not in universe.names:
            raise MetricError(f"no attribute “{name}”", hints=did_you_mean(name, universe.names))
    missing = [name for name in universe.names if name not in epsilons]
    if missing:
        raise MetricError(f"no epsilon for {', '.join(missing)}", hints=["unknown means refuse: say inf for public"])
    axes = []
    for attribute in universe.attributes:
        given = epsilons[attribute.name]
        alone = Universe([attribute])
        if not isinstance(given, Mapping):
            axes.append(discrete(alone, parse_epsilon(given, what=f"epsilon of {attribute.name}")))
        elif {"per", "epsilon"} == set(given) and (step := attribute.each_entry.unit_step) is not None:
            build = series if attribute.is_series else stepped
            axes.append(build(alone, attribute, _per_unit(given["epsilon"], given["per"]) * step))
        elif attribute.takes_budgets:
            budgets = {value: parse_epsilon(e, what=f"epsilon of {value}") for value, e in given.items()}
            axes.append(valued(alone, attribute, budgets))
        else:
            raise MetricError(
                f"{attribute.name} cannot have {dict(given)!r} as its epsilon",
                hints=['{"epsilon": 0.5, "per": 10} for numbers and dates', "one epsilon per value for values"],
            )
    return AttributeSum(universe, axes)


def _per_unit(epsilon: Number, per: Number) -> Exact:
    unit = exact(per, what="per")
    if unit <= 0:
        raise UsageError(f"per is {per}; a positive distance is needed")
    e = parse_epsilon(epsilon)
    return math.inf if e == math.inf else in_range(Fraction(e) / Fraction(unit), what="epsilon per unit")


def _price(epsilon: Number) -> Fraction:
    price = parse_epsilon(epsilon, what="epsilon per unit of distance")
    if price == math.inf:
        raise MetricError("epsilon per unit of distance is infinite; say metrics.constant(n, inf) for public places")
    return Fraction(price)


def _universe(universe: Universe | int) -> Universe:
    if isinstance(universe, Universe):
        return universe
    if not is_whole(universe) or universe < 1:
        raise UsageError(f"a universe, or its number of elements, is needed; got {universe!r}")
    return without_other(int(universe))


def _points(points: object) -> tuple[Universe, Floats]:
    try:
        coordinates = np.array(points, dtype=np.float64)
    except (TypeError, ValueError):
        raise MetricError("points must be an array of numbers, one row per point") from None
    if coordinates.ndim == 1 and len(coordinates):
        coordinates = coordinates[:, None]
    if coordinates.ndim != 2 or not coordinates.size:
        raise MetricError(f"points of shape {coordinates.shape}; one row of coordinates per point is needed")
    if not np.isfinite(coordinates).all():
        raise MetricError("coordinates must be finite numbers")
    ids = tuple(str(k) for k in range(len(coordinates)))
    return Universe([Points(name="point", ids=ids, coordinates=coordinates, has_other=False)]), coordinates
