"""`dxp verify` on the screen and for machines."""

import json
import os
import subprocess
import sys

import pytest

from dxprivacy.verify import verify

CODE = "from dxprivacy.cli import main; main()"


def dxp(*arguments, folder):
    run = [sys.executable, "-W", "error", "-c", CODE, *map(str, arguments)]
    return subprocess.run(
        run, capture_output=True, text=True, cwd=folder, env=os.environ | {"PYTHONIOENCODING": "utf-8"}
    )


def test_a_plan_is_told_line_by_line_and_ends_with_the_next_command(files):
    out = dxp("verify", "plan.json", folder=files.folder)
    assert (out.returncode, out.stderr) == (0, "")
    lines = out.stdout.splitlines()
    assert all(line.startswith("✓ ") for line in lines[:-2])
    assert lines[-3].startswith("✓ verified plan.json")
    assert lines[-1] == "Next: dxp release plan.json --data FILE"


def test_a_release_is_told_with_its_ledger(files):
    out = dxp("verify", "release.json", "--ledger", "ledger.db", folder=files.folder)
    assert out.returncode == 0, out.stderr
    assert "✓ entry" in out.stdout
    assert out.stdout.splitlines()[-1] == "Next: dxp ledger ledger.db"
    alone = dxp("verify", "release.json", folder=files.folder)
    assert alone.stdout.splitlines()[-1] == "Next: dxp verify release.json --ledger LEDGER"


def test_machines_get_the_same_fields(files):
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


def test_what_is_printed_for_machines_can_be_verified_too(files):
    plan = dxp("plan", "policy.toml", "count by sex", "--share", "5%", "--json", folder=files.folder)
    (files.folder / "p.json").write_text(plan.stdout, encoding="utf-8")
    assert list(verify(files.folder / "p.json"))
    for _ in range(2):  # the second is a repetition
        arguments = ("release", "p.json", "--policy", "policy.toml", "--data", "people.csv", "--json")
        release = dxp(*arguments, "--ledger", "other.db", folder=files.folder)
        (files.folder / "r.json").write_text(release.stdout, encoding="utf-8")
        assert list(verify(files.folder / "r.json", files.folder / "other.db"))


def test_a_refusal_names_what_does_not_hold(files):
    data = files.read("plan")
    (files.folder / "weak.json").write_text(json.dumps(data | {"share": "1"}), encoding="utf-8")
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
def test_misuse_gives_our_errors(files, arguments, code):
    out = dxp("verify", *arguments, folder=files.folder)
    assert out.returncode == code, out.stderr
    assert out.stderr.startswith("✗ ")
    assert "unexpected" not in out.stderr
