"""`dxp verify` on the screen and for machines; in this process, so that the interpreter starts only once."""

import json
import sys
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from click.testing import CliRunner

from dxprivacy.cli import main
from dxprivacy.cli.commands.verify_command import command
from dxprivacy.verify import verify
from verify.test_verify_versions import adopt, policy, release, start


@dataclass(frozen=True)
class Called:
    """What a call said, and how it ended."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def dxp(monkeypatch, capsys):
    """Calls `dxp` in a folder."""

    def call(*arguments, folder):
        monkeypatch.chdir(folder)
        monkeypatch.setattr(sys, "argv", ["dxp", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            main()
        out, err = capsys.readouterr()
        return Called(left.value.code, out, err)

    return call


def test_a_plan_is_told_line_by_line_and_ends_with_the_next_command(dxp, files):
    out = dxp("verify", "plan.json", folder=files.folder)
    assert (out.returncode, out.stderr) == (0, "")
    lines = out.stdout.splitlines()
    listed = next(k for k, line in enumerate(lines) if line.startswith("! not checked  policy.title, "))
    assert all(line.startswith("✓ ") for line in lines[:listed])
    assert lines[-3].startswith("✓ verified plan.json: everything else in it")
    assert lines[-1] == "Next: dxp release plan.json --data FILE --policy POLICY.toml"


def test_a_release_is_told_with_its_ledger(dxp, files):
    out = dxp("verify", "release.json", "--ledger", "ledger.db", folder=files.folder)
    assert out.returncode == 0, out.stderr
    assert "✓ entry" in out.stdout
    assert out.stdout.splitlines()[-1] == "Next: dxp ledger ledger.db"
    alone = dxp("verify", "release.json", folder=files.folder)
    assert alone.stdout.splitlines()[-1] == "Next: dxp verify release.json --ledger LEDGER"


def test_machines_get_the_same_fields(dxp, files):
    out = dxp("verify", "release.json", "--json", folder=files.folder)
    data = json.loads(out.stdout)
    assert data["verified"] is True
    assert [c["name"] for c in data["checks"]][:2] == ["format", "digests"]
    data = files.read("release")
    (files.folder / "edited.json").write_text(json.dumps(data | {"records": 7}), encoding="utf-8")
    out = dxp("verify", "edited.json", "--json", folder=files.folder)
    assert out.returncode == 8
    refused = json.loads(out.stdout)
    assert (refused["error"], refused["where"]) == ("NotVerified", "seal")


def test_what_is_printed_for_machines_can_be_verified_too(dxp, files):
    plan = dxp("plan", "policy.toml", "count by sex", "--budget", "5%", "--json", folder=files.folder)
    (files.folder / "p.json").write_text(plan.stdout, encoding="utf-8")
    assert list(verify(files.folder / "p.json"))
    for _ in range(2):  # the second is a repetition
        arguments = ("release", "p.json", "--policy", "policy.toml", "--data", "people.csv", "--new-ledger", "--json")
        release = dxp(*arguments, "--ledger", "other.db", folder=files.folder)
        (files.folder / "r.json").write_text(release.stdout, encoding="utf-8")
        assert list(verify(files.folder / "r.json", files.folder / "other.db"))


def test_a_refusal_names_what_does_not_hold(dxp, files):
    data = files.read("plan")
    (files.folder / "weak.json").write_text(json.dumps(data | {"budget": "1"}), encoding="utf-8")
    out = dxp("verify", "weak.json", folder=files.folder)
    assert out.returncode == 8
    assert out.stderr.startswith("✗ seal · ")
    assert "→" in out.stderr
    assert "✓ verified" not in out.stdout


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(["nothing.json"], 2), ([], 2), (["plan.json", "--ledger", "ledger.db"], 2), (["policy.toml"], 8),
     (["release.json", "--ledger", "nothing.db"], 7)],
)  # fmt: skip
def test_misuse_gives_our_errors(dxp, files, arguments, code):
    out = dxp("verify", *arguments, folder=files.folder)
    assert out.returncode == code, out.stderr
    assert out.stderr.startswith("✗ ")
    assert "unexpected" not in out.stderr


def test_what_is_undecided_is_said_so_after_everything_that_holds(dxp, tmp_path):
    start(tmp_path)
    adopt(tmp_path, policy(high=6))
    release(tmp_path, policy(high=6), "count by sex", budget="30%", name="second.json")
    out = dxp("verify", "second.json", "--ledger", "ledger.db", folder=tmp_path)
    assert out.returncode == 9
    assert "✓ entry" in out.stdout
    assert "✓ verified" not in out.stdout
    assert out.stderr.startswith("? ledger budget · 1 of 2 costs")
    assert "undecided here: nothing was found to be wrong" in out.stderr
    assert "nothing is said about the sum of all costs" in out.stderr


def test_whatever_takes_long_is_named_while_it_is_done(files, monkeypatch):
    named = []

    @contextmanager
    def recorded(what, **_):
        named.append(what)
        yield lambda news: None

    monkeypatch.setattr("dxprivacy.cli.terminal.working", recorded)
    arguments = [str(files.release), "--ledger", str(files.ledger)]
    assert CliRunner().invoke(command, arguments).exit_code == 0
    stages = ("reading the file", "format", "digests", "queries", "answers", "certificate", "worst case", "ledger")
    assert [f"verify  {stage}" for stage in (*stages, "policy", "entry", "budget")] == [
        what for what in named if not what.endswith("left")
    ]
