"""Metrics come back from their specs exactly, or not at all."""

import json
import random
from fractions import Fraction

import numpy as np
import pytest

from contracts.random_models import random_axis
from dxprivacy import metrics
from dxprivacy.errors import MetricError
from dxprivacy.metrics.attribute_sum import AttributeSum
from dxprivacy.metrics.derived_metrics import AttributeMax
from dxprivacy.metrics.metric import all_pairs
from dxprivacy.metrics.stored_metrics import metric_from_spec
from dxprivacy.universe.universe import Universe


def again(metric):
    """The same metric from the JSON that a ledger keeps."""
    spec = json.loads(json.dumps({"m": metric.spec(), "u": metric.universe.spec()}))
    return metric_from_spec(spec["m"], Universe.from_spec(spec["u"]))


def alike(metric):
    back = again(metric)
    assert type(back) is type(metric)
    assert back.digest == metric.digest
    for i, j in all_pairs(min(metric.universe.size, 40)):
        np.testing.assert_array_equal(back.pairwise(i, j), metric.pairwise(i, j))
        assert all(
            back.exact(a, b) == metric.exact(a, b) for a, b in zip(i[:50].tolist(), j[:50].tolist(), strict=True)
        )
    here = {tuple(sorted(p)) for i, j in metric.generators() for p in zip(i.tolist(), j.tolist(), strict=True)}
    assert here == {tuple(sorted(p)) for i, j in back.generators() for p in zip(i.tolist(), j.tolist(), strict=True)}


@pytest.mark.parametrize("seed", range(60))
def test_every_metric_that_a_policy_can_have_comes_back(seed):
    rng = random.Random(seed)
    axes = [random_axis(rng, f"a{k}", places=True) for k in range(rng.randint(1, 3))]
    if len(axes) == 1:
        metric = axes[0][1]
    else:
        universe = Universe([attribute for attribute, _ in axes])
        metric = rng.choice([AttributeSum, AttributeMax])(universe, [m for _, m in axes])
    if rng.random() < 0.3:
        metric = metrics.with_absent(metric, Fraction(1, 2), max_records=1000)
    alike(metric)


POINTS = [[0, 0], [3, 4], [6, 8], [1, 1.5]]


@pytest.mark.parametrize(
    "metric",
    [
        metrics.manhattan(POINTS, epsilon_per_unit=1),
        metrics.chebyshev(POINTS, epsilon_per_unit="0.3"),
        metrics.minkowski(POINTS, 3, epsilon_per_unit=1),
        metrics.graph([("a", "b"), ("b", "c", 2), ("a", "c", 9), ("d", "e", "0.3")], epsilon="0.5"),
        metrics.graph([("a", "b", 0), ("b", "c", 2)]),
        metrics.blowfish(POINTS, 1, threshold=6),
        metrics.scaled(metrics.constant(3, 1), "0.7"),
        metrics.capped(metrics.line(9, 1), 3),
        metrics.series_linf([3, 3], 1),
        metrics.from_matrix([[0, 2, 9], [2, 0, 3], [9, 3, 0]]),
    ],
    ids=lambda m: m.kind,
)  # fmt: skip
def test_metrics_of_researchers_come_back(metric):
    alike(metric)


@pytest.mark.parametrize(
    "spec",
    [
        None, [], {}, {"kind": "constant"}, {"kind": "constant", "epsilon": "x"},
        {"kind": "constant", "epsilon": "nan"},
        {"kind": "line", "per_unit": "1", "range": [0, 99]}, {"kind": "line", "per_unit": "1", "positions": [0, 1]},
        {"kind": "matrix", "tick": "1", "table": ["1 9", "1"]}, {"kind": "matrix", "tick": "-1", "table": ["1 1", "1"]},
        {"kind": "matrix", "tick": "1", "table": ["1 1"]}, {"kind": "graph", "tick": "1", "edges": [[0, 7, 1]]},
        {"kind": "graph", "tick": "1", "edges": [[1, 0, 1]]}, {"kind": "graph", "tick": "1", "edges": [[0, 1, -1]]},
        {"kind": "capped", "cap": "0", "base": {"kind": "constant", "epsilon": "1"}},
        {"kind": "constant", "epsilon": "1", "more": 1}, {"kind": "constant", "epsilon": "2/4"},
        {"kind": "restricted", "records": [0, 1, 2], "shape": [3], "base": {"kind": "constant", "epsilon": "1"}},
        {"kind": "attribute-sum", "shape": [3], "axes": []}, {"kind": "with-other", "radius": "1", "base": {}},
    ],
    ids=str,
)  # fmt: skip
def test_what_does_not_come_back_as_it_was_is_refused(spec):
    with pytest.raises(MetricError):
        metric_from_spec(spec, Universe.listed("abc"))


def test_a_description_that_is_nested_without_end_is_refused():
    spec = {"kind": "constant", "epsilon": "1"}
    for _ in range(100):
        spec = {"kind": "scaled", "factor": "1", "base": spec}
    with pytest.raises(MetricError):
        metric_from_spec(spec, Universe.listed("abc"))
