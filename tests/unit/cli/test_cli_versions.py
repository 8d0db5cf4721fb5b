"""`dxp ledger --adopt`, `--receipt` and `--export`."""

import json
import re

import pytest

import dxprivacy as dx
from contracts.curator import CURATOR
from dxprivacy.ledger import Ledger
from dxprivacy.privacy.costs import SelectionCost
from dxprivacy.queries.asking import gather


def refused(called, code, *words):
    assert called.code == code, called.err
    for word in words:
        assert word in called.err, called.err
    return called


@pytest.fixture
def spent(town, dxp, planned, known_noise):
    """A town with two releases, a new policy and one that cannot follow."""
    for query in ("count by sex", "count by age"):
        plan = planned(query, "--budget", "25%")
        dxp("release", plan.name, "--data", "people.csv", *CURATOR).fine()
    text = (town / "policy.toml").read_text()
    new = text.replace("[attributes.sex]", '[attributes.gender]\ncolumn = "sex"').replace("[0, 9]", "[0, 12]")
    (town / "new.toml").write_text(new.replace('dataset = "town-1"', 'dataset = "town-1"\nversion = "2"'))
    (town / "bad.toml").write_text(text.replace('values = ["M", "F"]', 'values = ["M", "W"]'))
    (town / "low.toml").write_text(text.replace("epsilon = 0.5", "epsilon = 0.05"))
    return town


def test_a_new_version_is_shown_first_then_adopted(spent, dxp):
    rows = dxp("ledger", "ledger.db", "--policy", "new.toml", "--adopt", "--dry-run").fine().lines
    assert rows[0].startswith("○ dry run  “A small town”, version 2 could be adopted in place of")
    assert "2 costs would be carried, exactly" in rows[1]
    assert rows[-1] == "Next: dxp ledger ledger.db --policy new.toml --adopt --allow-looser"
    dxp("ledger", "ledger.db").fine()  # still the old one
    plain = refused(dxp("ledger", "ledger.db", "--policy", "new.toml", "--adopt"), 7, "looser than", "--allow-looser")
    assert "age: 10 – other were one value, and have ε 3 now." in plain.err
    assert plain.lines[0] == "version 1 in ledger.db → new.toml · 3 of 4 attributes differ"  # the difference is shown
    dxp("ledger", "ledger.db").fine()  # still the old one
    rows = dxp("ledger", "ledger.db", "--policy", "new.toml", "--adopt", "--allow-looser").fine().lines
    assert rows[0] == "✓ adopted  “A small town”, version 2, in place of “A small town”, version 1, in row 7"
    assert rows[1].startswith("✓ carried  2 costs, exactly; worst case so far ε ")
    table = [row.split() for row in rows[3:6]]
    assert table[0] == ["gender", "was", "called", "sex"]
    assert table[1] == ["age", "10,", "11,", "12", "←", "other"]
    assert table[2] == ["home", "values", "as", "before"]
    assert "version 1 in ledger.db → new.toml · 3 of 4 attributes differ" in rows
    assert rows[-1] == "Next: dxp ledger ledger.db --policy new.toml"
    again = dxp("ledger", "ledger.db", "--policy", "new.toml", "--adopt").fine()  # nothing becomes looser now
    assert again.lines[0].startswith("✓ unchanged  the ledger follows “A small town”, version 2 already")
    shown = dxp("ledger", "ledger.db", "--policy", "new.toml").fine().lines
    assert shown[1].startswith("follows “A small town”, version 2 since")
    assert shown[-1].startswith("Next: dxp ledger ledger.db --policy new.toml --between ")
    refused(dxp("ledger", "ledger.db"), 7, "older version of the policy: “A small town”, version 1")


def test_adoption_for_machines(spent, dxp):
    call = ("ledger", "ledger.db", "--policy", "new.toml", "--adopt", "--allow-looser", "--json")
    dry = json.loads(dxp(*call, "--dry-run").fine().out)
    done = json.loads(dxp(*call).fine().out)
    again = json.loads(dxp(*call).fine().out)
    assert (dry["adopted"], dry["dry_run"], dry["row"]) == (False, True, None)
    assert (done["adopted"], done["dry_run"], done["row"], done["costs"]) == (True, False, 7, 2)
    assert (again["adopted"], again["attributes"], again["costs"]) == (False, [], 2)
    assert {k: v for k, v in dry.items() if k not in ("adopted", "dry_run", "row")} == {
        k: v for k, v in done.items() if k not in ("adopted", "dry_run", "row")
    }
    age = next(a for a in done["attributes"] if a["attribute"] == "age")
    assert age["values"] == [{"now": ["10", "11", "12"], "were": ["other"]}]
    assert [a["change"] for a in done["attributes"]] == ["matched"] * 3
    versions = json.loads(dxp("ledger", "ledger.db", "--policy", "new.toml", "--json").fine().out)["policy_versions"]
    assert [v["version"] for v in versions] == ["1", "2"]


def test_a_version_that_cannot_follow_is_refused_and_nothing_changes(spent, dxp):
    refused(
        dxp("ledger", "ledger.db", "--policy", "bad.toml", "--adopt"),
        7,
        "separated; nothing was changed",
        "sex F and other are both “other” now, but entry 1 separated them by up to ε 0.125.",
        "→ list F",
        'was = { NEW = "F" }',
    )
    refused(dxp("ledger", "ledger.db", "--policy", "low.toml", "--adopt"), 5, "nothing was changed", "(entry 2)")
    refused(dxp("ledger", "ledger.db", "--policy", "low.toml"), 7, "another version of the policy", "--adopt")
    other = (spent / "policy.toml").read_text().replace("town-1", "town-2")
    (spent / "other.toml").write_text(other)
    refused(dxp("ledger", "ledger.db", "--policy", "other.toml", "--adopt"), 7, "belongs to dataset “town-1”")
    assert len(json.loads(dxp("ledger", "ledger.db", "--json").fine().out)["policy_versions"]) == 1


def test_an_old_plan_is_refused_after_an_upgrade_and_a_new_one_is_released(spent, dxp, planned):
    old = planned("count by state")
    dxp("ledger", "ledger.db", "--policy", "new.toml", "--adopt", "--allow-looser").fine()
    refused(dxp("release", old.name, "--data", "people.csv", *CURATOR), 7, "older version of the policy")
    called = dxp("plan", "new.toml", "count by gender", "--budget", "10%").fine()
    plan = called.lines[-1].split()[3]
    released = dxp("release", plan, "--data", "people.csv", "--ledger", "ledger.db").fine()  # which knows its policy
    assert "entry 3 in ledger.db" in released.out


def test_between_names_the_detour(spent, dxp):
    told = dxp("ledger", "ledger.db", "--between", "age=3", "age=6").fine()
    assert "left 1" in told.lines[0]
    assert "by way of age " in told.lines[0]


def test_a_receipt_needs_no_policy_and_says_what_to_keep(spent, dxp):
    (spent / "policy.toml").unlink()
    called = dxp("ledger", "ledger.db", "--receipt", "2").fine()
    assert called.lines[0] == "Receipt for entry 2 of ledger.db"
    data = json.loads(dxp("ledger", "ledger.db", "--receipt", "2", "--json").fine().out)
    for field in ("dataset", "at", "request", "row_hash", "answer_hash", "head_hash", "policy_digest"):
        assert data[field] in called.out
    assert "released    count by age" in called.out
    assert re.search(r"budget +25 %", called.out)
    assert data["released"] == ["count by age"]
    refused(dxp("ledger", "ledger.db", "--receipt", "3"), 2, "there is no entry 3; the ledger has 2 releases")


def test_an_export_needs_no_policy_and_holds_no_true_answer(spent, dxp):
    (spent / "policy.toml").unlink()
    called = dxp("ledger", "ledger.db", "--export", "journal.jsonl").fine()
    head, *rows = map(json.loads, (spent / "journal.jsonl").read_text(encoding="utf-8").splitlines())
    assert (head["rows"], len(rows)) == (6, 6)
    assert head["head"] in called.out
    release = json.loads(next(r["content"] for r in rows if r["kind"] == "finish"))
    assert 200 not in [a.get("value") for a in release["answers"]]  # the true count of each sex
    refused(dxp("ledger", "ledger.db", "--export", "journal.jsonl"), 2, "is there already")
    refused(dxp("ledger", "ledger.db", "--export", "-"), 2, "needs the name of a file")
    assert not (spent / "-").exists()
    data = json.loads(dxp("ledger", "ledger.db", "--export", "more.jsonl", "--json").fine().out)
    assert (data["rows"], data["head"]) == (6, head["head"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--dry-run"], "--dry-run belongs to --adopt"),
        (["--adopt", "--receipt", "1"], "--adopt and --receipt are different things"),
        (["--export", "x", "--between", "age=1", "age=2"], "--between and --export are different things"),
        (["--receipt", "one"], "receipt"),
    ],
)
def test_options_that_contradict_each_other_are_refused(spent, dxp, options, words):
    refused(dxp("ledger", "ledger.db", *options), 2, words)
    assert not (spent / "x").exists()


def test_the_steps_of_synthetic_data_are_one_line_and_all_of_them_on_request(town, dxp):
    policy = dx.Policy.load(town / "policy.toml")
    asked = gather("count by sex", "count by age")
    rows = asked.on(policy.universe).rows
    with Ledger.open(town / "ledger.db", policy, new_ledger=True) as ledger:
        for k in range(5):
            cost = SelectionCost(asked.on(policy.universe), [100.0] * rows)
            ledger.reserve(cost, asked, request=f"synth-7f3a select {k + 1}")
    shown = dxp("ledger", "ledger.db").fine().lines
    assert shown[0].startswith("1 release in 5 steps · chain intact · worst case so far ε 0.05 of ")
    assert any(f"synthetic data from {rows} answers · 5 steps" in row and row.split()[0] == "1–5" for row in shown)
    every = dxp("ledger", "ledger.db", "--all").fine().lines
    assert sum("selection among count by sex + count by age" in row for row in every) == 5
    machine = json.loads(dxp("ledger", "ledger.db", "--json").fine().out)
    assert [entry["kind"] for entry in machine["entries"]] == ["selection"] * 5
    told = dxp("ledger", "ledger.db", "--between", "sex=F", "sex=M").fine().lines
    assert told[0].strip() == "allowed 1 · spent 0.05 (entries 1–5) · left 0.95"
    receipt = dxp("ledger", "ledger.db", "--receipt", "2").fine().out
    assert "selection among count by age" in receipt
