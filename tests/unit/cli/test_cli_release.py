"""`dxp release`: what it reserves, writes, repeats and guarantees."""

import csv
import json
import re

from squeezing import squeezed

from contracts.curator import CURATOR


def test_a_named_ledger_that_does_not_exist_yet_is_pointed_out(town, dxp, planned, known_noise):
    plan = planned("count by sex")
    called = dxp("release", plan.name, "--data", "people.csv", *CURATOR, "--ledger", "ledgr.db").fine()
    assert called.err.startswith("! new ledger")
    assert "ledgr.db" in called.err


def test_a_release_says_which_policy_it_uses_and_when_its_ledger_is_new(town, dxp, planned, known_noise):
    plan = planned("count by sex")
    digest = json.loads(dxp("check", "policy.toml", "--json").fine().out)["metric"]
    using = f"✓ policy    policy.toml · {digest[:8]}"
    first = dxp("release", plan.name, "--data", "people.csv", *CURATOR).fine()
    assert first.lines[0] == using
    assert first.err == f"! new ledger  {town / 'ledger.db'}: what was spent elsewhere does not count here\n"
    again = dxp("release", plan.name, "--data", "people.csv", *CURATOR).fine()
    assert (again.lines[0], again.err) == (using, "")
    assert again.lines[1].startswith("✓ repeated")
    (town / "other").mkdir()
    (town / "other" / "rules.toml").write_text((town / "policy.toml").read_text(encoding="utf-8"), encoding="utf-8")
    for file in town.glob("*.csv"):
        (town / "other" / file.name).write_bytes(file.read_bytes())
    there = dxp("release", plan.name, "--data", "people.csv", *CURATOR, "--policy", "other/rules.toml").fine()
    assert there.lines[0] == f"✓ policy    other/rules.toml · {digest[:8]}"
    assert there.err.startswith(f"! new ledger  {town / 'other' / 'ledger.db'}:")


def test_release_reserves_counts_writes_and_guarantees(town, dxp, planned, known_noise):
    plan = planned("count by state", "count by sex")
    called = dxp("release", plan.name, "--data", "people.csv", *CURATOR).fine()
    name = plan.stem.removeprefix("plan-")
    assert called.lines[1:5] == [
        "✓ reserved  entry 1 in ledger.db, before any noise was drawn",
        "✓ counted   people.csv, n = 400 (public)",
        f"✓ written   release-{name}.json · release-{name}.csv",
        "✓ left      nothing is certain for every pair; dxp ledger shows them",
    ]
    rows = squeezed(called.out)
    assert rows[6:8] == ["count by state", "state released 95 % interval"]
    assert any(re.fullmatch(r"M 1,177 [\d,]+ – [\d,]+", row) for row in rows)
    assert "Intervals cover privacy noise and binning, not sampling error." in rows
    guarantee = " ".join(rows[rows.index("Guarantee") + 1 : -2])
    assert "1. If any one record i is replaced by another record j" in guarantee
    assert "the number of records (400) is treated as public" in guarantee
    assert "2. Added over every release in ledger.db, L(i,j) stays at or below the policy's ε" in guarantee
    assert "3. In standard differential-privacy terms this release is ε = " in guarantee
    assert rows[-1] == "Next: dxp ledger ledger.db"


def test_the_files_of_a_release_say_the_same_as_the_screen(town, dxp, planned, known_noise):
    plan = planned("count by state", "count by sex")
    dxp("release", plan.name, "--data", "people.csv", *CURATOR, "--out", "public").fine()
    stored = json.loads(next((town / "public").glob("*.json")).read_text(encoding="utf-8"))
    with next((town / "public").glob("*.csv")).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(r["value"]) for r in rows] == [a["value"] for a in stored["answers"]]
    assert [(r["state"], r["sex"]) for r in rows] == [("New Jersey", ""), ("New York", ""), ("", "M"), ("", "F")]
    assert all(float(r["low"]) < float(r["value"]) < float(r["high"]) for r in rows)
    assert stored["records"] == 400
    assert len(stored["guarantee"]) == 3
    assert {"certificate", "scales", "ledger", "policy", "universe", "queries", "software"} <= set(stored)
    again = json.loads(dxp("release", plan.name, "--data", "people.csv", *CURATOR, "--json").fine().out)
    assert again.pop("repeated") is True
    assert again == stored


def test_the_ledger_is_beside_the_policy_wherever_the_plan_lies(town, dxp, planned, monkeypatch):
    plan = planned("count by sex")
    elsewhere = town / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    by = ("--policy", town / "policy.toml", "--new-ledger")
    called = dxp("release", plan, "--data", town / "people.csv", *by).fine()
    assert (town / "ledger.db").exists()  # beside the policy
    assert list(elsewhere.glob("release-*.csv"))
    assert called.lines[-1].startswith("Next: dxp ledger ")


def test_a_plan_and_its_policy_can_move_together(town, dxp, planned, tmp_path_factory):
    planned("count by sex")
    moved = tmp_path_factory.mktemp("moved") / "town"
    town.rename(moved)
    (plan,) = moved.glob("plan-*.json")
    by = ("--policy", moved / "policy.toml", "--new-ledger")
    dxp("release", plan, "--data", moved / "people.csv", *by, "--out", moved).fine()


def test_the_same_plan_again_is_repeated_at_no_cost(town, dxp, planned):
    plan = planned("count by sex")
    first = dxp("release", plan.name, "--data", "people.csv", *CURATOR, "--json").fine()
    second = dxp("release", plan.name, "--data", "people.csv", *CURATOR, "--json").fine()
    one, two = json.loads(first.out), json.loads(second.out)
    assert (one.pop("repeated"), two.pop("repeated")) == (False, True)
    assert one == two
    shown = dxp("release", plan.name, "--data", "people.csv", *CURATOR).fine()
    assert shown.lines[1] == "✓ repeated  entry 1 of ledger.db: answered before, nothing spent"
    assert len(json.loads(dxp("ledger", "ledger.db", "--json").out)["entries"]) == 1


def test_under_another_request_the_same_plan_costs_again_and_keeps_both_files(town, dxp):
    made = dxp("plan", "policy.toml", "count by sex", "--budget", "40%", "--method", "optimal").fine()
    plan = made.lines[-1].split()[3]
    dxp("release", plan, "--data", "people.csv", *CURATOR).fine()
    called = dxp("release", plan, "--data", "people.csv", *CURATOR, "--request", "for the press/2").fine()
    assert called.lines[1].startswith("✓ reserved  entry 2")
    assert len(list(town.glob("release-*.json"))) == 2
    assert len(list(town.glob("release-*-for-the-press-2.csv"))) == 1


def test_many_answers_are_cut_on_the_screen_and_complete_in_the_file(town, dxp, planned):
    plan = planned("table sex by age")
    called = dxp("release", plan.name, "--data", "people.csv", *CURATOR).fine()
    name = plan.stem.removeprefix("plan-")
    assert (
        f"  8 more in release-{name}.csv. Intervals cover privacy noise and binning, not sampling error."
        in called.lines
    )
    assert len((town / f"release-{name}.csv").read_text().splitlines()) == 21
    full = dxp("release", plan.name, "--data", "people.csv", *CURATOR, "--all").fine()
    assert "more in" not in full.out


def test_exact_answers_say_so(town, dxp, planned):
    called = dxp("release", planned("count").name, "--data", "people.csv", *CURATOR).fine()
    assert any(r.startswith("count 400 noise-free: public under the policy") for r in squeezed(called.out))


def test_an_entry_for_a_registry_is_written_where_it_is_asked_for(town, dxp, planned, known_noise):
    plan = planned("count by sex")
    words = ("release", plan.name, "--data", "people.csv", *CURATOR, "--deployment")
    assert "needs a folder" in dxp(*words, "--json").out
    called = dxp(*words).fine()
    (entry,) = town.glob("release-*.yaml")
    assert entry.name in called.out
    text = entry.read_text(encoding="utf-8")
    assert text.startswith("# made by dxprivacy")
    assert 'privacy_unit: "One record"' in text
    dxp(*words).fine()  # the same entry again, in place of the first
    entry.write_text("mine")
    assert "is no entry for a registry that dxp wrote" in dxp(*words).err
