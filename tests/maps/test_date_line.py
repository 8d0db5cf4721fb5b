"""Maps of places on both sides of the date line: they are as narrow as anywhere else."""

import json

import numpy as np
import pandas as pd
import pytest
from map_models import random_maps, random_policy
from test_map_costs import check_all_pairs, losses

import dxprivacy as dx
from dxprivacy.errors import DxError, QueryError
from dxprivacy.queries.asking import gather
from dxprivacy.verify import verify_data
from dxprivacy.verify.queries import ask
from dxprivacy.verify.universe import Universe as Read

POLICY = """
title = "Islands"
dataset = "islands"
[attributes.home]
{places}
epsilon = 0.01
per = "1 km"
"""
ISLANDS = [
    ("Suva", -18.14, 178.44, "Fiji"),
    ("Labasa", -16.43, 179.37, "Fiji"),
    ("Taveuni", -16.97, -179.88, "Fiji"),
    ("Apia", -13.83, -171.77, "Samoa"),
    ("Salelologa", -13.73, -172.22, "Samoa"),
    ("Nukualofa", -21.14, -175.2, "Tonga"),
]


def policy_of(folder, *, turn=0.0, name="islands"):
    """The islands, or the same elsewhere on their parallels; longitudes as people write them."""
    rows = [f"{i},{a},{(b + turn + 180) % 360 - 180:.6f},{s}" for i, a, b, s in ISLANDS]
    (folder / f"{name}.csv").write_text("id,latitude,longitude,state\n" + "\n".join(rows) + "\n")
    text = POLICY.format(places=f'points = "{name}.csv"\nmetric = "great-circle"')
    (folder / f"{name}.toml").write_text(text)
    return dx.Policy.load(folder / f"{name}.toml")


@pytest.fixture
def islands(tmp_path):
    return policy_of(tmp_path)


QUERIES = ["density home width 100 km", "count by state blur 60 km", "density home where state=Fiji width 20 km"]


@pytest.mark.parametrize("query", QUERIES)
def test_a_map_across_the_date_line_is_that_of_the_same_places_elsewhere(islands, tmp_path, query):
    here = dx.plan(query, islands.metric, n_records=1000)
    there = dx.plan(query, policy_of(tmp_path, turn=-160, name="turned").metric, n_records=1000)
    assert len(here.scales) == pytest.approx(len(there.scales), rel=0.15)  # edges are multiples of a step
    assert max(here.scales) == pytest.approx(max(there.scales), rel=0.01)
    assert [c.name for c in verify_data(json.loads(json.dumps(here.to_dict())))][-1] == "worst case"


def test_no_pair_across_the_date_line_loses_more_than_is_charged(islands):
    for query in QUERIES:
        plan = dx.plan(query, islands.metric, n_records=100, budget="70%")
        for i, j, allowed, loss in losses(plan):
            assert loss <= allowed * plan.budget
            assert loss <= plan.cost.exact(i, j)


def test_forged_places_across_the_date_line_are_refused(islands):
    plan = dx.plan("density home width 100 km", islands.metric, n_records=1000)
    data = json.loads(json.dumps(plan.to_dict()))
    data["scales"] = [(s / 2).hex() for s in plan.scales]
    with pytest.raises(dx.errors.DxError):
        list(verify_data(data))


def released(policy, folder, *queries):
    data = pd.DataFrame({"home": [name for name, *_ in ISLANDS for _ in range(400)]})
    with dx.Session(policy, data, ledger=folder / "l.db", new_ledger=True) as session:
        return session.release(session.plan(list(queries), budget="90%"))


def test_geojson_cuts_cells_at_the_date_line(islands, tmp_path):
    release = released(islands, tmp_path, "density home width 50 km", "count by state")
    assert [c.name for c in verify_data(json.loads(release.to_json()))][-1] == "guarantee"
    features = json.loads(release.to_geojson())["features"]
    cut = [f for f in features if f["geometry"]["type"] == "MultiPolygon"]
    whole = [f for f in features if f["geometry"]["type"] == "Polygon"]
    assert len(whole) > len(cut) > 5
    rings = [f["geometry"]["coordinates"][0] for f in whole]
    rings += [ring for f in cut for (ring,) in f["geometry"]["coordinates"]]
    for ring in rings:
        x = [point[0] for point in ring]
        assert -180 <= min(x) < max(x) <= 180
        assert max(x) - min(x) < 1  # no cell goes around the Earth
    for feature in cut:
        (east,), (west,) = feature["geometry"]["coordinates"]
        assert max(x for x, _ in east) == 180
        assert min(x for x, _ in west) == -180
    points = {f["properties"]["state"]: f["geometry"]["coordinates"] for f in features if "state" in f["properties"]}
    assert points["Fiji"] == pytest.approx([179.31, -17.18], abs=0.01)  # between its islands
    assert points["Samoa"][0] == pytest.approx(-171.995)


def test_a_picture_of_the_map_reaches_from_its_first_to_its_last_island(islands, tmp_path):
    release = released(islands, tmp_path, "density home width 50 km")
    drawn = json.dumps(dx.plots.release(release).to_dict())
    assert "datum.value - 360" in drawn
    ends = [[float(x) for x in dict(row.groups)["longitude"].split(" to ")] for row in release.answers]
    assert 177 < min(a for a, _ in ends) < 179
    assert 188 < max(b for _, b in ends) < 189


def test_grids_across_the_date_line_have_maps_however_their_longitudes_are_counted():
    plans = []
    for box in ("[-20, 170, -10, 190]", "[-20, -190, -10, -170]", "[-20, 10, -10, 30]"):
        text = POLICY.format(places=f'grid = "100 km"\nbox = {box}\ncoordinates = ["lat", "lon"]')
        plans.append(dx.plan("density home width 200 km every 111.19 km", dx.Policy.parse(text).metric, n_records=100))
        assert [c.name for c in verify_data(json.loads(json.dumps(plans[-1].to_dict())))][-1] == "worst case"
    counts = [len(plan.scales) for plan in plans]
    assert counts[0] == counts[1] == pytest.approx(counts[2], rel=0.12)
    assert plans[0].scales[0] == pytest.approx(plans[2].scales[0], rel=0.02)


AROUND = [("5000 km", "[0, -10, 10, 349]"), ("3000 km", "[0, -360, 10, 0]"), ("2000 km", "[0, -180, 1, 180]")]


@pytest.mark.parametrize(("size", "box"), AROUND)
@pytest.mark.parametrize("query", ["density home width 500 km", "count by home blur 300 km"])
def test_no_map_goes_around_the_earth_more_than_once(size, box, query):
    """Where the places leave their gap elsewhere than the box does, both together were up to 530 degrees wide."""
    text = POLICY.format(places=f'grid = "{size}"\nbox = {box}\ncoordinates = ["lat", "lon"]')
    metric = dx.Policy.parse(text).metric
    with pytest.raises(QueryError, match="show places twice") as caught:
        dx.plan(query, metric, n_records=100)
    assert caught.value.hints[0][0] == "box = […]"
    ends = [json.loads(box)[k] for k in (1, 3)]
    less = text.replace(box, str([0, ends[0] + 10, 10, ends[1] - 10]))
    plan = dx.plan("density home width 500 km", dx.Policy.parse(less).metric, n_records=100)
    edges = [float(x) for a in plan.workload.answers for x in dict(a.groups)["longitude"].split(" to ")]
    assert max(edges) - min(edges) < 350
    data = json.loads(json.dumps(plan.to_dict()))
    assert [c.name for c in verify_data(data)][-1] == "worst case"


@pytest.mark.parametrize(("size", "box"), AROUND)
def test_the_verifier_knows_no_map_that_goes_around_the_earth_more_than_once(size, box):
    text = POLICY.format(places=f'grid = "{size}"\nbox = {box}\ncoordinates = ["lat", "lon"]')
    universe = Read(json.loads(json.dumps(dx.Policy.parse(text).universe.to_dict())))
    asked = json.loads(json.dumps(gather("density home width 500 km").to_dict()))
    with pytest.raises(DxError, match="around the Earth more than once"):
        _ = ask(asked, universe).blocks


def test_random_models_near_the_date_line_have_maps():
    """Of the models that are compared with all pairs some lie across it."""
    import random

    across = 0
    for seed in range(400):
        rng = random.Random(seed)
        metric, length = random_policy(rng)
        random_maps(rng, metric, length)
        space = metric.by_attribute
        home = next(a for a in metric.universe.attributes if a.name == "home")
        x = np.mod(home.coordinates[:, 1] + 180, 360)
        if space is not None and home.coordinates.shape[0] > 2 and x.max() - x.min() > 300 and across < 3:
            across += check_all_pairs(seed) is not None
    assert across == 3
