"""`dxp plan`: the screen says what UX.md guarantees, `--json` has the same numbers."""

import json
import re
import shlex

import pytest
from squeezing import squeezed


def test_plan_shows_errors_in_own_units_before_anything_is_spent(town, dxp):
    asked = ("mean elevation within 2 m", "count by sex")
    called = dxp("plan", "policy.toml", *asked, "--n-records", 4000, "--budget", "100%").fine()
    rows = squeezed(called.out)
    assert re.fullmatch(r"Plan [0-9a-f]{4} · 3 answers · 100 % of the policy · nothing spent, no data read", rows[0])
    assert rows[2] == "typical error ± 95 % target standard DP* at worst-case ε limited by"
    plain = r"ε 0\.\d+ ± [\d.]+ m [\d.]+× ± [\d.]+ m"
    assert re.match(rf"mean elevation [\d.]+ m [\d.]+ m 2 m {plain} nothing: target reached", rows[3])
    assert any(re.fullmatch(r"M 1\.92 6 ε 1 ± 6 1× ± \d+ M – F", row) for row in rows)
    limit = "Why not better Moving one person from M to F changes 2 answers. The policy allows that move"
    assert limit in " ".join(called.out.split())
    assert "Budget it would use" in rows
    assert any(re.fullmatch(r"worst case ε [\d.]+ in standard-DP terms: .* – .*", row) for row in rows)
    assert any(
        row.startswith("* Standard DP at the strictest ε: the same planner under one ε for all pairs") for row in rows
    )
    assert "budget 100 % of every pair's ε may be used: nothing is certain to be left for other releases" in rows
    assert any(row.startswith("certified for every pair, exact arithmetic") for row in rows)
    name = rows[0].split()[1]
    assert rows[-1] == f"Next: dxp release plan-{name}.json --data FILE --policy policy.toml --new-ledger"
    assert (town / f"plan-{name}.json").exists()
    assert not (town / "ledger.db").exists()


def test_planning_never_opens_data(town, dxp, monkeypatch):
    # The session first: imported after its engines were taken away, it would never have them again.
    monkeypatch.setattr("dxprivacy.session.session.open_data", None)
    monkeypatch.setattr("dxprivacy.engines.open_source", None)
    dxp("plan", "policy.toml", "count by sex").fine()


def test_the_json_of_a_plan_has_the_numbers_of_the_page_and_writes_nothing(town, dxp):
    queries = ("count by sex", "mean age")
    data = json.loads(
        dxp("plan", "policy.toml", *queries, "--n-records", 400, "--method", "optimal", "--json").fine().out
    )
    assert not list(town.glob("plan-*"))
    page = dxp("plan", "policy.toml", *queries, "--n-records", 400, "--method", "optimal").fine()
    assert page.out.startswith(f"Plan {data['name']} · {len(data['answers'])} answers")
    written = json.loads((town / f"plan-{data['name']}.json").read_text(encoding="utf-8"))
    assert written == data
    assert "file" not in written["policy"]  # a plan names no policy: it carries its digest
    male = next(row for row in squeezed(page.out) if row.startswith("M "))
    assert male.split()[2] == f"{data['answers'][0]['half_width_95']:g}"


def test_plan_out_says_where_and_json_can_be_written_too(town, dxp):
    called = dxp("plan", "policy.toml", "count by sex", "--out", "my plan.json").fine()
    assert called.lines[-1] == "Next: dxp release 'my plan.json' --data FILE --policy policy.toml --new-ledger"
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
    asked = ("count by sex", "--why", "F", "--method", "optimal", "--budget", "100%")
    out = " ".join(dxp("plan", "policy.toml", *asked).fine().out.split())
    assert (
        "Why F Moving one person from M to F changes 2 answers. "
        "The policy allows that move a privacy loss of ε 1 in total" in out
    )
    wrong = dxp("plan", "policy.toml", "count by state", "--why", "New Jersei")
    assert wrong.code == 4
    assert "New Jersey   did you mean this?" in wrong.err


def test_half_of_the_share_doubles_the_error_and_the_page_says_so(town, dxp):
    full, half = (
        json.loads(dxp("plan", "policy.toml", "sum age", "--budget", s, "--json").fine().out) for s in ("100%", "50%")
    )
    assert half["answers"][0]["rmse"] == pytest.approx(2 * full["answers"][0]["rmse"], rel=0.1)
    assert "· 50 % of the policy ·" in dxp("plan", "policy.toml", "sum age", "--budget", "50%").out


def test_numbers_on_the_page_have_at_most_three_significant_digits_below_a_thousand(town, dxp):
    page = (
        dxp("plan", "policy.toml", "mean elevation", "count by state", "table sex by age", "--n-records", 400)
        .fine()
        .out
    )
    page = re.sub(r"^Plan .*|^Next: .*", "", page, flags=re.MULTILINE)
    numbers = re.findall(r"(?<![\w.,])\d+\.\d+(?![\w])", page)
    assert numbers
    assert all(len(n.replace(".", "").lstrip("0")) <= 3 for n in numbers)


@pytest.mark.parametrize(
    "asked",
    [
        ("plan", "policy.toml", "count by sex"),
        ("select", "policy.toml", "most common sex", "--n-records", "400"),
        ("synth", "policy.toml", "count by sex", "--n-records", "400"),
    ],
    ids=lambda asked: asked[0],
)
def test_the_next_step_works_when_it_is_pasted(town, dxp, asked):
    """Only FILE is to be replaced; where a ledger is there, none is started."""
    for starts in (True, False):
        step = dxp(*asked, "--budget", "50%").fine().lines[-1]
        assert step.startswith("Next: dxp ")
        assert ("--new-ledger" in step) == starts
        pasted = shlex.split(step.removeprefix("Next: dxp ").replace("FILE", "people.csv"))
        (town / "synthetic.csv").unlink(missing_ok=True)
        dxp(*pasted).fine()
        assert (town / "ledger.db").exists()


def test_the_next_command_of_a_comparison_works_when_pasted(town, dxp):
    told = dxp("plan", "policy.toml", "count by sex", "--compare", "--budget", "30%").fine().lines[-1]
    words = shlex.split(told.removeprefix("Next: dxp "))
    assert words[:5] == ["plan", "policy.toml", "count by sex", "--budget", "30%"]
    assert words[5] == "--method"
    dxp(*words).fine()
