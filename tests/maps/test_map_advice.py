"""What plans of maps advise: warnings from public numbers, and hints that work when they are followed."""

import re
from importlib.resources import files

import pytest
from scipy.stats import norm

import dxprivacy as dx
from contracts.long_forms import mostly_slow
from dxprivacy.errors import QueryError, TooLarge
from dxprivacy.mechanisms.linear.planning.smoothing_widths import poor_maps
from dxprivacy.output.text.plan_text import plan_lines
from dxprivacy.queries.kinds import maps
from dxprivacy.queries.kinds import maps as map_limits
from dxprivacy.queries.text.query_grammar import parse
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
@pytest.mark.parametrize("query", ["density home width 1 km", "density home width 2 km every 10 km where state=E"])
def test_a_map_that_is_mostly_noise_says_which_width_to_write_and_that_one_is_not(towns, query, records):
    plan = dx.plan(query, towns.metric, n_records=records, budget="20%")
    (poor,) = poor_maps(plan)
    said = screen(plan)
    assert said.startswith("!")
    assert said.index("uninformative map") < said.index("Plan ")
    (write,) = re.findall("write “([^”]*)”", said)
    assert parse(write) == poor.instead
    better = dx.plan(write, towns.metric, n_records=records, budget="20%")
    assert not poor_maps(better)
    assert "uninformative map" not in screen(better)


def test_where_no_width_helps_a_plan_says_so(towns):
    plan = dx.plan("density home width 5 km", towns.metric, n_records=3, budget="0.1%")
    assert "no width helps" in screen(plan)


def test_maps_that_are_good_enough_have_no_warning(towns):
    for records in (1_000, 100_000):
        assert not poor_maps(dx.plan("density home", towns.metric, n_records=records, budget="50%"))
    assert "uninformative map" not in screen(
        dx.plan("density home width 40 km", towns.metric, n_records=50_000, budget="100%")
    )


def test_without_a_number_of_records_a_warning_says_how_to_tell_it(towns):
    said = screen(dx.plan("density home width 1 km", towns.metric, budget="20%"))
    assert "with 1,000 records (--n-records N says how many there are)" in said


def test_plans_say_which_part_of_a_place_counts_across_a_soft_border(tmp_path):
    """One row of places at 0, 10, …, 90 beside a border at 45: what lies beyond it is known from the bell."""
    rows = [f"p{k}{j},{10 * k},{j},{'W' if k < 5 else 'E'}" for k in range(10) for j in (0, 100)]
    policy = policy_of(tmp_path, rows, metric="euclidean", per=1, columns="id,x,y,side")
    plan = dx.plan("count by side blur 8", policy.metric, n_records=100)
    said = screen(plan)
    most = 100 * norm.cdf(-5 / 8)
    stated = float(re.search(r"counts by ([0-9.]+) % outside its own group", said)[1])
    assert stated == pytest.approx(most, abs=0.1)
    assert "of 20 places 4 count by more than 10 % on the other side of a border, 0 by more than half" in said
    only = screen(dx.plan("count where side=W blur 8", policy.metric, n_records=100))
    assert f"{stated:g} %" in only


def test_hard_counts_say_nothing_of_soft_borders(towns):
    assert "blur is bias" not in screen(dx.plan("count by state", towns.metric, n_records=100))


def followed(query, error):
    """A query with what the first hint of an error says in place of what stood there."""
    command, _ = error.hints[0]
    name, _, length = command.partition(" ")
    return re.sub(rf"{name} [0-9.e/+-]+( km)?", "", query).strip() + f" {name} {length}"


@pytest.fixture(scope="module")
def cities(tmp_path_factory):
    """The places of the demo: 906 cities of the United States."""
    folder = tmp_path_factory.mktemp("cities")
    source = files("dxprivacy") / "demo" / "places.csv"
    return policy_of(folder, source.read_text(encoding="utf-8").splitlines()[1:], columns=_header(source))


def _header(source):
    return source.read_text(encoding="utf-8").splitlines()[0]


TOO_LARGE = [
    "density home width 20 km every 26.2 km",
    "density home width 20 km every 0.001 km",
    "density home width 1100 km every 41 km",
    "density home every 3 km",
    "density home width 100000 km",
    "count by state blur 5 km",
    "count by state blur 0.01 km",
    "count by state blur 9000 km",
]


@pytest.mark.parametrize(
    "query", mostly_slow(TOO_LARGE, [x for x in TOO_LARGE if x.endswith(("26.2 km", "0.001 km", "100000 km"))])
)
def test_every_number_that_is_advised_works_when_it_is_followed(cities, query):
    try:
        dx.plan(query, cities.metric, n_records=1000)
    except QueryError as refused:
        error = refused
    else:
        pytest.skip("it fits")
    assert error.where == f"query “{query}”"
    assert dx.plan(followed(query, error), cities.metric, n_records=1000).scales


# Not made small: fewer cells are not refused.
def test_maps_in_many_groups_are_refused_with_cells_that_fit(tmp_path):
    """Cells of all groups together are limited too."""
    text = POLICY.format(metric="euclidean", per=1)
    more = '[attributes.job]\nvalues = ["a", "b", "c"]\nepsilon = 1\n'
    more += "[attributes.age]\nintegers = [0, 9]\nepsilon = 1\nper = 1\n"
    rows = [f"p{k},{k},{k * 7 % 100},A" for k in range(100)]
    policy_of(tmp_path, rows, metric="euclidean", per=1, columns="id,x,y,side")
    (tmp_path / "policy.toml").write_text(text + more)
    policy = dx.Policy.load(tmp_path / "policy.toml")
    query = "density home by job, age width 5 every 1"
    with pytest.raises(TooLarge, match="in each of 30 groups") as caught:
        dx.plan(query, policy.metric, n_records=100)
    assert dx.plan(followed(query, caught.value), policy.metric, n_records=100).scales


def test_parts_that_are_too_many_are_counted(cities, monkeypatch):
    for module in (maps, map_limits):
        monkeypatch.setattr(module, "MOST_ENTRIES", 1_000_000)
    query = "density home width 200 km every 60 km where not state=Alaska|Hawaii"
    with pytest.raises(TooLarge, match=r"places reach [0-9,]+ grid cells each: .* more than 1,000,000") as caught:
        dx.plan(query, cities.metric, n_records=1000)
    assert dx.plan(followed(query, caught.value), cities.metric, n_records=1000).scales


def test_groups_that_are_too_small_for_a_blur_are_told_one_that_works(tmp_path):
    rows = [f"a{k},{100 * k},0,A" for k in range(5)] + ["b,201,0,B", "c,0,300,A", "d,202,0,A"]
    policy = policy_of(tmp_path, rows, metric="euclidean", per=1, columns="id,x,y,side")
    query = "count by side blur 100"
    with pytest.raises(QueryError, match="too small for soft borders") as caught:
        dx.plan(query, policy.metric, n_records=100)
    assert dx.plan(followed(query, caught.value), policy.metric, n_records=100).scales


@pytest.mark.parametrize("rows", [["a,48,11,X"], ["a,48,11,X", "b,48,11,Y"]])
@pytest.mark.parametrize("query", ["density home", "density home width 5 km", "count by state blur 5 km"])
def test_there_is_no_map_of_one_spot_and_its_refusal_has_a_remedy(tmp_path, rows, query):
    policy = policy_of(tmp_path, rows)
    with pytest.raises(QueryError, match="lie at one spot") as caught:
        dx.plan(query, policy.metric, n_records=100)
    assert caught.value.where.startswith(f"query “{query}")
    assert dx.plan(caught.value.hints[0][0], policy.metric, n_records=100).queries


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("density home width 40km", "density home width 40 km"),
        ("density home width 40000 m every 20km", "density home width 40 km every 20 km"),
        ("density home width 25 miles", "density home width 40.2336 km"),
        ("density home width 25mi every 5 mile", "density home width 40.2336 km every 8.04672 km"),
        ("count by state blur 500m where state=E", "count by state where state=E blur 0.5 km"),
        ("density home width 1e1km", "density home width 10 km"),
        ("density home width 10 km every 5", "density home width 10 km every 5 km"),
    ],
)
def test_lengths_have_the_units_that_they_have_in_policies(written, meant):
    assert str(parse(written)) == meant


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        ("density home width 40 kilometers", "width 40 km"),
        ("density home width 40 KM", "width 40 km"),
        ("density home width 40 meters every 1 km", "width 40 m"),
        ("count by state blur 3 feet", "blur 3 km"),
        ("density home width 40000 m every 5", "every 5 km"),
    ],
)
def test_other_units_are_refused_with_what_to_write(written, hint):
    with pytest.raises(QueryError) as caught:
        parse(written)
    assert caught.value.where == f"query “{written}”"
    assert hint in [command for command, _ in caught.value.hints]
    name = hint.partition(" ")[0]
    assert parse(re.sub(rf"{name} [0-9]+( [a-zA-Z]+)?$|{name} [0-9]+ meters", hint, written))


def test_units_behind_numbers_that_are_no_places_are_refused():
    with pytest.raises(QueryError, match="has no places"):
        parse("median income width 5 m")


def test_units_in_files_and_in_python(towns, tmp_path):
    text = '[[query]]\ndensity = "home"\nwidth = "25 miles"\n[[query]]\ncount = true\nby = "state"\nblur = "20000 m"\n'
    (tmp_path / "q.toml").write_text(text)
    asked = dx.load_queries(tmp_path / "q.toml", towns.universe)
    assert [str(q) for q in asked.queries] == ["density home width 40.2336 km", "count by state blur 20 km"]
    assert str(dx.density_of("home", width="40km", every="500 m")) == "density home width 40 km every 0.5 km"
    assert str(dx.table("state", blur="20 km")) == "count by state blur 20 km"
    (tmp_path / "q.toml").write_text(text.replace("miles", "feet"))
    with pytest.raises(QueryError, match=r"q.toml:3 .*“feet” is not a unit"):
        dx.load_queries(tmp_path / "q.toml", towns.universe)
    (tmp_path / "q.toml").write_text(text + 'lengths = "km"\n')
    with pytest.raises(QueryError, match="lengths"):
        dx.load_queries(tmp_path / "q.toml", towns.universe)
