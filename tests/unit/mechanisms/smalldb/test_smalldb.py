"""Planned small databases: sizes, routes and refusals come from public numbers, and the certificate from the scale."""

import math
from fractions import Fraction as F

import numpy as np
import pytest

import dxprivacy as dx
from dxprivacy.errors import QueryError, SeparatesIdentical, TooLarge, UsageError
from dxprivacy.histogram import Histogram
from dxprivacy.mechanisms.sampling.system_noise import SystemNoise
from dxprivacy.mechanisms.smalldb.plan import make_smalldb
from dxprivacy.mechanisms.smalldb.routes import route
from dxprivacy.mechanisms.smalldb.run import small_database
from dxprivacy.mechanisms.spending import Unrecorded

AGES = dx.Universe([dx.Integers(name="age", low=0, high=9, has_other=False)])
LINE = dx.metrics.attributes(AGES, {"age": {"epsilon": 1, "per": 1}})
ROWS = [[1, 1, 0, 0], [0, 1, 1, 0]]


def planned(n_records=1000, queries=ROWS, d=None, **more):
    return make_smalldb(queries, d or dx.metrics.constant(4, 1), n_records=n_records, **more)


@pytest.mark.parametrize("budget", [F(1), F(1, 3)])
def test_the_certificate_is_computed_from_the_scale_and_stays_within_the_share(budget):
    queries = [dx.table("age/5"), dx.sum_of("age")]
    plan = make_smalldb(queries, LINE, n_records=100, budget=budget, flatten=False)
    worst = max(plan.cost.exact(i, j) / LINE.exact(i, j) for i in range(10) for j in range(i))
    assert plan.certificate.ratio == worst <= budget
    assert worst > budget * (1 - F(1, 10**9))
    assert plan.rows.weights == (9, 9, 1)  # a sum of 0..9 moves nine times as far as a count
    assert plan.bounds[2] == pytest.approx(9 * plan.bounds[0])


def test_routes_are_decided_from_public_numbers():
    def way(cells, size, rows, exponent):
        logs = math.lgamma(cells + size) - math.lgamma(size + 1) - math.lgamma(cells)
        return route(cells, size, rows, [1] * rows, exponent, logs).name

    assert way(10, 5, 10, 1e6) == "enumeration"
    assert way(200, 20, 2, 1e6) == "answer table"
    assert way(10_000, 40, 500, 9.0) == "rejection"
    with pytest.raises(TooLarge, match="Nothing spent"):
        way(10_000, 40, 500, 11.0)
    with pytest.raises(TooLarge, match="too many for a small database"):
        way(2, 30_000, 1, 1.0)
    with pytest.raises(TooLarge):
        way(3, 1_900, 3, 1e6)  # few candidates, but in too many chunks
    with pytest.raises(TooLarge):
        way(30_000_000, 1, 1, 1e6)  # few candidates over more cells than fit


def test_without_alpha_the_size_with_the_least_bound_is_taken():
    best = planned(alpha=None)
    assert best.bounds.max() <= min(planned(alpha=a).bounds.max() for a in (0.2, 0.3, 0.5, 1.0))


def test_few_records_under_a_strict_policy_are_answered_without_looking():
    class Never:
        def step(self, *_):
            raise AssertionError("something was reserved")

    def never():
        raise AssertionError("something was counted")

    plan = planned(n_records=20, d=dx.metrics.constant(4, "0.001"))
    assert plan.free
    assert "not read" in str(plan)
    small = small_database(plan, never, SystemNoise(), Never())
    assert small.counts.sum() == plan.size
    assert small.answers.tolist() == pytest.approx([10, 10])  # n times the middle of each row


def test_flatter_rows_err_by_their_bias_at_most():
    rng = np.random.default_rng(4)
    rows = np.round(rng.uniform(0, 1, (3, 10)), 2)
    plan = make_smalldb(rows, LINE, n_records=300, flatten=True)
    exact = plan.workload.dense() * np.array([float(u) for u in plan.workload.units])[:, None]
    flat = plan.rows.workload.dense() * np.array([float(u) for u in plan.rows.units])[:, None]
    assert (np.abs(exact - flat).max(axis=1) <= np.array(plan.rows.bias) + 1e-12).all()
    assert plan.certificate.ratio <= 1
    taken = make_smalldb(rows, LINE, n_records=300)
    asked = make_smalldb(rows, LINE, n_records=300, flatten=False)
    assert taken.bounds.max() == min(plan.bounds.max(), asked.bounds.max())


def test_public_differences_are_answered_as_well_as_the_size_allows():
    d = dx.metrics.constant(2, "inf")
    small = dx.smalldb([[1, 0]], d, [750, 250], alpha=0.5, flatten=False)
    assert small.plan.certificate.ratio == 0
    best = min(abs(750 - 1000 * k / small.plan.size) for k in range(small.plan.size + 1))
    assert abs(small.answers[0] - 750) == pytest.approx(best)


def test_answers_are_rescaled_to_all_records():
    small = dx.smalldb(ROWS, dx.metrics.constant(4, 1), [10, 20, 30, 40], alpha=0.4, flatten=False)
    assert small.weights.sum() == pytest.approx(100)
    assert small.answers.tolist() == pytest.approx((np.array(ROWS) @ small.weights).tolist())


def test_a_mean_over_all_records_is_its_sum_over_their_number():
    ages = [0, 0, 50, 0, 0, 0, 0, 50, 0, 0]
    small = dx.smalldb([dx.mean_of("age"), dx.sum_of("age")], LINE, ages, alpha=0.5, flatten=False)
    mean, total = small.answers.tolist()
    assert 0 <= mean <= 9
    assert mean == pytest.approx(total / 100)
    assert small.plan.bounds[0] == pytest.approx(small.plan.bounds[1] / 100)


def test_rows_that_tell_nobody_apart_need_no_data():
    small = dx.smalldb([[1, 1, 1, 1]], dx.metrics.constant(4, 1), [1, 2, 3, 4], flatten=True)
    assert (small.plan.free, small.answers.tolist(), small.plan.bounds.tolist()) == (True, [10.0], [0.0])


@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (lambda: planned(alpha=0), UsageError, "alpha"),
        (lambda: planned(alpha=1.5), UsageError, "alpha"),
        (lambda: planned(alpha=float("nan")), UsageError, "alpha"),
        (lambda: planned(alpha="0.5"), UsageError, "alpha"),
        (lambda: planned(alpha=True), UsageError, "alpha"),
        (lambda: planned(beta=0), UsageError, "beta"),
        (lambda: planned(beta=1), UsageError, "beta"),
        (lambda: planned(n_records=0), UsageError, "no records"),
        (lambda: planned(n_records=-5), UsageError, "n_records"),
        (lambda: planned(n_records=2.5), UsageError, "n_records"),
        (lambda: planned(budget="0%"), UsageError, "budget"),
        (lambda: planned(queries=[]), UsageError, "not a query"),
        (lambda: planned(queries=[[1, 0]]), QueryError, "columns"),
        (lambda: planned(queries=[[float("nan"), 0, 0, 0]]), QueryError, "finite"),
        (lambda: planned(n_records=1 << 55), TooLarge, "exact scores"),
        (lambda: planned(d="policy"), UsageError, "metric"),
        (lambda: make_smalldb(dx.mean_of("age", by="age"), LINE, n_records=9), QueryError, "ratios|grouped"),
        (lambda: planned(d=dx.metrics.from_matrix(np.zeros((4, 4)))), SeparatesIdentical, "identical"),
        (
            lambda: planned(d=dx.metrics.constant(301, 1), queries=[[1] + [0] * 300], flatten=True),
            QueryError,
            "flatter",
        ),
    ],
)
def test_bad_input_is_refused_and_nothing_is_spent(make, error, match):
    with pytest.raises(error, match=match):
        make()


def test_a_private_number_of_records_is_refused():
    d = dx.metrics.with_absent(dx.metrics.constant(4, 1), 1, max_records=100)
    with pytest.raises(UsageError, match="private"):
        make_smalldb(ROWS, d, n_records=10)
    with pytest.raises(UsageError, match="private"):
        dx.smalldb(ROWS, d, [1, 2, 3, 4, 0])


def test_data_of_another_size_or_universe_is_refused():
    plan, d = planned(flatten=False), dx.metrics.constant(4, 1)
    for data in (Histogram.of(d.universe, [1, 2, 3, 4]), Histogram.of(dx.Universe.listed("abcde"), [1000, 0, 0, 0, 0])):
        with pytest.raises(UsageError):
            small_database(plan, lambda data=data: data, SystemNoise(), Unrecorded(d))


def test_one_row_and_one_record_are_enough():
    small = dx.smalldb([[1, 0, 0, 0]], dx.metrics.constant(4, 1), [1, 0, 0, 0], alpha=1.0, flatten=False)
    assert small.counts.sum() == small.plan.size == 1


def test_the_same_plan_has_the_same_name_and_any_other_another():
    names = {
        planned(flatten=False).request,
        planned(flatten=False, alpha=0.3).request,
        planned(flatten=False, budget="50%").request,
        planned(flatten=False, n_records=999).request,
        planned(flatten=False, queries=[[1, 1, 0, 0]]).request,
    }
    assert len(names) == 5
    assert planned(flatten=False).request in names


def test_nothing_shown_or_written_depends_on_data():
    plan = planned(flatten=False)
    assert "nothing spent, no data read" in str(plan)
    assert plan.to_dict()["route"] == "enumeration"
    assert "counts" not in plan.to_dict()
