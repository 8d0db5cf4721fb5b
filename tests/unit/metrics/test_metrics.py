"""Metrics: the contract for all of them, and each one's own guarantees."""

import math
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.check_metric import check_metric
from contracts.random_models import random_metric
from dxprivacy import metrics
from dxprivacy.errors import DxError, MetricError, PolicyError, UsageError
from dxprivacy.metrics import attribute_metrics
from dxprivacy.metrics.closed_forms import Constant, Matrix
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.attributes.listed_points import Points
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.universe import Universe


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False))
def test_every_metric_is_a_metric_spanned_by_its_generators(rng):
    metric = random_metric(rng, places=True)
    if metric.universe.size <= 40:
        check_metric(metric)


@pytest.mark.parametrize("n", [1, 2, 7])
def test_simple_metrics_fulfil_the_contract_at_any_size(n):
    check_metric(metrics.constant(n, "0.5"))
    check_metric(metrics.line(n, "0.3", per=7))
    check_metric(metrics.from_matrix(np.ones((n, n)) - np.eye(n)))
    check_metric(metrics.euclidean(np.arange(2 * n).reshape(n, 2), epsilon_per_unit="0.1"))


def test_constant_metric_of_zero_and_of_infinity():
    check_metric(metrics.constant(3, 0))
    check_metric(metrics.constant(3, "inf"))


def test_per_value_minimum_is_closed_and_says_what_it_tightened():
    d = metrics.per_value({"a": 10, "b": "0.1", "c": 10})
    assert d.exact(0, 2) == F(1, 5)
    (found,) = d.tightened
    assert (found.pair, found.written, found.kept, found.via) == ((0, 2), 10, F(1, 5), 1)


def test_per_value_minimum_as_printed_would_break_the_triangle_inequality():
    table = metrics.per_value_table([F(10), F(1, 10), F(10)])
    assert table[0][2] > table[0][1] + table[1][2]


def test_explicit_matrix_is_closed_by_default_and_refused_when_strict():
    rows = [[0, 1, 5], [1, 0, 1], [5, 1, 0]]
    assert metrics.from_matrix(rows).exact(0, 2) == 2
    with pytest.raises(MetricError, match="not a metric"):
        metrics.from_matrix(rows, strict=True)
    assert metrics.from_matrix([[0, 1], [1, 0]], strict=True).tightened == ()


def test_a_float_matrix_is_rounded_down_and_by_very_little():
    rng = np.random.default_rng(3)
    points = rng.uniform(0, 1, (12, 2))
    table = np.sqrt(((points[:, None] - points) ** 2).sum(-1))
    metric = metrics.from_matrix(table)
    for i in range(12):
        for j in range(12):
            assert metric.exact(i, j) <= F(float(table[i, j]))
            assert metric.exact(i, j) >= F(float(table[i, j])) * (1 - F(1, 2**50)) - F(1, 2**58)


@pytest.mark.parametrize(
    "rows",
    [
        [[0, 1], [2, 0]],
        [[1, 1], [1, 0]],
        [[0, -1], [-1, 0]],
        [[0, 1, 2], [1, 0, 1]],
        [[0, float("nan")], [float("nan"), 0]],
        [],
        [["a"]],
        [[None]],
        5,
        "ab",
        np.zeros((2, 3)),
        np.zeros(3),
        np.full((2, 2), np.nan),
        np.array([["0", "1"], ["1", "0"]]),
        np.array([[0, 1e300], [1e300, 0]]) * 1e5,
    ],
)
def test_a_bad_matrix_is_refused_with_our_error(rows):
    with pytest.raises(DxError) as caught:
        metrics.from_matrix(rows)
    assert caught.value.exit_code in (2, 3)


def test_infinite_entries_mean_public_and_unreachable():
    d = metrics.from_matrix(np.array([[0, 1, np.inf], [1, 0, np.inf], [np.inf, np.inf, 0]]))
    check_metric(d)
    assert d.exact(0, 2) == math.inf


def test_other_is_half_the_reach_away_and_tightens_nothing():
    age = Integers(name="age", low=0, high=120)
    d = attribute_metrics.stepped(Universe([age]), age, F(1, 20))
    assert d.exact(5, 121) == 3
    assert d.exact(0, 120) == 6
    assert not d.tightens


def test_other_given_by_the_policy_may_tighten_and_stays_a_metric():
    age = Integers(name="age", low=0, high=9)
    d = attribute_metrics.stepped(Universe([age]), age, F(1), F(1))
    check_metric(d)
    assert d.tightens
    assert d.exact(0, 9) == 2


def test_other_of_points_rounds_up_so_that_nothing_is_tightened():
    rng = np.random.default_rng(1)
    home = Points(name="home", ids=tuple(map(str, range(9))), coordinates=rng.uniform(-60, 60, (9, 2)))
    d = attribute_metrics.placed(Universe([home]), home, "great-circle", F(1, 100))
    assert not d.tightens
    check_metric(d)


def test_one_single_value_keeps_other_apart():
    age = Integers(name="age", low=5, high=5)
    assert attribute_metrics.stepped(Universe([age]), age, F(1, 2)).exact(0, 1) == F(1, 2)


@pytest.mark.parametrize("points", [[], [[float("nan"), 0]], [[1, 2], [3]], "abc", [[1e200, 0]], [[1e-300, 0]], None])
def test_bad_points_are_refused(points):
    with pytest.raises(DxError):
        metrics.euclidean(points, epsilon_per_unit=1)


def test_bad_prices_and_places_are_refused():
    with pytest.raises(DxError):
        metrics.euclidean([[0.0], [1.0]], epsilon_per_unit=0)
    with pytest.raises(DxError):
        metrics.euclidean([[0.0], [1.0]], epsilon_per_unit="inf")
    with pytest.raises(UsageError):
        metrics.constant(3, -1)
    with pytest.raises(UsageError):
        metrics.constant(0, 1)
    with pytest.raises(UsageError):
        metrics.line(3, 1, per=0)
    with pytest.raises(MetricError):
        metrics.great_circle([[91, 0], [0, 0]], epsilon_per_km=1)
    with pytest.raises(MetricError):
        metrics.great_circle([[0, 0, 0], [1, 1, 1]], epsilon_per_km=1)


def test_attributes_need_an_epsilon_each_and_know_no_others():
    u = Universe([Values(name="sex", values=("M", "F")), Integers(name="age", low=0, high=9)])
    with pytest.raises(MetricError, match="no epsilon for age"):
        metrics.attributes(u, {"sex": 1})
    with pytest.raises(MetricError, match="gender"):
        metrics.attributes(u, {"gender": 1, "age": 1})
    with pytest.raises(MetricError, match="no value"):
        metrics.attributes(u, {"sex": {"M": 1, "F": 1, "X": 1}, "age": 1})


def test_different_policies_have_different_digests():
    u = Universe.listed("abc")
    digests = {
        Constant(u, F(1)).digest,
        Constant(u, F(2)).digest,
        Matrix.of(u, np.ones((3, 3)) - np.eye(3)).digest,
        Constant(Universe.listed("abd"), F(1)).digest,
    }
    assert len(digests) == 4


def test_empty_and_duplicate_universes_are_refused():
    with pytest.raises(PolicyError):
        Universe([])
    with pytest.raises(PolicyError):
        Universe.listed([])
    with pytest.raises(PolicyError, match="twice"):
        Values(name="x", values=("a", "a"))
    with pytest.raises(PolicyError, match="twice"):
        Universe([Values(name="x", values=("a",)), Values(name="x", values=("b",))])
    with pytest.raises(PolicyError):
        Integers(name="x", low=3, high=1)
    with pytest.raises(PolicyError):
        Integers(name="x", low=0, high=1 << 40)


def test_a_product_may_be_of_any_size():
    universe = Universe([Integers(name=n, low=0, high=99_999) for n in "abcdefgh"])
    assert universe.cells == 100_001**8
    assert universe.is_wide
    assert universe.record(universe.cells - 1) == dict.fromkeys("abcdefgh", "other")
    assert universe.index([universe.record(12345)]).tolist() == [12345]
