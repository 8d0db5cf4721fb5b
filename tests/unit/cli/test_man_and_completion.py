"""Manual pages and completion: made from the commands themselves."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from dxprivacy.cli import dxp
from dxprivacy.cli.manual_pages import pages

DXP = Path(sys.executable).with_name("dxp")
NAMES = dxp.list_commands(click.Context(dxp))


def test_every_command_has_a_page_with_its_options():
    made = pages(dxp, "dxp")
    assert set(made) == {"dxp.1", *(f"dxp-{name}.1" for name in NAMES)}
    assert "\\-\\-budget" in made["dxp-plan.1"]
    assert all(text.startswith('.\\" made by dxprivacy\n.TH ') for text in made.values())
    assert all("\b" not in text for text in made.values())


@pytest.mark.skipif(not shutil.which("groff"), reason="groff is not installed")
def test_pages_are_sound_roff():
    for name, text in pages(dxp, "dxp").items():
        done = subprocess.run(
            ["groff", "-man", "-ww", "-z", "-K", "utf8"], input=text, capture_output=True, text=True, check=False
        )
        told = [line for line in done.stderr.splitlines() if "can't break line" not in line and "adjust" not in line]
        assert (done.returncode, told) == (0, []), name


def test_pages_are_written_and_written_again_but_nothing_else_is_replaced(tmp_path):
    run = CliRunner().invoke
    assert run(dxp, ["man", str(tmp_path / "man1")]).exit_code == 0
    assert run(dxp, ["man", str(tmp_path / "man1")]).exit_code == 0
    mine = tmp_path / "man1" / "dxp.1"
    mine.write_text("mine")
    assert run(dxp, ["man", str(tmp_path / "man1")]).exit_code != 0
    assert mine.read_text() == "mine"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_printed_for(shell):
    result = CliRunner().invoke(dxp, ["completion", shell])
    assert result.exit_code == 0
    assert f"_DXP_COMPLETE={shell}_complete" in result.output


def completed(words: str, at: int) -> list[str]:
    env = os.environ | {"COMP_WORDS": words, "COMP_CWORD": str(at), "_DXP_COMPLETE": "bash_complete"}
    return subprocess.run([DXP], capture_output=True, text=True, env=env, check=True).stdout.split()


def test_commands_and_options_are_completed():
    assert completed("dxp re", 1) == ["plain,release", "plain,reproduce"]
    assert "plain,--budget" in completed("dxp plan --bu", 2)
    assert completed("dxp nonsense --sh", 2) == []
    assert completed("dxp release plan.json --data fl", 4) == ["file,fl"]
    assert completed("dxp init pe", 2) == ["file,pe"]


def test_python_m_is_the_command():
    done = subprocess.run([sys.executable, "-m", "dxprivacy", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("dxp, version")


def test_verbose_behind_a_command_says_where_it_stands():
    done = subprocess.run([DXP, "check", "policy.toml", "--verbose"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "dxp --verbose" in done.stderr
