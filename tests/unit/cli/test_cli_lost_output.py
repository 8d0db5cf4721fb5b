"""Standard output that is closed, full or no longer read: what was spent and written is said on standard error."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from contracts.long_forms import mostly_slow
from dxprivacy.ledger.journal import Journal

START = "from dxprivacy.start import main; main()"
POLICY = 'title = "t"\ndataset = "d"\n[attributes.sex]\nvalues = ["M", "F"]\nepsilon = 1.0\n'
COMMANDS = {
    "release": ["release", "plan.json", "--data", "people.csv", "--policy", "policy.toml", "--new-ledger"],
    "select": ["select", "policy.toml", "most common sex", "--data", "people.csv", "--new-ledger"],
    "synth": ["synth", "policy.toml", "count by sex", "--budget", "50%", "--data", "people.csv", "--new-ledger"],
}
LOST = {"full": "No space left on device", "closed": "it is closed", "unread": "Broken pipe"}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    tmp_path = tmp_path_factory.mktemp("made")
    (tmp_path / "people.csv").write_text("sex\n" + "M\nF\n" * 500)
    (tmp_path / "policy.toml").write_text(POLICY)
    made = run(tmp_path, "plan", "policy.toml", "count by sex", "--n-records", "1000", "--out", "plan.json")
    assert made.returncode == 0
    return tmp_path


@pytest.fixture
def place(made, tmp_path):
    return shutil.copytree(made, tmp_path, dirs_exist_ok=True)


def run(place, *arguments, lost="", errors=None):
    """A command whose standard output fails in one of three ways."""
    command = [sys.executable, "-c", START, *arguments]
    options = {"cwd": place, "text": True, "timeout": 60, "check": False, "stderr": errors or subprocess.PIPE}
    if not lost:
        return subprocess.run(command, stdout=subprocess.PIPE, **options)
    if lost == "closed":
        return subprocess.run(["/bin/sh", "-c", 'exec "$@" >&-', "sh", *command], **options)
    if lost == "full":
        with Path("/dev/full").open("w") as full:
            return subprocess.run(command, stdout=full, **options)
    reading, writing = os.pipe()
    os.close(reading)
    try:
        return subprocess.run(command, stdout=writing, **options)
    finally:
        os.close(writing)


@pytest.mark.parametrize("lost", mostly_slow(LOST, ["full"]))
@pytest.mark.parametrize("command", mostly_slow(COMMANDS, ["release"]))
def test_a_lost_screen_after_a_release_says_what_was_written_and_spent(place, command, lost):
    before = set(place.iterdir())
    done = run(place, *COMMANDS[command], lost=lost)
    assert done.returncode == 2
    said = " ".join(done.stderr.split())
    assert f"cannot write to standard output: {LOST[lost]}" in said
    written = [file.name for file in set(place.iterdir()) - before if not file.name.startswith("ledger.db")]
    assert written
    for name in written:
        assert name in said
    assert "The cost is spent: entry 1 in ledger.db." in said
    assert "disk" not in said
    assert "Traceback" not in said
    assert "Exception ignored" not in said
    with Journal.read(place / "ledger.db") as journal:
        assert [row.kind for row in journal.rows()].count("finish") == 1
    again = run(place, *COMMANDS[command], *(["--overwrite"] if command == "synth" else []), lost=lost)
    assert "Nothing was spent" in again.stderr


@pytest.mark.parametrize("lost", mostly_slow(LOST, ["closed"]))
def test_lost_json_says_that_no_file_was_written_and_where_the_answers_are(place, lost):
    done = run(place, *COMMANDS["release"], "--json", lost=lost)
    assert done.returncode == 2
    said = " ".join(done.stderr.split())
    assert "No file was written." in said
    assert "The cost is spent: entry 1 in ledger.db." in said
    again = run(place, *COMMANDS["release"], "--json")
    assert '"repeated": true' in again.stdout


@pytest.mark.parametrize("command", [["check", "policy.toml"], ["check", "policy.toml", "--json"]])
def test_a_command_that_spends_nothing_names_standard_output(place, command):
    done = run(place, *command, lost="full")
    assert done.returncode == 2
    assert "cannot write to standard output: No space left on device" in done.stderr
    assert "spent" not in done.stderr
    unread = run(place, *command, lost="unread")
    assert unread.stderr == ""  # the reader, such as `head`, has seen enough


def test_a_refusal_as_json_on_a_full_output_keeps_its_exit_code(place):
    (place / "policy.toml").write_text("title =")
    assert run(place, "check", "policy.toml", "--json", lost="full").returncode == 3


@pytest.mark.parametrize("stream", mostly_slow([">&- 2>&-", "2>/dev/full", "2>&-", "<&- >&- 2>&-"], 1))
def test_a_release_needs_no_standard_streams(place, stream):
    command = [sys.executable, "-c", START, *COMMANDS["release"]]
    shell = ["/bin/sh", "-c", f'exec "$@" {stream}', "sh", *command]
    done = subprocess.run(shell, cwd=place, stdout=subprocess.DEVNULL, timeout=60, check=False)
    assert done.returncode == (2 if ">&- 2" in stream else 0)
    assert [file.suffix for file in sorted(place.glob("release-*"))] == [".csv", ".json"]
    with Journal.read(place / "ledger.db") as journal:
        assert journal.verify() == 4


@pytest.mark.parametrize("lost", ["full", "closed"])
def test_a_refusal_for_machines_is_told_on_standard_error_where_its_output_is_lost(place, lost):
    words = ["release", "plan.json", "--data", "people.csv", "--policy", "policy.toml", "--json"]
    done = run(place, *words, lost=lost)
    assert done.returncode == 7
    assert "--new-ledger" in done.stderr


def test_a_plan_that_was_written_is_named_where_its_page_is_lost(place):
    done = run(place, "plan", "policy.toml", "count by sex", "--out", "other.json", lost="full")
    assert done.returncode == 2
    assert "The plan is written: other.json" in done.stderr


def test_an_adoption_is_told_where_its_page_is_lost(place):
    assert run(place, *COMMANDS["release"]).returncode == 0
    (place / "new.toml").write_text(POLICY.replace("1.0", "0.9").replace('title = "t"', 'title = "u"'))
    done = run(place, "ledger", "ledger.db", "--policy", "new.toml", "--adopt", lost="full")
    assert done.returncode == 2
    assert "The ledger follows “u”" in done.stderr
