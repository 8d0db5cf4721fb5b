"""Which method is expected to be better, and plans for synthetic data."""

import numpy as np
import pytest

import dxprivacy as dx
from dxprivacy import metrics
from dxprivacy.errors import QueryError, UsageError
from dxprivacy.mechanisms.direct import run as direct
from dxprivacy.mechanisms.mwem.plan import MwemPlan
from dxprivacy.mechanisms.synthesis import plan as plan_module
from dxprivacy.mechanisms.synthesis import tried_out as expected
from dxprivacy.mechanisms.synthesis.tried_out import Expectation, Trial, made_up_tables

D = metrics.line(8, 1)
ROWS = np.triu(np.ones((8, 8), dtype=int))[1:]


def test_it_says_beforehand_which_method_is_better():
    plan = dx.plan_synthesis(ROWS, D, n_records=500)
    assert plan.method == "direct"
    assert str(plan).startswith("direct\ndirect: about ")
    assert " of the error of guessing uniformly; mwem: about " in str(plan)
    assert plan.expected.errors["direct"] < plan.expected.errors["mwem"]
    assert plan.run(np.arange(8) * 10 + 27.0).histogram.sum() == pytest.approx(sum(range(8)) * 10 + 8 * 27)


def test_it_expects_the_same_every_time():
    first, second = (dx.plan_synthesis(ROWS, D, n_records=500) for _ in range(2))
    assert first.expected == second.expected
    assert all(
        (a == b).all() for a, b in zip(made_up_tables(D.universe, 9, 3), made_up_tables(D.universe, 9, 3), strict=True)
    )


def test_where_a_fit_is_too_large_it_says_so_and_takes_the_other(monkeypatch):
    monkeypatch.setattr(direct, "MOST_CELLS", 4)
    plan = dx.plan_synthesis(ROWS, D, n_records=500)
    assert plan.method == "mwem"
    assert isinstance(plan.made, MwemPlan)
    assert "direct does not apply: a fit needs a number for each of 8 possible records" in str(plan)
    with pytest.raises(QueryError, match="fit into memory"):
        dx.plan_synthesis(ROWS, D, n_records=500, method="direct")


def test_large_universes_take_the_error_that_the_plan_expects(monkeypatch):
    small = dx.plan_synthesis(ROWS, D, n_records=500, method="direct").expected.errors["direct"]
    monkeypatch.setattr(expected, "SMALL_CELLS", 4)
    large = dx.plan_synthesis(ROWS, D, n_records=500, method="direct").expected.errors["direct"]
    assert small / 2 < large < small * 4


def test_rounds_are_those_that_do_best_on_made_up_tables():
    rows = np.random.default_rng(0).integers(0, 2, (45, 8))
    plan = dx.plan_synthesis(rows, D, n_records=10**6, method="mwem").made
    assert plan.why == "best on made-up tables"
    assert dx.plan_synthesis(rows, D, n_records=500, method="mwem", rounds=3).made.rounds == 3


def test_expected_errors_are_near_those_of_real_runs():
    plan = dx.plan_synthesis(ROWS, D, n_records=5_000, method="mwem", rounds=4)
    trial = Trial(plan.made.workload, 5_000, 8)
    real = trial.part(trial.error([plan.run(t).histogram for t in trial.tables]))
    assert 0.3 < real / plan.expected.errors["mwem"] < 3


def test_where_the_number_of_records_is_private_only_a_fit_is_left():
    d = metrics.with_absent(metrics.constant(3, 1), 1, max_records=100)
    plan = dx.plan_synthesis(np.eye(3), d, n_records=None)
    assert plan.method == "direct"
    assert "private" in str(plan)
    with pytest.raises(UsageError, match="private"):
        dx.plan_synthesis(np.eye(3), d, n_records=None, method="mwem")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"method": "mvem"}, "mwem"),
        ({"method": ""}, "no method"),
        ({"n_records": None}, "how many records"),
        ({"n_records": 0}, "at least one record"),
        ({"n_records": 2.5}, "at least one record"),
        ({"n_records": True}, "at least one record"),
        ({"seconds": 0}, "seconds"),
        ({"budget": 0}, "budget"),
    ],
)
def test_what_cannot_be_planned_is_refused(options, says):
    with pytest.raises(UsageError, match=says):
        dx.plan_synthesis(ROWS, D, **{"n_records": 100, **options})
    with pytest.raises(UsageError, match="a metric"):
        dx.plan_synthesis(ROWS, "policy", n_records=100)


def test_if_no_method_applies_the_last_refusal_is_given():
    with pytest.raises(QueryError):
        dx.plan_synthesis(ROWS, metrics.constant(8, 0), n_records=100)


def test_words_of_expectations():
    assert str(Expectation({"mwem": 0.347, "direct": 0.0312})) == (
        "direct: about 3.1 % of the error of guessing uniformly; mwem: about 35 %"
    )
    assert "less than 0.1 %" in str(Expectation({"direct": 1e-9}))
    assert str(Expectation({})) == ""
    assert plan_module.METHODS[0] == "auto"
