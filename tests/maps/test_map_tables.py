"""Cells of maps and densities for those who calculate on, and in pictures."""

import csv
import io
import json

import numpy as np
import pandas as pd
import pytest
from test_date_line import ISLANDS, policy_of, released

import dxprivacy as dx
from dxprivacy.output.charts.released.answer_map import GridCells, density_view
from dxprivacy.releases.release import Row

LINE = """
title = "t"
dataset = "d"
[attributes.age]
integers = [0, 99]
epsilon = 0.1
per = 1
[attributes.south]
values = ["yes", "no"]
epsilon = 1
[attributes.home]
grid = 10
box = [0, 0, 100, 50]
coordinates = ["x", "y"]
metric = "euclidean"
epsilon = 0.1
per = 1
"""


def lined(folder, *queries):
    data = pd.DataFrame({"age": [20, 30] * 50, "south": ["yes", "no"] * 50, "x": [5, 50] * 50, "y": [5, 45] * 50})
    with dx.Session(dx.Policy.parse(LINE), data, ledger=folder / "l.db", new_ledger=True) as session:
        return session.release(session.plan(list(queries), budget="90%"), anyway=True)


def test_cells_on_the_earth_have_their_edges_as_numbers(tmp_path):
    release = released(policy_of(tmp_path), tmp_path, "density home width 50 km", "count by state")
    frame = release.to_pandas()
    cells, others = frame[frame["latitude"] != ""], frame[frame["latitude"] == ""]
    for low, high, label in (("south", "north", "latitude"), ("west", "east", "longitude")):
        assert frame[low].dtype == frame[high].dtype == np.float64
        assert (cells[low] < cells[high]).all()
        assert [f"{a:g} to {b:g}" for a, b in zip(cells[low], cells[high], strict=True)] == cells[label].tolist()
        assert others[low].isna().all()
    assert list(frame.columns).index("east") < list(frame.columns).index("value")
    inside = [
        (cells.south <= a) & (a <= cells.north) & (cells.west <= b % 360) & (b % 360 <= cells.east)
        for _, a, b, _ in ISLANDS
    ]
    assert all(here.any() for here in inside)


def test_cells_of_planes_and_lines_have_their_edges_too(tmp_path):
    release = lined(tmp_path, "density home by south width 20", "density age width 5", "density age width 5 every 10")
    rows = list(csv.DictReader(io.StringIO(release.to_csv())))
    on_map = [row for row in rows if row["x"]]
    assert {(float(r["x from"]), float(r["x to"])) for r in on_map} == {(10.0 * k, 10.0 * k + 10) for k in range(10)}
    assert {(float(r["y from"]), float(r["y to"])) for r in on_map} == {(10.0 * k, 10.0 * k + 10) for k in range(5)}
    assert {r["south"] for r in on_map} == {"yes", "no"}
    fine = [r for r in rows if r["query"] == "density age width 5"]
    assert (fine[1]["age from"], fine[1]["age to"], fine[1]["x from"]) == ("2.5", "5.0", "")
    whole = [r for r in rows if r["query"] == "density age width 5 every 10"]
    assert [(r["age"], r["age from"], r["age to"]) for r in whole[:2]] == [
        ("0–9", "0.0", "9.0"),
        ("10–19", "10.0", "19.0"),
    ]


def test_counts_as_they_are_have_no_further_columns(tmp_path):
    release = lined(tmp_path, "count by age/10", "count by south")
    head = release.to_csv().splitlines()[0]
    assert head == "query,age,south,value,low,high,unit,note,label"


def cells_with(spots, *, high=400.0):
    """Full cells of 10 by 10 around some spots, over a large map."""
    ends = [(0.0, 10.0, 0.0, 10.0), (390.0, 400.0, 390.0, 400.0)]
    ends += [(x - 5, x + 5, y - 5, y + 5) for x, y in spots]
    rows = [
        Row(f"c{k}", "q", high * (k + 1), high * (k + 1) - 1, high * (k + 1) + 1, "", False) for k in range(len(ends))
    ]
    return GridCells("", False, np.array(ends), tuple(rows))


def test_names_lie_within_a_picture():
    spots = {"Llanfairpwllgwyngyll": (4.0, 200.0), "Constantinople": (396.0, 100.0), "Top": (200.0, 399.0)}
    view = json.loads(
        json.dumps(density_view(cells_with(spots.values()), "m", {n: np.array(s) for n, s in spots.items()}))
    )
    drawn = view["vconcat"][0]
    size = drawn["width"], drawn["height"]
    texts = [v for layer in drawn["layer"] if layer["mark"]["type"] == "text" for v in layer["data"]["values"]]
    assert {v["t"] for v in texts} == set(spots)
    for v in texts:
        x, y, half = v["x"] / 400 * size[0], v["y"] / 400 * size[1], 3 * len(v["t"])
        assert half <= x <= size[0] - half
        assert 0 <= y <= size[1] - 15


def test_keys_have_words_and_no_dashes_that_read_as_minus():
    view = json.dumps(density_view(cells_with([(200.0, 200.0), (100.0, 300.0)]), "m", {}), ensure_ascii=False)
    assert "up to 500" in view
    assert '"to 1,000"' in view
    assert '"– ' not in view


@pytest.mark.parametrize("name", ["from", "to"])
def test_an_attribute_that_is_called_as_a_column_of_edges_keeps_its_own(tmp_path, name):
    text = LINE.replace("[attributes.south]", f'[attributes."age {name}"]')
    data = pd.DataFrame({"age": [20, 30], f"age {name}": ["yes", "no"], "x": [5, 50], "y": [5, 45]})
    with dx.Session(dx.Policy.parse(text), data, ledger=tmp_path / "l.db", new_ledger=True) as session:
        frame = session.release(
            session.plan([f"density age by 'age {name}' width 5"], budget="90%"), anyway=True
        ).to_pandas()
    assert set(frame[f"age {name}"]) == {"yes", "no"}
    assert frame[f"by age {name}"].dtype == np.float64
