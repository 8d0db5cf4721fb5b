"""Read metrics from their specs: the exact inverse of `Metric.spec`, so that a ledger knows its policy by itself.

A spec is public JSON.  A spec is refused if it cannot be read, or if `metric.spec()` of the result differs from it.
The spec determines every distance, so the digest is the same, too.
"""

import json
import math
import random
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from dxprivacy.errors import DxError, MetricError, UsageError
from dxprivacy.exact.rounding import Exact, written_fraction
from dxprivacy.metrics.attribute_metrics import without_other
from dxprivacy.metrics.attribute_sum import AttributeSum
from dxprivacy.metrics.closed_forms import (
    _FAR,
    MAX_NODES,
    Constant,
    Graph,
    LineMetric,
    Matrix,
    _closure,
    _shortest_paths,
)
from dxprivacy.metrics.derived_metrics import AttributeMax, Capped, CombinedMetric, Scaled
from dxprivacy.metrics.metric import Metric
from dxprivacy.metrics.place_metrics import PLACES, Minkowski
from dxprivacy.metrics.with_other import WithAbsent, WithOther
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.universe import Universe

# -- `check_metric`: is this a metric, spanned by its generating pairs?  For metrics written by users ------------------
# A user-defined metric is a subclass of `Metric` with `pairwise` (floats with relative error at most `error`, 0 exactly
# where the distance is 0), `exact` (a fraction, never above the distance) and `spec` (covered by its digest).  Override
# `generators` only with a proof that their shortest paths make up the metric.


_ALL = 60  # up to here all triples are checked


def check_metric(metric: Metric) -> bool:
    """Check the axioms of a metric: True if all triples hold, False if only a sample was checked.

    Raises MetricError if a check fails.

    >>> from dxprivacy.metrics import line
    >>> check_metric(line(20, "0.3"))
    True
    """
    n = metric.universe.size
    complete = n <= _ALL
    chosen = range(n) if complete else sorted(random.Random(0).sample(range(n), _ALL))
    d = {(i, j): _distance(metric, i, j) for i in chosen for j in chosen}
    _symmetric(metric, d)
    for i, j, k in combinations(chosen, 3):
        for a, b, via in ((i, j, k), (i, k, j), (j, k, i)):
            if d[a, b] > (d[a, via] + d[via, b]) * (1 + metric.slack):
                raise _wrong(metric, a, b, f"is further apart than the path over {_name(metric, via)}")
    _floats(metric, d)
    if complete:
        _spanned(metric, d, n)
    return complete


def _distance(metric: Metric, i: int, j: int) -> Exact:
    value = metric.exact(i, j)
    if not (isinstance(value, Fraction) or value == math.inf) or value < 0:
        raise _wrong(metric, i, j, f"has the distance {value!r}; a fraction of at least 0, or infinity, is needed")
    return value


def _symmetric(metric: Metric, d: dict[tuple[int, int], Exact]) -> None:
    for (i, j), value in d.items():
        if i == j and value != 0:
            raise _wrong(metric, i, j, "has a distance to itself")
        if value != d[j, i]:
            raise _wrong(metric, i, j, "has two distances, one in each direction")


def _floats(metric: Metric, d: dict[tuple[int, int], Exact]) -> None:
    pairs = list(d)
    i, j = (np.array([p[side] for p in pairs], dtype=np.int64) for side in (0, 1))
    keys: dict[tuple[int, ...], Exact] = {}
    for (a, b), value, key in zip(pairs, metric.pairwise(i, j).tolist(), metric.keys(i, j).tolist(), strict=True):
        truth = d[a, b]
        fits = value == math.inf if truth == math.inf else _close(value, Fraction(truth), metric)
        if not fits:
            raise _wrong(metric, a, b, f"has the float {value}, which is not within its error of the exact distance")
        if keys.setdefault(tuple(key), truth) != truth:
            raise _wrong(metric, a, b, "shares its key with a pair at another distance")


def _close(value: float, truth: Fraction, metric: Metric) -> bool:
    if not math.isfinite(value) or (value == 0) != (truth == 0):
        return False
    return abs(Fraction(value) - truth) <= truth * (Fraction(metric.error) + metric.slack)


def _spanned(metric: Metric, d: dict[tuple[int, int], Exact], n: int) -> None:
    # Shortest paths along the generating pairs (Floyd-Warshall) must equal the metric.
    way: list[list[Exact]] = [[Fraction(0) if i == j else math.inf for j in range(n)] for i in range(n)]
    for first, second in metric.generators():
        for a, b in zip(first.tolist(), second.tolist(), strict=True):
            way[a][b] = way[b][a] = min(way[a][b], d[a, b])
    for k in range(n):
        for i in range(n):
            through = way[i][k]
            if through != math.inf:
                way[i] = [min(old, through + step) for old, step in zip(way[i], way[k], strict=True)]
    for (i, j), value in d.items():
        if way[i][j] > value:
            raise _wrong(metric, i, j, "is not the length of a path along the generators")


def _name(metric: Metric, cell: int) -> str:
    return ", ".join(metric.universe.record(cell).values())


def _wrong(metric: Metric, i: int, j: int, what: str) -> MetricError:
    return MetricError(f"not a metric: {_name(metric, i)} – {_name(metric, j)} {what}")


# -- Reading specs -----------------------------------------------------------------------------------------------------


Spec = Mapping[str, Any]
_DEEPEST = 40


def metric_from_spec(spec: object, universe: Universe) -> Metric:
    """Read the metric over a universe from its spec.

    >>> d = LineMetric(Universe.listed("abc"), range(3), Fraction(1, 2))
    >>> metric_from_spec(d.spec(), d.universe).digest == d.digest
    True
    >>> metric_from_spec({"kind": "guess"}, d.universe)
    Traceback (most recent call last):
    dxprivacy.errors.MetricError: a metric of kind “guess” is not known to this version
    """
    try:
        metric = _build(spec, universe, 0)
        same = json.loads(json.dumps(metric.spec())) == json.loads(json.dumps(spec))
    except MetricError:
        raise
    except (DxError, KeyError, IndexError, ValueError, TypeError, AttributeError, ArithmeticError):
        raise _damaged() from None
    if not same or metric.universe != universe:
        raise _damaged()
    return metric


def _build(spec: object, universe: Universe, depth: int) -> Metric:
    if not isinstance(spec, Mapping) or depth > _DEEPEST:
        raise _damaged()
    kind = spec["kind"]
    if kind not in _KINDS:
        raise MetricError(f"a metric of kind “{str(kind)[:40]}” is not known to this version")
    return _KINDS[kind](spec, universe, depth + 1)


def _constant(spec: Spec, universe: Universe, depth: int) -> Metric:  # noqa: ARG001
    return Constant(universe, _exact(spec["epsilon"]))


def _line(spec: Spec, universe: Universe, depth: int) -> Metric:  # noqa: ARG001
    if "positions" in spec:
        return LineMetric(universe, spec["positions"], _exact(spec["per_unit"]))
    first, last = spec["range"]
    if last - first + 1 != universe.size:
        raise _damaged()
    return LineMetric(universe, range(first, last + 1), _exact(spec["per_unit"]))


def _matrix(spec: Spec, universe: Universe, depth: int) -> Metric:  # noqa: ARG001
    n = universe.size
    table = np.zeros((n, n), dtype=np.int64)
    for i, text in enumerate(spec["table"]):
        entries = [int(_FAR) if entry == "-" else int(entry) for entry in text.split(" ")]
        if len(entries) != n - 1 - i or min(entries) < 0 or max(entries) > _FAR:
            raise _damaged()
        table[i, i + 1 :] = table[i + 1 :, i] = entries
    if (_closure(table)[0] != table).any():  # not a metric
        raise _damaged()
    return Matrix(universe, table, _positive(spec["tick"]))


def _graph(spec: Spec, universe: Universe, depth: int) -> Metric:  # noqa: ARG001
    edges = np.array(spec["edges"] or np.empty((0, 3)), dtype=np.int64)
    first, second, lengths = edges.T
    n = universe.size
    if n > MAX_NODES or (lengths < 0).any() or int(np.sort(lengths)[-n:].sum()) >= 1 << 52:
        raise _damaged()
    if ((first < 0) | (first >= second) | (second >= n)).any():
        raise _damaged()
    return Graph(universe, _shortest_paths(n, first, second, lengths), _positive(spec["tick"]), (first, second))


def _places(spec: Spec, universe: Universe, depth: int) -> Metric:  # noqa: ARG001
    rows = np.array([[float.fromhex(c) for c in row] for row in spec["coordinates"]], dtype=np.float64)
    per_unit = written_fraction(spec["per_unit"])
    if spec["kind"] == Minkowski.kind:
        return Minkowski(universe, rows, per_unit, float(spec["p"]))
    return PLACES[spec["kind"]](universe, rows, per_unit)


def _with_other(spec: Spec, universe: Universe, depth: int) -> Metric:
    base = _build(spec["base"], without_other(universe.size - 1), depth)
    return WithOther(universe, base, _exact(spec["radius"]))


def _with_absent(spec: Spec, universe: Universe, depth: int) -> Metric:
    return WithAbsent(universe, _build(spec["base"], universe.present, depth), written_fraction(spec["radius"]))


def _scaled(spec: Spec, universe: Universe, depth: int) -> Metric:
    return Scaled(_build(spec["base"], universe, depth), written_fraction(spec["factor"]))


def _capped(spec: Spec, universe: Universe, depth: int) -> Metric:
    return Capped(_build(spec["base"], universe, depth), written_fraction(spec["cap"]))


def _together(spec: Spec, universe: Universe, depth: int) -> Metric:
    return CombinedMetric(spec["how"], [_build(part, universe, depth) for part in spec["parts"]])


def _product(spec: Spec, universe: Universe, depth: int) -> Metric:
    # One metric per attribute; or, over a single attribute, one per entry of a series.
    kind = AttributeSum if spec["kind"] == AttributeSum.kind else AttributeMax
    shape = list(spec["shape"])
    if shape == list(universe.shape) and universe.absent is None:
        return kind(universe, _axes(spec["axes"], [Universe([a]) for a in universe.attributes], depth))
    steps = [Integers(name=f"entry {k}", low=0, high=n - 1, has_other=False) for k, n in enumerate(shape, 1)]
    made = kind(Universe(steps), _axes(spec["axes"], [Universe([s]) for s in steps], depth))
    if len(universe.attributes) != 1:
        raise _damaged()
    return made.over(universe)  # the whole series is one attribute


def _axes(specs: Sequence[object], universes: Sequence[Universe], depth: int) -> list[Metric]:
    return [_build(axis, alone, depth) for axis, alone in zip(specs, universes, strict=True)]


def _exact(text: object) -> Exact:
    return math.inf if text == "inf" else written_fraction(text)


def _positive(text: object) -> Fraction:
    number = written_fraction(text)
    if number <= 0:
        raise _damaged()
    return number


def _damaged() -> MetricError:
    return MetricError("the description of a metric is damaged")


def register_metric(kind: type[Metric], read: Callable[[Spec, Universe], Metric]) -> None:
    """Register a kind of metric, so that ledgers can read it; `read` is the inverse of its `spec`."""
    if not (isinstance(kind, type) and issubclass(kind, Metric)):
        raise UsageError("a kind of metric is a class that extends Metric")
    if kind.kind in _KINDS:
        raise UsageError(f"a metric of kind “{kind.kind}” is registered already")
    _KINDS[kind.kind] = lambda spec, universe, _: read(spec, universe)


_KINDS: dict[str, Callable[[Spec, Universe, int], Metric]] = {
    "constant": _constant,
    "line": _line,
    "matrix": _matrix,
    "graph": _graph,
    **dict.fromkeys((*PLACES, Minkowski.kind), _places),
    "with-other": _with_other,
    "with-absent": _with_absent,
    "scaled": _scaled,
    "capped": _capped,
    "combined": _together,
    "attribute-sum": _product,
    "attribute-max": _product,
}
"""One reader for each kind that a policy can have (restrictions are never stored)."""
