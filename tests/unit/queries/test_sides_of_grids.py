"""Latitude and longitude of a grid are known in steps: queries cut none, and answers hold what the steps hide."""

import json
from fractions import Fraction as F

import numpy as np
import pandas as pd
import pytest

import dxprivacy as dx
from dxprivacy.errors import DxError, QueryError
from dxprivacy.queries.asking import gather
from dxprivacy.verify import verify_data

# 0.17 degrees in 19 steps: no end but those of the box is a decimal number
STOPS = """title = "Stops"
dataset = "stops"
[attributes.place]
coordinates = ["lat", "long"]
grid = "1 km"
box = [44.885, -93.335, 45.055, -93.19]
epsilon = 1.0
per = "2 km"
"""
EDGE = "44.98342105263158"  # the eleventh end, 44.885 + 11 * 0.17 / 19, in the fewest digits that are its float64
PLANE = """title = "Plane"
dataset = "plane"
[attributes.at]
coordinates = ["x", "y"]
grid = 2
box = [0, 0, 20, 10]
epsilon = 1.0
per = 4
[attributes.sex]
values = ["F", "M"]
epsilon = 1.0
"""


def policy(text=STOPS):
    return dx.Policy.parse(text)


def refusal(query, text=STOPS):
    with pytest.raises(QueryError) as caught:
        gather(query).on(policy(text).universe)
    return caught.value


def near(query):
    return [hint[0] if isinstance(hint, tuple) else hint for hint in refusal(query).hints]


def test_a_comparison_inside_a_cell_is_refused_with_both_ends():
    error = refusal("count where place.latitude>=44.98")
    assert error.what == "place.latitude>=44.98 lies inside a step of place.latitude"
    assert "in steps of 0.00895 only" in error.details[0]
    assert near("count where place.latitude>=44.98") == [f"place.latitude>={x}" for x in ("44.97447368421053", EDGE)]


@pytest.mark.parametrize("sign", [">", "<="])
def test_a_step_holds_its_lower_end(sign):
    refusal(f"count where place.latitude{sign}{EDGE}")


@pytest.mark.parametrize(
    "query",
    [
        "count where place.latitude=44.95..45",
        "count by place.latitude/0.5",
        "count by place.latitude[44.9,45]",
        "count where place.longitude<-93.2 blur 0.01",
        "count by place.latitude/0.05 blur 0.01",
        "proportion where place.latitude<45",
        "prefixes place.latitude/0.05",
        "count where not place.latitude=44.95..45",
    ],
)
def test_nothing_cuts_a_cell(query):
    assert near(query)


def test_a_comparison_at_an_end_counts_exactly_the_cells_beyond_it():
    place = policy().universe.attributes[0]
    (row,) = gather(f"count where place.latitude>={EDGE}").on(policy().universe).dense().tolist()
    side = place.entries_read[0]
    beyond = [k // place.cells[1] >= 11 for k in range(place.listed)]
    assert [bool(x) for x in row[: place.listed]] == beyond
    assert float(side.start(11)) == float(EDGE)


def test_groups_of_whole_steps_are_counted():
    bound = gather("count by at.x/4").on(policy(PLANE).universe)
    assert [answer.label for answer in bound.answers] == ["0 to 4", "4 to 8", "8 to 12", "12 to 16", "16 to 20"]
    refusal("count by at.x/5", PLANE)


def test_ranges_say_that_they_are_half_open_but_for_the_box():
    universe = policy().universe
    labels = [
        gather(f"count where place.latitude={low}..{high}").on(universe).answers[0].label
        for low, high in ((EDGE, "45.055"), ("44.885", EDGE))
    ]
    assert labels == [
        f"count where place.latitude {EDGE} to 45.055",
        f"count where place.latitude 44.885 to below {EDGE}",
    ]


def test_sql_between_is_refused_where_it_would_cut_a_step():
    pytest.importorskip("sqlglot")
    from dxprivacy.queries.sql import sql_queries

    universe = policy(PLANE).universe
    with pytest.raises(QueryError, match="lies inside a step"):
        sql_queries("SELECT COUNT(*) FROM t WHERE x BETWEEN 2 AND 4", universe)
    assert sql_queries("SELECT COUNT(*) FROM t WHERE x >= 2 AND x < 4", universe)


def test_the_middles_of_cells_hide_half_a_step_and_what_rounding_adds():
    place = policy().universe.attributes[0]
    for name, side, number in zip(("latitude", "longitude"), place.entries_read, (0, 1), strict=True):
        below, above = place.hides(place.properties[name])
        assert below == above == side.step * F(21, 40)
        numbers = place.properties[name].numbers
        for k in range(place.listed):
            start = side.start(divmod(k, place.cells[1])[number])
            assert numbers[k] - below <= start
            assert start + side.step <= numbers[k] + above


EXACT = STOPS.replace("1 km", "2.2 km", 1).replace("epsilon = 1.0", "epsilon = 1000000")  # hardly any noise
END = "44.97944444444445"  # of the fifth of its nine steps of latitude

ASKED = [
    "mean place.longitude",
    "sd place.longitude",
    "median place.latitude",
    "correlation place.latitude, place.longitude",
    "sum place.latitude",
    f"count where place.latitude>={END}",
    f"count where place.latitude={END}..45.055",
    f"count by place.latitude[44.885,{END}]",
    "count by place.longitude[-93.335,-93.19] blur 0.02 where place.longitude>=-93.335",
    "density place.latitude width 0.02",
    "count by place.latitude",
]


def clumped(seed=5, size=20_000):
    """Records near the lower corner of the cells that they are in: what a cell hides always pulls one way."""
    place, rng = policy(EXACT).universe.attributes[0], np.random.default_rng(seed)
    sides = [
        np.array([float(side.start(int(k))) for k in rng.integers(0, side.listed, size)]) for side in place.entries_read
    ]
    return pd.DataFrame({"lat": sides[0] + 1e-5, "long": sides[1] + 1e-5})


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    data = clumped()
    with dx.Session(
        policy(EXACT), data, ledger=tmp_path_factory.mktemp("stops") / "ledger.db", new_ledger=True
    ) as session:
        plan = session.plan(*ASKED, budget="100%")
        return data, plan, session.release(plan)


def test_intervals_of_coordinates_hold_what_the_cells_hide(released):
    data, _, release = released
    rows = {row["query"]: row for row in release.rows()}
    truth = {
        "mean place.longitude": data.long.mean(),
        "median place.latitude": data.lat.quantile(0.5, interpolation="lower"),
        "sd place.longitude": data.long.std(ddof=0),
        "sum place.latitude": data.lat.sum(),
        f"count where place.latitude>={END}": (data.lat >= float(END)).sum(),
    }
    for query, value in truth.items():
        row = next(r for name, r in rows.items() if name.split(" width")[0] == query)
        assert row["low"] <= value <= row["high"], query
    mean = rows["mean place.longitude"]
    assert mean["value"] - truth["mean place.longitude"] > 0.01  # nearly half a step, far more than noise


def test_notes_say_what_coordinates_count_as_and_the_verifier_agrees(released):
    _, plan, release = released
    notes = json.loads(release.to_json())["notes"]
    assert any(n.startswith("longitude counts as the middle of its step of 0.0242") for n in notes)
    assert any("latitude counts as the middle of its step of 0.0189: what this can hide" in n for n in notes)
    for file in (plan.to_dict(), json.loads(release.to_json())):
        assert list(verify_data(json.loads(json.dumps(file))))


@pytest.mark.parametrize("end", ["44.98", END])
def test_the_verifier_refuses_a_comparison_that_cuts_a_cell(released, end):
    _, plan, _ = released
    file = json.loads(json.dumps(plan.to_dict()))
    asked = next(q for q in file["queries"] if q["ask"] == "count" and "from" in q["where"][0][1])
    asked["where"][0][1] = {"above": str(F(end))}
    with pytest.raises(DxError):
        list(verify_data(file))


NEAREST = """title = "Homes"
dataset = "homes"
[attributes.home]
points = "places.csv"
coordinates = ["lat", "lon"]
reach = "300 km"
epsilon = 1.0
per = "100 km"
"""


def test_notes_say_that_coordinates_are_those_of_the_nearest_place(tmp_path):
    (tmp_path / "places.csv").write_text("id,latitude,longitude\nM,48.137,11.575\nN,49.45,11.08\nB,52.52,13.405\n")
    (tmp_path / "policy.toml").write_text(NEAREST)
    people = pd.DataFrame({"lat": [48.1, 49.5, 52.4] * 50, "lon": [11.5, 11.0, 13.4] * 50})
    with dx.Session(
        dx.Policy.load(tmp_path / "policy.toml"), people, ledger=tmp_path / "l.db", new_ledger=True
    ) as session:
        plan = session.plan("mean home.latitude", "count where home.longitude>=12", "count by home", budget="50%")
        release = session.release(plan)
    said = "is that of the nearest listed place, at most 300 km away: answers and intervals are about it"
    notes = json.loads(release.to_json())["notes"]
    assert [n.split()[0] for n in notes if said in n] == ["latitude", "longitude"]
    assert list(verify_data(json.loads(release.to_json())))
