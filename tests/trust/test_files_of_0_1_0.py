"""Files and ledgers made by version 0.1.0 stay readable, verifiable and replayable (made by it, not by this one)."""

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

import dxprivacy as dx
from dxprivacy.ledger import Ledger
from dxprivacy.ledger.stored_policy import stored_policy
from trust.forge import run

MADE = Path(__file__).with_name("made_by_0_1_0")


@pytest.fixture
def old(tmp_path, monkeypatch):
    """A folder as 0.1.0 left it; we are in it."""
    folder = tmp_path / "old"
    shutil.copytree(MADE, folder)
    monkeypatch.chdir(folder)
    monkeypatch.setattr("sys.argv", [])
    return folder


def dxp(*arguments):
    return SimpleNamespace(**run([str(word) for word in arguments]))


def test_an_old_plan_and_its_release_are_verified(old):
    assert json.loads((old / "plan.json").read_text())["policy"]["file"] == "policy.toml"
    for call in (("plan.json",), ("release-60c5.json", "--ledger", "ledger.db")):
        done = dxp("verify", *call)
        assert done.returncode == 0, done.stderr


def test_an_old_release_is_replayed_at_no_cost_over_its_old_files(old):
    before = json.loads((old / "release-60c5.json").read_text())
    done = dxp("release", "plan.json", "--data", "people.csv", "--policy", "policy.toml")
    assert done.returncode == 0, done.stderr
    assert "repeated  entry 1 of ledger.db" in done.stdout
    assert json.loads((old / "release-60c5.json").read_text()) == before


def test_a_replayed_release_says_what_its_own_intervals_cover(old):
    done = dxp("release", "plan.json", "--data", "people.csv", "--policy", "policy.toml", "--html")
    assert done.returncode == 0, done.stderr
    assert "Intervals cover privacy noise only, neither cells nor sampling error." in done.stdout
    page = (old / "release-60c5.html").read_text(encoding="utf-8")
    assert "covers privacy noise only, neither cells nor sampling" in page
    assert "noise and cells" not in done.stdout + page


def test_an_old_plan_that_was_never_released_is_released_from_the_old_ledger(old):
    by_ledger = dxp("release", "second.json", "--data", "people.csv", "--ledger", "ledger.db")
    assert by_ledger.returncode == 7  # that ledger knows no units, and the plan has some
    assert "does not hold the units of the plan" in by_ledger.stderr
    asked = ("release", "second.json", "--data", "people.csv", "--policy", "policy.toml")
    refused = dxp(*asked)
    assert refused.returncode == 2  # ± 753 of 120 people, which nobody was told in 0.1.0
    assert "no better than a guess" in refused.stderr
    done = dxp(*asked, "--anyway")
    assert done.returncode == 0, done.stderr
    (made,) = {p.name for p in old.glob("release-*.json")} - {"release-60c5.json"}
    checked = dxp("verify", made, "--ledger", "ledger.db")
    assert checked.returncode == 0, checked.stderr


def test_an_old_ledger_tells_its_policy_and_adopts_a_new_version(old):
    policy = dx.Policy.load(old / "policy.toml")
    back = stored_policy(old / "ledger.db")
    assert (back.digest, back.dataset, back.title) == (policy.digest, policy.dataset, policy.title)
    assert not policy.diff(back).looser
    stricter = (old / "policy.toml").read_text().replace("epsilon = 0.5", "epsilon = 0.4")
    (old / "new.toml").write_text('version = "2"\n' + stricter)
    done = dxp("ledger", "ledger.db", "--policy", "new.toml", "--adopt")
    assert done.returncode == 0, done.stderr
    with Ledger.open(old / "ledger.db", dx.Policy.load(old / "new.toml")) as ledger:
        assert [v.units is None for v in ledger.versions] == [True, False]
        assert ledger.verify() == 5


def test_an_old_ledger_is_shown_received_and_exported(old):
    (old / "policy.toml").unlink()
    for call in ((), ("--receipt", "1"), ("--export", "journal.jsonl"), ("--between", "sex=M", "sex=F")):
        done = dxp("ledger", "ledger.db", *call)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("end", ["-wal", "-shm", ".witness"])
@pytest.mark.parametrize("new", [True, False])
def test_links_planted_for_a_ledgers_own_files_lead_nowhere(old, end, new):
    before = (old / "people.csv").read_bytes()
    if new:
        for path in old.glob("ledger.db*"):
            path.unlink()
    (old / f"ledger.db{end}").unlink(missing_ok=True)
    (old / f"ledger.db{end}").symlink_to("people.csv")
    done = dxp("release", "second.json", "--data", "people.csv", "--policy", "policy.toml", "--new-ledger", "--anyway")
    assert done.returncode in (0, 7), done  # SQLite removes a -wal file that is none
    assert (old / "people.csv").read_bytes() == before
