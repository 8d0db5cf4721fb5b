"""Selections and synthetic records are planned inside what a ledger has left, as counts are; refusals name the pair."""

from fractions import Fraction

import pytest

import dxprivacy as dx
from dxprivacy.errors import BudgetExceeded, UsageError
from dxprivacy.mechanisms.fit_budget import largest_fitting_plan, rounded_down
from dxprivacy.mechanisms.mwem.plan import plan_mwem
from dxprivacy.privacy import max_ratio
from dxprivacy.privacy.costs import LaplaceCost, SelectionCost, SumCost
from dxprivacy.queries.asking import gather

D = dx.metrics.line(6, "0.5")
U = D.universe
ROWS = [[1, 1, 0, 0, 0, 0], [0, 1, 1, 1, 0, 0], [0, 0, 0, 1, 1, 2]]
NAME = U.names[0]


def spent(scale, row=(0, 0, 1, 1, 1, 1)):
    return SumCost(U, [LaplaceCost(gather([list(row)]).on(U), [scale])])


PLANNING_METHODS = {
    "selection": lambda budget, before: dx.plan_selection(
        f"median {NAME}", INT, n_records=100, budget=budget, spent=before
    ),
    "mwem": lambda budget, before: plan_mwem(ROWS, D, n_records=100, rounds=2, budget=budget, spent=before),
    "smalldb": lambda budget, before: dx.plan_smalldb(
        ROWS, D, n_records=100, budget=budget, spent=before, flatten=False
    ),
    "synthesis": lambda budget, before: dx.plan_synthesis(ROWS, D, n_records=100, budget=budget, spent=before).made,
}
AGES = dx.Universe([dx.Integers(name=NAME, low=0, high=5, has_other=False)])
INT = dx.metrics.attributes(AGES, {NAME: {"epsilon": "0.5", "per": 1}})


@pytest.mark.parametrize("make", PLANNING_METHODS.values(), ids=PLANNING_METHODS)
@pytest.mark.parametrize("scale", [2.5, 3.0, 10.0, 1e6])
def test_what_is_planned_fits_beside_what_was_spent_in_fractions(make, scale):
    d = INT if make is PLANNING_METHODS["selection"] else D
    before = SumCost(d.universe, [LaplaceCost(gather([[0, 0, 1, 1, 1, 1]]).on(d.universe), [scale])])
    alone, beside = make("100%", None), make("100%", before)
    for i in range(6):
        for j in range(i):
            assert beside.whole_cost.exact(i, j) + before.exact(i, j) <= d.exact(i, j)
            assert beside.whole_cost.exact(i, j) <= alone.whole_cost.exact(i, j)
    # And not much less than fits: some pair is nearly used up.
    assert max_ratio(SumCost(d.universe, [*before.costs, beside.whole_cost]), d).upper > Fraction(999, 1000)


@pytest.mark.parametrize("make", PLANNING_METHODS.values(), ids=PLANNING_METHODS)
def test_a_pair_with_nothing_left_is_named(make):
    d = INT if make is PLANNING_METHODS["selection"] else D
    before = SumCost(d.universe, [LaplaceCost(gather([[0, 0, 1, 1, 1, 1]]).on(d.universe), [2.0])])  # 1 – 2: all of it
    with pytest.raises(BudgetExceeded, match=r"1 – .*2 has nothing left"):
        make("100%", before)


def test_what_was_spent_on_other_records_is_refused():
    other = SumCost(dx.Universe.listed("abc"), [LaplaceCost(gather([[1, 0, 0]]).on(dx.Universe.listed("abc")), [9.0])])
    for make in PLANNING_METHODS.values():
        with pytest.raises(UsageError, match="another policy"):
            make("100%", other)
        with pytest.raises(UsageError, match="cost"):
            make("100%", "everything")


def made(budget):
    return dx.plan_selection(f"most common {NAME}", D, n_records=100, budget=budget)


@pytest.mark.parametrize("scale", [2.5, 3.0, 7.0])
def test_the_largest_share_that_fits_is_found_to_three_digits(scale):
    before = spent(scale)
    found = largest_fitting_plan(made, lambda selection: selection, Fraction(1), before)
    fits = max_ratio(SumCost(U, [*before.costs, found.cost]), D).upper
    assert Fraction(98, 100) < fits <= 1
    assert found.budget == rounded_down(found.budget)
    assert found.request == made(found.budget).request  # what a command with that share plans
    more = made(found.budget * Fraction(102, 100))
    assert max_ratio(SumCost(U, [*before.costs, more.cost]), D).upper > 1


def test_a_share_that_fits_is_taken_as_it_is():
    assert largest_fitting_plan(made, lambda selection: selection, Fraction(1, 7), spent(1e9)).budget == Fraction(1, 7)
    assert largest_fitting_plan(made, lambda selection: selection, Fraction(1), SumCost(U, [])).budget == 1


def test_what_roundings_leave_is_nothing():
    almost = SumCost(U, [SelectionCost(gather([[0, 0, 1, 1, 1, 1]]).on(U), [2.0 * (1 + 2.0**-40)])])
    with pytest.raises(BudgetExceeded, match="nothing left"):
        largest_fitting_plan(made, lambda selection: selection, Fraction(1), almost)


POLICY = """
title = "Survey"
dataset = "survey"
[attributes.sex]
values = ["M", "F"]
epsilon = 1.0
[attributes.job]
values = ["a", "b", "c"]
epsilon = 2.0
"""


@pytest.fixture
def session(tmp_path):
    (tmp_path / "people.csv").write_text("sex,job\n" + "F,a\nM,b\nF,c\n" * 300)
    with dx.Session(
        dx.Policy.parse(POLICY), tmp_path / "people.csv", ledger=tmp_path / "ledger.db", new_ledger=True
    ) as opened:
        yield opened


def test_a_session_plans_choices_and_records_inside_its_ledger(session):
    session.release(session.plan("count by sex", budget="95%", method="same-scale"))
    with pytest.raises(BudgetExceeded):
        session.select(session.plan_selection("most common sex", budget="50%"))
    session.select(session.plan_selection("most common sex", budget="50%", inside_ledger=True))
    assert session.ledger.verify()
    assert session.plan_selection("most common job", budget="50%", inside_ledger=True).budget == Fraction(1, 2)
    for method in ("direct", "mwem", "smalldb"):
        plan = session.plan_synthesis("count by job", method=method, budget="20%", inside_ledger=True)
        session.synthesize(plan)
        session.ledger.verify()
