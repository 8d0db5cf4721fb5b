"""Plans beside what was spent: on every pair, old and new costs together stay within the policy, in fractions."""

import pytest
from hypothesis import strategies as st

import dxprivacy as dx
from contracts.long_forms import drawn
from contracts.methods import OWN
from contracts.oracle_brute import brute
from contracts.random_models import random_metric, random_queries
from dxprivacy.errors import BudgetExceeded, SeparatesIdentical, UsageError
from dxprivacy.ledger import Ledger
from dxprivacy.mechanisms.linear.planning.planner import make_plan
from dxprivacy.privacy.costs import SumCost


def people():
    u = dx.Universe([dx.Values(name="sex", values=("M", "F")), dx.Integers(name="age", low=0, high=29)])
    return dx.metrics.attributes(u, {"sex": 1, "age": {"epsilon": 1, "per": 10}})


@drawn(st.randoms(use_true_random=False), fast=5, full=25)
def test_old_and_new_together_stay_within_the_policy_on_all_pairs_in_fractions(rng):
    metric = random_metric(rng)
    budgets = [rng.choice(["10%", "35%", "60%"]) for _ in range(rng.randint(1, 2))]
    spent = []
    try:
        for budget in [*budgets, "100%"]:
            before = SumCost(metric.universe, spent)
            method = rng.choice([*OWN, "auto"])
            asked = random_queries(rng, metric.universe)
            new = make_plan(asked, metric, budget=budget, method=method, n_records=100, spent=before)
            spent.append(new.cost)
    except (SeparatesIdentical, BudgetExceeded):
        return
    assert brute(SumCost(metric.universe, spent), metric) <= 1
    assert brute(new.cost, metric) == new.certificate.ratio <= 1


@pytest.mark.parametrize("method", OWN)
def test_only_what_shares_a_pair_with_the_past_gets_noisier(method):
    d = people()
    past = make_plan("count by age/10", d, budget="80%", method="optimal")
    plain = make_plan(["count by sex", "count by age/10"], d, method=method)
    plan = make_plan(["count by sex", "count by age/10"], d, method=method, spent=past.cost)
    assert brute(SumCost(d.universe, [past.cost, plan.cost]), d) <= 1
    sex, age = plan.errors[0].rmse, plan.errors[-1].rmse
    assert age == pytest.approx(5 * plain.errors[-1].rmse, rel=0.1)
    if method in ("optimal", "fill", "psa"):
        assert sex == pytest.approx(plain.errors[0].rmse, rel=0.05)


def test_the_share_still_holds_for_the_new_plan_alone():
    d = people()
    past = make_plan("count by age/10", d, budget="10%")
    plan = make_plan("count by age/10", d, budget="50%", spent=past.cost)
    assert plan.certificate.ratio <= 0.5
    assert plan.scales == make_plan("count by age/10", d, budget="50%").scales


def test_a_pair_with_nothing_left_is_named_with_its_query():
    d = people()
    past = make_plan("count by age/10", d, method="optimal")
    for method in (*OWN, "auto", "matrix"):
        with pytest.raises(BudgetExceeded) as caught:
            make_plan(["count by sex", "count where age=0..9"], d, method=method, spent=past.cost)
        text = str(caught.value)
        assert "age 9 – age 10 has nothing left of 0.1" in text
        assert "query “count where age=0..9”" in text
    assert make_plan("count by sex", d, spent=past.cost).certificate.ratio <= 1
    assert make_plan("count by age[0,5]", d, spent=past.cost).certificate.ratio <= 1  # another pair of ages


def test_matrices_over_places_respect_the_past_too():
    import numpy as np

    rng = np.random.default_rng(9)
    d = dx.metrics.euclidean(rng.uniform(0, 9, (12, 2)), epsilon_per_unit="0.1")
    past = make_plan(rng.uniform(0, 1, (3, 12)), d, budget="60%")
    for method in (*OWN, "auto", "matrix"):
        plan = make_plan(rng.uniform(0, 1, (4, 12)), d, method=method, spent=past.cost)
        total = brute(SumCost(d.universe, [past.cost, plan.cost]), d)
        assert total <= 1
        assert method in ("equal-split", "same-scale") or total > 0.97
        assert plan.certificate.gap is None or plan.certificate.gap <= 1e-6


def test_a_ledger_takes_what_was_planned_inside_it(tmp_path):
    d = people()
    with Ledger.open(tmp_path / "l.db", d, dataset="p", new_ledger=True) as ledger:
        for turn, query in enumerate(["count by age/10", "count by sex, age/15", "count by age/5"]):
            budget = "50%" if turn < 2 else "100%"
            plan = make_plan(query, d, budget=budget, spent=ledger.spent)
            ledger.reserve(plan.cost, plan.counted_queries, request=f"r{turn}")
        assert len(ledger.entries()) == 3
        assert ledger.verify()


def test_a_session_plans_inside_its_ledger_when_asked(tmp_path):
    policy = dx.Policy.parse('title = "T"\ndataset = "t"\n[attributes.sex]\nvalues = ["M", "F"]\nepsilon = 1\n')
    data = tmp_path / "people.csv"
    data.write_text("sex\n" + "M\nF\n" * 50)
    with dx.Session(policy, data, ledger=tmp_path / "l.db", new_ledger=True) as session:
        session.release(session.plan("count by sex", budget="75%"))
        alone, inside = (session.plan("count where sex=F", budget="100%", inside_ledger=x) for x in (False, True))
        assert inside.scales[0] == pytest.approx(4 * alone.scales[0], rel=1e-6)
        with pytest.raises(BudgetExceeded):
            session.release(alone)
        session.release(inside)


def test_what_is_no_cost_or_of_other_records_is_refused():
    d = people()
    other = make_plan([[1, 0]], dx.metrics.constant(2, 1))
    with pytest.raises(UsageError, match="another policy"):
        make_plan("count by sex", d, spent=other.cost)
    with pytest.raises(UsageError, match="is a cost"):
        make_plan("count by sex", d, spent=0.5)
    assert make_plan("count by sex", d, spent=SumCost(d.universe, [])).scales == make_plan("count by sex", d).scales
