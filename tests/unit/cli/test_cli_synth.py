"""`dxp synth`: what to expect before anything is spent, then records, a report and the next command."""

import json
import re
import sys
from pathlib import Path

import pytest

from dxprivacy.engines import open_source
from dxprivacy.ledger import Ledger
from dxprivacy.policy import Policy

ASKED = ("count by sex", "count by age")
SIMPLE = ("count by sex",)


def entries():
    if not Path("ledger.db").exists():
        return 0
    with Ledger.open("ledger.db", Policy.load("policy.toml"), new_ledger=True) as book:
        return len(book.entries())


def test_looking_ahead_says_which_method_is_better_and_spends_nothing(town, dxp):
    called = dxp("synth", "policy.toml", *ASKED, "--n-records", 400, "--budget", "50%").fine()
    assert "Nothing spent, no data read." in called.lines
    assert "direct is expected to be better" in called.lines[0]
    assert re.search(r"direct: about \d+ % of the error of guessing uniformly; mwem: about \d+ %", called.out)
    options = "--budget 50% --new-ledger --data FILE --out synthetic.csv"
    command = f"Next: dxp synth policy.toml 'count by sex' 'count by age' {options}"
    assert called.lines[-1] == command
    assert {p.name for p in town.iterdir()} == {"policy.toml", "places.csv", "people.csv"}


def test_records_a_report_and_a_release_are_written_and_read_back(town, dxp):
    called = dxp(
        "synth", "policy.toml", *ASKED, "--data", "people.csv", "--new-ledger", "--method", "direct", "--out", "s.csv"
    ).fine()
    assert "synthetic answers lie within the released 95 % intervals" in called.out
    assert "Guarantee" in called.out
    assert called.lines[-1] == "Next: dxp ledger ledger.db"
    assert entries() == 1
    source = open_source("s.csv")
    assert source.rows() == 400
    assert [c.name for c in source.columns()] == ["sex", "age", "home"]
    counts = source.count(Policy.load("policy.toml").universe).counts
    assert counts.sum() == 400
    report = json.loads((town / "s-report.json").read_text(encoding="utf-8"))
    assert report["compared"] == 12
    release = next(town.glob("release-*.json"))
    verify = next(line for line in called.lines if line.startswith("Next: dxp verify"))
    assert verify == f"Next: dxp verify {release.name} --ledger ledger.db"
    assert dxp("verify", release.name, "--ledger", "ledger.db").code == 0


@pytest.mark.parametrize("method", ["direct", "mwem"])
def test_the_same_command_again_needs_leave_to_replace_and_costs_nothing(town, dxp, method):
    rounds = ("--rounds", 2) if method == "mwem" else ()
    call = (
        "synth",
        "policy.toml",
        *SIMPLE,
        "--data",
        "people.csv",
        "--new-ledger",
        "--method",
        method,
        *rounds,
        "--out",
        "s.csv",
    )
    dxp(*call).fine()
    first, spent = (town / "s.csv").read_bytes(), entries()
    refused = dxp(*call)
    assert refused.code == 2
    assert "is there already" in refused.err
    assert "--overwrite" in refused.err
    again = dxp(*call, "--overwrite").fine()
    assert "nothing spent" in again.out
    assert (town / "s.csv").read_bytes() == first
    assert entries() == spent


def test_rounds_are_entries_of_their_own(town, dxp):
    call = ("synth", "policy.toml", *ASKED, "--data", "people.csv", "--new-ledger", "--method", "mwem", "--rounds", 3)
    called = dxp(*call, "--out", "s.parquet", "--anyway").fine()
    assert "entries 1 – 6 in ledger.db, each before its noise was drawn" in called.out
    assert open_source("s.parquet").rows() == 400
    assert not list(town.glob("release-*"))
    assert json.loads((town / "s-report.json").read_text(encoding="utf-8"))["plan"]["rounds"] == 3


def test_machines_get_the_report_and_no_file_unless_asked(town, dxp):
    ahead = json.loads(dxp("synth", "policy.toml", "count by sex", "--n-records", 400, "--json").fine().out)
    assert ahead["method"] == "direct"
    assert ahead["expected"]["direct"] < ahead["expected"]["mwem"]
    before = {p.name for p in town.iterdir()}
    call = ("synth", "policy.toml", *SIMPLE, "--data", "people.csv", "--new-ledger", "--method", "direct", "--json")
    data = json.loads(dxp(*call).fine().out)
    assert data["records"] == 400
    assert data["files"] == []
    assert data["repeated"] is False
    assert {p.name for p in town.iterdir()} - before <= {
        "ledger.db",
        "ledger.db.witness",
        "ledger.db-wal",
        "ledger.db-shm",
    }
    again = json.loads(dxp(*call, "--out", "s.csv").fine().out)
    assert again["repeated"] is True
    assert again["files"][:2] == ["s.csv", "s-report.json"]


def test_other_numbers_of_records_and_a_picture(town, dxp):
    call = (
        "synth",
        "policy.toml",
        *SIMPLE,
        "--data",
        "people.csv",
        "--new-ledger",
        "--method",
        "direct",
        "--out",
        "s.tsv",
    )
    dxp(*call, "--records", 50, "--plot", "s.svg").fine()
    assert len((town / "s.tsv").read_text(encoding="utf-8").splitlines()) == 51
    assert (town / "s.svg").read_text(encoding="utf-8").startswith("<svg")


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        (("--out", "no/folder.csv"), 2, "no such folder"),
        (("--out", "s.xlsx"), 2, "ends in"),
        (("--out", "."), 2, "ends in"),
        (("--out", "places.csv"), 2, "works with"),
        (("--out", "people.csv", "--overwrite"), 2, "works with"),
        (("--out", "policy.toml", "--overwrite"), 2, "works with|ends in"),
        (("--plot", "s.gif"), 2, "draw"),
        (("--plot", "no/s.png"), 2, "no such folder"),
        (("--n-records", "400"), 2, "taken from the data"),
        (("--method", "magic"), 2, "magic"),
        (("--method", "mwem", "--rounds", "0"), 2, "round"),
        (("--method", "mwem", "--rounds", "100000"), 2, "rounds"),
        (("--method", "mwem", "--passes", "-1"), 2, "passes"),
        (("--budget", "0%"), 2, "budget"),
        (("--budget", "101%"), 2, "budget"),
        (("--records", "0"), 2, "records"),
        (("--epsilon", "1"), 2, "policy file"),
        (("--seed", "1"), 2, "seed"),
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_is_spent(town, dxp, arguments, code, word):
    before = {p.name: p.read_bytes() for p in town.iterdir()}
    refused = dxp("synth", "policy.toml", *SIMPLE, "--data", "people.csv", "--new-ledger", *arguments)
    assert refused.code == code, refused.err
    assert re.search(word, refused.err)
    assert entries() == 0
    assert {name: (town / name).read_bytes() for name in before} == before


@pytest.mark.parametrize(
    ("call", "code", "word"),
    [
        (("policy.toml",), 2, "QUERIES"),
        (("policy.toml", "count by sex"), 2, "--n-records"),
        (("policy.toml", "count by shoe", "--n-records", "400"), 4, "shoe"),
        (("nowhere.toml", "count by sex"), 3, "no such file"),
        (("policy.toml", "count by sex", "--data", "nowhere.csv", "--new-ledger"), 6, "no such file"),
        (("policy.toml", "count by sex", "--out", "s.csv"), 2, "without data"),
        (("policy.toml", "count by sex", "--new-ledger"), 2, "without data"),
        (("policy.toml", "count by sex", "--n-records", "20", "--ledger", "l.db"), 7, "no ledger here"),
        (("policy.toml", "count by sex", "--queries", "none.toml"), 4, "no such file"),
    ],
)
def test_what_is_missing_is_said(town, dxp, call, code, word):
    refused = dxp("synth", *call)
    assert refused.code == code, refused.err
    assert word in refused.err
    assert not (town / "ledger.db").exists()


def test_without_the_extra_no_picture_and_nothing_spent(town, dxp, monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    refused = dxp("synth", "policy.toml", *ASKED, "--data", "people.csv", "--new-ledger", "--plot", "s.png")
    assert refused.code == 2
    assert entries() == 0


def test_what_does_not_fit_any_more_is_refused_with_a_way_out(town, dxp):
    call = (
        "synth",
        "policy.toml",
        *ASKED,
        "--data",
        "people.csv",
        "--new-ledger",
        "--method",
        "mwem",
        "--rounds",
        2,
        "--budget",
        "70%",
    )
    dxp(*call, "--out", "a.csv").fine()
    refused = dxp(*call, "--out", "b.csv", "--request", "again")
    assert refused.code == 5
    assert "--budget 30%" in refused.err or "--budget 29.9%" in refused.err
    assert entries() == 4
    assert not (town / "b.csv").exists()


def test_no_screen_and_no_file_shows_a_record_or_a_true_answer(town, dxp, known_noise, monkeypatch):
    monkeypatch.setattr(type(known_noise), "step", 111)  # what is alike could cancel out
    with (town / "people.csv").open("a", encoding="utf-8") as people:  # then 203 are M and 207 are F
        people.write("M,1,1,Planted-Person\n" * 3 + "F,1,1,Planted-Person\n" * 7)
    call = (
        "synth",
        "policy.toml",
        "count by sex",
        "--data",
        "people.csv",
        "--new-ledger",
        "--method",
        "direct",
        "--all",
    )
    called = dxp(*call, "--out", "s.csv").fine()
    report = (town / "s-report.json").read_text(encoding="utf-8")
    shown = called.out + report + (town / "s.csv").read_text(encoding="utf-8")
    assert "Planted" not in shown
    assert not re.search(r"\b20[37](\.0)?\b", called.out + report)
    assert "n = 410" in called.out
