"""Released answers err as much as their plan says, by every method: simulated, within four standard errors."""

import math

import numpy as np
import pytest

import dxprivacy as dx
from contracts.methods import OWN
from dxprivacy.mechanisms.linear.planning.planner import make_plan

RUNS = 120
SURVEY = dx.Universe(
    [
        dx.Values(name="sex", values=("M", "F"), has_other=False),
        dx.Values(name="job", values=("a", "b", "c")),
        dx.Integers(name="age", low=0, high=11),
    ]
)
POLICY = dx.metrics.attributes(SURVEY, {"sex": 1, "job": 0.5, "age": {"epsilon": 1, "per": 2}})


def simulated(plan, counts):
    """Mean squared error over all answers, with its standard error, and the plan's."""
    exact = make_plan(plan.queries, plan.metric, method="same-scale", n_records=plan.records)
    truth = np.array(
        [
            exact.interval(a, exact.workload.answer(counts).tolist(), int(counts.sum()))[0]
            for a in exact.workload.answers
        ]
    )
    errors = np.array([((dx.laplace(plan, counts) - truth) ** 2).sum() for _ in range(RUNS)])
    return float(errors.mean()), float(errors.std() / math.sqrt(RUNS)), float((plan.expected_rmse**2).sum())


def errs_as_it_says(plan, counts):
    """Within four standard errors, in one of three simulations: noise as it should be fails less than once in 10^6.

    (Squares of Laplace noise have long tails, and few runs that miss them misjudge both mean and standard error.)
    """
    tries = (simulated(plan, counts) for _ in range(3))
    return any(abs(mean - expected) <= 4 * error for mean, error, expected in tries)


@pytest.mark.parametrize("method", [*OWN, "auto"])
@pytest.mark.parametrize(
    "queries",
    [
        ["ranges age"],
        ["marginals 2"],
        ["count by sex, job", "prefixes age", "sum age by sex"],
        ["mean age", "count by sex"],
    ],
    ids=lambda q: " + ".join(q),
)
def test_errors_are_those_of_the_plan(method, queries):
    counts = np.random.default_rng(7).integers(0, 30, SURVEY.size)
    plan = make_plan(queries, POLICY, method=method, n_records=int(counts.sum()))
    assert errs_as_it_says(plan, counts)


def test_intervals_of_worked_out_answers_cover_at_least_as_often_as_they_say():
    counts = np.random.default_rng(7).integers(0, 30, SURVEY.size)
    plan = make_plan(["ranges age", "count by sex"], POLICY)
    assert not plan.measured.as_asked
    truth = plan.workload.answer(counts).astype(float)
    widths = np.array([e.half_width for e in plan.errors])
    inside = np.array([(np.abs(dx.laplace(plan, counts) - truth) <= widths + 1e-9).mean() for _ in range(RUNS)])
    assert inside.mean() >= 0.95 - 4 * inside.std() / math.sqrt(RUNS)
    assert inside.mean() <= 0.99


@pytest.mark.parametrize("queries", [["ranges age"], ["marginals 2"], ["count by sex, job", "sum age by sex"]])
@pytest.mark.soak
def test_errors_are_those_of_the_plan_after_a_search(queries):
    test_errors_are_those_of_the_plan("matrix", queries)


@pytest.mark.parametrize("n", [1, 4, 20])
def test_a_biased_plan_errs_as_it_says_where_the_data_are_worst_for_it(n):
    d = dx.metrics.line(6, 0.2)
    row = [[0, 1, 2, 3, 4, 7]]
    plan = make_plan(row, d, method="biased", n_records=n)
    assert not plan.measured.as_asked
    moved = np.abs(plan.counted.dense()[0] * float(plan.counted.units[0]) - np.array(row[0]))
    counts = np.zeros(6, dtype=np.int64)
    counts[int(moved.argmax())] = n
    assert errs_as_it_says(plan, counts)
    gentle = np.zeros(6, dtype=np.int64)
    gentle[int(moved.argmin())] = n
    mean, error, expected = simulated(plan, gentle)
    assert mean <= expected + 6 * error  # other data: no worse


@pytest.mark.parametrize(("nd", "ratio"), [(1, 1 / 3), (8, math.sqrt(64 / 72)), (64, 1.0)])
def test_two_elements_and_one_query_gain_what_theory_says(nd, ratio):
    d = dx.metrics.from_matrix([[0, 0.01], [0.01, 0]])
    n = round(nd / 0.01)
    row = [[0, 1]]
    biased, plain = (make_plan(row, d, method=m, n_records=n) for m in ("biased", "optimal"))
    found = biased.expected_rmse[0] / plain.expected_rmse[0]
    assert found == pytest.approx(ratio, rel=0.01)
    if nd == 64:
        assert found >= 0.998
