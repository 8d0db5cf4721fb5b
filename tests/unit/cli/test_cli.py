"""The commands as a new user meets them: each screen says what UX.md promises, `--json` has the same numbers."""

import csv
import importlib.metadata
import io
import json
import os
import pty
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from contracts.curator import CURATOR
from dxprivacy.cli.screen import working

DXP = Path(sys.executable).parent / "dxp"


def squeezed(text):
    return [" ".join(line.split()) for line in text.splitlines()]


# -- help --------------------------------------------------------------------------------------------------------------


def test_dxp_alone_explains_itself_and_where_to_begin(dxp):
    called = dxp().fine()
    for word in ("demo", "check", "plan", "release", "ledger", "policy file", "Begin with: dxp demo"):
        assert word in called.out
    assert dxp("--help").out == dxp("-h").out == called.out


def test_the_version_is_shown(dxp):
    shown = re.fullmatch(r"dxp, version (\d+\.\d+\.\d+(?:\.dev\d+)?)\n", dxp("--version").fine().out)
    assert shown
    assert shown[1] == importlib.metadata.version("dxprivacy")


@pytest.mark.parametrize(
    ("command", "teaches"),
    [
        ("demo", ["simulated", "plain differential privacy", "dxp demo --write demo/"]),
        ("check", ["strictest and loosest pair", "e^ε", "[attributes.age]", "per = 10", "--list tightened"]),
        ("plan", ["Spends nothing", "count by sex", "age/10", "where sex=F", "within 10", "--share 25%", "--rows"]),
        ("release", ["before any noise is drawn", "costs nothing", "--request", "dxp release plan-7f3a.json"]),
        ("ledger", ["--between age=64 age=65", "what is left", "sex=F,age=64"]),
    ],
)
def test_every_help_teaches_with_an_example(dxp, command, teaches):
    text = dxp(command, "--help").fine().out
    for word in (*teaches, "--json"):
        assert word in text
    options = re.findall(r"^  (?:-h, )?--[a-z]+.*$", text, re.MULTILINE)
    assert all(len(line.split("  ")) > 2 for line in options)  # each has a text of its own
    assert max(map(len, text.splitlines())) <= 110


# -- demo --------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """One demo for all, in a process of its own as a user runs it."""
    folder = tmp_path_factory.mktemp("tour")
    run = subprocess.run([DXP, "demo", "--write", "my demo"], cwd=folder, capture_output=True, encoding="utf-8")
    assert (run.returncode, run.stderr) == (0, "")
    return folder, run.stdout


def test_the_demo_tells_its_story_with_both_baselines_and_the_price(demo):
    _, text = demo
    rows = squeezed(text)
    assert rows[0] == "20,000 simulated survey respondents in 906 US places; none of your files is read."
    assert "at most ε = 1 per 100 km" in rows[1]
    assert re.fullmatch(r"truth\* this policy plain DP, as strict less noise plain DP, ε 0\.\d+", rows[3])
    assert re.fullmatch(r"mean elevation of a home [\d.]+ m [\d.]+ m ± 1\.96 [−\d.,]+ m ± 104 53× ± 2\.\d+", rows[4])
    assert re.fullmatch(r"respondents in California [\d,]+ [\d,]+ ± 10 −?[\d,]+ ± 152 15× ± 11", rows[5])
    assert any(re.fullmatch(r"in New Jersey .* ± 1\d\d .* ± 152 0\.9\d?× ± 11", row) for row in rows)
    assert "0.008 for the mean and 0.0394 for the counts" in " ".join(text.split())
    assert any("± covers 95 % of the noise" in row for row in rows)
    assert any("Carol City and Milford" in row and "GeoNames" in row for row in rows)
    assert any(re.match(r"Avondale – Goodyear 0\.8 km 0\.008 0\.000\d+ 0\.\d+$", row) for row in rows)
    assert any(row.startswith("Honolulu – New Bedford 8,208 km 82.1 ") for row in rows)
    assert "is the worst case of our release. Plain DP at" in text
    assert rows[-1] == "Next: dxp check 'my demo/policy.toml'"


def test_the_demo_writes_everything_a_curator_would_have(demo):
    folder = demo[0] / "my demo"
    names = {p.name for p in folder.iterdir()}
    assert {"policy.toml", "places.csv", "people.parquet", "ledger.db", "ledger.db.witness"} <= names
    assert sum(name.startswith("plan-") for name in names) == 1
    assert sum(name.startswith("release-") for name in names) == 2


def test_the_plan_of_the_demo_can_be_released_again_at_no_cost(demo, dxp, tmp_path):
    folder = demo[0] / "my demo"
    (plan,) = folder.glob("plan-*.json")
    by = ("--policy", folder / "policy.toml")
    called = dxp("release", plan, "--data", folder / "people.parquet", *by, "--out", tmp_path / "out").fine()
    assert called.lines[1].startswith("✓ repeated  entry 1 of ")
    (stored,) = folder.glob("release-*.json")
    assert json.loads((tmp_path / "out" / stored.name).read_text()) == json.loads(stored.read_text())


def test_a_demo_replaces_only_a_demo_and_never_anyones_ledger(demo, dxp, tmp_path):
    folder = demo[0] / "my demo"
    again = dxp("demo", "--write", folder)
    assert again.code == 2
    assert "holds a demo already" in again.err
    assert "--overwrite" in again.err
    (tmp_path / "ledger.db").write_text("years of work")
    for option in ([], ["--overwrite"]):
        refused = dxp("demo", "--write", tmp_path, *option)
        assert refused.code == 2
        assert "holds other files" in refused.err
    (tmp_path / "policy.toml").write_text('title = "T"\ndataset = "real"\n')
    assert dxp("demo", "--write", tmp_path, "--overwrite").code == 2
    assert (tmp_path / "ledger.db").read_text() == "years of work"


def test_a_demo_into_a_file_is_refused(dxp, tmp_path):
    (tmp_path / "file").write_text("")
    assert dxp("demo", "--write", tmp_path / "file").code == 2


def test_the_json_of_the_demo_has_the_numbers_of_the_screen(dxp, monkeypatch):
    data = json.loads(dxp("demo", "--json").fine().out)
    assert data["respondents"] == 20_000
    assert [a["plain_epsilon"] for a in data["answers"]][:2] == pytest.approx([0.008, 0.0394], rel=0.01)
    assert data["answers"][0]["worst_case_width"] == pytest.approx(2.09, rel=0.01)
    assert [a["label"] for a in data["answers"]] == ["mean elevation", "California", "Texas", "New Jersey"]
    assert data["answers"][0]["our_width"] == pytest.approx(2, rel=0.05)
    assert data["answers"][1]["plain_width"] == 152
    assert data["pairs"][-1]["pair"] == "Honolulu – New Bedford"
    assert data["folder"] is None


# -- check -------------------------------------------------------------------------------------------------------------


def test_check_ends_with_a_question_that_can_be_asked(town, dxp):
    called = dxp("check", "policy.toml").fine()
    assert called.lines[0] == "✓ valid · A small town · one record replaced, n public"
    assert called.lines[-1] == "Next: dxp plan policy.toml 'count by sex'"
    dxp("plan", "policy.toml", "count by sex").fine()


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


# -- plan --------------------------------------------------------------------------------------------------------------


def test_plan_shows_errors_in_own_units_before_anything_is_spent(town, dxp):
    asked = ("mean elevation within 2 m", "count by sex")
    called = dxp("plan", "policy.toml", *asked, "--rows", 4000, "--share", "100%").fine()
    rows = squeezed(called.out)
    assert re.fullmatch(r"Plan [0-9a-f]{4} · 3 answers · 100 % of the policy · nothing spent, no data read", rows[0])
    assert rows[2] == "typical error ± 95 % asked plain DP as strict at our worst limited by"
    plain = r"ε 0\.\d+ ± [\d.]+ m [\d.]+× ± [\d.]+ m"
    assert re.match(rf"mean elevation [\d.]+ m [\d.]+ m 2 m {plain} nothing: target reached", rows[3])
    assert any(re.fullmatch(r"M 1\.92 6 ε 1 ± 6 1× ± \d+ M – F", row) for row in rows)
    assert "Why not better Moving one person from M to F changes 2 answers. The policy lets that move" in rows
    assert "Budget it would use" in rows
    assert any(re.fullmatch(r"worst case ε [\d.]+ in plain-DP terms: .* – .*", row) for row in rows)
    assert any(row.startswith("plain DP as strict: the same planner under one ε for all pairs") for row in rows)
    assert "share 100 % of every pair's ε may be used: nothing is certain to be left for other releases" in rows
    assert any(row.startswith("certified for every pair, exact arithmetic") for row in rows)
    name = rows[0].split()[1]
    assert rows[-1] == f"Next: dxp release plan-{name}.json --data FILE --policy policy.toml"
    assert (town / f"plan-{name}.json").exists()
    assert not (town / "ledger.db").exists()


def test_planning_never_opens_data(town, dxp, monkeypatch):
    # The session first: imported after its engines were taken away, it would never have them again.
    monkeypatch.setattr("dxprivacy.session.session.open_data", None)
    monkeypatch.setattr("dxprivacy.engines.open_source", None)
    dxp("plan", "policy.toml", "count by sex").fine()


def test_the_json_of_a_plan_has_the_numbers_of_the_page_and_writes_nothing(town, dxp):
    questions = ("count by sex", "mean age")
    data = json.loads(dxp("plan", "policy.toml", *questions, "--rows", 400, "--method", "optimal", "--json").fine().out)
    assert not list(town.glob("plan-*"))
    page = dxp("plan", "policy.toml", *questions, "--rows", 400, "--method", "optimal").fine()
    assert page.out.startswith(f"Plan {data['name']} · {len(data['answers'])} answers")
    written = json.loads((town / f"plan-{data['name']}.json").read_text(encoding="utf-8"))
    assert written == data
    assert "file" not in written["policy"]  # a plan names no policy: it carries its digest
    male = next(row for row in squeezed(page.out) if row.startswith("M "))
    assert male.split()[2] == f"{data['answers'][0]['half_width_95']:g}"


def test_plan_out_says_where_and_json_can_be_written_too(town, dxp):
    called = dxp("plan", "policy.toml", "count by sex", "--out", "my plan.json").fine()
    assert called.lines[-1] == "Next: dxp release 'my plan.json' --data FILE --policy policy.toml"
    dxp("plan", "policy.toml", "count by sex", "--out", "other.json", "--json").fine()
    assert (town / "my plan.json").read_text() == (town / "other.json").read_text()


def test_one_answer_is_one_answer_and_an_exact_one_says_why(town, dxp):
    rows = squeezed(dxp("plan", "policy.toml", "count").fine().out)
    assert rows[0].endswith("· 1 answer · 10 % of the policy · nothing spent, no data read")
    assert "count 0 exact nothing: public, or the same for all records" in rows
    assert "none: the policy does not limit these answers" in rows


def test_many_answers_are_grouped_and_all_shows_each(town, dxp):
    short = dxp("plan", "policy.toml", "table sex by age").fine()
    assert any(row.startswith("count by sex, age, all 20 ") for row in squeezed(short.out))
    full = dxp("plan", "policy.toml", "table sex by age", "--all").fine()
    labels = [f"{s}, age {a}" for s in "MF" for a in range(10)]
    assert all(any(row.startswith(f"{label} ") for row in squeezed(full.out)) for label in labels)
    assert not any(row.endswith(" –") for row in squeezed(full.out))  # each names the pair that limits it


def test_why_explains_one_answer_by_its_pair(town, dxp):
    asked = ("count by sex", "--why", "F", "--method", "optimal", "--share", "100%")
    out = " ".join(dxp("plan", "policy.toml", *asked).fine().out.split())
    assert (
        "Why F Moving one person from M to F changes 2 answers. The policy lets that move show by ε 1 in total" in out
    )
    wrong = dxp("plan", "policy.toml", "count by state", "--why", "New Jersei")
    assert wrong.code == 4
    assert "New Jersey   did you mean this?" in wrong.err


def test_half_of_the_share_doubles_the_error_and_the_page_says_so(town, dxp):
    full, half = (
        json.loads(dxp("plan", "policy.toml", "sum age", "--share", s, "--json").fine().out) for s in ("100%", "50%")
    )
    assert half["answers"][0]["rmse"] == pytest.approx(2 * full["answers"][0]["rmse"], rel=0.1)
    assert "· 50 % of the policy ·" in dxp("plan", "policy.toml", "sum age", "--share", "0.5").out


def test_numbers_on_the_page_have_at_most_three_significant_digits_below_a_thousand(town, dxp):
    page = dxp("plan", "policy.toml", "mean elevation", "count by state", "table sex by age", "--rows", 400).fine().out
    page = re.sub(r"^Plan .*|^Next: .*", "", page, flags=re.MULTILINE)
    numbers = re.findall(r"(?<![\w.,])\d+\.\d+(?![\w])", page)
    assert numbers
    assert all(len(n.replace(".", "").lstrip("0")) <= 3 for n in numbers)


# -- release -----------------------------------------------------------------------------------------------------------


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


def test_release_reserves_counts_writes_and_promises(town, dxp, planned, known_noise):
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
    assert "Intervals cover privacy noise and cells, not sampling error." in rows
    promise = " ".join(rows[rows.index("Promise") + 1 : -2])
    assert "1. If any one record i is replaced by another record j" in promise
    assert "the number of records (400) is treated as public" in promise
    assert "2. Added over every release in ledger.db, L(i,j) stays at or below the policy's ε" in promise
    assert "3. In plain differential-privacy terms this release is ε = " in promise
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
    assert len(stored["promise"]) == 3
    assert {"certificate", "scales", "ledger", "policy", "universe", "questions", "software"} <= set(stored)
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
    made = dxp("plan", "policy.toml", "count by sex", "--share", "40%", "--method", "optimal").fine()
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
        f"  8 more in release-{name}.csv. Intervals cover privacy noise and cells, not sampling error." in called.lines
    )
    assert len((town / f"release-{name}.csv").read_text().splitlines()) == 21
    full = dxp("release", plan.name, "--data", "people.csv", *CURATOR, "--all").fine()
    assert "more in" not in full.out


def test_exact_answers_say_so(town, dxp, planned):
    called = dxp("release", planned("count").name, "--data", "people.csv", *CURATOR).fine()
    assert any(r.startswith("count 400 exact: the policy calls this public") for r in squeezed(called.out))


# -- ledger ------------------------------------------------------------------------------------------------------------


def test_the_ledger_shows_what_was_spent_and_what_is_left(town, dxp):
    for question, share in (("count by sex", "25%"), ("count by age/5", "40%")):
        plan = dxp("plan", "policy.toml", question, "--share", share, "--method", "optimal").fine().lines[-1].split()[3]
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
    assert data["used_by_attribute"]["sex"]["share"] == pytest.approx(0.25)
    assert data["used_by_attribute"]["home"] == {"share": 0.0}


def test_between_two_records_the_ledger_tells_allowed_spent_and_left(town, dxp):
    made = dxp("plan", "policy.toml", "count by age/5", "--share", "40%", "--method", "optimal").fine()
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
    assert apart.lines[1] == "  Nothing released so far tells the two apart."


def test_records_are_named_as_the_ledger_names_them_commas_included(demo, dxp):
    ledger = demo[0] / "my demo" / "ledger.db"
    shown = dxp("ledger", ledger).fine()
    assert "--between home=Washington 'home=Arlington, Virginia'" in shown.lines[-1]
    told = dxp("ledger", ledger, "--between", "home=Washington", "home=Arlington, Virginia").fine()
    assert "(entry 1) · left 0" in told.lines[0]


def test_a_ledger_without_releases_says_so(town, dxp, planned):
    from dxprivacy.ledger import Ledger
    from dxprivacy.policy import Policy

    policy = Policy.load("policy.toml")
    Ledger.open("ledger.db", policy.metric, dataset=policy.dataset).close()
    called = dxp("ledger", "ledger.db").fine()
    assert called.lines[0].startswith("0 releases · chain intact · worst case so far ε 0 of ")
    assert "  nothing released yet" in called.lines


# -- the terminal ------------------------------------------------------------------------------------------------------


def test_nothing_that_is_piped_has_colours_or_tags(town, dxp, planned):
    plan = planned("count by sex")
    for call in (
        ("check", "policy.toml"),
        ("plan", "policy.toml", "count by state"),
        ("release", plan.name, "--data", "people.csv", *CURATOR),
        ("ledger", "ledger.db"),
        ("check", "nothing.toml"),
    ):
        called = dxp(*call)
        assert "\x1b" not in called.out + called.err
        assert "⟦" not in called.out + called.err


def test_a_terminal_gets_colours_unless_it_asks_for_none(town):
    seen = {}
    for setting in ({}, {"NO_COLOR": "1"}):
        reader, writer = pty.openpty()
        environment = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | {"TERM": "xterm"} | setting
        run = subprocess.run([DXP, "check", "policy.toml"], env=environment, stdout=writer, stderr=subprocess.DEVNULL)
        os.close(writer)
        text = os.read(reader, 100_000).decode("utf-8")
        os.close(reader)
        assert run.returncode == 0
        assert "A small town" in text
        seen[bool(setting)] = text
    assert "\x1b[32m✓\x1b[0m valid" in seen[False]
    assert "\x1b" not in seen[True]


def test_a_stream_that_knows_only_ascii_gets_ascii(town):
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    script = "import sys; from dxprivacy.cli import main; main()"
    texts = []
    for arguments in (["check", "policy.toml"], ["check", "policy.toml", "--json"], ["check", "nothing.toml"]):
        run = subprocess.run([sys.executable, "-c", script, *arguments], env=environment, capture_output=True)
        texts.append((run.stdout + run.stderr).decode("ascii"))
    assert texts[0].startswith("+ valid - A small town - one record replaced, n public")
    assert "Hoboken - New York City" in texts[0]
    assert json.loads(texts[1])["attributes"][2]["strictest_pair"] == "Hoboken – New York City"
    assert texts[2].startswith("x nothing.toml - no such file\n  > dxp demo")


class Screen(io.StringIO):
    def isatty(self):
        return True


def test_progress_shows_on_a_terminal_only_for_long_work(monkeypatch):
    for after, shown in ((60.0, False), (0.0, True)):
        screen = Screen()
        monkeypatch.setattr(sys, "stderr", screen)
        with working("planning", after=after):
            time.sleep(0.3 if shown else 0)
        assert ("planning" in screen.getvalue()) is shown
    monkeypatch.setattr(sys, "stderr", piped := io.StringIO())
    with working("planning", after=0.0):
        time.sleep(0.05)
    assert piped.getvalue() == ""


def test_a_long_plan_says_so_in_one_line_where_there_is_no_terminal(monkeypatch):
    for pause, said in ((0.0, ""), (0.5, "planning …\n")):
        monkeypatch.setattr(sys, "stderr", piped := io.StringIO())
        with working("planning", in_files=0.1):
            time.sleep(pause)
        assert piped.getvalue() == said


def test_names_from_files_cannot_steer_a_terminal(town, dxp):
    text = (town / "places.csv").read_text().replace("Hoboken", "\x1b]0;owned\x07Hob\x1b[2Joken")
    (town / "places.csv").write_text(text)
    called = dxp("check", "policy.toml").fine()
    assert "\x1b" not in called.out
    assert "\x07" not in called.out
    assert "\ufffd[2Joken" in called.out


def test_a_reader_that_stops_early_sees_no_traceback(town):
    command = f"'{DXP}' plan policy.toml 'table sex by age' --all --rows 400 | head -1"
    run = subprocess.run(["bash", "-c", command], capture_output=True, encoding="utf-8", env=os.environ)
    assert run.stdout.startswith("Plan ")
    assert "Traceback" not in run.stderr
    assert "Exception" not in run.stderr
