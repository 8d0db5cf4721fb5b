"""What `dxp` refuses: one clear message, the exit code of UX.md, nothing spent, and a traceback only with --debug."""

import fcntl
import functools
import json
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from contracts.curator import CURATOR
from dxprivacy.errors import PolicyError
from dxprivacy.formats.canonical import sealed
from dxprivacy.ledger import Ledger


def spent(dxp, ledger="ledger.db"):
    """What the ledger holds."""
    return json.loads(dxp("ledger", ledger, "--json").fine().out)["entries"]


def refused(called, code, *words):
    """The form of every refusal: nothing on stdout, a marked headline and what to do on stderr, no traceback."""
    assert called.code == code, called
    assert called.out == ""
    assert called.err.startswith("✗ ")
    assert "Traceback" not in called.err
    assert "unexpected" not in called.err
    flat = " ".join(called.err.split())
    for word in words:
        assert word in flat, called.err
    return called


# -- 2: usage ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["plan", "policy.toml", "count", "--epsilon", "1"], ["ε belongs to the policy file", "--budget 25%"]),
        (["plan", "policy.toml", "count", "--epsilon=1"], ["ε belongs to the policy file"]),
        (["release", "p.json", "--data", "d", "--seed", "1"], ["a seed would let anyone subtract it"]),
        (["release", "p.json", "--data", "d", "--force"], ["nothing can be forced: a refusal protects someone"]),
        (["--force", "demo"], ["nothing can be forced"]),
        (["ledger", "l.db", "--force"], ["nothing can be forced"]),
        (["chek", "policy.toml"], ["no command “chek”", "check did you mean this?"]),
        (["zzz"], ["no command “zzz”", "dxp --help"]),
        (["plan"], ["POLICY is missing", "dxp plan --help"]),
        (["plan", "policy.toml"], ["QUERIES... is missing", "dxp plan --help"]),
        (
            ["plan", "policy.toml", "count", "--n-recordz", "5"],
            ["no option --n-recordz", "--n-records did you mean"],
        ),
        (["plan", "policy.toml", "count", "--n-records", "0"], ["--n-records", "0 is not in the range"]),
        (["plan", "policy.toml", "count", "--n-records", "many"], ["--n-records", "'many'"]),
        (["plan", "policy.toml", "count", "--n-records"], ["--n-records", "requires an argument"]),
        (["plan", "policy.toml", "count", "--budget", "0"], ["budget is 0; give a percentage", "25%"]),
        (["plan", "policy.toml", "count", "--budget", "150%"], ["budget is 150%; it must be"]),
        (["plan", "policy.toml", "count", "--budget", "lots"], ["budget is lots; give a percentage"]),
        (["plan", "policy.toml", "count", "--method", "magic"], ["no method “magic”", "same-scale"]),
        (["plan", "policy.toml", ""], ["the query is empty", "count by sex"]),
        (["release", "p.json"], ["--data is missing", "dxp release --help"]),
        (["release", "nothing.json", "--data", "people.csv", *CURATOR], ["cannot read nothing.json"]),
        (["release", "people.csv", "--data", "people.csv", *CURATOR], ["people.csv is not JSON"]),
        (["check", "policy.toml", "--list", "secrets"], ["--list", "'public', 'identical', 'tightened'"]),
        (["check", "policy.toml", "more"], ["unexpected extra argument"]),
    ],
)
def test_a_call_that_cannot_be_understood_ends_with_2_and_says_what_to_do(town, dxp, arguments, words):
    called = dxp(*arguments)
    assert called.code == 2, called
    assert called.out == ""
    assert called.err.startswith("✗ ")
    flat = " ".join(called.err.split())
    for word in words:
        assert word in flat


@pytest.mark.parametrize("target", ["file.txt", "file.txt/deeper", "/proc/nowhere"])
def test_an_output_that_cannot_be_written_is_noticed_before_anything_is_spent(town, dxp, planned, target):
    plan = planned("count by sex")
    (town / "file.txt").write_text("not a folder")
    refused(
        dxp("release", plan.name, "--data", "people.csv", *CURATOR, "--out", target),
        2,
        "cannot write to",
        "Nothing spent",
    )
    assert not (town / "ledger.db").exists()


def test_a_plan_that_cannot_be_written_says_so(town, dxp):
    refused(dxp("plan", "policy.toml", "count", "--out", "no/such/folder/p.json"), 2, "cannot write no/such/folder")


@pytest.mark.parametrize("record", ["age", "=5", "age=4,age=5", ""])
def test_a_record_is_written_as_attribute_and_value(town, dxp, planned, record):
    dxp("release", planned("count by sex").name, "--data", "people.csv", *CURATOR).fine()
    refused(dxp("ledger", "ledger.db", "--between", record, "age=5"), 2, "is not a record", "age=64")


# -- 3: policy ---------------------------------------------------------------------------------------------------------


def test_a_policy_that_is_wrong_ends_with_3_and_shows_its_line(town, dxp):
    text = (town / "policy.toml").read_text().replace("epsilon = 0.5\n", "epsilon = -0.5\n")
    (town / "policy.toml").write_text(text)
    for command in (("check", "policy.toml"), ("plan", "policy.toml", "count")):
        called = refused(dxp(*command), 3, "policy.toml:10 · epsilon is -0.5; it must be positive")
        assert "     10 │ epsilon = -0.5" in called.err


def test_a_missing_policy_ends_with_3(town, dxp):
    refused(dxp("check", "nothing.toml"), 3, "nothing.toml · no such file", "dxp demo --write demo/")


def test_a_policy_that_is_gone_ends_with_3(town, dxp, planned):
    plan = planned("count by sex")
    (town / "policy.toml").rename(town / "moved.toml")
    refused(dxp("release", plan.name, "--data", "people.csv", *CURATOR), 3, "policy.toml · no such file")
    dxp("release", plan.name, "--data", "people.csv", *CURATOR, "--policy", "moved.toml").fine()
    dxp("ledger", "ledger.db").fine()  # the ledger knows its policy
    dxp("ledger", "ledger.db", "--policy", "moved.toml").fine()


# -- 4: query -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("count by gender", ["no attribute “gender”", "there are: sex, age, home"]),
        ("count by sexx", ["no attribute “sexx” · did you mean sex?"]),
        ("count by stat", ["did you mean state?"]),
        ("mode age", ["“mode” is not a query"]),
        ("cuont by sex", ["“cuont” is not a query", "count did you mean this?"]),
        ("count by", ["by what?"]),
        ("mean", ["mean of what?"]),
        ("mean age", ["depends on the number of records", "--n-records 20000"]),
        ("sum sex", ["sex has no numbers to add up"]),
        ("count by sex/2", ["sex has no numbers"]),
        ("count where sex=X", ["sex has no value 'X'"]),
        ("count where state='New Jersei'", ["New Jersey did you mean this?"]),
        ("count by sex within 5 m", ["the target is in m, but the answer has no unit"]),
        ("sum elevation within 5 km", ["the target is in km, but the answer is in m"]),
        ("count by sex within -5", ["a target is positive"]),
        ("count by home, state", ["one attribute can be grouped only once"]),
    ],
)
def test_a_query_that_cannot_be_asked_ends_with_4(town, dxp, query, words):
    refused(dxp("plan", "policy.toml", query), 4, *words)
    assert not list(town.glob("plan-*"))


def test_a_query_that_separates_identical_records_names_them(town, dxp):
    with (town / "places.csv").open("a") as file:
        file.write("5,West Trenton,New Jersey,40.21705,-74.74294,16\n")
    refused(
        dxp("plan", "policy.toml", "count by home"),
        4,
        "separates records the policy calls identical",
        "Trenton and West Trenton have ε 0: no noise is enough.",
    )
    dxp("plan", "policy.toml", "count by state").fine()


def test_a_plan_edited_to_have_less_noise_is_refused(town, dxp, planned):
    plan = planned("count by sex")
    data = json.loads(plan.read_text())
    data["scales"] = [(float.fromhex(s) * 0.999).hex() for s in data["scales"]]
    plan.write_text(json.dumps(sealed(data)))
    refused(dxp("release", plan.name, "--data", "people.csv", *CURATOR), 4, "the scales were changed after planning")
    data["scales"] = ["0x0p+0"] * len(data["scales"])
    plan.write_text(json.dumps(sealed(data)))
    refused(dxp("release", plan.name, "--data", "people.csv", *CURATOR), 4)
    assert not (town / "ledger.db").exists()


@pytest.mark.parametrize(
    "change",
    [
        {"budget": "2"},
        {"budget": "-1"},
        {"budget": "1/0"},
        {"budget": None},
        {"rows": -5},
        {"rows": "many"},
        {"scales": ["nan", "nan"]},
        {"scales": ["inf", "inf"]},
        {"scales": ["-0x1p+1", "-0x1p+1"]},
        {"scales": ["0x1p+1"]},
        {"scales": "abc"},
        {"scales": None},
        {"queries": []},
        {"queries": [{"ask": "everything"}]},
        {"queries": [{"by": ["sex"]}]},
        {"queries": 7},
        {"format": "dxprivacy-plan/99"},
        {"policy": {}},
    ],
)
def test_a_damaged_plan_is_refused_before_anything_is_spent(town, dxp, planned, change):
    plan = planned("count by sex")
    plan.write_text(json.dumps(sealed(json.loads(plan.read_text()) | change)))
    called = dxp("release", plan.name, "--data", "people.csv", *CURATOR, "--policy", "policy.toml")
    assert called.code in (2, 4), called
    assert called.err.startswith("✗ ")
    assert "unexpected" not in called.err
    assert not (town / "ledger.db").exists()


def test_less_noise_than_planned_cannot_be_had_by_editing_what_the_plan_says_of_itself(town, dxp, planned):
    plan = planned("count by sex")
    data = json.loads(plan.read_text())
    data["certificate"] = {"ratio": "0", "rule": "trust me"}
    data["request"] = data["name"] = "0000"
    plan.write_text(json.dumps(data))
    assert "seal" in dxp("release", plan.name, "--data", "people.csv", *CURATOR).err
    plan.write_text(json.dumps(sealed(data)))
    dxp("release", plan.name, "--data", "people.csv", *CURATOR).fine()
    assert json.loads(dxp("ledger", "ledger.db", "--json").out)["used_by_attribute"]["sex"]["used"] == pytest.approx(1)


def test_the_plan_of_another_policy_is_refused(town, dxp, planned):
    plan = planned("count by sex")
    text = (town / "policy.toml").read_text()
    (town / "policy.toml").write_text(text.replace("epsilon = 1.0", "epsilon = 3.0"))
    refused(dxp("release", plan.name, "--data", "people.csv", *CURATOR), 2, "the plan was made for another policy")
    (town / "policy.toml").write_text(text.replace("town-1", "town-2"))
    refused(dxp("release", plan.name, "--data", "people.csv", *CURATOR), 2, "the plan was made for another policy")


# -- 5: budget ---------------------------------------------------------------------------------------------------------


def test_a_plan_that_exceeds_what_is_left_ends_with_5_names_the_pair_and_spends_nothing(town, dxp, planned):
    first, second = planned("count by sex"), planned("table sex by age")
    dxp("release", first.name, "--data", "people.csv", *CURATOR).fine()
    before = spent(dxp)
    called = dxp("release", second.name, "--data", "people.csv", *CURATOR)
    refused(called, 5, "budget exceeded · nothing spent, no data read", "M – F has 0 left of 1; this plan needs")
    assert spent(dxp) == before
    assert not list(town.glob(f"release-{second.stem.removeprefix('plan-')}*"))


def test_the_advice_on_an_exceeded_budget_works(town, dxp):
    make = ["plan", "policy.toml", "count by sex", "--budget"]
    half = dxp(*make, "60%").fine().lines[-1].split()[3]
    dxp("release", half, "--data", "people.csv", *CURATOR).fine()
    full = dxp("plan", "policy.toml", "count where sex=F", "--budget", "100%").fine().lines[-1].split()[3]
    called = refused(
        dxp("release", full, "--data", "people.csv", *CURATOR), 5, "has 0.4 left of 1; this plan needs 1.", "fits;"
    )
    advice = called.err.split("--budget ")[1].split()[0]
    fitting = dxp("plan", "policy.toml", "count where sex=F", "--budget", advice).fine().lines[-1].split()[3]
    dxp("release", fitting, "--data", "people.csv", *CURATOR).fine()


# -- 6: data -----------------------------------------------------------------------------------------------------------


def test_missing_and_unreadable_data_ends_with_6_and_spends_nothing(town, dxp, planned):
    plan = planned("count by sex")
    (town / "empty.csv").write_text("")
    (town / "data.sav").write_text("x")
    (town / "broken.parquet").write_text("PAR1 not really")
    for name, words in {
        "nothing.csv": "there is no such file",
        "empty.csv": "is empty",
        "data.sav": "the ending “.sav” is not known",
        "waves/*.csv": "no file matches",
        "town.duckdb::people": "there is no such file",
        ".": "is a directory",
        "broken.parquet": "broken.parquet",
    }.items():
        refused(dxp("release", plan.name, "--data", name, *CURATOR), 6, words)
    assert not (town / "ledger.db").exists()


def test_an_unknown_column_ends_with_6_and_is_asked_back(town, dxp, planned):
    plan = planned("count by sex")
    text = (town / "people.csv").read_text()
    (town / "people.csv").write_text(text.replace("sex,age,home,note", "sex,agee,home,note"))
    called = refused(
        dxp("release", plan.name, "--data", "people.csv", *CURATOR), 6, "no column “age”", "agee did you mean this?"
    )
    assert "Planted" not in called.err
    (town / "people.csv").write_text(text.partition("\n")[2])
    called = refused(
        dxp("release", plan.name, "--data", "people.csv", *CURATOR), 6, "no column", "the first line must name"
    )
    assert "Planted" not in called.err


def test_a_column_of_the_wrong_type_ends_with_6_and_only_the_schema_was_read(town, dxp, planned):
    plan = planned("count by sex")
    table = pa.table({"sex": ["M"], "age": ["Planted"], "home": [1]})
    pq.write_table(table, town / "people.parquet")
    called = refused(
        dxp("release", plan.name, "--data", "people.parquet", *CURATOR),
        6,
        "people.parquet does not fit · column age is text, the policy needs whole numbers",
        "Only the schema was read.",
    )
    assert "Planted" not in called.err


def test_single_bad_rows_never_stop_a_release(town, dxp, planned):
    bad = 'X,-5,99,n\n,,,\n"unclosed,1,1\nM,5.5,New York City\n,NaN,inf,a,b,c,d\n\x00,\xff,1\n'
    with (town / "people.csv").open("a", encoding="latin-1") as file:
        file.write(bad)
    called = dxp("release", planned("count by sex").name, "--data", "people.csv", *CURATOR).fine()
    assert "n = 406 (public)" in called.out


# -- 7: ledger ---------------------------------------------------------------------------------------------------------


def test_a_missing_ledger_ends_with_7(town, dxp):
    refused(dxp("ledger", "nothing.db"), 7, "nothing.db · no ledger here", "dxp release … --new-ledger starts one")
    assert not (town / "nothing.db").exists()


def test_a_ledger_of_another_dataset_ends_with_7(town, dxp, planned):
    dxp("release", planned("count by sex").name, "--data", "people.csv", *CURATOR).fine()
    text = (town / "policy.toml").read_text()
    (town / "other.toml").write_text(text.replace("town-1", "town-2"))
    refused(dxp("ledger", "ledger.db", "--policy", "other.toml"), 7, "belongs to dataset “town-1”, not “town-2”")
    plan = dxp("plan", "other.toml", "count by age").fine().lines[-1].split()[3]
    refused(
        dxp("release", plan, "--data", "people.csv", "--policy", "other.toml", "--ledger", "ledger.db"),
        7,
        "belongs to dataset “town-1”",
    )
    assert len(spent(dxp)) == 1


def test_a_ledger_of_another_version_of_the_policy_ends_with_7(town, dxp, planned):
    dxp("release", planned("count by sex").name, "--data", "people.csv", *CURATOR).fine()
    text = (town / "policy.toml").read_text()
    (town / "looser.toml").write_text(text.replace("epsilon = 1.0", "epsilon = 100.0", 1))
    refused(dxp("ledger", "ledger.db", "--policy", "looser.toml"), 7, "another version of the policy")
    plan = dxp("plan", "looser.toml", "count by sex").fine().lines[-1].split()[3]
    refused(
        dxp("release", plan, "--data", "people.csv", "--policy", "looser.toml", "--ledger", "ledger.db"),
        7,
        "another version of the policy",
    )


@pytest.mark.parametrize("damage", ["garbage", "truncated", "no witness", "witness gone on", "edited", "folder"])
def test_a_corrupt_ledger_ends_with_7_and_answers_nothing(town, dxp, planned, damage):
    first, second = planned("count by sex"), planned("count by age")
    dxp("release", first.name, "--data", "people.csv", *CURATOR).fine()
    ledger, witness = town / "ledger.db", town / "ledger.db.witness"
    match damage:
        case "garbage":
            ledger.write_bytes(b"not a database at all, but long enough to look at" * 40)
        case "truncated":
            ledger.write_bytes(ledger.read_bytes()[:5000])
        case "no witness":
            witness.unlink()
        case "witness gone on":
            witness.write_text(witness.read_text() + f"4 {'0' * 64}\n")
        case "edited":
            content = ledger.read_bytes()
            assert b"count by sex" in content
            ledger.write_bytes(content.replace(b"count by sex", b"count by age"))
        case "folder":
            ledger.unlink()
            witness.unlink()
            ledger.mkdir()
    for call in (("release", second.name, "--data", "people.csv", *CURATOR), ("ledger", "ledger.db")):
        refused(dxp(*call), 7, "ledger.db")
    assert not list(town.glob(f"release-{second.stem.removeprefix('plan-')}*"))


def test_a_ledger_that_another_process_holds_ends_with_7_after_waiting(town, dxp, planned, monkeypatch):
    first, second = planned("count by sex"), planned("count by age")
    dxp("release", first.name, "--data", "people.csv", *CURATOR).fine()
    impatient = classmethod(functools.partial(Ledger.open.__func__, timeout=0.05))
    monkeypatch.setattr(Ledger, "open", impatient)
    with (town / "ledger.db.witness").open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        refused(
            dxp("release", second.name, "--data", "people.csv", *CURATOR), 7, "locked by another process", "try again"
        )
    dxp("release", second.name, "--data", "people.csv", *CURATOR).fine()
    assert len(spent(dxp)) == 2


def test_a_release_that_crashed_has_spent_and_is_not_answered_by_chance(town, dxp, planned, monkeypatch):
    plan = planned("count by sex")
    with monkeypatch.context() as patch:
        patch.setattr("dxprivacy.mechanisms.linear.plan.noisy_rows", None)
        assert dxp("release", plan.name, "--data", "people.csv", *CURATOR).code == 1
    refused(
        dxp("release", plan.name, "--data", "people.csv", *CURATOR), 7, "reserved but never answered", "--request NAME"
    )
    assert len(spent(dxp)) == 1


# -- whatever happens --------------------------------------------------------------------------------------------------


def test_refusals_in_json_have_the_same_fields_on_stdout(town, dxp):
    called = dxp("plan", "policy.toml", "count by sexx", "--json")
    assert (called.code, called.err) == (4, "")
    data = json.loads(called.out)
    assert data["error"] == "QueryError"
    assert data["exit_code"] == 4
    assert "no attribute “sexx”" in data["what"]
    usage = dxp("plan", "policy.toml", "count", "--epsilon", "1", "--json")
    assert (usage.code, json.loads(usage.out)["where"]) == (2, "--epsilon")


@pytest.mark.parametrize("arguments", [["--debug", "check", "x.toml"], ["check", "x.toml", "--debug"]])
def test_a_traceback_comes_only_with_debug_wherever_it_stands(town, dxp, monkeypatch, arguments):
    from dxprivacy.cli import main

    assert "Traceback" not in dxp("check", "x.toml").err
    monkeypatch.setattr(sys, "argv", ["dxp", *arguments])
    with pytest.raises(PolicyError):
        main()


def test_an_unexpected_error_ends_with_1_and_its_text_is_not_shown(town, dxp, monkeypatch):
    plan = dxp("plan", "policy.toml", "count by sex", "--budget", "30%").fine().lines[-1].split()[3]

    def fail(*_):
        raise RuntimeError("Planted-Person-7 lives here")

    monkeypatch.setattr("dxprivacy.engines.files.csv_lines.CsvFile.count", fail)
    for extra in ([], ["--json"]):
        called = dxp("release", plan, "--data", "people.csv", *CURATOR, "--request", f"r{len(extra)}", *extra)
        assert called.code == 1
        assert "Planted" not in called.out + called.err
        assert "this is a bug" in called.out + called.err


def test_stopping_by_hand_behind_the_reservation_says_what_is_spent(town, dxp, planned, monkeypatch):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("dxprivacy.session.session.counted", stopped)
    words = ("--data", "people.csv", "--policy", "policy.toml", "--new-ledger")
    called = dxp("release", planned("count by sex"), *words)
    assert called.code == 130
    assert "entry 1 in ledger.db) and stays spent" in called.err


def test_stopping_by_hand_ends_with_130(town, dxp, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("dxprivacy.policy.Policy.load", stop)
    called = dxp("check", "policy.toml")
    assert (called.code, called.err.strip()) == (130, "stopped")


def test_links_that_go_round_in_a_circle_are_refused_in_plain_words(town, dxp, planned):
    plan = planned("count by sex")
    (town / "loop").symlink_to("loop")
    (town / "round").mkdir()
    (town / "round" / "a").symlink_to("b")
    (town / "round" / "b").symlink_to("a")
    for call in (
        ("ledger", "loop"),
        ("ledger", "round/a/l.db"),
        ("ledger", "loop", "--export", "rows.jsonl"),
        ("init", "loop", "--out", "n.toml"),
        ("init", "people.csv", "--out", "loop"),
        ("init", "people.csv", "--out", "round/a/n.toml"),
        ("plan", "policy.toml", "count", "--ledger", "loop"),
        ("plan", "loop", "count"),
        ("release", plan.name, "--data", "loop", "--policy", "policy.toml", "--new-ledger"),
        ("release", plan.name, "--data", "loop.duckdb::people", "--policy", "policy.toml", "--new-ledger"),
        ("release", plan.name, "--data", "people.csv", "--policy", "policy.toml", "--ledger", "loop", "--new-ledger"),
        ("release", plan.name, "--data", "people.csv", "--policy", "policy.toml", "--out", "loop"),
        ("verify", "loop"),
        ("verify", plan.name, "--ledger", "loop"),
        ("check", "loop"),
    ):
        called = dxp(*call)
        assert called.code, call
        assert "bug" not in called.err, (call, called.err)
        assert called.err.strip(), call
