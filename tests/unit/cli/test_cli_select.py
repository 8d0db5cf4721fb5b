"""`dxp select`: how good a selection would be, before anything is spent; then the selection and the guarantee."""

import json


def test_without_data_it_shows_what_a_choice_would_be_like_and_spends_nothing(town, dxp):
    called = dxp("select", "policy.toml", "median age", "--budget", "20%").fine()
    assert "nothing spent, no data read" in called.out
    assert "records off in its rank" in called.out
    assert "limited by" in called.out
    assert called.lines[-1] == "Next: dxp select policy.toml 'median age' --budget 20% --new-ledger --data FILE"
    assert max(map(len, called.lines)) <= 120
    assert not list(town.glob("*.db"))


def test_with_data_it_reserves_chooses_and_writes(town, dxp):
    called = dxp(
        "select", "policy.toml", "most common sex", "--budget", "50%", "--data", "people.csv", "--new-ledger"
    ).fine()
    assert "reserved  entry 1" in called.out
    assert "n = 400 (public)" in called.out
    assert "Guarantee" in called.out
    assert called.lines[-1] == "Next: dxp ledger ledger.db"
    (written,) = town.glob("selection-*.json")
    data = json.loads(written.read_text())
    assert data["chosen"]["label"] in ("M", "F")
    again = dxp(
        "select", "policy.toml", "most common sex", "--budget", "50%", "--data", "people.csv", "--new-ledger"
    ).fine()
    assert "chosen before, nothing spent" in again.out
    listed = dxp("ledger", "ledger.db").fine()
    assert "1 release" in listed.out


def test_json_has_the_same_fields(town, dxp):
    planned = json.loads(dxp("select", "policy.toml", "3 bins of age", "--permute-and-flip", "--json").fine().out)
    assert planned["mechanism"] == "permute-and-flip"
    assert len(planned["candidates"]) == 36
    chosen = dxp(
        "select", "policy.toml", "3 bins of age", "--permute-and-flip", "--data", "people.csv", "--new-ledger", "--json"
    ).fine()
    data = json.loads(chosen.out)
    assert (data["format"], data["repeated"]) == ("dxprivacy-selection/1", False)
    assert data["request"] == planned["request"]
    assert not list(town.glob("selection-*.json"))


def test_refusals_spend_nothing_and_say_what_to_do(town, dxp):
    for arguments, code, words in [
        (("median sex",), 4, "has no order"),
        (("mode of age",), 4, "not a selection"),
        (("median age", "--new-ledger"), 2, "--data FILE"),
        (("median age", "--ledger", "l.db"), 7, "no ledger here"),
        (("median age", "--n-records", "0"), 2, "n-records"),
        (("median age", "--n-records", "9", "--data", "people.csv"), 2, "leave --n-records out"),
        (("median age", "--budget", "0"), 2, "budget"),
        (("median age", "--data", "nobody.csv", "--new-ledger"), 6, "nobody.csv"),
        (("median age", "--data", "people.csv", "--new-ledger", "--out", "policy.toml/x"), 2, "selection-NAME.json"),
        (("median age", "--epsilon", "1"), 2, "policy"),
    ]:
        called = dxp("select", "policy.toml", *arguments)
        assert called.code == code, called.err
        assert words in called.err
    assert not list(town.glob("*.db"))


def test_the_budget_ends(town, dxp):
    asked = ("select", "policy.toml", "most common sex", "--budget", "100%", "--data", "people.csv", "--new-ledger")
    dxp(*asked).fine()
    called = dxp(*asked, "--permute-and-flip")
    assert called.code == 5
    assert "nothing spent" in called.err


def test_a_choice_is_shown_with_the_share_that_a_ledger_has_left(town, dxp):
    first = dxp("select", "policy.toml", "median age", "--budget", "93%", "--data", "people.csv", "--new-ledger")
    assert first.code == 0
    shown = dxp("select", "policy.toml", "median age", "--ledger", "ledger.db")
    assert shown.code == 0
    assert "with a budget of 7 %: 10% does not" in shown.out
    assert "--budget 7% --ledger ledger.db --data FILE" in shown.out
    refused = dxp("select", "policy.toml", "median age", "--budget", "10%", "--data", "people.csv", "--anyway")
    assert refused.code == 5, refused.err
    done = dxp("select", "policy.toml", "median age", "--budget", "7%", "--data", "people.csv", "--anyway")
    assert done.code == 0, done.err
    nothing = dxp("select", "policy.toml", "median age", "--ledger", "ledger.db")
    assert nothing.code == 5
    assert "has nothing left" in nothing.err
