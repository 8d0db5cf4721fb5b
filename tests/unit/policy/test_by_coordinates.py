"""Raw coordinates in a policy: the nearest of listed places, or cells of a grid, up to a verified release."""

import itertools
import json
import math
from fractions import Fraction as F

import numpy as np
import pandas as pd
import pytest

import dxprivacy as dx
from dxprivacy.cli.inspect_remedies import remedies
from dxprivacy.engines import open_source
from dxprivacy.engines.fields import fields_of, texts_of
from dxprivacy.errors import DxError, PolicyError, QueryError
from dxprivacy.metrics.distances import great_circle
from dxprivacy.output.charts.guarantees.policy_map import can_map, policy_map
from dxprivacy.policy.skeleton import skeleton
from dxprivacy.queries.text.query_grammar import parse
from dxprivacy.releases.geojson import places_of
from dxprivacy.universe.attribute_matching import relate
from dxprivacy.universe.attributes.attribute_kinds import attribute_from_spec
from dxprivacy.universe.attributes.grid import Grid
from dxprivacy.universe.attributes.nearest_place import Nearest
from dxprivacy.verify import verify_data

HEAD = 'title = "Trips"\ndataset = "trips"\n'
PLACES = "id,latitude,longitude,state\nM,48.137,11.575,BY\nN,49.45,11.08,BY\nB,52.52,13.405,BE\nS,48.78,9.18,BW\n"
NEAREST = '[attributes.home]\npoints = "places.csv"\ncoordinates = ["lat", "lon"]\nepsilon = 1.0\nper = "100 km"\n'
GRID = """[attributes.cell]
grid = "50 km"
box = [47, 9, 53, 14]
coordinates = ["lat", "lon"]
epsilon = 1.0
per = "100 km"
"""


def load(tmp_path, text, places=PLACES):
    (tmp_path / "places.csv").write_text(places, encoding="utf-8")
    (tmp_path / "policy.toml").write_text(HEAD + text, encoding="utf-8")
    return dx.Policy.load(tmp_path / "policy.toml")


def refusal(tmp_path, text, **more):
    with pytest.raises(PolicyError) as caught:
        load(tmp_path, text, **more)
    return caught.value


def test_cells_are_no_larger_than_told_and_fill_the_box(tmp_path):
    grid = load(tmp_path, GRID).universe.attributes[0]
    assert isinstance(grid, Grid)
    rows, columns = grid.cells
    low, high, step = (side := grid.entries_read[0]).low, side.high, side.step
    assert (low, high, step * rows) == (47, 53, 6)
    for k in range(rows):
        south = float(low + k * step)
        west_to_east = np.array([[south, 9.0]]), np.array([[south, 9.0 + 5 / columns]])
        assert great_circle(*west_to_east)[0] * 6371.0088 <= 50
    assert float(step) * math.pi / 180 * 6371.0088 <= 50
    assert (rows - 1) * 50 < 6 * 111.2
    assert (columns - 1) * 50 < 5 * 111.2 * math.cos(math.radians(47))


def test_distances_are_those_between_the_middles(tmp_path):
    policy = load(tmp_path, GRID)
    grid, metric = policy.universe.attributes[0], policy.metric
    for i, j in itertools.product(range(0, grid.listed, 17), repeat=2):
        angle = great_circle(grid.coordinates[i : i + 1], grid.coordinates[j : j + 1])[0]
        assert math.isclose(float(metric.exact(i, j)), angle * 6371.0088 / 100, rel_tol=1e-12)
        assert grid.find(grid.label(i)) == i
    for k in range(grid.listed):
        row, column = divmod(k, grid.cells[1])
        for part, side, text in zip((row, column), grid.entries_read, grid.label(k).split(","), strict=True):
            assert abs(F(text.strip()) - (side.start(part) + side.step / 2)) <= side.step / 40


def test_a_grid_in_a_plane_has_plain_numbers():
    policy = dx.Policy.parse(
        HEAD + '[attributes.at]\ngrid = 5\nbox = [0, 0, 20, 11]\ncoordinates = ["x", "y"]\nepsilon = 1\nper = 10\n'
    )
    grid = policy.universe.attributes[0]
    assert (grid.cells, grid.label(0), list(grid.properties)) == ((4, 3), "2.5, 1.8", ["x", "y"])
    assert policy.metric.exact(0, 3) == F(1, 2)


PEOPLE = pd.DataFrame(
    {
        "lat": [48.1, 48.14, 49.5, 52.4, 48.8, None, 100.0, 11.5] * 40,
        "lon": [11.5, 11.6, 11.0, 13.4, 9.2, 11.0, 11.0, 48.1] * 40,
    }
)
ASKED = [
    "count by home",
    "count by state",
    "mean home.latitude",
    "count where home.longitude=9..12",
    "count by cell.latitude[47,50]",
    "count by cell.longitude[9,11.5]",
    "sum cell.longitude",
    "count where cell='48.1, 11.5'",
    "prefixes cell.latitude",
]


def test_a_release_by_coordinates_is_planned_counted_and_verified(tmp_path):
    policy = load(tmp_path, NEAREST.replace("per", 'reach = "200 km"\nper', 1) + GRID)
    with dx.Session(policy, PEOPLE, ledger=tmp_path / "ledger.db", new_ledger=True) as session:
        home = session.source.count(dx.Universe(policy.universe.attributes[:1])).counts.tolist()
        assert home == [80, 40, 40, 40, 120]  # missing, out of range, and swapped: too far from every place
        plan = session.plan(*ASKED, budget="20%")
        release = session.release(plan)
        chosen = session.plan_selection("median cell.latitude", budget="1%")
        assert list(verify_data(json.loads(session.select(chosen, anyway=True).to_json())))
    for file in (plan.to_dict(), json.loads(release.to_json())):
        assert list(verify_data(json.loads(json.dumps(file))))
    cell = policy.universe.attributes[1]
    counted = f"count where cell {cell.label(cell.find('48.1, 11.5'))}"
    assert [row["label"] for row in release.rows() if row["query"] == counted] == [counted]
    assert "M" in [row["label"] for row in release.rows()]


def test_coordinates_of_a_place_are_numbers_unless_the_list_calls_something_else_so(tmp_path):
    home = load(tmp_path, NEAREST).universe.attributes[0]
    assert home.properties["latitude"].numbers == (F("48.137"), F("49.45"), F("52.52"), F("48.78"))
    fact = dx.Property("latitude", ("high", "higher"))
    named = Nearest(name="h", ids=("M", "B"), coordinates=np.eye(2), columns=("a", "b"), earth=True, facts=(fact,))
    assert named.properties["latitude"] is fact


def test_places_by_their_ids_are_what_they_were(tmp_path):
    """The digest of a policy that was written before coordinates could be read."""
    policy = load(tmp_path, '[attributes.home]\npoints = "places.csv"\nepsilon = 1.0\nper = "100 km"\n')
    assert list(policy.universe.attributes[0].properties) == ["state"]
    assert policy.universe.digest == "36fe81f2b6f2d161277c650b24e5b12122ccae5cf42d6ba427f5dd5293fd2010"


def test_grids_and_places_are_drawn(tmp_path):
    policy = load(tmp_path, NEAREST + GRID)
    for attribute, metric in zip(policy.universe.attributes, policy.metric.by_attribute, strict=True):
        assert can_map(attribute, metric)
        assert policy_map(attribute, metric).panel
    with dx.Session(policy, PEOPLE, ledger=tmp_path / "ledger.db", new_ledger=True) as session:
        release = session.release(session.plan("count by cell", "count by home", budget="10%"))
    known = places_of(release.facts)
    assert len(known["cell"]) == policy.universe.attributes[1].listed
    assert known["home"]["M"].tolist() == [48.137, 11.575]
    assert set(known["cell.latitude"]) == set(policy.universe.attributes[1].properties["latitude"].entries)


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        (GRID.replace("50 km", "10 m"), 4, "cell: a grid of "),
        (GRID.replace('"50 km"', "-5"), 4, "grid is -5; it must be positive"),
        (GRID.replace("50 km", "50 miles high"), 4, "grid is '50 miles high'"),
        (GRID.replace("box = [47, 9, 53, 14]\n", ""), 4, "cell: a grid needs a box"),
        (GRID.replace("[47, 9, 53, 14]", "[47.12345678901234, 9, 53, 14]"), 4, "cell: its box cannot be cut into"),
        (GRID.replace("[47, 9, 53, 14]", "[47, 9, 53]"), 5, "cell: a grid needs a box"),
        (GRID.replace("[47, 9, 53, 14]", "[47, 9, 153, 14]"), 5, "latitudes lie between"),
        (GRID.replace("[47, 9, 53, 14]", "[53, 9, 47, 14]"), 5, "the box is empty"),
        (GRID.replace("[47, 9, 53, 14]", "[47, 170, 53, -170]"), 5, "the box is empty"),
        (GRID.replace("[47, 9, 53, 14]", "[0, -300, 1, 300]"), 5, "the box goes more than once around"),
        (GRID.replace("[47, 9, 53, 14]", "[47, 9, 53, nan]"), 5, "a side of the box is NaN"),
        (GRID.replace('["lat", "lon"]', '["lat"]'), 6, "coordinates names two columns"),
        (GRID.replace('["lat", "lon"]', '["lat", "lat"]'), 6, "coordinates names two columns"),
        (GRID.replace('coordinates = ["lat", "lon"]\n', ""), 3, "coordinates names two columns"),
        (GRID + 'column = "lat"\n', 9, "coordinates are in two columns"),
        (GRID + "trim = true\n", 9, "cell: numbers, dates and times have blanks around them already"),
        (GRID + 'reach = "5 km"\n', 9, "unknown key “reach”"),
        (NEAREST + "fold_case = true\n", 8, "fold_case is about the spelling of ids"),
        (NEAREST + "reach = 5\n", 8, "reach is '5'; a distance with its unit is needed"),
        (NEAREST + 'reach = "-5 km"\n', 8, "reach is '-5 km'"),
        (NEAREST.replace('coordinates = ["lat", "lon"]', 'reach = "5 km"'), 5, "reach is for places that are found"),
        (NEAREST.replace('coordinates = ["lat", "lon"]', 'format = "1.234,5"'), 5, "format is for places that are"),
        (NEAREST + 'format = "%d"\n', 4, ""),
    ],
)
def test_bad_coordinates_are_refused_with_line_and_remedy(tmp_path, text, line, what):
    error = refusal(tmp_path, text)
    assert error.what.startswith(what), error.what
    assert (error.where or "").endswith(f"policy.toml:{line}"), error.where
    assert error.hints


def test_a_grid_of_a_billion_cells_is_refused_at_once(tmp_path):
    error = refusal(tmp_path, GRID.replace("50 km", "20 m"))
    assert "cells is more than the 250,000 we can hold" in error.what
    assert any("wider cells" in hint[1] for hint in error.hints)


def test_places_in_three_dimensions_are_not_found_by_two_columns(tmp_path):
    error = refusal(tmp_path, NEAREST.replace('"100 km"', "1"), places="id,x,y,z\na,0,0,0\nb,1,1,1\n")
    assert error.what.startswith("places in 3 dimensions")


def test_queries_that_no_cell_answers_are_refused(tmp_path):
    universe = load(tmp_path, NEAREST + GRID).universe
    for words in ("count where cell='48.1'", "count where cell='99, 11'", "count where cell='a, b'", "count by cell/2",
                  "count where cell=1..2", "count where home='48.1, 11.5'", "mean home"):  # fmt: skip
        with pytest.raises(QueryError):
            parse(words).on(universe)


def test_past_costs_follow_the_same_places_only(tmp_path):
    home, cell = load(tmp_path, NEAREST + GRID).universe.attributes
    for attribute in (home, cell):
        related = relate(attribute, attribute_from_spec(json.loads(json.dumps(attribute.spec()))))
        assert related.old.tolist() == related.new.tolist() == list(range(attribute.size))
    moved = load(tmp_path, NEAREST + GRID, places=PLACES.replace("48.137", "48.138")).universe.attributes[0]
    finer = load(tmp_path, NEAREST + GRID.replace("50 km", "40 km")).universe.attributes[1]
    for old, new in ((home, moved), (cell, finer), (home, cell)):
        with pytest.raises(PolicyError):
            relate(old, new)


@pytest.mark.parametrize("which", [0, 1])
def test_damaged_descriptions_are_refused_by_reader_and_verifier(tmp_path, which):
    policy = load(tmp_path, NEAREST + GRID)
    good = policy.universe.attributes[which].spec()
    with dx.Session(policy, PEOPLE, ledger=tmp_path / "ledger.db", new_ledger=True) as session:
        plan = json.loads(json.dumps(session.plan("count").to_dict()))
    bad = {
        0: [{"columns": ["a"]}, {"columns": ["a", "a"]}, {"earth": 1}, {"reach": "0"}, {"reach": 5}, {"trim": True}],
        1: [{"columns": ["a"]}, {"earth": None}, {"box": ["1", "2", "3"]}, {"box": ["53", "9", "47", "14"]},
            {"cells": [0, 5]}, {"cells": [1000, 1000]}, {"cells": [3]}, {"box": ["47", "9", "99", "14"]},
            {"box": ["47", "9", "47" + "1" * 300 + "/1" + "0" * 300, "14"]}],
    }  # fmt: skip
    for change in (*bad[which], *({key: None} for key in good if key in ("columns", "box", "cells", "ids"))):
        with pytest.raises(PolicyError):
            attribute_from_spec(good | change)
        damaged = json.loads(json.dumps(plan))
        damaged["universe"]["attributes"][which] |= change
        with pytest.raises(DxError):
            list(verify_data(damaged))


def test_records_are_written_that_are_read_as_the_cells_they_came_from(tmp_path):
    universe = load(tmp_path, NEAREST).universe
    cells = np.arange(universe.size)
    columns = {field.name: texts_of(field.entry, field.places(cells).tolist()) for field in fields_of(universe)}
    frame = pd.DataFrame(columns, dtype=object)
    assert open_source(frame).count(universe).counts.tolist() == [1] * universe.size
    universe = load(tmp_path, GRID).universe
    cells = np.arange(universe.size)
    columns = {field.name: texts_of(field.entry, field.places(cells).tolist()) for field in fields_of(universe)}
    assert open_source(pd.DataFrame(columns, dtype=object)).count(universe).counts.tolist() == [1] * universe.size


def test_init_offers_a_place_where_columns_are_called_latitude_and_longitude():
    text = skeleton("T", "t", [("Lat", "number", ""), ("lng", "number", ""), ("age", "whole", "")])
    assert '# coordinates = ["Lat", "lng"]' in text
    assert "coordinates" not in skeleton("T", "t", [("lat", "number", ""), ("age", "whole", "")])
    assert "coordinates" not in skeleton("T", "t", [("lat", "text", ""), ("lon", "text", "")])


def test_inspect_notices_swapped_columns_and_decimal_commas(tmp_path):
    attributes = load(tmp_path, NEAREST.replace("per", 'reach = "200 km"\nper', 1) + GRID).universe.attributes
    swapped = pd.DataFrame({"lat": [11.5, 11.6, 48.1], "lon": [48.1, 48.2, 11.5]})
    commas = pd.DataFrame({"lat": ["48,1", "48.1", None], "lon": ["11,5", "11.5", "x"]}, dtype=object)
    for attribute in attributes:
        for frame, want in ((swapped, ('coordinates = ["lon", "lat"]', 2)), (commas, ('format = "1.234,5"', 1))):
            (others,) = open_source(frame).others(dx.Universe([attribute]), 9)
            assert [(found.line, found.rows) for found in remedies(attribute, others)] == [want]
        (others,) = open_source(pd.DataFrame({"lat": [99.0], "lon": [999.0]})).others(dx.Universe([attribute]), 9)
        assert remedies(attribute, others) == []


def test_nearest_is_a_kind_of_its_own(tmp_path):
    assert isinstance(load(tmp_path, NEAREST).universe.attributes[0], Nearest)
