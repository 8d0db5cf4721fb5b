"""Labels, messages and release rows say what was counted: bins, limits of the policy, bias, missed targets."""

import csv
import io
import json

import pytest

import dxprivacy as dx
from contracts.methods import standard_plan
from dxprivacy import metrics
from dxprivacy.errors import NotVerified, QueryError
from dxprivacy.mechanisms.linear.planning.limiting_pairs import limits
from dxprivacy.mechanisms.uninformative import plan_warning
from dxprivacy.output.text.plan_text import pair_words
from dxprivacy.releases.release import from_json
from dxprivacy.universe.attributes.integers import Integers
from dxprivacy.universe.attributes.listed_values import Values
from dxprivacy.universe.universe import Universe
from dxprivacy.verify import verify_data
from dxprivacy.wording import digits
from verify.edits import resealed

POLICY = """
title = "Affairs"
dataset = "affairs"
[attributes.children]
integers = [0, 8]
epsilon = 0.5
per = 1
[attributes.affairs]
numbers = [0, 12]
step = 0.5
epsilon = 1
per = 1
[attributes.visit]
dates = ["2026-01-01", "2026-06-30"]
epsilon = 1
per = "10 days"
[attributes.sex]
values = ["M", "F"]
epsilon = 1
"""
ROWS = "children,affairs,visit,sex\n" + "".join(
    f"{k % 10},{k % 7 / 2},2026-0{k % 6 + 1}-15,{'F' if k % 50 == 0 else 'M'}\n" for k in range(400)
)
PLACES = "id,name,state,latitude,longitude\n" + "".join(
    f"{k},P{k},{'East' if k < 5 else 'West'},40.{k},-74.{k}\n" for k in range(9)
)
REGIONS = '[attributes.home]\npoints = "places.csv"\nepsilon = 1\nper = "10 km"\n'


@pytest.fixture(scope="module")
def policy():
    return dx.Policy.parse(POLICY)


def planned(policy, *queries, **options):
    return standard_plan(list(queries), policy.metric, n_records=400, **options)


def release_of(tmp_path, text, rows, *queries):
    (tmp_path / "places.csv").write_text(PLACES)
    (tmp_path / "policy.toml").write_text(text)
    (tmp_path / "data.csv").write_text(rows)
    files = (tmp_path / "policy.toml", tmp_path / "data.csv")
    with dx.Session(*files, ledger=tmp_path / "ledger.db", new_ledger=True) as session:
        return session.release(session.plan(*queries, budget="100%"), anyway=True)


def table(release):
    return list(csv.DictReader(io.StringIO(release.to_csv())))


def refuses(data):
    with pytest.raises(NotVerified):
        list(verify_data(resealed(data)))
    return True


@pytest.mark.parametrize(
    ("condition", "instead"),
    [
        ("children=1..20", "children=1..8"),
        ("children=-2..3", "children=0..3"),
        ("children<20", "children<=8"),
        ("children<=9", "children<=8"),
        ("children>=-1", "children>=0"),
        ("not children=1..20", "children=1..8"),
        ("children=0 or children>-5", "children>=0"),
        ("affairs<20", "affairs<=12"),
        ("visit=2026-05-01..2026-12-31", "visit=2026-05-01..2026-06-30"),
        ("visit<2027-01-01", "visit<=2026-06-30"),
    ],
)
def test_a_condition_beyond_the_range_of_the_policy_is_refused(policy, condition, instead):
    with pytest.raises(QueryError, match="reaches beyond the policy's range") as refused:
        dx.plan(f"count where {condition}", policy.metric)
    assert instead in [hint[0] for hint in refused.value.hints]


@pytest.mark.parametrize("condition", ["children<9", "children>-1", "children=0..8", "visit<2026-07-01"])
def test_a_condition_up_to_the_range_of_the_policy_is_accepted(policy, condition):
    assert dx.plan(f"count where {condition}", policy.metric).workload.rows == 1


def test_a_range_beyond_the_policy_is_accepted_where_every_entry_is_valid():
    complete = dx.Policy.parse(POLICY.replace("integers = [0, 8]", "integers = [0, 8]\ncomplete = true"))
    assert dx.plan("count where children=1..20", complete.metric).workload.answers[0].label.endswith("children=1..20")


@pytest.mark.parametrize(
    ("query", "counted"),
    [
        ("count where affairs=0", "count where affairs 0 to below 0.5"),
        ("count by sex where affairs=0", "count by sex where affairs 0 to below 0.5"),
        ("count where children>3", "count where children>3 (up to 8)"),
        ("count where children<3 or children>6", "count where children <3 (from 0) or >6 (up to 8)"),
        ("count where visit>=2026-03-01", "count where visit>=2026-03-01 (up to 2026-06-30)"),
        ("proportion where sex=F among affairs=0", "proportion where sex=F among affairs 0 to below 0.5"),
        ("mean children where affairs=0..2 within 3", "mean children where affairs 0 to below 2 within 3"),
    ],
)
def test_the_column_of_the_query_says_what_was_counted(tmp_path, query, counted):
    release = release_of(tmp_path, POLICY, ROWS, query)
    assert {row["query"] for row in table(release)} == {counted}
    assert list(verify_data(json.loads(release.to_json())))


@pytest.mark.parametrize(
    "attribute",
    [Integers(name="x", low=0, high=8, has_other=False), Values(name="x", values=("0", "1"), has_other=False)],
)
@pytest.mark.parametrize("more", [[], [Values(name="sex", values=("M", "F"), has_other=False)]])
def test_a_pair_of_numbers_names_its_attribute(attribute, more):
    budgets = {"x": {"epsilon": 1, "per": 1} if attribute.span else 1} | dict.fromkeys([a.name for a in more], 9)
    metric = metrics.attributes(Universe([attribute, *more]), budgets)
    plan = standard_plan("count where x=0", metric, n_records=100)
    assert pair_words(plan.metric, limits(plan)[0].pair) == "x 0 – x 1"


def test_a_warning_shows_the_figures_of_each_query_beside_it(policy):
    plan = planned(policy, "count by sex", "mean affairs", "sum children", budget="0.1%")
    text, whole = plan_warning(plan)
    first, second, more = text.removeprefix("uninformative: ").split("; ")
    assert whole
    assert more == "1 more"
    by_title = {title: [k for k, a in enumerate(plan.workload.answers) if a.query == q]
                for q, title in enumerate(plan.workload.titles)}  # fmt: skip
    for told in (first, second):
        title = told.partition(" (")[0]
        widest = max(plan.errors[k].half_width for k in by_title[title])
        assert f"(± {digits(widest)} " in told


def test_a_warning_for_another_number_of_records_has_its_errors(policy):
    plan = planned(policy, "mean affairs by sex")
    errors = plan_warning(plan, 2)[0].partition("± ")[2].partition(" ")[0]
    assert errors != digits(plan.errors[0].half_width)


def test_a_blurred_count_states_its_bias_in_its_row(tmp_path):
    release = release_of(tmp_path, POLICY, ROWS, "count by children/3 blur 1", "count by sex")
    notes = [row["note"] for row in table(release)]
    # the value next to a border lies half a step from it: 1/2 - 1/7 of a record is on the other side
    assert notes[0] == "blurred: up to 35.7 % of a record counts across a border, which the interval leaves out"
    assert notes[3:] == ["", ""]
    data = json.loads(release.to_json())
    assert list(verify_data(data))
    assert from_json(release.to_json()).answers == release.answers
    del data["answers"][0]["blur_bias"]
    assert refuses(data)
    data["answers"][0]["blur_bias"] = 0.25
    assert refuses(data)


def test_a_blurred_count_of_regions_states_its_bias_in_its_row(tmp_path):
    text = f'title = "T"\ndataset = "t"\n{REGIONS}'
    rows = "home\n" + "".join(f"{k % 9}\n" for k in range(200))
    release = release_of(tmp_path, text, rows, "count by state blur 10 km")
    assert all("of a record counts across a border" in row["note"] for row in table(release))
    data = json.loads(release.to_json())
    assert list(verify_data(data))
    data["answers"][1]["blur_bias"] /= 2
    assert refuses(data)


def test_a_release_marks_the_targets_it_missed(tmp_path):
    query = "mean children by sex within 1.5"
    release = release_of(tmp_path, POLICY, ROWS, query)  # errors are for groups of 200; there are 8 women
    plan = planned(dx.Policy.parse(POLICY), query, budget="100%")
    assert all(error.half_width <= 1.5 for error in plan.errors)
    notes = {row["sex"]: row["note"] for row in table(release)}
    assert notes["M"] == ""
    assert notes["F"].endswith("target missed")
    data = json.loads(release.to_json())
    assert list(verify_data(data))
    assert from_json(release.to_json()).answers == release.answers
    assert "target missed" in str(release)
    (woman,) = [a for a in data["answers"] if a["groups"] == {"sex": "F"}]
    del woman["missed"]
    assert refuses(data)
