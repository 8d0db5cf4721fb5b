"""Pictures of releases: what was published, and nothing else."""

import itertools
import time
from dataclasses import replace
from pathlib import Path

import pytest
from pictured import marks, numbers, texts

import dxprivacy as dx
from dxprivacy.releases.release import Release, Row, from_json

HOUSEHOLD = Path(__file__).parents[4] / "examples" / "household"


def released(*rows, records=100):
    return Release(name="7f3a", answers=rows, guarantee=(), records=records, facts={})


def row(label, value, width=5.0, query="count by sex", unit="", **more):
    return Row(label, query, value, value - width, value + width, unit, width == 0, **more)


def test_a_real_release_shows_its_answers_and_intervals(tmp_path):
    with dx.Session(
        HOUSEHOLD / "policy.toml", HOUSEHOLD / "people.csv", ledger=tmp_path / "ledger.db", new_ledger=True
    ) as session:
        release = session.release(session.plan("count by sex", "mean age by sex", "count by age"))
    picture = dx.plots.release(release)
    assert picture.to_svg().startswith("<svg")
    assert picture.title == "Household survey (simulated): 105 answers, as released"
    drawn = set(numbers(picture))
    assert all({r.value, r.low, r.high} <= drawn for r in release.answers)
    assert dx.plots.release(from_json(release.to_json())) == picture


def test_every_number_drawn_is_of_the_release():
    rows = [row("M", 40.0), row("F", 60.0)]
    drawn = {x for field in ("v", "lo", "hi") for x in numbers(dx.plots.release(released(*rows)), field)}
    assert drawn == {40.0, 35.0, 45.0, 60.0, 55.0, 65.0}


def test_exact_and_vague_answers_are_told_in_words():
    vague = row("M", 50.0, 50.0, vague=True)
    picture = dx.plots.release(released(vague, row("F", -7.0, 0.0), row("D", -3.0, 4.0)))
    assert {"too few to say", "−7 exact", "−3 ± 4"} <= texts(picture)
    assert "Gray: too few" in picture.subtitle


def test_it_says_what_the_intervals_cover():
    picture = dx.plots.release(released(row("M", 40.0)))
    assert "covers privacy noise and binning, not sampling error" in picture.subtitle


def test_an_axis_starts_at_zero_unless_that_would_hide_the_intervals():
    def domain(*rows):
        return next(s["domain"] for s in marks(dx.plots.release(released(*rows)), "scale") if "domain" in s)

    assert domain(row("M", 40.0))[0] == 0
    assert domain(row("M", -40.0))[1] == 0
    assert domain(row("M", 40_000.0))[0] > 39_000
    low, high = domain(row("M", 0.0, 0.0))
    assert low < high


@pytest.mark.parametrize("value", [0.0, -1e15, 1e15, 1e-9, 123456789.123])
@pytest.mark.parametrize("width", [0.0, 1e-12, 1.0, 1e9])
def test_numbers_of_any_size_can_be_drawn(value, width):
    assert dx.plots.release(released(row("x", value, width))).to_svg().startswith("<svg")


def test_the_same_label_in_two_queries_is_not_mixed_up():
    rows = [row("M", 1.0), row("F", 2.0), row("M", 3.0, query="b"), row("F", 4.0, query="b")]
    assert len(dx.plots.release(released(*rows)).to_dict()["vconcat"]) == 2
    once = dx.plots.release(released(row("M", 1.0), row("M", 3.0)))
    assert {"M", "M (2)"} <= texts(once)


def test_how_many_records_there_are_is_not_said_where_it_is_private():
    assert "100 records" in dx.plots.release(released(row("M", 1.0))).subtitle
    assert "record" not in dx.plots.release(released(row("M", 1.0), records=None)).subtitle


def test_thirty_thousand_answers_share_marks():
    rows = [row(f"cell {k}", float(k % 97)) for k in range(30_000)]
    start = time.process_time()
    picture = dx.plots.release(released(*rows))
    assert time.process_time() - start < 4
    assert len(picture.text) < 100_000
    assert "share a mark" in picture.subtitle
    assert min(numbers(picture, "lo")) == -5
    assert max(numbers(picture, "hi")) == 101
    assert picture.to_svg().startswith("<svg")


def test_a_release_without_answers_can_be_drawn():
    assert dx.plots.release(released()).title == "0 answers, as released"


def test_many_queries_are_counted():
    rows = [row(str(k), 1.0, query=f"q{q}") for q in range(20) for k in range(2)]
    assert "8 of 20 panels shown" in dx.plots.release(released(*rows)).subtitle


def grouped(value, query, **groups):
    label = ", ".join(groups.values())
    return Row(label, query, value, value - 5, value + 5, "", False, groups=tuple(groups.items()))


def test_labels_say_what_they_are_and_never_the_same_twice():
    rows = [grouped(float(a), f"mean x by {by}", **{by: str(a)}) for by in ("rating", "faith") for a in range(1, 4)]
    picture = dx.plots.release(released(*rows))
    assert {"rating 1", "rating 3", "faith 1", "faith 3"} <= texts(picture)
    assert not {"1", "mean x, 1"} & texts(picture)


def test_a_two_way_table_is_drawn_as_shaded_cells_that_darken_with_the_numbers():
    rows = [grouped(10.0 * a + b, "count by a, b", a=str(a), b=str(b)) for a in range(4) for b in range(3)]
    picture = dx.plots.release(released(*rows))
    assert "rect" in marks(picture, "type")
    cells = [v for values in marks(picture, "values") for v in values if isinstance(v, dict) and "c" in v]
    assert {(v["b"], v["a"], v["v"], v["lo"], v["hi"]) for v in cells} == {
        (*(text for _, text in r.groups), r.value, r.low, r.high) for r in rows
    }
    light = {shade: sum(int(shade[k : k + 2], 16) for k in (1, 3, 5)) for shade in {v["c"] for v in cells}}
    ordered = [light[v["c"]] for v in sorted(cells, key=lambda v: v["v"])]
    assert ordered == sorted(ordered, reverse=True)
    assert len(light) > 3
    assert "each ± 5, darker for larger" in picture.subtitle
    assert picture.to_svg().startswith("<svg")


def test_a_long_two_way_table_has_a_strip_for_each_group_of_the_shorter_direction():
    rows = [grouped(float(age), "count by age, sex", age=str(age), sex=sex) for age in range(90) for sex in "MF"]
    picture = dx.plots.release(released(*rows))
    assert [view["title"]["text"] for view in picture.to_dict()["vconcat"]] == [
        "count by age, sex: sex M: 90 in order", "count by age, sex: sex F: 90 in order",
    ]  # fmt: skip
    assert {"age 0", "age 6"} <= texts(picture)


def test_a_strip_has_labels_that_can_be_read_under_many_of_its_marks():
    rows = [grouped(float(k % 7), "count by town", town=f"Town of {'north' * (k % 3)} {k:03}") for k in range(300)]
    picture = dx.plots.release(released(*rows))
    (under,) = [v for v in marks(picture, "layer")[0] if v["mark"]["type"] == "text"]
    at = [v["x"] for v in under["data"]["values"]]
    assert len(at) >= 10
    assert min(b - a for a, b in itertools.pairwise(at)) >= 14  # upright, no two touch
    assert under["mark"]["angle"] == -90
    few = dx.plots.release(released(*[grouped(1.0, "count by age", age=str(k)) for k in range(100)]))
    (flat,) = [v for v in marks(few, "layer")[0] if v["mark"]["type"] == "text"]
    assert "angle" not in flat["mark"]


def test_answers_about_places_are_drawn_where_the_places_lie(tmp_path):
    places = "id,name,state,latitude,longitude\n" + "".join(
        f"{k},Town {k},{'AB'[k % 2]}{k % 3},{40 + k},{-70 - 2 * k}\n" for k in range(12)
    )
    (tmp_path / "places.csv").write_text(places)
    policy = dx.Policy.parse(
        'title = "T"\ndataset = "t"\n[attributes.home]\npoints = "places.csv"\nepsilon = 1\nper = "1 km"\n',
        folder=tmp_path,
    )
    (tmp_path / "people.csv").write_text("home\n" + "".join(f"{k % 12}\n" for k in range(600)))
    with dx.Session(policy, tmp_path / "people.csv", ledger=tmp_path / "ledger.db", new_ledger=True) as session:
        release = session.release(session.plan("count by home", "count by home.state", budget="50%"))
    views = dx.plots.release(release).to_dict()["vconcat"]
    maps = [view for view in views if "on the map" in view["title"]["text"]]
    assert len(maps) == 2
    for drawn, query in zip(maps, ("count by home", "count by home.state"), strict=True):
        dots = {v["label"]: v for v in drawn["layer"][0]["data"]["values"]}
        wanted = [r for r in release.answers if r.query == query]
        assert {label: v["v"] for label, v in dots.items()} == {r.groups[0][1]: r.value for r in wanted}
    towns = {v["label"]: v for v in maps[0]["layer"][0]["data"]["values"]}
    assert towns["Town 0"]["y"] < towns["Town 11"]["y"]  # north is up
    assert towns["Town 0"]["x"] > towns["Town 11"]["x"]  # and east to the right
    states = {v["label"]: v for v in maps[1]["layer"][0]["data"]["values"]}
    assert states["A0"]["y"] == pytest.approx(43)  # the middle of the towns 0 and 6
    assert dx.plots.release(release).to_svg().startswith("<svg")


def test_a_release_whose_places_cannot_be_read_is_drawn_without_a_map():
    rows = [grouped(float(k), "count by home", home=f"t{k}") for k in range(5)]
    for broken in ({"attributes": [{"kind": "points", "name": "home"}]}, {"attributes": ["x"]}, "x", None):
        picture = dx.plots.release(replace(released(*rows), facts={"universe": broken}))
        assert "on the map" not in picture.text


def test_an_attribute_that_is_called_as_a_property_of_places_is_not_drawn_on_their_map():
    states = dx.Property(name="state", entries=("A", "B", "C"))
    places = dx.Points(name="home", ids=("1", "2", "3"), coordinates=[[0, 0], [1, 2], [2, 4]], facts=(states,))
    points = places.spec()
    rows = [grouped(float(k), "count by state", state="ABC"[k]) for k in range(3)]
    for more, mapped in (([], True), ([{"kind": "values", "name": "state"}], False)):
        release = replace(released(*rows), facts={"universe": {"attributes": [points, *more]}})
        assert ("on the map" in dx.plots.release(release).text) == mapped


def test_a_density_is_a_line_in_its_band():
    rows = [
        Row(f"{k} to {k + 1}", "density x width 1", k, k - 1, k + 1, "", False, groups=(("x", f"{k} to {k + 1}"),))
        for k in range(12)
    ]
    picture = dx.plots.release(released(*rows))
    kinds = [layer["mark"]["type"] for view in picture.to_dict()["vconcat"] for layer in view.get("layer", ())]
    assert {"area", "line"} <= set(kinds)
    assert "in the band of their 95 % intervals" in picture.subtitle
    assert "Bar" not in picture.subtitle
