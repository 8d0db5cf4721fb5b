"""The budget, pair by pair: exact decisions, what is left, and what two records can be told apart by."""

import itertools
import math
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction as F
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dxprivacy as dx
from contracts.long_forms import drawn, slow
from contracts.methods import standard_plan
from contracts.oracle_brute import brute
from contracts.random_models import random_metric, random_queries
from contracts.unused_ledger import unused_ledger
from dxprivacy.errors import BudgetExceeded, LedgerError, QueryError, SeparatesIdentical
from dxprivacy.ledger import Entry, Ledger
from dxprivacy.ledger.ledger_budget import require_budget, round_budget
from dxprivacy.ledger.leftover import Leftover
from dxprivacy.privacy.costs import LaplaceCost, SumCost
from dxprivacy.queries.asking import gather


def people():
    u = dx.Universe(
        [
            dx.Values(name="sex", values=("M", "F"), has_other=False),
            dx.Integers(name="age", low=0, high=9, has_other=False),
        ]
    )
    return dx.metrics.attributes(u, {"sex": 1, "age": {"epsilon": "0.5", "per": 1}})


def reserve(ledger, plan, name="a"):
    return ledger.reserve(plan.cost, plan.queries, request=name)


def test_a_query_about_one_attribute_leaves_the_other_untouched(tmp_path):
    d = people()
    with Ledger.open(tmp_path / "l.db", d, dataset="p", new_ledger=True) as ledger:
        reserve(ledger, standard_plan("count by sex", d), "sex")
        with pytest.raises(BudgetExceeded):
            reserve(ledger, standard_plan("count by sex", d, budget="1%"), "more")
        reserve(ledger, standard_plan("count by age/5", d), "age")
        sex = ledger.between({"sex": "M"}, {"sex": "F"})
        assert (sex.allowed, sex.left) == (1.0, 0.0)
        assert sex.spent == pytest.approx(1.0)
        age = ledger.between({"age": 1}, {"age": 2})
        assert (age.spent, age.left, age.entries) == (0.0, 0.5, ())
        assert ledger.between({"age": 4}, {"age": 5}).left == pytest.approx(0, abs=1e-9)
        assert ledger.worst_case() == pytest.approx(1.5)
        assert ledger.verify() == 4  # opened, policy, two costs


def test_ten_tenths_are_exactly_everything(tmp_path):
    d = dx.metrics.constant(3, "0.3")
    plan = standard_plan([[1, 0, 0]], d, budget="10%")
    with Ledger.open(tmp_path / "l.db", d, dataset="p", new_ledger=True) as ledger:
        for k in range(10):
            assert reserve(ledger, plan, f"r{k}").number == k + 1
        with pytest.raises(BudgetExceeded, match="nothing spent"):
            reserve(ledger, plan, "r11")
        assert len(ledger.entries()) == 10


def test_the_refusal_names_the_pair_and_the_share_that_fits(tmp_path):
    d = people()
    with Ledger.open(tmp_path / "l.db", d, dataset="p", new_ledger=True) as ledger:
        reserve(ledger, standard_plan("count by age/5", d, budget="75%"), "a")
        plan = standard_plan("count by age/5", d, budget="50%")
        with pytest.raises(BudgetExceeded) as caught:
            reserve(ledger, plan, "b")
        text = str(caught.value)
        assert "age 4 – age 5 has 0.125 left of 0.5; this plan needs 0.25" in text
        assert "--budget 25%" in text
        fitting = standard_plan("count by age/5", d, budget="25%")
        assert isinstance(reserve(ledger, fitting, "c"), Entry)


def test_the_same_request_returns_what_was_stored_and_another_body_is_refused(tmp_path):
    d = people()
    with Ledger.open(tmp_path / "l.db", d, dataset="p", new_ledger=True) as ledger:
        plan = standard_plan("count by sex", d, budget="50%")
        reserve(ledger, plan)
        ledger.finish("a", '{"stored": 1}')
        assert reserve(ledger, plan) == '{"stored": 1}'
        with pytest.raises(LedgerError):
            reserve(ledger, standard_plan("count by age/5", d, budget="50%"))


def test_a_ledger_of_another_dataset_or_policy_is_refused(tmp_path):
    d = people()
    with Ledger.open(tmp_path / "l.db", d, dataset="p", new_ledger=True) as ledger:
        reserve(ledger, standard_plan("count by sex", d, budget="1%"))
    with pytest.raises(LedgerError):
        Ledger.open(tmp_path / "l.db", d, dataset="q", new_ledger=True)
    with pytest.raises(LedgerError, match="another version"):
        Ledger.open(tmp_path / "l.db", dx.metrics.constant(d.universe, 1), dataset="p", new_ledger=True)


def test_costs_of_an_unknown_kind_are_never_skipped(tmp_path):
    d = people()
    with unused_ledger(tmp_path / "l.db", d, dataset="p") as ledger:
        ledger._journal.reserve("x", "0" * 64, '{"kind": "gaussian"}', lambda rows: None)
    with (
        Ledger.open(tmp_path / "l.db", d, dataset="p", new_ledger=True) as ledger,
        pytest.raises(LedgerError, match="does not know"),
    ):
        reserve(ledger, standard_plan("count by sex", d, budget="1%"), "y")


def test_reserved_costs_are_read_back_exactly(tmp_path):
    d = people()
    plans = [
        standard_plan(q, d, n_records=100, budget="10%")
        for q in ("mean age by sex", "sum age where sex=F", "count by age/3")
    ]
    plans.append(standard_plan(np.arange(d.universe.size) / 3, d, budget="5%"))
    with Ledger.open(tmp_path / "l.db", d, dataset="p", new_ledger=True) as ledger:
        for k, plan in enumerate(plans):
            reserve(ledger, plan, str(k))
    with Ledger.open(tmp_path / "l.db", d, dataset="p", new_ledger=True) as ledger:
        for entry, plan in zip(ledger.entries(), plans, strict=True):
            for i, j in itertools.combinations(range(d.universe.size), 2):
                assert entry.cost.exact(i, j) == plan.cost.exact(i, j)
            assert entry.budget == round_budget(F(plan.certificate.ratio))


@settings(max_examples=8, deadline=None)
@given(st.randoms(use_true_random=False))
def test_a_filter_never_lets_any_pair_be_overspent(rng):
    metric = random_metric(rng, plain=True)
    accepted, budgets = [], F(0)
    for _ in range(6):
        plan = standard_plan(random_queries(rng, metric.universe), metric, n_records=9, budget=F(rng.randint(1, 9), 10))
        budget = round_budget(F(plan.certificate.ratio))
        together = SumCost(metric.universe, [*accepted, plan.cost])
        fits = brute(together, metric) <= 1
        try:
            require_budget(accepted, budgets, plan.cost, budget, metric)
        except BudgetExceeded:
            assert not fits
        else:
            assert fits
            accepted.append(plan.cost)
            budgets += budget


def test_remaining_is_the_closure_not_the_difference():
    d = dx.metrics.line(3, 1)
    spent = SumCost(d.universe, [LaplaceCost(gather([[0, 1, 0]]).on(d.universe), [1.0])])
    assert float(d.exact(0, 2) - spent.exact(0, 2)) == 2
    assert Leftover(spent, d).between(0, 2).left == 0


@drawn(st.randoms(use_true_random=False), fast=6, full=25)
def test_remaining_equals_floyd_warshall_in_fractions(rng):
    metric = random_metric(rng)
    try:
        plans = [
            standard_plan(random_queries(rng, metric.universe), metric, n_records=9, budget=F(1, 4))
            for _ in range(rng.randint(1, 3))
        ]
    except SeparatesIdentical:
        return
    n = metric.universe.size
    if n > 40:
        return
    spent = SumCost(metric.universe, [p.cost for p in plans])
    left = [[F(0)] * n for _ in range(n)]
    for i, j in itertools.combinations(range(n), 2):
        d = metric.exact(i, j)
        left[i][j] = left[j][i] = math.inf if d == math.inf else d - spent.exact(i, j)
    for k, i, j in itertools.product(range(n), repeat=3):
        left[i][j] = min(left[i][j], left[i][k] + left[k][j])
    for _ in range(5):
        i, j = rng.randrange(n), rng.randrange(n)
        assert Leftover(spent, metric).between(i, j).left == pytest.approx(float(left[i][j]), abs=1e-9)


def test_the_most_exhausted_pairs_come_first(tmp_path):
    d = people()
    with Ledger.open(tmp_path / "l.db", d, dataset="p", new_ledger=True) as ledger:
        reserve(ledger, standard_plan("count by age/5", d, budget="60%"), "a")
        reserve(ledger, standard_plan("count by sex", d, budget="30%"), "b")
        first, *_ = ledger.most_exhausted(3)
        assert first.fraction == pytest.approx(0.6)
        assert d.universe.describe(*first.pair) == ("age 4", "age 5")


def test_records_can_be_named_by_their_values_and_unknown_ones_are_refused(tmp_path):
    with Ledger.open(tmp_path / "l.db", people(), dataset="p", new_ledger=True) as ledger:
        assert ledger.between({"sex": "M", "age": 3}, {"sex": "F", "age": 3}).allowed == 1
        assert ledger.between(0, 19).allowed == 5.5
        for bad in ({"gender": "M"}, {"sex": "X"}):
            with pytest.raises(QueryError):
                ledger.between(bad, {"sex": "F"})
        with pytest.raises(LedgerError):
            ledger.between(0, {"sex": "F"})


RACER = """
import sys
import dxprivacy as dx
from dxprivacy.errors import BudgetExceeded
from dxprivacy.ledger import Ledger
from dxprivacy.mechanisms.linear.planning.planner import make_plan
d = dx.metrics.constant(3, "0.7")
plan = make_plan([[1, 0, 0]], d, budget="5%")
won = 0
with Ledger.open(sys.argv[1], d, dataset="race", new_ledger=True) as ledger:
    for k in range(20):
        try:
            ledger.reserve(plan.cost, plan.queries, request=f"{sys.argv[2]}-{k}")
            won += 1
        except BudgetExceeded:
            break
print(won)
"""


@pytest.mark.parametrize("number", [2, slow(8)])
def test_eight_racing_processes_spend_exactly_the_budget(number, tmp_path):
    path = tmp_path / "race.db"
    d = dx.metrics.constant(3, "0.7")
    racers = [
        subprocess.Popen([sys.executable, "-c", RACER, str(path), str(k)], stdout=subprocess.PIPE, text=True)
        for k in range(number)
    ]
    won = [int(r.communicate(timeout=120)[0]) for r in racers]
    assert sum(won) == 20
    with Ledger.open(path, d, dataset="race", new_ledger=True) as ledger:
        assert len(ledger.entries()) == 20
        assert brute(ledger.spent, d) <= 1
        ledger.verify()
    assert Path(path).exists()


def test_a_query_called_otherwise_is_not_paid_for_twice(tmp_path):
    d = people()
    named = [standard_plan([replace(gather("count by sex").queries[0], title=title)], d) for title in ("Sexes", "Who?")]
    assert named[0].request == named[1].request
    with Ledger.open(tmp_path / "l.db", d, dataset="p", new_ledger=True) as ledger:
        assert isinstance(reserve(ledger, named[0]), Entry)
        ledger.finish("a", "{}")
        assert reserve(ledger, named[1]) == "{}"
        assert len(ledger.entries()) == 1
