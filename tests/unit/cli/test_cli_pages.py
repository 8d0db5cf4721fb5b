"""`--html` of check, plan and ledger: pages that load nothing, written only after what they need was found."""

import json
import re
import sys

import pytest
from test_cli_html import read

from contracts.curator import CURATOR


def text_of(path):
    return " ".join(read(path).words)


def test_check_writes_a_page_named_after_the_dataset(town, dxp):
    called = dxp("check", "policy.toml", "--html").fine()
    page = town / "check-town-1.html"
    assert "✓ written  check-town-1.html" in called.lines
    assert called.lines[-1].startswith("Next: dxp plan")
    reader = read(page)
    assert {"svg", "table", "ol", "pre"} <= reader.tags
    assert not reader.tags & {"script", "link", "img", "iframe"}
    assert not re.search(r"(?:href|src)=", page.read_text(encoding="utf-8"))
    text = text_of(page)
    assert "A small town" in text
    assert "dxp check policy.toml --html" in text
    assert 'dataset = "town-1"' in text


def test_plan_writes_its_page_beside_the_plan(town, dxp):
    called = dxp("plan", "policy.toml", "count by sex", "--html", "--method", "optimal").fine()
    name = called.lines[-1].split()[3].removesuffix(".json")
    text = text_of(town / f"{name}.html")
    assert "Nothing spent, no data read" in text
    assert "Budget it uses" in text
    (town / "sub").mkdir()
    dxp("plan", "policy.toml", "count by sex", "--html", "--method", "optimal", "--out", "sub/x.json").fine()
    assert (town / "sub" / "x.html").exists()


def test_plan_in_a_ledger_shows_before_and_after(town, dxp, planned):
    dxp("release", planned("count by sex").name, "--data", "people.csv", *CURATOR).fine()
    called = dxp("plan", "policy.toml", "count by age", "--ledger", "ledger.db", "--html", "--method", "optimal").fine()
    text = text_of(town / f"{called.lines[-1].split()[3].removesuffix('.json')}.html")
    assert "Budget before and after" in text
    assert "1 release in ledger.db" in text
    assert "used before" in text


def test_ledger_writes_a_page_without_a_true_answer(town, dxp, planned, known_noise):
    with (town / "people.csv").open("a", encoding="utf-8") as people:
        people.write("M,1,1,Planted-Person\n" * 3 + "F,1,1,Planted-Person\n" * 7)
    plan = planned("count by sex")
    dxp("release", plan.name, "--data", "people.csv", *CURATOR).fine()
    called = dxp("ledger", "ledger.db", "--html").fine()
    assert "✓ written  ledger-town-1.html" in called.lines
    text = text_of(town / "ledger-town-1.html")
    assert "1 release so far" in text
    assert "count by sex" in text
    assert "The chain is intact" in text
    assert not re.search(r"\b20[37]\b", text)
    assert "Planted-Person" not in text
    for page in town.glob("*.html"):
        assert "<script" not in page.read_text(encoding="utf-8")


def test_an_empty_ledger_has_a_page(town, dxp, planned):
    from contracts.unused_ledger import unused_ledger
    from dxprivacy.policy import Policy

    unused_ledger("ledger.db", Policy.load("policy.toml")).close()
    dxp("ledger", "ledger.db", "--html").fine()
    assert "No releases yet" in text_of(town / "ledger-town-1.html")


def test_machines_get_their_fields_and_the_page_is_written_too(town, dxp):
    plain = json.loads(dxp("check", "policy.toml", "--json").fine().out)
    assert json.loads(dxp("check", "policy.toml", "--json", "--html").fine().out) == plain
    assert (town / "check-town-1.html").exists()


@pytest.mark.parametrize("arguments", [("check", "none.toml"), ("plan", "none.toml", "count"), ("ledger", "none.db")])
def test_without_the_extra_nothing_is_begun(arguments, town, dxp, monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    refused = dxp(*arguments, "--html")
    assert refused.code == 2  # before the missing file is even looked for
    assert 'pip install "dxprivacy[plots]"' in refused.err
    assert not list(town.glob("*.html"))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("check", "policy.toml", "--diff", "policy.toml"), "do not go together"),
        (("plan", "policy.toml", "count", "--compare"), "--html"),
        (("plan", "policy.toml", "count", "--out", "x.html"), "both the plan and its page"),
        (("plan", "policy.toml", "count", "--out", "none/x.json"), "no such folder"),
        (("ledger", "ledger.db", "--between", "sex=M", "sex=F"), "different things"),
        (("ledger", "ledger.db", "--receipt", "1"), "different things"),
    ],
)
def test_what_has_no_page_is_refused(arguments, says, town, dxp):
    refused = dxp(*arguments, "--html")
    assert refused.code == 2
    assert says in refused.err
    assert not list(town.glob("*.html"))


def test_a_page_that_cannot_be_written_is_our_error(town, dxp):
    (town / "check-town-1.html").mkdir()
    refused = dxp("check", "policy.toml", "--html")
    assert refused.code == 2
    assert "cannot write check-town-1.html" in refused.err


def test_names_from_files_cannot_leave_the_folder(town, dxp):
    policy = town / "policy.toml"
    policy.write_text(policy.read_text(encoding="utf-8").replace('"town-1"', '"../<b>x/ü"'), encoding="utf-8")
    dxp("check", "policy.toml", "--html").fine()
    (page,) = town.glob("check-*.html")
    assert page.name == "check-b-x-ü.html"
    assert "<b>x" not in page.read_text(encoding="utf-8")
