"""`dxp ledger`: what was spent and what is left, in all and between two records."""

import json
import re

import pytest
from squeezing import squeezed

from contracts.curator import CURATOR


def test_the_ledger_shows_what_was_spent_and_what_is_left(town, dxp):
    for query, budget in (("count by sex", "25%"), ("count by age/5", "40%")):
        plan = dxp("plan", "policy.toml", query, "--budget", budget, "--method", "optimal").fine().lines[-1].split()[3]
        dxp("release", plan, "--data", "people.csv", *CURATOR).fine()
    called = dxp("ledger", "ledger.db").fine()
    rows = squeezed(called.out)
    assert re.fullmatch(r"2 releases · chain intact · worst case so far ε 0\.\d+ of 8\.33", rows[0])
    assert rows[2] == "date released worst ε used most used pair"
    assert re.fullmatch(r"1 \d+ \w+ count by sex 0\.25 25 % M – F", rows[3])
    assert re.fullmatch(r"2 \d+ \w+ count by age/5 0\.2 40 % age 4 – age 5", rows[4])
    assert any(re.fullmatch(r"sex ━{15}╌{5} 75 % M – F, next M – other \(87\.5 %\)", row) for row in rows)
    assert any(re.fullmatch(r"age ━{12}╌{8} 60 % age 4 – age 5, next .*", row) for row in rows)
    assert any(re.fullmatch(r"home ━{20} 100 %", row) for row in rows)
    assert rows[-1] == "Next: dxp ledger ledger.db --between age=4 age=5"
    data = json.loads(dxp("ledger", "ledger.db", "--json").fine().out)
    assert [e["released"] for e in data["entries"]] == ["count by sex", "count by age/5"]
    assert data["used_by_attribute"]["sex"]["used"] == pytest.approx(0.25)
    assert data["used_by_attribute"]["home"] == {"used": 0.0, "left": 1.0}


def test_between_two_records_the_ledger_tells_allowed_spent_and_left(town, dxp):
    made = dxp("plan", "policy.toml", "count by age/5", "--budget", "40%", "--method", "optimal").fine()
    plan = made.lines[-1].split()[3]
    dxp("release", plan, "--data", "people.csv", *CURATOR).fine()
    called = dxp("ledger", "ledger.db", "--between", "age=4", "age=5").fine()
    assert called.lines[0] == "  allowed 0.5 · spent 0.2 (entry 1) · left 0.3"
    assert called.lines[1] == "  Everything released so far shifts the odds between the two by at most a factor 1.22."
    assert called.lines[-1] == "Next: dxp ledger ledger.db"
    data = json.loads(dxp("ledger", "ledger.db", "--between", "age=4", "age=5", "--json").fine().out)
    assert (data["allowed"], data["entries"]) == (0.5, [1])
    assert data["spent"] == pytest.approx(0.2)
    apart = dxp("ledger", "ledger.db", "--between", "sex=F,age=1", "sex=M,age=2").fine()
    assert apart.lines[0] == "  allowed 1.5 · spent 0 · left 1.5"
    assert apart.lines[1] == "  Nothing released so far separates the two."


@pytest.mark.slow  # makes the demo
def test_records_are_named_as_the_ledger_names_them_commas_included(demo, dxp):
    ledger = demo[0] / "my demo" / "ledger.db"
    shown = dxp("ledger", ledger).fine()
    assert "--between home=Washington 'home=Arlington, Virginia'" in shown.lines[-1]
    told = dxp("ledger", ledger, "--between", "home=Washington", "home=Arlington, Virginia").fine()
    assert "(entry 1) · left 0" in told.lines[0]


def test_a_ledger_without_releases_says_so(town, dxp, planned):
    from contracts.unused_ledger import unused_ledger
    from dxprivacy.policy import Policy

    policy = Policy.load("policy.toml")
    unused_ledger("ledger.db", policy.metric, dataset=policy.dataset).close()
    called = dxp("ledger", "ledger.db").fine()
    assert called.lines[0].startswith("0 releases · chain intact · worst case so far ε 0 of ")
    assert "  nothing released yet" in called.lines


def test_a_stray_policy_of_another_dataset_stops_nothing_and_is_named_in_one_line(town, dxp, planned):
    dxp("release", planned("count by sex"), "--data", "people.csv", *CURATOR).fine()
    before = dxp("ledger", "ledger.db").fine()
    text = (town / "policy.toml").read_text(encoding="utf-8")
    dataset = re.search(r'dataset = "([^"]*)"', text)[1]
    (town / "policy.toml").write_text(
        'title = "Cats"\ndataset = "cats"\n[attributes.color]\nvalues = ["red", "black"]\nepsilon = 1\n'
    )
    called = dxp("ledger", "ledger.db").fine()
    assert called.lines[0] == f"policy.toml is ignored: it is for dataset “cats”, and this ledger for “{dataset}”"
    assert called.lines[1:] == before.lines
    assert "cats" in json.loads(dxp("ledger", "ledger.db", "--json").fine().out)["ignored"]
    assert dxp("ledger", "ledger.db", "--between", "sex=F", "sex=M").fine().lines[0] == called.lines[0]
    assert dxp("ledger", "ledger.db", "--policy", "policy.toml").code != 0  # whoever asks for it is told
    (town / "policy.toml").write_text("no policy at all")
    assert "policy.toml is ignored: it is no policy" in dxp("ledger", "ledger.db").fine().lines[0]
