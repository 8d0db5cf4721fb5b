"""`dxp check --diff`: from one policy to another."""

import json

import pytest


@pytest.fixture
def draft(town):
    text = (town / "policy.toml").read_text()
    (town / "draft.toml").write_text(text.replace("epsilon = 0.5", "epsilon = 1.0").replace('["M", "F"]', '["M"]'))
    return town


def test_the_page_has_table_errors_warnings_and_the_next_command(draft, dxp):
    called = dxp("check", "policy.toml", "--diff", "draft.toml").fine()
    assert called.lines[0] == "policy.toml → draft.toml · 2 of 3 attributes differ"
    (age,) = [line for line in called.lines if line.startswith("  age ")]
    assert age.split("  ")[-1].strip() == "± 12 → ± 6"
    assert "0 – 9" in age
    assert "! looser       age: all 45 pairs" in called.out
    assert called.lines[-1] == "Next: dxp check draft.toml"
    assert max(map(len, called.lines)) <= 110


def test_json_has_the_same_numbers(draft, dxp):
    data = json.loads(dxp("check", "policy.toml", "--diff", "draft.toml", "--json").fine().out)
    age = next(a for a in data["attributes"] if a["name"] == "age")
    assert age["listed"]["looser"] == 45
    assert data["looser"] is True
    assert {"query": "count by age", "half_width_95": {"before": [12, 12], "after": [6, 6]}} in data["errors"]


def test_identical_policies_are_called_so(town, dxp):
    called = dxp("check", "policy.toml", "--diff", "policy.toml").fine()
    assert called.lines[0].startswith("✓ identical")
    assert called.lines[-1].startswith("Next: ")


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["policy.toml", "--diff", "nowhere.toml"], 3, "nowhere.toml"),
        (["policy.toml", "--diff"], 2, "--diff"),
        (["policy.toml", "--diff", "places.csv"], 3, "places.csv:1"),
        (["policy.toml", "--diff", "policy.toml", "--list", "public"], 2, "do not go together"),
    ],
)
def test_what_cannot_be_compared_is_refused_with_its_place(town, dxp, arguments, code, says):
    called = dxp("check", *arguments)
    assert called.code == code
    assert says in called.err
    assert called.out == ""
