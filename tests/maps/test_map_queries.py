"""Maps and soft regions as people ask for them: words, refusals, what is counted, and what comes out."""

import json
import math
import sqlite3
from fractions import Fraction as F
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import dxprivacy as dx
from contracts.long_forms import slow
from dxprivacy.errors import DxError, QueryError, TooLarge
from dxprivacy.exact.normal import STEPS
from dxprivacy.queries.kinds.soft_regions import nearest_places, region_map
from dxprivacy.queries.stored_queries import from_dict
from dxprivacy.queries.text.query_grammar import parse
from dxprivacy.releases.answer_tables import tables_of
from dxprivacy.releases.geojson import clear_cells
from dxprivacy.verify import verify, verify_data
from dxprivacy.verify.blurred import of_places
from dxprivacy.verify.certificate import tightest
from dxprivacy.verify.loss import Loss
from dxprivacy.verify.metric import distance
from dxprivacy.verify.queries import ask
from dxprivacy.verify.universe import Universe as Read

POLICY = """
title = "Homes"
dataset = "homes"
[attributes.home]
{places}
epsilon = 0.01
per = {per}
[attributes.sex]
values = ["F", "M"]
epsilon = 1
"""
PLANE = POLICY.format(places='points = "places.csv"\nmetric = "euclidean"', per=1)
EARTH = POLICY.format(places='points = "earth.csv"\nmetric = "great-circle"', per='"1 km"')
GRID = POLICY.format(places='grid = "10 km"\nbox = [47, 10, 48, 12]\ncoordinates = ["lat", "lon"]', per='"1 km"')


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A policy with 1,600 places 10 km apart in a square of 400 km, as in the prototype."""
    out = tmp_path_factory.mktemp("maps")
    steps = np.arange(5, 400, 10)
    rows = [f"p{i}-{j},{x},{y},{'W' if x < 200 else 'E'}" for i, x in enumerate(steps) for j, y in enumerate(steps)]
    (out / "places.csv").write_text("id,x,y,side\n" + "\n".join(rows) + "\n")
    (out / "policy.toml").write_text(PLANE)
    (out / "earth.toml").write_text(EARTH)
    towns = [("A", 48.1, 11.5, "B"), ("C", 48.3, 11.9, "B"), ("D", 48.2, 12.9, "S"), ("E", 47.8, 13.0, "S")]
    lines = [f"{name},{a},{b},{state}" for name, a, b, state in towns]
    (out / "earth.csv").write_text("id,latitude,longitude,state\n" + "\n".join(lines) + "\n")
    return out


@pytest.fixture(scope="module")
def plane(folder):
    return dx.Policy.load(folder / "policy.toml")


@pytest.fixture(scope="module")
def earth(folder):
    return dx.Policy.load(folder / "earth.toml")


@pytest.fixture(scope="module")
def homes():
    """20,000 homes in 12 towns."""
    rng = np.random.default_rng(4)
    towns, size = rng.uniform(40, 360, (12, 2)), rng.dirichlet(np.ones(12) * 0.7)
    spots = np.clip(towns[rng.choice(12, 20_000, p=size)] + rng.normal(0, 9, (20_000, 2)), 0, 399.9)
    cells = (spots // 10).astype(int)
    return cells, pd.DataFrame({"home": [f"p{i}-{j}" for i, j in cells], "sex": rng.choice(["F", "M"], 20_000)})


def histogram(policy, data):
    place = {name: k for k, name in enumerate(policy.universe.attributes[0].ids)}
    counts = np.zeros(policy.universe.size, dtype=np.int64)
    np.add.at(counts, [place[h] * 3 + "FM".index(s) for h, s in zip(data["home"], data["sex"], strict=True)], 1)
    return counts


@pytest.mark.slow  # short form: test_maps_by_groups_and_conditions
def test_the_map_of_the_prototype(plane, homes, tmp_path):
    """Noise of 7.98 a cell at most, and the noisy map looks like the true one (10 km wide, 0.01 for each km)."""
    cells, data = homes
    with dx.Session(plane, data, ledger=tmp_path / "l.db", new_ledger=True) as session:
        plan = session.plan("density home width 10 every 10", budget="100%")
        assert plan.scales[0] / STEPS <= 7.98 * 1.01
        release = session.release(plan)
    truth = np.zeros((40, 40))
    np.add.at(truth, (cells[:, 0], cells[:, 1]), 1)
    drawn = np.array([row.value for row in release.answers]).reshape(40, 40)
    assert np.corrcoef(drawn.ravel(), truth.ravel())[0, 1] >= 0.9
    assert [c.name for c in verify_data(json.loads(release.to_json()))][-1] == "guarantee"


def test_a_cell_counts_what_the_bell_has_there(plane, homes):
    cells, data = homes
    workload = parse("density home width 10 every 10").on(plane.universe)
    counted = workload.answer(histogram(plane, data))
    edges = np.arange(0, 401, 10.0)
    edges[[0, -1]] = -np.inf, np.inf
    spread = np.array([np.diff(norm.cdf(edges, 10 * k + 5, 10)) for k in range(40)])
    held = np.zeros((40, 40))
    np.add.at(held, (cells[:, 0], cells[:, 1]), 1)
    truth = spread.T @ held @ spread
    assert counted.reshape(40, 40) / STEPS == pytest.approx(truth, abs=1e-3)
    assert counted.sum() / STEPS == pytest.approx(20_000, abs=1e-2)


@pytest.mark.parametrize(
    ("text", "again"),
    [
        ("density home width 10 km every 5 km", None),
        (
            "density home every 5 km width 10 km by sex where sex=F",
            "density home by sex where sex=F width 10 km every 5 km",
        ),
        ("density home width 10", None),
        ("count by state blur 20 km", None),
        ("count where state=B blur 2.5 km within 30 weight 2", None),
        ("count by state blur 0 km", "count by state"),
    ],
)
def test_words_files_and_python_say_the_same(text, again):
    asked = parse(text)
    assert str(asked) == (again or text)
    assert parse(str(asked)) == asked == from_dict(json.loads(json.dumps(asked.to_dict())))


def test_python_twins():
    assert str(dx.density_of("home", width=10, every=5)) == "density home width 10 every 5"
    assert str(dx.table("state", blur=20)) == "count by state blur 20"


def test_lengths_are_kilometers_where_the_policy_measures_on_the_earth(earth, plane):
    asked = dx.plan(["density home width 20", "count by state blur 10"], earth.metric, n_records=1000).queries
    assert [str(q) for q in asked.queries] == ["density home width 20 km", "count by state blur 10 km"]
    for query in ("density home width 20 km", "count by side blur 500 m"):
        with pytest.raises(QueryError, match="lies in a plane whose unit of length is not known"):
            dx.plan(query, plane.metric, n_records=1000)


def test_a_width_is_chosen_from_public_numbers(plane, earth):
    plans = [dx.plan("density home", plane.metric, n_records=n) for n in (200, 20_000, 2_000_000)]
    chosen = [plan.queries.queries[0].width for plan in plans]
    assert chosen == sorted(chosen, reverse=True)
    assert F(5) <= chosen[1] <= F(20)
    assert dx.plan("density home", earth.metric, n_records=1000).queries.queries[0].width is not None


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("density home width 0", "must be more than 0"),
        ("density home width -1 km", "must be more than 0"),
        ("density home width 500", "wider than the map"),
        ("density home width 1 every 0.001", "are more than 20,000"),
        ("density home by home", "by groups of itself"),
        ("density home by side", "by groups of itself"),
        ("density home where side=X", "no value"),
        ("density sex width 1", "has no numbers in an order"),
        ("density home width 10 within 5 kg", "no unit"),
        ("count blur 5 km", "km, m and miles are lengths between places"),
        ("count by sex blur 5 km", "km, m and miles are lengths between places"),
        ("count by side blur 500", "wider than the map"),
        ("count by side blur -1", "must not be negative"),
        ("count by sex blur 1", "blur needs groups of ordered numbers"),
    ],
)
def test_what_has_no_meaning_is_refused(plane, query, reason):
    with pytest.raises(DxError, match=reason):
        dx.plan(query, plane.metric, n_records=1000)


def test_a_billion_cells_are_refused_at_once(plane):
    with pytest.raises(TooLarge, match="more than 20,000") as caught:
        dx.plan("density home width 1 every 0.01", plane.metric, n_records=1000)
    assert "every" in str(caught.value)


def test_regions_with_soft_borders(plane):
    """West and east meet at x = 200: who lives near it counts in part on both sides, and everybody once."""
    workload = parse("count by side blur 20").on(plane.universe)
    columns = workload.columns(np.arange(0, plane.universe.size, 3))[:, :1600] / STEPS
    east, west = (columns[[a.label for a in workload.answers].index(side)] for side in "EW")
    x = plane.universe.attributes[0].coordinates[:, 0]
    assert east + west == pytest.approx(np.ones(1600), abs=1e-5)
    assert east == pytest.approx(norm.cdf((x - 200) / 20), abs=1e-3)
    soft = dx.plan("count by side blur 20", plane.metric, n_records=1000)
    hard = dx.plan("count by side", plane.metric, n_records=1000, method="same-scale")
    assert soft.scales[0] / STEPS < 0.2 * hard.scales[0] / float(1 / hard.workload.units[0])


def test_every_cell_belongs_to_the_nearest_place(earth):
    query = parse("count by state blur 10 km")
    drawn = region_map(query.places(earth.universe), F(10), "km")
    units = [float(u) for u in drawn.plane.lengths]
    spots = drawn.plane.coordinates * units
    middles = [[float((a + b) / 2) for a, b in pairwise(e)] for e in drawn.edges]
    found = iter(nearest_places(drawn).tolist())
    for y in middles[0]:
        for x in middles[1]:
            assert next(found) == int(((spots - [y, x]) ** 2).sum(axis=1).argmin())


def test_a_group_too_small_for_its_borders_is_refused(folder):
    (folder / "near.csv").write_text("id,x,y,side\na,0,0,A\nb,100,0,A\nc,0.0001,0,B\nd,100,100,A\ne,0.0002,0,A\n")
    (folder / "near.toml").write_text(PLANE.replace("places.csv", "near.csv"))
    policy = dx.Policy.load(folder / "near.toml")
    with pytest.raises(QueryError, match="too small for soft borders"):
        dx.plan("count by side blur 40", policy.metric, n_records=100)


@pytest.mark.parametrize("width", [40, slow(20)])
def test_maps_by_groups_and_conditions(width, plane, homes, tmp_path):
    _, data = homes
    with dx.Session(plane, data, ledger=tmp_path / "l.db", new_ledger=True) as session:
        release = session.release(
            session.plan(f"density home by sex where side=W width {width} every {width}", budget="50%")
        )
    assert {row.groups[0] for row in release.answers} == {("sex", "F"), ("sex", "M")}
    assert {row.groups[1][0] for row in release.answers} == {"x"}
    low = min(float(row.groups[1][1].split(" to ")[0]) for row in release.answers)
    high = max(float(row.groups[1][1].split(" to ")[1]) for row in release.answers)
    assert (low, high) == (0, 200)  # of the places that fulfil the condition
    assert [c.name for c in verify_data(json.loads(release.to_json()))][-1] == "guarantee"


@pytest.mark.slow  # short form: test_maps_by_groups_and_conditions
def test_errors_and_intervals_hold(plane, homes, tmp_path):
    """Over all cells of a map: noise as stated, and intervals that cover the blurred counts."""
    _, data = homes
    plan = dx.plan("density home width 20 every 20", plane.metric, n_records=20_000)
    truth = plan.workload.answer(histogram(plane, data)) / STEPS
    covered, errors = [], []
    for k in range(6):
        with dx.Session(plane, data, ledger=tmp_path / f"{k}.db", new_ledger=True) as session:
            rows = session.release(session.plan("density home width 20 every 20", budget="100%")).answers
        covered += [row.low <= t <= row.high for row, t in zip(rows, truth, strict=True)]
        errors += [abs(row.value - t) for row, t in zip(rows, truth, strict=True)]
    assert np.mean(covered) >= 0.93
    assert np.mean(errors) == pytest.approx(plan.errors[0].typical, rel=0.1)


def test_people_with_several_rows_have_maps_too(tmp_path):
    once = dx.Policy.parse(GRID)
    often = dx.Policy.parse(GRID + '[people]\nkey = "who"\nmax_rows = 4\n')
    one, many = (dx.plan("density home width 20 km", p.metric, n_records=1000) for p in (once, often))
    assert many.scales[0] == pytest.approx(4 * one.scales[0], rel=0.05)
    assert [c.name for c in verify_data(json.loads(json.dumps(many.to_dict())))][-1] == "worst case"


def test_geojson_and_pictures(earth, tmp_path):
    data = pd.DataFrame({"home": ["A"] * 400 + ["D"] * 300 + ["E"] * 5, "sex": ["F", "M", "F", "F", "M"] * 141})
    with dx.Session(earth, data, ledger=tmp_path / "l.db", new_ledger=True) as session:
        release = session.release(
            session.plan(["density home width 10 km", "count by home", "count by sex"], budget="90%")
        )
    found = json.loads(release.to_geojson())
    shapes = [feature["geometry"]["type"] for feature in found["features"]]
    assert found["type"] == "FeatureCollection"
    assert shapes.count("Point") == 4
    assert shapes.count("Polygon") == len(release.answers) - 6
    cell = next(f for f in found["features"] if f["geometry"]["type"] == "Polygon")
    (ring,) = cell["geometry"]["coordinates"]
    assert ring[0] == ring[-1]
    assert all(11 <= x <= 13.5 and 47 <= y <= 49 for x, y in ring)
    assert release.save(tmp_path / "map.geojson").read_text() == release.to_geojson()
    picture = dx.plots.release(release)
    drawn = json.dumps(picture.to_dict())
    assert "uninformative" in drawn
    assert "records in a grid cell" in drawn
    assert "Map: noisy counts" in picture.subtitle


def test_a_release_without_places_has_no_geojson(plane, homes, tmp_path):
    _, data = homes
    with dx.Session(plane, data, ledger=tmp_path / "l.db", new_ledger=True) as session:
        release = session.release(session.plan(["density home width 40", "count by sex"]))
    with pytest.raises(dx.errors.UsageError, match="lies on the Earth"):  # a plane has no degrees
        release.to_geojson()


def test_a_ledger_with_maps_follows_distances_and_refuses_other_attributes(folder, tmp_path):
    data = pd.DataFrame({"home": ["A", "C", "D", "E"] * 50, "sex": ["F", "M"] * 100})
    first = dx.Policy.load(folder / "earth.toml")
    with dx.Session(first, data, ledger=tmp_path / "l.db", new_ledger=True) as session:
        session.release(session.plan("density home width 20 km", budget="50%"))
    text = (folder / "earth.toml").read_text()
    (folder / "stricter.toml").write_text(text.replace("epsilon = 0.01", "epsilon = 0.008"))
    with dx.Ledger.open(tmp_path / "l.db", first, new_ledger=True) as ledger:
        ledger.adopt(dx.Policy.load(folder / "stricter.toml"))
        assert float(ledger.entries()[0].budget) == pytest.approx(0.5 * 0.01 / 0.008, rel=1e-6)
    other = text.replace("epsilon = 0.01", "epsilon = 0.008").replace('"F", "M"', '"F", "M", "X"')
    (folder / "other.toml").write_text(other)
    with (
        dx.Ledger.open(tmp_path / "l.db", dx.Policy.load(folder / "stricter.toml"), new_ledger=True) as ledger,
        pytest.raises(DxError, match="attributes cannot change"),
    ):
        ledger.adopt(dx.Policy.load(folder / "other.toml"))


def test_nothing_is_told_by_a_map_of_one_cell(earth):
    plan = dx.plan("density home width 20 km every 10000 km", earth.metric, n_records=1000)
    assert math.isclose(plan.worst_epsilon, 0) == (not plan.metric.universe.attributes[0].has_other)


def test_ties_go_to_the_place_that_is_listed_first(folder):
    """On a grid many middles are as near to two or four places: product and verifier must agree."""
    spots = [(20 * i, 20 * j) for i in range(6) for j in range(6)]
    lines = [f"p{k},{x},{y},{'AB'[(k * 7) % 5 > 2]}" for k, (x, y) in enumerate(spots)]
    (folder / "ties.csv").write_text("id,x,y,side\n" + "\n".join(lines) + "\n")
    (folder / "ties.toml").write_text(PLANE.replace("places.csv", "ties.csv"))
    policy = dx.Policy.load(folder / "ties.toml")
    drawn = region_map(parse("count by side blur 32").places(policy.universe), F(32), "")
    places = drawn.plane.coordinates
    middles = [[float((a + b) / 2) for a, b in pairwise(e)] for e in drawn.edges]
    found = iter(nearest_places(drawn).tolist())
    tied = 0
    for x in middles[0]:
        for y in middles[1]:
            squares = ((places - [x, y]) ** 2).sum(axis=1)
            tied += (squares == squares.min()).sum() > 1
            assert next(found) == int(squares.argmin())
    assert tied > 50
    plan = dx.plan("count by side blur 32", policy.metric, n_records=100)
    assert [c.name for c in verify_data(json.loads(json.dumps(plan.to_dict())))][-1] == "worst case"


def test_a_ledger_with_a_map_is_verified(earth, tmp_path):
    data = pd.DataFrame({"home": ["A", "C", "D", "E"] * 50, "sex": ["F", "M"] * 100})
    with dx.Session(earth, data, ledger=tmp_path / "l.db", new_ledger=True) as session:
        release = session.release(session.plan(["density home width 20 km", "count by sex"], budget="50%"))
        session.release(session.plan("count by state blur 10 km", budget="30%"))
    release.save(tmp_path / "r.json")
    names = [c.name for c in verify(tmp_path / "r.json", tmp_path / "l.db")]
    assert "budget" in names
    with sqlite3.connect(tmp_path / "l.db") as book:
        kinds = [
            json.loads(text)["kind"] for (text,) in book.execute("select content from journal where kind = 'reserve'")
        ]
    assert kinds == ["map", "map"]


def as_verified(policy, queries):
    """The blocks and the distance, as the verifier reads them."""
    universe = Read(json.loads(json.dumps(policy.universe.to_dict())))
    blocks = ask(json.loads(json.dumps(queries.to_dict())), universe).blocks
    return universe, blocks, json.loads(json.dumps(policy.metric.spec()))


def test_the_verifier_charges_maps_as_the_planner_does(earth):
    plan = dx.plan(["density home width 20 km", "count by sex"], earth.metric, n_records=1000, budget="60%")
    universe, blocks, spec = as_verified(earth, plan.queries)
    metric = distance(spec, earth.universe.size)
    found = tightest(Loss(universe, blocks, list(plan.scales)), metric)
    assert float(found.low) == pytest.approx(0.6, rel=1e-9)
    assert found.high <= plan.certificate.ratio <= found.high * (1 + found.room)
    halved = [s / 2 if k < len(plan.scales) - 2 else s for k, s in enumerate(plan.scales)]
    assert float(tightest(Loss(universe, blocks, halved), metric).low) == pytest.approx(1.2, rel=1e-9)


def test_forged_maps_are_refused(earth):
    plan = dx.plan("density home width 20 km", earth.metric, n_records=1000)
    data = json.loads(json.dumps(plan.to_dict()))
    data["scales"] = [(s / 2).hex() for s in plan.scales]
    with pytest.raises(DxError):
        list(verify_data(data))
    _, (block,), spec = as_verified(earth, plan.queries)
    assert float(of_places(block, distance(spec, earth.universe.size))) > 0
    far = json.loads(json.dumps(spec).replace((11.5).hex(), (11.0).hex()))  # places lie elsewhere
    assert far != spec
    with pytest.raises(DxError, match="no distances between the places"):
        of_places(block, distance(far, earth.universe.size))


def test_cells_are_said_where_they_are_not_half_a_width(folder):
    (folder / "far.csv").write_text("id,x,y,side\na,0,0,A\nb,1000,1000,A\n")
    (folder / "far.toml").write_text(PLANE.replace("places.csv", "far.csv"))
    policy = dx.Policy.load(folder / "far.toml")
    (asked,) = dx.plan("density home width 2", policy.metric, n_records=100).queries.queries
    assert str(asked) == "density home width 2 every 8"


def test_queries_about_places_in_files(earth, tmp_path):
    """Whether lengths are kilometers only the policy's distances say."""
    text = '[[query]]\ncount = true\nby = ["state"]\nblur = 10\n[[query]]\ndensity = "home"\nwidth = 20\n'
    (tmp_path / "q.toml").write_text(text)
    asked = dx.load_queries(tmp_path / "q.toml", earth.universe)
    plan = dx.plan(asked, earth.metric, n_records=100)
    assert [str(q) for q in plan.queries.queries] == ["count by state blur 10 km", "density home width 20 km"]


def test_no_cell_stands_out_by_chance(plane, tmp_path):
    """Of a map without anybody hardly any cell is drawn or listed."""
    data = pd.DataFrame({"home": ["p0-0"] * 5, "sex": ["F"] * 5})
    with dx.Session(plane, data, ledger=tmp_path / "l.db", new_ledger=True) as session:
        release = session.release(session.plan("density home width 10 every 10", budget="100%"), anyway=True)
    (table,) = tables_of(release.answers)
    assert clear_cells(table) <= 2
    said = str(release)
    assert clear_cells(table) or "no grid cell stands out of the noise of all 1,600" in said
