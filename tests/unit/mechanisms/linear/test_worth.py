"""Uninformative queries come first: from public numbers, for answers, selections and synthetic records."""

from fractions import Fraction

import pytest

import dxprivacy as dx
from dxprivacy import metrics
from dxprivacy.mechanisms.linear.planning.budget_remedies import guesses, no_better
from dxprivacy.mechanisms.linear.planning.planner import make_plan
from dxprivacy.mechanisms.selection.plan import make_selection
from dxprivacy.mechanisms.uninformative import plan_warning, selection_warning
from dxprivacy.metrics import attribute_metrics
from dxprivacy.queries.asking import gather
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.attributes.listed_points import Points
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.universe import Universe

UNIVERSE = Universe(
    [Integers(name="age", low=10, high=30, has_other=False), Values(name="sex", values=("M", "F"), has_other=False)]
)


def policy(age, sex=1):
    return metrics.attributes(UNIVERSE, {"age": {"epsilon": age, "per": 1}, "sex": sex})


@pytest.mark.parametrize(
    ("query", "guess"),
    [("count by sex", 500), ("sum age", 10_000), ("mean age where sex=F", 10), ("count where age=12..15", 500),
     ("count by age/10 where sex=F", 500)],
)  # fmt: skip
def test_a_guess_is_the_middle_of_what_is_possible(query, guess):
    known = guesses(gather(query).on(UNIVERSE), 1000)
    assert known == pytest.approx([guess] * len(known))


def test_a_mean_over_all_records_is_guessed_by_the_middle_of_its_range():
    complete = Universe([Integers(name="age", low=10, high=30, has_other=False, complete=True)])
    assert guesses(gather("mean age").on(complete), 7) == pytest.approx([10])


def test_without_the_number_of_records_nothing_is_said_about_counts():
    plan = make_plan("count by sex", policy(1, "0.000001"))
    assert no_better(plan) == []
    assert no_better(plan, 1000) == [0, 1]
    assert plan_warning(plan, 1000)[1]


def test_a_useless_plan_says_so_in_its_first_line_and_a_useful_one_does_not():
    useless = make_plan("count by sex", policy(1, "0.001"), n_records=1000)
    first = str(useless).splitlines()[0]
    assert first.startswith("! uninformative: count by sex")
    assert str(make_plan("count by sex", policy(1), n_records=1000)).startswith("Plan ")


def test_a_query_that_is_useless_as_a_whole_is_told_from_single_answers():
    mixed = make_plan(["sum age", "count by sex"], policy(1, "0.001"), n_records=1000)
    text, whole = plan_warning(mixed)
    assert whole
    assert "count by sex" in text
    assert "sum age" not in text
    few = metrics.euclidean([[0], [0.001], [100], [200]], epsilon_per_unit=0.1)
    some = dx.plan([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]], few, n_records=100)
    text, whole = plan_warning(some)
    assert text.startswith("uninformative: 2 of 3 answers, such as")
    assert not whole


def airports(gap):
    """Four airports, two of them so many kilometers apart (a degree of longitude there is 111 km)."""
    at = [[0.0, 0.0], [0.0, gap / 111.19], [0.0, 9.0], [8.0, 0.0]]
    attribute = Points(name="dest", ids=("A", "B", "C", "D"), coordinates=at, has_other=False)
    universe = Universe([attribute])
    return attribute_metrics.placed(universe, attribute, "great-circle", Fraction(1, 100), None)


def test_near_coinciding_places_ruin_a_choice_and_the_choice_says_so():
    ruined = make_selection("most common dest", airports(0.1), n_records=3_000)
    assert str(ruined).splitlines()[0].startswith("! uninformative: short of the best by up to ")
    fine = make_selection("most common dest", airports(600), n_records=3_000)
    assert selection_warning(fine) == ""
    assert str(fine).startswith("Selection ")


def test_a_choice_whose_records_nobody_counted_says_nothing():
    assert selection_warning(make_selection("most common dest", airports(0.1))) == ""


def test_the_numbers_in_the_warning_are_those_of_the_query_that_it_names(tmp_path):
    """Some counts by place are useless, the mean is as a whole: it is named, and its own numbers stand behind it."""
    (tmp_path / "places.csv").write_text("id,x,y\nA,0,0\nB,0.001,0\nC,900,0\n")
    (tmp_path / "policy.toml").write_text(
        'title = "t"\ndataset = "t"\n[attributes.place]\npoints = "places.csv"\nepsilon = 1\nper = 1\n'
        "[attributes.height]\nintegers = [0, 5]\nepsilon = 0.00001\nper = 1\n"
    )
    metric = dx.Policy.load(tmp_path / "policy.toml").metric
    plan = dx.plan(["count by place", "mean height"], metric, n_records=1000)
    warning, whole = plan_warning(plan)
    assert whole
    assert "uninformative: mean height (" in warning
    assert warning.endswith("where a constant errs by at most 2.5)")
