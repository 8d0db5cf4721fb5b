"""A release as a table: one column for everything that answers are grouped by."""

import csv
import io
import json

import numpy as np
import pytest

import dxprivacy as dx
from contracts.methods import standard_plan
from dxprivacy.mechanisms.linear.release_answers import build_release
from dxprivacy.output.text.release_text import release_lines
from dxprivacy.releases.guarantee import LedgerReference
from dxprivacy.releases.release import from_json

PLACES = "id,name,state,latitude,longitude\n1,Hoboken,New Jersey,40.7,-74.0\n2,Albany,New York,42.6,-73.7\n"


@pytest.fixture
def policy(tmp_path):
    (tmp_path / "places.csv").write_text(PLACES)
    return dx.Policy.parse(
        'title = "T"\ndataset = "t"\n'
        '[attributes.sex]\nvalues = ["M", "F"]\nepsilon = 1\n'
        "[attributes.age]\nintegers = [0, 19]\nepsilon = 1\nper = 1\n"
        '[attributes.value]\nvalues = ["a,b", "=c"]\nepsilon = 1\n'
        '[attributes.home]\npoints = "places.csv"\nepsilon = 1\nper = "1 km"\n'
        '[attributes.work]\npoints = "places.csv"\nepsilon = 1\nper = "1 km"\n',
        folder=tmp_path,
    )


def released(policy, *queries):
    plan = standard_plan(list(queries), policy.metric, n_records=100)
    noisy = np.arange(plan.workload.rows, dtype=np.int64)
    return build_release(plan, noisy, 100, LedgerReference("ledger.db", 1, "2026-01-01", "x", 1.0))


def read(release):
    return list(csv.DictReader(io.StringIO(release.to_csv())))


def test_a_table_has_a_column_for_each_attribute_and_rows_in_the_order_asked(policy):
    release = released(policy, "count by age/10, sex")
    rows = read(release)
    assert list(rows[0]) == ["query", "age", "sex", "value", "low", "high", "unit", "note", "label"]
    assert [(r["age"], r["sex"]) for r in rows] == [("0–9", "M"), ("0–9", "F"), ("10–19", "M"), ("10–19", "F")]
    assert [r["value"] for r in rows] == ["0", "2", "1", "3"]  # whole counts as such, each with its own groups
    assert [r["label"] for r in rows] == ["age 0–9, M", "age 0–9, F", "age 10–19, M", "age 10–19, F"]
    assert [r.label for r in release.answers] == ["M, 0–9", "M, 10–19", "F, 0–9", "F, 10–19"]  # stored as ever


def test_different_groupings_share_one_rectangle_with_empty_fields(policy):
    release = released(policy, "count by sex", "mean age", "mean age by home.state where sex=F", "count where sex=F")
    rows = read(release)
    assert all(None not in row and None not in row.values() for row in rows)
    assert [(r["sex"], r["home.state"]) for r in rows] == [
        ("M", ""), ("F", ""), ("", ""), ("", "New Jersey"), ("", "New York"), ("", ""),
    ]  # fmt: skip
    assert [r["groups"] for r in release.rows()][2:4] == [{}, {"home.state": "New Jersey"}]
    assert release.rows()[3]["label"] == "mean age, New Jersey"


def test_names_of_our_own_columns_are_not_taken_and_odd_values_are_quoted(policy):
    rows = read(released(policy, "count by value"))
    assert [r["by value"] for r in rows] == ["a,b", "'=c"]  # no formula
    assert {float(r["value"]) for r in rows} == {0, 1}


def test_a_public_fact_needs_its_attribute_only_where_two_have_it(policy, tmp_path):
    assert "home.state" in read(released(policy, "count by home.state"))[0]
    one = dx.Policy.parse(
        'title = "T"\ndataset = "t"\n[attributes.home]\npoints = "places.csv"\nepsilon = 1\nper = "1 km"\n',
        folder=tmp_path,
    )
    assert [r["state"] for r in read(released(one, "count by home.state"))] == ["New Jersey", "New York"]


def test_ranges_prefixes_marginals_and_explicit_rows_have_their_groups(policy):
    rows = read(released(policy, "prefixes age/10", "ranges age/10"))
    assert [r["age"] for r in rows] == ["0–9", "0–19", "0–9", "0–19", "10–19"]
    assert read(released(policy, "marginals 1"))[0]["sex"] == "M"
    assert all(sum(bool(r[n]) for n in policy.universe.names if n in r and n != "value") <= 1 for r in rows)
    matrix = dx.matrix(np.eye(3)[:2], labels=["first", "second"])
    plan = dx.plan(matrix, dx.metrics.constant(3, 1), method="optimal")
    release = build_release(
        plan, np.array([4, 5]), 9, LedgerReference(ledger="l", entry=1, at="", request="x", so_far=1.0)
    )
    assert [r["row"] for r in read(release)] == ["first", "second"]


def test_json_carries_groups_and_label(policy):
    release = released(policy, "count by sex, value")
    data = json.loads(release.to_json())
    assert data["answers"][0]["groups"] == {"sex": "M", "value": "a,b"}
    assert data["answers"][0]["label"] == "M, a,b"
    assert from_json(release.to_json()) == release


@pytest.mark.parametrize("name", ["label", "note"])
def test_an_attribute_that_is_called_as_a_column_of_ours_stands_beside_it(name):
    policy = dx.Policy.parse(f'title = "T"\ndataset = "t"\n[attributes.{name}]\nvalues = ["x", "y"]\nepsilon = 1\n')
    release = released(policy, f"count by {name}")
    columns = ["query", f"by {name}", "value", "low", "high", "unit", "note", "label"]
    assert list(read(release)[0]) == columns
    frame = release.to_pandas()
    assert list(frame.columns) == columns
    assert list(frame[f"by {name}"]) == ["x", "y"]


CELLS = """title = "T"
dataset = "t"
[attributes.affairs]
numbers = [0, 12]
step = 0.5
epsilon = 1
per = 1
[attributes.sex]
values = ["M", "F"]
epsilon = 1
"""


def test_a_table_says_what_was_counted_and_not_only_what_was_asked():
    (row,) = read(released(dx.Policy.parse(CELLS), "count where affairs=0"))
    assert row["query"] == "count where affairs 0 to below 0.5"
    assert row["label"] == "count where affairs 0 to below 0.5"


def test_a_table_says_where_records_were_too_few_and_where_nothing_is_noisy():
    policy = dx.Policy.parse(CELLS)
    release = released(policy, "mean affairs by sex", "count")
    assert [r.vague for r in release.answers] == [True, True, False]
    assert [row["note"] for row in read(release)] == ["too few to say", "too few to say", "exact"]
    assert read(released(policy, "count by sex"))[0]["note"] == ""


def test_rows_have_the_keys_that_programs_rely_on():
    (row,) = released(dx.Policy.parse(CELLS), "count where sex=M").rows()
    assert list(row) == ["label", "groups", "value", "low", "high", "unit", "query"]


def test_groups_that_a_condition_leaves_empty_are_told_so_and_come_last(tmp_path):
    towns = "id,state,side,height\n" + "".join(f"t{k},S{k % 20},{'N' if k % 20 > 15 else 'S'},{k}\n" for k in range(60))
    (tmp_path / "towns.csv").write_text(towns)
    policy = dx.Policy.parse(
        'title = "T"\ndataset = "t"\n[attributes.town]\nvalues = "towns.csv"\nepsilon = 1\n', folder=tmp_path
    )
    plan = standard_plan(["mean town.height by town.state where town.side=N"], policy.metric, n_records=100_000)
    noisy = np.array([9_000 if scale else 0 for scale in plan.scales], dtype=np.int64)
    release = build_release(plan, noisy, 100_000, LedgerReference("ledger.db", 1, "2026-01-01", "x", 1.0))
    lines = release_lines(release)
    empty = [k for k, line in enumerate(lines) if "this group is empty" in line]
    filled = [k for k, line in enumerate(lines) if "–" in line and k not in empty and "S1" in line]
    assert len(filled) == 4
    assert max(filled) < min(empty)
    assert not any("exact" in line for line in lines[: max(empty) + 1])


def test_a_blank_label_is_made_visible_and_no_label_of_a_query_comes_twice():
    policy = dx.Policy.parse(
        'title = "T"\ndataset = "t"\n[attributes.code]\nvalues = ["", " ", "x"]\nepsilon = 1\n'
        "[attributes.a]\nintegers = [1, 2]\nepsilon = 1\nper = 1\n"
        "[attributes.b]\nintegers = [1, 2]\nepsilon = 1\nper = 1\n"
    )
    release = released(policy, "count by code", "count by b, a", "mean a by b", "mean b by a", "marginals 2")
    rows = read(release)
    assert [r["code"] for r in rows[:3]] == ["“”", "“ ”", "x"]
    named = [(r["query"], r["label"]) for r in rows]
    assert len(set(named)) == len(named)
    assert all(r["label"].strip() and r["query"] for r in rows)
    assert [(r["b"], r["a"]) for r in rows[3:7]] == [("1", "1"), ("1", "2"), ("2", "1"), ("2", "2")]


def test_numbers_of_a_table_are_whole_where_they_are_and_the_same_numbers_otherwise(policy):
    release = released(policy, "count by sex", "mean age")
    for row, answer in zip(release.table(), release.answers, strict=True):
        assert (row["value"], row["low"], row["high"]) == (answer.value, answer.low, answer.high)
        assert isinstance(row["value"], int) == answer.value.is_integer()
    assert release.to_pandas()["value"].dtype == float
    assert released(policy, "count by sex").to_pandas()["value"].dtype == int
