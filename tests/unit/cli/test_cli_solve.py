"""`dxp plan --solve`: which budget meets the targets, and by how much every ε would have to grow."""

import json
import re

import pytest

ASKED = ("count by sex within 8", "count by age/5 within 20")


def test_solve_share_writes_the_plan_with_the_least_share_that_meets_the_targets(dxp, town):
    called = dxp("plan", "policy.toml", *ASKED, "--solve", "budget").fine()
    found = re.fullmatch(r"✓ solved  --budget ([\d.]+)% meets all 4 targets; ([\d.]+)% does not", called.lines[0])
    assert found, called.lines[0]
    assert "What would meet the targets" not in called.out
    budget, less = found.groups()
    (written,) = town.glob("plan-*.json")
    again = json.loads(dxp("plan", "policy.toml", *ASKED, "--budget", f"{budget}%", "--json").fine().out)
    assert json.loads(written.read_text(encoding="utf-8"))["request"] == again["request"]
    assert all(a["half_width_95"] <= float(a["within"]) for a in again["answers"])
    below = json.loads(dxp("plan", "policy.toml", *ASKED, "--budget", f"{less}%", "--json").fine().out)
    assert not all(a["half_width_95"] <= float(a["within"]) for a in below["answers"])


def test_solve_epsilon_says_the_factor_and_changes_neither_plan_nor_policy(dxp, town):
    before = (town / "policy.toml").read_text(encoding="utf-8")
    called = dxp("plan", "policy.toml", *ASKED, "--solve", "epsilon").fine()
    found = re.fullmatch(
        r"✓ solved  every ε of the policy × ([\d.]+), at a budget of 10 %, meets all 4 targets; .* not changed",
        called.lines[0],
    )
    assert found, called.lines[0]
    assert (town / "policy.toml").read_text(encoding="utf-8") == before
    (written,) = town.glob("plan-*.json")
    plain = json.loads(dxp("plan", "policy.toml", *ASKED, "--json").fine().out)
    assert json.loads(written.read_text(encoding="utf-8"))["request"] == plain["request"]
    grown = re.sub(r"epsilon = ([\d.]+)", lambda m: f"epsilon = {float(m[1]) * float(found[1])}", before)
    (town / "grown.toml").write_text(grown, encoding="utf-8")
    again = json.loads(dxp("plan", "grown.toml", *ASKED, "--json").fine().out)
    assert all(a["half_width_95"] <= float(a["within"]) for a in again["answers"])


def test_json_says_what_was_found(dxp, town):
    found = json.loads(dxp("plan", "policy.toml", *ASKED, "--solve", "epsilon", "--json").fine().out)["solved"]
    assert (found["of"], found["met"], found["targets"]) == ("epsilon", 4, 4)
    budget = json.loads(dxp("plan", "policy.toml", *ASKED, "--solve", "budget", "--json").fine().out)
    assert budget["solved"]["amount"] == budget["budget"]


def test_where_no_share_meets_a_target_the_next_thing_to_try_is_named(dxp, town):
    called = dxp("plan", "policy.toml", "count by age within 0.5", "--solve", "budget").fine()
    assert called.lines[0] == "! solved  no budget meets a target; --solve epsilon finds the ε that would"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("count by sex within 9", "--solve", "budget", "--budget", "20%"), "leave --budget out"),
        (("count by sex within 9", "--solve", "budget", "--compare"), "leave one of them out"),
        (("count by sex", "--solve", "budget"), "no query has a target"),
        (("count by sex", "--solve", "epsilon"), "no query has a target"),
        (("count by sex within 9", "--solve", "rows"), "rows"),
    ],
)
def test_what_cannot_be_solved_is_refused(dxp, town, words, told):
    called = dxp("plan", "policy.toml", *words)
    assert called.code in (2, 4)
    assert told in called.err
