"""Starting: Ctrl-C while modules load, paths that the system refuses, files that never end."""

import os
import subprocess
import sys

import pytest

START = "from dxprivacy.start import main; main()"


def dxp(*arguments, cwd=None, paths=(), start=START):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths))}
    command = [sys.executable, "-c", start, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=environment, timeout=60, check=False)


@pytest.mark.parametrize("module", ["click", "dxprivacy_late"])
def test_stopping_while_modules_load_shows_one_word_and_no_traceback(module, tmp_path):
    (tmp_path / f"{module}.py").write_text(
        "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(9)\n"
    )
    late = "import sys, dxprivacy.cli as c\nc.dxp.main = lambda **_: __import__('dxprivacy_late')\n"
    done = dxp("--help", paths=[tmp_path], start=(late if module != "click" else "") + START)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "stopped\n")


LONG = "a" * 5_000
POLICY = 'title = "t"\ndataset = "d"\n[attributes.sex]\nvalues = ["M", "F"]\nepsilon = 1.0\n'


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", LONG],
        ["init", LONG, "--out", "new.toml"],
        ["init", "people.csv", "--out", LONG],
        ["ledger", LONG],
        ["ledger", f"x/{LONG}/y"],
        ["verify", LONG],
        ["release", LONG, "--data", "people.csv", "--policy", "policy.toml", "--new-ledger"],
        ["inspect", "policy.toml", "--data", LONG],
        ["plan", "policy.toml", "count by sex", "--n-records", "9", "--out", LONG],
    ],
    ids=lambda arguments: " ".join(arguments)[:30],
)
def test_a_path_that_is_too_long_is_one_clear_error(arguments, tmp_path):
    (tmp_path / "people.csv").write_text("sex\nM\n")
    (tmp_path / "policy.toml").write_text(POLICY)
    done = dxp(*arguments, cwd=tmp_path)
    assert done.returncode in (2, 3, 6, 7)
    assert "File name too long" in done.stderr or "cannot be opened" in done.stderr
    assert "bug" not in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "command",
    [
        "check {}",
        "plan {} x",
        "release {} --data d.csv --policy policy.toml --new-ledger",
        "verify {}",
        "init {} --out new.toml",
    ],
)
@pytest.mark.parametrize("file", ["/dev/zero", "pipe"])
def test_a_file_that_never_ends_or_never_begins_is_refused_at_once(command, file, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "policy.toml").write_text(POLICY)
    done = dxp(*command.format(file).split(), cwd=tmp_path)
    assert done.returncode in (2, 3, 6)
    assert "regular file" in done.stderr or "is no file of at most" in done.stderr


def test_a_pace_and_a_spill_are_options_of_every_command_that_counts(tmp_path):
    for command in ("release", "select", "synth"):
        done = dxp(command, "--help")
        assert "--quantize-time PERIOD" in done.stdout
        assert "--no-spill" in done.stdout
    (tmp_path / "people.csv").write_text("sex\n" + "M\nF\n" * 50)
    (tmp_path / "policy.toml").write_text(POLICY)
    given = ["policy.toml", "most common sex", "--data", "people.csv", "--ledger", "l.db", "--new-ledger"]
    done = dxp("select", *given, "--quantize-time", "soon", cwd=tmp_path)
    assert done.returncode == 2
    assert "a period up to an hour is needed" in done.stderr
    assert not (tmp_path / "l.db").exists()
