"""The shipped `check_metric` accepts metrics and names what is wrong with others."""

import math
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.random_models import derived_metric, random_metric
from dxprivacy import metrics
from dxprivacy.errors import MetricError
from dxprivacy.mechanisms.linear.planning.planner import make_plan
from dxprivacy.metrics import Metric
from dxprivacy.metrics.stored_metrics import check_metric
from dxprivacy.universe.universe import Universe


class Own(Metric):
    """A metric as a user would write it: a table of fractions."""

    kind = "own"

    def __init__(self, rows):
        super().__init__(Universe.listed("abcdefgh"[: len(rows)]))
        self.rows = rows

    def pairwise(self, i, j):
        return np.array([float(self.rows[a][b]) for a, b in zip(i.tolist(), j.tolist(), strict=True)])

    def exact(self, i, j):
        return self.rows[i][j]

    def spec(self):
        return {"rows": [[str(x) for x in row] for row in self.rows]}


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False))
def test_our_own_metrics_are_accepted(rng):
    metric = (random_metric if rng.random() < 0.5 else derived_metric)(rng, places=True)
    if metric.universe.size <= 40:
        assert check_metric(metric)


def test_a_users_metric_is_accepted_and_planned_with():
    d = Own([[F(0), F(1), F(2)], [F(1), F(0), F(1)], [F(2), F(1), F(0)]])
    assert check_metric(d)
    assert make_plan([[1, 0, 2]], d).certificate.ratio == 1


@pytest.mark.parametrize(
    ("rows", "what"),
    [
        ([[F(0), F(5), F(1)], [F(5), F(0), F(1)], [F(1), F(1), F(0)]], "the path over c"),
        ([[F(0), F(1)], [F(2), F(0)]], "one in each direction"),
        ([[F(1), F(1)], [F(1), F(0)]], "distance to itself"),
        ([[F(0), F(-1)], [F(-1), F(0)]], "at least 0"),
        ([[F(0), 0.5], [0.5, F(0)]], "a fraction"),
        ([[F(0), math.nan], [math.nan, F(0)]], "a fraction"),
    ],
)
def test_what_is_no_metric_is_refused_with_its_pair(rows, what):
    with pytest.raises(MetricError, match=what):
        check_metric(Own(rows))


def test_floats_that_lie_are_found():
    d = Own([[F(0), F(1)], [F(1), F(0)]])
    d.pairwise = lambda i, j: np.where(i != j, 1.001, 0.0)
    with pytest.raises(MetricError, match="not within its error"):
        check_metric(d)


def test_generators_that_do_not_span_are_found():
    d = Own([[F(0), F(1), F(1)], [F(1), F(0), F(1)], [F(1), F(1), F(0)]])
    d.generators = lambda block=0: iter([(np.array([0, 1]), np.array([1, 2]))])
    with pytest.raises(MetricError, match="generators"):
        check_metric(d)


def test_large_metrics_are_sampled_and_the_answer_says_so():
    assert check_metric(metrics.line(500, 1)) is False
