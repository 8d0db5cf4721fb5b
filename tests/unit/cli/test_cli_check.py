"""`dxp check` of a sound policy: its page, its numbers, and a query to go on with."""

import json

import pytest
from squeezing import squeezed


def test_check_ends_with_a_query_that_can_be_asked(town, dxp):
    called = dxp("check", "policy.toml").fine()
    assert called.lines[0] == "✓ valid · A small town · one record replaced, n public"
    assert called.lines[-1] == "Next: dxp plan policy.toml 'count by sex'"
    dxp("plan", "policy.toml", "count by sex").fine()


@pytest.mark.slow  # makes the demo
def test_check_of_places_proposes_to_count_by_what_groups_them(demo, dxp):
    last = dxp("check", demo[0] / "my demo" / "policy.toml").fine().lines[-1]
    assert last.endswith("policy.toml' 'count by state'")


def test_check_in_json_has_the_numbers_of_the_page(town, dxp):
    data = json.loads(dxp("check", "policy.toml", "--json").fine().out)
    page = squeezed(dxp("check", "policy.toml").out)
    sex, age, home = data["attributes"]
    assert f"{data['possible_records']} possible records = sex 2 × age 10 × home 4" in page
    assert (sex["strictest_epsilon"], age["strictest_epsilon"], age["loosest_epsilon"]) == (1.0, 0.5, 4.5)
    assert any(row.startswith(f"home {home['strictest_pair']} 0.0398 {home['loosest_pair']} ") for row in page)


@pytest.mark.parametrize("kind", ["public", "identical", "tightened"])
def test_check_lists_on_request(town, dxp, kind):
    lines = dxp("check", "policy.toml", "--list", kind).fine().lines
    assert lines[-4:-2] == [f"  {kind}", "  none"]
