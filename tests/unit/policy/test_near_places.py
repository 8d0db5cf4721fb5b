"""Places that nearly coincide are named by `dxp check`, with what can be done."""

import pytest

import dxprivacy as dx
from dxprivacy import metrics
from dxprivacy.policy import Policy, check
from dxprivacy.policy.policy_check import nearly_coinciding

POLICY = """
title = "Flights"
dataset = "flights"
[attributes.dest]
points = "places.csv"
epsilon = 1.0
"""
PLACES = """id,name,latitude,longitude
1,Here,40.0,-74.0
2,Next door,40.0009,-74.0
3,There,45.0,-80.0
4,Far,30.0,-90.0
5,Farther,35.0,-110.0
"""


def checked(folder, distance='per = "100 km"', places=PLACES):
    (folder / "places.csv").write_text(places)
    (folder / "policy.toml").write_text(POLICY + distance)
    return check(Policy.load(folder / "policy.toml"))


def test_a_pair_a_hundred_meters_apart_is_named_with_both_remedies(tmp_path):
    page = checked(tmp_path)
    (notice,) = [w for w in page.warnings if w.kind == "near"]
    assert notice.text.startswith("Here – Next door: 0.1 km apart, ε 0.001")
    assert "Merge them" in notice.text
    assert 'metric = "smooth"' in notice.text
    assert "A map (density dest width …) needs no floor" in notice.text
    assert "near" in [w["kind"] for w in page.to_dict()["warnings"]]


def test_what_the_warning_says_of_floors_and_maps_is_so(tmp_path):
    """Today's epsilon for a distance 45 times as long has 45 times the noise; the epsilon of that distance has none."""
    kinds = ['per = "1 km"', 'metric = "smooth"\nthreshold = "45 km"', 'metric = "smooth"\nthreshold = "45 km"']
    noise = []
    for epsilon, how in zip((0.01, 0.01, 0.45), kinds, strict=True):
        text = POLICY.replace("epsilon = 1.0", f"epsilon = {epsilon}\nother = {{ epsilon = 1000 }}") + how
        (tmp_path / "places.csv").write_text(PLACES)
        (tmp_path / "policy.toml").write_text(text)
        noise.append(max(dx.plan("density dest width 50 km", Policy.load(tmp_path / "policy.toml").metric).scales))
    assert noise[1] / noise[0] == pytest.approx(45, rel=0.15)
    assert noise[2] <= noise[0]


def test_a_cap_for_distant_places_does_not_end_the_warning(tmp_path):
    page = checked(tmp_path, 'per = "100 km"\nmax_epsilon = 2\n')
    assert [w.text[:21] for w in page.warnings if w.kind == "near"] == ["Here – Next door: 0.1"]


def test_a_floor_or_merging_them_ends_the_warning(tmp_path):
    assert not [w for w in checked(tmp_path, 'metric = "smooth"\nthreshold = "50 km"\n').warnings if w.kind == "near"]
    merged = "".join(line + "\n" for line in PLACES.splitlines() if "Next door" not in line)
    assert not [w for w in checked(tmp_path, places=merged).warnings if w.kind == "near"]


@pytest.mark.parametrize(
    ("points", "found"),
    [
        ([[0], [1]], []),  # two places have no usual distance
        ([[0], [0], [50], [90]], []),  # the same place twice is told elsewhere
        ([[0], [1], [50], [51], [90], [91]], [(0, 1), (2, 3), (4, 5)]),  # most places stand twice
        ([[0], [10], [20], [30]], []),
    ],
)
def test_nearly_coinciding_is_a_twentieth_of_the_usual_distance(points, found):
    places = metrics.euclidean(points, epsilon_per_unit=1)
    assert [pair for pair, _ in nearly_coinciding(places)] == found
