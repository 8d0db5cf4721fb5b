"""Both readings of standard DP: query by query, by what a query tells apart, and never flattered."""

import json
import math
import random
from fractions import Fraction

import numpy as np
import pytest

import dxprivacy as dx
from contracts.long_forms import slow
from contracts.random_models import random_metric, random_queries
from dxprivacy import metrics
from dxprivacy.errors import DxError, NotCertified
from dxprivacy.mechanisms.linear.planning.planner import make_plan
from dxprivacy.mechanisms.linear.planning.problem import Task
from dxprivacy.mechanisms.linear.planning.standard_quantiles import chosen_quantile
from dxprivacy.metrics import with_absent
from dxprivacy.metrics.with_other import WithAbsent
from dxprivacy.output.charts import save_plan_picture
from dxprivacy.privacy import strictest_pair
from dxprivacy.queries.text.query_grammar import parse
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.universe import Universe
from dxprivacy.verify import verify_data

AGE = Integers(name="age", low=0, high=9, has_other=False)
SEX = Values(name="sex", values=("M", "F"), has_other=False)
SECRET = Values(name="secret", values=("yes", "no"), has_other=False)


def survey(*attributes, **budgets):
    return metrics.attributes(Universe(attributes), budgets)


def of_age(*more, **budgets):
    return survey(AGE, *more, age={"epsilon": 0.5, "per": 1}, **budgets)


@pytest.mark.parametrize("epsilon", [0.5, 0.01, 1e-9])
@pytest.mark.parametrize("query", ["count by age/5", "sum age", "prefixes age", "mean age where age=2..7"])
def test_an_unrelated_attribute_however_strict_changes_no_gain(query, epsilon):
    alone = make_plan(query, of_age(), n_records=1000)
    beside = make_plan(query, of_age(SECRET, secret=epsilon), n_records=1000)
    assert beside.gains == pytest.approx(alone.gains, rel=1e-9)
    assert beside.improvement == pytest.approx(alone.improvement, rel=1e-6)
    assert "over 100,000×" not in str(beside)


def test_the_gain_of_a_loose_query_is_not_inflated_by_a_strict_one():
    metric = of_age(SECRET, secret=0.001)
    alone = make_plan("sum age", metric, n_records=1000)
    beside = make_plan(["sum age", "count by secret"], metric, n_records=1000)
    assert alone.gains[0] > 5  # 9 years apart in one step, a twentieth of what the whole range allows
    assert beside.gains[0] == pytest.approx(alone.gains[0], rel=0.02)
    assert beside.gains[1] == pytest.approx(1, rel=1e-6)


def test_one_row_gains_exactly_what_its_closest_pair_costs_standard_dp():
    # Moving from 0 to 9 changes the sum by 9: under one ε for all it needs 9 / 0.5, under the policy 1 / 0.5.
    plan = make_plan("sum age", of_age(), n_records=1000)
    (query,) = plan.baselines.queries
    assert (query.epsilon, query.gain) == (0.5, pytest.approx(9))
    assert plan.scales == (2.0,)
    assert query.scales == pytest.approx((18.0,))


def test_under_standard_dp_itself_nothing_is_gained():
    for queries in ([[1, 1, 0, 0]], [[1, 0, 0, 0], [0, 1, 0, 0]], [[1, 2, 3, 4], [4, 3, 2, 1], [0, 1, 0, 1]]):
        plan = make_plan(queries, metrics.constant(4, 0.3))
        assert plan.improvement == pytest.approx(np.ones(len(queries)), rel=1e-6)
        assert plan.baselines.worst[0].half_width == pytest.approx(plan.errors[0].half_width, rel=0.05)


def test_what_is_public_is_compared_with_nothing():
    plan = make_plan("count by secret", of_age(SECRET, secret=math.inf), n_records=10)
    assert plan.gains == (math.inf,)
    assert plan.baselines.strict == (None, None)
    assert "standard DP" not in str(plan).replace("standard-DP", "")


def test_the_split_of_the_budget_is_ours_for_standard_dp_too():
    """Twice the same query: both methods have half for each, and the gain is that of one alone."""
    alone = make_plan("sum age", of_age(), n_records=1000)
    twice = make_plan(["sum age", "sum age"], of_age(), n_records=1000, method="optimal")
    assert twice.gains == pytest.approx((9, 9), rel=0.02)
    ours, theirs = twice.errors[0].half_width, twice.baselines.strict[0].half_width
    assert ours == pytest.approx(2 * alone.errors[0].half_width, rel=0.1)
    assert theirs == pytest.approx(2 * alone.baselines.strict[0].half_width, rel=0.1)


def test_a_query_that_reached_its_target_leaves_standard_dp_the_whole_share():
    free = make_plan("sum age", of_age(), n_records=1000, budget="40%")
    easy = make_plan("sum age within 60", of_age(), n_records=1000, budget="40%")
    assert easy.certificate.ratio < free.certificate.ratio
    assert easy.baselines.queries[0].epsilon == pytest.approx(free.baselines.queries[0].epsilon)
    assert easy.gains[0] < free.gains[0]
    reached = make_plan("sum age within 600", of_age(), n_records=1000)
    assert reached.gains == (1.0,)  # good enough is good enough for standard DP too
    assert reached.improvement.tolist() == [1.0]


def test_standard_dp_may_count_other_rows_as_the_planner_does():
    plan = make_plan("ranges age", of_age(), n_records=1000)
    (query,) = plan.baselines.queries
    widest = plan.baselines.strict[0].half_width
    sensitivity = 25  # of the 55 ranges, where 4 becomes 5 or the like: one scale for all rows would need that
    assert query.gain >= 1
    assert widest < 3 * sensitivity / query.epsilon


def test_single_answers_may_be_given_up_for_others_and_the_query_still_gains():
    d = metrics.euclidean([[0, 0], [1, 0], [-1, 0]], epsilon_per_unit=1)
    plan = make_plan([[1, 0, 0], [0, 1, 0], [0, 0, 1]], d, n_records=100, method="optimal")
    assert plan.improvement.min() < 1 < plan.improvement.max()
    assert plan.gains[0] > 1
    assert "came out wider than that: the total error is minimized, not each error" in " ".join(str(plan).split())


@pytest.mark.parametrize(
    ("seeds", "most"), [(range(5), 1), slow(range(25), 12), pytest.param(range(25, 400), 200, marks=pytest.mark.soak)]
)
def test_no_query_of_random_plans_gains_less_than_nothing(seeds, most):
    compared = 0
    for seed in seeds:
        rng = random.Random(f"gains {seed}")
        metric = random_metric(rng, axes=rng.randint(1, 2))
        if rng.random() < 0.2 and metric.universe.absent is None:
            metric = with_absent(metric, Fraction(rng.randint(1, 9), 4), max_records=99)
        try:
            plan = make_plan(random_queries(rng, metric.universe), metric, n_records=50, budget=Fraction(1, 2))
        except DxError:
            continue
        assert len(plan.gains) == len(plan.queries.queries)
        assert min(plan.gains) >= 1
        single = [k for k, a in enumerate(plan.workload.answers) if _rows_of(plan, a.query) == 1]
        assert all(plan.improvement[k] >= 1 - 1e-9 for k in single if plan.measured.as_asked)
        compared += sum(math.isfinite(g) for g in plan.gains)
    assert compared > most


def _rows_of(plan, query):
    return len({r for a in plan.workload.answers if a.query == query for r in a.rows})


def test_the_closest_pair_told_apart_is_that_of_all_pairs():
    looked = 0
    for seed in range(150):
        rng = random.Random(f"told apart {seed}")
        metric = random_metric(rng, axes=rng.randint(1, 3), places=rng.random() < 0.3)
        if rng.random() < 0.25 and metric.universe.absent is None:
            metric = with_absent(metric, Fraction(rng.randint(1, 9), 4), max_records=99)
        try:
            workload = random_queries(rng, metric.universe).on(metric.universe)
        except DxError:
            continue
        found = strictest_pair(workload, metric)
        least = _by_all_pairs(workload, metric)
        assert (None if found is None else pytest.approx(found.distance, rel=1e-9)) == least, seed
        looked += found is not None
    assert looked > 60


def _by_all_pairs(workload, metric):
    """The absent record, if there is one, is a record like any other; it counts nowhere."""
    rows = np.hstack([block.columns(np.arange(metric.universe.cells)).T for block in workload.blocks])
    if isinstance(metric, WithAbsent):
        rows = np.vstack([rows, np.zeros_like(rows[:1])])
    near = [
        float(metric.exact(i, j))
        for i in range(len(rows))
        for j in range(i)
        if (rows[i] != rows[j]).any() and metric.exact(i, j) < math.inf
    ]
    return min(near, default=None)


def test_a_policy_with_one_epsilon_for_all_pairs_and_for_presence_gains_nothing():
    d = with_absent(metrics.constant(3, 1), 1, max_records=1000)
    for rows in ([[1, 0, 0]], [[1, 0, 0], [0, 1, 0], [0, 0, 1]], [[1, 1, 1]]):
        assert dx.plan(rows, d).improvement == pytest.approx(np.ones(len(rows)), rel=1e-6)


def test_the_gain_where_records_may_be_absent_is_that_of_a_hand_computation():
    """One ε = 0.5 for all pairs, absence included, needs scale 20 for a sum of numbers up to 10; ours needs 5."""
    u = dx.Universe([dx.Integers(name="x", low=0, high=10, has_other=False)])
    d = with_absent(metrics.attributes(u, {"x": {"epsilon": 1, "per": 2}}), 2, max_records=1000)
    plan = make_plan("sum x", d)
    assert plan.scales == (5.0,)
    assert plan.gains == pytest.approx((4,), rel=1e-6)


def test_both_readings_stand_in_the_table_and_in_the_file():
    plan = make_plan(["sum age", "count by sex"], of_age(SEX, sex=1), n_records=1000)
    head = next(line for line in str(plan).splitlines() if "± 95 %" in line)
    assert head.index("standard DP*") < head.index("at worst-case ε") < head.index("limited by")
    line = next(line for line in str(plan).splitlines() if line.startswith("  sum age"))
    assert "ε 0.5" in line
    assert "9×" in line
    assert line.count("±") == 2
    data = plan.to_dict()
    assert [g["standard_epsilon"] for g in data["gains"]] == [pytest.approx(0.5), pytest.approx(1)]
    assert data["answers"][0]["standard_at_strictest_95"] == plan.baselines.strict[0].half_width
    assert data["answers"][0]["standard_at_worst_case_95"] == plan.baselines.worst[0].half_width


def test_where_standard_dp_at_our_worst_case_is_closer_the_screen_says_so():
    d = metrics.euclidean([[0], [1], [100], [101]], epsilon_per_unit=0.1)
    plan = dx.plan([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]], d)
    wins = [w.half_width < e.half_width for w, e in zip(plan.baselines.worst, plan.errors, strict=True)]
    assert any(wins)
    assert "which is closer for" in " ".join(str(plan).split())


def test_the_gain_of_a_choice_is_measured_by_what_it_tells_apart_too():
    from dxprivacy.mechanisms.selection.plan import make_selection

    alone = make_selection("median age", of_age())
    beside = make_selection("median age", of_age(SECRET, secret=1e-6))
    assert alone.gain == beside.gain
    assert alone.gain >= 1


def test_a_gain_beyond_all_measure_is_not_shown_but_the_pair_that_makes_it():
    places = metrics.euclidean([[0], [1e-6], [100], [200]], epsilon_per_unit=0.1)
    plan = make_plan(dx.matrix(np.eye(4)[:3]), places, n_records=100, method="optimal")
    assert plan.improvement[2] > 100_000 > plan.improvement[0]
    shown = str(plan)
    assert "100,000×" not in shown
    assert "because of point 0 – point 1, 0.000001" in " ".join(shown.split())
    assert dx.plots.plan_page(plan).count("because of point 0 – point 1") == 1


INCOMES = dx.Universe(
    [dx.Numbers(name="income", low=0, high=500_000, step=1000), dx.Values(name="sex", values=("F", "M"))]
)
BY_TEN_THOUSAND = dx.metrics.attributes(INCOMES, {"income": {"epsilon": 1, "per": 10_000}, "sex": 1})


@pytest.mark.parametrize("epsilon", [0.001, 0.05, 1.0])
@pytest.mark.parametrize("at", ["0.5", "0.9"])
def test_a_quantile_under_standard_dp_errs_as_the_exponential_mechanism_does(epsilon, at):
    """Its distribution over all candidates, worked out one by one for numbers that lie evenly over half of the
    range.
    """
    recipe = parse(f"quantile {at} of income").on(INCOMES).answers[0].recipe
    records, budget = 10_000, float(at)
    places = np.linspace(0, 2 * recipe.reach, 200_001)
    ranks = np.clip((places - recipe.reach / 2) / recipe.reach, 0, 1) * records
    distribution = np.exp(-epsilon / 2 * np.abs(ranks - budget * records))
    distribution /= distribution.sum()
    off = np.abs(places - recipe.reach * (0.5 + budget))
    found = chosen_quantile(recipe, epsilon, records, grouped=False)
    assert found.typical - found.hidden == pytest.approx(float(distribution @ off), rel=0.01, abs=5)
    assert found.rmse - found.hidden == pytest.approx(math.sqrt(float(distribution @ off**2)), rel=0.01, abs=5)
    held = float(distribution[off <= found.noise_half_width].sum())
    assert held == pytest.approx(0.95, abs=0.01) or found.noise_half_width < 10


def test_medians_are_compared_with_a_choice_and_not_with_ramps():
    """Noise on the same ramps would be ± 499,500 under standard DP, where one chosen number is ± 1,600."""
    plan = dx.plan("median income", BY_TEN_THOUSAND, n_records=10_000)
    strict = plan.baselines.strict[0]
    assert strict.half_width < 5_000
    (query,) = plan.baselines.queries
    assert 1 <= query.gain < 5


@pytest.mark.parametrize("asked", ["correlation income, age", "sd income by sex", "median income by sex"])
def test_nobody_errs_more_than_the_middle_of_what_is_possible(asked):
    ages = dx.Integers(name="age", low=0, high=99)
    distances = {"income": {"epsilon": 1, "per": 10_000}, "sex": 1, "age": {"epsilon": 1, "per": 10}}
    plan = dx.plan(asked, dx.metrics.attributes(dx.Universe([*INCOMES.attributes, ages]), distances), n_records=50)
    for answer, error, ours in zip(plan.workload.answers, plan.baselines.strict, plan.errors, strict=True):
        hidden = error.hidden if "median" in asked else 0.0
        most = max(answer.recipe.guess((), 50) + hidden, ours.half_width)
        assert error.half_width <= most * (1 + 1e-12)


@pytest.mark.parametrize("asked", ["median age", "median age by site", "mean age", "sum age", "sd age"])
def test_beside_an_exact_count_nothing_is_compared_at_a_worst_case_without_end(asked, tmp_path):
    """Quantiles of standard DP were divided by nothing there, and other queries said to err without end."""
    sites = Values(name="site", values=("x", "y"), has_other=False)
    plan = dx.plan([asked, "count by site"], of_age(sites, site=math.inf), n_records=100)
    assert plan.worst_epsilon == math.inf
    assert all(error is None for error in plan.baselines.worst)
    assert plan.baselines.strict[0] is not None
    data = json.loads(json.dumps(plan.to_dict()))
    assert data["answers"][0]["standard_at_worst_case_95"] is None
    assert [check.name for check in verify_data(data)][-1] == "worst case"
    assert "no limit" in str(plan)
    assert save_plan_picture(plan, tmp_path / "plan.svg").exists()


def test_standard_dp_is_compared_where_the_error_of_its_best_noise_cannot_be_computed(monkeypatch):
    """A plan of four counts could not be shown: k-norm noise of the comparison was too wide for its distribution."""
    universe = Universe([Integers(name="a", low=0, high=11, has_other=False)])
    plan = dx.plan("ranges a", dx.metrics.attributes(universe, {"a": {"epsilon": 1, "per": 1}}))
    computed, refused = Task.errors, []

    def errors(task, found):
        if not found.measured.as_asked:
            refused.append(found)
            raise NotCertified("noise so wide of counts so unlike: too much to work out its error")
        return computed(task, found)

    monkeypatch.setattr(Task, "errors", errors)
    assert all(0 <= error.half_width < math.inf for error in plan.baselines.strict)
    assert refused
