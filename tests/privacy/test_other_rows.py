"""Plans that count other rows: what a review found, and what must never happen."""

import json
import math

import numpy as np
import pytest

import dxprivacy as dx
from dxprivacy import metrics
from dxprivacy.errors import DxError, NotCertified, QueryError, UsageError
from dxprivacy.formats.canonical import sealed
from dxprivacy.mechanisms.linear.noise.discrete_laplace_distribution import variance
from dxprivacy.mechanisms.linear.noise.noise_distributions import Blend
from dxprivacy.mechanisms.linear.plan import load_plan
from dxprivacy.mechanisms.linear.planning.planner import make_plan
from dxprivacy.queries.kinds.matrix_query import MatrixQuery
from dxprivacy.queries.strategy_rows import Groups, Tally
from dxprivacy.universe.blocks import AlongAxis
from dxprivacy.universe.workload import Workload

POLICY = """
title = "T"
dataset = "t"
[attributes.sex]
values = ["M", "F"]
epsilon = 1
[attributes.age]
integers = [0, 15]
epsilon = 1
per = 2
"""


@pytest.fixture
def session(tmp_path):
    (tmp_path / "p.csv").write_text("sex,age\n" + "".join(f"{'MF'[k % 2]},{k % 16}\n" for k in range(320)))
    with dx.Session(dx.Policy.parse(POLICY), tmp_path / "p.csv", ledger=tmp_path / "l.db", new_ledger=True) as session:
        yield session


def spread_rows(t):
    """A row of huge numbers beside counts."""
    return np.array([[0, t + 1, 2 * t, 3 * t + 1, 4 * t, 5 * t + 1]])


@pytest.mark.parametrize("t", [10**5, 10**6, 10**8, 10**11, 10**13])
def test_small_rows_beside_huge_ones_are_neither_lost_nor_called_exact(t):
    counts = np.vstack([np.tril(np.ones((6, 6), dtype=int))[:-1], np.eye(6, dtype=int)])
    asked = [MatrixQuery(spread_rows(t)), MatrixQuery(counts)]
    for method in ("auto", "matrix"):
        try:
            plan = make_plan(asked, metrics.constant(6, 1.0), method=method, n_records=600)
        except NotCertified:
            continue
        x = np.array([100, 50, 150, 90, 110, 100])
        assert not any(plan.is_exact(a) for a in plan.workload.answers)
        truth = plan.workload.answer(x)
        errors = np.abs(dx.laplace(plan, x) - truth)
        assert (errors <= 12 * plan.expected_rmse + 1e-6).all()


def test_a_plan_from_which_the_answers_do_not_follow_is_never_made_and_never_loaded(session):
    wide = [MatrixQuery(np.array([[1e6, 2e6, 3e6, 5e6, 7e6]]).astype(int)), MatrixQuery(np.array([[1, 1, 0, 0, 0]]))]
    try:
        plan = make_plan(wide, metrics.constant(5, 1.0), method="matrix", n_records=500)
    except NotCertified:
        plan = None
    if plan is not None:
        runs = np.array([dx.laplace(plan, [500, 0, 0, 0, 0])[1] for _ in range(60)])
        assert abs(runs.mean() - 500) <= 5 * plan.expected_rmse[1] / math.sqrt(60)
    data = session.plan("ranges age", budget="10%").to_dict()
    groups = [0] * 4 + [-1] * 13
    data["measured"]["queries"] = [{"ask": "tally", "over": [{"of": "age", "groups": groups, "weights": [1] * 17}]}]
    data["scales"] = [(1000.0).hex()]
    forged = sealed({k: v for k, v in data.items() if k != "seal"})
    with pytest.raises(NotCertified, match="do not tell everything"):
        load_plan(forged, session.policy.metric, dataset="t")
    assert session.ledger.entries() == []


def test_an_unknown_way_back_is_refused_with_our_error(session, subtests):
    data = session.plan("ranges age", budget="10%").to_dict()
    for how in ([], {}, None, 7, "by hand", "Least squares"):
        data["measured"]["how"] = how
        with subtests.test(how=how), pytest.raises(DxError):
            load_plan(sealed({k: v for k, v in data.items() if k != "seal"}), session.policy.metric, dataset="t")


def test_what_is_counted_is_what_was_certified_and_reserved(session):
    plan = session.plan("ranges age", budget="30%")
    universe = plan.counted.universe
    _ = plan.cost
    huge = np.eye(plan.counted.rows, universe.shape[1], dtype=np.int64) * 10**6
    plan.measured.workload = Workload(universe, (AlongAxis(universe, 1, huge),), ())
    release = session.release(plan)
    assert max(abs(z) for z in release.facts["noisy"]) < 10**6


def test_a_plan_that_moves_answers_is_not_released_for_more_records(session):
    plan = session.plan("count where sex=M", budget="1%", method="optimal")
    few = make_plan(
        "count where sex=M", session.policy.metric, method="biased", n_records=3, budget="1%", title="T", dataset="t"
    )
    assert not few.measured.as_asked
    with pytest.raises(UsageError, match="for 3 records, and there are 320"):
        session.release(few, anyway=True)
    assert session.ledger.entries() == []
    session.release(plan, anyway=True)


@pytest.mark.parametrize("scale", [0.1, 0.2, 0.3, 0.414, 0.5, 0.6, 0.8, 1, 2, 3, 5, 10, 50])
@pytest.mark.parametrize("coverage", [0.95, 0.975])
def test_discrete_noise_is_covered_as_guaranteed_also_where_its_scale_is_small(scale, coverage):
    distribution = Blend(variance(scale), variance(scale))
    inside = math.floor(float(distribution.half_width(coverage)) + 1e-12)
    p = math.exp(-1 / scale)
    assert 1 - 2 * p ** (inside + 1) / (1 + p) >= coverage


@pytest.mark.parametrize("epsilon", [2.4, 6.0, 8.0])
def test_intervals_cover_where_the_noise_is_small(epsilon):
    Q = np.vstack([np.eye(8), np.tril(np.ones((8, 8)))])
    plan = make_plan(Q, metrics.constant(8, epsilon), n_records=800)
    x = np.full(8, 100)
    truth = plan.workload.answer(x).astype(float)
    widths = np.array([e.half_width for e in plan.errors]) + 1e-6
    inside = np.array([np.abs(dx.laplace(plan, x) - truth) <= widths for _ in range(200)])
    assert inside.mean() >= 0.95 - 0.02


def test_exact_answers_are_whole():
    Q = np.vstack([np.eye(8), np.tril(np.ones((8, 8)))])
    plan = make_plan(Q, metrics.constant(8, 1.0), n_records=800)
    assert dx.laplace(plan, np.full(8, 100))[-1] == 800


def test_a_tally_without_end_is_refused_at_once():
    universe = dx.Universe([dx.Integers(name="age", low=0, high=3, has_other=False)])
    with pytest.raises(QueryError):
        Tally((Groups("age", (3_000_000, -1, -1, -1), (1,) * 4),)).on(universe)


def test_equal_errors_look_equal():
    plan = make_plan("ranges element", metrics.line(12, 1))
    assert len({e.rmse for e in plan.errors}) <= 4
    json.dumps(plan.to_dict())
