"""What would meet a missed target: each number is enough when one plans with it, and not far more than needed."""

from fractions import Fraction

import numpy as np
import pytest

import dxprivacy as dx
from contracts.long_forms import mostly_slow
from dxprivacy.mechanisms.linear.planning.budget_remedies import least_budget, least_factor, missed_targets, reaches
from dxprivacy.output.text.plan_text import plan_lines
from dxprivacy.wording import plain

POLICY = dx.Policy.parse("""title = "T"
dataset = "t"
[attributes.sex]
values = ["M", "F"]
epsilon = 1
[attributes.town]
values = ["A", "B", "C", "D"]
epsilon = 0.5
[attributes.age]
integers = [0, 39]
epsilon = 1
per = 10
[attributes.income]
numbers = [0, 100]
step = 10
epsilon = 1
per = 20
""")


def planned(queries, *, budget=Fraction(1, 10), n_records=2_000, metric=POLICY.metric):
    return dx.plan(list(queries), metric, budget=budget, n_records=n_records)


def meets(plan, answers=None):
    chosen = range(len(plan.errors)) if answers is None else answers
    return all(reaches(plan.errors[k], plan.workload.answers[k].within) for k in chosen)


@pytest.mark.parametrize(
    "queries",
    [
        ["count by town within 40"],
        ["count by sex within 30", "count by town within 90"],
        ["mean age within 0.5"],
        ["mean age by sex within 4", "count by sex within 60"],
        ["count by town, sex within 70"],
    ],
)
def test_the_share_that_is_named_is_enough_and_so_is_the_policy_with_larger_epsilons(queries):
    plan = planned(queries)
    found = missed_targets(plan)
    assert found
    factor = max(missed.factor for missed in found)
    assert factor > 1
    budget = plan.budget * Fraction(str(factor))
    assert budget <= 1
    assert meets(planned(queries, budget=budget))
    larger = dx.metrics.scaled(POLICY.metric, str(factor))
    assert meets(planned(queries, metric=larger))


def test_a_factor_is_not_much_larger_than_the_error_is_too_large():
    plan = planned(["count by town within 40"])
    (missed,) = missed_targets(plan)
    assert missed.answers == (0, 1, 2, 3)
    assert plan.errors[0].half_width / 40 <= missed.factor <= 1.05 * plan.errors[0].half_width / 40
    assert (missed.records, missed.group) == (None, None)  # a count is as noisy among more records


@pytest.mark.parametrize("query", ["mean age within 0.5", "mean age by sex within 4", "mean age where sex=F within 2"])
def test_so_many_records_are_enough_for_a_mean_and_a_tenth_fewer_are_not(query):
    plan = planned([query])
    (missed,) = missed_targets(plan)
    assert meets(planned([query], n_records=missed.records))
    assert not meets(planned([query], n_records=int(missed.records * 0.9)))
    part = plan.workload.answers[0].recipe.part
    assert missed.group == (
        None if part is None or part == 1 else pytest.approx(float(part) * missed.records, rel=0.02)
    )


def test_what_steps_hide_no_budget_meets():
    plan = planned(["mean income within 2"])  # steps of 10 hide 5
    (missed,) = missed_targets(plan)
    assert (missed.factor, missed.records, missed.group) == (None, None, None)
    lines = " ".join(" ".join(map(plain, plan_lines(plan))).split())
    assert "Binning alone hides 5: the policy needs smaller steps." in lines


def test_a_plan_whose_targets_are_met_says_nothing_about_remedies():
    plan = planned(["count by town within 5000", "count by sex"])
    assert missed_targets(plan) == []
    assert not any("What would meet" in line for line in plan_lines(plan))


def test_the_screen_says_how_far_and_what_would_be_enough():
    lines = " ".join(
        " ".join(map(plain, plan_lines(planned(["count by town within 40", "mean age by sex within 4"])))).split()
    )
    assert "count by town, 4 of 4 answers: ± 92, the target is 40. Enough: --budget 23" in lines
    assert "every ε of the policy × 2.3" in lines
    assert "records (planned for 2,000)" in lines
    assert "wider groups, of " in lines


@pytest.mark.parametrize(
    "queries",
    mostly_slow(
        [["count by sex within 200"], ["count by town within 40"], ["count by sex within 30", "mean age within 0.5"]], 1
    ),
)
def test_the_least_share_meets_all_targets_and_a_little_less_does_not(queries):
    solved = least_budget(lambda budget: planned(queries, budget=budget))
    assert solved.met == solved.targets == len(solved.plan.errors)
    assert solved.plan.budget == solved.amount
    assert meets(solved.plan)
    grid = [Fraction(k, 200) for k in range(1, 201)]
    enough = next(budget for budget in grid if meets(planned(queries, budget=budget)))  # one by one
    assert enough - Fraction(1, 100) <= solved.amount <= enough * Fraction(102, 100)
    assert not meets(planned(queries, budget=solved.too_little))


def test_of_targets_that_cannot_all_be_met_the_others_are():
    queries = ["count by town within 1", "count by sex within 30"]
    solved = least_budget(lambda budget: planned(queries, budget=budget))
    assert (solved.met, solved.targets) == (2, 6)
    assert meets(solved.plan, [4, 5])
    assert solved.amount < Fraction(1, 2)


def test_the_least_factor_of_every_epsilon():
    queries = ["count by town within 1", "count by sex within 30"]
    solved = least_factor(lambda factor: planned(queries, metric=dx.metrics.scaled(POLICY.metric, factor)))
    assert solved.met == solved.targets == 6
    assert meets(planned(queries, metric=dx.metrics.scaled(POLICY.metric, solved.amount)))
    assert not meets(planned(queries, metric=dx.metrics.scaled(POLICY.metric, solved.amount * Fraction(97, 100))))


def test_a_policy_that_meets_all_targets_needs_no_factor():
    solved = least_factor(
        lambda factor: planned(["count by sex within 900"], metric=dx.metrics.scaled(POLICY.metric, factor))
    )
    assert (solved.amount, solved.met, solved.targets) == (1, 2, 2)
    hidden = least_factor(
        lambda factor: planned(["mean income within 2"], metric=dx.metrics.scaled(POLICY.metric, factor))
    )
    assert (hidden.amount, hidden.met, hidden.targets) == (1, 0, 1)


def test_without_a_target_there_is_nothing_to_solve():
    with pytest.raises(dx.errors.QueryError, match="no query has a target"):
        least_budget(lambda budget: planned(["count by sex"], budget=budget))


def test_remedies_of_a_plan_that_counts_other_rows_hold_too():
    queries = ["ranges age/10 within 60"]
    plan = dx.plan(queries, POLICY.metric, budget=Fraction(1, 10), n_records=2_000, method="matrix")
    missed = missed_targets(plan)
    assert missed
    factor = max(m.factor for m in missed)
    again = dx.plan(
        queries, POLICY.metric, budget=min(plan.budget * Fraction(str(factor)), 1), n_records=2_000, method="matrix"
    )
    assert np.all([reaches(e, Fraction(60)) for e in again.errors])
