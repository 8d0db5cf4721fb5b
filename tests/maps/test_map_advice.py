"""What plans of maps advise: warnings from public numbers, and hints that work when they are followed."""

import re

import pytest
from scipy.stats import norm

import dxprivacy as dx
from dxprivacy.mechanisms.laplace.poor_maps import poor_maps
from dxprivacy.questions.grammar import parse
from dxprivacy.screens.plan import plan_lines
from dxprivacy.wording import plain

POLICY = """
title = "Homes"
dataset = "homes"
[attributes.home]
points = "places.csv"
metric = "{metric}"
epsilon = 0.01
per = {per}
"""


def policy_of(folder, rows, *, metric="great-circle", per='"1 km"', columns="id,latitude,longitude,state"):
    """A policy over some places."""
    (folder / "places.csv").write_text(columns + "\n" + "\n".join(rows) + "\n")
    (folder / "policy.toml").write_text(POLICY.format(metric=metric, per=per))
    return dx.Policy.load(folder / "policy.toml")


@pytest.fixture(scope="module")
def towns(tmp_path_factory):
    """A hundred towns, 40 km apart, in two states that meet at 12 degrees east."""
    rows = [f"t{i}-{j},{46 + i * 0.36},{9.5 + j * 0.53},{'W' if j < 5 else 'E'}" for i in range(10) for j in range(10)]
    return policy_of(tmp_path_factory.mktemp("towns"), rows)


def screen(plan):
    return " ".join(plain(line).strip() for line in plan_lines(plan))


@pytest.mark.parametrize("records", [60, 200, 500])
@pytest.mark.parametrize("question", ["density home width 1 km", "density home width 2 km every 10 km where state=E"])
def test_a_map_that_is_mostly_noise_says_which_width_to_write_and_that_one_is_not(towns, question, records):
    plan = dx.plan(question, towns.metric, rows=records, share="20%")
    (poor,) = poor_maps(plan)
    said = screen(plan)
    assert said.startswith("!")
    assert said.index("mostly noise") < said.index("Plan ")
    (write,) = re.findall("write “([^”]*)”", said)
    assert parse(write) == poor.instead
    better = dx.plan(write, towns.metric, rows=records, share="20%")
    assert not poor_maps(better)
    assert "mostly noise" not in screen(better)


def test_where_no_width_helps_a_plan_says_so(towns):
    plan = dx.plan("density home width 5 km", towns.metric, rows=3, share="0.1%")
    assert "no width helps" in screen(plan)


def test_maps_that_are_good_enough_have_no_warning(towns):
    for records in (1_000, 100_000):
        assert not poor_maps(dx.plan("density home", towns.metric, rows=records, share="50%"))
    assert "mostly noise" not in screen(dx.plan("density home width 40 km", towns.metric, rows=50_000, share="100%"))


def test_without_a_number_of_records_a_warning_says_how_to_tell_it(towns):
    said = screen(dx.plan("density home width 1 km", towns.metric, share="20%"))
    assert "with 1,000 records (--rows N says how many there are)" in said


def test_plans_say_which_part_of_a_place_counts_across_a_soft_border(tmp_path):
    """One row of places at 0, 10, …, 90 beside a border at 45: what lies beyond it is known from the bell."""
    rows = [f"p{k}{j},{10 * k},{j},{'W' if k < 5 else 'E'}" for k in range(10) for j in (0, 100)]
    policy = policy_of(tmp_path, rows, metric="euclidean", per=1, columns="id,x,y,side")
    plan = dx.plan("count by side blur 8", policy.metric, rows=100)
    said = screen(plan)
    most = 100 * norm.cdf(-5 / 8)
    stated = float(re.search(r"counts by ([0-9.]+) % outside its own group", said)[1])
    assert stated == pytest.approx(most, abs=0.1)
    assert "of 20 places 4 count by more than 10 % on the other side of a border, 0 by more than half" in said
    only = screen(dx.plan("count where side=W blur 8", policy.metric, rows=100))
    assert f"{stated:g} %" in only


def test_hard_counts_say_nothing_of_soft_borders(towns):
    assert "blur is bias" not in screen(dx.plan("count by state", towns.metric, rows=100))
