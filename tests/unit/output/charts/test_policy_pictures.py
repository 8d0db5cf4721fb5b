"""Pictures of policies: every policy can be drawn, large ones soon, and a cell shows the worst of its pairs."""

import math
import re
import time

import numpy as np
import pytest
from pictured import METRICS, marks, numbers, texts

import dxprivacy as dx
from dxprivacy.errors import UsageError
from dxprivacy.output.charts.guarantees.policy_map import policy_map, reach
from dxprivacy.output.charts.guarantees.policy_picture import attribute_panel, tightened
from dxprivacy.output.charts.map_layout import plane_of, ring_around
from dxprivacy.output.charts.pair_heat import Cell, heat
from dxprivacy.output.charts.shades import EPSILON, USED
from dxprivacy.output.charts.value_groups import ValueGroups, runs
from dxprivacy.universe.attributes.listed_points import Points
from dxprivacy.wording import digits

HEAD = 'title = "T"\ndataset = "d"\n'
STATUS = '[attributes.status]\nvalues = ["a", "b", "c"]\nepsilon = { a = 2, b = 2, c = 0.1 }\n'
AGE = '[attributes.age]\nintegers = [0, 100]\nunit = "years"\nepsilon = 1\nper = 10\n'
VISIT = '[attributes.visit]\ndates = ["2026-01-01", "2026-12-31"]\nepsilon = 0.5\nper = "7 days"\n'
USAGE = '[attributes.usage]\ncolumns = ["jan", "feb"]\nintegers = [0, 9]\nepsilon = 1\nper = 3\n'
INCOME = "[attributes.income]\nnumbers = [0, 200000]\nstep = 1000\nepsilon = 1\nper = 10000\nmax_epsilon = 8\n"
WAVE = '[attributes.wave]\nvalues = ["1", "2"]\nepsilon = inf\n'
SAME = '[attributes.same]\nvalues = ["x", "y"]\nepsilon = 0\n'
ABSENT = 'neighbors = "add-remove"\nepsilon_presence = 1\nmax_records = 100\n'
POLICIES = {
    "values with budgets of their own": HEAD + STATUS,
    "numbers, days and cells": HEAD + AGE + VISIT,
    "capped": HEAD + INCOME,
    "a series": HEAD + USAGE,
    "public and identical": HEAD + WAVE + SAME,
    "records that may be absent": HEAD + ABSENT + STATUS + AGE,
    "the largest counts": HEAD + STATUS + AGE + '[combine]\nhow = "max"\n',
    "one value": HEAD + '[attributes.one]\nvalues = ["only"]\nepsilon = 1\n',
    "one number": HEAD + "[attributes.one]\nintegers = [5, 5]\nepsilon = 1\nper = 1\n",
    "unicode": HEAD + '[attributes."<b>東京"]\nvalues = ["<script>", "القاهرة", "a&b"]\nepsilon = 1\n',
    "many attributes": HEAD + "".join(f'[attributes.a{k}]\nvalues = ["x", "y"]\nepsilon = 1\n' for k in range(14)),
}
PLACES = """id,name,latitude,longitude
1,Aa,47.37,8.54
2,Bb,46.95,7.45
3,Cc,46.2,6.14
4,Dd,47.56,7.59
5,Ee,47.37,8.55
"""


def parsed(text, folder="."):
    return dx.Policy.parse(text, folder=folder)


@pytest.fixture
def places(tmp_path):
    (tmp_path / "p.csv").write_text(PLACES, encoding="utf-8")

    def make(more, points="p.csv"):
        return parsed(f'{HEAD}[attributes.home]\npoints = "{points}"\nepsilon = 1\n{more}', tmp_path)

    return make


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_can_be_drawn(name):
    picture = dx.plots.policy(parsed(POLICIES[name]))
    assert picture.to_svg().startswith("<svg")
    assert picture.title
    assert picture.subtitle.endswith(".")
    assert all(math.isfinite(x) for x in numbers(picture))


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_can_be_drawn(name):
    _, metric = METRICS[name]
    picture = dx.plots.policy(metric)
    assert picture.title
    assert all(math.isfinite(x) for x in numbers(picture))


def cells(picture, name):
    """The values of a table, by their two labels."""
    views = [v for v in marks(picture, "layer") if any("a" in row for row in v[0]["data"]["values"])]
    titles = [t["text"] for t in marks(picture, "title") if isinstance(t, dict) and isinstance(t.get("text"), str)]
    assert any(t.startswith(name) for t in titles)
    return {(r["a"], r["b"]): r for v in views for r in v[0]["data"]["values"] if "o" in r}


def test_a_table_shows_what_the_policy_keeps_and_outlines_what_it_tightened():
    drawn = cells(dx.plots.policy(parsed(HEAD + STATUS)), "status")
    assert {k: r["v"] for k, r in drawn.items()} == {
        **dict.fromkeys((("a", "b"), ("b", "a")), "0.2"),
        **{p: "0.1" for x in "ab" for p in ((x, "c"), ("c", x))},
        **{p: "0.2" for x in "ab" for p in ((x, "other"), ("other", x))},
        **dict.fromkeys((("c", "other"), ("other", "c")), "0.1"),
    }
    assert {k for k, r in drawn.items() if r["o"]} == {("a", "b"), ("b", "a")}
    assert "utlined" in dx.plots.policy(parsed(HEAD + STATUS)).subtitle


def test_public_and_identical_pairs_are_written_out():
    drawn = cells(dx.plots.policy(parsed(HEAD + WAVE + SAME)), "wave")
    assert drawn["1", "2"]["v"] == "∞"
    assert drawn["x", "y"]["v"] == "0"
    assert drawn["1", "2"]["c"] != drawn["x", "y"]["c"]


@pytest.mark.parametrize("seed", range(3))
def test_a_cell_of_many_values_shows_its_worst_pair_diagonal_included(seed):
    table = np.triu(np.random.default_rng(seed).integers(1, 9, (40, 40)), 1)
    metric = dx.metrics.from_matrix((table + table.T).tolist())
    (attribute,) = metric.universe.attributes
    groups = ValueGroups.of(attribute)
    assert groups.coarse
    drawn = cells(dx.plots.policy(metric), attribute.name)
    at = groups.find(np.arange(40))
    for a in range(len(groups.labels)):
        for b in range(len(groups.labels)):
            pairs = [(i, j) for i in range(40) for j in range(40) if i != j and (at[i], at[j]) == (a, b)]
            worst = max(float(metric.exact(i, j)) for i, j in pairs)
            assert drawn[groups.labels[a], groups.labels[b]]["v"] == digits(worst)


def test_an_ordered_attribute_is_drawn_against_the_difference():
    picture = dx.plots.policy(parsed(HEAD + AGE))
    bars = [r for v in marks(picture, "values") for r in v if isinstance(r, dict) and "x2" in r and "e" in r]
    assert len(bars) <= 24
    assert bars[-1]["e"] == pytest.approx(10)
    assert all(r["e"] == pytest.approx((r["x2"] - 0.5) / 10) for r in bars)  # the largest difference of the bar
    assert "“other”: ε 5" in texts(picture)
    assert "neighbors: ε 0.1" in texts(picture)


def test_series_and_days_have_their_own_units():
    titles = {a["title"] for a in marks(dx.plots.policy(parsed(HEAD + USAGE + VISIT)), "axis") if a and a.get("title")}
    assert {"largest difference of two series", "difference of two values, days"} <= titles


def test_a_cap_by_other_or_by_absence_outlines_the_bars_beyond_it():
    picture = dx.plots.policy(parsed(HEAD + ABSENT + AGE))
    assert "utlined" in picture.subtitle
    assert max(numbers(picture, "e")) == pytest.approx(2)
    assert "presence" in picture.text


def test_tightened_pairs_are_those_that_keep_less_than_was_written():
    d = dx.metrics.with_absent(dx.metrics.line(5, 1), 1, max_records=9)
    u, v = np.triu_indices(5, 1)
    assert (tightened(d, u, v) == (v - u > 2)).all()


def test_values_that_are_all_alike_are_one_cell():
    names = ", ".join(f'"v{k}"' for k in range(50))
    drawn = cells(dx.plots.policy(parsed(f"{HEAD}[attributes.state]\nvalues = [{names}]\nepsilon = 0.7\n")), "state")
    assert set(drawn) == {("all 50", "all 50"), ("all 50", "other"), ("other", "all 50")}
    assert {r["v"] for r in drawn.values()} == {"0.7"}


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        (AGE, ("0 – 9", "10 – 19", "20 – 29")),
        (VISIT, ("2026-01", "2026-02", "2026-03")),
        (VISIT.replace("2026-12-31", "2030-12-31"), ("2026", "2027", "2028")),
        (VISIT.replace("2026-12-31", "2028-12-31"), ("2026 Q1", "2026 Q2", "2026 Q3")),
        (INCOME, ("0 – 20k", "20k – 40k", "40k – 60k")),
        (AGE.replace("[0, 100]", "[-7, 93]"), ("-7 – -1", "0 – 9", "10 – 19")),
    ],
)
def test_groups_are_round(text, labels):
    (attribute,) = parsed(HEAD + text).universe.attributes
    groups = ValueGroups.of(attribute)
    assert groups.labels[:3] == labels
    assert groups.labels[-1] == "other"
    assert len(groups.labels) <= 14
    at = groups.find(np.arange(attribute.size))
    assert set(at.tolist()) == set(range(len(groups.labels)))
    assert (np.diff(at) >= 0).all()


def test_a_century_of_days_still_has_few_groups():
    (attribute,) = parsed(HEAD + VISIT.replace("2026-01-01", "1926-01-01")).universe.attributes
    assert len(ValueGroups.of(attribute).labels) <= 14


def test_runs_keep_the_ends_of_equal_classes_and_of_groups():
    (attribute,) = parsed(HEAD + AGE).universe.attributes
    classes = np.array([0] * 64 + [1] * 37)
    kept = runs(classes, ValueGroups.of(attribute))
    assert {0, 9, 10, 63, 64, 100} <= set(kept.tolist())
    assert 65 not in kept


def test_a_map_draws_rings_where_the_policy_reaches_their_epsilon(places):
    policy = places('per = "100 km"\n')
    (home,) = policy.universe.attributes
    picture = dx.plots.policy(policy)
    assert "ring" in picture.text
    assert reach(policy.metric, 0.5) == pytest.approx(50)
    plane = plane_of(home.coordinates, earth=True)
    first, shrink = plane.turn
    ring = ring_around(home.coordinates[0], 50.0, plane, policy.metric.base)
    back = np.array([[b, a / shrink + first] for a, b in ring])
    ends = np.vstack([home.coordinates[:1].repeat(len(back), 0), back])
    lengths = dx.metrics.great_circle(ends, epsilon_per_km=1).lengths(np.arange(73), np.arange(73) + 73)
    assert lengths == pytest.approx(50, rel=1e-3)


@pytest.mark.parametrize(("p", "corner"), [(1, 0.5), (math.inf, 1.0), (2, math.sqrt(0.5))])
def test_rings_have_the_shape_of_their_distance(p, corner):
    metric = dx.metrics.minkowski([[0, 0], [9, 0], [0, 9]], p, epsilon_per_unit=1)
    plane = plane_of(metric.coordinates, earth=False)
    ring = ring_around(metric.coordinates[0], 1.0, plane, metric)
    assert ring[9] == pytest.approx((corner, corner), abs=1e-4)


def test_thresholds_have_rings_too_and_graphs_have_shades(places):
    smooth = places('metric = "smooth"\nthreshold = "50 km"\n')
    assert reach(smooth.metric, 0.9) == 0
    assert reach(smooth.metric, 1.5) == pytest.approx(75)
    blowfish = dx.plots.policy(places('metric = "blowfish"\nthreshold = "100 km"\n'))
    assert "Shades: ε from" in blowfish.subtitle
    assert "ring" not in blowfish.title
    assert spots(blowfish) & spots(dx.plots.policy(smooth))  # both lie on the Earth


def spots(picture):
    """Where places are drawn."""
    return set(re.findall(r'"x": ?([\d.-]+), ?"y": ?([\d.-]+)', picture.text))


def test_the_rings_can_be_drawn_around_a_place(places):
    policy = places('per = "100 km"\n')
    assert "Cc" in texts(dx.plots.policy(policy, around="Cc"))
    assert dx.plots.policy(policy, around="3") == dx.plots.policy(policy, around="Cc")
    with pytest.raises(UsageError, match="no place"):
        dx.plots.policy(policy, around="Atlantis")
    with pytest.raises(UsageError, match="not a float"):
        dx.plots.policy(policy, around=math.nan)


def test_maps_cross_the_date_line_and_leave_out_few_far_places():
    rng = np.random.default_rng(1)
    fiji = np.column_stack([rng.uniform(-19, -16, 200), (rng.uniform(177, 183, 200) + 180) % 360 - 180])
    plane = plane_of(fiji, earth=True)
    assert np.ptp(plane.spots[:, 0]) < 7
    away = np.vstack([fiji, [[60.0, 10.0]]])
    mapped = policy_map(
        Points(name="home", ids=tuple(map(str, range(201))), coordinates=away, has_other=False),
        dx.metrics.great_circle(away, epsilon_per_km="0.01"),
    )
    assert "1 of 201 places lie outside" in mapped.reading


def test_nine_hundred_places_and_a_million_cells_are_drawn_soon():
    rng = np.random.default_rng(2)
    towns = np.column_stack([rng.uniform(30, 48, 906), rng.uniform(-120, -70, 906)])
    million = parsed(HEAD + "".join(AGE.replace("age", f"a{k}").replace("100]", "98]") for k in range(3)))
    long = parsed(HEAD + AGE.replace("100]", "999999]"))
    for policy in (dx.metrics.great_circle(towns, epsilon_per_km="0.01"), million, long):
        start = time.process_time()
        picture = dx.plots.policy(policy)
        assert time.process_time() - start < 2
        assert len(picture.text) < 120_000


@pytest.mark.parametrize("thing", [None, 1, "policy.toml", {"a": 1}])
def test_anything_but_a_policy_is_refused(thing):
    with pytest.raises(UsageError, match="is needed"):
        dx.plots.policy(thing)


def test_whole_records_without_attributes_are_refused_where_they_are_too_many():
    u = parsed(HEAD + AGE + VISIT).universe
    both = dx.metrics.summed(dx.metrics.constant(u, 1), dx.metrics.constant(u, 2))
    with pytest.raises(UsageError, match="too large to draw"):
        dx.plots.policy(both)


@pytest.mark.parametrize("ramp", [EPSILON, USED])
def test_shades_darken_in_one_direction(ramp):
    def light(shade):
        return sum(int(shade[k : k + 2], 16) * w for k, w in ((1, 0.299), (3, 0.587), (5, 0.114)))

    steps = np.diff([light(shade) for shade in ramp.shades])
    assert (steps > 10).all() or (steps < -10).all()
    assert len(ramp.shades) == len(ramp.limits) + 1


def test_shades_name_the_classes_that_occur():
    key = EPSILON.key([0.05, 2.0, math.inf])
    assert {row["t"] for row in marks(_Spec(key), "values")[1]} == {"ε", "≤ 0.1", "1 – 3", "public, no limit"}
    assert EPSILON.key([]) is None


class _Spec:
    def __init__(self, spec):
        self.spec = spec

    def to_dict(self):
        return self.spec


def test_equal_labels_do_not_fold_into_each_other():
    (attribute,) = parsed(
        HEAD + '[attributes.x]\nvalues = ["a very long name, north", "a very long name, south"]\nepsilon = 1\n'
    ).universe.attributes
    assert len(set(ValueGroups.of(attribute).labels)) == 3
    assert heat("x", ("a", "b"), [Cell(0, 1, 0.5, "0.5")], EPSILON).width > 0


def test_an_attribute_with_a_single_value_has_no_pairs_but_a_panel():
    (attribute,) = parsed(POLICIES["one value"]).universe.attributes
    shown = attribute_panel(attribute, parsed(POLICIES["one value"]).metric)
    assert shown.found == (1.0,)
