"""What a terminal, a pipe and a stream of ASCII get."""

import io
import json
import os
import pty
import subprocess
import sys
import time
from pathlib import Path

from contracts.curator import CURATOR
from dxprivacy.cli.terminal import working

DXP = Path(sys.executable).parent / "dxp"


def test_nothing_that_is_piped_has_colors_or_tags(town, dxp, planned):
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


def test_a_terminal_gets_colors_unless_it_asks_for_none(town):
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
    command = f"'{DXP}' plan policy.toml 'table sex by age' --all --n-records 400 | head -1"
    run = subprocess.run(["bash", "-c", command], capture_output=True, encoding="utf-8", env=os.environ)
    assert run.stdout.startswith("Plan ")
    assert "Traceback" not in run.stderr
    assert "Exception" not in run.stderr
